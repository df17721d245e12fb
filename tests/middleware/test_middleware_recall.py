"""What the model's calls carry: the same recalled text in each, at the same place, and never in a checkpoint."""

import os
import subprocess
import sys
import textwrap

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware, ModelRetryMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from langmem_plus.middleware import LongTermMemoryMiddleware
from langmem_plus.testing import ScriptedChatModel

MARKER = "zebra crossing 4711"
QUESTION = "Where is the zebra crossing?"
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})


@pytest.fixture
def recalls(monkeypatch) -> list[str]:
    """The queries of all searches that a store answers in this test."""
    asked: list[str] = []
    batch, abatch = InMemoryStore.batch, InMemoryStore.abatch

    def note(ops):
        ops = list(ops)
        queries = {op.query for op in ops if getattr(op, "query", None)}
        asked.extend(queries)
        return ops

    async def anoted(self, ops):
        return await abatch(self, note(ops))

    monkeypatch.setattr(InMemoryStore, "batch", lambda self, ops: batch(self, note(ops)))
    monkeypatch.setattr(InMemoryStore, "abatch", anoted)
    return asked


def context_of(call) -> str:
    """The text that stands before the user's own words in a call."""
    said = [message for message in call.messages if isinstance(message, HumanMessage)][-1]
    return said.text.removesuffix(QUESTION)


def test_what_one_thread_teaches_another_uses(make_agent, run_config, records, store, say):
    """A fact of one thread stands in the model call of another thread of the same user, and of no other user."""
    model = ScriptedChatModel(["Hello!", "She is called Anne.", "I don't know."])
    agent = make_agent(model, checkpointer=InMemorySaver())
    agent.invoke(say("My wife is called Anne"), run_config("t1"))
    assert [record.text for record in records(store, "memory")] == ["My wife is called Anne"]
    answer = agent.invoke(say("What is my wife called?"), run_config("t2"))
    agent.invoke(say("What is my wife called?"), run_config("t3", user_id="bob"))
    assert "[memory] My wife is called Anne" in model.calls[1].text
    assert "Anne" not in model.calls[2].text
    assert answer["messages"][-1].text == "She is called Anne."
    assert answer["memory_report"]["counts"]["injected"] == 1


async def test_the_same_asynchronously(make_agent, run_config, store, say):
    """ainvoke recalls as invoke does."""
    model = ScriptedChatModel(["There."])
    answer = await make_agent(model, checkpointer=InMemorySaver()).ainvoke(say(QUESTION), run_config())
    assert MARKER in model.calls[0].text
    assert answer["memory_report"]["counts"]["injected"] == 1


@pytest.mark.parametrize("inject_as", ["user", "system"])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_each_call_of_a_run_carries_the_same_text(
    make_agent, run_config, config, store, say, calling, tool, recalls, inject_as, mode
):
    """All calls of a tool loop carry the same text at the same place, and memory is searched once."""
    model = ScriptedChatModel([calling("a", "b"), calling("c"), "There."])
    memory = LongTermMemoryMiddleware(store=store, config=config.replace(inject_as=inject_as))
    agent = make_agent(model, [tool], memory=memory, system_prompt="Be brief.")
    if mode == "sync":
        agent.invoke(say(QUESTION), run_config())
    else:
        await agent.ainvoke(say(QUESTION), run_config())
    assert [len(call.messages) for call in model.calls] == [2, 5, 7]
    for before, after in zip(model.calls, model.calls[1:], strict=False):
        assert [(m.type, m.content) for m in after.messages[: len(before.messages)]] == [
            (m.type, m.content) for m in before.messages
        ]
    system, said = model.calls[0].messages[:2]
    assert (MARKER in said.text, MARKER in system.text) == (inject_as == "user", inject_as == "system")
    assert system.text.startswith("Be brief.")
    assert said.text.endswith(QUESTION)
    assert recalls == [QUESTION]


@pytest.mark.parametrize("inject_as", ["user", "system"])
def test_no_checkpoint_holds_recalled_text(
    make_agent, run_config, config, store, say, calling, tool, saver, stored, inject_as
):
    """Over tool rounds, an interrupt and a resume, no checkpoint, write or stored message has recalled text."""
    model = ScriptedChatModel([calling("a", "b"), "There.", "Still there."])
    memory = LongTermMemoryMiddleware(store=store, config=config.replace(inject_as=inject_as))
    agent = make_agent(
        model, [tool], memory=memory, ahead=[HumanInTheLoopMiddleware({"look": True})], checkpointer=saver
    )
    agent.invoke(say(QUESTION), run_config())
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}] * 2}), run_config())
    agent.invoke(say("And the zebra crossing now?"), run_config())
    assert all(MARKER in call.text for call in model.calls)
    assert MARKER not in stored(saver)
    assert [m.type for m in agent.get_state(run_config()).values["messages"]] == [
        *("human", "ai", "tool", "tool", "ai"),
        *("human", "ai"),
    ]


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("stops", [True, False], ids=["interrupted", "in one run"])
@pytest.mark.parametrize("place", ["ahead", "behind"])
async def test_the_users_words_are_asked_though_a_summary_took_them_away(
    make_agent, run_config, say, recalls, calling, tool, mode, stops, place
):
    """A resumed turn whose message was summarised away is recalled for by its words: what it says is known until the
    run is over, and the recalled text stands at the summary, in the message that stands for them."""
    model = ScriptedChatModel(["Hi.", calling("a"), "There."])
    summarizer = SummarizationMiddleware(
        ScriptedChatModel(then="They talked."),
        trigger=("messages", 5),
        keep=("messages", 2),
    )
    others = {place: [summarizer], "ahead" if place == "behind" else "behind": []}
    others["behind"].append(HumanInTheLoopMiddleware({"look": stops}))
    agent = make_agent(model, [tool], checkpointer=InMemorySaver(), **others)

    async def run(call):
        return agent.invoke(call, run_config()) if mode == "sync" else await agent.ainvoke(call, run_config())

    await run(say("Good morning!"))
    recalls.clear()
    await run(say(QUESTION))
    if stops:
        assert agent.get_state(run_config()).values["memory_progress"]["asked"] == QUESTION
        await run(APPROVE)
    assert set(recalls) == {QUESTION}
    last = model.calls[-1].messages
    assert QUESTION not in model.calls[-1].text
    assert [MARKER in message.text for message in last] == [True, False, False]
    assert last[0].text.endswith("They talked.")
    assert agent.get_state(run_config()).values["memory_progress"]["asked"] is None


def test_incognito_words_are_not_kept(make_agent, run_config, say, calling, tool):
    """While an incognito turn waits, nothing of its words stands in the instance's own channel; a long question is
    cut there."""
    for incognito, length in ((True, None), (False, 2001)):
        agent = make_agent(
            ScriptedChatModel([calling("a")]),
            [tool],
            ahead=[HumanInTheLoopMiddleware({"look": True})],
            checkpointer=InMemorySaver(),
        )
        agent.invoke(say(QUESTION * 1000), run_config(incognito=incognito))
        asked = agent.get_state(run_config()).values["memory_progress"]["asked"]
        assert (asked and len(asked)) == length


def test_no_checkpoint_holds_it_where_only_safe_types_are_read(tmp_path):
    """With LANGGRAPH_STRICT_MSGPACK, what memory leaves in a checkpoint is plain JSON that comes back as it was."""
    script = textwrap.dedent(
        """
        from langchain.agents import create_agent
        from langchain.agents.middleware import HumanInTheLoopMiddleware
        from langchain_core.messages import AIMessage, HumanMessage
        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.store.memory import InMemoryStore
        from langgraph.types import Command
        from langmem_plus import MemoryConfig, MemoryRecord, Scope
        from langmem_plus.middleware import LongTermMemoryMiddleware
        from langmem_plus.testing import ScriptedChatModel

        def look(what: str) -> str:
            "Look."
            return "seen"

        store, run = InMemoryStore(), {"configurable": {"user_id": "alice", "thread_id": "t"}}
        known = MemoryRecord(id="known", text="The user waits at the zebra crossing 4711", user_id="alice")
        store.put(Scope("alice").namespace, known.id, known.to_value())
        call = AIMessage("", tool_calls=[{"name": "look", "args": {"what": "x"}, "id": "a"}])
        model = ScriptedChatModel([call, "There."])
        memory = LongTermMemoryMiddleware(store=store, config=MemoryConfig(embeddings="none", background=False))
        with SqliteSaver.from_conn_string("checkpoints.sqlite") as saver:
            agent = create_agent(model, [look], middleware=[memory, HumanInTheLoopMiddleware({"look": True})],
                                 checkpointer=saver)
            agent.invoke({"messages": [HumanMessage("Where is the zebra crossing?", id="m")]}, run)
            agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), run)
            progress = {"turn": 1, "counted": "m", "said": "m", "asked": None, "open": False}
            progress["incognito"] = False
            assert agent.get_state(run).values["memory_progress"] == progress
            points = repr(list(saver.list(None)))
        assert all("crossing 4711" in call.text for call in model.calls) and len(model.calls) == 2
        assert "crossing 4711" not in points
        turns = [item.value["text"] for item in store.search(("memories",), limit=100)]
        assert sorted(turns)[1:] == ["There.", "Where is the zebra crossing?"], turns
        print("done")
        """
    )
    environment = {**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout.strip(), done.returncode) == ("done", 0), done.stderr
    assert "msgpack" not in done.stderr
    assert b"crossing 4711" not in (tmp_path / "checkpoints.sqlite").read_bytes()


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_resumed_run_recalls_again_once(make_agent, run_config, store, say, calling, tool, recalls, mode):
    """After an interrupt each further call carries the text again, found by one search more."""
    model = ScriptedChatModel([calling("a"), calling("b"), calling("c"), "There."])
    gate = HumanInTheLoopMiddleware({"look": {"allowed_decisions": ["approve"], "when": lambda r: is_first(r)}})
    agent = make_agent(model, [tool], behind=[gate], checkpointer=InMemorySaver())
    if mode == "sync":
        agent.invoke(say(QUESTION), run_config())
        agent.invoke(APPROVE, run_config())
    else:
        await agent.ainvoke(say(QUESTION), run_config())
        await agent.ainvoke(APPROVE, run_config())
    assert len(model.calls) == 4
    contexts = {
        next(m.text for m in call.messages if isinstance(m, HumanMessage)).removesuffix(QUESTION)
        for call in model.calls
    }
    assert len(contexts) == 1
    assert MARKER in contexts.pop()
    assert recalls == [QUESTION, QUESTION]


def is_first(request) -> bool:
    """Whether the tool call is the run's first."""
    return request.tool_call["id"] == "a"


def test_a_model_that_is_tried_again_is_given_the_same(make_agent, run_config, say, recalls):
    """A retry ahead of memory doesn't search again."""
    model = ScriptedChatModel([ConnectionError("down"), "There."])
    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
    make_agent(model, ahead=[retry]).invoke(say(QUESTION), run_config())
    assert context_of(model.calls[0]) == context_of(model.calls[1])
    assert MARKER in model.calls[1].text
    assert recalls == [QUESTION]


def test_the_prefix_is_the_same_with_and_without_memory(make_agent, config, store, run_config, say, calling, tool):
    """Over turns with tool rounds, all that stands before the user's current message, and the system message, are what
    they are without memory: the provider's cache hits."""

    def calls(memory):
        model = ScriptedChatModel([calling("a"), "One.", calling("b", "c"), "Two.", "Three."])
        agent = make_agent(model, [tool], memory=memory, checkpointer=InMemorySaver(), system_prompt="Be brief.")
        for number in range(3):
            agent.invoke(say(f"{number}: {QUESTION}", id=f"m{number}"), run_config())
        return model.calls

    on = calls(LongTermMemoryMiddleware(store=store, config=config))
    off = calls(LongTermMemoryMiddleware(store=InMemoryStore(), config=config.replace(enabled=False)))
    assert [MARKER in call.text for call in on] == [True] * 5
    for recalled, plain in zip(on, off, strict=True):
        assert recalled.tools == plain.tools
        for one, other in zip(recalled.messages, plain.messages, strict=True):
            said = one is [m for m in recalled.messages if isinstance(m, HumanMessage)][-1]
            if said:
                assert one.text.endswith(other.text)
            else:
                assert (one.type, one.content) == (other.type, other.content)


def test_what_stands_in_the_window_is_not_recalled(make_agent, run_config, say):
    """What was said in the thread itself isn't repeated as a memory, however long ago."""
    model = ScriptedChatModel(then="ok")
    agent = make_agent(model, checkpointer=InMemorySaver())
    agent.invoke(say("The blue parrot sings in the kitchen"), run_config())
    for number in range(12):
        agent.invoke(say(f"We walk on, step {number}"), run_config())
    answer = agent.invoke(say("What does the blue parrot do?"), run_config())
    assert "[user]" not in model.calls[-1].text
    assert answer["memory_report"]["counts"]["in_window"] >= 1


def test_a_system_message_in_the_thread_takes_the_text(make_agent, config, store, run_config):
    """With inject_as=system and no prompt of the agent, the thread's own system message takes it; without any, one is
    made."""
    memory = LongTermMemoryMiddleware(store=store, config=config.replace(inject_as="system"))
    model = ScriptedChatModel(then="ok")
    agent = make_agent(model, memory=memory)
    agent.invoke({"messages": [SystemMessage("Be kind."), HumanMessage(QUESTION)]}, run_config())
    agent.invoke({"messages": [HumanMessage(QUESTION)]}, run_config())
    for call in model.calls:
        assert [message.type for message in call.messages] == ["system", "human"]
        assert MARKER in call.messages[0].text
    assert model.calls[0].messages[0].text.startswith("Be kind.")


def test_a_thread_without_a_user(make_agent, run_config, turns, store):
    """Where nobody has spoken, nothing is stored but what the agent says, and nothing fails."""
    model = ScriptedChatModel(["Good morning!"])
    agent = make_agent(model, system_prompt="Greet.")
    answer = agent.invoke({"messages": [AIMessage("…")]}, run_config())
    assert answer["messages"][-1].text == "Good morning!"
    assert not answer["memory_report"]["warnings"]
