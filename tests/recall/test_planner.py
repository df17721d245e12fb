"""A plan by a function or a chat model in place of the cues, which take over wherever it fails."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus import LongTermMemoryMiddleware, create_memory_graph, create_recall_graph
from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError
from langmem_plus.graph.halves import make_services
from langmem_plus.recall.plan import plan_node
from langmem_plus.recall.planner import ModelPlanner, make_planner
from langmem_plus.records import Plan, Scope
from langmem_plus.testing import ScriptedChatModel

CONFIG = MemoryConfig()
ASK = [HumanMessage("where do I live?")]


def run(spec: Any, messages: list[Any] | None = None, model: Any = None, **config: Any) -> dict[str, Any]:
    """What the plan's node writes."""
    services = make_services(
        store=InMemoryStore(), scope=Scope(user_id="ann"), model=model, config=CONFIG.replace(**config), plan=spec
    )
    return plan_node(services).invoke({"messages": ASK if messages is None else messages})


def test_a_function_decides() -> None:
    """It is given the words, the messages and the settings; a name, a plan or None is an answer."""
    seen: list[Any] = []

    def choose(text: str, messages: Any, config: MemoryConfig) -> str:
        seen.extend((text, list(messages), config))
        return "documents"

    update = run(choose)
    assert (seen[0], seen[1], seen[2]) == ("where do I live?", ASK, CONFIG)
    assert (update["memory_plan"].strategy, update["memory_plan"].query) == ("documents", "where do I live?")
    assert update["memory_report"]["reason"] == "the function given as plan chose it"
    own = Plan(strategy="tail", reason="I say so", query="home")
    assert run(lambda *_: own)["memory_plan"] == own
    assert run(lambda *_: None)["memory_plan"].reason == "no other cue: memory is the default"
    assert run(lambda *_: "none")["memory_plan"].query == ""
    trigger: list[BaseMessage] = [HumanMessage("last time about Lyon")]
    assert run(lambda *_: "archive", trigger)["memory_plan"].query == "about Lyon"


async def test_a_coroutine_function_decides_in_async_runs() -> None:
    """In a sync one the cues do, and the report says how to call it; functions run beside the loop."""

    async def choose(text: str, messages: Any, config: MemoryConfig) -> str:
        return "archive"

    services = make_services(store=InMemoryStore(), scope=Scope(user_id="ann"), config=CONFIG, plan=choose)
    assert (await plan_node(services).ainvoke({"messages": ASK}))["memory_plan"].strategy == "archive"
    update = plan_node(services).invoke({"messages": ASK})
    assert (update["memory_plan"].strategy, "ainvoke" in update["memory_report"]["warnings"][0]) == ("memory", True)
    threads: list[int] = []
    services = make_services(
        store=InMemoryStore(),
        scope=Scope(user_id="ann"),
        config=CONFIG,
        plan=lambda *_: threads.append(threading.get_ident()),
    )
    await plan_node(services).ainvoke({"messages": ASK})
    assert threads != [threading.get_ident()]


@pytest.mark.parametrize("config", [{"enabled": False}, {"strategy": "tail"}, {"incognito_default": True}])
def test_settings_come_first(config: dict[str, Any]) -> None:
    """Where memory is off, incognito or set to a strategy, nobody is asked."""
    asked: list[str] = []
    update = run(lambda text, *_: asked.append(text), **config)
    assert (asked, update["memory_plan"].strategy in ("none", "tail")) == ([], True)


@pytest.mark.parametrize("answer", ["everything", 7, {"strategy": "memory"}, ValueError("broken")])
def test_the_cues_take_over(answer: Any) -> None:
    """Whatever it answers or raises; the report says so, and ``strict`` raises."""

    def choose(*_: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    update = run(choose, [HumanMessage("go on")])
    assert update["memory_plan"].strategy == "tail"
    assert update["memory_report"]["counts"]["plan_failed"] == 1
    assert update["memory_report"]["warnings"][0].startswith("the cues planned, because the planner failed: ")
    with pytest.raises((ConfigError, ValueError)):
        run(choose, strict=True)


def test_a_model_decides() -> None:
    """By a structured answer, shown the end of the conversation as data; its reason is in the report."""
    model = ScriptedChatModel([{"strategy": "documents", "reason": "asks for\nprices"}])
    messages = [HumanMessage("hello"), AIMessage("We sell tea."), HumanMessage("how much? </message>")]
    update = run(model, messages)
    assert update["memory_plan"].strategy == "documents"
    assert update["memory_report"]["reason"] == "the model: asks for prices"
    shown = model.calls[0].text
    assert "assistant: We sell tea." in shown
    assert "how much? </message>" not in shown


@pytest.mark.parametrize("text", ["thanks!", "", "👋"])
def test_small_talk_costs_no_call(text: str) -> None:
    """The cues see it first."""
    model = ScriptedChatModel([])
    assert run(model, [HumanMessage(text)])["memory_plan"].strategy == "none"
    assert model.calls == []


@pytest.mark.parametrize("answer", ["I'd say memory, perhaps", {"strategy": "everything"}, ConnectionError("down")])
def test_a_model_that_gives_no_answer_leaves_it_to_the_cues(answer: Any) -> None:
    """Unreadable answers and servers that are down."""
    update = run(ScriptedChatModel([], then=answer), [HumanMessage("see notes.md")])
    assert (update["memory_plan"].strategy, update["memory_report"]["counts"]["plan_failed"]) == ("documents", 1)


def test_a_model_that_fails_again_and_again_rests() -> None:
    """It isn't asked with every message."""
    model = ScriptedChatModel([], then=ConnectionError("down"))
    planner = make_planner(model, CONFIG, None)
    for _ in range(4):
        run(planner)
    asked = len(model.calls)
    assert "asked again in" in str(run(planner)["memory_report"]["warnings"])
    assert len(model.calls) == asked


def test_a_slow_model_is_given_up() -> None:
    """After ``plan_seconds``."""
    over = threading.Event()
    model = ScriptedChatModel([], then=lambda _: over.wait(10) and None)
    try:
        update = run(model, plan_seconds=0.05)
        assert "plan_seconds" in update["memory_report"]["warnings"][0]
    finally:
        over.set()


def test_what_a_planner_may_be() -> None:
    """A name of a model, ``model`` for that of the settings; the errors say what to do."""
    model = ScriptedChatModel([{"strategy": "tail"}])
    assert isinstance(make_planner("openai:gpt-5-mini", CONFIG, None), ModelPlanner)
    assert run("model", model=model)["memory_plan"].strategy == "tail"
    assert make_planner(None, CONFIG, model) is None
    for spec, remedy in (("memory", "MemoryConfig(strategy='memory')"), ("model", "set model"), (3, "function")):
        with pytest.raises(ConfigError) as caught:
            make_planner(spec, CONFIG, None)  # type: ignore[arg-type] # what a caller may get wrong
        assert remedy in str(caught.value)


def test_each_door_takes_it() -> None:
    """The recall graph, the memory graph and the middleware."""
    store, scope, config = InMemoryStore(), Scope(user_id="ann"), CONFIG.replace(background=False)
    asked: list[str] = []
    doors: dict[str, Any] = {
        "store": store,
        "scope": scope,
        "config": config,
        "plan": lambda text, *_: asked.append(text) or "tail",
    }
    found = create_recall_graph(**doors).invoke({"messages": ASK})
    assert found["memory_plan"].strategy == "tail"
    graph = create_memory_graph(ScriptedChatModel(["In Lyon."]), **doors)
    assert graph.invoke({"messages": ASK})["memory_report"]["strategy"] == "tail"
    from langchain.agents import create_agent

    agent = create_agent(ScriptedChatModel(["In Lyon."]), [], middleware=[LongTermMemoryMiddleware(**doors)])
    assert agent.invoke({"messages": ASK})["memory_report"]["strategy"] == "tail"
    assert asked == ["where do I live?"] * 3
