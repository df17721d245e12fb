"""What holds for every thread and every course of events."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from langmem_plus.background import background
from langmem_plus.config import MemoryConfig
from langmem_plus.middleware import LongTermMemoryMiddleware
from langmem_plus.middleware.call import inject, reply_thread, said_place
from langmem_plus.middleware.channels import KEPT_RUNS, Run, Runs
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.testing import ScriptedChatModel

MARKER = "zebra crossing 4711"
CONFIG = MemoryConfig(embeddings="none", background=False)

texts = st.text(min_size=1, max_size=20).filter(str.strip)
contents = texts | st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, texts) | st.just({"type": "image", "url": "x"}), min_size=1
)


@st.composite
def units(draw: st.DrawFn) -> list[BaseMessage]:
    """Messages that stand together: a person's, a summary in their name, a reply, or a tool round."""
    kind = draw(st.sampled_from(["human", "summary", "ai", "round"]))
    if kind == "human":
        return [HumanMessage(draw(contents))]
    if kind == "summary":
        return [HumanMessage(draw(texts), additional_kwargs={"lc_source": "summarization"})]
    if kind == "ai":
        return [AIMessage(draw(texts))]
    names = [f"{draw(st.integers(0, 10**9))}-{number}" for number in range(draw(st.integers(1, 3)))]
    calls = [{"name": "look", "args": {"what": "x"}, "id": name} for name in names]
    return [AIMessage("", tool_calls=calls), *(ToolMessage("seen", tool_call_id=name) for name in names)]


def identified(parts: list[list[BaseMessage]]) -> list[BaseMessage]:
    """One thread, each message with an id."""
    whole = [message for part in parts for message in part]
    return [message.model_copy(update={"id": f"m{number}"}) for number, message in enumerate(whole)]


histories = st.lists(units(), max_size=8)


def parts_of(messages: list[BaseMessage]) -> list[tuple[str, Any, Any]]:
    """What a provider is sent of messages."""
    return [(message.type, message.content, getattr(message, "tool_calls", None)) for message in messages]


@settings(max_examples=50)
@given(histories, texts, st.sampled_from([None, SystemMessage("Be brief.")]), st.sampled_from([None, "m0", "m3"]))
def test_only_one_message_changes(history, context, system, counted):
    """With recalled text in it, a request differs in one message alone, and that one ends as it did; the given request
    stays as it was."""
    messages = identified(history)
    request = ModelRequest(model=ScriptedChatModel(), messages=messages, system_message=system)
    before = parts_of(messages)
    place = said_place(messages, counted)
    changed = inject(request, context, place)
    assert parts_of(messages) == before
    assert request.system_message is system
    assert [message for n, message in enumerate(changed.messages) if n != place] == [
        message for n, message in enumerate(messages) if n != place
    ]
    if place is None:
        assert changed.system_message.text.endswith(context)
        return
    assert changed.system_message is system
    assert changed.messages[place].id == messages[place].id
    assert context in changed.messages[place].text
    if isinstance(messages[place].content, str):
        assert changed.messages[place].content.endswith(messages[place].content)
    else:
        assert [part for part in changed.messages[place].content if part in messages[place].content] == (
            messages[place].content
        )
    assert inject(request, "", place) is request


@settings(max_examples=50)
@given(histories, st.sampled_from([None, "m0", "m3"]))
def test_where_the_user_spoke_last(history, counted):
    """It is the message that was counted; else the last one that a person wrote; else any; and always a person's."""
    messages = identified(history)
    place = said_place(messages, counted)
    people = [message for message in messages if isinstance(message, HumanMessage)]
    assert (place is None) == (not people)
    if place is None:
        return
    assert isinstance(messages[place], HumanMessage)
    if any(message.id == counted for message in people):
        assert messages[place].id == counted
    elif any("lc_source" not in message.additional_kwargs for message in people):
        assert "lc_source" not in messages[place].additional_kwargs


@settings(max_examples=50)
@given(histories, st.lists(units(), max_size=4), st.sampled_from([None, "m0", "m3"]))
def test_the_reply_is_all_that_was_said_after_the_user(history, rest, said):
    """Read as a thread, a run has one person's message last, with the id of the user's words, and after it everything
    that the agent said since, in order; messages are never changed in place."""
    messages = identified([*history, *rest])
    before = parts_of(messages)
    place = said_place(messages, said)
    found = reply_thread(messages, said, structured=False)
    assert parts_of(messages) == before
    last = max(n for n, message in enumerate(found) if isinstance(message, HumanMessage))
    assert said is None or found[last].id == said
    since = messages[0 if place is None else place + 1 :]
    assert found[last + 1 :] == [message for message in since if not isinstance(message, HumanMessage)]


def look(what: str) -> str:
    """Look at something."""
    return f"seen {what}"


def calling(*ids: str) -> AIMessage:
    """An answer that calls the tool once for each id."""
    return AIMessage("", tool_calls=[{"name": "look", "args": {"what": each}, "id": each} for each in ids])


def make_store() -> InMemoryStore:
    """A store that knows one fact."""
    store = InMemoryStore()
    known = MemoryRecord(id="known", text=f"The user waits at the {MARKER}", user_id="alice")
    store.put(Scope("alice").namespace, known.id, known.to_value())
    return store


@settings(max_examples=12)
@given(histories, st.lists(st.integers(1, 3), max_size=3), st.sampled_from(["user", "system"]))
def test_every_call_of_a_run_begins_with_the_call_before(history, rounds, inject_as):
    """Over any history and any number of tool rounds, each call of a run is the one before with messages added; what
    stands before the user's words is what stands there without memory; the thread is the same, too."""

    history = identified(history)

    def talk(store: InMemoryStore, config: MemoryConfig) -> tuple[list[Any], list[Any]]:
        script = [calling(*(f"{n}-{k}" for k in range(count))) for n, count in enumerate(rounds)]
        model = ScriptedChatModel([*script, "There."])
        memory = LongTermMemoryMiddleware(store=store, config=config)
        agent = create_agent(model, [look], middleware=[memory], system_prompt="Be brief.")
        said = HumanMessage("Where is the zebra crossing?", id="said")
        thread = agent.invoke({"messages": [*history, said]}, {"configurable": {"user_id": "alice", "thread_id": "t"}})[
            "messages"
        ]
        return [parts_of(call.messages) for call in model.calls], parts_of(thread)

    on, thread = talk(make_store(), CONFIG.replace(inject_as=inject_as))
    off, plain = talk(InMemoryStore(), CONFIG.replace(enabled=False))
    assert thread == plain
    assert all(MARKER in str(call) for call in on)
    for before, after in pairwise(on):
        assert after[: len(before)] == before
    changed = {n for n in range(len(on[-1])) if on[-1][n] != off[-1][n]}
    assert changed == ({len(history) + 1} if inject_as == "user" else {0})


KINDS = ("plain", "tools", "approved", "failed", "incognito", "resumed from incognito", "nothing new", "replayed")
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})


class Course:
    """A thread, and what is expected to be stored of what happens in it."""

    def __init__(self, in_background: bool) -> None:
        self.store, self.answers = make_store(), list[Any]()
        self.model = ScriptedChatModel(then=lambda messages: raised(self.answers.pop(0)))
        gate = {"allowed_decisions": ["approve"], "when": lambda request: "gate" in request.tool_call["id"]}
        memory = LongTermMemoryMiddleware(store=self.store, config=CONFIG.replace(background=in_background))
        middleware = [memory, HumanInTheLoopMiddleware({"look": gate})]
        self.agent = create_agent(self.model, [look], middleware=middleware, checkpointer=InMemorySaver())
        self.expected: list[tuple[str, str]] = []
        self.is_private = False

    def run(self, payload: Any, *answers: Any, **fields: Any) -> None:
        """Invoke the agent, whose model gives these answers."""
        self.answers[:] = answers
        self.agent.invoke(payload, {"configurable": {"user_id": "alice", "thread_id": "t", **fields}})

    def replay(self) -> None:
        """Go back to the last model call, and let it give its answer again."""
        run = {"configurable": {"thread_id": "t"}}
        point = next((point for point in self.agent.get_state_history(run) if point.next == ("model",)), None)
        if point is not None:
            last = self.agent.get_state(run).values["messages"][-1].text
            self.run(None, last, incognito=self.is_private, **point.config["configurable"])

    def go_on(self, kind: str, number: int) -> None:
        """What happens next."""
        said, reply = f"message {number} at the zebra crossing", f"reply {number}"
        payload = {"messages": [HumanMessage(said)]}
        called = calling(f"{number}-gate")
        if kind == "replayed":
            self.replay()
        if kind == "nothing new":
            self.run({"messages": []}, reply)
            self.expected += [] if self.is_private else [("assistant", reply)]
            return
        self.is_private = "incognito" in kind
        if kind == "resumed from incognito":
            self.run(payload, called, incognito=True)
            self.run(APPROVE, reply)
        elif kind == "incognito":
            self.run(payload, reply, incognito=True)
        elif kind == "approved":
            self.run(payload, called)
            self.run(APPROVE, reply)
        elif kind == "failed":
            with pytest.raises(ConnectionError):
                self.run(payload, ConnectionError("down"))
            self.run(None, reply)
        elif kind == "tools":
            self.run(payload, calling(f"{number}-a", f"{number}-b"), reply)
        else:
            self.run(payload, reply)
        self.expected += [] if self.is_private else [("user", said), ("assistant", reply)]

    def stored(self) -> list[tuple[str, str]]:
        """The turns in the store, in order."""
        assert background.flush(30.0)
        found = [MemoryRecord.model_validate(item.value) for item in self.store.search(("memories",), limit=1000)]
        found = [record for record in found if record.role in ("user", "assistant")]
        found.sort(key=lambda record: (record.metadata["turn"], record.metadata["position"]))
        return [(record.role, record.text) for record in found]


@settings(max_examples=15)
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4), st.booleans())
@example(["incognito", "nothing new"], False)
@example(["plain", "resumed from incognito", "nothing new", "plain"], True)
def test_every_turn_is_stored_once(kinds, in_background):
    """Whatever happens in a thread, each turn outside of an incognito one is stored once, in order, and an incognito
    turn is given no memories, though who resumes it doesn't say so."""
    course = Course(in_background)
    for number, kind in enumerate(kinds):
        before = len(course.model.calls)
        course.go_on(kind, number)
        if course.is_private:
            assert MARKER not in str([call.text for call in course.model.calls[before:]])
    assert course.stored() == course.expected


def raised(answer: Any) -> Any:
    """The answer, or the failure that it is."""
    if isinstance(answer, Exception):
        raise answer
    return answer


def test_what_is_kept_of_runs_is_bounded():
    """The text of so many runs is kept; a run that was forgotten, or is over, is as one that never recalled."""
    runs = Runs()
    first = runs.keep(None, Run("first"))
    assert runs.get(first).context == "first"
    handles = [runs.keep(None, Run(str(number))) for number in range(KEPT_RUNS - 1)]
    assert runs.get(first).context == "first"
    runs.keep(None, Run("one more"))
    assert runs.get(first).context == "first"
    assert runs.get(handles[0]) == runs.get(None) == runs.get("?") == Run()
    runs.drop(first)
    runs.drop(None)
    assert runs.get(first) == Run()
