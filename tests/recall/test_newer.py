"""Of two hits that say the like, the newer one comes first, and nothing else moves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from langmem_plus.providers import TextBits
from langmem_plus.recall.newer import linked_first, newer_first
from langmem_plus.records import MemoryHit

MakeHit = Callable[..., MemoryHit]
DAY = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
DRAW = np.random.default_rng(0)
ASKED = DRAW.normal(size=384).astype(np.float32)
ASKED /= np.linalg.norm(ASKED)


def sentence(share: float) -> TextBits:
    """Bits of one sentence: a share of it says what is asked, the rest is noise."""
    noise = DRAW.normal(size=384)
    signs = share * ASKED + (1 - share) * noise / np.linalg.norm(noise) > 0
    return TextBits(np.empty((0, 48), np.uint8), np.packbits(signs)[None])


def said(make: MakeHit, text: str, days: int, total: float, **fields: Any) -> MemoryHit:
    """A hit of a day and a total."""
    made = make(text, role="user", observed_at=DAY + dt.timedelta(days=days - 20), **{"thread_id": text, **fields})
    return made.model_copy(update={"scores": {"total": total}})


def order(hits: list[MemoryHit], bits: list[TextBits | None]) -> list[str]:
    """The texts as they come out."""
    found = newer_first(
        hits, ASKED, {(hit.namespace, hit.record.id): each for hit, each in zip(hits, bits, strict=True)}
    )
    assert sorted(hit.record.id for hit in found) == sorted(hit.record.id for hit in hits)
    assert [hit.scores["total"] for hit in found] == sorted((hit.scores["total"] for hit in found), reverse=True)
    return [hit.record.text for hit in found]


def test_the_newer_of_two_that_are_alike_comes_first(hit: MakeHit) -> None:
    """It takes the older one's place, which follows; what stood between comes after both."""
    hits = [said(hit, "old", 0, 0.9), said(hit, "other", 1, 0.8), said(hit, "new", 2, 0.7)]
    assert order(hits, [sentence(0.8), sentence(0.1), sentence(0.8)]) == ["new", "old", "other"]


def test_of_several_the_newest_is_first(hit: MakeHit) -> None:
    """And the others follow by their days."""
    hits = [said(hit, text, day, 0.9 - day / 10) for day, text in enumerate(("a", "b", "c"))]
    assert order(hits, [sentence(0.8) for _ in hits]) == ["c", "b", "a"]


@pytest.mark.parametrize(
    "newer",
    [
        {"days": 0},  # the same day
        {"thread_id": "old"},  # the same conversation
        {"metadata": {"name": "Bob"}},  # somebody else
    ],
)
def test_what_may_hold_beside_it_stays(hit: MakeHit, newer: dict[str, Any]) -> None:
    """What was said in one breath, or by others, replaces nothing."""
    fields = {"days": 5, "total": 0.7, **newer}
    hits = [said(hit, "old", 0, 0.9), said(hit, "new", **fields)]
    assert order(hits, [sentence(0.8), sentence(0.8)]) == ["old", "new"]


def test_what_is_not_about_the_question_stays(hit: MakeHit) -> None:
    """Two sentences may be alike and far from what is asked, or near to it and not alike; or not be known."""
    hits = [said(hit, "old", 0, 0.9), said(hit, "new", 5, 0.7)]
    same = sentence(0.2)
    assert order(hits, [same, same]) == ["old", "new"]
    assert order(hits, [sentence(0.8), sentence(0.3)]) == ["old", "new"]
    assert order(hits, [sentence(0.8), None]) == ["old", "new"]


def test_only_what_is_shown_together_is_compared(hit: MakeHit) -> None:
    """What ranks far down isn't fetched to the top because it is newer."""
    hits = [said(hit, f"t{place}", place, 1 - place / 50) for place in range(12)]
    bits: list[TextBits | None] = [sentence(0.8), *[None] * 10, sentence(0.8)]
    assert order(hits, bits)[0] == "t0"


def test_what_a_model_linked_comes_first(hit: MakeHit) -> None:
    """The newer fact, before the older one and before the turn that this was drawn from; and nothing else moves."""
    hits = [
        hit("turn", {"total": 0.9}, role="user", source_ids=["m1"]),
        hit("other", {"total": 0.8}),
        hit("old", {"total": 0.7}, source_ids=["m1"]),
        hit("new", {"total": 0.2}, metadata={"newer_than": ["old", "m1"]}, observed_at=DAY - dt.timedelta(days=1)),
    ]
    hits[0] = hits[0].model_copy(
        update={"record": hits[0].record.model_copy(update={"observed_at": DAY - dt.timedelta(days=9)})}
    )
    assert [each.record.text for each in linked_first(hits)] == ["new", "turn", "other", "old"]
    alone = [each for each in hits if each.record.text in ("other", "new")]
    assert linked_first(alone) == alone


def test_chains_are_followed(hit: MakeHit) -> None:
    """The newest of three comes first, whatever order they came in, and a circle ends."""
    first = hit("a", {"total": 0.9})
    third = hit("c", {"total": 0.5}, metadata={"newer_than": ["b"]})
    second = hit("b", {"total": 0.4}, metadata={"newer_than": ["a"]})
    assert [each.record.text for each in linked_first([first, third, second])] == ["c", "b", "a"]
    circle = [hit("a", {"total": 0.9}, metadata={"newer_than": ["b"]}), second]
    assert {each.record.text for each in linked_first(circle)} == {"a", "b"}


def test_a_link_counts_more_than_the_time(hit: MakeHit) -> None:
    """Both may have been said in one minute."""
    old, new = hit("z-old", {"total": 0.9}), hit("a-new", {"total": 0.5}, metadata={"newer_than": ["z-old"]})
    assert [each.record.text for each in linked_first([old, new])] == ["a-new", "z-old"]


def test_a_turn_that_stands_for_a_linked_fact_comes_first_too(hit: MakeHit) -> None:
    """Where the fact isn't shown, before the older fact and the older turn; in no circle where one turn says both."""
    link = hit("new", {"total": 0.3}, source_ids=["late", "m2"], metadata={"newer_than": ["old", "early", "m1"]})
    old = hit("old", {"total": 0.9}, source_ids=["early", "m1"])
    early = hit("early", {"total": 0.8}, role="user", source_ids=["m1"])
    late = hit("late", {"total": 0.4}, role="user", source_ids=["m2"])
    assert [each.record.text for each in linked_first([old, early, late], [old, early, link, late])] == [
        "late",
        "old",
        "early",
    ]
    assert linked_first([old, early, late]) == [old, early, late], "nothing is known of a fact that wasn't found"
    both = hit("both", {"total": 0.2}, role="user", source_ids=["m3"])
    link = hit("new", {"total": 0.3}, source_ids=["both", "m3"], metadata={"newer_than": ["old", "both", "m3"]})
    assert [each.record.text for each in linked_first([old, both], [old, link, both])] == ["both", "old"]


def test_a_fact_beside_a_linked_one_stays_in_its_place(hit: MakeHit) -> None:
    """That both were drawn from one turn doesn't make it newer than anything."""
    link = hit("new", {"total": 0.3}, source_ids=["late"], metadata={"newer_than": ["old"]})
    beside = hit("beside", {"total": 0.5}, source_ids=["late"])
    old = hit("old", {"total": 0.9})
    shown = [old, beside, link]
    assert [each.record.text for each in linked_first(shown, shown)] == ["new", "old", "beside"]
