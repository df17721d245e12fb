"""A graph asks its user about conflicts before it writes anything; where it can't, they wait as pending records."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, RetryPolicy

from langmem_plus.background import background
from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ForeignIdentityError
from langmem_plus.graph import create_memory_graph, create_remember_graph
from langmem_plus.prompts import PlacedFact, PlacedFacts
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.approve import approve_steps, pending_steps
from langmem_plus.remember.steps import run_steps
from langmem_plus.services import Services
from langmem_plus.testing import ScriptedChatModel

HOME, MOVE = "I live in Paris.", "I live in Lyon now."


@pytest.fixture
def config() -> MemoryConfig:
    """Settings under which a graph does everything before it ends, and lets conflicts wait."""
    return MemoryConfig(embeddings="none", background=False, review="conflicts")


@pytest.fixture
def store() -> InMemoryStore:
    """A fresh store."""
    return InMemoryStore()


def make(store: Any, config: MemoryConfig, saver: Any = None, **arguments: Any) -> Any:
    """A memory graph over an agent that says little."""
    agent = ScriptedChatModel(then="I see.")
    return create_memory_graph(agent, store=store, config=config, checkpointer=saver, **arguments)


def say(text: str) -> dict[str, Any]:
    """A run's input."""
    return {"messages": [HumanMessage(text)]}


def facts(store: Any) -> dict[str, str]:
    """The stored facts, with their status."""
    items = store.search(("memories",), filter={"role": "memory"}, limit=1000)
    return {item.value["text"]: item.value["status"] for item in items}


def question(output: dict[str, Any]) -> dict[str, Any]:
    """What a person is asked."""
    (stopped,) = output["__interrupt__"]
    value: dict[str, Any] = stopped.value
    return value


def test_a_conflict_is_asked_about_before_anything_is_written(store, config, run_config):
    """The answer is given by then; what is asked tells what would replace what, and why."""
    graph = make(store, config, InMemorySaver())
    assert "__interrupt__" not in graph.invoke(say(HOME), run_config())
    before = store.search(("memories",), filter={"role": "memory"})
    output = graph.invoke(say(MOVE), run_config())
    asked = question(output)
    (waiting,) = asked["waiting"]
    assert output["messages"][-1].text == "I see."
    assert (asked["memory"], asked["user_id"], asked["thread_id"]) == ("review", "alice", "t1")
    assert (waiting["event"], waiting["text"], waiting["by"]) == ("UPDATE", MOVE, "rule")
    assert [each["text"] for each in waiting["retires"]] == [HOME]
    assert [item.value for item in store.search(("memories",), filter={"role": "memory"})] == [
        item.value for item in before
    ]
    (turn,) = [item for item in store.search(("memories",), filter={"role": "user"}) if item.value["text"] == MOVE]
    assert turn.value["extracted"] is False


@pytest.mark.parametrize(
    ("answer", "statuses"),
    [
        (True, {HOME: "superseded", MOVE: "active"}),
        (False, {HOME: "active", MOVE: "deleted"}),
        ({"approve": []}, {HOME: "active", MOVE: "pending"}),
    ],
)
@pytest.mark.parametrize("how", ["sync", "async"])
async def test_the_answer_decides(store, config, run_config, answer, statuses, how):
    """Approved, rejected, or left open as a pending record; in each case the turn is done, and its report complete."""
    graph = make(store, config, InMemorySaver())
    graph.invoke(say(HOME), run_config())
    if how == "sync":
        graph.invoke(say(MOVE), run_config())
        output = graph.invoke(Command(resume=answer), run_config())
    else:
        await graph.ainvoke(say(MOVE), run_config())
        output = await graph.ainvoke(Command(resume=answer), run_config())
    assert "__interrupt__" not in output
    assert facts(store) == statuses
    turns = store.search(("memories",), filter={"role": "user"})
    assert all(turn.value["extracted"] for turn in turns)
    assert "facts_waiting" in output["memory_report"]["counts"] or answer != {"approve": []}


def test_some_are_approved_by_their_ids(store, config, run_config):
    """Others rejected, others left open."""
    graph = make(store, config, InMemorySaver(), review="all")
    output = graph.invoke(say("I like tea. I own a boat. My brother is called Tom."), run_config())
    assert facts(store) == {}
    ids = {each["text"]: each["id"] for each in question(output)["waiting"]}
    tea, boat, tom = (next(id for text, id in ids.items() if word in text) for word in ("tea", "boat", "Tom"))
    graph.invoke(Command(resume={"approve": [tea], "reject": [boat[:12]]}), run_config())
    statuses = {id: store.get(("memories", "alice", "default"), id).value["status"] for id in (tea, boat, tom)}
    assert statuses == {tea: "active", boat: "deleted", tom: "pending"}


def test_an_answer_that_cant_be_read_is_asked_for_again(store, config, run_config):
    """With what is wrong about it; nothing is lost."""
    graph = make(store, config, InMemorySaver())
    graph.invoke(say(HOME), run_config())
    first = question(graph.invoke(say(MOVE), run_config()))
    for nonsense in ("perhaps", {"approve": ["nobody"]}):
        again = question(graph.invoke(Command(resume=nonsense), run_config()))
        assert again["waiting"] == first["waiting"]
        assert "True approves all" in again["error"]
    graph.invoke(Command(resume=True), run_config())
    assert facts(store) == {HOME: "superseded", MOVE: "active"}


@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize(("theirs", "own"), [(True, False), (False, True), ({"approve": []}, True), ("maybe", True)])
async def test_nobody_else_answers_for_the_user(store, config, run_config, theirs, own, how):
    """Another user who resumes the thread is refused, however often; their answer isn't there when the owner's comes,
    who is still asked.
    """
    graph = make(store, config, InMemorySaver())
    graph.invoke(say(HOME), run_config())
    stopped = question(graph.invoke(say(MOVE), run_config()))

    async def resume(answer: Any, user_id: str) -> Any:
        run = {"configurable": {**run_config()["configurable"], "user_id": user_id}}
        return await graph.ainvoke(answer, run) if how == "async" else graph.invoke(answer, run)

    (asked,) = graph.get_state(run_config()).interrupts
    for answer in (Command(resume=theirs), Command(resume={asked.id: theirs}), None, Command(resume=theirs)):
        with pytest.raises(ForeignIdentityError, match=r"memory of user_id='alice'.*resume the thread as 'alice'"):
            await resume(answer, "bob")
        assert facts(store) == {HOME: "active"}
    assert store.search(("memories", "bob")) == []
    assert [each.value for each in graph.get_state(run_config()).interrupts] == [stopped]
    assert "__interrupt__" not in await resume(Command(resume=own), "alice")
    assert facts(store) == ({HOME: "superseded", MOVE: "active"} if own else {HOME: "active", MOVE: "deleted"})


def test_an_answer_of_somebody_else_isnt_kept_by_a_database(store, config, run_config, tmp_path):
    """The owner's replaces it there, too; in between somebody talked on as themselves, in a thread of their own."""
    with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.sqlite")) as saver:
        graph = make(store, config, saver)
        graph.invoke(say(HOME), run_config())
        graph.invoke(say(MOVE), run_config())
        bob = {"configurable": {**run_config()["configurable"], "user_id": "bob"}}
        with pytest.raises(ForeignIdentityError):
            graph.invoke(Command(resume=True), bob)
        graph.invoke(say("I like tea."), {"configurable": {"user_id": "bob", "thread_id": "t2"}})
        graph.invoke(Command(resume=False), run_config())
    assert facts(store) == {HOME: "active", MOVE: "deleted", "I like tea.": "active"}


def test_a_server_that_speaks_for_its_users_answers_for_the_one_it_names(store, config, run_config):
    """A fixed scope is one user's, whoever calls; the thread may have been resumed by anybody."""
    scope = scope_of("alice")
    graph = make(store, config, InMemorySaver(), scope=scope)
    graph.invoke(say(HOME), run_config())
    graph.invoke(say(MOVE), run_config())
    graph.invoke(Command(resume=True), {"configurable": {**run_config()["configurable"], "user_id": "bob"}})
    assert facts(store) == {HOME: "superseded", MOVE: "active"}


def test_the_question_says_whose_words_they_are(store, config, run_config):
    """Where several people speak in one memory; None is the user."""
    graph = make(store, config, InMemorySaver(), review="all")
    said = [HumanMessage("I live in Lyon.", name="Ann"), HumanMessage("Ich wohne in Bonn.", name="Jörg")]
    output = graph.invoke({"messages": [*said, HumanMessage("Me gusta el té.")]}, run_config())
    assert {each["text"]: each["name"] for each in question(output)["waiting"]} == {
        "I live in Lyon.": "Ann",
        "Ich wohne in Bonn.": "Jörg",
        "Me gusta el té.": None,
    }


def test_the_question_says_whose_words_would_be_retired(store, config, run_config):
    """The same person's."""
    graph = make(store, config, InMemorySaver())
    graph.invoke({"messages": [HumanMessage(HOME, name="Ann")]}, run_config())
    (waiting,) = question(graph.invoke({"messages": [HumanMessage(MOVE, name="Ann")]}, run_config()))["waiting"]
    assert (waiting["name"], [each["name"] for each in waiting["retires"]]) == ("Ann", ["Ann"])


def test_another_process_goes_on_with_what_the_person_saw(store, config, run_config, tmp_path):
    """The model isn't asked again: what it would say now is another thing."""
    home = PlacedFacts(facts=[PlacedFact(turn="A", text="The user lives in Paris.")])
    move = PlacedFacts(facts=[PlacedFact(turn="A", text="The user lives in Lyon now.", event="UPDATE", id=0)])
    with SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.sqlite")) as saver:
        model = ScriptedChatModel([home, move])
        graph = make(store, config.replace(summarize=False), saver, model=model)
        graph.invoke(say(HOME), run_config())
        asked = question(graph.invoke(say(MOVE), run_config()))
        assert [each["text"] for each in asked["waiting"]] == ["The user lives in Lyon now."]
        other = ScriptedChatModel(then=AssertionError("nobody is to ask"))
        graph = make(store, config.replace(summarize=False, strict=True), saver, model=other)
        graph.invoke(Command(resume=True), run_config())
    assert facts(store) == {"The user lives in Paris.": "superseded", "The user lives in Lyon now.": "active"}


def test_every_replay_writes_once(store, config, run_config):
    """From each checkpoint of the thread, with and without the answer."""
    graph = make(store, config, InMemorySaver())
    graph.invoke(say(HOME), run_config())
    graph.invoke(say(MOVE), run_config())
    graph.invoke(Command(resume=True), run_config())
    before = {item.key: item.value for item in store.search(("memories",), filter={"role": "memory"})}
    for state in list(graph.get_state_history(run_config())):
        graph.invoke(None, {"configurable": {**state.config["configurable"], "user_id": "alice"}})
    graph.invoke(Command(resume=False), run_config())
    after = {item.key: item.value for item in store.search(("memories",), filter={"role": "memory"})}
    assert {key: after[key] for key in before} == before


def test_a_target_that_changed_before_the_answer_lets_it_wait(store, config, run_config):
    """It was approved for another state of things; the report says so."""
    graph = make(store, config, InMemorySaver())
    graph.invoke(say(HOME), run_config())
    (paris,) = store.search(("memories",), filter={"role": "memory"})
    graph.invoke(say(MOVE), run_config())
    store.put(paris.namespace, paris.key, {**paris.value, "text": "I live in Paris, France."})
    report = graph.invoke(Command(resume=True), run_config())["memory_report"]
    assert facts(store) == {"I live in Paris, France.": "active", MOVE: "pending"}
    assert any("changed meanwhile" in warning for warning in report["warnings"])


def test_who_goes_on_talking_is_asked_again(store, config, run_config):
    """The turn still waits: its facts come up with those of the next one, and are written once."""
    graph = make(store, config, InMemorySaver())
    graph.invoke(say(HOME), run_config())
    graph.invoke(say(MOVE), run_config())
    asked = question(graph.invoke(say("I like tea."), run_config()))
    assert [each["text"] for each in asked["waiting"]] == [MOVE]
    assert facts(store) == {HOME: "active"}
    graph.invoke(Command(resume=True), run_config())
    assert facts(store) == {HOME: "superseded", MOVE: "active", "I like tea.": "active"}


def test_two_threads_that_ask_the_same_write_it_once(store, config, run_config):
    """The second answer comes to nothing, and the report says why."""
    graph = make(store, config, InMemorySaver())
    graph.invoke(say(HOME), run_config())
    graph.invoke(say(MOVE), run_config())
    assert question(graph.invoke(say("hello"), run_config("t2")))["waiting"]
    graph.invoke(Command(resume=False), run_config())
    report = graph.invoke(Command(resume=True), run_config("t2"))["memory_report"]
    assert facts(store) == {HOME: "active", MOVE: "deleted"}
    assert "meanwhile" in report["notes"]["review"]


def work_off(store: Any, config: MemoryConfig) -> None:
    """Another writer in another thread, who asks nobody, works off what waits in the thread."""
    create_memory_graph(ScriptedChatModel(then="I see."), store=store, config=config).invoke(
        say("I like green tea."), {"configurable": {"user_id": "alice", "thread_id": "other"}}
    )


@pytest.mark.parametrize(
    ("answer", "statuses"),
    [
        (True, {HOME: "superseded", MOVE: "active"}),
        (False, {HOME: "active", MOVE: "deleted"}),
        ({"approve": []}, {HOME: "active", MOVE: "pending"}),
    ],
)
@pytest.mark.parametrize("how", ["sync", "async"])
async def test_an_answer_reaches_what_another_writer_left_pending(store, config, run_config, answer, statuses, how):
    """It isn't lost because the turn was worked off meanwhile; the turn is recalled again, or never, as it says."""
    graph = make(store, config, InMemorySaver())
    graph.invoke(say(HOME), run_config())
    graph.invoke(say(MOVE), run_config())
    work_off(store, config)
    assert facts(store) == {HOME: "active", MOVE: "pending", "I like green tea.": "active"}
    resume = Command(resume=answer)
    output = await graph.ainvoke(resume, run_config()) if how == "async" else graph.invoke(resume, run_config())
    assert facts(store) == {**statuses, "I like green tea.": "active"}
    (turn,) = [item for item in store.search(("memories",), filter={"role": "user"}) if item.value["text"] == MOVE]
    assert ("review" in turn.value["metadata"]) == (answer is not True)
    report = output["memory_report"]
    assert "review" not in report["notes"]
    assert {decision["review"] for decision in report["decisions"] if "review" in decision} == (
        {"rejected"} if answer is False else set()
    )


def test_an_answer_reaches_no_other_fact_than_the_one_that_was_shown(store, config, run_config):
    """The pending record says, or would retire, something else than what the person saw: the report says so."""
    graph = make(store, config, InMemorySaver())
    graph.invoke(say(HOME), run_config())
    graph.invoke(say(MOVE), run_config())
    work_off(store, config)
    (left,) = store.search(("memories",), filter={"status": "pending"})
    store.put(left.namespace, left.key, {**left.value, "text": "I live in Rome now."})
    report = graph.invoke(Command(resume=True), run_config())["memory_report"]
    assert (facts(store)["I live in Rome now."], facts(store)[HOME]) == ("pending", "active")
    assert "meanwhile" in report["notes"]["review"]


@pytest.mark.parametrize(("answer", "status"), [(True, "deleted"), (False, "active")])
def test_an_answer_reaches_a_request_to_forget(store, config, run_config, answer, status):
    """In whatever namespace; the request is settled with it."""
    wanted: Any = lambda decision, target: decision.event == "DELETE"  # noqa: E731 - a policy
    graph = make(store, config, InMemorySaver(), review=wanted)
    number = "My phone number is 555 0199."
    graph.invoke(say(number), run_config())
    graph.invoke(say("Please forget my phone number."), run_config())
    other = create_memory_graph(ScriptedChatModel(then="I see."), store=store, config=config, review=wanted)
    other.invoke(say("I like tea."), {"configurable": {"user_id": "alice", "thread_id": "other"}})
    assert "pending" in facts(store).values()
    graph.invoke(Command(resume=answer), run_config())
    assert facts(store)[number] == status
    assert "pending" not in facts(store).values()


def test_an_approval_that_comes_late_is_looked_at_again(store, config, run_config):
    """What it would replace has changed since: it goes on waiting, and the report says what to do."""
    graph = make(store, config, InMemorySaver())
    graph.invoke(say(HOME), run_config())
    graph.invoke(say(MOVE), run_config())
    work_off(store, config)
    (paris,) = [item for item in store.search(("memories",), filter={"role": "memory"}) if item.value["text"] == HOME]
    store.put(paris.namespace, paris.key, {**paris.value, "text": "I live in Paris, France."})
    report = graph.invoke(Command(resume=True), run_config())["memory_report"]
    assert facts(store)[MOVE] == "pending"
    assert any("approve again" in warning for warning in report["warnings"])


@pytest.mark.parametrize("way", ["no checkpointer", "background"])
def test_where_nobody_can_be_asked_it_waits_in_the_store(store, config, run_config, way):
    """Nothing is lost, and the owner answers later."""
    config = config.replace(background=way == "background")
    graph = make(store, config, InMemorySaver() if way == "background" else None)
    for text in (HOME, MOVE):
        assert "__interrupt__" not in graph.invoke(say(text), run_config())
        assert background.flush(30)
    assert facts(store) == {HOME: "active", MOVE: "pending"}
    services, scope = Services(config=config, store=store), scope_of("alice")
    (waiting,) = run_steps(pending_steps(services, scope), services, store)
    run_steps(approve_steps(services, scope, waiting.id), services, store)
    assert facts(store) == {HOME: "superseded", MOVE: "active"}


def scope_of(user_id: str) -> Any:
    """A user's scope."""
    from langmem_plus.records import Scope

    return Scope(user_id)


@pytest.mark.parametrize("within", ["a node", "a function"])
def test_a_graph_around_it_stops_and_goes_on(store, config, run_config, within):
    """The remember graph as a node, or called by one: the parent's checkpointer keeps what was decided."""
    remember = create_remember_graph(store=store, config=config)
    builder = StateGraph(MessagesState)
    builder.add_node("agent", lambda state: {"messages": [("ai", "I see.")]})
    builder.add_node("remember", remember if within == "a node" else lambda state: remember.invoke(state) and {})
    builder.add_edge(START, "agent").add_edge("agent", "remember")
    parent = builder.compile(checkpointer=InMemorySaver())
    parent.invoke(say(HOME), run_config())
    assert question(parent.invoke(say(MOVE), run_config()))["waiting"]
    assert facts(store) == {HOME: "active"}
    parent.invoke(Command(resume=True), run_config())
    assert facts(store) == {HOME: "superseded", MOVE: "active"}


def test_a_stopped_graph_is_no_failure(store, config, run_config):
    """No stage is reported as failed, nothing is retried."""
    remember = create_remember_graph(store=store, config=config.replace(strict=True))
    builder = StateGraph(MessagesState)
    builder.add_node("remember", remember, retry_policy=RetryPolicy(max_attempts=3, initial_interval=0))
    builder.add_edge(START, "remember")
    parent = builder.compile(checkpointer=InMemorySaver())
    parent.invoke(say(HOME), run_config())
    assert question(parent.invoke(say(MOVE), run_config()))["waiting"]
    parent.invoke(Command(resume=False), run_config())
    assert facts(store) == {HOME: "active", MOVE: "deleted"}


def test_one_worker_is_enough(store, config, run_config):
    """What is decided is a task of the node; it doesn't wait for a worker that its node holds."""
    graph = make(store, config, InMemorySaver())
    narrow = {**run_config(), "max_concurrency": 1}
    graph.invoke(say(HOME), narrow)
    graph.invoke(say(MOVE), narrow)
    graph.invoke(Command(resume=True), narrow)
    assert facts(store) == {HOME: "superseded", MOVE: "active"}


def test_nothing_known_is_kept_in_a_checkpoint_where_nothing_waits(store, config, run_config):
    """Only what a person is asked about is."""
    saver = InMemorySaver()
    graph = make(store, config, saver, review=lambda made, target: False)
    graph.invoke(say(HOME), run_config("t1"))
    graph.invoke(say(MOVE), run_config("t2"))
    assert facts(store) == {HOME: "superseded", MOVE: "active"}
    kept = repr([saver.storage["t2"], [writes for key, writes in saver.writes.items() if key[0] == "t2"]])
    assert "Lyon" in kept
    assert "Paris" not in kept


def test_an_incognito_run_asks_nothing(store, config, run_config):
    """It has nothing to store."""
    graph = make(store, config, InMemorySaver())
    graph.invoke(say(HOME), run_config())
    assert "__interrupt__" not in graph.invoke(say(MOVE), run_config(incognito=True))
    assert facts(store) == {HOME: "active"}


def test_the_records_of_an_answer_are_readable(store, config, run_config):
    """As any other."""
    graph = make(store, config, InMemorySaver())
    graph.invoke(say(HOME), run_config())
    graph.invoke(say(MOVE), run_config())
    graph.invoke(Command(resume={"approve": []}), run_config())
    for item in store.search(("memories",), limit=100):
        assert MemoryRecord.model_validate(item.value).id == item.key
