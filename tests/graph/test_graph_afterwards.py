"""What happens after the reply."""

import asyncio
import os
import subprocess
import sys
import textwrap
import threading

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from langmem_plus.background import background
from langmem_plus.graph import Afterwards, aflush, create_memory_graph, flush
from langmem_plus.graph.afterwards import scope_of
from langmem_plus.graph.halves import make_services
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.store import MarkdownStore
from langmem_plus.testing import ScriptedChatModel

PATIENCE = 30.0


def say(text: str) -> dict:
    """A run's input."""
    return {"messages": [HumanMessage(text)]}


def facts(*texts: str) -> dict:
    """An extractor's answer."""
    return {"facts": [{"text": text, "kind": "fact"} for text in texts]}


class Gate:
    """An extractor's answer that waits until it is let through."""

    def __init__(self, *texts: str) -> None:
        self.asked, self.open = threading.Event(), threading.Event()
        self.answer = facts(*texts)

    def __call__(self, messages):
        """Say that the model was asked, and wait."""
        self.asked.set()
        assert self.open.wait(PATIENCE)
        return self.answer


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_the_reply_never_waits_for_the_write_path(store, config, run_config, records, kind):
    """invoke returns while the model that draws facts out is still busy; the raw turns are stored by then."""
    gate = Gate("The user's wife is called Anne")
    graph = create_memory_graph(
        ScriptedChatModel(["Hello!"]), store=store, model=ScriptedChatModel([gate]), config=config
    )
    if kind == "sync":
        answer = graph.invoke(say("My wife is called Anne"), run_config())
    else:
        answer = await graph.ainvoke(say("My wife is called Anne"), run_config())
    assert answer["messages"][-1].text == "Hello!"
    assert gate.asked.wait(PATIENCE)
    stored = {item.value["role"]: item.value["extracted"] for item in store.search(("memories",), limit=10)}
    assert stored == {"user": False, "assistant": True}
    gate.open.set()
    assert [record.text for record in records(store, role="memory")] == ["The user's wife is called Anne"]


def test_turns_that_come_while_facts_are_drawn_out_are_merged(store, config, run_config, records):
    """Turns of one thread that arrive during a run are worked off together by the next, and none is lost."""
    gate = Gate("The user likes tea")
    model = ScriptedChatModel([gate], then=lambda messages: facts())
    graph = create_memory_graph(
        ScriptedChatModel(then="ok"), store=store, model=model, config=config, checkpointer=InMemorySaver()
    )
    graph.invoke(say("I like tea"), run_config())
    assert gate.asked.wait(PATIENCE)
    for number in range(4):
        graph.invoke(say(f"I have {number} dogs"), run_config())
    gate.open.set()
    turns = records(store, role="user")
    assert len(turns) == 5
    assert all(turn.extracted for turn in turns)
    assert len(model.calls) == 2  # one answer holds what the four turns say


def test_a_model_that_hangs_holds_up_no_other_user(store, config, run_config, records):
    """Its namespace waits for it, the others are worked off meanwhile."""
    gate = Gate("The user's wife is called Anne")

    def answer(messages):
        return gate(messages) if "Anne" in messages[-1].text else facts("The user likes jazz")

    model = ScriptedChatModel(then=answer)
    graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, model=model, config=config)
    graph.invoke(say("My wife is called Anne"), run_config())
    assert gate.asked.wait(PATIENCE)
    graph.invoke(say("I like jazz"), run_config(user_id="bob"))
    for _ in range(500):
        if store.search(("memories", "bob"), filter={"role": "memory"}):
            break
        threading.Event().wait(0.02)
    gate.open.set()
    assert [item.value["text"] for item in store.search(("memories", "bob"), filter={"role": "memory"})]
    assert {record.user_id for record in records(store, role="memory")} == {"alice", "bob"}


def test_a_turn_whose_agent_fails_is_worked_off(store, config, run_config, records):
    """What the user said is remembered, though nobody answered."""
    graph = create_memory_graph(ScriptedChatModel([ConnectionError("down")]), store=store, config=config)
    with pytest.raises(ConnectionError):
        graph.invoke(say("My wife is called Anne"), run_config())
    assert [record.text for record in records(store, role="memory")] == ["My wife is called Anne"]


def test_a_turn_whose_stream_is_left_is_worked_off(store, config, run_config, records):
    """Who stops reading after the first token has still been heard."""
    graph = create_memory_graph(ScriptedChatModel(["one two three four"]), store=store, config=config)
    stream = graph.stream(say("My wife is called Anne"), run_config(), stream_mode="messages")
    next(stream)
    stream.close()
    assert [record.text for record in records(store, role="memory")] == ["My wife is called Anne"]


async def test_a_turn_whose_run_is_cancelled_is_worked_off(store, config, run_config, records):
    """A request that the web server gives up."""

    asked = asyncio.Event()

    async def agent(state):
        asked.set()
        await asyncio.sleep(PATIENCE)

    graph = create_memory_graph(agent, store=store, config=config)
    run = asyncio.create_task(graph.ainvoke(say("My wife is called Anne"), run_config()))
    await asyncio.wait_for(asked.wait(), PATIENCE)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    found = await asyncio.to_thread(records, store, role="memory")
    assert [record.text for record in found] == ["My wife is called Anne"]


def test_a_turn_of_an_incognito_run_is_never_worked_off(store, config, run_config, records):
    """Not even when its agent fails."""
    graph = create_memory_graph(ScriptedChatModel([ConnectionError("down")]), store=store, config=config)
    with pytest.raises(ConnectionError):
        graph.invoke(say("My wife is called Anne"), run_config(incognito=True))
    assert records(store) == []


def test_turns_that_somebody_else_holds_are_looked_at_again(tmp_path, config, records):
    """Whoever claimed them may have died without a word on another machine: when the lease is over, it is our turn."""
    config = config.replace(lease_seconds=0.2)
    with MarkdownStore(tmp_path, config=config) as store, MarkdownStore(tmp_path, config=config) as other:
        left_behind(store, "alice")
        assert other.claim(Scope("alice").namespace, ["left-alice"], 0.2) == {"left-alice"}
        afterwards = Afterwards(make_services(store=store, model=None, config=config))
        assert afterwards.run(Scope("alice"), store)
        afterwards.submit(Scope("alice"), store)
        assert flush(store, PATIENCE)
        for _ in range(300):
            if records(store, role="memory"):
                break
            threading.Event().wait(0.02)
        assert [record.text for record in records(store, role="memory")] == ["My wife is called Anne"]


def test_a_model_that_fails_is_asked_again(store, config, run_config, records):
    """A failure in the background is tried again; the turn was answered long ago."""
    model = ScriptedChatModel([ConnectionError("down"), facts("The user's wife is called Anne")])
    graph = create_memory_graph(ScriptedChatModel(["ok"]), store=store, model=model, config=config)
    graph.invoke(say("My wife is called Anne"), run_config())
    assert len(records(store, role="memory")) == 1


def test_a_failure_that_lasts_is_readable_and_loses_nothing(store, config, run_config, records, caplog):
    """A model that stays down is a failure to read, and the turn waits for the next run, which finds it."""
    before = background.failed
    down = ConnectionError("the model is down")
    model = ScriptedChatModel([down, down, facts("The user's wife is called Anne")])
    graph = create_memory_graph(
        ScriptedChatModel(then="ok"), store=store, model=model, config=config, checkpointer=InMemorySaver()
    )
    graph.invoke(say("My wife is called Anne"), run_config())
    assert [turn.extracted for turn in records(store, role="user")] == [False]
    assert background.failed == before + 1
    assert "the model is down" in background.failures[-1].error
    assert "given up" in caplog.text
    graph.invoke(say("hello again"), run_config())
    assert [record.text for record in records(store, role="memory")] == ["The user's wife is called Anne"]
    assert all(turn.extracted for turn in records(store, role="user"))


def test_what_an_earlier_process_left_behind_is_worked_off(store, config, run_config, records):
    """Pending turns of other threads of the namespace are worked off with the first turn in it."""
    left = MemoryRecord(
        id="left", role="user", text="My wife is called Anne", user_id="alice", thread_id="old", extracted=False
    )
    store.put(Scope("alice").namespace, left.id, left.to_value())
    graph = create_memory_graph(ScriptedChatModel(["ok"]), store=store, config=config)
    graph.invoke(say("hello"), run_config("new"))
    assert [record.thread_id for record in records(store, role="memory")] == ["old"]


def left_behind(store, user_id: str) -> None:
    """A turn that an earlier process stored and never came to."""
    turn = MemoryRecord(
        id=f"left-{user_id}", role="user", text="My wife is called Anne", user_id=user_id, extracted=False
    )
    store.put(Scope(user_id).namespace, turn.id, turn.to_value())


def test_a_graph_that_is_built_works_off_what_was_left_behind(tmp_path, config, records):
    """Building a graph is enough, in the namespaces of all users, where the store tells which have pending turns."""
    with MarkdownStore(tmp_path, config=config) as store:
        for user_id in ("alice", "bob"):
            left_behind(store, user_id)
        create_memory_graph(ScriptedChatModel(["ok"]), store=store, config=config.replace(background=False))
        assert len(records(store, role="memory")) == 0
        create_memory_graph(ScriptedChatModel(["ok"]), store=store, config=config)
        assert {record.user_id for record in records(store, role="memory")} == {"alice", "bob"}
        assert all(turn.extracted for turn in records(store, role="user"))


def test_a_store_that_cannot_tell_what_waits(config, run_config, records, caplog):
    """A graph is built all the same, and the first turn in the namespace works off what waits there."""

    class Unsure(InMemoryStore):
        def pending(self):
            raise OSError("the folder can't be read")

    store = Unsure()
    left_behind(store, "alice")
    graph = create_memory_graph(ScriptedChatModel(["ok"]), store=store, config=config)
    assert "the folder can't be read" in caplog.text
    assert not Afterwards(make_services(store=store, config=config)).catch_up(InMemoryStore())
    graph.invoke(say("hello"), run_config())
    assert len(records(store, role="memory")) == 1


def test_only_namespaces_of_users_are_caught_up(config):
    """What isn't made of a user and a space is nobody's, and left alone."""
    assert scope_of(Scope("a.b", "c").namespace) == Scope("a.b", "c")
    assert scope_of(("memories", "alice")) is None
    assert scope_of(("other", "alice", "default")) is None


def test_all_that_waits_is_worked_off_however_much_it_is(store, config, run_config, records):
    """A run takes a bounded batch of turns; the background goes on until none waits."""
    for number in range(7):
        turn = MemoryRecord(id=f"{number}", role="user", text=f"I have {number} cats", user_id="alice", extracted=False)
        store.put(Scope("alice").namespace, turn.id, turn.to_value())
    services = make_services(store=store, config=config.replace(turn_batch=3))
    Afterwards(services).submit(Scope("alice"), store)
    assert flush(store, PATIENCE)
    assert all(turn.extracted for turn in records(store, role="user"))


def test_nothing_of_the_finished_run_reaches_the_background(store, config, run_config, records):
    """Callbacks of the run don't see the models of the background."""
    from langchain_core.callbacks import BaseCallbackHandler

    seen = []

    class Watch(BaseCallbackHandler):
        def on_chat_model_start(self, serialized, messages, **kwargs):
            seen.append(messages[0][-1].text)

    model = ScriptedChatModel([facts()])
    graph = create_memory_graph(ScriptedChatModel(["ok"]), store=store, model=model, config=config)
    graph.invoke(say("I like tea"), {**run_config(), "callbacks": [Watch()]})
    records(store)
    assert len(model.calls) == 1
    assert seen == ["I like tea"]


class AsyncOnly(InMemoryStore):
    """A store without sync methods."""

    def batch(self, ops):
        """Refused, as stores bound to an event loop do."""
        raise NotImplementedError("use abatch")

    async def abatch(self, ops):
        """The only way in."""
        await asyncio.sleep(0)
        return InMemoryStore.batch(self, ops)


def test_a_failure_is_told_in_the_next_report(store, config, run_config, records):
    """What the background gave up stands in the reports of later runs, until it is made up for."""
    model = ScriptedChatModel([ConnectionError("no route"), ConnectionError("no route"), facts("The user likes tea")])
    graph = create_memory_graph(ScriptedChatModel(["Hello!"] * 3), store=store, model=model, config=config)
    assert graph.invoke(say("I like tea"), run_config())["memory_report"]["warnings"] == []
    assert background.flush(PATIENCE)
    told = graph.invoke(say("hello"), run_config())["memory_report"]
    assert told["counts"]["remember_failed"] == 1
    assert any("no route" in warning for warning in told["warnings"])
    assert [record.text for record in records(store, role="memory")] == ["The user likes tea"]
    assert graph.invoke(say("thanks"), run_config())["memory_report"]["warnings"] == []


def test_a_warning_of_the_background_is_told_in_the_next_report(store, config, run_config):
    """Once, by the next turn of that user: the turn that it belongs to was answered before."""
    graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=config)
    first = graph.invoke(say("Forget my blood type."), run_config())["memory_report"]
    assert flush(store, PATIENCE)
    others = graph.invoke(say("Who knows?"), run_config(user_id="bob"))["memory_report"]
    told, then = (graph.invoke(say(text), run_config())["memory_report"] for text in ("I like tea", "I like jam"))
    warned = [any("my blood type" in each for each in report["warnings"]) for report in (first, others, told, then)]
    assert warned == [False, False, True, False]


def test_closing_the_store_waits(tmp_path, config, run_config):
    """Who leaves `with MarkdownStore(...)` has the facts of what was said, and nobody writes into the folder then."""
    gate = Gate("The user's wife is called Anne")
    with MarkdownStore(tmp_path, config=config) as store:
        graph = create_memory_graph(
            ScriptedChatModel(["Hello!"]), store=store, model=ScriptedChatModel([gate]), config=config
        )
        graph.invoke(say("My wife is called Anne"), run_config())
        threading.Timer(0.1, gate.open.set).start()
    assert [path.parent.name for path in tmp_path.rglob("*.md") if "Anne" in path.read_text("utf-8")].count(
        "facts"
    ) == 1


async def test_a_store_without_sync_methods(config, run_config):
    """Facts are drawn out with an event loop of the background's own."""
    store = AsyncOnly()
    graph = create_memory_graph(ScriptedChatModel(["ok"]), store=store, config=config)
    await graph.ainvoke(say("My wife is called Anne"), run_config())
    assert await aflush(store, PATIENCE)
    found = await store.asearch(("memories",), filter={"role": "memory"})
    assert [item.value["text"] for item in found] == ["My wife is called Anne"]


def test_flush_waits_for_one_store_only(config, run_config):
    """Another store's work doesn't hold a flush up."""
    busy, idle, gate = InMemoryStore(), InMemoryStore(), Gate()
    graph = create_memory_graph(ScriptedChatModel(["ok"]), store=busy, model=ScriptedChatModel([gate]), config=config)
    graph.invoke(say("I like tea"), run_config())
    assert flush(idle, 0.0)
    assert not flush(busy, 0.0)
    gate.open.set()
    assert flush(busy, PATIENCE)


PROGRAM = """
import os, sys, threading
from langchain_core.messages import HumanMessage
from langmem_plus import MarkdownStore, MemoryConfig, create_memory_graph
from langmem_plus.background import background
from langmem_plus.testing import ScriptedChatModel

asked = threading.Event()

def stuck(messages):
    asked.set()
    threading.Event().wait()

config = MemoryConfig(embeddings="none", flush_seconds=FLUSH)
store = MarkdownStore(PATH, config=config)
graph = create_memory_graph(ScriptedChatModel(["ok"]), store=store, model=MODEL, config=config)
thread = {"configurable": {"thread_id": "t", "user_id": "alice"}}
graph.invoke({"messages": [HumanMessage("My wife is called Anne")]}, thread)
"""


def run(path, model: str, end: str = "", flush_seconds: float = 20.0) -> subprocess.CompletedProcess:
    """Run one turn of a graph in a process of its own; a hang is an error."""
    source = PROGRAM.replace("PATH", repr(str(path))).replace("MODEL", model).replace("FLUSH", str(flush_seconds))
    return subprocess.run(
        [sys.executable, "-c", source + textwrap.dedent(end)], capture_output=True, text=True, timeout=60, check=False
    )


def test_pending_turns_survive_a_crash(tmp_path, config, run_config, records):
    """A process that is killed while facts are drawn out loses none: the next one works them off."""
    killed = run(tmp_path, "ScriptedChatModel([stuck])", "asked.wait(30)\nos.kill(os.getpid(), 9)")
    assert killed.returncode == -9, killed.stderr
    with MarkdownStore(tmp_path, config=config) as store:
        assert [turn.extracted for turn in records(store, role="user")] == [False]
        graph = create_memory_graph(ScriptedChatModel(["ok"]), store=store, config=config)
        graph.invoke(say("hello"), run_config("another"))
        assert [record.text for record in records(store, role="memory")] == ["My wife is called Anne"]
        assert all(turn.extracted for turn in records(store, role="user"))


def test_the_exit_waits_for_the_facts(tmp_path, config, records):
    """A program that simply ends has its facts drawn out first."""
    done = run(tmp_path, "None")
    assert done.returncode == 0, done.stderr
    with MarkdownStore(tmp_path, config=config) as store:
        assert [record.text for record in records(store, role="memory")] == ["My wife is called Anne"]


def test_the_exit_is_prompt_when_the_model_hangs(tmp_path, config, records):
    """A model that never answers holds the exit up for flush_seconds at most; the turn waits for the next start."""
    done = run(tmp_path, "ScriptedChatModel([stuck])", "asked.wait(30)", flush_seconds=0.1)
    assert done.returncode == 0, done.stderr
    assert "1 pieces of background work open" in done.stderr
    with MarkdownStore(tmp_path, config=config) as store:
        assert [turn.extracted for turn in records(store, role="user")] == [False]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_forked_worker_remembers_too(tmp_path, config, records):
    """A web server's worker, forked after a first turn, draws facts out in a worker thread of its own."""
    done = run(
        tmp_path,
        "None",
        """
        background.flush(20)
        child = os.fork()
        if child == 0:
            message = {"messages": [HumanMessage("My dog is called Rex")]}
            graph = create_memory_graph(
                ScriptedChatModel(["ok"]), store=MarkdownStore(PATH2, config=config), config=config
            )
            graph.invoke(message, {"configurable": {"thread_id": "u", "user_id": "alice"}})
            os._exit(0 if background.flush(20) else 1)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """.replace("PATH2", repr(str(tmp_path))),
    )
    assert done.returncode == 0, done.stderr
    with MarkdownStore(tmp_path, config=config) as store:
        assert {r.text for r in records(store, role="memory")} == {"My wife is called Anne", "My dog is called Rex"}
