"""Decide whether a message needs memory, and which; the first stage of recall.

======== ======================================================= ==========================================
strategy is chosen for                                           what is recalled
======== ======================================================= ==========================================
none     small talk, memory off, an incognito session            nothing
tail     words about the thread itself ("go on")                 the thread's summary
archive  words about an earlier conversation ("last time")       memories and archived conversations
documents anchors in the workspace ("which file", a domain)      memories and documents
memory   everything else                                         memories
======== ======================================================= ==========================================
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError
from langmem_plus.messages import last_human, message_words
from langmem_plus.recall.cues import (
    ANCHOR,
    CONTINUITY,
    CONTINUITY_FILLERS,
    DOCUMENTS,
    first_phrase,
)
from langmem_plus.recall.earlier import asked_topic
from langmem_plus.recall.planner import ModelPlanner, Planner, aask, ask, read_answer
from langmem_plus.recall.query import bounded, current_text, search_query
from langmem_plus.recall.talked import asks_what_we_said
from langmem_plus.records import MemoryReport, Plan
from langmem_plus.services import Services, Step, Update, stage
from langmem_plus.small_talk import (
    CUE_CHARACTERS,
    GREETINGS_AND_THANKS,
    LESS,
    SMALL_TALK,
    amended,
    find_cues,
    find_small_talk,
    is_question,
    longest_first,
    normalise,
)
from langmem_plus.state import MemoryState

logger = logging.getLogger(__name__)

_BUILT_IN_TRIGGERS = MemoryConfig.model_fields["search_triggers"].default


def plan(
    text: str, config: MemoryConfig, *, has_memory: bool = True, incognito: bool = False, asked: bool = False
) -> Plan:
    """The strategy for a message; the same message always gets the same one, and ``reason`` names the cue.

    Args:
        text: the user's words.
        has_memory: False when it is known that nothing is stored.
        incognito: True in a session that memory must not see.
        asked: True when the assistant's last message was a question, so that "ok" is an answer and not small talk.
    """
    if not config.enabled:
        return Plan(strategy="none", reason="memory is off (enabled = false)")
    if incognito:
        return Plan(strategy="none", reason="the session is incognito")
    if config.strategy == "auto":
        chosen = _by_cue(text, config, asked)
    else:
        query = "" if config.strategy == "none" else text
        chosen = Plan(strategy=config.strategy, reason=f"the strategy is set to {config.strategy}", query=query)
    if not has_memory and chosen.strategy in ("memory", "documents", "archive"):
        return Plan(strategy="none", reason="nothing is remembered yet")
    return chosen


def _by_cue(text: str, config: MemoryConfig, asked: bool) -> Plan:
    flat = normalise(text)
    question = is_question(text)
    if not flat and not question:
        return Plan(strategy="none", reason="the message has no words")
    if cue := first_phrase(flat, config.search_triggers) or _by_form(text, config):
        topic = asked_topic(text, config.search_triggers)
        return Plan(strategy="archive", reason=f"an earlier conversation: {cue!r}", query=topic)
    if cue := find_small_talk(text, asked=asked, cues=config.small_talk_cues):
        return Plan(strategy="none", reason=f"small talk: {cue!r}")
    if cue := _continuity(flat, amended(CONTINUITY, config.continuity_cues)):
        return Plan(strategy="tail", reason=f"the conversation itself: {cue!r}", query=text)
    if cue := _anchor(text, flat, amended(DOCUMENTS, config.document_cues)):
        return Plan(strategy="documents", reason=f"the workspace: {cue!r}", query=text)
    return Plan(strategy="memory", reason="no other cue: memory is the default", query=text)


def check_cues(config: MemoryConfig) -> None:
    """See to it that each ``-cue`` takes a built-in one out.

    Raises:
        ConfigError: there is no such built-in cue.
    """
    lists = {"small_talk_cues": SMALL_TALK, "continuity_cues": CONTINUITY, "document_cues": DOCUMENTS}
    for knob, built_in in lists.items():
        for cue in getattr(config, knob):
            plain = normalise(cue)
            if cue.startswith(LESS) and cue.strip() != f"{LESS}*" and plain not in built_in:
                near = difflib.get_close_matches(plain, built_in, 1)
                remedy = f"did you mean {LESS + near[0]!r}?" if near else f"{LESS + '*'!r} takes all of them out."
                raise ConfigError(f"{knob}: {cue!r} takes nothing out, because no built-in cue is so; {remedy}")


def _by_form(text: str, config: MemoryConfig) -> str | None:
    """The words that ask what we said; one's own triggers stand in place of these forms, too."""
    return asks_what_we_said(text) if config.search_triggers == _BUILT_IN_TRIGGERS else None


def _continuity(flat: str, cues: tuple[str, ...]) -> str | None:
    """The first cue, if the message says nothing beside it."""
    if len(flat) > CUE_CHARACTERS:
        return None
    found, rest = find_cues(flat, cues)
    if not found or (rest and find_cues(rest, longest_first(CONTINUITY_FILLERS + GREETINGS_AND_THANKS))[1]):
        return None
    return found[0]


def _anchor(text: str, flat: str, cues: tuple[str, ...]) -> str | None:
    path = ANCHOR.search(text)
    return path[0] if path else first_phrase(flat, cues)


def plan_messages(messages: Sequence[BaseMessage], config: MemoryConfig, *, incognito: bool = False) -> Plan:
    """The plan for the current user's message, its query ready to be searched."""
    place = last_human(messages)
    before = messages[place - 1] if place else None
    asked = isinstance(before, AIMessage) and message_words(before).rstrip(" *_\"'”»)").endswith(("?", "？"))
    chosen = plan(current_text(messages), config, incognito=incognito, asked=asked)
    if not chosen.query:
        return chosen
    query = bounded(chosen.query) if chosen.strategy == "archive" else search_query(messages)
    return chosen.model_copy(update={"query": query})


def plan_node(services: Services) -> Step:
    """The node: reads ``messages``, writes ``memory_plan``. Where the services have a planner, it decides in place of
    the cues; a chat model isn't asked about small talk.

    Raises:
        ConfigError: a ``-cue`` takes no built-in one out.
    """
    settings, planner = services.config, services.plan
    check_cues(settings)

    def begin(state: MemoryState, config: RunnableConfig) -> tuple[list[AnyMessage], Plan, Planner | None]:
        incognito = services.is_incognito(config)
        messages = state.get("messages") or []
        by_cues = plan_messages(messages, settings, incognito=incognito)
        is_open = settings.enabled and not incognito and settings.strategy == "auto"
        unasked = isinstance(planner, ModelPlanner) and by_cues.strategy == "none"
        return messages, by_cues, planner if is_open and not unasked else None

    def chosen(answer: Any, by_cues: Plan, messages: list[AnyMessage]) -> Update:
        return _update(read_answer(answer, by_cues, search_query(messages)))

    def failed(error: Exception, by_cues: Plan) -> Update:
        if settings.strict or isinstance(error, GraphBubbleUp):
            raise error
        logger.warning("plan: the cues decide, because the planner failed: %s", error)
        warning = f"the cues planned, because the planner failed: {type(error).__name__}: {error}"
        return _update(by_cues, warnings=[warning], counts={"plan_failed": 1})

    def run(state: MemoryState, config: RunnableConfig) -> Update:
        messages, by_cues, asked = begin(state, config)
        if asked is None:
            return _update(by_cues)
        try:
            return chosen(ask(asked, current_text(messages), messages, settings), by_cues, messages)
        except Exception as error:  # noqa: BLE001 - the cues take over, and failed() logs and reports it, or raises
            return failed(error, by_cues)

    async def arun(state: MemoryState, config: RunnableConfig) -> Update:
        messages, by_cues, asked = begin(state, config)
        if asked is None:
            return _update(by_cues)
        try:
            return chosen(await aask(asked, current_text(messages), messages, settings), by_cues, messages)
        except Exception as error:  # noqa: BLE001 - as above
            return failed(error, by_cues)

    return stage("plan", services, run, arun, fallback={"memory_plan": Plan(strategy="none", reason="planning failed")})


def _update(chosen: Plan, **told: Any) -> Update:
    return {
        "memory_plan": chosen,
        "memory_report": MemoryReport(strategy=chosen.strategy, reason=chosen.reason, **told),
    }
