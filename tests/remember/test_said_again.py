"""What is said again takes effect again: of A, B, A the last holds, or, where both may hold, comes first."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.prompts import Change, Changes
from langmem_plus.records import NEWER_THAN, Fact, MemoryRecord
from langmem_plus.remember.fact_records import strengthen
from langmem_plus.remember.ledger import Ledger
from langmem_plus.remember.rules import may_outdate, replaces
from langmem_plus.remember.steps import run_steps
from langmem_plus.remember.weigh import decide_turn
from langmem_plus.services import Services
from langmem_plus.testing import ScriptedChatModel

NOW = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)

# Two statements each, of which each retires the other.
RETIRING = [
    ("I now live in Lyon.", "I live in Paris now."),
    ("I moved to Lyon.", "I've moved to Paris."),
    ("I live in Lyon again.", "I live in Paris again."),
    ("I now work at Bosch.", "I now work at Siemens."),
    ("I now work as a cook.", "I work as a baker now."),
    ("My favourite tea is Assam.", "My favourite tea is Darjeeling."),
    ("My phone number is 0123 4567.", "My phone number is 0123 9999."),
    ("Ich wohne jetzt in Lyon.", "Ich wohne jetzt in Paris."),
    ("Ich wohne wieder in Lyon.", "Ich wohne wieder in Paris."),
    ("Ich arbeite jetzt bei Bosch.", "Ich arbeite jetzt bei Siemens."),
    ("Ich arbeite nun als Koch.", "Ich arbeite nun als Bäcker."),
    ("Mein Lieblingstee ist Assam.", "Mein Lieblingstee ist Darjeeling."),
]
# Of which both may hold.
BESIDE = [
    ("I live in Lyon.", "I live in Paris."),
    ("I work at Bosch.", "I work for Siemens."),
    ("I work as a cook.", "I work as a baker."),
    ("I drive a Fiat.", "I drive a Ford."),
    ("Ich wohne in Lyon.", "Ich wohne in Paris."),
    ("Ich arbeite bei Bosch.", "Ich arbeite bei Siemens."),
    ("Ich arbeite als Koch.", "Ich arbeite als Bäcker."),
    ("Mein Auto ist ein Fiat.", "Mein Auto ist ein Ford."),
]


def newest(records: Sequence[MemoryRecord]) -> MemoryRecord:
    """The record that was said last."""
    return max(records, key=lambda record: record.said_at)


@pytest.mark.parametrize("store", ["memory"], indirect=True)
@pytest.mark.parametrize("pair", RETIRING)
def test_the_last_said_is_all_that_holds(person: Any, pair: tuple[str, str]) -> None:
    """After each step of the chain A, B, A, B, A."""
    ann = person()
    for text in (*pair, *pair, pair[0]):
        ann.clock.forward(days=30)
        ann.say(text)
        assert ann.texts() == [text]


@pytest.mark.parametrize("store", ["memory"], indirect=True)
@pytest.mark.parametrize("pair", BESIDE)
def test_where_both_may_hold_the_last_said_is_the_newer_one(person: Any, pair: tuple[str, str]) -> None:
    """Both stay; the last said has the later time, and names the other as what it may outdate."""
    ann = person()
    for step, text in enumerate((*pair, *pair, pair[0])):
        ann.clock.forward(days=30)
        ann.say(text)
        records = ann.records()
        assert sorted(record.text for record in records) == sorted(pair[: step + 1])
        last = newest(records)
        assert (last.text, last.said_at, last.repeat_count) == (text, ann.clock.now, step // 2)
        assert all(other.id in last.metadata[NEWER_THAN] for other in records if other.id != last.id)


@pytest.mark.parametrize("store", ["memory", "markdown"], indirect=True)
@pytest.mark.parametrize(
    ("change", "plain"),
    [(b, a) for (a, _), (_, b) in zip(BESIDE[:3], [RETIRING[0], RETIRING[3], RETIRING[4]], strict=True)]
    + [(b, a) for (a, _), (_, b) in zip(BESIDE[4:7], [RETIRING[7], RETIRING[9], RETIRING[10]], strict=True)],
)
def test_a_change_that_is_told_again_retires_what_was_said_in_between(person: Any, change: str, plain: str) -> None:
    """ "I live in Lyon", "I live in Paris now", "I live in Lyon", "I live in Paris now": the known record replaces."""
    ann = person()
    for text in (plain, change, plain):
        ann.clock.forward(days=30)
        ann.say(text)
    (known,) = [record for record in ann.records() if record.text == change]
    result = ann.say(change)
    assert [decision.event for decision in result.decisions] == ["NONE", "UPDATE"]
    (left,) = ann.records()
    assert (left.id, left.text, left.repeat_count) == (known.id, change, 1)
    gone = ann.records(status="superseded")
    assert {record.text for record in gone} == {plain}
    assert {record.replaced_by for record in gone} == {known.id}
    assert {record.id for record in gone} == set(left.replaces)


@pytest.mark.parametrize("kept", ["pinned", "somebody else's", "later in the turn", "said later", "no neighbourhood"])
def test_what_may_not_be_replaced_stays_when_a_thing_is_said_again(person: Any, kept: str) -> None:
    """The limits that hold for a new wording hold here."""
    ann = person(neighbourhood=0) if kept == "no neighbourhood" else person()
    change, plain = "I live in Paris now.", "I live in Lyon."
    ann.say(change, name="Ann" if kept == "somebody else's" else None)
    if kept != "later in the turn":
        ann.say(plain, name="Bea" if kept == "somebody else's" else None)
    if kept == "pinned":
        (lyon,) = [record for record in ann.records() if record.text == plain]
        ann.store.put(ann.scope.namespace, lyon.id, lyon.model_copy(update={"pinned": True}).to_value())
    before = {"additional_kwargs": {"created_at": "2024-05-01T09:01:30Z"}} if kept == "said later" else {}
    ann.say(
        f"{change} {plain}" if kept == "later in the turn" else change,
        name="Ann" if kept == "somebody else's" else None,
        **before,
    )
    assert ann.texts() == [plain, change]


@pytest.mark.parametrize("store", ["memory"], indirect=True)
@pytest.mark.parametrize("pair", RETIRING)
@pytest.mark.parametrize("known", ["", "a", "b"])
@pytest.mark.parametrize("said", ["ba", "ab"])
def test_what_is_said_last_within_a_message_holds(person: Any, pair: tuple[str, str], known: str, said: str) -> None:
    """Also where it was known, and an earlier sentence of the message retired it."""
    texts = dict(zip("ab", pair, strict=True))
    ann = person()
    if known:
        ann.say(texts[known])
        ann.clock.forward(days=30)
    ann.say(" Sorry, ".join(texts[each] for each in said))
    (left,) = ann.texts()
    assert left.casefold() == texts[said[-1]].casefold()
    (record,) = ann.records()
    assert all(gone.replaced_by for gone in ann.records(status="superseded"))
    assert record.said_at == ann.clock.now


@pytest.mark.parametrize("known", ["", "a", "b", "c"])
@pytest.mark.parametrize("said", ["aba", "bab", "abab", "bac", "abc", "abcb", "cabca"])
def test_the_last_of_several_sentences_of_a_message_holds(known: str, said: str) -> None:
    """However often the user corrects it."""
    texts = {each: f"My phone number is 0123 {'abc'.index(each)}567." for each in "abc"}
    old = MemoryRecord(id="k", text=texts.get(known, "I like tea."), user_id="ann", created_at=NOW, updated_at=NOW)
    turn = old.model_copy(update={"id": "t", "role": "user", "text": " ".join(texts[each] for each in said)})
    facts = [Fact(text=texts[each], source_id="t", ordinal=place) for place, each in enumerate(said)]
    now = NOW + dt.timedelta(days=1)
    ledger = Ledger({"t": turn}, now)
    ids = ledger.learn([old])
    services = Services(config=MemoryConfig(), store=InMemoryStore())
    run_steps(decide_turn(facts, ids, ledger, services), services, services.find_store())
    left = [record.text for record in ledger.active([*ids, *(fact.key for fact in facts)])]
    assert left == [*(["I like tea."] if not known else []), texts[said[-1]]]


@pytest.mark.parametrize("is_saved", [False, True])
def test_a_model_that_calls_it_known_lets_rules_retire_what_was_said_in_between(is_saved: bool) -> None:
    """The known record replaces the other, unless that was saved on purpose."""
    paris = MemoryRecord(id="p", text="I live in Paris now.", user_id="ann", created_at=NOW, updated_at=NOW)
    lyon = paris.model_copy(update={"id": "l", "text": "I live in Lyon.", "manually_saved": is_saved})
    turn = MemoryRecord(id="t", role="user", text="I now live in Paris", user_id="ann", created_at=NOW)
    fact = Fact(text="Now I live in Paris.", source_id="t", ordinal=0, observed_at=NOW)
    ledger = Ledger({"t": turn}, NOW)
    ids = ledger.learn([paris, lyon])
    model = ScriptedChatModel(then=Changes(changes=[Change(event="NONE", fact="A", id=0)]))
    services = Services(config=MemoryConfig(), store=InMemoryStore(), model=model)
    steps = decide_turn([fact], ids, ledger, services)
    verdict = run_steps(steps, services, services.find_store())
    assert [each.event for each in verdict.decisions] == ["NONE"] if is_saved else ["NONE", "UPDATE"]
    (left, *others) = ledger.active(ids)
    assert (left.id, left.repeat_count, left.replaces) == ("p", 1, [] if is_saved else ["l"])
    assert [record.id for record in others] == (["l"] if is_saved else [])


@pytest.mark.parametrize(
    ("known", "again", "by", "moves"),
    [
        ("I like tea.", "I like tea!", "rule", True),
        ("I like tea.", "I like tea!", "model", True),
        ("I live in Lyon and I work at Bosch.", "I live in Lyon.", "model", False),
    ],
)
def test_a_record_counts_as_said_when_all_of_it_was_said_last(known: str, again: str, by: str, moves: bool) -> None:
    """What a model calls known may be a part of it, and that makes the rest no newer."""
    old = MemoryRecord(id="a", text=known, user_id="ann", created_at=NOW, updated_at=NOW, observed_at=NOW)
    later = NOW + dt.timedelta(days=9)
    repeat = old.model_copy(update={"id": "b", "text": again, "created_at": later, "observed_at": later})
    told = strengthen(old, repeat.model_copy(update={"source_ids": ["t"]}), later, by=by)
    assert told.said_at == (later if moves else NOW)


def test_what_was_said_before_makes_no_record_older_nor_does_one_turn_count_twice() -> None:
    """Turns are read in any order, and a run may be repeated."""
    old = MemoryRecord(id="a", text="x y", user_id="ann", created_at=NOW, updated_at=NOW, observed_at=NOW)
    earlier = old.model_copy(update={"observed_at": NOW - dt.timedelta(days=9), "source_ids": ["t"]})
    assert strengthen(old, earlier, NOW).said_at == NOW
    later = NOW + dt.timedelta(days=9)
    same = old.model_copy(update={"observed_at": later, "created_at": later})
    assert strengthen(old, same, later).said_at == NOW


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("I also live in Paris.", "I live in Lyon."),
        ("I live in Lyon.", "I live in Lyon."),
        ("I work at weekends at Bosch.", "I work at Siemens."),
        ("I drive to Paris.", "I drive a Fiat."),
        ("I drive a Fiat Panda.", "I drive a Fiat."),
        ("Bea lives in Paris.", "I live in Lyon."),
        ("I like tea.", "I like coffee."),
    ],
)
def test_what_is_no_other_value_of_the_same_thing_outdates_nothing(new: str, old: str) -> None:
    """What adds to it, says the same, or speaks of something else."""
    assert not may_outdate(new, old)


@pytest.mark.parametrize("pair", [*BESIDE, *RETIRING])
def test_the_statements_are_of_their_kinds(pair: tuple[str, str]) -> None:
    """Those that rules retire, and those that stay beside each other, both ways."""
    for new, old in itertools.permutations(pair):
        assert bool(replaces(new, old)) == (pair in RETIRING)
        assert may_outdate(new, old) or pair in RETIRING
