"""What is measured: times, their quantiles, memory, and one figure with the target that it has to meet."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

MILLISECONDS = 1000.0
_MEGABYTE = 1024.0


@dataclass(frozen=True)
class Times:
    """Milliseconds of one thing that was done many times."""

    p50: float
    p95: float
    count: int

    @classmethod
    def of(cls, milliseconds: Iterable[float]) -> Times:
        """From single times."""
        values = np.asarray([*milliseconds])
        return cls(round(float(np.median(values)), 3), round(float(np.quantile(values, 0.95)), 3), len(values))


@dataclass(frozen=True)
class Figure:
    """One measured figure.

    Args:
        name: what was measured.
        value: the figure, in the unit.
        unit: ``ms``, ``s``, ``MB``, ``×`` …
        target: what it may be at most; None where there is no target.
        note: what has to be known to read it.
    """

    name: str
    value: float
    unit: str
    target: float | None = None
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.target is None else self.value <= self.target

    def to_json(self) -> dict[str, object]:
        """Plain JSON."""
        return {**asdict(self), "reached": self.reached}


def time_each(jobs: Iterable[Callable[[], object]]) -> Times:
    """The time of each job."""

    def timed() -> Iterator[float]:
        for job in jobs:
            started = time.perf_counter()
            job()
            yield (time.perf_counter() - started) * MILLISECONDS

    return Times.of(timed())


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """The seconds since it began, until it ended."""
    started = time.perf_counter()
    ended: list[float] = []
    yield lambda: (ended[0] if ended else time.perf_counter()) - started
    ended.append(time.perf_counter())


def resident() -> float:
    """The megabytes of memory that this process holds now; where the system doesn't say, the most it ever held."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / _MEGABYTE
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (_MEGABYTE if sys.platform != "darwin" else _MEGABYTE**2)
