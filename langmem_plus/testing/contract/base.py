"""What the contract's tests stand on: opening stores, sync or through their async twins, and known failures."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

import pytest
from langgraph.store.base import BaseStore, IndexConfig, Item, Op, Result, SearchItem

from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

PLAIN = ("docs",)


class Opener(Protocol):
    """Opens a fresh, empty store; it is closed when the test ends."""

    def __call__(self, index: IndexConfig | None = None) -> BaseStore:
        """A store without vectors, or with the index that is given."""
        ...


def name_of(text: str) -> str:
    """A parameter's name of letters, digits and signs that pytest never escapes: it would be escaped once more in each
    class that takes a test over, so that a failure couldn't be named.
    """
    return "".join(sign if sign.isascii() and sign.isalnum() else f"_{ord(sign):x}_" for sign in text) or "empty"


class ContractBase:
    """Gives the tests their stores. Subclass `StoreContract`, not this, and say how a store is made.

    Attributes:
        known_failures: tests that this backend is known to fail and why, by name, with the parameters in brackets where
            only some fail (``sync`` and ``async`` left out). Each is marked ``xfail(strict=True)``: it has to be taken
            out as soon as it passes.
        not_offered: points that this backend leaves out and why, by number. Their tests are skipped, and they count as
            not held.
        twins: the ways in which the tests call the store; ``("sync",)`` for one without async methods.
    """

    known_failures: ClassVar[dict[str, str]] = {}
    not_offered: ClassVar[dict[int, str]] = {}
    twins: ClassVar[tuple[str, ...]] = ("sync", "async")

    def make_store(self, index: IndexConfig | None = None) -> BaseStore:
        """A fresh, empty store: without vectors for None, else with this index, ranked by plain cosine.

        It may be called several times in a test. A store with a ``close`` method is closed at the test's end.

        Raises:
            NotImplementedError: the subclass doesn't say.
        """
        raise NotImplementedError("say how a store is made: def make_store(self, index=None): return MyStore(index)")

    @pytest.fixture(autouse=True)
    def _mark_known_failures(self, request: pytest.FixtureRequest) -> None:
        name = re.sub(r"\[a?sync-?", "[", request.node.name).removesuffix("[]")
        point = re.match(r"test_(\d\d)_", name)
        if point and (left_out := self.not_offered.get(int(point[1]))):
            pytest.skip(left_out)
        reason = self.known_failures.get(name) or self.known_failures.get(request.function.__name__)
        if reason:
            request.node.add_marker(pytest.mark.xfail(strict=True, reason=reason))

    @pytest.fixture
    def opened_plain(self) -> Iterator[Opener]:
        """Opens stores as they are, for tests that choose themselves between sync and async."""
        stores: list[BaseStore] = []

        def open_store(index: IndexConfig | None = None) -> BaseStore:
            stores.append(self.make_store(index))
            return stores[-1]

        yield open_store
        for store in stores:
            close = getattr(store, "close", None)
            if close is not None:
                close()

    @pytest.fixture(params=["sync", "async"])
    def opened(self, request: pytest.FixtureRequest, opened_plain: Opener) -> Opener:
        """Opens stores whose methods are the sync ones, then, in a second run of the test, the async twins."""
        if request.param not in self.twins:
            pytest.skip(f"this store has no {request.param} methods")
        if request.param == "sync":
            return opened_plain
        return lambda index=None: ThroughAsync(opened_plain(index))

    @pytest.fixture
    def store(self, opened: Opener) -> BaseStore:
        """A fresh store without vectors, sync and async."""
        return opened()

    @pytest.fixture
    def embedder(self) -> BagOfWordsEmbeddings:
        """An embedder that records what it is sent."""
        return BagOfWordsEmbeddings(dims=1024)


class ThroughAsync(BaseStore):
    """Another store's async methods behind the sync names, each call in an event loop of its own."""

    def __init__(self, inner: BaseStore) -> None:
        self.inner = inner

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """`abatch` of the store behind."""
        return asyncio.run(_as_coroutine(self.inner.abatch(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`abatch` of the store behind."""
        return await self.inner.abatch(ops)

    def get(self, *args: Any, **kwargs: Any) -> Item | None:
        """`aget` of the store behind."""
        return asyncio.run(self.inner.aget(*args, **kwargs))

    def search(self, *args: Any, **kwargs: Any) -> list[SearchItem]:
        """`asearch` of the store behind."""
        return asyncio.run(self.inner.asearch(*args, **kwargs))

    def put(self, *args: Any, **kwargs: Any) -> None:
        """`aput` of the store behind."""
        asyncio.run(self.inner.aput(*args, **kwargs))

    def delete(self, *args: Any, **kwargs: Any) -> None:
        """`adelete` of the store behind."""
        asyncio.run(self.inner.adelete(*args, **kwargs))

    def list_namespaces(self, *args: Any, **kwargs: Any) -> list[tuple[str, ...]]:
        """`alist_namespaces` of the store behind."""
        return asyncio.run(self.inner.alist_namespaces(*args, **kwargs))


async def _as_coroutine(awaitable: Coroutine[Any, Any, list[Result]]) -> list[Result]:
    return await awaitable


def index_for(embedder: BagOfWordsEmbeddings, fields: Sequence[str] | None = ("text",)) -> IndexConfig:
    """An index over these fields; None leaves ``fields`` out."""
    config: IndexConfig = {"dims": embedder.dims, "embed": embedder}
    if fields is not None:
        config["fields"] = list(fields)
    return config


def keys(items: Iterable[Item]) -> list[str]:
    """The keys of items, in their order."""
    return [item.key for item in items]


def pages(page: Callable[[int, int], list[Any]], size: int, total: int) -> list[Any]:
    """What is on all pages, one after another, until one is empty or ``total`` entries more than there are came.

    Args:
        page: gives the entries for a limit and an offset.
        size: entries on a page.
        total: how many entries there are.
    """
    found: list[Any] = []
    while len(found) <= total:
        entries = page(size, len(found))
        if not entries:
            break
        found.extend(entries)
    return found
