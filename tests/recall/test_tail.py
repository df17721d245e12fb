"""What one model call carries of a thread: tool rounds whole, the current turn always, the rest within its budget."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langmem_plus.config import MemoryConfig
from langmem_plus.messages import units
from langmem_plus.recall.tail import CUT_MARK, clip_bytes, clip_tail, clip_user
from langmem_plus.tokens import counter

CONFIG = MemoryConfig()
MEASURE = counter()


def call(*names: str, text: str = "") -> AIMessage:
    """An AI message that calls tools, their ids as given."""
    return AIMessage(text, tool_calls=[{"id": name, "name": "look", "args": {}} for name in names])


def result(name: str, text: str = "found") -> ToolMessage:
    """A tool's answer."""
    return ToolMessage(text, tool_call_id=name)


def thread(turns: int, words: int = 1) -> list[BaseMessage]:
    """Questions and answers, each with its number; the last question waits."""
    messages: list[BaseMessage] = []
    for number in range(turns):
        messages += [
            HumanMessage(f"question {number} " + "word " * words),
            AIMessage(f"answer {number} " + "word " * words),
        ]
    return [*messages, HumanMessage("the current question")]


def spans(messages: list[BaseMessage]) -> list[tuple[int, int, bool]]:
    """The units as plain tuples."""
    return [(unit.start, unit.stop, unit.is_round) for unit in units(messages)]


def test_a_tool_round_is_one_unit() -> None:
    """The calls and all their results, parallel ones too."""
    messages = [HumanMessage("q"), call("1", "2"), result("1"), result("2"), AIMessage("a")]
    assert spans(messages) == [(0, 1, False), (1, 4, True), (4, 5, False)]


def test_whatever_stands_between_belongs_to_the_round() -> None:
    """A user who speaks before the result comes; rounds that overlap."""
    between = [call("1"), HumanMessage("hurry"), result("1"), AIMessage("a")]
    overlapping = [call("1"), call("2"), result("1"), HumanMessage("x"), result("2")]
    assert spans(between) == [(0, 3, True), (3, 4, False)]
    assert spans(overlapping) == [(0, 5, True)]


def test_an_id_that_comes_again_is_a_new_call() -> None:
    """Some models number their calls from one in each message."""
    messages = [call("1"), result("1"), call("1"), result("1")]
    assert spans(messages) == [(0, 2, True), (2, 4, True)]


def test_results_and_calls_without_their_other_half_are_units() -> None:
    """Histories that were cut elsewhere are no error."""
    assert spans([result("9"), call("1"), HumanMessage("q")]) == [(0, 1, True), (1, 2, True), (2, 3, False)]


def test_a_short_thread_stays_as_it_is() -> None:
    """The same messages, not copies."""
    messages = [SystemMessage("s"), *thread(3)]
    clipped = clip_tail(messages, CONFIG)
    assert all(a is b for a, b in zip(clipped, messages, strict=True))


def test_the_last_messages_are_carried() -> None:
    """``tail_messages``, the current one among them, beginning with a user's message; system messages stay."""
    messages = [SystemMessage("s"), *thread(50)]
    clipped = clip_tail(messages, CONFIG.replace(tail_messages=6))
    assert clipped == [messages[0], *messages[-5:]]
    assert clip_tail(messages, CONFIG.replace(tail_messages=1)) == [messages[0], messages[-1]]


def test_the_token_budget_cuts_the_oldest() -> None:
    """``tail_max_tokens`` counts what came before the current message."""
    messages = thread(8, words=100)
    clipped = clip_tail(messages, CONFIG.replace(tail_max_tokens=500))
    assert clipped == messages[-len(clipped) :]
    assert 1 < len(clipped) < len(messages)
    assert sum(map(MEASURE.count_message, clipped[:-1])) <= 500
    assert clip_tail(messages, CONFIG.replace(tail_max_tokens=0)) == messages[-1:]


def test_tool_logs_go_first() -> None:
    """An old conversation is worth more than a newer tool's output."""
    messages = [
        HumanMessage("first"),
        AIMessage("first answer"),
        HumanMessage("second"),
        call("1"),
        result("1", "log " * 9000),
        AIMessage("second answer"),
        HumanMessage("third"),
    ]
    assert clip_tail(messages, CONFIG) == [*messages[:3], *messages[5:]]


def test_the_open_round_is_always_carried() -> None:
    """An agent that lost its tools' answers would call them again for ever."""
    messages = [*thread(5), call("1", "2"), result("1", "log " * 9000), result("2")]
    clipped = clip_tail(messages, CONFIG.replace(tail_max_tokens=0, tail_messages=1))
    assert clipped == messages[10:]


def test_the_users_text_is_cut_to_its_budget() -> None:
    """At a sentence, with a mark; the state's message isn't touched, other messages are the same objects."""
    long = HumanMessage("This is a sentence. " * 400, id="m")
    config = CONFIG.replace(user_max_tokens=100)
    clipped = clip_tail([AIMessage("a"), long], config)
    text = str(clipped[-1].content)
    assert MEASURE.count(text) <= 100
    assert text.endswith("." + CUT_MARK)
    assert clipped[-1].id == "m"
    assert long.content == "This is a sentence. " * 400


def test_media_in_the_users_message_stay() -> None:
    """Text parts share the budget; a picture isn't text."""
    image = {"type": "image_url", "image_url": {"url": "data:," + "A" * 9000}}
    message = HumanMessage(
        [{"type": "text", "text": "word " * 50}, image, {"type": "text", "text": "word " * 500}, "x"]
    )
    (clipped,) = clip_user([message], CONFIG.replace(user_max_tokens=80), MEASURE)
    parts: list[Any] = list(clipped.content)
    assert parts[1] == image
    assert parts[0] == message.content[0]
    assert sum(MEASURE.count(part["text"]) for part in parts if isinstance(part, dict) and "text" in part) <= 80


@pytest.mark.parametrize("messages", [[], [AIMessage("hello")], [SystemMessage("s")], [call("1"), result("1")]])
def test_threads_without_a_user_are_carried(messages: list[BaseMessage]) -> None:
    """An agent that greets first, or a run that a tool started."""
    assert clip_tail(messages, CONFIG) == messages


@given(st.text(), st.integers(-3, 60))
def test_bytes_never_split_a_character(text: str, limit: int) -> None:
    """The longest beginning that fits."""
    clipped = clip_bytes(text, limit)
    replaced = text.encode("utf-8", errors="replace").decode()
    assert text.startswith(clipped) or replaced.startswith(clipped)
    assert len(clipped.encode("utf-8", errors="replace")) <= max(limit, 0)


names = st.sampled_from("1234")
messages_of_any_kind = st.one_of(
    st.builds(HumanMessage, st.sampled_from(["q", "question " * 30])),
    st.builds(AIMessage, st.sampled_from(["a", "answer " * 30])),
    st.builds(SystemMessage, st.just("s")),
    st.builds(result, names, st.sampled_from(["r", "log " * 100])),
    st.lists(names, min_size=1, max_size=3, unique=True).map(lambda ids: call(*ids)),
)


def pairs(messages: list[BaseMessage]) -> list[tuple[int, int]]:
    """Each result with its call, by identity: the nearest call before it with its id."""
    found = []
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            callers = [
                other
                for other in messages[:place]
                if isinstance(other, AIMessage) and message.tool_call_id in [one["id"] for one in other.tool_calls]
            ]
            found.append((id(callers[-1]) if callers else 0, id(message)))
    return found


@given(st.lists(messages_of_any_kind, max_size=25), st.integers(1, 12), st.integers(0, 300))
def test_no_cut_ever_splits_a_tool_round(messages: list[BaseMessage], count: int, tokens: int) -> None:
    """Over any history and budget: calls and results stay together, in order, and the current turn is there."""
    config = CONFIG.replace(tail_messages=count, tail_max_tokens=tokens)
    clipped = clip_tail(messages, config)
    kept = {id(message) for message in clipped}
    assert [message for message in messages if id(message) in kept] == clipped
    for caller, answer in pairs(messages):
        assert not caller or (caller in kept) == (answer in kept)
    assert pairs(clipped) == [pair for pair in pairs(messages) if pair[1] in kept]
    humans = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    if humans:
        assert all(id(message) in kept for message in messages[humans[-1] :])
