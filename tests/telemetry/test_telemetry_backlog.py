"""What waits is read when somebody collects it, and never else; nothing is opened for it."""

from __future__ import annotations

import gc
import json
import threading
import time
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.background import Background, background
from langmem_plus.graph.afterwards import Afterwards
from langmem_plus.records import Scope
from langmem_plus.services import Services
from langmem_plus.store import MarkdownStore
from langmem_plus.telemetry import watch, watch_store
from langmem_plus.telemetry.exporting import backlog
from langmem_plus.testing import ScriptedChatModel

PLAIN = MemoryConfig(embeddings="none", retries=0, retry_seconds=0.0)


@pytest.fixture(autouse=True)
def _nothing_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """No store of another test is read."""
    monkeypatch.setattr("langmem_plus.telemetry.exporting._stores", weakref.WeakSet())


class Away(Embeddings):
    """An embedder that is down."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Nothing comes back."""
        raise ConnectionError("away")

    def embed_query(self, text: str) -> list[float]:
        """Nothing comes back."""
        raise ConnectionError("away")


class Store:
    """A store that tells what a test says."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def backlog(self) -> Any:
        """What the test says."""
        return SimpleNamespace(**self.fields)


class TestStores:
    def test_turns_wait_until_their_facts_are_drawn_out(self, tmp_path, told) -> None:
        """Counted over all namespaces, with the age of the oldest."""
        model = ScriptedChatModel(then=ConnectionError("away"))
        with MemoryClient(tmp_path / "m", config=PLAIN, model=model) as client:
            client.add("My dog is called Rex.", user_id="alice")
            client.add("My cat is called Tom.", user_id="bob")
            assert client.flush(30)
            assert told.sums("langmem_plus.turns.pending") == {(): 2}
            assert 0 <= told.sums("langmem_plus.turns.age")[()] < 600
            for user in ("alice", "bob"):
                Afterwards(Services(PLAIN.replace(background=False), store=client.store)).run(Scope(user), client.store)
            assert told.sums("langmem_plus.turns.pending") == {(): 0}
            assert told.sums("langmem_plus.turns.age") == {}

    def test_texts_wait_for_their_vectors(self, tmp_path, told) -> None:
        """While the embedder is down, in the namespaces that are open."""
        config = PLAIN.replace(embed_in_background=False)
        with MarkdownStore(tmp_path / "m", config=config, index={"dims": 3, "embed": Away()}) as store:
            watch_store(store)
            store.put(("memories", "alice", "default"), "a", {"text": "tea"})
            assert told.sums("langmem_plus.embeddings.pending") == {(): 1}
            assert told.sums("langmem_plus.embeddings.age")[()] >= 0
        assert told.sums("langmem_plus.embeddings.pending") == {(): 0}  # nothing is opened again

    def test_a_marker_of_an_earlier_version_has_no_age(self, tmp_path) -> None:
        """It is counted all the same, and one that can't be read isn't."""
        model = ScriptedChatModel(then=ConnectionError("away"))
        with MemoryClient(tmp_path / "m", config=PLAIN, model=model) as client:
            client.add("My dog is called Rex.", user_id="alice")
            client.flush(30)
            (marker,) = (tmp_path / "m" / ".pending").rglob("*.json")
            content = json.loads(marker.read_text())
            assert content.pop("since") <= time.time()
            marker.write_text(json.dumps(content))
            assert (client.store.backlog().turns, client.store.backlog().turns_oldest) == (1, None)
            marker.write_text("half of")
            assert client.store.backlog().turns == 0

    def test_stores_are_added_up_and_of_ages_the_highest_counts(self) -> None:
        """Several stores in a process are one backlog; one that fails, or knows nothing, is left out."""
        kept = [
            Store(turns=2, turns_oldest=5.0, texts=0, texts_oldest=None),
            Store(turns=3, turns_oldest=7.0, texts=1, texts_oldest=1.0),
            Store(),
        ]
        for store in (*kept, InMemoryStore()):
            watch_store(store)
        assert (backlog("langmem_plus.turns.pending"), backlog("langmem_plus.turns.age")) == (5, 7.0)
        assert (backlog("langmem_plus.embeddings.pending"), backlog("langmem_plus.embeddings.age")) == (1, 1.0)

    def test_a_store_that_is_gone_is_not_kept(self) -> None:
        """Watching a store doesn't keep it alive."""
        watch_store(Store(turns=2))
        gc.collect()
        assert backlog("langmem_plus.turns.pending") is None

    def test_without_a_reader_nothing_is_asked(self, told) -> None:
        """A store is read at a collection alone."""
        asked: list[int] = []
        store = Store(turns=2, turns_oldest=None, texts=0, texts_oldest=None)
        tell = store.backlog
        store.backlog = lambda: (asked.append(1), tell())[1]  # type: ignore[method-assign]
        watch_store(store)
        assert asked == []
        told.reader.collect()
        assert asked


class TestBackground:
    def test_what_is_due_or_runs_is_the_backlog(self) -> None:
        """What only waits for its time isn't."""
        queue, going, end = Background(), threading.Event(), threading.Event()
        queue.submit(("later",), lambda: None, PLAIN, delay=3600)
        assert queue.backlog == (0, 0.0)
        queue.submit(("now",), lambda: (going.set(), end.wait(30)), PLAIN)
        assert going.wait(30)
        jobs, age = queue.backlog
        end.set()
        assert jobs == 1 and age >= 0
        assert queue.flush(30, ("now",)) and queue.backlog == (0, 0.0)

    def test_the_queue_of_the_process_is_read(self, told) -> None:
        """How much is due, since when, and what was given up."""
        assert background.flush(30)
        assert told.sums("langmem_plus.background.pending") == {(): 0}
        assert told.sums("langmem_plus.background.age") == {(): 0.0}
        assert told.sums("langmem_plus.background.failed") == {(): background.failed}

    def test_a_background_run_is_a_trace_of_its_own_with_its_stages(self, tmp_path, told) -> None:
        """Linked to the span in which it was submitted."""
        with MemoryClient(tmp_path / "m", config=PLAIN) as client:
            client.chat("My dog is called Rex.", user_id="alice", thread_id="t")
            assert client.flush(30)
        remember, extract = told.span("remember"), told.span("extract")
        assert remember.parent is None and extract.parent.span_id == remember.context.span_id
        names = {span.context.trace_id: span.name for span in told.spans}
        assert extract.context.trace_id == remember.context.trace_id and len(names) > 1

    def test_a_failed_background_run_is_a_failure_of_its_stage(self, tmp_path, told) -> None:
        """Whatever ``strict`` says."""
        model = ScriptedChatModel(then=ConnectionError("away"))
        with MemoryClient(tmp_path / "m", config=PLAIN, model=model) as client:
            client.add("My dog is called Rex.", user_id="alice")
            assert client.flush(30)
        failures = told.sums("langmem_plus.stage.failures", "langmem_plus.stage", "error.type")
        assert failures == {("extract", "ConnectionError"): 1, ("remember", "ConnectionError"): 1}


def test_a_reading_that_fails_ends_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gauges read from whatever can be read."""
    monkeypatch.setattr("langmem_plus.telemetry.exporting._sources", {})

    def broken() -> float:
        raise RuntimeError("gone")

    for read in (broken, lambda: None, lambda: 2.0, lambda: 3.0):
        watch("langmem_plus.background.pending", read)
    assert backlog("langmem_plus.background.pending") == 5.0
