"""Point 44: async twins, event loops, threads, and life after an error."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest
from langgraph.store.base import BaseStore, GetOp, IndexConfig, Item, Op, PutOp, SearchOp

from langmem_plus.testing.contract.base import PLAIN, ContractBase, Opener, index_for, keys
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

THREADS = 6


class Concurrency(ContractBase):
    """Async twins, event loops, threads, and life after an error. (The other points run through the twins as well.)"""

    def test_44_the_async_methods_mirror_the_sync_ones(self, opened_plain: Opener) -> None:
        """What one half writes, the other half reads."""
        store = opened_plain()
        store.put(PLAIN, "sync", {"n": 1})

        async def mirror() -> None:
            await store.aput(PLAIN, "async", {"n": 2})
            item = await store.aget(PLAIN, "sync")
            assert type(item) is Item
            assert item.value == {"n": 1}
            assert sorted(keys(await store.asearch(PLAIN))) == ["async", "sync"]
            assert keys(await store.asearch(PLAIN, filter={"n": 2})) == ["async"]
            assert await store.alist_namespaces() == [PLAIN]
            assert await store.abatch([]) == []
            await store.adelete(PLAIN, "sync")

        asyncio.run(mirror())
        assert keys(store.search(PLAIN)) == ["async"]

    def test_44_async_calls_embed_asynchronously(self, opened_plain: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """Async methods call the embedder's async methods, sync ones its sync methods."""
        store = opened_plain(index_for(embedder))
        store.put(PLAIN, "sync", {"text": "green tea"})
        store.search(PLAIN, query="green tea")
        assert embedder.async_calls == 0

        async def embed() -> None:
            await store.aput(PLAIN, "async", {"text": "black tea"})
            assert embedder.async_calls == 1
            await store.asearch(PLAIN, query="black tea")  # not the sync query, which a store may remember
            assert embedder.async_calls == 2

        asyncio.run(embed())

    def test_44_an_embedder_may_be_a_coroutine_function(
        self, opened_plain: Opener, embedder: BagOfWordsEmbeddings
    ) -> None:
        """An async function embeds for the async methods."""

        async def embed(texts: Any) -> list[list[float]]:
            return await embedder.aembed_documents(list(texts))

        store = opened_plain(IndexConfig(dims=embedder.dims, embed=embed, fields=["text"]))

        async def use() -> None:
            await store.aput(PLAIN, "tea", {"text": "green tea"})
            await store.aput(PLAIN, "physics", {"text": "quantum physics"})
            found = await store.asearch(PLAIN, query="quantum physics")
            assert found[0].key == "physics"
            assert found[0].score == pytest.approx(1.0, abs=0.01)

        asyncio.run(use())

    def test_44_an_embedder_may_be_a_function(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """A plain function embeds for both halves."""

        def embed(texts: Any) -> list[list[float]]:
            return embedder.embed_documents(list(texts))

        store = opened(IndexConfig(dims=embedder.dims, embed=embed, fields=["text"]))
        store.put(PLAIN, "tea", {"text": "green tea"})
        store.put(PLAIN, "physics", {"text": "quantum physics"})
        assert keys(store.search(PLAIN, query="quantum physics"))[0] == "physics"

    def test_44_one_event_loop_after_another(self, opened_plain: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """A store isn't bound to the loop that it was first used in."""
        store = opened_plain(index_for(embedder))

        async def write(key: str) -> None:
            await asyncio.gather(*(store.aput(PLAIN, f"{key}{n}", {"text": f"{key} {n}"}) for n in range(4)))

        async def read() -> list[str]:
            return keys(await store.asearch(PLAIN, query="tea 1", limit=100))

        asyncio.run(write("tea"))
        asyncio.run(write("wine"))
        assert len(asyncio.run(read())) == 8
        assert asyncio.run(read())[0] == "tea1"

    def test_44_a_store_made_in_one_loop_works_in_another(self, opened_plain: Opener) -> None:
        """It may be opened inside of a coroutine and outlive its loop."""

        async def open_it() -> BaseStore:
            store = opened_plain()
            await store.aput(PLAIN, "a", {"n": 1})
            return store

        store = asyncio.run(open_it())
        asyncio.run(store.aput(PLAIN, "b", {"n": 2}))
        assert len(store.search(PLAIN)) == 2

    def test_44_sync_calls_work_inside_of_a_running_loop(self, opened_plain: Opener) -> None:
        """A coroutine may call the sync half."""
        store = opened_plain()

        async def use() -> None:
            store.put(PLAIN, "k", {"n": 1})
            assert store.get(PLAIN, "k") is not None
            assert keys(store.search(PLAIN)) == ["k"]

        asyncio.run(use())

    def test_44_many_tasks_at_once(self, opened_plain: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """Concurrent writes and reads of one loop all succeed."""
        store = opened_plain(index_for(embedder))

        async def work(n: int) -> None:
            await store.aput(PLAIN, f"k{n}", {"text": f"tea number{n}"})
            item = await store.aget(PLAIN, f"k{n}")
            assert item is not None
            assert await store.asearch(PLAIN, query=f"tea number{n}", limit=1)

        async def all_at_once() -> None:
            await asyncio.gather(*(work(n) for n in range(20)))

        asyncio.run(all_at_once())
        assert len(store.search(PLAIN, limit=100)) == 20

    def test_44_one_failing_task_fails_alone(self, opened_plain: Opener) -> None:
        """Of concurrent calls, the one with a bad value or a bad operation raises, and the others are stored."""
        store = opened_plain()

        async def all_at_once() -> list[Any]:
            good = [store.aput(PLAIN, f"k{n}", {"n": n}) for n in range(5)]
            bad = [store.abatch([cast("Op", "no operation")]), store.asearch(PLAIN, filter={"n": {"$no": 1}})]
            return await asyncio.gather(*good[:3], *bad, *good[3:], return_exceptions=True)

        outcomes = asyncio.run(all_at_once())
        assert [isinstance(outcome, Exception) for outcome in outcomes] == [False] * 3 + [True] * 2 + [False] * 2
        assert len(store.search(PLAIN)) == 5

    def test_44_six_threads_at_once(self, opened_plain: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """Six threads write and read, each in its own room and all in a shared one; nothing is lost."""
        store = opened_plain(index_for(embedder))

        def work(number: int) -> None:
            for n in range(8):
                store.put(("own", f"t{number}"), f"k{n}", {"text": f"tea {number} {n}"})
                store.put(("shared",), f"t{number}-{n}", {"text": f"wine {number} {n}"})
                store.put(("shared",), "contended", {"text": f"beer {number} {n}", "by": number, "n": n})
                assert store.get(("own", f"t{number}"), f"k{n}") is not None
                assert store.search(("shared",), query=f"wine {number} {n}", limit=3)

        _in_threads(work)
        for number in range(THREADS):
            assert len(store.search(("own", f"t{number}"), limit=100)) == 8
        assert len(store.search(("shared",), limit=100)) == THREADS * 8 + 1
        item = store.get(("shared",), "contended")
        assert item is not None
        assert item.value["text"] == f"beer {item.value['by']} {item.value['n']}"
        assert len(store.list_namespaces()) == THREADS + 1

    def test_44_six_event_loops_at_once(self, opened_plain: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """Six threads with a loop each share one store."""
        store = opened_plain(index_for(embedder))

        async def one(number: int, n: int) -> None:
            await store.aput(("shared",), f"t{number}-{n}", {"text": f"tea {number} {n}"})
            assert await store.aget(("shared",), f"t{number}-{n}") is not None

        async def several(number: int) -> None:
            await asyncio.gather(*(one(number, n) for n in range(5)))

        _in_threads(lambda number: asyncio.run(several(number)))
        assert len(store.search(("shared",), limit=100)) == THREADS * 5

    def test_44_usable_after_errors(self, opened: Opener, embedder: BagOfWordsEmbeddings) -> None:
        """Whatever went wrong before, the next call works."""
        store = opened(index_for(embedder))
        store.put(PLAIN, "k", {"text": "green tea"})

        def wrong_embedding() -> None:
            embedder.fail = "count"
            try:
                store.put(PLAIN, "bad", {"text": "red wine"})
            finally:
                embedder.fail = None

        mistakes: list[Callable[[], Any]] = [
            lambda: store.put(("a.b",), "k", {"a": 1}),
            lambda: store.batch([cast("Op", "no operation")]),
            lambda: store.batch([GetOp((1,), "k")]),  # type: ignore[arg-type]
            lambda: store.search(PLAIN, filter={"text": {"$no": 1}}),
            lambda: store.batch([SearchOp(PLAIN, filter={"text": {"$no": 1}}, query="green tea")]),
            lambda: store.batch([PutOp(PLAIN, "bad", cast("Any", 5))]),
            wrong_embedding,
        ]
        for n, mistake in enumerate(mistakes):
            with suppress(Exception):  # whether it raises is for the other points to say
                mistake()
            store.put(PLAIN, "after", {"text": f"coffee {n}"})
            item = store.get(PLAIN, "after")
            assert item is not None
            assert item.value == {"text": f"coffee {n}"}
            assert keys(store.search(PLAIN, query="green tea", limit=1)) == ["k"]


def _in_threads(work: Callable[[int], None]) -> None:
    """Run ``work(0)`` … ``work(5)``, all starting at one moment; the first failure is raised here."""
    barrier = threading.Barrier(THREADS)
    failures: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait(timeout=30)
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - carried to the test's own thread, whatever it is
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
