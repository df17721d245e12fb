"""Archives tell again of a fact that comes back."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.fact_records import retire
from langmem_plus.remember.gist import Gist, lasting, without_statement
from langmem_plus.remember.retold import retold
from langmem_plus.remember.tombstones import EMPTIED
from langmem_plus.services import Services

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
MADE = Gist(("My cat is called Mimi.",), ("cat",), ("Mimi",))


def record(id: str, text: str, **fields: Any) -> MemoryRecord:
    """A record of the conversation."""
    return MemoryRecord(id=id, text=text, user_id="ann", **{"thread_id": "t", "created_at": NOW, **fields})


CAT = record("fact", "My cat is called Mimi.", source_ids=["turn"])
TURN = record("turn", CAT.text, role="user")


def told_again(archive: MemoryRecord) -> list[MemoryRecord]:
    """What becomes of an archive when the fact comes back."""
    services = Services(config=MemoryConfig(embeddings="none"), store=InMemoryStore(), clock=lambda: NOW)
    return retold(services, {archive.id: archive}, [archive.id], CAT, [TURN])


def archived(*lines: str, **fields: Any) -> MemoryRecord:
    """The archive of the conversation, which has read the turn."""
    made = Gist(lines or MADE.told, MADE.topics, MADE.names)
    known = {"role": "archive", "source_ids": ["turn"], "metadata": made.metadata}
    return record("archive", made.text, **{**known, **fields})


def test_an_archive_that_was_emptied_comes_back() -> None:
    """With the fact alone, and with nothing else that is forgotten; it is told once."""
    emptied = without_statement(archived("I like tea.", CAT.text), lambda line: True, NOW)
    assert (emptied.status, emptied.metadata["reason"]) == ("deleted", EMPTIED)
    (back,) = told_again(emptied)
    assert (back.text, back.status, back.tags) == (CAT.text, "active", [])
    assert "tea" not in str(back.to_value())
    assert "reason" not in back.metadata
    assert told_again(back) == []


@pytest.mark.parametrize("change", [{"source_ids": ["other"]}, {"status": "deleted", "metadata": {"reason": "no"}}])
def test_others_stay_as_they_are(change: dict[str, Any]) -> None:
    """One that never read of it, and one that its owner forgot; also what was written before the archive's newest."""
    later = {"covers_until": NOW + dt.timedelta(days=1)}
    assert told_again(archived("I like tea.", **{**later, **change})) == []
    assert told_again(retire(archived("I like tea."), NOW, "its owner asked to forget it")) == []


def test_a_persons_line_still_lasts() -> None:
    """And the line that comes back is one that memory made."""
    known = archived("I like tea.")
    (left,) = told_again(known.model_copy(update={"text": f"{known.text}\nBring the key."}))
    assert lasting(left).told == ("Bring the key.",)
