"""Who holds a lease, and whether they still live: processes are told apart by when they started, since a process id
comes back, and in a container it is the same after each start.
"""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path
from typing import Any

Owner = list[str | int]
"""The machine, the process's id, when it started, and who it is within its process."""

# Where the system doesn't tell when a process started, this at least tells this process from those before it.
_TOKEN = f"~{secrets.token_hex(8)}"
_PROCESSES = Path("/proc")


def this_owner(name: str) -> Owner:
    """The owner that ``name`` is in this process; asked for at each claim, since a forked child is another process."""
    pid = os.getpid()
    return [socket.gethostname(), pid, _started(pid) or _TOKEN, name]


def is_gone(owner: Any) -> bool:
    """Whether the process that holds a lease ran on this machine and runs no more: a crash must not cost a lease.

    Where nobody can tell, it is taken to live until the lease expires: on another machine, in a marker that names no
    owner, and, without ``/proc``, for another process with the same id.
    """
    if not isinstance(owner, list) or len(owner) < 2 or owner[0] != socket.gethostname():
        return False
    pid, since = owner[1], owner[2] if len(owner) > 2 else None
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0:
        return False
    if isinstance(since, str) and (started := _started(pid) or (_TOKEN if pid == os.getpid() else None)):
        return since != started and (since.startswith("~") == started.startswith("~"))
    if os.name == "nt":
        return False
    try:
        os.kill(pid, 0)  # signal 0 only asks
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _started(pid: int) -> str | None:
    """When a process started: the machine's start, and the clock ticks since then; None where that isn't told."""
    try:
        boot = (_PROCESSES / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # The second field is the program's name in brackets, which may hold anything.
        after_name = (_PROCESSES / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        return f"{boot}/{after_name.split()[19]}"
    except (OSError, IndexError, ValueError):
        return None
