"""The gist of tool rounds: kept with the turn that ends them, and told in the thread's summary."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.prompts import Summary, SummaryPoint
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.actions import find_actions, is_action, shorten, told_actions
from langmem_plus.remember.points import extract_points, merge_actions, read_points
from langmem_plus.remember.record import record_node
from langmem_plus.remember.steps import run_steps
from langmem_plus.remember.summarize import summarize, summarize_now
from langmem_plus.services import Services
from langmem_plus.testing import ScriptedChatModel

CONFIG = {"configurable": {"user_id": "alice", "thread_id": "t1"}}


def call(*names: str, text: str = "", **arguments: Any) -> AIMessage:
    """A message that calls tools; its id is made of theirs."""
    calls = [{"id": name, "name": f"look_{name}", "args": arguments} for name in names]
    return AIMessage(text, id=f"call {' '.join(names)}", tool_calls=calls)


def result(name: str, text: Any = "found", **fields: Any) -> ToolMessage:
    """A tool's result."""
    return ToolMessage(text, tool_call_id=name, id=f"result {name}", **fields)


def booked() -> list[BaseMessage]:
    """A turn with a tool round."""
    return [
        HumanMessage("Book a table, please.", id="h"),
        call("a", city="Lyon"),
        result("a", "Table 4,\n 8 pm"),
        AIMessage("Done!", id="r"),
    ]


def stored(services: Services, role: str) -> list[MemoryRecord]:
    """The records of a role."""
    found = services.find_store().search(("memories",), filter={"role": role}, limit=100)
    return [MemoryRecord.model_validate(item.value) for item in found]


def test_a_line_a_call_with_its_result() -> None:
    """Parallel calls, one without a result, one that failed; media and thoughts as they are in turns."""
    image = [{"type": "reasoning", "reasoning": "hm"}, {"type": "image", "base64": "A" * 9000}]
    messages = [
        call("a", "b", "c", "d", city="Lyon"),
        result("b", image),
        result("a", "fine"),
        result("d", "no such city", status="error"),
    ]
    assert find_actions(messages).lines == (
        'look_a("city": "Lyon") → fine',
        'look_b("city": "Lyon") → [image]',
        'look_c("city": "Lyon") → no result',
        'look_d("city": "Lyon") → failed: no such city',
    )


def test_a_round_that_began_earlier_is_told_whole() -> None:
    """The user may have spoken within it."""
    messages = [HumanMessage("q", id="1"), call("a"), HumanMessage("hurry", id="2"), result("a"), AIMessage("Done")]
    found = find_actions(messages, 3)
    assert found.lines == ("look_a() → found",)
    assert found.ids == ("call a", "result a")
    assert find_actions(messages, 4).metadata == {}


def test_what_memory_found_is_no_news() -> None:
    """The result of a search in memory isn't told."""
    assert find_actions([call("a"), result("a", '[{"namespace": ["memories"], "key": "1"}]')]).lines == (
        "look_a() → memories",
    )


def test_a_long_log_is_cut_and_counted() -> None:
    """Each line has a bounded length, and so does their number."""
    (line,) = find_actions([call("a", text="x" * 5000), result("a", "word " * 5000)]).lines
    assert len(line) < 600
    lines = shorten([f"search({n}) → x" for n in range(30)])
    assert len(lines) == 21
    assert lines[0] == "earlier: search ×10"


@given(st.lists(st.sampled_from("abcxyz"), max_size=12))
def test_every_call_and_every_result_is_told_once(names: list[str]) -> None:
    """Whatever the order: a letter is a call, the letter after it in the alphabet's other half is its result."""
    other = dict(zip("xyz", "abc", strict=True))
    messages = [result(other[name]) if name in other else call(name) for name in names]
    found = find_actions(messages)
    assert set(found.ids) == {message.id for message in messages if is_action(message)}
    calls = sum(not isinstance(message, ToolMessage) for message in messages)
    assert len(found.lines) >= calls


def test_a_reply_is_stored_with_what_was_done() -> None:
    """The last turn of the reply has the lines; its text and its key are the same without them."""
    with_actions, without = (
        Services(config=MemoryConfig(embeddings="none", compress=on), store=InMemoryStore()) for on in (True, False)
    )
    for services in (with_actions, without):
        record_node(services).invoke({"messages": booked()}, CONFIG)
    (told,), (plain,) = stored(with_actions, "assistant"), stored(without, "assistant")
    assert told.metadata["actions"] == ['look_a("city": "Lyon") → Table 4, 8 pm']
    assert told.metadata["action_ids"] == ["call a", "result a"]
    assert (told.id, told.text) == (plain.id, plain.text)
    assert "actions" not in plain.metadata


def test_the_model_that_summarises_reads_the_actions() -> None:
    """Before the reply that they led to."""
    model = ScriptedChatModel(then=Summary(points=[SummaryPoint(text="A table was booked.", kind="action")]))
    config = MemoryConfig(embeddings="none", summary_refresh_turns=1)
    services = Services(config=config, store=InMemoryStore(), model=model)
    record_node(services).invoke({"messages": booked()}, CONFIG)
    summarize(services, Scope("alice", thread_id="t1"))
    told = 'tool: look_a("city": "Lyon") → Table 4, 8 pm\nassistant: Done!'
    assert told in model.calls[0].messages[-1].text


def test_a_summary_by_rules_has_one_point_of_actions() -> None:
    """The newest ones, merged with those that it knows; what the user said goes first where there is little room."""
    turn = MemoryRecord(id="1", role="assistant", text="Done", user_id="u", metadata={"actions": ["book(4) → done"]})
    assert told_actions(turn) == ["book(4) → done"]
    made = extract_points(["I like tea.", "Actions taken: look() → x"], [turn], 7, 3, done=["pay() → ok"])
    assert made == ["I like tea.", "Actions taken: look() → x · book(4) → done · pay() → ok"]
    assert extract_points(["I like tea."], [turn], 1, 3) == ["I like tea."]
    assert merge_actions([made[1]], ["look() → x"]) == "Actions taken: book(4) → done · pay() → ok · look() → x"
    assert merge_actions([], []) is None


def test_a_summary_that_cannot_wait_is_made_of_what_there_is() -> None:
    """Of one turn, or of actions that no turn tells; not where there is nothing new, or where summaries are off."""
    config = MemoryConfig(embeddings="none")
    services, scope = Services(config=config, store=InMemoryStore()), Scope("alice", thread_id="t1")

    def now(*done: str, services: Services = services) -> bool:
        return run_steps(summarize_now(services, scope, [], done), services, services.find_store())

    assert not now()
    record_node(services).invoke({"messages": booked()}, CONFIG)
    off = Services(config=config.replace(summarize=False), store=services.store)
    assert not now(services=off)
    assert now()
    assert not now()
    assert now("pay() → ok")
    (summary,) = stored(services, "summary")
    assert read_points(summary)[-1].endswith("· pay() → ok")
    assert summary.covers_until == max(turn.created_at for turn in stored(services, "assistant"))
