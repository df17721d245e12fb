"""One marker a turn whose facts haven't been drawn out, so that a crash loses none; claimed by a lease that expires.

The markers are derived from the turns: a lost one is written again when its namespace is brought in step.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from langmem_plus.store.markdown.files import Namespace, write_file
from langmem_plus.store.markdown.layout import Layout, namespace_id


def _folder(layout: Layout, namespace: Namespace) -> Path:
    return layout.pending / namespace_id(namespace)


def _marker(folder: Path, key: str) -> Path:
    return folder / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def mark(layout: Layout, namespace: Namespace, keys: Iterable[str]) -> None:
    """Note that turns wait; one that is noted already keeps its lease."""
    folder = _folder(layout, namespace)
    for key in keys:
        marker = _marker(folder, key)
        if not marker.exists():
            write_file(marker, json.dumps({"namespace": namespace, "key": key, "until": 0}), durable=False)


def unmark(layout: Layout, namespace: Namespace, keys: Iterable[str]) -> None:
    """Note that turns don't wait any more."""
    folder = _folder(layout, namespace)
    for key in keys:
        _marker(folder, key).unlink(missing_ok=True)


def namespaces(layout: Layout) -> list[Namespace]:
    """The namespaces in which turns wait."""
    found: list[Namespace] = []
    for folder in os.scandir(layout.pending):
        for entry in os.scandir(folder.path):
            content = _read(Path(entry.path))
            if content:
                found.append(tuple(content["namespace"]))
                break
    return sorted(found)


def claim(layout: Layout, namespace: Namespace, keys: Iterable[str], seconds: float) -> set[str]:
    """Take turns that nobody else is working on, until the lease runs out; the caller holds the namespace's lock."""
    folder, now, taken = _folder(layout, namespace), time.time(), set()
    for key in keys:
        marker = _marker(folder, key)
        content = _read(marker)
        if content and (content["until"] <= now or _is_gone(content.get("owner"))):
            lease = {"until": now + seconds, "owner": [socket.gethostname(), os.getpid()]}
            write_file(marker, json.dumps({**content, **lease}), durable=False)
            taken.add(key)
    return taken


def release(layout: Layout, namespace: Namespace, keys: Iterable[str]) -> None:
    """Give claimed turns back; the caller holds the namespace's lock."""
    folder = _folder(layout, namespace)
    for key in keys:
        marker = _marker(folder, key)
        content = _read(marker)
        if content:
            write_file(marker, json.dumps({**content, "until": 0}), durable=False)


def _is_gone(owner: Any) -> bool:
    """Whether the process that holds a lease ran on this machine and runs no more: a crash must not cost a lease."""
    if os.name == "nt" or not isinstance(owner, list) or len(owner) != 2 or owner[0] != socket.gethostname():
        return False
    try:
        os.kill(int(owner[1]), 0)  # signal 0 only asks
    except ProcessLookupError:
        return True
    except (OSError, ValueError, TypeError):
        return False
    return False


def _read(marker: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and {"namespace", "until"} <= content.keys() else None
