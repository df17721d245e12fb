"""Point 43: time to live."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any, cast

import pytest
from langgraph.store.base import BaseStore, PutOp, TTLConfig

from langmem_plus.testing.contract.base import PLAIN, ContractBase, Opener, ThroughAsync, keys


class Expiry(ContractBase):
    """Time to live. A store that says ``supports_ttl = False`` is asked for nothing but that it means it.

    Attributes:
        moment: seconds that an item lives in these tests. The longer, the less does a slow machine matter.
    """

    moment: float = 0.5

    def make_store_with_ttl(self, ttl: TTLConfig) -> BaseStore:
        """A fresh, empty store with these settings.

        Raises:
            NotImplementedError: the subclass doesn't say, though its store supports time to live.
        """
        raise NotImplementedError(
            "say how a store with a time to live is made: def make_store_with_ttl(self, ttl): return MyStore(ttl=ttl)"
        )

    def pass_time(self, seconds: float) -> None:
        """Let time pass; a store whose clock can be set needn't wait."""
        time.sleep(seconds)

    def minutes(self, moments: float) -> float:
        """So many moments in minutes, in which LangGraph counts."""
        return self.moment * moments / 60

    def wait(self, moments: float) -> None:
        """Let so many moments pass."""
        self.pass_time(self.moment * moments)

    @pytest.fixture(params=["sync", "async"])
    def mortal(self, request: pytest.FixtureRequest, opened_plain: Opener) -> Callable[..., BaseStore]:
        """Opens stores with a time to live, whose methods are the sync ones, then the async twins."""
        if request.param not in self.twins:
            pytest.skip(f"this store has no {request.param} methods")
        if not opened_plain().supports_ttl:
            pytest.skip("supports_ttl is False")

        def open_store(**ttl: Any) -> BaseStore:
            store = self.make_store_with_ttl(cast(TTLConfig, ttl))
            request.addfinalizer(getattr(store, "close", lambda: None))
            return store if request.param == "sync" else ThroughAsync(store)

        return open_store

    def test_43_supports_ttl_is_honest(self, store: BaseStore) -> None:
        """What says that it supports time to live takes one; what says that it doesn't refuses it, unwritten."""
        if getattr(store, "inner", store).supports_ttl:
            store.put(PLAIN, "k", {"a": 1}, ttl=1)
            assert store.get(PLAIN, "k") is not None
        else:
            with pytest.raises(NotImplementedError):
                store.put(PLAIN, "k", {"a": 1}, ttl=1)
            assert store.get(PLAIN, "k") is None

    def test_43_expired_items_are_not_read(self, mortal: Callable[..., BaseStore]) -> None:
        """With ``omit_expired``, neither get nor search nor list_namespaces shows what has expired but isn't swept."""
        store = mortal(omit_expired=True)
        store.put(PLAIN, "k", {"a": 1}, ttl=self.minutes(1))
        store.put(("other",), "k", {"a": 1})
        assert store.get(PLAIN, "k", refresh_ttl=False) is not None
        self.wait(1.5)
        assert store.get(PLAIN, "k") is None
        assert keys(store.search(PLAIN)) == []
        assert [item.namespace for item in store.search(())] == [("other",)]
        assert [item.namespace for item in store.search((), filter={"a": 1})] == [("other",)]
        assert store.list_namespaces() == [("other",)]

    def test_43_a_sweep_deletes_and_counts(self, mortal: Callable[..., BaseStore]) -> None:
        """It deletes what has expired, in every namespace, and tells how many that were."""
        store = mortal()
        store.batch([PutOp((*PLAIN, str(n)), "k", {"n": n}, ttl=self.minutes(1)) for n in range(3)])
        store.put(PLAIN, "longer", {}, ttl=self.minutes(9))
        store.put(PLAIN, "endless", {})
        assert sweep(store) == 0
        self.wait(2)
        assert sweep(store) == 3
        assert sweep(store) == 0
        assert sorted(keys(store.search(()))) == ["endless", "longer"]
        assert store.list_namespaces() == [PLAIN]

    def test_43_parts_of_minutes_count(self, mortal: Callable[..., BaseStore]) -> None:
        """An item lives for just as long as was said."""
        store = mortal()
        store.put(PLAIN, "k", {}, ttl=self.minutes(2.5))
        self.wait(1.5)
        assert _lives(store)
        self.wait(2)
        assert not _lives(store)

    def test_43_the_default_holds_for_puts_without_a_word(self, mortal: Callable[..., BaseStore]) -> None:
        """``default_ttl`` is the time of a put that names none; None means no end; a time of its own counts more."""
        store = mortal(default_ttl=self.minutes(1))
        store.put(PLAIN, "k", {})
        store.put(PLAIN, "endless", {}, ttl=None)
        store.put(PLAIN, "longer", {}, ttl=self.minutes(9))
        self.wait(2)
        assert [_lives(store, key) for key in ("k", "endless", "longer")] == [False, True, True]

    def test_43_a_put_counts_anew(self, mortal: Callable[..., BaseStore]) -> None:
        """An update begins its own time; one without a time takes the end away."""
        store = mortal()
        for key in ("again", "cleared"):
            store.put(PLAIN, key, {"n": 1}, ttl=self.minutes(2))
        self.wait(1)
        store.put(PLAIN, "again", {"n": 2}, ttl=self.minutes(2))
        store.put(PLAIN, "cleared", {"n": 2})
        self.wait(1.5)
        assert [_lives(store, key) for key in ("again", "cleared")] == [True, True]
        self.wait(2)
        assert [_lives(store, key) for key in ("again", "cleared")] == [False, True]

    @pytest.mark.parametrize("way", ["get", "search"])
    def test_43_a_read_prolongs(self, mortal: Callable[..., BaseStore], way: str) -> None:
        """By default, get and search begin the time of what they give out anew."""
        store = mortal(default_ttl=self.minutes(2))
        store.put(PLAIN, "k", {})
        self.wait(1)
        assert _read(store, way)
        self.wait(1.5)
        assert _lives(store)
        self.wait(1.5)
        assert not _lives(store)

    @pytest.mark.parametrize("way", ["get", "search"])
    @pytest.mark.parametrize("how", ["call", "settings"])
    def test_43_a_read_may_leave_the_time_alone(self, mortal: Callable[..., BaseStore], way: str, how: str) -> None:
        """With ``refresh_ttl=False``, or ``refresh_on_read`` of the settings, nothing is prolonged."""
        settings: dict[str, Any] = {"refresh_on_read": False} if how == "settings" else {}
        store = mortal(default_ttl=self.minutes(2), **settings)
        store.put(PLAIN, "k", {})
        self.wait(1)
        assert _read(store, way, **({"refresh_ttl": False} if how == "call" else {}))
        self.wait(1.5)
        assert not _lives(store)

    def test_43_a_call_counts_more_than_the_settings(self, mortal: Callable[..., BaseStore]) -> None:
        """``refresh_ttl=True`` prolongs, though ``refresh_on_read`` is off."""
        store = mortal(default_ttl=self.minutes(2), refresh_on_read=False)
        store.put(PLAIN, "k", {})
        self.wait(1)
        assert _read(store, "get", refresh_ttl=True)
        self.wait(1.5)
        assert _lives(store)

    def test_43_the_sweeper_starts_and_stops(self, mortal: Callable[..., BaseStore]) -> None:
        """``start_ttl_sweeper`` may be called twice, and ``stop_ttl_sweeper`` without one that runs."""
        store = mortal(default_ttl=1.0)
        inner: Any = getattr(store, "inner", store)
        if inspect.iscoroutinefunction(inner.start_ttl_sweeper):
            pytest.skip("its sweeper belongs to an event loop")
        inner.start_ttl_sweeper(60)
        inner.start_ttl_sweeper(60)
        assert inner.stop_ttl_sweeper(timeout=10)
        assert inner.stop_ttl_sweeper(timeout=10)


def sweep(store: BaseStore) -> int:
    """Sweep by the store's own ``sweep_ttl``, sync or async."""
    inner: Any = getattr(store, "inner", store)
    swept = inner.sweep_ttl()
    return int(asyncio.run(swept) if inspect.iscoroutine(swept) else swept)


def _lives(store: BaseStore, key: str = "k") -> bool:
    """Whether an item is there once all that has expired is swept."""
    sweep(store)
    return store.get(PLAIN, key, refresh_ttl=False) is not None


def _read(store: BaseStore, way: str, **options: Any) -> bool:
    return bool(store.get(PLAIN, "k", **options) if way == "get" else store.search(PLAIN, **options))
