"""Whatever is put, read, swept, reopened and lost in whatever order: a store shows what a dict with times would."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from langmem_plus.store import MarkdownStore

NAMESPACE = ("docs",)
KEYS = st.sampled_from(["a", "b", "c"])
MINUTES = st.sampled_from([None, 0.0, 0.05, 0.5, 1.0, 1.5, 10.0])


@dataclass
class Kept:
    """An item as a plain store would keep it."""

    number: int
    ttl: float | None
    ends: float


class TimesToLive(RuleBasedStateMachine):
    """A store of files beside a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.minutes, self.number = 0.0, 0
        self.kept: dict[str, Kept] = {}
        self.store = self._open()

    def _open(self) -> MarkdownStore:
        start = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
        return MarkdownStore(self.folder, index=None, clock=lambda: start + dt.timedelta(minutes=self.minutes))

    def _living(self) -> dict[str, int]:
        return {key: kept.number for key, kept in self.kept.items() if kept.ends > self.minutes}

    def _prolong(self, key: str) -> None:
        kept = self.kept.get(key)
        if kept is not None and kept.ttl is not None and kept.ends > self.minutes:
            kept.ends = self.minutes + kept.ttl

    @rule(key=KEYS, ttl=MINUTES)
    def put(self, key: str, ttl: float | None) -> None:
        """A new value, a new time."""
        self.number += 1
        self.store.put(NAMESPACE, key, {"n": self.number, "text": "tea"}, ttl=ttl)
        self.kept[key] = Kept(self.number, ttl, float("inf") if ttl is None else self.minutes + ttl)

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        """Gone, whether it had expired or not."""
        self.store.delete(NAMESPACE, key)
        self.kept.pop(key, None)

    @rule(key=KEYS, refresh=st.booleans())
    def get(self, key: str, refresh: bool) -> None:
        """It may begin its time anew."""
        item = self.store.get(NAMESPACE, key, refresh_ttl=refresh)
        assert (item and item.value["n"]) == self._living().get(key)
        if refresh:
            self._prolong(key)

    @rule(query=st.sampled_from([None, "tea"]), refresh=st.booleans())
    def search(self, query: str | None, refresh: bool) -> None:
        """A listing or a ranking."""
        found = self.store.search(NAMESPACE, query=query, refresh_ttl=refresh)
        assert {item.key: item.value["n"] for item in found} == self._living()
        for item in found if refresh else ():
            self._prolong(item.key)

    @rule(minutes=st.sampled_from([0.04, 0.3, 0.9, 5.0]))
    def wait(self, minutes: float) -> None:
        """Time passes."""
        self.minutes += minutes

    @rule()
    def sweep(self) -> None:
        """What has expired goes, and only that."""
        living = self._living()
        self.store.sweep_ttl()
        self.kept = {key: kept for key, kept in self.kept.items() if key in living}
        files = list((self.folder / "entries" / "docs" / "items").glob("*.md"))
        assert len(files) == len(living)

    @rule(lose_index=st.booleans())
    def reopen(self, lose_index: bool) -> None:
        """Closed, its index lost or not, opened by somebody else."""
        self.store.close()
        if lose_index:
            shutil.rmtree(self.folder / ".index")
        self.store = self._open()

    @invariant()
    def the_list_is_right(self) -> None:
        """The namespace is listed as long as something lives in it."""
        assert self.store.list_namespaces() == ([NAMESPACE] if self._living() else [])

    def teardown(self) -> None:
        """Remove the folder."""
        self.store.close()
        shutil.rmtree(self.folder)


TimesToLive.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestTimesToLive = TimesToLive.TestCase
