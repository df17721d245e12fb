"""What a run has decided so far, before one batch writes it."""

from __future__ import annotations

import datetime as dt

from langmem_plus.records import Decision, Fact, MemoryRecord
from langmem_plus.remember.ledger import Ledger, nearest

NOW = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
NAMESPACE = ("memories", "ann", "default")
TURN = MemoryRecord(id="turn", role="user", text="said", user_id="ann", thread_id="t1", source_ids=["m1"])


def record(key: str, text: str, **fields: object) -> MemoryRecord:
    """A known fact."""
    return MemoryRecord.model_validate({"id": key, "text": text, "user_id": "ann", **fields})


def fact(text: str, ordinal: int = 0) -> Fact:
    """A new fact."""
    return Fact(text=text, source_id="turn", ordinal=ordinal)


def decision(event: str, new: Fact | None = None, target: str | None = None) -> Decision:
    """A decision."""
    return Decision.model_validate({"event": event, "fact": new, "target": target, "reason": "so"})


def ledger(*known: MemoryRecord) -> Ledger:
    """A ledger that knows some records."""
    made = Ledger({"turn": TURN}, NOW)
    made.learn(known)
    return made


def written(book: Ledger) -> dict[str, tuple[str, str | None]]:
    """What would be written: text to status and replacement."""
    values = [op.value for op in book.puts(NAMESPACE) if op.value]
    return {value["text"]: (value["status"], value["replaced_by"]) for value in values}


def test_nothing_that_was_only_read_is_written() -> None:
    """Known records are written when a decision changes them, and only then."""
    assert ledger(record("a", "I like tea")).puts(NAMESPACE) == []


def test_a_replacement_writes_both_and_names_them_to_each_other() -> None:
    """The old one is superseded by the new one's key, the new one replaces the old one and inherits its wish."""
    book, new = ledger(record("a", "I live in Lyon", manually_saved=True)), fact("I live in Rome")
    book.apply(decision("UPDATE", new, "a"))
    assert written(book) == {"I live in Rome": ("active", None), "I live in Lyon": ("superseded", new.key)}
    (stored,) = book.active(["a", new.key])
    assert (stored.replaces, stored.manually_saved, stored.source_ids) == (["a"], True, ["turn", "m1"])


def test_one_record_after_several_decisions_is_written_once() -> None:
    """A fact that replaces two, and is replaced itself in the same run."""
    book, first, second = ledger(record("a", "one"), record("b", "two")), fact("three"), fact("four", 1)
    for each in (decision("UPDATE", first, "a"), decision("DELETE", first, "b"), decision("UPDATE", second, first.key)):
        book.apply(each)
    keys = [op.key for op in book.puts(NAMESPACE)]
    assert sorted(keys) == sorted({"a", "b", first.key, second.key})
    assert [each.text for each in book.added()] == ["four"]


def test_what_this_run_changed_is_not_learned_again() -> None:
    """A later search finds the record as it was stored; the run knows better."""
    book = ledger(record("a", "I live in Lyon"))
    book.apply(decision("DELETE", target="a"))
    assert book.learn([record("a", "I live in Lyon")]) == ["a"]
    assert book.active(["a"]) == []


def test_an_older_fact_is_stored_as_superseded() -> None:
    """An ADD with a target is history: the target stays as it is."""
    book, new = ledger(record("a", "I live in Rome")), fact("I live in Lyon")
    book.apply(decision("ADD", new, "a"))
    assert written(book) == {"I live in Lyon": ("superseded", "a")}


def test_a_target_that_is_unknown_changes_nothing_of_others() -> None:
    """A deletion of nothing writes nothing; a fact is stored all the same."""
    book = ledger()
    book.apply(decision("DELETE", target="gone"))
    assert book.puts(NAMESPACE) == []
    book.apply(decision("UPDATE", fact("I like tea"), "gone"))
    assert written(book) == {"I like tea": ("active", None)}


def test_the_nearest_share_words_and_those_of_the_slot_come_first() -> None:
    """For stores that rank nothing; what shares nothing isn't near."""
    known = [record("a", "I like green tea"), record("b", "I live in Lyon"), record("c", "My cat is ill")]
    assert [r.id for r in nearest("I moved to Rome", known, 5)] == ["b"]
    assert [r.id for r in nearest("green tea is what I like", known, 1)] == ["a"]
