"""A turn stands for the facts drawn from it as long as each of them holds as it was drawn."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.recall.whole import checked, siblings, unread
from langmem_plus.records import DRAWN, SAYS_MORE, MemoryHit, MemoryRecord
from langmem_plus.text import fingerprint

TOLD = "I live in Lyon. My wife is called Anne. The flat is in the Rue Mercière."
QUESTION = "What is my wife called?"
NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
MakeHit = Callable[..., MemoryHit]
Change = Callable[[MemoryClient, MemoryRecord], object]


def _rewrite(client: MemoryClient, fact: MemoryRecord, old: str, new: str) -> None:
    path = client.path_of(fact)
    assert path is not None
    path.write_text(path.read_text().replace(old, new))


def _remove(client: MemoryClient, fact: MemoryRecord) -> None:
    path = client.path_of(fact)
    assert path is not None
    path.unlink()


CHANGES: dict[str, Change] = {
    "replaced": lambda client, fact: client.add("I live in Paris now.", user_id="ann", thread_id="later"),
    "corrected": lambda client, fact: _rewrite(client, fact, "in Lyon.", "in Nice."),
    "corrected by a comma": lambda client, fact: _rewrite(client, fact, "in Lyon.", "in Lyon"),
    "removed by hand": _remove,
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_no_longer_holds_does_not_come_back_through_the_turn(tmp_path: Path, change: str) -> None:
    """Also where that fact has nothing to do with the question, so that a search doesn't find it."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False, sync_interval=0)) as client:
        client.add([{"role": "user", "content": TOLD}], user_id="ann", thread_id="t")
        assert TOLD in client.explain(QUESTION, user_id="ann").context
        (fact,) = [each for each in client.list(user_id="ann", role="memory") if "Lyon" in each.text]
        CHANGES[change](client, fact)
        context = client.explain(QUESTION, user_id="ann").context
        assert "Anne" in context
        assert "Lyon" not in context


def _expire(client: MemoryClient, fact: MemoryRecord) -> None:
    _rewrite(client, fact, "role: memory", "role: memory\nexpires_at: 2020-01-01T00:00:00Z")


@pytest.mark.parametrize("end", [_remove, _expire])
@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("I live in Lyon.", "Where do I live?"),
        ("I live in Lyon. The flat has a red door.", "Where do I live?"),
        ("I live in Lyon. My wife is called Anne.", "Where do I live?"),
        ("Ich wohne in Lyon.", "Wo wohne ich?"),
        ("我住在 Lyon。", "我住在哪里？"),
    ],
)
def test_what_ended_does_not_come_back_through_its_message(
    tmp_path: Path, told: str, question: str, end: Change
) -> None:
    """A fact that is over, or whose file somebody removed, isn't among what is found: its turn tells what is missing,
    also where that turn says nothing else, and where no other fact of it is found."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False, sync_interval=0)) as client:
        client.add([{"role": "user", "content": told}], user_id="ann", thread_id="t")
        assert "Lyon" in client.explain(question, user_id="ann").context
        (fact,) = [each for each in client.list(user_id="ann", role="memory") if "Lyon" in each.text]
        end(client, fact)
        assert "Lyon" not in client.explain(question, user_id="ann").context
        assert all("Lyon" not in hit.text for hit in client.search(question, user_id="ann"))


@pytest.mark.parametrize(
    ("told", "old", "new", "question", "answer"),
    [
        ("My daughter Ella is 7. She goes to the Nygård school.", "is 7", "is 8", "Which school is Ella at?", "Nygård"),
        (
            "I live in Lyon. The flat is in the Rue Mercière.",
            "Lyon",
            "Nice",
            "Which street is the flat in?",
            "Mercière",
        ),
        ("Ich wohne in Lyon. Die Tür ist rot.", "Lyon", "Nice", "Welche Farbe hat die Tür?", "rot"),
        ("我住在里昂。公寓在长安街。", "里昂", "尼斯", "公寓在哪条街？", "长安街"),
    ],
)
def test_what_was_corrected_stands_beside_its_message(
    tmp_path: Path, told: str, old: str, new: str, question: str, answer: str
) -> None:
    """A message that answers with what else it says still says the old value; whoever is shown it is told the new."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False, sync_interval=0)) as client:
        client.add([{"role": "user", "content": told}], user_id="ann", thread_id="t")
        (fact,) = [each for each in client.list(user_id="ann", role="memory") if old in each.text]
        assert old in client.explain(question, user_id="ann").context
        _rewrite(client, fact, old, new)
        context = client.explain(question, user_id="ann").context
        assert answer in context
        assert fact.text.replace(old, new) in context


def test_what_replaced_a_fact_stands_beside_its_message(tmp_path: Path) -> None:
    """Where the message is still shown for what else it says."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False)) as client:
        client.add("I live in Lyon. The flat has a red door.", user_id="ann", thread_id="t")
        client.add("I moved to Paris.", user_id="ann", thread_id="later")
        lines = client.explain("What colour is the door of the flat where I live?", user_id="ann").context
        assert ("red door" not in lines) or "I moved to Paris." in lines
        assert "Lyon" not in client.explain("Where do I live?", user_id="ann").context


def test_a_message_that_says_only_what_was_corrected_is_not_shown(tmp_path: Path) -> None:
    """Though it alone holds the words that are asked for."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False, sync_interval=0)) as client:
        client.add("I'm allergic to peanuts.", user_id="ann", thread_id="t")
        (fact,) = client.list(user_id="ann", role="memory")
        _rewrite(client, fact, "peanuts", "hazelnuts")
        shown = [hit.text for hit in client.explain("Am I allergic to peanuts?", user_id="ann").hits]
        assert shown == ["I'm allergic to hazelnuts."]


def test_a_fact_that_the_search_did_not_find_is_looked_up(hit: MakeHit) -> None:
    """Before a turn that tells more stands for a fact of it that was found: no other turn stands for any."""
    drawn = {"one": fingerprint("I live in Lyon."), "two": fingerprint("My wife is called Anne.")}
    turn, same = (hit(TOLD, id="turn", role="user", metadata={mark: drawn}) for mark in (SAYS_MORE, DRAWN))
    one, two = hit("I live in Lyon.", id="one"), hit("My wife is called Anne.", id="two")
    assert siblings([turn]) == siblings([turn, one, two]) == siblings([same, two]) == []
    (op,) = siblings([turn, two])
    assert (op.namespace, op.key, op.refresh_ttl) == (turn.namespace, "one", False)


def test_of_what_would_be_shown_all_facts_are_looked_up_once(hit: MakeHit) -> None:
    """But for those that were found; not of what stands in no store."""
    drawn = {"one": fingerprint("I live in Lyon."), "two": fingerprint("My wife is called Anne.")}
    for mark in (SAYS_MORE, DRAWN):
        turn = hit(TOLD, id="turn", role="user", metadata={mark: drawn})
        assert [op.key for op in unread([turn, turn], (), ())] == ["one", "two"]
        assert [op.key for op in unread([turn], {"one"}, ())] == ["two"]
        assert unread([turn], {"one"}, {(turn.namespace, "two")}) == []
        assert unread([turn.model_copy(update={"namespace": ()})], (), ()) == []
    assert unread([hit(TOLD, role="assistant"), hit("one", metadata={DRAWN: drawn})], (), ()) == []


GONE = "gone"


@pytest.mark.parametrize(
    ("mark", "turn", "fact", "kept"),
    [
        (SAYS_MORE, {}, {}, "whole"),
        (DRAWN, {}, {}, "as it is"),
        (SAYS_MORE, {}, GONE, "no"),
        (DRAWN, {}, GONE, "no"),
        (SAYS_MORE, {"pinned": True}, GONE, "no more than its facts"),
        (SAYS_MORE, {}, {"text": "I live in Nice."}, "no more than its facts"),
        (DRAWN, {}, {"text": "I live in Nice."}, "no"),
        (SAYS_MORE, {}, {"expires_at": NOW}, "no more than its facts"),
        (DRAWN, {}, {"expires_at": NOW}, "no"),
        (SAYS_MORE, {}, {"status": "deleted"}, "no more than its facts"),
        (DRAWN, {}, {"status": "deleted", "metadata": {"reason": "evicted: more than 10 records"}}, "as it is"),
    ],
)
def test_what_becomes_of_a_turn_with_one_of_its_facts(
    hit: MakeHit, mark: str, turn: dict[str, Any], fact: dict[str, Any] | str, kept: str
) -> None:
    """It is whole as long as each holds as it was drawn. What was evicted was said all the same."""
    drawn = {"one": fingerprint("I live in Lyon."), "two": fingerprint("My wife is called Anne.")}
    said = hit(TOLD, {"total": 0.5}, id="turn", role="user", metadata={mark: drawn}, **turn)
    two = hit("My wife is called Anne.", {"total": 0.3}, id="two", source_ids=["turn"])
    own = {"text": "I live in Lyon.", "id": "one", "source_ids": ["turn"], **(fact if isinstance(fact, dict) else {})}
    one = None if fact == GONE else hit(own.pop("text"), **own).record
    hits, left = checked(QUESTION, [said, two], {(said.namespace, "one"): one}, NOW)
    found = {each.record.id: each.record.metadata for each in hits}
    assert [choice.id for choice in left] == (["turn"] if kept == "no" else [])
    assert found.get("turn") == {
        "no": None,
        "whole": {SAYS_MORE: drawn},
        "as it is": {DRAWN: drawn},
        "no more than its facts": {DRAWN: drawn},
    }.get(kept)


def test_of_turns_that_tell_the_same_the_last_is_shown(tmp_path: Path) -> None:
    """And never a fact beside its turn."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False)) as client:
        for number, more in enumerate(("Lunch was a cheese sandwich.", "Rain came at noon.", "Parsley is fine.")):
            client.add(f"My wife is called Anne. {more}", user_id="ann", thread_id=f"t{number}")
        shown = [hit.text for hit in client.explain(QUESTION, user_id="ann").hits]
        assert shown == ["My wife is called Anne. Parsley is fine."]


def test_a_fact_is_never_shown_beside_its_turn(tmp_path: Path) -> None:
    """Where one of a turn's facts is told by a later turn, the others stand for it."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False)) as client:
        said = ("My dog is called Rex. My wife is called Anne. He is three.", "My dog is called Rex. Parsley is fine.")
        for number, text in enumerate(said):
            client.add(text, user_id="ann", thread_id=f"t{number}")
        hits = client.explain("What is my dog called?", user_id="ann").hits
        shown = {hit.record.id for hit in hits}
        assert any("Rex" in hit.text for hit in hits)
        assert all(shown.isdisjoint(hit.record.source_ids) for hit in hits if hit.record.role == "memory")
