"""One marker a turn whose facts haven't been drawn out, so that a crash loses none; claimed by a lease that expires,
or ends with its process.

The markers are derived from the turns: they are made right when a namespace is brought in step.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from langmem_plus.store.markdown.files import Namespace, write_file
from langmem_plus.store.markdown.layout import Layout, namespace_id
from langmem_plus.store.markdown.owners import Owner, is_gone


def _folder(layout: Layout, namespace: Namespace) -> Path:
    return layout.pending / namespace_id(namespace)


def _name(key: str) -> str:
    return f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def mark(layout: Layout, namespace: Namespace, keys: Iterable[str]) -> None:
    """Note that turns wait; one that is noted already keeps its lease, unless a power cut left nothing of its marker.

    Raises:
        StoreError: a marker can't be written.
    """
    folder = _folder(layout, namespace)
    for key in keys:
        marker = folder / _name(key)
        if _read(marker) is None:
            _write(marker, {"namespace": namespace, "key": key, "until": 0, "since": time.time()})


def unmark(layout: Layout, namespace: Namespace, keys: Iterable[str]) -> None:
    """Note that turns don't wait any more."""
    folder = _folder(layout, namespace)
    for key in keys:
        (folder / _name(key)).unlink(missing_ok=True)


def align(layout: Layout, namespace: Namespace, keys: Iterable[str]) -> None:
    """Note that these turns of a namespace wait, and no others.

    Raises:
        OSError: a marker can't be written or removed.
    """
    folder, names = _folder(layout, namespace), {_name(key): key for key in keys}
    there = set()
    for path in _listed(folder):
        if path.name not in names:
            path.unlink(missing_ok=True)
        elif path.stat().st_size:  # a power cut may have left an empty one
            there.add(path.name)
    mark(layout, namespace, [key for name, key in names.items() if name not in there])


def namespaces(layout: Layout) -> list[Namespace]:
    """The namespaces in which turns wait."""
    found: set[Namespace] = set()
    for folder in _listed(layout.pending):
        content = next(filter(None, map(_read, _listed(folder))), None)
        if content:
            found.add(tuple(content["namespace"]))
    return sorted(found)


def measure(layout: Layout) -> tuple[int, float | None]:
    """How many turns wait in all namespaces, and the seconds for which the oldest has; None where none does."""
    markers = [marker for folder in _listed(layout.pending) for marker in _listed(folder)]
    since = [content.get("since", 0.0) for content in map(_read, markers) if content]
    known = [moment for moment in since if moment]  # markers of earlier versions don't tell
    return len(since), max(time.time() - min(known), 0.0) if known else None


def claim(layout: Layout, namespace: Namespace, keys: Iterable[str], seconds: float, owner: Owner) -> set[str]:
    """Take turns that nobody else is working on, until the lease runs out; the caller holds the namespace's lock.

    A turn that the owner holds already is taken again, which makes its lease longer: one read and one write a turn.
    """
    folder, now, taken = _folder(layout, namespace), time.time(), set()
    for key in keys:
        marker = folder / _name(key)
        content = _read(marker)
        if content is None:
            continue
        held_by = content.get("owner")
        if content["until"] <= now or held_by == owner or is_gone(held_by):
            _write(marker, {**content, "until": now + seconds, "owner": owner})
            taken.add(key)
    return taken


def unmarked(layout: Layout, namespace: Namespace, keys: Iterable[str]) -> list[str]:
    """Those turns that have no marker that can be read: they don't wait, or it was lost."""
    folder = _folder(layout, namespace)
    return [key for key in keys if _read(folder / _name(key)) is None]


def release(layout: Layout, namespace: Namespace, keys: Iterable[str], owner: Owner) -> None:
    """Give claimed turns back, but for those that another owner holds by now; the caller holds the namespace's lock."""
    folder = _folder(layout, namespace)
    for key in keys:
        marker = folder / _name(key)
        content = _read(marker)
        if content and content.get("owner") == owner:
            _write(marker, {**content, "until": 0})


def _write(marker: Path, content: dict[str, Any]) -> None:
    write_file(marker, json.dumps(content).encode(), durable=False)


def _listed(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _read(marker: Path) -> dict[str, Any] | None:
    """A marker's content; None for one that is gone, or that says nothing that can be read."""
    try:
        content = json.loads(marker.read_text(encoding="utf-8"))
        known = isinstance(content["namespace"], list) and isinstance(content["until"], int | float)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return content if known else None
