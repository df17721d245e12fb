"""What an erasure leaves of archives: all that neither says what is erased nor shares a word of its own with it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.gist import LASTING, Gist, lasting, marks_of, read_gist
from langmem_plus.remember.review import targets_of
from langmem_plus.remember.traces import Traces
from langmem_plus.text import fingerprint

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)


def record(id: str, text: str, **fields: Any) -> MemoryRecord:
    """A record of the conversation."""
    return MemoryRecord(id=id, text=text, user_id="ann", **{"thread_id": "t", "created_at": NOW, **fields})


def archive(*lines: str, read: tuple[str, ...] = (), **fields: Any) -> MemoryRecord:
    """An archive that a person or rules wrote."""
    known = {"role": "archive", "source_ids": list(read), "covers_until": NOW}
    return record("archive", "\n".join(lines), **{**known, **fields})


def left_of(known: MemoryRecord, *others: MemoryRecord, erased: str = "fact") -> list[str]:
    """The lines that are left."""
    erasure = Traces([known, *others], MemoryConfig(), NOW).of_record(erased)
    if known.id in erasure.keys:
        return []
    value = erasure.rewritten.get(known.id)
    return (value["text"] if value else known.text).splitlines()


PHONE = record("fact", "My phone number is 555 0199.", source_ids=["turn"])
SAID = record("turn", "My phone number is 555 0199.", role="user")


def test_lines_stay_whose_sources_are_gone() -> None:
    """What retention erased before, and what a person wrote: nothing else stands for it."""
    known = archive("My cat is called Mimi.", "Bring the key.", "My phone number is 555 0199.", read=("turn", "fact"))
    assert left_of(known, PHONE, SAID) == ["My cat is called Mimi.", "Bring the key."]


@pytest.mark.parametrize(
    "line", ["They spoke of a phone.", "Reach them under 555.", "Decided: call 0199.", "Open: which number?"]
)
def test_a_word_of_its_own_takes_a_line(line: str) -> None:
    """Whoever wrote it, in whatever words; where another text of the conversation has that word, it tells nothing."""
    known = archive("I sing.", line, read=("turn",))
    assert left_of(known, PHONE, SAID) == ["I sing."]
    other = record("other", "Is 0199 or 555 the number of the phone?", role="user")
    assert left_of(known, PHONE, SAID, other) == ["I sing.", line]


@pytest.mark.parametrize(
    ("erased", "line", "other"),
    [
        ("Ich wohne in Bergen.", "Die Wohnung liegt in Bergen.", "Meine Katze heißt Mimi."),
        ("J'habite à Lyon.", "Il parlait de Lyon.", "J'aime le thé."),
        ("Vivo en Sevilla.", "La casa de Sevilla.", "Me gusta el té."),
        ("Мой кот любит сметану.", "Купить сметану.", "Мы купили лодку."),
        ("我住在里昂。", "里昂的房子。", "我喜欢绿茶。"),
    ],
)
def test_in_any_language(erased: str, line: str, other: str) -> None:
    """What is told of something else stays."""
    known = archive(line, other, read=("fact",))
    assert left_of(known, record("fact", erased)) == [other]


def test_words_that_everybody_says_tell_nothing() -> None:
    """So what is told in the same way of something else stays."""
    known = archive("I like boats.", "My cat is called Mimi.", "I like tea.", read=("fact",))
    assert left_of(known, record("fact", "I like tea, which is called oolong.")) == [
        "I like boats.",
        "My cat is called Mimi.",
    ]


def test_the_name_of_who_said_it_is_no_word_of_a_line() -> None:
    """Where several people speak in one memory."""
    ann, bob = {"name": "Ann"}, {"name": "Bob"}
    fact = record("fact", "I collect stamps with Ann.", metadata=bob, source_ids=["b"])
    turns = (
        record("b", "I collect stamps with Ann.", role="user", metadata=bob),
        record("a", "I bake bread.", role="user", metadata=ann, status="deleted"),
    )
    known = archive("Ann: I bake bread.", "Bob: I collect stamps with Ann.", read=("a", "b"))
    assert left_of(known, fact, *turns) == ["Ann: I bake bread."]


def test_another_conversations_archive_loses_what_says_it() -> None:
    """A word alone tells nothing there."""
    known = archive("The phone is new.", "My phone number is 555 0199.", thread_id="other")
    assert left_of(known, PHONE, SAID) == ["The phone is new."]


def test_marks_stay_for_the_lines_that_stay() -> None:
    """So what is made anew later doesn't take them away; a forgotten archive stays a tombstone."""
    lines = Gist(("I sing.", "My phone number is 555 0199."))
    known = archive(*lines.told, read=("fact",), metadata={**lines.metadata, **marks_of(lines, lines)})
    erasure = Traces([known, PHONE], MemoryConfig(), NOW).of_record("fact")
    left = MemoryRecord.model_validate(erasure.rewritten["archive"])
    assert (lasting(left).told, len(left.metadata[LASTING]), left.source_ids) == (("I sing.",), 1, [])
    assert "555" not in str(left.to_value())
    gone = Traces([known.model_copy(update={"status": "deleted"}), PHONE], MemoryConfig(), NOW).of_record("fact")
    assert gone.rewritten["archive"]["status"] == "deleted"


def test_a_persons_line_lasts_when_something_else_is_erased() -> None:
    """And what is left of one that told of that, too."""
    made = Gist(("I sing.", "My phone number is 555 0199."))
    known = archive(*made.told, "Bring the key.", "Pay Bob. Call 555.", read=("fact",), metadata=made.metadata)
    left = MemoryRecord.model_validate(
        Traces([known, PHONE], MemoryConfig(), NOW).of_record("fact").rewritten["archive"]
    )
    assert lasting(left).told == ("Bring the key.", "Pay Bob.")


TEXTS = st.lists(st.sampled_from(["tea", "boat", "Lyon", "4711", "猫が好き", "Анна", "key"]), min_size=1, max_size=3)


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_nothing_of_its_own_is_left_and_all_else_is(erased: list[str], lines: list[list[str]]) -> None:
    """Whatever was erased, and whatever the archive tells."""
    told = list(dict.fromkeys(" ".join(line) for line in lines))
    if not told:
        return
    known = archive(*told, read=("fact",))
    left = left_of(known, record("fact", " ".join(erased)))
    assert left == [line for line in told if not set(erased) & set(line.split())]
    assert not read_gist(archive(*left)).topics


def test_what_a_person_took_out_of_the_text() -> None:
    """It goes from what stands beside, too, and so does the print of a line that doesn't stand any more."""
    old = Gist(("My phone number is 555 0199.", "I sing."), topics=("phone",), decisions=("Call 0199.",))
    marks = marks_of(old, old)
    known = archive("I sing.", metadata={**old.metadata, **marks})
    erasure = Traces([known, PHONE, SAID], MemoryConfig(), NOW).of_record("fact")
    left = MemoryRecord.model_validate(erasure.rewritten[known.id])
    assert left.text == "I sing."
    assert not [each for each in ("0199", "phone", *marks[LASTING][:1]) if each in repr(left.metadata)]
    assert lasting(left).told == ("I sing.",)


@pytest.mark.parametrize("status", ["pending", "deleted", "active"])
def test_no_print_of_the_erased_is_left_in_what_was_to_replace_it(status: Any) -> None:
    """A short text could be found out by trying; that something is gone still stands against an approval."""
    print_of = fingerprint(PHONE.text)
    told = {"event": "UPDATE", "targets": {"fact": print_of, "other": "ab"}, "reason": "not 0199", "by": "model"}
    waits = record("new", "My phone number is 555 0188.", status=status, metadata={"review": told})
    erasure = Traces([waits, PHONE, SAID], MemoryConfig(), NOW).of_record("fact")
    left = MemoryRecord.model_validate(erasure.rewritten["new"])
    assert targets_of(left) == {"fact": "", "other": "ab"}
    assert print_of not in repr(erasure.rewritten)
    assert "0199" not in repr(erasure.rewritten)
    assert left.status == status
