"""Turns that wait for their facts."""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import owners, pending
from langmem_plus.store.markdown.layout import Layout, namespace_id

Namespace = tuple[str, ...]


@pytest.fixture
def turn(record: Any) -> Any:
    """Makes a user's turn."""

    def made(key: str, **fields: Any) -> dict[str, Any]:
        return record(key, f"turn {key}", **{"role": "user", "extracted": False, "thread_id": "t", **fields})

    return made


def test_a_turn_waits_until_it_is_extracted(store: MarkdownStore, ns: Namespace, turn: Any, record: Any) -> None:
    """Facts, the assistant's turns and extracted ones don't."""
    store.put(ns, "fact", record("fact"))
    store.put(ns, "reply", turn("reply", role="assistant", extracted=True))
    store.put(ns, "old", turn("old", extracted=True))
    assert store.pending() == []
    store.put(ns, "a", turn("a"))
    store.put(("other",), "b", turn("b"))
    assert store.pending() == [ns, ("other",)]
    store.put(ns, "a", turn("a", extracted=True))
    assert store.pending() == [("other",)]
    store.delete(("other",), "b")
    assert store.pending() == []


@pytest.mark.parametrize("change", [{"status": "deleted"}, {"status": "superseded"}, {"role": "assistant"}])
def test_a_turn_that_is_retired_waits_no_more(
    store: MarkdownStore, ns: Namespace, turn: Any, change: dict[str, Any]
) -> None:
    """Whatever else it becomes."""
    store.put(ns, "a", turn("a"))
    store.put(ns, "a", turn("a", **change))
    store.put(ns, "other", {"n": 1})
    store._engine.rooms.get(ns).look_again()
    store.get(ns, "a")
    assert store.pending() == []


def test_a_claimed_turn_is_nobody_elses(open_store: Any, ns: Namespace, turn: Any) -> None:
    """Until it is released, or extracted; another process sees the claim."""
    store, other = open_store(), open_store()
    for key in "abc":
        store.put(ns, key, turn(key))
    assert store.claim(ns, iter("ab"), 60) == {"a", "b"}
    assert other.claim(ns, "abc", 60) == {"c"}
    store.release(ns, "a")
    assert other.claim(ns, "abx", 60) == {"a"}
    store.put(ns, "b", turn("b", extracted=True))
    assert store.claim(ns, "abc", 60) == set()


def test_a_lease_expires(store: MarkdownStore, ns: Namespace, turn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that died keeps its turns for that long and no longer; an update in between doesn't free them."""
    store.put(ns, "a", turn("a"))
    assert store.claim(ns, "a", 60) == {"a"}
    store.put(ns, "a", turn("a", importance=0.5))
    now = time.time()
    monkeypatch.setattr(pending.time, "time", lambda: now + 50)
    assert store.claim(ns, "a", 60, owner="other") == set()
    monkeypatch.setattr(pending.time, "time", lambda: now + 61)
    assert store.claim(ns, "a", 60, owner="other") == {"a"}


def test_a_claim_is_renewed_by_its_owner(open_store: Any, ns: Namespace, turn: Any, monkeypatch: Any) -> None:
    """Long work claims again as it goes on; its lease then runs from that moment, for nobody else's."""
    store, other = open_store(), open_store()
    store.put(ns, "a", turn("a"))
    now = time.time()
    for minute in range(5):
        monkeypatch.setattr(pending.time, "time", lambda at=now + 50 * minute: at)
        assert store.claim(ns, "a", 60) == {"a"}
        assert other.claim(ns, "a", 60) == store.claim(ns, "a", 60, owner="x") == set()
    monkeypatch.setattr(pending.time, "time", lambda: now + 50 * 4 + 61)
    assert other.claim(ns, "a", 60) == {"a"}
    assert store.claim(ns, "a", 60) == set()


def test_a_claim_that_was_taken_over_is_not_released(open_store: Any, ns: Namespace, turn: Any) -> None:
    """Who was slow must not give back what another works on by now."""
    store, other = open_store(), open_store()
    store.put(ns, "a", turn("a"))
    assert store.claim(ns, "a", 0) == {"a"}
    assert other.claim(ns, "a", 60) == {"a"}
    store.release(ns, "a")
    assert store.claim(ns, "a", 60) == set()
    other.release(ns, "a")
    assert store.claim(ns, "a", 60) == {"a"}


def test_a_renewal_looks_at_nothing_but_the_marker(
    store: MarkdownStore, ns: Namespace, turn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made for each turn of a long run."""
    store.put(ns, "a", turn("a"))
    assert store.claim(ns, "a", 60) == {"a"}
    monkeypatch.setattr(type(store._engine.rooms.get(ns)), "remind", lambda *_: pytest.fail("the index was asked"))
    assert store.claim(ns, "a", 60) == {"a"}


def test_a_claim_ends_with_its_process(store: MarkdownStore, ns: Namespace, turn: Any) -> None:
    """A crash costs no lease; while the process lives, or nobody can tell, the lease holds."""
    for key in "ab":
        store.put(ns, key, turn(key))
    child = os.fork()
    if child == 0:
        os._exit(0 if store.claim(ns, "a", 3600) == {"a"} else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert store.claim(ns, "ab", 3600) == {"a", "b"}
    assert store.claim(ns, "ab", 3600, owner="other") == set()


@pytest.mark.parametrize("told", [True, False], ids=["start times", "no start times"])
def test_a_process_id_that_came_back_holds_no_lease(
    store: MarkdownStore, root: Path, ns: Namespace, turn: Any, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart this very process may have the id of the one that died; in a container it always has."""
    if not told:
        monkeypatch.setattr(owners, "_PROCESSES", root / "nowhere")
    store.put(ns, "a", turn("a"))
    assert store.claim(ns, "a", 3600) == {"a"}
    (marker,) = (root / ".pending" / namespace_id(ns)).iterdir()
    content = json.loads(marker.read_text())
    host, pid, started, _ = content["owner"]
    assert (host, pid) == (socket.gethostname(), os.getpid())
    assert started.startswith("~") is not told
    before = "~0000000000000000" if not told else f"{started}9"
    marker.write_text(json.dumps({**content, "owner": [host, pid, before, "x/"]}))
    assert store.claim(ns, "a", 3600, owner="other") == {"a"}


def test_a_living_process_keeps_its_lease(store: MarkdownStore, root: Path, ns: Namespace, turn: Any) -> None:
    """It is known by its start; one whose start nobody can tell, by its id."""
    store.put(ns, "a", turn("a"))
    assert store.claim(ns, "a", 3600) == {"a"}
    (marker,) = (root / ".pending" / namespace_id(ns)).iterdir()
    content = json.loads(marker.read_text())
    parent = os.getppid()
    for since in (owners._started(parent) or "~", "~of another process without start times"):
        marker.write_text(json.dumps({**content, "owner": [socket.gethostname(), parent, since, "x/"]}))
        assert store.claim(ns, "a", 3600) == set()


@pytest.mark.parametrize(
    "owner",
    [
        None,
        5,
        [],
        ["elsewhere", 1],
        [socket.gethostname(), "x"],
        [socket.gethostname(), 1],
        [socket.gethostname(), -1, "x", ""],
    ],
)
def test_a_claim_of_a_process_that_nobody_knows_holds(
    store: MarkdownStore, root: Path, ns: Namespace, turn: Any, owner: Any
) -> None:
    """One on another machine, or one that a marker doesn't name rightly."""
    store.put(ns, "a", turn("a"))
    assert store.claim(ns, "a", 3600) == {"a"}
    (marker,) = (root / ".pending" / namespace_id(ns)).iterdir()
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "owner": owner}))
    assert store.claim(ns, "a", 3600) == set()


@pytest.mark.parametrize("damage", ["folder", "namespace", "marker", "content", "wrong"])
def test_lost_markers_come_back(open_store: Any, root: Path, ns: Namespace, turn: Any, damage: str) -> None:
    """At the next start, or when somebody claims; they are made from the turns."""
    store = open_store()
    store.put(ns, "a", turn("a"))
    folder = root / ".pending" / namespace_id(ns)
    (marker,) = folder.iterdir()
    match damage:
        case "folder":
            shutil.rmtree(root / ".pending")
        case "namespace":
            shutil.rmtree(folder)
        case "marker":
            marker.unlink()
        case "content":
            marker.write_text("{")
        case "wrong":
            marker.write_text('{"namespace": 5, "until": "x"}')
    assert store.pending() == []
    if damage in ("content", "wrong"):
        marker.unlink()
    assert store.claim(ns, "a", 0) == {"a"}
    shutil.rmtree(root / ".pending")
    again = open_store()
    again.get(ns, "a")
    assert again.pending() == [ns]


def test_markers_of_turns_that_are_gone_go(open_store: Any, root: Path, ns: Namespace, turn: Any) -> None:
    """Or a worker would be sent to them at every start."""
    store = open_store()
    store.put(ns, "a", turn("a"))
    path = store.path_of(ns, "a")
    path.unlink()
    assert store.pending() == [ns]
    store.get(ns, "a")
    assert store.pending() == []
    pending.mark(Layout(root), ns, ["nobody"])
    open_store().get(ns, "a")
    store.put(ns, "b", {"n": 1})
    open_store().get(ns, "b")
    assert store.pending() == []


def test_markers_that_cannot_be_written_fail_no_put(
    store: MarkdownStore, root: Path, ns: Namespace, turn: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The turn is stored; it is marked at the next start."""
    shutil.rmtree(root / ".pending")
    (root / ".pending").touch()
    store.put(ns, "a", turn("a"))
    assert store.get(ns, "a") is not None
    assert "unmarked" in caplog.text
    (root / ".pending").unlink()
    store._engine.rooms.get(ns).look_again()
    store.get(ns, "a")
    assert store.pending() == [ns]


def test_claiming_in_an_empty_namespace_takes_nothing(store: MarkdownStore) -> None:
    """And makes nothing."""
    assert store.claim(("nobody",), ["a"], 60) == set()
    store.release(("nobody",), ["a"])
    assert store.list_namespaces() == []
