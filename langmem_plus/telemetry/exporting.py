"""OpenTelemetry's tracer and instruments, where the program has loaded it."""

from __future__ import annotations

import logging
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from langmem_plus.telemetry.names import BOUNDARIES, COUNTERS, GAUGES, HISTOGRAMS

logger = logging.getLogger(__name__)

NAME = "langmem_plus"
Values = Mapping[str, Any]


class Instruments:
    """The tracer and the instruments; those of a program that has set up nothing do nothing.

    Args:
        trace: the module ``opentelemetry.trace``.
        tracer: makes spans.
        meter: makes instruments.
        metrics: the module ``opentelemetry.metrics``.
    """

    def __init__(self, trace: Any, tracer: Any, meter: Any, metrics: Any) -> None:
        self.trace, self.tracer, self._metrics = trace, tracer, metrics
        self._counters: dict[str, Any] = {}
        self._histograms: dict[str, Any] = {}
        for name, (unit, description) in COUNTERS.items():
            self._counters[name] = meter.create_counter(name, unit, description)
        for name, (unit, description) in HISTOGRAMS.items():
            try:
                made = meter.create_histogram(
                    name, unit, description, explicit_bucket_boundaries_advisory=BOUNDARIES[name]
                )
            except TypeError:  # an API before 1.30
                made = meter.create_histogram(name, unit, description)
            self._histograms[name] = made
        for name, (unit, description) in GAUGES.items():
            meter.create_observable_gauge(name, [_observer(name, metrics)], unit, description)

    @property
    def is_measuring(self) -> bool:
        """Whether a program has set up metrics: what OpenTelemetry's API has by itself does nothing."""
        return not type(self._metrics.get_meter_provider()).__module__.startswith("opentelemetry.metrics")

    def add(self, name: str, amount: int, attributes: Values) -> None:
        """Add to a counter."""
        if amount:
            self._counters[name].add(amount, attributes)

    def record(self, name: str, amount: float, attributes: Values) -> None:
        """Put a number into a histogram."""
        self._histograms[name].record(amount, attributes)


_found: Instruments | None = None


def instruments() -> Instruments | None:
    """The instruments; None as long as nothing in the process has loaded OpenTelemetry."""
    global _found
    if _found is None:
        trace, metrics = _loaded("opentelemetry.trace"), _loaded("opentelemetry.metrics")
        if trace is not None and metrics is not None:
            _found = Instruments(trace, trace.get_tracer(NAME), metrics.get_meter(NAME), metrics)
    return _found


def count_fact(event: str) -> None:
    """Count what became of one fact outside of a stage: added, updated, deleted, repeated, rejected."""
    found = instruments()
    if found is not None:
        found.add("langmem_plus.facts", 1, {"langmem_plus.event": event})


def _loaded(name: str) -> Any:
    """A module that somebody else has imported; None also while that goes on: its list of names comes last."""
    module = sys.modules.get(name)
    return module if hasattr(module, "__all__") else None


# the backlog: asked for when a reader collects, and never else

Read = Callable[[], float | None]
_sources: dict[str, list[Read]] = {}
_stores: weakref.WeakSet[Any] = weakref.WeakSet()
# What a store's `backlog` tells: the metric → the field.
_OF_STORES = {
    "langmem_plus.turns.pending": "turns",
    "langmem_plus.turns.age": "turns_oldest",
    "langmem_plus.embeddings.pending": "texts",
    "langmem_plus.embeddings.age": "texts_oldest",
}


def watch(name: str, read: Read) -> None:
    """Let a gauge of `names.GAUGES` read from here, as long as the process lives; None is no reading."""
    _sources.setdefault(name, []).append(read)


def watch_store(store: Any) -> None:
    """Let the gauges read from a store's ``backlog()``, as long as it lives; one that tells nothing is left out."""
    if callable(getattr(store, "backlog", None)):
        _stores.add(store)
        instruments()


def backlog(name: str) -> float | None:
    """What a gauge reads now: the sum over its sources, of ages the highest; None without any."""
    found = [_ask(read) for read in _sources.get(name, ())]
    field = _OF_STORES.get(name)
    found += [_ask(partial(_told_by, store, field)) for store in list(_stores) if field]
    known = [number for number in found if number is not None]
    if not known:
        return None
    return max(known) if name.endswith(".age") else sum(known)


def _told_by(store: Any, field: str) -> float | None:
    number: float | None = getattr(store.backlog(), field)
    return number


def _ask(read: Read) -> float | None:
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - a reading that fails must not end the others
        logger.debug("no reading of the backlog: %s: %s", type(error).__name__, error)
        return None


def _observer(name: str, metrics: Any) -> Callable[[Any], Iterable[Any]]:
    def observe(options: Any) -> Iterable[Any]:
        number = backlog(name)
        return [] if number is None else [metrics.Observation(number)]

    return observe
