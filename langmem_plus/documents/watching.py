"""The watcher: edits in the folder are taken over at once, without waiting for a search."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langmem_plus.documents.gitignore import NAME

logger = logging.getLogger(__name__)

# Changes within so many milliseconds are one; the watch ends at its next step after a stop.
_QUIET_MS, _STORM_MS, _WAKE_MS = 50, 400, 500
_STOP_SECONDS = 5.0
MISSING = (
    "watchfiles isn't installed: edits of documents are seen at the next search. Run: pip install 'langmem-plus[watch]'"
)


class Watcher:
    """One daemon thread that watches a folder; it ends with whoever is told.

    Where the folder can't be watched, one warning says so, and edits are seen at the next search.

    Args:
        folder: what is watched, with everything below it.
        own: the index's folder, in which changes don't count.
        look_again: a method, called after changes.
    """

    def __init__(self, folder: Path, own: Path, look_again: Callable[[], Any]) -> None:
        self._folder, self._own = folder, own
        self._look_again: Any = weakref.WeakMethod(look_again)
        self._stop, self._pid = threading.Event(), os.getpid()
        self.ready = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"langmem-plus-watcher-{folder.name}", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        try:
            from watchfiles import watch

            for changes in watch(
                self._folder,
                watch_filter=lambda change, path: self._counts(Path(path)),
                debounce=_STORM_MS,
                step=_QUIET_MS,
                rust_timeout=_WAKE_MS,
                stop_event=self._stop,
                yield_on_timeout=True,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                first = not self.ready.is_set()
                self.ready.set()
                if (look_again := self._look_again()) is None:
                    return
                if changes or first:  # what changed before the watch stood, nobody told
                    look_again()
                del look_again
        except ImportError:
            logger.warning("%s", MISSING)
        except Exception as error:  # noqa: BLE001 - whatever the system refuses, searches look by themselves
            logger.warning(
                "%r can't be watched (%s): edits are seen at the next search. Raise the system's limit of watches, or "
                "leave watch off.",
                str(self._folder),
                error,
            )
        finally:
            self.ready.set()

    def _counts(self, path: Path) -> bool:
        """Whether a path may be a document or a folder of some, or says which ones are."""
        if path.is_relative_to(self._own) or not path.is_relative_to(self._folder):
            return False
        return not any(part.startswith(".") and part != NAME for part in path.relative_to(self._folder).parts)

    def stop(self) -> None:
        """End the thread, and wait for it."""
        self._stop.set()
        if self._pid == os.getpid() and self._thread is not threading.current_thread():
            self._thread.join(_STOP_SECONDS)
