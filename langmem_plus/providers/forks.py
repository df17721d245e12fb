"""Objects of the whole process whose locks a thread of the parent may hold at a fork: its child makes them anew."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forked(Protocol):
    """Something that is told, in a forked child."""

    def forked(self) -> None:
        """Make the locks anew."""
        ...


_TOLD: weakref.WeakSet[Forked] = weakref.WeakSet()


def renewed_in_children(each: Forked) -> None:
    """Have an object told of each fork, in the child, as long as it lives."""
    _TOLD.add(each)


def _tell() -> None:
    for each in list(_TOLD):
        each.forked()


if hasattr(os, "register_at_fork"):  # Windows doesn't fork
    os.register_at_fork(after_in_child=_tell)
