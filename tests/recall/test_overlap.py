"""What two texts share by their words alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from langmem_plus.recall.overlap import coverage, indicators, jaccard, spoken
from langmem_plus.records import MemoryRecord

MakeRecord = Callable[..., MemoryRecord]


@pytest.mark.parametrize(
    ("wanted", "text", "share"),
    [({"green", "tea"}, "She drinks TEA", 0.5), ({"北京"}, "他住在北京", 1.0), (set(), "tea", 0.0), ({"tea"}, "", 0.0)],
)
def test_coverage_is_the_share_of_the_wanted_words(wanted: set[str], text: str, share: float) -> None:
    """In any script, and 0 where nothing is asked for."""
    assert coverage(wanted, text) == share


def test_the_speaker_stands_before_the_words(record: MakeRecord) -> None:
    """Once, and only where there is a name."""
    assert spoken(record("I moved", metadata={"name": "Anne"})) == "Anne: I moved"
    assert spoken(record("Anne: I moved", metadata={"name": "Anne"})) == "Anne: I moved"
    assert (
        spoken(record("I moved", metadata={"name": " "}))
        == spoken(record("I moved", metadata={"name": 3}))
        == "I moved"
    )


def test_words_and_tags_are_compared(record: MakeRecord) -> None:
    """The same text is 1, another 0, and a record without words is like nothing."""
    matrix = indicators(
        [record("green tea"), record("green tea", id="2"), record("hiking", tags=["tea"]), record("", id="3")]
    )
    assert np.allclose(jaccard(matrix, 0), [1, 1, 0, 0])
    assert np.allclose(jaccard(matrix, 3), [0, 0, 0, 0])
    tagged = indicators([record("a b", tags=["Work"]), record("c d", tags=["work"])])
    assert jaccard(tagged, 0)[1] > 0


def test_no_records_have_no_rows() -> None:
    """Nothing to compare is no error."""
    assert indicators([]).shape == (0, 1)
