"""A stage as a span of its name, and what it reports as metrics."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Protocol, Self

from langgraph.errors import GraphBubbleUp

from langmem_plus.records import MemoryReport
from langmem_plus.telemetry.exporting import Instruments, instruments
from langmem_plus.telemetry.names import COUNTED, OPERATIONS, PROVIDERS, RECORDS, STAGE


class ModelCall(Protocol):
    """One call of a chat model, as `providers.spending.ModelUse` has it."""

    provider: str
    model: str
    began: int
    ended: int | None
    input_tokens: int
    output_tokens: int
    estimated: bool
    error: str


class Observed:
    """A piece of work as a span, with what it reports as metrics: a context manager. Without OpenTelemetry, nothing.

    Args:
        name: the stage's name.
        link: the span that caused it, of another trace, as `here` gives it.
        content: whether the messages of errors may be told, which may quote somebody.
    """

    def __init__(self, name: str, *, link: Any = None, content: bool = False) -> None:
        self.name, self._link, self._content = name, link, content
        self._here = instruments()
        self._open = ExitStack()
        self._span: Any = None
        self._failure: BaseException | None = None
        self._began = 0.0

    def __enter__(self) -> Self:
        if self._here is not None:
            operation = OPERATIONS.get(self.name)
            started = self._here.tracer.start_as_current_span(
                self.name,
                attributes={"gen_ai.operation.name": operation} if operation else None,
                links=[self._here.trace.Link(self._link)] if self._link is not None else None,
                record_exception=False,
                set_status_on_exception=False,
            )
            self._span = self._open.enter_context(started)
        self._began = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._open:
            if self._here is not None:
                self._end(self._here, self._failure or error)

    def _end(self, here: Instruments, failure: BaseException | None) -> None:
        told = {STAGE: self.name}
        if failure is not None and not isinstance(failure, GraphBubbleUp):
            told["error.type"] = type(failure).__qualname__
            here.add("langmem_plus.stage.failures", 1, told)
            self._span.set_attribute("error.type", told["error.type"])
            self._span.set_status(here.trace.StatusCode.ERROR)
            if self._content:
                self._span.record_exception(failure)
        here.record("langmem_plus.stage.duration", time.perf_counter() - self._began, told)

    @property
    def is_recorded(self) -> bool:
        """Whether somebody gets the span, so that more is worth telling."""
        return self._span is not None and bool(self._span.is_recording())

    def failed(self, error: BaseException) -> None:
        """Note a failure from which the caller goes on."""
        self._failure = error

    def tell(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes to the span."""
        if self.is_recorded:
            self._span.set_attributes(attributes)

    def done(self, report: MemoryReport, strategy: str | None, calls: Sequence[ModelCall]) -> None:
        """Tell what a stage did.

        Args:
            report: the stage's own.
            strategy: what the plan of the run chose.
            calls: the calls of models that the stage made.
        """
        here = self._here
        if here is None:
            return
        if self.is_recorded:
            self.tell(_attributes(self.name, report, strategy, calls))
            for call in calls:
                _model_span(here, call)
        for call in calls:
            _measure_call(here, self.name, call)
        if self.name == "inject":
            told = {"langmem_plus.injected": report.counts.get("injected", 0) > 0}
            here.add("langmem_plus.recalls", 1, {**told, "langmem_plus.strategy": strategy or "none"})
        for name, (counter, told_apart) in COUNTED.get(self.name, {}).items():
            here.add(counter, report.counts.get(name, 0), told_apart)


def here() -> Any:
    """Where the running trace stands, as a link for work that is done later; None outside of any."""
    found = instruments()
    context = found.trace.get_current_span().get_span_context() if found is not None else None
    return context if context is not None and context.is_valid else None


def _attributes(name: str, report: MemoryReport, strategy: str | None, calls: Sequence[ModelCall]) -> dict[str, Any]:
    told: dict[str, Any] = {f"langmem_plus.{count}": number for count, number in report.counts.items()}
    told |= {f"langmem_plus.tokens.{part}": number for part, number in report.tokens.items()}
    if strategy:
        told["langmem_plus.strategy"] = strategy
    if name in RECORDS and RECORDS[name] in report.counts:
        told["gen_ai.memory.record.count"] = report.counts[RECORDS[name]]
    if calls:
        told["gen_ai.usage.input_tokens"] = sum(call.input_tokens for call in calls)
        told["gen_ai.usage.output_tokens"] = sum(call.output_tokens for call in calls)
    return told


def _call_attributes(call: ModelCall) -> dict[str, Any]:
    told: dict[str, Any] = {"gen_ai.operation.name": "chat"}
    if call.provider:
        told["gen_ai.provider.name"] = PROVIDERS.get(call.provider, call.provider)
    if call.model:
        told["gen_ai.request.model"] = call.model
    if error := call.error or ("TimeoutError" if call.ended is None else ""):
        told["error.type"] = error
    return told


def _model_span(here: Instruments, call: ModelCall) -> None:
    """A call of a model as a span below its stage's, written when the stage is over."""
    told = _call_attributes(call)
    used = {"gen_ai.usage.input_tokens": call.input_tokens, "gen_ai.usage.output_tokens": call.output_tokens}
    span = here.tracer.start_span(
        f"chat {call.model}".strip(),
        kind=here.trace.SpanKind.CLIENT,
        attributes={**told, **used, "langmem_plus.tokens.estimated": call.estimated},
        start_time=call.began,
    )
    if "error.type" in told:
        span.set_status(here.trace.StatusCode.ERROR)
    span.end(end_time=call.ended)


def _measure_call(here: Instruments, stage: str, call: ModelCall) -> None:
    told = {**_call_attributes(call), STAGE: stage}
    here.add("langmem_plus.model.calls", 1, told)
    if call.ended is not None:
        here.record("gen_ai.client.operation.duration", (call.ended - call.began) / 1e9, told)
    for kind, tokens in (("input", call.input_tokens), ("output", call.output_tokens)):
        if tokens:
            here.record("gen_ai.client.token.usage", tokens, {**told, "gen_ai.token.type": kind})
