"""The budgets of a model call: over any history and any budgets the totals hold, and what was cut is told."""

from __future__ import annotations

import datetime as dt
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langmem_plus.config import MemoryConfig
from langmem_plus.messages import last_human
from langmem_plus.recall.inject import apply_context, build_context, clip_tail, inject_node
from langmem_plus.recall.tail import BYTES, CUT_MARK, user_size
from langmem_plus.records import MemoryHit, MemoryRecord, Plan
from langmem_plus.services import Services
from langmem_plus.tokens import counter

MEASURE = counter()
CONFIG = MemoryConfig()
NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
SENTENCES = "The tide turns at noon. "


def made(text: str, number: int = 0, **fields: Any) -> MemoryHit:
    """A hit of a record with its number as its id."""
    times = {"created_at": NOW, "updated_at": NOW}
    record = MemoryRecord(**{"id": f"r{number}", "text": text, "user_id": "ann", **times, **fields})
    return MemoryHit(record=record, namespace=("memories", "ann", "default"))


def call(*names: str, args: str = "") -> AIMessage:
    """An AI message that calls tools, their ids as given."""
    return AIMessage("", tool_calls=[{"id": name, "name": "look", "args": {"of": args}} for name in names])


def result(name: str, text: str = "found") -> ToolMessage:
    """A tool's answer."""
    return ToolMessage(text, tool_call_id=name)


def inject(messages: list[BaseMessage], hits: list[MemoryHit], **config: Any) -> tuple[list[BaseMessage], Any]:
    """What a model is sent, as the memory graph's agent node composes it, and the report."""
    services = Services(config=CONFIG.replace(**config))
    summary = made("They spoke of tides. " * 9, role="summary").record
    state: Any = {
        "messages": messages,
        "memory_plan": Plan(strategy="memory", reason=""),
        "memory_hits": hits,
        "memory_summary": summary,
    }
    update = inject_node(services).invoke(state)
    clipped = clip_tail(messages, services.config)
    return apply_context(clipped, update["memory_context"], services.config.inject_as), update["memory_report"]


def added(message: BaseMessage) -> str:
    """What stands in a system message beside the operator's words."""
    return str(message.content).removeprefix("Be kind.")


names = st.sampled_from("1234")
words = st.sampled_from(["ok", SENTENCES * 8, "潮水在中午转向。" * 9, "wave 🌊 " * 20])
any_message = st.one_of(
    st.builds(HumanMessage, words),
    st.builds(AIMessage, words),
    st.builds(SystemMessage, st.just("Be kind.")),
    st.builds(result, names, words),
    st.builds(lambda ids, args: call(*ids, args=args), st.lists(names, min_size=1, max_size=3, unique=True), words),
)
blocks = st.lists(
    st.one_of(
        words.map(lambda text: {"type": "text", "text": text}),
        st.just({"type": "image_url", "image_url": {"url": "data:,AAAA"}}),
    ),
    min_size=1,
    max_size=3,
)
any_current = st.builds(lambda content: HumanMessage(content), st.one_of(words, blocks))
open_round = st.sampled_from([[], [call("8"), result("8", SENTENCES * 40)], [call("8", "9"), result("9"), result("8")]])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(any_message, max_size=14),
    any_current,
    open_round,
    st.lists(st.tuples(st.sampled_from(["memory", "user", "document"]), words), max_size=5),
    st.tuples(st.integers(3, 900), st.integers(40, 3000), st.integers(3, 300), st.integers(0, 400), st.integers(1, 9)),
    st.sampled_from(["user", "system"]),
)
def test_the_totals_hold_over_any_history(
    messages: list[BaseMessage],
    current: HumanMessage,
    open_messages: list[BaseMessage],
    rows: list[tuple[str, str]],
    limits: tuple[int, int, int, int, int],
    inject_as: str,
) -> None:
    """Tail, context and the user's text keep to both totals; the open round stays, and each result has its call."""
    total, total_bytes, user, tail, count = limits
    hits = [made(text, number, role=role) for number, (role, text) in enumerate(rows)]
    sent, report = inject(
        [*messages, current, *open_messages],
        hits,
        max_prompt_tokens=total,
        max_prompt_bytes=total_bytes,
        user_max_tokens=user,
        tail_max_tokens=tail,
        tail_messages=count,
        inject_as=inject_as,
    )
    place = last_human(sent)
    assert place is not None
    assert sent[place + 1 :] == open_messages
    carried = [message for message in sent[:place] if not isinstance(message, SystemMessage)]
    context = [text for each in sent[:place] if isinstance(each, SystemMessage) if (text := added(each))]
    tokens, size = user_size(sent, MEASURE)
    assert tokens + sum(map(MEASURE.count_message, carried)) + sum(map(MEASURE.count, context)) <= total
    assert size + sum(map(BYTES.count_message, carried)) + sum(map(BYTES.count, context)) <= total_bytes
    assert sum(map(MEASURE.count_message, carried)) <= tail
    assert report["tokens"]["user"] <= user
    called = set()
    for message in sent:
        called.update(each["id"] for each in getattr(message, "tool_calls", []))
        assert not isinstance(message, ToolMessage) or message.tool_call_id in called
    in_thread = len(messages) + 1 + len(open_messages)
    made_system = len(context) if not any(isinstance(message, SystemMessage) for message in messages) else 0
    assert report["counts"].get("tail_left_out", 0) == in_thread - (len(sent) - made_system)


def test_a_turn_of_many_tools_keeps_its_words() -> None:
    """Where the count of messages cuts a turn, its tool logs go first, the oldest first; its question stays."""
    rounds = [message for n in range(15) for message in (call(str(n)), result(str(n)))]
    messages = [HumanMessage("find it"), *rounds, AIMessage("here"), HumanMessage("thanks, and who made it?")]
    clipped = clip_tail(messages, CONFIG)
    assert [clipped[0], *clipped[-2:]] == [messages[0], *messages[-2:]]
    assert clipped[1:-2] == rounds[-16:]
    assert len(clipped) == 19


def test_a_result_without_its_call_stays_out() -> None:
    """Histories that were cut elsewhere: no provider takes it; what follows the user's words is the agent's."""
    messages = [HumanMessage("a"), result("1"), AIMessage("b"), call("2"), result("1"), result("2"), HumanMessage("c")]
    assert clip_tail(messages, CONFIG) == [messages[0], *messages[2:4], *messages[5:]]
    assert clip_tail([messages[0], result("3")], CONFIG) == [messages[0], result("3")]


def test_a_system_message_inside_of_a_round_stays() -> None:
    """Whatever the budgets leave of the round."""
    system = SystemMessage("Be kind.")
    messages = [call("1"), system, result("1"), HumanMessage("c")]
    assert clip_tail(messages, CONFIG.replace(tail_messages=1)) == [system, messages[-1]]


def test_calls_count_in_bytes() -> None:
    """A tool's arguments are sent, too."""
    messages = [HumanMessage("a"), call("1", args="x" * 3000), result("1"), AIMessage("b"), HumanMessage("c")]
    assert clip_tail(messages, CONFIG.replace(max_prompt_bytes=2000)) == [messages[0], *messages[3:]]


def test_what_the_tail_lost_is_told() -> None:
    """How many messages, and how many results of tools among them."""
    messages = [HumanMessage("a"), call("1"), result("1", "log " * 9000), AIMessage("b"), HumanMessage("c")]
    _, report = inject(messages, [])
    assert (report["counts"]["tail_left_out"], report["counts"]["tail_results_left_out"]) == (2, 1)
    assert "tail_left_out" not in inject(messages[:2] + messages[3:], [])[1]["counts"]


def test_a_summary_that_was_cut_is_told() -> None:
    """Shortened or without any room."""
    summary = made(SENTENCES * 99, role="summary").record
    for limit in (60, 0):
        text, report = build_context([], summary, CONFIG.replace(summary_max_tokens=limit))
        assert report.counts["summary_shortened"] == 1
        assert bool(text) == bool(limit)
    assert "summary_shortened" not in build_context([], made("short").record, CONFIG)[1].counts


def test_bytes_are_cut_at_sentences() -> None:
    """The user's words and the summary, where bytes are scarcer than tokens."""
    (cut,) = clip_tail([HumanMessage(SENTENCES * 99)], CONFIG.replace(max_prompt_bytes=500))
    assert str(cut.content).endswith("noon." + CUT_MARK)
    assert 400 < BYTES.count(str(cut.content)) <= 500
    text, _ = build_context([], made(SENTENCES * 40, role="summary").record, CONFIG.replace(max_prompt_bytes=700))
    assert "noon." + CUT_MARK in text


def test_a_hint_without_room_costs_no_memory() -> None:
    """It is left out with a warning; one that fits has its room before the memories."""
    hits = [made(f"Fact {n}: {SENTENCES}", n) for n in range(9)]
    text, report = build_context(hits, None, CONFIG.replace(response_hint="word " * 900, max_prompt_tokens=500))
    assert (report.counts["injected"], "word word" in text) == (9, False)
    assert "response_hint found no room" in report.warnings[0]
    text, report = build_context(hits, None, CONFIG.replace(response_hint="Be brief.", max_prompt_tokens=200))
    assert ("Be brief." in text, 0 < report.counts["injected"] < 9) == (True, True)
