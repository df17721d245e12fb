"""Names that are surely employers' where the phrase alone tells of no work."""

from __future__ import annotations

import pytest

from langmem_plus.remember.employers import is_employer
from langmem_plus.remember.rules import may_outdate, replaces

NO_JOB = [
    *("I started at Duolingo", "I started at Weight Watchers", "My new job is at Risk", "My company is now Bankrupt"),
    *("Ich arbeite jetzt bei Nacht", "Ich habe bei Null angefangen", "J'ai commencé chez Duolingo"),
    *("我现在在家工作", "我现在在晚上工作", "我现在在努力工作"),
]
JOB = [
    *(
        "I started at Duolingo as a designer",
        "I started at Google",
        "My new job is at Google",
        "My new employer is Acme",
    ),
    *("I left Apple and now work at Initech", "Ich habe bei Bosch angefangen", "我现在在腾讯工作", "我入职了一家公司"),
]


@pytest.mark.parametrize("new", NO_JOB)
def test_a_name_that_may_be_anything_is_no_new_employer(new: str) -> None:
    """A course, a diet, the night, from scratch, at home."""
    for old in ("I work at Apple", "Ich arbeite bei Siemens", "我在华为工作"):
        assert not replaces(new, old)


@pytest.mark.parametrize("new", JOB)
def test_a_known_name_or_what_one_works_as_tells_a_job(new: str) -> None:
    """So does a phrase that only a job is told by."""
    assert replaces(new, "I work at Apple")


def test_what_may_be_a_job_comes_first() -> None:
    """It retires nothing, and is the newer one."""
    assert may_outdate("I started at Duolingo", "I work at Apple")


def test_institutions_are_told_by_their_names() -> None:
    """In any spelling."""
    for name in ("York District Hospital", "Müller GmbH", "McDonald's", "北京银行", "VW"):
        assert is_employer(name), name
    for name in ("Null", "Nacht", "Weight Watchers", "Night", "家"):
        assert not is_employer(name), name
