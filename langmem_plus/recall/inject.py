"""Put what was recalled into one model call, within its budgets; never into the thread.

The context is, in this order: the thread's summary, archives of earlier conversations, memories, documents (all
quotes, inside of one fence), and the operator's hint. It stands just before the current user's words, after the prefix
that the provider caches. The same set of records gives the same bytes: they are ordered by topic, then by time; there
are no scores and no clock.

The total goes, in this order, to the user's words, the thread's tail, the hint, the summary, archives and memories,
documents. Archives and memories share one budget, of which archives take half at most where there are both.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig

from langmem_plus.config import MemoryConfig
from langmem_plus.fence import ENCLOSURE, escape, fence, fence_hint, strip_context
from langmem_plus.messages import last_human
from langmem_plus.prompts import ARCHIVES_HEADING, DOCUMENTS_HEADING, MEMORIES_HEADING, SUMMARY_HEADING
from langmem_plus.recall.mmr import choice
from langmem_plus.recall.query import current_text
from langmem_plus.recall.sections import Section, fit_records, fit_summary
from langmem_plus.recall.tail import BYTES, clip_tail, size, user_size
from langmem_plus.records import MemoryHit, MemoryRecord, MemoryReport
from langmem_plus.services import Services, Update, emit_report, stage
from langmem_plus.state import MemoryState
from langmem_plus.tokens import TokenCounter, counter

__all__ = ["apply_context", "build_context", "clip_tail", "inject_node", "strip_context"]

MessageT = TypeVar("MessageT", bound=BaseMessage)

_GAP = "\n\n"
_SECTION_OF = {"archive": "archives", "document": "documents"}  # of every other role: memories


def build_context(
    hits: Sequence[MemoryHit],
    summary: MemoryRecord | None,
    config: MemoryConfig,
    token_counter: TokenCounter | None = None,
    *,
    used_tokens: int = 0,
    used_bytes: int = 0,
) -> tuple[str, MemoryReport]:
    """The fenced text for a model call, empty where there is nothing to say, and what went into it.

    Each section keeps to its own budget, then the whole to ``max_prompt_tokens`` and ``max_prompt_bytes``. Where the
    records of a section don't fit, the long ones are represented by their summary or cut at a sentence, evenly; then
    the lowest ranked are left out. A hint is given whole or, where it has no room, not at all.

    Args:
        hits: the chosen records, best first.
        summary: the thread's rolling summary.
        config: the budgets, and the response hint.
        token_counter: counts and cuts; None takes the best at hand.
        used_tokens: what the user's words and the thread's tail take of the total.
        used_bytes: the same in bytes.
    """
    measure = token_counter or counter(config)
    room = _Room(measure, config.max_prompt_tokens - used_tokens, config.max_prompt_bytes - used_bytes)
    wished = (config.response_hint or "").strip()
    hint = fence_hint(wished) if wished else ""
    hint_cut = not room.holds(hint)
    if hint_cut:
        hint = ""
    room.spend(hint)
    sections = _sections(hits, summary, config, room)
    # Tokens don't quite add up: texts that were counted apart may take one more together.
    while not room.holds(text := _join(sections, hint)):
        for section in [section for section in sections if section.text][-1:]:
            section.drop_last()
    pinned = {hit.record.id for hit in hits if hit.record.pinned}
    report = _report(sections, hint, text, measure, pinned)
    if hint_cut:
        report.counts["hint_left_out"] = 1
        report.warnings.append("response_hint found no room in the prompt: shorten it, or raise max_prompt_tokens")
    return text, report


@dataclass
class _Room:
    """What the whole context may take, and what of it is left."""

    measure: TokenCounter
    tokens: int
    bytes: int
    spent_tokens: int = 0
    spent_bytes: int = 0

    @property
    def left(self) -> tuple[int, int]:
        return self.tokens - self.spent_tokens, self.bytes - self.spent_bytes

    def spend(self, text: str) -> None:
        self.spent_tokens += self.measure.count(text)
        self.spent_bytes += size(text)

    def holds(self, text: str) -> bool:
        return not text or (self.measure.count(text) <= self.tokens and size(text) <= self.bytes)


def _sections(
    hits: Sequence[MemoryHit], summary: MemoryRecord | None, config: MemoryConfig, room: _Room
) -> list[Section]:
    """Summary, archives, memories and documents, each within its own budget and what the ones before it have left."""
    room.spend(ENCLOSURE + _GAP * 2)
    tokens, size_left = room.left
    limits = {"token_limit": min(config.summary_max_tokens, tokens), "byte_limit": size_left}
    sections = [fit_summary(summary, SUMMARY_HEADING, room.measure, **limits)]
    room.spend(sections[-1].text)
    kinds = [_SECTION_OF.get(hit.record.role, "memories") for hit in hits]
    shared = config.memories_max_tokens
    for name, heading, excerpt in (
        ("archives", ARCHIVES_HEADING, None),
        ("memories", MEMORIES_HEADING, None),
        ("documents", DOCUMENTS_HEADING, config.document_excerpt_bytes),
    ):
        chosen = [hit for hit, kind in zip(hits, kinds, strict=True) if kind == name]
        limit = config.documents_max_tokens if name == "documents" else shared
        if name == "archives" and "memories" in kinds:
            limit //= 2
        tokens, size_left = room.left
        limits = {"token_limit": min(limit, tokens), "byte_limit": size_left}
        sections.append(fit_records(name, heading, chosen, room.measure, **limits, excerpt_bytes=excerpt))
        room.spend(sections[-1].text)
        shared -= room.measure.count(sections[-1].text)
    return sections


def _join(sections: Sequence[Section], hint: str) -> str:
    body = _GAP.join(section.text for section in sections if section.text)
    return "\n".join(part for part in (fence(escape(body)) if body else "", hint) if part)


def _report(
    sections: Sequence[Section], hint: str, text: str, measure: TokenCounter, pinned: Collection[str]
) -> MemoryReport:
    lines = [line for section in sections for line in section.lines]
    short = [line.hit for line in lines if line.shortened]
    cut = [choice for section in sections for choice in section.cut]
    forced = [choice.id for choice in cut if choice.id in pinned]
    named = {**{section.name: section.text for section in sections}, "hint": hint, "context": text}
    return MemoryReport(
        tokens={name: measure.count(part) for name, part in named.items() if part},
        counts={
            "injected": len(lines),
            **({"shortened": len(short)} if short else {}),
            **({"summary_shortened": 1} if any(section.body_cut for section in sections) else {}),
            "no_room": len(cut),
            **({"pinned_chosen": len(forced)} if forced else {}),
        },
        choices=[*cut, *(choice(hit, kept=True, reason="shortened to its share of the budget") for hit in short)],
        warnings=[f"the pinned memory {id} found no room in the prompt: raise its budget" for id in forced],
    )


# the model call


def apply_context(messages: Sequence[MessageT], context: str, inject_as: Literal["user", "system"]) -> list[MessageT]:
    """The messages of one model call with the context in them; the given ones stay as they are.

    ``user``: just before the text of the current user's message, within it. ``system``: at the end of the system
    message, which is made where there is none (also where there is no user's message). Without a context the messages
    come back unchanged.
    """
    call: list[Any] = list(messages)
    if not context:
        return call
    place = last_human(call) if inject_as == "user" else None
    if place is not None:
        call[place] = _with_content(call[place], _before_text(call[place].content, context))
        return call
    place = next((i for i, message in enumerate(call) if isinstance(message, SystemMessage)), None)
    if place is None:
        return [SystemMessage(context), *call]
    content = call[place].content
    if isinstance(content, str):
        call[place] = _with_content(call[place], f"{content}{_GAP}{context}" if content else context)
    else:
        call[place] = _with_content(call[place], [*content, {"type": "text", "text": context}])
    return call


def _before_text(content: str | list[Any], context: str) -> str | list[Any]:
    if isinstance(content, str):
        return f"{context}{_GAP}{content}" if content else context
    block = {"type": "text", "text": context + _GAP}
    texts = (i for i, part in enumerate(content) if isinstance(part, str) or part.get("type") == "text")
    place = next(texts, len(content))
    return [*content[:place], block, *content[place:]]


def _with_content(message: BaseMessage, content: str | list[Any]) -> BaseMessage:
    return message.model_copy(update={"content": content})


def _tell_cuts(
    report: MemoryReport, messages: Sequence[BaseMessage], call: Sequence[BaseMessage], settings: MemoryConfig
) -> None:
    """Report what of the thread this call goes without: messages, results of tools among them, and the user's words."""
    if current_text(call) != current_text(messages):
        report.counts["user_shortened"] = 1
        report.warnings.append(f"the user's message was cut to user_max_tokens ({settings.user_max_tokens})")
    if left_out := len(messages) - len(call):
        results = [sum(isinstance(message, ToolMessage) for message in each) for each in (messages, call)]
        report.counts.update(tail_left_out=left_out, tail_results_left_out=results[0] - results[1])


def inject_node(services: Services, *, whole_thread: bool = False) -> Runnable[MemoryState, Update]:
    """The node: reads what was recalled, writes ``memory_context``, and streams the report of the whole recall.

    Args:
        services: the settings.
        whole_thread: the agent sees all of the thread, however long: nothing is cut. The context's room is what the
            thread's tail would leave, so that a long thread doesn't take it all.
    """
    settings = services.config

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        plan, messages = state.get("memory_plan"), state.get("messages") or []
        report, context = MemoryReport(counts={"injected": 0}), ""
        measure, recalls = counter(settings), plan is None or plan.strategy != "none"
        call = clip_tail(messages, settings, measure) if recalls or not whole_thread else messages
        if recalls:
            tail = [message for message in call[: last_human(call) or 0] if not isinstance(message, SystemMessage)]
            tail_tokens = sum(map(measure.count_message, tail))
            user_tokens, user_bytes = user_size(call, measure)
            context, report = build_context(
                state.get("memory_hits") or [],
                state.get("memory_summary"),
                settings,
                measure,
                used_tokens=user_tokens + tail_tokens + measure.count(_GAP),
                used_bytes=user_bytes + sum(map(BYTES.count_message, tail)) + size(_GAP),
            )
            report.tokens.update(user=user_tokens, tail=tail_tokens)
        if not whole_thread:
            _tell_cuts(report, messages, call, settings)
        emit_report(report.after(state.get("memory_report")))
        return {"memory_context": context, "memory_report": report}

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        return run(state, config)

    return stage("inject", services, run, arun, fallback={"memory_context": ""})
