"""Texts that an embedder refuses: each is tried again after a pause that grows, and held up by no other."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass

# A pause grows to so many times the first one.
LONGEST = 4096
# The texts refused longest ago are forgotten beyond so many, and then tried as if they were new.
REMEMBERED = 10_000


def text_hash(text: str) -> bytes:
    """The key of a text's vector: equal texts are embedded once."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


@dataclass(frozen=True)
class Refusal:
    """What is known of a text that was refused.

    Attributes:
        reason: what the embedder said last, or what was wrong with its vector.
        times: how often it was tried in vain.
        until: when it may be tried again, on the clock of its owner.
    """

    reason: str
    times: int
    until: float


class Refused:
    """The texts without a vector because of what they are; thread-safe, and forgotten with the process.

    Args:
        pause: seconds before the second try; each later one waits twice as long.
        clock: seconds that only ever grow.
    """

    def __init__(self, pause: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause, self._clock = pause, clock
        self._known: OrderedDict[bytes, Refusal] = OrderedDict()
        self._lock = threading.Lock()

    def forked(self) -> None:
        """In a forked child: a thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def note(self, text: str, reason: str) -> bool:
        """Note that a text was refused; says whether that is news."""
        with self._lock:
            key = text_hash(text)
            before = self._known.pop(key, None)
            times = before.times + 1 if before else 1
            pause = self._pause * min(2 ** (times - 1), LONGEST)
            self._known[key] = Refusal(reason, times, self._clock() + pause)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
            return before is None

    def clear(self, texts: Collection[str]) -> None:
        """Note that texts have their vectors."""
        if self._known:
            with self._lock:
                for text in texts:
                    self._known.pop(text_hash(text), None)

    def find(self, text: str) -> Refusal | None:
        """What is known of a text."""
        with self._lock:
            return self._known.get(text_hash(text))

    def next_try(self) -> float | None:
        """Seconds until one may be tried again; None without any."""
        with self._lock:
            if not self._known:
                return None
            return max(0.0, min(refusal.until for refusal in self._known.values()) - self._clock())

    def pausing(self) -> frozenset[bytes]:
        """The texts, by `text_hash`, that aren't to be tried now."""
        if not self._known:
            return frozenset()
        with self._lock:
            now = self._clock()
            return frozenset(key for key, refusal in self._known.items() if refusal.until > now)
