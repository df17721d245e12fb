from __future__ import annotations

import datetime as dt

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.fence import fence
from langmem_plus.messages import message_text
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.record import (
    arecord,
    event_id,
    make_turns,
    record,
    record_assistant_node,
    record_user_node,
    reply_turn,
    user_turn,
)
from langmem_plus.services import Services

NOW = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
SCOPE = Scope("alice", thread_id="t1")


def services(**settings: object) -> Services:
    """A fresh store under a clock that stands still."""
    return Services(config=MemoryConfig(**settings), store=InMemoryStore(), clock=lambda: NOW)


def stored(memory: Services) -> list[MemoryRecord]:
    """Everything in the store, turn by turn."""
    items = memory.find_store().search(("memories",), limit=100)
    return sorted((MemoryRecord.model_validate(item.value) for item in items), key=lambda turn: turn.metadata["turn"])


def one(message: HumanMessage, **settings: object) -> MemoryRecord:
    """The turn that a message becomes."""
    (turn,) = make_turns([message], "user", SCOPE, 1, now=NOW, config=MemoryConfig(**settings))
    return turn


def test_a_user_turn_waits_for_extraction_and_a_reply_does_not() -> None:
    """User turns have extracted False, replies True; speaker, message id and place are kept."""
    turn = one(HumanMessage("Hello", id="m1", name="Anne"))
    assert (turn.role, turn.extracted, turn.source_ids) == ("user", False, ["m1"])
    assert turn.metadata == {"name": "Anne", "message_id": "m1", "turn": 1, "position": 0}
    (reply,) = make_turns([AIMessage("Hi")], "assistant", SCOPE, 1, now=NOW, config=MemoryConfig())
    assert reply.extracted is True


def test_the_same_turn_has_the_same_key_and_another_place_another() -> None:
    """Keys are made of namespace, thread, turn, position, role and text."""
    turns = [
        make_turns([HumanMessage(text)], "user", scope, number, now=NOW, config=MemoryConfig(), position=place)[0].id
        for text, scope, number, place in [
            ("Hello", SCOPE, 1, 0),
            ("Hello!", SCOPE, 1, 0),
            ("Hello", SCOPE, 2, 0),
            ("Hello", SCOPE, 1, 1),
            ("Hello", Scope("bob", thread_id="t1"), 1, 0),
            ("Hello", Scope("alice", thread_id="t2"), 1, 0),
        ]
    ]
    assert len(set(turns)) == len(turns)
    assert one(HumanMessage("Hello")).id == turns[0]


def test_a_call_without_a_checkpointer_is_told_by_its_message() -> None:
    """Its id goes into the key; with a checkpointer, or without an id, place and text are the key."""
    messages = [HumanMessage("Hello", id="m1"), AIMessage("Hi", id="m2")]
    assert event_id(messages, {"configurable": {"thread_id": "t1"}}) == "m1"
    assert event_id(messages, {"configurable": {"__pregel_checkpointer": BaseCheckpointSaver()}}) is None
    assert event_id([HumanMessage("Hello")], {}) is None
    keys = [
        make_turns(messages[:1], "user", SCOPE, 1, now=NOW, config=MemoryConfig(), event=event)[0].id
        for event in (None, "m1", "m3", "m1")
    ]
    assert keys[0] == one(HumanMessage("Hello")).id
    assert len(set(keys)) == 3


def test_a_checkpointer_in_memory_is_told_from_the_next() -> None:
    """It counts its threads' turns from 1, as the one of the next process does; all calls over one are told alike."""
    first, second = ({"configurable": {"__pregel_checkpointer": InMemorySaver()}} for _ in range(2))
    assert event_id([HumanMessage("Hello", id="m1")], first) == event_id([HumanMessage("Bye", id="m2")], first)
    assert event_id([HumanMessage("Hello", id="m1")], first) != event_id([HumanMessage("Hello", id="m1")], second)


def test_a_graph_that_is_called_anew_tells_turns_by_the_reply_before_them() -> None:
    """There the thread may have been cut, so that no number tells two turns apart, with a checkpointer or without
    one; a graph that goes on from call to call counts for itself."""
    thread = [HumanMessage("Hi", id="m1"), AIMessage("Hello", id="m2"), HumanMessage("Yes", id="m3")]
    saver = {"__pregel_checkpointer": BaseCheckpointSaver()}
    inside = {"configurable": {**saver, "checkpoint_ns": "talk:1f2e|record_user:8a7b"}}
    assert event_id(thread, inside) == "m2"
    assert event_id([*thread, AIMessage("Fine", id="m4")], inside) == "m2"
    assert event_id(thread[2:], inside) == "m3"
    assert event_id([SystemMessage("Be kind", id="s"), *thread[2:]], inside) == "m3"
    for name in ("record_user:8a7b", "talk|record_user:8a7b", ""):
        assert event_id(thread, {"configurable": {**saver, "checkpoint_ns": name}}) is None


def test_a_replay_writes_nothing_and_leaves_an_extracted_turn_extracted() -> None:
    """A put on a key that exists would make a turn wait again; it isn't done."""
    memory = services()
    assert record(memory, SCOPE, [HumanMessage("Hello")], "user", 1) == 1
    (turn,) = stored(memory)
    done = turn.model_copy(update={"extracted": True})
    memory.find_store().put(SCOPE.namespace, turn.id, done.to_value())
    assert record(memory, SCOPE, [HumanMessage("Hello")], "user", 1) == 0
    assert stored(memory)[0].extracted is True


def test_a_replay_does_not_bring_a_deleted_turn_back() -> None:
    """A tombstone stays one."""
    memory = services()
    record(memory, SCOPE, [HumanMessage("Hello")], "user", 1)
    (turn,) = stored(memory)
    memory.find_store().put(SCOPE.namespace, turn.id, turn.model_copy(update={"status": "deleted"}).to_value())
    assert record(memory, SCOPE, [HumanMessage("Hello")], "user", 1) == 0
    assert stored(memory)[0].status == "deleted"


def test_two_equal_messages_of_a_turn_are_two_turns() -> None:
    """The position tells them apart."""
    memory = services()
    assert record(memory, SCOPE, [HumanMessage("yes"), HumanMessage("yes")], "user", 1) == 2


def test_a_message_says_when_it_was_said() -> None:
    """created_at may be a time, a date, or seconds since 1970; what can't be read is the clock's time."""
    times = {
        "2023-05-08T13:56:00Z": dt.datetime(2023, 5, 8, 13, 56, tzinfo=dt.UTC),
        "2023-05-08": dt.datetime(2023, 5, 8, tzinfo=dt.UTC),
        1683554160: dt.datetime(2023, 5, 8, 13, 56, tzinfo=dt.UTC),
        "yesterday": NOW,
    }
    for written, meant in times.items():
        assert one(HumanMessage("Hello", additional_kwargs={"created_at": written})).observed_at == meant
    assert one(HumanMessage("Hello", response_metadata={"created_at": "2023-05-08"})).observed_at == times["2023-05-08"]


def test_media_leave_a_placeholder() -> None:
    """40 kB of base64 never become a memory; thoughts and tool calls say nothing."""
    blocks = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 40_000}},
        {"type": "input_audio", "input_audio": {"data": "AAAA"}},
        {"type": "file", "base64": "AAAA", "mime_type": "application/pdf"},
        {"type": "reasoning", "reasoning": "hm"},
    ]
    assert message_text(HumanMessage(blocks)) == "Look:\n[image]\n[audio]\n[file]"


def test_recalled_text_in_a_message_is_not_what_the_user_said() -> None:
    """Our own block is left out before a turn is stored."""
    assert one(HumanMessage(fence("[memory] likes tea") + "\n\nHello")).text == "Hello"


def test_empty_messages_and_what_middleware_wrote_are_left_out() -> None:
    """A message without text, and a summary in the user's name, aren't the user's words."""
    written = HumanMessage("Here is a summary", additional_kwargs={"lc_source": "summarization"})
    assert make_turns([HumanMessage("  "), written], "user", SCOPE, 1, now=NOW, config=MemoryConfig()) == []


def test_turns_expire_where_the_settings_say_so() -> None:
    """turn_ttl_days sets the time."""
    assert one(HumanMessage("Hello"), turn_ttl_days=7).expires_at == NOW + dt.timedelta(days=7)
    assert one(HumanMessage("Hello")).expires_at is None


def test_only_the_trailing_messages_that_are_not_recorded_begin_a_turn() -> None:
    """A message that failed to be answered stays in its own turn; after compression all trailing ones count."""
    first, second = HumanMessage("one"), HumanMessage("two")
    assert user_turn([first], None) == (1, [first])
    assert user_turn([first, AIMessage("ok"), second], 1) == (2, [second])
    assert user_turn([first, second], None) == (2, [first, second])
    assert user_turn([first, second], 1) == (2, [second])
    assert user_turn([SystemMessage("s"), second], 7) == (8, [second])
    assert user_turn([first, AIMessage("ok")], 1) == (1, [])


def test_a_reply_is_everything_the_assistant_said_after_the_user() -> None:
    """Tool rounds with text are part of it; its place is after the user's words."""
    messages = [HumanMessage("q"), AIMessage("Let me look."), ToolMessage("x", tool_call_id="1"), AIMessage("Done.")]
    turn, position, reply = reply_turn(messages, 1)
    assert (turn, position) == (1, 1)
    texts = [found.text for found in make_turns(reply, "assistant", SCOPE, 1, now=NOW, config=MemoryConfig())]
    assert texts == ["Let me look.", "Done."]


def test_incognito_is_asked_for_or_the_default() -> None:
    """The run's own wish wins over the setting."""
    assert services().is_incognito({"configurable": {"incognito": "true"}})
    assert not services().is_incognito({"configurable": {"incognito": "false"}})
    assert services(incognito_default=True).is_incognito({"configurable": {}})
    assert not services(incognito_default=True).is_incognito({"configurable": {"incognito": False}})


def run_nodes(memory: Services, state: dict[str, object], **configurable: object) -> int:
    """Run both nodes around a reply; gives the turn's number."""
    config = {"configurable": {"user_id": "alice", "thread_id": "t1", **configurable}}
    state |= record_user_node(memory).invoke(state, config)
    state["messages"] = [*state["messages"], AIMessage(f"reply {len(state['messages'])}")]  # type: ignore[misc]
    state |= record_assistant_node(memory).invoke(state, config)
    return int(state["memory_turn"])  # type: ignore[call-overload]


def test_the_nodes_record_a_thread_turn_by_turn() -> None:
    """Each turn holds the user's words and the reply; the counter grows by one a turn."""
    memory, state = services(), {"messages": []}
    for number, text in enumerate(["one", "two", "three"], 1):
        state["messages"] = [*state["messages"], HumanMessage(text)]
        assert run_nodes(memory, state) == number
    assert [(turn.metadata["turn"], turn.role) for turn in stored(memory)] == [
        (number, role) for number in (1, 2, 3) for role in ("user", "assistant")
    ]


def test_an_incognito_turn_leaves_no_trace_not_even_later() -> None:
    """It isn't written, and it is counted, so that a later turn doesn't take it for an unrecorded one."""
    memory = services()
    config = {"configurable": {"user_id": "alice", "thread_id": "t1", "incognito": True}}
    state = {"messages": [HumanMessage("hello")], "memory_turn": 0}
    state |= record_user_node(memory).invoke({**state}, {"configurable": {"user_id": "alice", "thread_id": "t1"}})
    state["messages"] += [AIMessage("hi"), HumanMessage("secret")]
    state |= record_user_node(memory).invoke(state, config)
    assert record_assistant_node(memory).invoke(state, config).keys() == {"memory_report"}
    state["messages"] += [HumanMessage("after a failed answer")]
    record_user_node(memory).invoke(state, {"configurable": {"user_id": "alice", "thread_id": "t1"}})
    assert [turn.text for turn in stored(memory)] == ["hello", "after a failed answer"]


async def test_recording_is_the_same_in_async() -> None:
    """Both twins write the same keys."""
    memory = services()
    assert await arecord(memory, SCOPE, [HumanMessage("Hello")], "user", 1) == 1
    assert record(memory, SCOPE, [HumanMessage("Hello")], "user", 1) == 0
    state = {"messages": [HumanMessage("Hello"), AIMessage("Hi"), HumanMessage("Bye")], "memory_turn": 1}
    update = await record_user_node(memory).ainvoke(state, {"configurable": {"user_id": "alice", "thread_id": "t1"}})
    assert update["memory_turn"] == 2
    update = await record_assistant_node(memory).ainvoke(
        {"messages": [HumanMessage("Hello"), AIMessage("Hi")], "memory_turn": 1},
        {"configurable": {"user_id": "alice", "thread_id": "t1"}},
    )
    assert update["memory_report"]["counts"] == {"replies_recorded": 1}


def test_a_store_that_fails_does_not_fail_the_turn() -> None:
    """The stage reports and goes on; strict raises."""

    class Broken(InMemoryStore):
        def batch(self, ops: object) -> list[object]:
            raise OSError("disk full")

    memory = Services(store=Broken(), clock=lambda: NOW)
    config = {"configurable": {"user_id": "alice", "thread_id": "t1"}}
    update = record_user_node(memory).invoke({"messages": [HumanMessage("Hello")]}, config)
    assert "disk full" in update["memory_report"]["warnings"][0]
