import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel, Field

from langmem_plus.errors import ConfigError
from langmem_plus.graph import create_memory_graph
from langmem_plus.graph.agent import new_messages, open_door
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.state import MemoryState
from langmem_plus.testing import ScriptedChatModel

FACT = "The user waits at the zebra crossing 4711"
QUESTION = "Where is the zebra crossing?"


@pytest.fixture
def known(store):
    """A store that knows the fact."""
    record = MemoryRecord(id="known", text=FACT, user_id="alice")
    store.put(Scope("alice").namespace, record.id, record.to_value())
    return store


@pytest.fixture
def ask(known, config, run_config):
    """Ask an agent the question in a graph of its own; gives the thread's texts and the checkpointer."""

    def run(agent, **fields):
        saver = InMemorySaver()
        graph = create_memory_graph(agent, store=known, config=config, checkpointer=saver)
        graph.invoke({"messages": [SystemMessage("Be brief.", id="s"), HumanMessage(QUESTION, id="q")]}, run_config())
        return [message.text for message in graph.get_state(run_config()).values["messages"]], saver

    return run


def saved(saver: InMemorySaver, everywhere: bool = True) -> bytes:
    """All bytes that a checkpointer holds, or those of the thread itself without its subgraphs'."""
    blobs = [value[1] for key, value in saver.blobs.items() if everywhere or key[1] == ""]
    groups = [group for key, group in saver.writes.items() if everywhere or key[1] == ""]
    return b"".join([*blobs, *(write[2][1] for group in groups for write in group.values())])


def answering(seen: list, answer=None):
    """A callable agent that notes what it is given."""

    def agent(state):
        seen.extend(state["messages"])
        return answer(state) if answer else {"messages": [AIMessage("ok")]}

    return agent


def reader(seen: list, state=MemoryState):
    """A compiled agent that reads memory_context, in two steps."""

    def look(state) -> dict:
        seen.append(read(state, "memory_context"))
        return {}

    def answer(state) -> dict:
        seen.append(read(state, "memory_context"))
        return {"messages": [AIMessage("ok")]}

    builder = StateGraph(state).add_node(look).add_node(answer)
    return builder.add_edge(START, "look").add_edge("look", "answer").compile()


def read(state, name):
    """A channel of a state of either kind."""
    return state.get(name) if isinstance(state, dict) else getattr(state, name)


def test_a_callable_gets_the_context_in_its_messages(ask):
    """A callable sees the recalled text in the current user's message, for this call only."""
    seen = []
    thread, saver = ask(answering(seen))
    assert seen[0].text == "Be brief."
    assert FACT in seen[1].text
    assert seen[1].text.endswith(QUESTION)
    assert thread == ["Be brief.", QUESTION, "ok"]
    assert FACT.encode() not in saved(saver)


@pytest.mark.parametrize(
    "answer",
    [
        lambda state: {"messages": [AIMessage("ok")]},
        lambda state: {"messages": [*state["messages"], AIMessage("ok")]},
        lambda state: {"messages": AIMessage("ok")},
        lambda state: [*state["messages"], AIMessage("ok")],
        lambda state: AIMessage("ok"),
        lambda state: "ok",
        lambda state: {"messages": [{"role": "assistant", "content": "ok"}]},
        lambda state: {"messages": [*copies(state), {"role": "assistant", "content": "ok"}]},
        lambda state: {"messages": [*copies(state)[1:], AIMessage("ok")]},
        lambda state: {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *state["messages"], AIMessage("ok")]},
        lambda state: {"messages": [HumanMessage("a summary of it all"), state["messages"][-1], AIMessage("ok")]},
    ],
)
def test_only_new_messages_come_back(ask, answer):
    """However an agent hands its answer back, the thread gains the answer and none of the text that was recalled."""
    thread, saver = ask(answering([], answer))
    assert thread == ["Be brief.", QUESTION, "ok"]
    assert FACT.encode() not in saved(saver)


def copies(state) -> list[dict]:
    """The messages as dicts, without their ids."""
    roles = {"human": "user", "ai": "assistant", "system": "system"}
    return [{"role": roles[message.type], "content": message.content} for message in state["messages"]]


def test_a_tool_round_comes_back_whole(ask):
    """All that an agent says in one turn is new: calls, results and the answer."""
    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
    messages = [call, ToolMessage("found", tool_call_id="c1"), AIMessage("ok")]
    thread, _ = ask(answering([], lambda state: {"messages": messages}))
    assert thread == ["Be brief.", QUESTION, "", "found", "ok"]


@pytest.mark.parametrize("output", [None, 3, {"other": []}, {"messages": None}])
def test_an_answer_that_is_none(ask, output):
    """An agent that gives no messages is an error that says what it must return."""
    with pytest.raises(ConfigError, match="must return"):
        ask(answering([], lambda state: output))


def test_an_empty_answer_adds_nothing():
    """An agent may have nothing to say."""
    sent = [HumanMessage("hi", id="1")]
    assert new_messages({"messages": []}, sent) == []
    assert new_messages({"messages": sent}, sent) == []


@pytest.mark.parametrize("answer", [AIMessage("again", id="same"), AIMessage("old", id="same")])
def test_an_answer_is_new_whatever_its_id(answer):
    """Some servers give one id to all answers: the place of an answer tells whether it is new, in whatever shape."""
    old = AIMessage("old", id="same")
    sent = [HumanMessage("hi", id="1"), old, HumanMessage("and now?", id="2")]
    for output in (answer, [answer], {"messages": [*sent, answer]}, {"messages": [sent[-1], answer]}):
        assert new_messages(output, sent) == [answer]
    assert new_messages({"messages": [*sent[:2], answer]}, sent[:2]) == [answer]
    assert new_messages([answer], sent[:2]) == [answer]
    assert new_messages({"messages": sent}, sent) == []


@pytest.mark.parametrize("make", [InMemorySaver, lambda: None])
def test_a_model_whose_answers_have_one_id(known, config, run_config, records, make):
    """Every answer is given and stored, and stands where it was said, in a thread of its own or in one handed in."""
    replies, saver = iter("abc"), make()
    model = ScriptedChatModel(then=lambda _: AIMessage(f"reply {next(replies)}", id="chatcmpl-0"))
    graph, thread = create_memory_graph(model, store=known, config=config, checkpointer=saver), []
    for number in range(3):
        said = HumanMessage(f"hello {number}")
        thread = graph.invoke({"messages": [said] if saver else [*thread, said]}, run_config())["messages"]
    expected = ["hello 0", "reply a", "hello 1", "reply b", "hello 2", "reply c"]
    assert [message.text for message in thread] == expected
    assert sorted(record.text for record in records(known, role="assistant")) == expected[1::2]


def test_the_context_in_the_system_message(known, config, run_config):
    """With inject_as="system" a callable that hands everything back still returns only what is new."""
    saver, seen = InMemorySaver(), []
    agent = answering(seen, lambda state: {"messages": [*state["messages"], AIMessage("ok")]})
    config = config.replace(inject_as="system")
    graph = create_memory_graph(agent, store=known, config=config, checkpointer=saver)
    graph.invoke({"messages": [HumanMessage(QUESTION)]}, run_config())
    assert (seen[0].type, FACT in seen[0].text, seen[1].text) == ("system", True, QUESTION)
    assert [m.text for m in graph.get_state(run_config()).values["messages"]] == [QUESTION, "ok"]
    assert FACT.encode() not in saved(saver)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: model,
        lambda model: model.bind(stop=["x"]),
        lambda model: model.bind_tools([]),
        lambda model: model.with_retry(),
        lambda model: model.with_fallbacks([ScriptedChatModel()]),
        lambda model: model.with_config(tags=["mine"]),
        lambda model: model | RunnableLambda(lambda message: message.text),
    ],
)
def test_a_chat_model_in_any_wrapping(ask, wrap):
    """A chat model, bound, retried, configured or piped, is called with messages."""
    model = ScriptedChatModel(["ok"])
    thread, saver = ask(wrap(model))
    assert FACT in model.calls[0].text
    assert thread == ["Be brief.", QUESTION, "ok"]
    assert FACT.encode() not in saved(saver)


def test_a_chain_over_a_prompt(ask):
    """A Runnable that begins with a prompt is called with a state."""
    model = ScriptedChatModel(["ok"])
    prompt = ChatPromptTemplate.from_messages([("system", "You are kind."), ("placeholder", "{messages}")])
    thread, _ = ask(prompt | model)
    assert model.calls[0].messages[0].text == "You are kind."
    assert FACT in model.calls[0].text
    assert thread == ["Be brief.", QUESTION, "ok"]


async def test_an_async_callable(known, config, run_config):
    """A coroutine function is an agent for ainvoke."""

    async def agent(state):
        return {"messages": [AIMessage("seen" if FACT in state["messages"][-1].text else "not seen")]}

    graph = create_memory_graph(agent, store=known, config=config)
    answer = await graph.ainvoke({"messages": [HumanMessage(QUESTION)]}, run_config())
    assert answer["messages"][-1].text == "seen"


def test_a_graph_that_reads_memory_context(ask):
    """A compiled graph with the channel gets plain messages and the recalled text beside them, in no checkpoint."""
    seen = []
    thread, saver = ask(reader(seen))
    assert [FACT in context for context in seen] == [True, True]
    assert thread == ["Be brief.", QUESTION, "ok"]
    assert FACT.encode() not in saved(saver)


def test_a_graph_over_pydantic_that_reads_memory_context(ask):
    """The channel may stand in a pydantic state as well."""

    class State(BaseModel):
        messages: list = Field(default_factory=list)
        memory_context: str = ""

    seen = []
    thread, saver = ask(reader(seen, State))
    assert [FACT in context for context in seen] == [True, True]
    assert thread == ["Be brief.", QUESTION, "ok"]
    assert FACT.encode() not in saved(saver, everywhere=False)


def test_a_foreign_graph_gets_the_context_in_its_messages(ask):
    """Any compiled graph sees the recalled text in its messages; the thread itself never holds it."""
    model = ScriptedChatModel(["ok"])
    thread, saver = ask(create_agent(model, []))
    assert FACT in model.calls[0].text
    assert thread == ["Be brief.", QUESTION, "ok"]
    assert FACT.encode() not in saved(saver, everywhere=False)


@pytest.mark.parametrize("own", [True, "saver"])
def test_a_foreign_graph_keeps_recalled_text_for_one_call_only(known, config, run_config, own):
    """A graph with a checkpointer of its own doesn't gather in it what each call recalled."""
    model = ScriptedChatModel(then="ok")
    agent = create_agent(model, [], checkpointer=InMemorySaver() if own == "saver" else True)
    graph = create_memory_graph(agent, store=known, config=config, checkpointer=InMemorySaver())
    for text in (QUESTION, "And what is green tea?", "What is seven times six?"):
        graph.invoke({"messages": [HumanMessage(text)]}, run_config())
    assert FACT in model.calls[0].text
    assert FACT not in model.calls[2].text
    assert [message.text for message in model.calls[2].messages] == [
        QUESTION,
        "ok",
        "And what is green tea?",
        "ok",
        "What is seven times six?",
    ]


def test_tokens_of_a_foreign_graph_are_streamed_as_a_subgraphs(known, config, run_config):
    """As with every subgraph, subgraphs=True shows the tokens; nothing is shown twice."""
    agent = create_agent(ScriptedChatModel(["one two"]), [])
    graph = create_memory_graph(agent, store=known, config=config)
    stream = graph.stream({"messages": [HumanMessage(QUESTION)]}, run_config(), stream_mode="messages", subgraphs=True)
    assert [message.text for _, (message, _) in stream if message.text] == ["one", " two"]


def with_interrupt(agent_state=MessagesState):
    """A compiled agent that asks a person before it answers, and tells what it saw on both sides."""

    def before(state) -> dict:
        return {}

    def gate(state) -> dict:
        word = interrupt("may I?")
        text = f"{word}: {FACT in str(state.get('memory_context'))} {FACT in str(state['messages'])}"
        return {"messages": [AIMessage(text)]}

    builder = StateGraph(agent_state).add_node(before).add_node(gate)
    return builder.add_edge(START, "before").add_edge("before", "gate").compile()


def interrupting_callable(state):
    """A callable agent that asks a person before it answers."""
    word = interrupt("may I?")
    return {"messages": [AIMessage(f"{word}: False {FACT in str(state['messages'])}")]}


@pytest.mark.parametrize(
    ("agent", "answer"),
    [
        (with_interrupt(), "yes: False True"),
        (with_interrupt(MemoryState), "yes: True False"),
        (interrupting_callable, "yes: False True"),
    ],
)
async def test_recall_happens_again_after_a_resume(known, config, run_config, agent, answer):
    """After an interrupt the recalled text is gone from the state; the agent gets it again, in sync and async."""
    saver = InMemorySaver()
    graph = create_memory_graph(agent, store=known, config=config, checkpointer=saver)
    stopped = graph.invoke({"messages": [HumanMessage(QUESTION)]}, run_config("sync"))
    assert stopped["__interrupt__"][0].value == "may I?"
    done = graph.invoke(Command(resume="yes"), run_config("sync"))
    assert [message.text for message in done["messages"]] == [QUESTION, answer]
    assert done["memory_report"]["counts"]["injected"] == 1
    await graph.ainvoke({"messages": [HumanMessage(QUESTION)]}, run_config("async"))
    done = await graph.ainvoke(Command(resume="yes"), run_config("async"))
    assert done["messages"][-1].text == answer
    assert FACT.encode() not in saved(saver, everywhere=False)


def test_a_resumed_reader_leaves_no_recalled_text_behind(known, config, run_config):
    """Handing the lost channel to an interrupted graph writes it into no checkpoint, not even the graph's own."""
    saver = InMemorySaver()
    graph = create_memory_graph(with_interrupt(MemoryState), store=known, config=config, checkpointer=saver)
    graph.invoke({"messages": [HumanMessage(QUESTION)]}, run_config())
    graph.invoke(Command(resume="yes"), run_config())
    assert FACT.encode() not in saved(saver)


def test_a_reader_that_was_never_started_is_started_after_a_resume(known, config, run_config):
    """A run that stopped before the agent goes on with its messages and the recalled text."""
    seen = []
    graph = create_memory_graph(reader(seen), store=known, config=config, checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage(QUESTION)]}, run_config(), interrupt_before=["agent"])
    done = graph.invoke(None, run_config())
    assert [message.text for message in done["messages"]] == [QUESTION, "ok"]
    assert [FACT in context for context in seen] == [True, True]


def test_a_reader_without_any_checkpointer(known, config, run_config):
    """A graph that reads memory_context needs no checkpointer."""
    seen = []
    graph = create_memory_graph(reader(seen), store=known, config=config)
    graph.invoke({"messages": [HumanMessage(QUESTION)]}, run_config())
    assert [FACT in context for context in seen] == [True, True]


@tool
def what_is_known() -> str:
    """Tell what the store holds."""
    store = get_store()
    return "no store" if store is None else f"{len(store.search(('memories', 'alice')))} {len(store.search(('own',)))}"


@pytest.mark.parametrize("own", [False, True])
def test_the_agents_tools_reach_a_store(known, config, run_config, own):
    """A foreign agent's tools find the store it was compiled with, else the one that memory is kept in."""
    call = AIMessage("", tool_calls=[{"name": "what_is_known", "args": {}, "id": "c1"}])
    mine = InMemoryStore()
    mine.put(("own",), "a", {})
    agent = create_agent(ScriptedChatModel([call, "ok"]), [what_is_known], store=mine if own else None)
    graph = create_memory_graph(agent, store=known, config=config)
    answer = graph.invoke({"messages": [HumanMessage(QUESTION)]}, run_config())
    assert answer["messages"][-2].text == ("0 1" if own else "2 0")  # the fact and the question, recorded already


def test_a_runs_own_store_goes_first(known, config, run_config):
    """A parent's store reaches the agent's tools, as in any graph."""
    parents = InMemoryStore()
    parents.put(("own",), "a", {})
    graph = create_memory_graph(lambda state: what_is_known.invoke({}), store=known, config=config)
    parent = StateGraph(MessagesState).add_node("talk", graph).add_edge(START, "talk").compile(store=parents)
    answer = parent.invoke({"messages": [HumanMessage(QUESTION)]}, run_config())
    assert answer["messages"][-1].text == "0 1"


def test_every_kind_is_told_apart():
    """A door tells what goes in: messages, a state, or a state with the channel."""
    model = ScriptedChatModel()
    assert open_door(model).reads_messages
    assert not open_door(ChatPromptTemplate.from_messages([("placeholder", "{messages}")]) | model).reads_messages
    assert open_door(reader([])).reader is not None
    assert open_door(create_agent(model, [])).reader is None
    assert not open_door(lambda state: state).reads_messages


def thread_of(turns: int) -> list:
    """A thread of so many turns, then a question."""
    talk = [m for n in range(turns) for m in (HumanMessage(f"My dog Rex weighs {n} kilos"), AIMessage(f"ok {n}"))]
    return [*talk, HumanMessage("What does my dog Rex weigh?")]


@pytest.mark.parametrize("kind", ["chat model", "callable", "runnable", "graph"])
def test_every_agent_that_gets_messages_gets_the_tail(store, config, run_config, kind):
    """tail_messages and user_max_tokens hold for any agent that gets the context in its messages, and the report of
    a cut is true; the thread itself stays whole."""
    seen, model = [], ScriptedChatModel(["ok"])
    agents = {
        "chat model": model,
        "callable": answering(seen),
        "runnable": RunnableLambda(answering(seen)),
        "graph": create_agent(model, []),
    }
    saver = InMemorySaver()
    config = config.replace(tail_messages=3, user_max_tokens=5)
    graph = create_memory_graph(agents[kind], store=store, config=config, checkpointer=saver)
    messages = [*thread_of(4)[:-1], HumanMessage("What does my dog Rex weigh? " * 20)]
    done = graph.invoke({"messages": messages}, run_config())
    got = seen or model.calls[0].messages
    assert [message.text for message in got[:-1]] == ["My dog Rex weighs 3 kilos", "ok 3"]
    assert len(got[-1].text) < 60
    assert any("was cut" in warning for warning in done["memory_report"]["warnings"])
    assert [message.text for message in done["messages"]] == [*(message.text for message in messages), "ok"]


def test_an_agent_that_sees_the_whole_thread_is_told_nothing_of_it_again(store, config, run_config):
    """A graph that reads memory_context gets all messages, uncut: none of them is recalled, however long ago it was,
    and no cut is reported."""
    seen, calls = [], []

    def answer(state: MemoryState) -> dict:
        seen.append(state.get("memory_context"))
        calls.append([message.text for message in state["messages"]])
        return {"messages": [AIMessage("ok")]}

    agent = StateGraph(MemoryState).add_node(answer).add_edge(START, "answer").compile()
    config = config.replace(tail_messages=1, user_max_tokens=5, background=False)
    graph = create_memory_graph(agent, store=store, config=config, checkpointer=InMemorySaver())
    for text in ("Rex the dog weighs ten kilos", "hello", "What does Rex the dog weigh, in kilos, do you know? " * 9):
        done = graph.invoke({"messages": [HumanMessage(text)]}, run_config())
    assert len(calls[-1]) == 5
    assert calls[-1][-1] == text
    assert "[user]" not in seen[-1]
    assert "Rex the dog weighs ten kilos" not in seen[-1]
    assert not any("was cut" in warning for warning in done["memory_report"]["warnings"])
    tail = create_memory_graph(ScriptedChatModel(["ok"]), store=store, config=config, checkpointer=graph.checkpointer)
    done = tail.invoke({"messages": [HumanMessage("What does Rex the dog weigh?")]}, run_config())
    assert "Rex the dog weighs ten kilos" in done["memory_context"]
