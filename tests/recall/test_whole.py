"""A turn stands for the facts drawn from it as long as each of them holds as it was drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.recall.whole import checked, siblings
from langmem_plus.records import SAYS_MORE, MemoryHit, MemoryRecord
from langmem_plus.text import fingerprint

TOLD = "I live in Lyon. My wife is called Anne. The flat is in the Rue Mercière."
QUESTION = "What is my wife called?"
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


def test_a_fact_that_the_search_did_not_find_is_looked_up(hit: MakeHit) -> None:
    """Where another one of its turn was found: else the turn stands for nothing."""
    drawn = {"one": fingerprint("I live in Lyon."), "two": fingerprint("My wife is called Anne.")}
    turn = hit(TOLD, {"total": 0.5}, id="turn", role="user", metadata={SAYS_MORE: drawn})
    one, two = (
        hit("I live in Lyon.", {"total": 0.4}, id="one"),
        hit("My wife is called Anne.", {"total": 0.3}, id="two"),
    )
    assert siblings([turn]) == siblings([turn, one, two]) == []
    (op,) = siblings([turn, two])
    assert (op.namespace, op.key, op.refresh_ttl) == (turn.namespace, "one", False)
    now = one.record.created_at
    for read, holds in ((one.record, True), (None, False), (two.record, False)):
        checked_turn, _ = checked([turn, two], {(turn.namespace, "one"): read}, now)
        assert (SAYS_MORE in checked_turn.record.metadata) is holds
    ended = one.record.model_copy(update={"expires_at": now})
    assert checked([turn, two], {(turn.namespace, "one"): ended}, now)[0].record.metadata == {}


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
