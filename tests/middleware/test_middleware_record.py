"""What is stored: the user's words before the agent runs, the reply after it, each once, and the facts in them."""

import asyncio

import pytest
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
    hook_config,
)
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from langmem_plus.middleware import LongTermMemoryMiddleware
from langmem_plus.testing import ScriptedChatModel


def decide(*decisions: dict) -> Command:
    """A person's decisions about the tool calls that wait."""
    return Command(resume={"decisions": list(decisions)})


def test_the_users_words_are_stored_before_the_model_is_called(make_agent, run_config, store, say):
    """What was said is in the store when the model is called, so that a run which fails loses nothing."""
    seen = []

    def answer(messages):
        seen.append([item.value["text"] for item in store.search(("memories",), filter={"role": "user"})])
        raise ConnectionError("the model is down")

    agent = make_agent([answer], checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        agent.invoke(say("My name is Bob"), run_config())
    assert seen == [["My name is Bob"]]


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_turns_and_facts(make_agent, run_config, config, store, records, say, background, mode):
    """Both sides of a turn are stored word for word, and the fact in the user's words, once, in the user's space."""
    memory = LongTermMemoryMiddleware(store=store, config=config.replace(background=background))
    agent = make_agent(["Hi, 🙂!"], memory=memory)
    message = say("My name is Jürgen", id="m1")
    run = run_config(space="work")
    answer = agent.invoke(message, run) if mode == "sync" else await agent.ainvoke(message, run)
    found = await asyncio.to_thread(records, store)
    assert {(record.role, record.text) for record in found} >= {
        ("user", message["messages"][0].text),
        ("assistant", "Hi, 🙂!"),
    }
    assert {(record.user_id, record.space, record.thread_id) for record in found} == {("alice", "work", "t1")}
    assert [record.source_ids for record in found if record.role == "user"] == [["m1"]]
    assert len([record for record in found if record.role == "memory"]) == 1
    assert len(answer["memory_report"]["decisions"]) == (0 if background else 1)


@pytest.mark.parametrize(
    ("decision", "result"),
    [
        ({"type": "approve"}, "seen a"),
        ({"type": "edit", "edited_action": {"name": "look", "args": {"what": "b"}}}, "seen b"),
        ({"type": "reject", "message": "no"}, "no"),
    ],
)
@pytest.mark.parametrize("place", ["ahead", "behind"])
def test_a_person_decides_in_between(
    make_agent, run_config, saver, store, turns, records, say, calling, tool, decision, result, place
):
    """Whatever a person decides about a tool call, before or after memory's place, the turn is stored once."""
    gate = {place: [HumanInTheLoopMiddleware({"look": True})]}
    agent = make_agent([calling("a", text="Let me look."), "Done."], [tool], **gate, checkpointer=saver)
    stopped = agent.invoke(say("My wife is called Anne"), run_config())
    assert "__interrupt__" in stopped
    assert turns(store) == [("user", "My wife is called Anne")]
    answer = agent.invoke(decide(decision), run_config())
    assert any(result in message.text for message in answer["messages"] if message.type == "tool")
    assert turns(store) == [
        ("user", "My wife is called Anne"),
        ("assistant", "Let me look."),
        ("assistant", "Done."),
    ]
    assert [record.text for record in records(store, "memory")] == ["My wife is called Anne"]


def test_a_tool_that_ends_the_run_after_a_resume(make_agent, run_config, store, turns, say):
    """Where no model is called after the resume, what the assistant said before is stored all the same."""
    from langchain_core.tools import tool as make_tool

    @make_tool(return_direct=True)
    def send(text: str) -> str:
        """Send something."""
        return f"sent {text}"

    call = AIMessage("I will send it.", tool_calls=[{"name": "send", "args": {"text": "x"}, "id": "a"}])
    agent = make_agent([call], [send], behind=[HumanInTheLoopMiddleware({"send": True})], checkpointer=InMemorySaver())
    agent.invoke(say("Send it"), run_config())
    agent.invoke(decide({"type": "approve"}), run_config())
    assert turns(store) == [("user", "Send it"), ("assistant", "I will send it.")]


def test_a_run_that_fails_goes_on_where_it_stopped(make_agent, run_config, saver, store, turns, say, calling, tool):
    """A run whose model failed, and which is called again without input, stores its turn once."""
    model = ScriptedChatModel([calling("a"), ConnectionError("down"), ConnectionError("down"), "Done."])
    agent = make_agent(model, [tool], checkpointer=saver)
    for payload in (say("My name is Bob"), None):
        with pytest.raises(ConnectionError):
            agent.invoke(payload, run_config())
    agent.invoke(None, run_config())
    assert turns(store) == [("user", "My name is Bob"), ("assistant", "Done.")]


def test_every_checkpoint_is_replayed(make_agent, run_config, saver, store, turns, records, say, calling, tool):
    """A replay of each checkpoint of three turns with tool rounds writes nothing anew."""
    answers = [calling("a"), "One.", "Two.", calling("b", "c"), "Three."]
    texts = ("My wife is called Anne", "I live in Lyon", "yes")

    def reply(messages):
        said = [message for message in messages if isinstance(message, HumanMessage)]
        last = messages[-1]
        number = len(said) - 1
        if number != 1 and last.type != "tool":
            return answers[0] if number == 0 else answers[3]
        return (answers[1], answers[2], answers[4])[number]

    agent = make_agent(ScriptedChatModel(then=reply), [tool], checkpointer=saver)
    for text in texts:
        agent.invoke(say(text), run_config())
    before = {record.id for record in records(store)}
    assert [text for role, text in turns(store) if role == "user"] == list(texts)
    for point in list(agent.get_state_history(run_config())):
        agent.invoke(None, {"configurable": {**run_config()["configurable"], **point.config["configurable"]}})
    assert {record.id for record in records(store)} == before


def test_nothing_new_said_is_no_new_turn(make_agent, run_config, saver, store, turns, say):
    """A run that begins without new words of the user, as for another answer, adds its reply to the turn."""
    agent = make_agent(["One.", "Two.", "Three."], checkpointer=saver)
    agent.invoke(say("Tell me"), run_config())
    agent.invoke({"messages": []}, run_config())
    assert turns(store) == [("user", "Tell me"), ("assistant", "One."), ("assistant", "Two.")]
    last = agent.get_state(run_config()).values["messages"][-1]
    agent.invoke({"messages": [RemoveMessage(last.id)]}, run_config())
    assert turns(store)[-1] == ("assistant", "Three.")


def test_the_same_words_in_two_turns_are_two_turns(make_agent, run_config, saver, store, turns, say):
    """What is said again later is a turn of its own, and so is the same reply."""
    agent = make_agent(ScriptedChatModel(then="ok"), checkpointer=saver)
    for _ in range(3):
        agent.invoke(say("yes"), run_config())
    assert turns(store) == [("user", "yes"), ("assistant", "ok")] * 3


@pytest.mark.parametrize("place", ["ahead", "behind"])
@pytest.mark.parametrize("keep", [1, 3])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_beside_summarization(make_agent, run_config, store, turns, say, calling, tool, place, keep, mode):
    """Where the user's own message is summarised away in the middle of the run, the turn is stored once, whole, and
    without the summary."""
    summarizer = SummarizationMiddleware(
        ScriptedChatModel(then="SUMMARY"), trigger=("messages", 4), keep=("messages", keep)
    )
    model = ScriptedChatModel([calling("a"), calling("b"), calling("c"), "Here it is.", "Glad.", "Bye."])
    agent = make_agent(model, [tool], **{place: [summarizer]}, checkpointer=InMemorySaver())
    for text in ("Where is the zebra crossing?", "Thank you, Anne is my wife", "Bye"):
        if mode == "sync":
            agent.invoke(say(text), run_config())
        else:
            await agent.ainvoke(say(text), run_config())
    assert any("SUMMARY" in call.text for call in model.calls)
    assert all("zebra crossing 4711" in call.text for call in model.calls[:4])
    assert await asyncio.to_thread(turns, store) == [
        ("user", "Where is the zebra crossing?"),
        ("assistant", "Here it is."),
        ("user", "Thank you, Anne is my wife"),
        ("assistant", "Glad."),
        ("user", "Bye"),
        ("assistant", "Bye."),
    ]


@pytest.mark.parametrize("place", ["ahead", "behind"])
def test_what_is_summarised_away_is_recalled(make_agent, run_config, store, say, place):
    """What is summarised away before the first model call doesn't stand in it any more, so it can be recalled."""
    summarizer = SummarizationMiddleware(
        ScriptedChatModel(then="SUMMARY"), trigger=("messages", 6), keep=("messages", 1)
    )
    model = ScriptedChatModel(then="ok")
    agent = make_agent(model, **{place: [summarizer]}, checkpointer=InMemorySaver())
    for text in ("The blue parrot sings in the kitchen every morning", "We walk on", "We walk on", "We rest"):
        agent.invoke(say(text), run_config())
    agent.invoke(say("What does the blue parrot do in the kitchen?"), run_config())
    assert "SUMMARY" in model.calls[-1].text
    assert "parrot sings in the kitchen" in model.calls[-1].text


class Answer(BaseModel):
    """A structured answer."""

    city: str


@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
def test_structured_output(make_agent, run_config, store, turns, say, strategy):
    """A structured answer comes back; what the assistant said in words is stored, once."""
    said = AIMessage("Lyon it is.", tool_calls=[{"name": "Answer", "args": {"city": "Lyon"}, "id": "a"}])
    answers = [said] if strategy is ToolStrategy else ['{"city": "Lyon"}']
    agent = make_agent(answers, response_format=strategy(Answer), checkpointer=InMemorySaver())
    answer = agent.invoke(say("Which city?"), run_config())
    assert answer["structured_response"] == Answer(city="Lyon")
    reply = "Lyon it is." if strategy is ToolStrategy else '{"city": "Lyon"}'
    assert turns(store) == [("user", "Which city?"), ("assistant", reply)]


@pytest.mark.parametrize("background", [True, False])
def test_incognito(make_agent, run_config, config, store, records, turns, say, background):
    """An incognito run leaves no record and recalls nothing; the turns around it are stored."""
    memory = LongTermMemoryMiddleware(store=store, config=config.replace(background=background))
    model = ScriptedChatModel(then="ok")
    agent = make_agent(model, memory=memory, checkpointer=InMemorySaver())
    agent.invoke(say("Hello from outside"), run_config())
    agent.invoke(say("My name is Bob at the zebra crossing"), run_config(incognito=True))
    agent.invoke(say("Outside again"), run_config())
    assert "4711" not in model.calls[1].text
    assert [text for role, text in turns(store) if role == "user"] == ["Hello from outside", "Outside again"]
    assert not [record for record in records(store) if "Bob" in record.text]


def test_a_structured_answer_without_words(make_agent, run_config, store, turns, say):
    """A structured answer that comes as a tool call without a word is stored as JSON, as from providers that answer in
    JSON; the thread keeps the message as it is."""
    called = AIMessage("", tool_calls=[{"name": "Answer", "args": {"city": "Zürich"}, "id": "a"}])
    agent = make_agent([called, called], response_format=ToolStrategy(Answer), checkpointer=InMemorySaver())
    for _ in range(2):
        answer = agent.invoke(say("Which city?"), run_config())
    assert [message.text for message in answer["messages"] if message.type == "ai"] == ["", ""]
    assert turns(store) == [("user", "Which city?"), ("assistant", '{"city": "Zürich"}')] * 2


class Nagging(AgentMiddleware):
    """Says something in the user's name after the first answer of a run, and lets the model answer again."""

    def __init__(self, **marks):
        super().__init__()
        self.marks = marks

    @hook_config(can_jump_to=["model"])
    def after_model(self, state, runtime):
        """Ask for more, once."""
        if state["messages"][-1].text == "Draft.":
            return {"messages": [HumanMessage("Is that all?", additional_kwargs=self.marks)], "jump_to": "model"}
        return None


@pytest.mark.parametrize("marks", [{}, {"lc_source": "nagging"}])
@pytest.mark.parametrize("place", ["ahead", "behind"])
def test_what_middleware_says_in_the_users_name(make_agent, run_config, store, turns, say, marks, place):
    """What other middleware says in the user's name in the middle of a run is nobody's turn; recalled text stays at the
    user's own words, and all that the agent said is stored."""
    model = ScriptedChatModel(["Draft.", "Final.", "Draft.", "Final."])
    agent = make_agent(model, **{place: [Nagging(**marks)]}, checkpointer=InMemorySaver())
    for _ in range(2):
        agent.invoke(say("Where is the zebra crossing?"), run_config())
    for before, after in ((0, 1), (2, 3)):
        first, second = model.calls[before].messages, model.calls[after].messages
        assert [message.content for message in second[: len(first)]] == [message.content for message in first]
        assert "4711" in first[-1].text
        assert second[-1].text == "Is that all?"
    reply = [("assistant", "Draft."), ("assistant", "Final.")]
    assert turns(store) == [("user", "Where is the zebra crossing?"), *reply] * 2


class Guard(AgentMiddleware):
    """Ends a run before the model is called."""

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state, runtime):
        """Refuse everything."""
        return {"messages": [AIMessage("I can't talk about that.")], "jump_to": "end"}


def test_a_run_that_is_refused_before_memory(make_agent, run_config, store, turns, say):
    """Of a run that other middleware ends before memory has seen it, nothing is stored; behind memory, both sides."""
    agent = make_agent([], ahead=[Guard()], checkpointer=InMemorySaver())
    agent.invoke(say("Something forbidden"), run_config("t1"))
    assert turns(store) == []
    agent = make_agent([], behind=[Guard()], checkpointer=InMemorySaver())
    agent.invoke(say("Something else"), run_config("t2"))
    assert turns(store) == [("user", "Something else"), ("assistant", "I can't talk about that.")]


def test_without_a_checkpointer(make_agent, run_config, store, turns, say):
    """A program that keeps the thread itself, and hands all of it over, has each turn stored once."""
    agent = make_agent(ScriptedChatModel(then="ok"))
    thread = []
    for number in range(3):
        thread = agent.invoke({"messages": [*thread, HumanMessage(f"hello {number}")]}, run_config())["messages"]
    assert turns(store) == [pair for n in range(3) for pair in (("user", f"hello {n}"), ("assistant", "ok"))]


def test_as_a_node_of_another_graph(make_agent, run_config, saver, store, turns, say, calling, tool):
    """An agent with memory is a node of a parent graph, which interrupts it and resumes."""
    from langgraph.graph import MessagesState, StateGraph

    agent = make_agent([calling("a"), "Done.", "Twice."], [tool], behind=[HumanInTheLoopMiddleware({"look": True})])
    builder = StateGraph(MessagesState).add_node("talk", agent).set_entry_point("talk")
    parent = builder.compile(checkpointer=saver)
    parent.invoke(say("My name is Bob"), run_config())
    parent.invoke(decide({"type": "approve"}), run_config())
    parent.invoke(say("Hello again"), run_config())
    assert turns(store) == [
        ("user", "My name is Bob"),
        ("assistant", "Done."),
        ("user", "Hello again"),
        ("assistant", "Twice."),
    ]
