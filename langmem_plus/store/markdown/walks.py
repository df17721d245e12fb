"""Which namespaces there are below a prefix, remembered until a folder changes: a search asks for it every time."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from pathlib import Path

from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.layout import RESERVED, SUFFIX, Closed, Layout, Seen, find_file

logger = logging.getLogger(__name__)

_KEPT, _LARGEST = 1000, 20_000  # prefixes that are remembered, and the most folders of one of them
# A folder that changed within so many nanoseconds may change again without its time telling. Some file systems count
# in whole seconds, or two.
_FINE, _COARSE = 50_000_000, 2_500_000_000


class Walks:
    """The namespaces below prefixes. Thread-safe.

    Args:
        layout: where things lie.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._known: OrderedDict[Namespace, tuple[list[Namespace], Seen]] = OrderedDict()
        self._lock = threading.Lock()
        self._told: Closed = {}
        self._files: OrderedDict[Namespace, str] = OrderedDict()  # a file of each

    def forked(self) -> None:
        """In a forked child: a thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    def is_namespace(self, labels: Namespace) -> bool:
        """Whether a namespace's folder holds files, and not only those of others below it. The file that was found last
        is looked for first, since listing a large folder takes long.
        """
        known = self._files.get(labels)
        if known is not None and os.path.exists(known):  # noqa: PTH110 - at every search, so the cheapest call
            return True
        found = _find_file(self._layout.folder(labels))
        if found is not None and found.endswith(SUFFIX):
            with self._lock:
                self._files[labels] = found
                while len(self._files) > _KEPT:
                    self._files.popitem(last=False)
        return found is not None

    def below(self, prefix: Namespace) -> list[Namespace]:
        """The namespaces at and below a prefix whose folders hold files, sorted."""
        known = self._known.get(prefix)
        if known is not None and all(_state(folder) == state for folder, state in known[1].items()):
            return known[0]
        seen: Seen = {}
        closed: Closed = {}
        found = sorted(namespace for namespace, _ in self._layout.find_namespaces(prefix, seen, closed))
        with self._lock:
            for place, reason in closed.items():
                if self._told.get(place) != reason:
                    self._told[place] = reason
                    logger.warning("the folder %r can't be read (%s): nothing in it is found", str(place), reason)
            self._known.pop(prefix, None)
            if seen and not closed and len(seen) <= _LARGEST and _is_settled(seen):
                self._known[prefix] = found, seen
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        return found


def _find_file(folder: Path) -> str | None:
    """A file of the namespace in a folder; a folder, where what stands there can't be read now."""
    try:
        with os.scandir(folder) as entries:
            rooms = [folder / entry.name for entry in entries if entry.name in RESERVED and entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:  # the folders in it may be read all the same
        rooms = [folder / room for room in RESERVED if (folder / room).is_dir()]
    return next((file for room in rooms if (file := find_file(room)) is not None), None)


def _state(folder: str) -> tuple[int, int] | None:
    try:
        stat = os.stat(folder)  # noqa: PTH116 - at every search, so the cheapest call
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns


def _is_settled(seen: Seen) -> bool:
    now = time.time_ns()
    return all(now - changed > (_FINE if changed % 1_000_000 else _COARSE) for _, changed in seen.values())
