"""Hits and choices that are made without validation are like any others."""

from __future__ import annotations

import copy
import pickle

from langmem_plus.recall.made import make_choice, make_hit, with_scores
from langmem_plus.records import Choice, MemoryHit, MemoryRecord

RECORD = MemoryRecord(id="k", text="tea", user_id="ann")


def test_a_hit_is_like_one_that_was_validated() -> None:
    """It equals it, and is dumped, copied and pickled like it."""
    made, given = (
        make_hit(RECORD, ("a",), {"total": 1.0}),
        MemoryHit(record=RECORD, namespace=("a",), scores={"total": 1.0}),
    )
    assert made == given
    assert made.model_dump_json() == given.model_dump_json()
    assert [*map(type, (made, copy.copy(made)))] == [MemoryHit, MemoryHit]
    assert copy.deepcopy(made) == made == pickle.loads(pickle.dumps(made)) == made.model_copy()
    assert repr(made) == repr(given)


def test_other_scores_leave_the_hit_as_it_was() -> None:
    """Stages hand on hits of their own; what else a program put into a class of its own goes with it."""

    class Hit(MemoryHit):
        """A hit with more in it."""

        colour: str = "red"

    hit = make_hit(RECORD, ("a",), {"total": 1.0}, vector="v", bits="b")
    other = with_scores(hit, {"total": 2.0})
    assert (hit.scores, other.scores, other.vector, other.bits) == ({"total": 1.0}, {"total": 2.0}, "v", "b")
    own = with_scores(Hit(record=RECORD, colour="blue"), {"total": 2.0})
    assert isinstance(own, Hit)
    assert (own.colour, own.scores) == ("blue", {"total": 2.0})


def test_a_choice_has_scores_of_its_own() -> None:
    """What happens to the hit later doesn't change the report."""
    scores = {"total": 1.0}
    choice = make_choice(RECORD, "why", kept=True, scores=scores)
    scores["total"] = 2.0
    assert choice == Choice(id="k", text="tea", kept=True, reason="why", scores={"total": 1.0})
    assert make_choice(RECORD, "why", kept=False).model_dump_json() == (
        Choice(id="k", text="tea", kept=False, reason="why").model_dump_json()
    )
