"""Many answers as a few numbers."""

from __future__ import annotations

import pytest

from langmem_plus.evals.asking import Answer
from langmem_plus.evals.probes import NONSENSE, REMOVED
from langmem_plus.evals.summary import compared, summarise

HIT, MISS = {"recall@5": 1.0, "session any@5": 1.0}, {"recall@5": 0.0, "session any@5": 1.0}


def answer(kind: str, measures: dict[str, float], score: float = 0.9, **fields: object) -> Answer:
    """What a question came to."""
    return Answer(kind, measures=measures, score=score, found=1, injected=1, **fields)  # type: ignore[arg-type]


def test_numbers_are_told_by_kind() -> None:
    """Turns and sessions have a number of questions each; probes count for silence alone."""
    answers = [answer("a", HIT, tokens=10), answer("b", MISS, tokens=30), answer("b", {"session any@5": 0.0})]
    found = summarise([*answers, Answer(NONSENSE, NONSENSE)])
    assert found["questions"] == 3
    assert (found["measures"]["recall@5"]["mean"], found["measures"]["recall@5"]["count"]) == (0.5, 2)
    assert found["measures"]["session any@5"]["count"] == 3
    assert found["by_kind"]["a"]["recall@5"]["mean"] == 1.0
    assert found["tokens"] == {"mean": pytest.approx(13.3), "p95": 30, "max": 30}


def test_silence_is_judged_against_questions_with_evidence() -> None:
    """A question whose answer the store doesn't hold is no false refusal."""
    answers = [
        answer("a", HIT, 0.9),
        answer("a", MISS, 0.7),
        Answer("a", measures={"session any@5": 1.0}),
        Answer(NONSENSE, NONSENSE),
        Answer("a", REMOVED, score=0.8, found=2, injected=1),
    ]
    found = summarise(answers)["abstention"]
    assert (found["answerable"], found["false_refusals"], found["false_silence"]) == (2, 0.0, 0.0)
    assert found[NONSENSE] == {
        "questions": 1,
        "auroc": 1.0,
        "nothing_found": 1.0,
        "nothing_injected": 1.0,
        "refused_at_5_percent": 1.0,
    }
    assert (found[REMOVED]["auroc"], found[REMOVED]["nothing_found"]) == (0.5, 0.0)


def test_newer_first_and_times_are_told_where_there_are_some() -> None:
    """A kind without versions isn't named; a stage has its median and its slow end."""
    answers = [
        answer("update", HIT, newer_first=first, milliseconds={"rerank": time})
        for first, time in ((True, 1.0), (False, 2.0), (None, 9.0))
    ]
    found = summarise([*answers, answer("other", HIT)])
    assert found["newer_first"].keys() == {"update"}
    assert (found["newer_first"]["update"]["mean"], found["newer_first"]["update"]["count"]) == (0.5, 2)
    assert found["milliseconds"] == {"rerank": {"p50": 2.0, "p95": 9.0}}
    assert summarise([])["measures"] == {}


def test_two_setups_are_compared_by_what_one_alone_answers() -> None:
    """Question by question; probes don't count."""
    mine = [*(answer("a", HIT) for _ in range(6)), answer("a", MISS), Answer("a", NONSENSE, measures={})]
    theirs = [*(answer("a", MISS) for _ in range(6)), answer("a", MISS), Answer("a", NONSENSE, measures={})]
    assert compared(mine, theirs) == {"only_this": 6, "only_bm25": 0, "p": 0.03125}
