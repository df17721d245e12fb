"""What is taken away so that questions have no answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langmem_plus.evals.datasets import Dataset
from langmem_plus.evals.probes import REMOVED, SESSIONS
from langmem_plus.evals.questions import Question, Sample
from langmem_plus.evals.removals import (
    REMOVED_QUESTIONS,
    SHARE_OF_MESSAGES,
    SHARE_OF_SESSIONS,
    removals,
    told,
)
from langmem_plus.importers import Conversation


@pytest.fixture
def sample() -> Callable[[str, int, int], Sample]:
    """A sample of so many sessions of four messages, each message the evidence of so many questions."""

    def make(id: str, sessions: int, each: int) -> Sample:
        threads = [
            Conversation(
                thread_id=f"{id}/{s}",
                messages=[
                    {"role": "user", "content": "x", "id": f"{id}:{s}:{m}", "created_at": None} for m in range(4)
                ],  # type: ignore[list-item]
            )
            for s in range(sessions)
        ]
        questions = [
            Question(f"{m} {n}?", "kind", frozenset({f"{id}:{s}:{m}"}), frozenset({f"{id}/{s}"}))
            for s in range(sessions)
            for m in range(4)
            for n in range(each)
        ]
        return Sample(id, threads, [*questions, Question("?", "other", answerable=False)])

    return make


def test_what_is_asked_has_lost_all_of_its_evidence(sample: Callable[[str, int, int], Sample]) -> None:
    """Evidence alone, and whole sessions: about a quarter of them, and what they alone hold is asked."""
    samples = [sample("a", 100, 1), sample("b", 40, 1)]
    dataset = Dataset("name", "form", "0" * 64, "", samples)
    found = removals(dataset)
    assert found == removals(dataset)
    for each, gone in zip(samples, found, strict=True):
        assert [removal.probe for removal in gone] == [REMOVED, SESSIONS]
        for removal in gone:
            assert all(question.evidence <= removal.message_ids for question in removal.questions)
        whole = gone[1]
        assert len(whole.message_ids) == 4 * SHARE_OF_SESSIONS * len(each.threads)
        assert all(question.answerable for question in whole.questions)
    assert sum(len(gone[0].questions) for gone in found) == REMOVED_QUESTIONS


def test_a_memory_is_never_emptied(sample: Callable[[str, int, int], Sample]) -> None:
    """Of one session nothing is left to search in; of two, one may go."""
    one, two = removals(Dataset("name", "form", "0" * 64, "", [sample("a", 1, 1), sample("b", 2, 1)]))
    assert [removal.probe for removal in one] == [REMOVED]
    assert [removal.probe for removal in two] == [REMOVED, SESSIONS]
    assert len(two[1].message_ids) == 4


@given(st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_half_of_a_memory_stays_whatever_is_asked(
    sample: Callable[[str, int, int], Sample], sessions: int, each: int
) -> None:
    """Also where each message is evidence: silence in an empty memory would say nothing."""
    small = sample("a", sessions, each)
    ((evidence, *_),) = removals(Dataset("name", "form", "0" * 64, "", [small]))
    assert 0 < len(evidence.message_ids) <= SHARE_OF_MESSAGES * small.messages
    assert len(evidence.questions) == each * len(evidence.message_ids)


def test_the_protocol_tells_what_could_not_be_asked(sample: Callable[[str, int, int], Sample]) -> None:
    """Of one session no session can go."""
    found = removals(Dataset("name", "form", "0" * 64, "", [sample("a", 1, 1)]))
    assert told(found).startswith("asked again: evidence removed: 2 questions; sessions removed: no questions, since")
