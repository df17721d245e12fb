"""OpenTelemetry with exporters in memory, for one test at a time: nothing global is set up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from langmem_plus.telemetry.exporting import Instruments


@dataclass
class Told:
    """What was told to OpenTelemetry."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    @property
    def spans(self) -> list[ReadableSpan]:
        """The finished spans, in the order of their ends."""
        return list(self.exporter.get_finished_spans())

    def span(self, name: str) -> ReadableSpan:
        """The only span of that name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def points(self, name: str) -> list[Any]:
        """A metric's data points."""
        data = self.reader.get_metrics_data()
        found = [
            metric
            for resource in (data.resource_metrics if data else [])
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
        ]
        return [point for metric in found for point in metric.data.data_points]

    def sums(self, name: str, *attributes: str) -> dict[Any, Any]:
        """A counter's or a gauge's values by one attribute, or by several."""
        found: dict[Any, Any] = {}
        for point in self.points(name):
            key = tuple(point.attributes.get(each) for each in attributes)
            place = key[0] if len(key) == 1 else key
            found[place] = found.get(place, 0) + point.value
        return found

    def everything(self) -> str:
        """All that was told, as text."""
        spans = [(span.name, dict(span.attributes or {}), span.events, span.status) for span in self.spans]
        data = self.reader.get_metrics_data()
        return f"{spans} {data.to_json() if data else ''} {[[e.attributes for e in s.events] for s in self.spans]}"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """A program that exports, to memory."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers, meters = TracerProvider(), MeterProvider([reader])
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    module = SimpleNamespace(get_meter_provider=lambda: meters, Observation=metrics.Observation)
    made = Instruments(trace, tracers.get_tracer("t"), meters.get_meter("t"), module)
    monkeypatch.setattr("langmem_plus.telemetry.exporting._found", made)
    return Told(exporter, reader)


@pytest.fixture
def untold(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes the process one in which nobody has loaded OpenTelemetry."""

    def forget() -> None:
        monkeypatch.setattr("langmem_plus.telemetry.exporting._found", None)
        monkeypatch.setattr("langmem_plus.telemetry.exporting._loaded", lambda name: None)

    return forget
