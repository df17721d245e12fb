"""The watcher: what a person changes in the files shows at the next use, without waiting for ``sync_interval``."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from langmem_plus.store.markdown.files import Action, Namespace, Stamp
from langmem_plus.store.markdown.layout import LABEL_FILE, Layout, is_memory_file

logger = logging.getLogger(__name__)

# Changes within so many milliseconds are one; a storm of them is told in parts of so many.
_QUIET_MS, _STORM_MS = 50, 400
# The watch says when it stands only by waking up without a change, and after a stop it ends at its next step.
_WAKE_MS = 500
_STOP_SECONDS = 5.0
# Of so many of the store's own writes it is known that they are its own.
_OWN_WRITES = 10_000

MISSING = (
    "start_watcher is on, but watchfiles isn't installed: edits made by hand are seen once a sync_interval. "
    "Run: pip install 'langmem-plus[watch]'"
)
_TOLD: set[str] = set()


LookAgain: TypeAlias = Callable[[Collection[Namespace]], object]


class Watcher:
    """One thread that watches the folder of one store; daemon, started when the store is first used.

    Where files can't be watched (no package, no more watches in this system) one warning says so, and edits are seen
    once a ``sync_interval`` as without it. A forked child that uses the store starts a thread of its own.

    Args:
        layout: where things lie.
        look_again: a method, called with the namespaces, or prefixes of some, in which somebody else changed something.
    """

    def __init__(self, layout: Layout, look_again: LookAgain) -> None:
        self._layout = layout
        self._look_again = weakref.WeakMethod(look_again)  # a store that nobody has any more ends its watcher
        self._own: OrderedDict[str, Stamp | None] = OrderedDict()
        self._start_over()

    def _start_over(self) -> None:
        self._lock, self._pid = threading.Lock(), os.getpid()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._failed = False

    def start(self) -> None:
        """Watch, unless that is done already or can't be done."""
        if self._pid != os.getpid():
            self._start_over()
        if self._failed or (self._thread is not None and self._thread.is_alive()):
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stop = threading.Event()
                name = f"langmem-plus-watcher-{self._layout.root.name}"
                self._thread = threading.Thread(target=self._watch, args=(self._stop,), name=name, daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait for it. The store's next use starts another."""
        if self._pid != os.getpid():
            return
        with self._lock:
            thread, self._thread = self._thread, None
            self._stop.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_STOP_SECONDS)

    def wrote(self, actions: Sequence[Action], stamps: Sequence[Stamp | None]) -> None:
        """Note the store's own writes: they are in the index already, so nobody has to look at them again."""
        for action, stamp in zip(actions, stamps, strict=True):
            self._own[str(self._layout.folder(action.namespace) / action.path)] = stamp
        while len(self._own) > _OWN_WRITES:
            self._own.popitem(last=False)

    def _watch(self, stop: threading.Event) -> None:
        try:
            for number, paths in enumerate(_changes(self._layout.entries, stop)):
                if (look_again := self._look_again()) is None:
                    return
                # What changed before the watch stood, nobody told.
                if touched := self._touched(paths) if number else {()}:
                    look_again(touched)
                del look_again
        except ImportError:
            self._give_up(MISSING)
        except Exception as error:  # noqa: BLE001 - whatever the system refuses, the files are looked at without it
            self._give_up(
                f"{str(self._layout.entries)!r} can't be watched ({error}): edits made by hand are seen once a "
                "sync_interval. Raise the system's limit of watches, or set start_watcher to false."
            )

    def _give_up(self, words: str) -> None:
        self._failed = True
        if words not in _TOLD:
            _TOLD.add(words)
            logger.warning("%s", words)

    def _touched(self, paths: Iterable[str]) -> set[Namespace]:
        """The namespaces of some changed paths, without those in which nobody but the store itself wrote."""
        found = (self._layout.namespace_of(Path(path)) for path in paths if not self._is_own(path))
        return {namespace for namespace in found if namespace is not None}

    def _is_own(self, path: str) -> bool:
        if path not in self._own:
            return False
        try:
            stamp = Stamp.of(os.stat(path))  # noqa: PTH116 - once an event, so the cheapest call
        except OSError:
            return self._own.get(path) is None
        return self._own.get(path) == stamp


def _changes(folder: Path, stop: threading.Event) -> Iterator[list[str]]:
    """The paths that change below a folder, after a while without changes none; once it yields, the watch stands."""
    from watchfiles import watch

    for changes in watch(
        folder,
        watch_filter=lambda change, path: _counts(path),
        debounce=_STORM_MS,
        step=_QUIET_MS,
        rust_timeout=_WAKE_MS,
        stop_event=stop,
        yield_on_timeout=True,
        raise_interrupt=False,
        ignore_permission_denied=True,
    ):
        yield [path for _, path in changes]


def _counts(path: str) -> bool:
    """Whether a path can be a memory's file or a folder: nothing hidden, nothing half-written."""
    name = os.path.basename(path)  # noqa: PTH119 - once an event, so the cheapest call
    return is_memory_file(name) or name == LABEL_FILE or "." not in name
