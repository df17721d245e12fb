"""Traces, metrics and the audit trail: what memory did, how long it took, what it cost, and what a user decided.

Spans and metrics go through OpenTelemetry's API, to whatever the program has set up. Nothing is imported for it: who
exports has loaded OpenTelemetry, and where nobody has, there is nothing to do. Each stage is a span of its name. Names,
numbers and kinds alone are told; texts, users and threads only with ``telemetry_content``.

What a user decides is logged by ``langmem_plus.audit``, at the level INFO: ids, never texts.

Attributes are OpenTelemetry's own where it has some (``gen_ai.*``, ``error.type``), else ``langmem_plus.*``.

Source: https://github.com/open-telemetry/semantic-conventions-genai (spans of memory and of inference, token usage)
"""

from __future__ import annotations

from langmem_plus.telemetry.answers import injected_memories, measure_answer, uses_memory
from langmem_plus.telemetry.audit import audit
from langmem_plus.telemetry.content import content_of
from langmem_plus.telemetry.exporting import count_fact, instruments, watch, watch_store
from langmem_plus.telemetry.spans import Observed, here

__all__ = [
    "Observed",
    "audit",
    "content_of",
    "count_fact",
    "here",
    "injected_memories",
    "instruments",
    "measure_answer",
    "uses_memory",
    "watch",
    "watch_store",
]
