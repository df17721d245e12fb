"""Which decisions wait, and what a memory is while it waits: inert, with what it would replace in force."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError
from langmem_plus.prompts import Change, Changes, ExtractedFact, ExtractedFacts
from langmem_plus.recall import recall
from langmem_plus.records import REVIEW, Decision, Fact, MemoryRecord
from langmem_plus.remember.evict import evict
from langmem_plus.remember.review import (
    REJECTED,
    WAITS,
    conflicts,
    everything,
    find_held,
    group,
    is_turned_down,
    make_policy,
    note,
    targets_of,
)

FACT = Fact(text="I live in Lyon", source_id="turn", ordinal=0)
OTHER = Fact(text="I live in Rome", source_id="turn", ordinal=1)
OLD = MemoryRecord(id="old", text="I live in Paris", user_id="ann")


def decision(event: str, fact: Fact | None = FACT, target: str | None = None, by: str = "rule") -> Decision:
    """A decision about the fact."""
    return Decision.model_validate({"event": event, "fact": fact, "target": target, "reason": "so", "by": by})


def reviewing(person: Any, review: Any) -> Any:
    """The person, with a policy."""
    person.services = dataclasses.replace(person.services, review=make_policy(review, None))
    return person


def pending(person: Any) -> list[MemoryRecord]:
    """What waits of the person."""
    return person.records("memory", "pending")


# policies


@pytest.mark.parametrize(
    ("made", "by_conflicts", "by_all"),
    [
        (decision("ADD"), False, True),
        (decision("UPDATE", target="old"), True, True),
        (decision("DELETE", target="old"), True, True),
        (decision("DELETE", None, "old", by="model"), True, True),
        (decision("DELETE", None, "old"), False, True),
        (decision("NONE", target="old"), False, False),
    ],
)
def test_what_the_named_policies_let_wait(made: Decision, by_conflicts: bool, by_all: bool) -> None:
    """What a user asks to forget in so many words is no conflict; a model's guess of what was meant is."""
    assert (conflicts(made, OLD), everything(made, OLD)) == (by_conflicts, by_all)


def test_a_policy_is_a_name_or_a_function_and_the_argument_comes_before_the_setting() -> None:
    """No policy is none at all, so that nothing is spent on it."""
    assert make_policy(None, None) is None
    assert make_policy("none", "all") is None
    assert make_policy(None, "all") is everything
    assert make_policy(conflicts, "all") is conflicts
    with pytest.raises(ConfigError, match="none, conflicts, all"):
        make_policy("some", None)  # type: ignore[arg-type]

    async def later(made: Decision, target: MemoryRecord | None) -> bool:
        return False

    with pytest.raises(ConfigError, match="plain function"):
        make_policy(later, None)


def test_a_policy_that_fails_lets_nothing_pass() -> None:
    """What it can't judge, a person does."""
    assert find_held(("m",), [decision("ADD")], {}, lambda made, target: 1 / 0) == [FACT.key]


def test_what_belongs_together_waits_together() -> None:
    """All that one fact replaces, what builds on it, and its repetitions; what is older than what is known passes."""
    made = [
        decision("UPDATE", target="old"),
        decision("DELETE", target="older"),
        decision("UPDATE", OTHER, FACT.key),
        decision("NONE", dataclass_copy(OTHER, 2), OTHER.key),
        decision("ADD", dataclass_copy(OTHER, 3), "old"),
        decision("ADD", dataclass_copy(OTHER, 4)),
    ]
    held = find_held(("m",), made, {"old": OLD}, lambda each, target: target is OLD)
    assert held == [FACT.key, OTHER.key]
    first, second = group(("m",), made, held)
    assert (first.decisions, first.targets) == (made[:2], ["old", "older"])
    assert (second.decisions, second.targets) == (made[2:4], [FACT.key])


def dataclass_copy(fact: Fact, ordinal: int) -> Fact:
    """The fact as another one of its turn."""
    return fact.model_copy(update={"ordinal": ordinal})


def test_a_turn_notes_what_waits_of_it() -> None:
    """One note a fact; the last one that goes leaves nothing behind, and spoilt notes are made good."""
    turn = OLD.model_copy(update={"role": "user", "metadata": {"turn": 1}})
    noted = note(note(turn, "a", WAITS), "b", REJECTED)
    assert noted.metadata == {"turn": 1, REVIEW: {"a": WAITS, "b": REJECTED}}
    assert is_turned_down(noted)
    assert note(note(noted, "a", None), "b", None) == turn
    spoilt = turn.model_copy(update={"metadata": {REVIEW: "?"}})
    assert note(spoilt, "a", WAITS).metadata[REVIEW] == {"a": WAITS}
    assert not is_turned_down(spoilt)


# over stores, by rules and by models


def test_a_conflict_waits_and_everything_else_passes(person: Any) -> None:
    """The target stays in force, the turn is done, and what waits is found by no recall, through no turn either."""
    ann = reviewing(person(), "conflicts")
    ann.say("I live in Paris.")
    result = ann.say("I live in Lyon now.")
    ann.say("I like tea.")
    assert ann.texts() == ["I like tea.", "I live in Paris."]
    (waiting,) = pending(ann)
    assert waiting.text == "I live in Lyon now."
    assert list(targets_of(waiting)) == [ann.records()[1].id]
    assert waiting.replaces == []  # or who erases it would erase what it would have replaced
    assert all(turn.extracted for turn in ann.records("user"))
    assert result.report.counts["facts_waiting"] == 1
    assert result.report.decisions[-1]["review"] == WAITS
    assert [each.event for each in result.waiting] == ["UPDATE"]
    assert not result.decisions
    found = {hit.text for hit in recall(ann.services, ann.scope, "where do I live")[0]}
    assert found
    assert not any("Lyon" in text for text in found)


def test_the_reply_to_what_waits_is_not_recalled_either(person: Any) -> None:
    """It may say the same to the user."""
    ann = reviewing(person(), "conflicts")
    ann.say("I live in Paris.")
    ann.say("I live in Lyon now.")
    noted = {record.text: record.metadata.get(REVIEW) for record in ann.records("user") + ann.records("assistant")}
    assert noted["I live in Lyon now."]
    assert sum(record.metadata.get(REVIEW) is not None for record in ann.records("assistant")) == 1


def test_what_waits_is_compared_with_nothing(person: Any) -> None:
    """It is neither a duplicate nor a neighbour: the same words wait again, and other ones pass beside it."""
    ann = reviewing(person(), "all")
    ann.say("I like tea.")
    ann.services = dataclasses.replace(ann.services, review=None)
    result = ann.say("I like tea!")
    assert [each.event for each in result.decisions] == ["ADD"]
    assert ann.texts() == ["I like tea!"]
    assert [record.repeat_count for record in pending(ann)] == [0]


def test_what_waits_is_never_evicted_nor_counted(person: Any) -> None:
    """The bound is for what is in force."""
    ann = reviewing(person(max_entries=1), "all")
    for text in ("I like tea.", "I own a boat.", "My brother is called Tom."):
        ann.say(text)
    assert evict(ann.services, ann.scope).counts["evicted"] == 0
    assert len(pending(ann)) == 3


def test_what_builds_on_what_waits_would_replace_all_of_it(person: Any) -> None:
    """Two moves in one run: the second would retire the first, and what that would."""
    ann = reviewing(person(), "conflicts")
    ann.say("I live in Paris.")
    ann.tell("I live in Lyon now.")
    ann.tell("I live in Rome now.")
    ann.work()
    (paris,) = ann.records()
    lyon, rome = pending(ann)
    assert set(targets_of(lyon)) == {paris.id}
    assert set(targets_of(rome)) == {paris.id, lyon.id}


def test_a_request_to_forget_passes_as_no_conflict(person: Any) -> None:
    """The user has decided."""
    ann = reviewing(person(), "conflicts")
    ann.say("I own a boat.")
    ann.say("Forget that I own a boat.")
    assert (ann.texts(), pending(ann)) == ([], [])


def test_with_everything_reviewed_a_request_to_forget_waits(person: Any) -> None:
    """Its record holds no word of what would be forgotten, and asked twice it waits once."""
    ann = person()
    ann.say("I own a boat.")
    reviewing(ann, "all")
    ann.say("Forget that I own a boat.")
    ann.say("Please forget that I own a boat.")
    (waiting,) = pending(ann)
    (boat,) = ann.records()
    assert (list(targets_of(waiting)), waiting.metadata[REVIEW]["event"]) == ([boat.id], "DELETE")
    assert "boat" not in waiting.text


@pytest.mark.usefixtures("way")
def test_a_models_decision_waits_whichever_way_it_is_asked(person: Any, script: Any) -> None:
    """Asked at once, or one after the other."""
    first = ExtractedFacts(facts=[ExtractedFact(text="The user lives in Paris.")])
    second = ExtractedFacts(facts=[ExtractedFact(text="The user lives in Lyon.")])
    change = Changes(changes=[Change(event="UPDATE", fact="A", id=0, reason="moved")])
    ann = reviewing(person(script(first, second, change, then=Changes(changes=[]))), "conflicts")
    ann.say("I live in Paris.")
    ann.say("I live in Lyon.")
    assert ann.texts() == ["The user lives in Paris."]
    assert [record.text for record in pending(ann)] == ["The user lives in Lyon."]
    assert ann.records("user")[0].extracted


def test_a_function_sees_what_would_be_retired(person: Any) -> None:
    """It may let wait what concerns a certain memory alone."""
    seen: list[tuple[str, str | None]] = []

    def policy(made: Decision, target: MemoryRecord | None) -> bool:
        seen.append((made.event, target.text if target else None))
        return target is not None and "Paris" in target.text

    ann = reviewing(person(), policy)
    for text in ("I live in Paris.", "I live in Lyon now.", "I work at Acme.", "I work at Initech now."):
        ann.say(text)
    assert [record.text for record in pending(ann)] == ["I live in Lyon now."]
    assert ("UPDATE", "I live in Paris.") in seen
    assert ("ADD", None) in seen


def test_the_setting_is_in_effect() -> None:
    """It is no planned one any more."""
    assert MemoryConfig(review="conflicts").review == "conflicts"
