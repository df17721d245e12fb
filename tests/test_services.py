"""What nodes share: whose memory it is, which store, and a stage that never fails the turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, ForeignIdentityError, MissingIdentityError, MissingStoreError
from langmem_plus.records import MemoryReport, Scope
from langmem_plus.services import Services, current_runtime, emit_report, find_identity, stage
from langmem_plus.state import MemoryState


class AsModel(BaseModel):
    user_id: str | None = None
    space: str | None = None


@dataclass
class AsDataclass:
    user_id: str | None = None
    space: str | None = None


@dataclass(slots=True)
class AsSlots:
    user_id: str | None = None
    space: str | None = None


class AsDict(TypedDict, total=False):
    user_id: str | None
    space: str | None


KINDS: list[Any] = [AsModel, AsDataclass, AsSlots, AsDict]


class TestFindIdentity:
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_context_comes_first(self, kind: Callable[..., Any]) -> None:
        """``runtime.context`` wins over ``configurable``, whatever kind of object it is."""
        found = find_identity({"user_id": "bob", "thread_id": "t"}, _runtime(kind(user_id="alice")))
        assert (found["user_id"], found["thread_id"]) == ("alice", "t")

    @pytest.mark.parametrize("kind", KINDS)
    def test_what_the_context_leaves_out_comes_from_configurable(self, kind: Callable[..., Any]) -> None:
        """A field that is None in the context isn't one."""
        found = find_identity({"user_id": "bob", "space": "work"}, _runtime(kind(user_id=None, space="home")))
        assert (found["user_id"], found["space"]) == ("bob", "home")

    def test_then_langmems_name_then_the_servers_user(self) -> None:
        """``langgraph_user_id`` is read where no user_id stands, and last the platform's user."""
        server = _runtime(None, server_user="carol")
        assert find_identity({"user_id": "bob", "langgraph_user_id": "dora"}, server)["user_id"] == "bob"
        assert find_identity({"langgraph_user_id": "dora"}, server)["user_id"] == "dora"
        assert find_identity({}, server)["user_id"] == "carol"

    @pytest.mark.parametrize("runtime", [None, Runtime(), Runtime(context=None)], ids=["none", "empty", "no-context"])
    def test_nobody_is_nobody(self, runtime: Any) -> None:
        """Without a name anywhere there is none, and never an invented one."""
        assert find_identity({}, runtime)["user_id"] is None

    def test_langgraphs_own_keys_are_left_out(self) -> None:
        """Names that begin with two underscores are LangGraph's business."""
        assert "__pregel_runtime" not in find_identity({"__pregel_runtime": 1, "user_id": "a"}, None)


class TestFindScope:
    def test_from_configurable(self) -> None:
        """Outside of a graph, the configuration names the user, the space, the thread and the agent."""
        fields = {"user_id": "alice", "space": "work", "thread_id": 7, "agent_id": "a"}
        assert Services().find_scope({"configurable": fields}) == Scope("alice", "work", thread_id="7", agent_id="a")

    @pytest.mark.parametrize("config", [{}, {"configurable": {}}, {"configurable": {"user_id": " "}}], ids=repr)
    def test_nobody_is_an_error(self, config: RunnableConfig) -> None:
        """A run without an identity is refused, with the remedy in the message."""
        with pytest.raises(MissingIdentityError, match="configurable"):
            Services().find_scope(config)

    @pytest.mark.parametrize("claim", ["user_id", "langgraph_user_id"])
    def test_who_is_signed_in_names_nobody_else(self, monkeypatch: pytest.MonkeyPatch, claim: str) -> None:
        """On a server with a sign-in, a run for another user is refused, unless its callers are trusted to name some;
        a fixed scope is the program's own word.
        """
        monkeypatch.setattr("langmem_plus.services.current_runtime", lambda: _runtime(None, server_user="bob"))
        claimed: RunnableConfig = {"configurable": {claim: "ann"}}
        with pytest.raises(ForeignIdentityError, match=r"'ann'.*'bob' is signed in.*trust_callers"):
            Services().find_scope(claimed)
        with pytest.raises(ForeignIdentityError):
            Services(scope=("memories", "{user_id}")).find_scope(claimed)
        own: tuple[RunnableConfig, ...] = ({"configurable": {claim: "bob"}}, {})
        assert [Services().find_scope(config).user_id for config in own] == ["bob", "bob"]
        assert Services(config=MemoryConfig(trust_callers=True)).find_scope(claimed).user_id == "ann"
        assert Services(scope=Scope("team")).find_scope(claimed) == Scope("team")

    @pytest.mark.parametrize("name", ["self", 7, None, ("a", "b"), "namespace", "model_config", "", "cls"], ids=repr)
    def test_any_name_may_stand_beside_the_users(self, name: Any) -> None:
        """What else a configuration or a context holds, under whatever name, is no error."""
        configurable: Any = {name: 1, "user_id": "alice"}
        assert Services().find_scope({"configurable": configurable}).namespace == ("memories", "alice", "default")
        assert find_identity({}, _runtime(configurable))["user_id"] == "alice"
        assert not Services().is_incognito({"configurable": configurable})

    def test_a_fixed_scope_gets_the_runs_thread(self) -> None:
        """A fixed scope stays, and takes the thread as text where it has none."""
        config: RunnableConfig = {"configurable": {"user_id": "mallory", "thread_id": 7}}
        assert Services(scope=Scope("alice")).find_scope(config) == Scope("alice", thread_id="7")
        assert Services(scope=Scope("alice", thread_id="t")).find_scope(config) == Scope("alice", thread_id="t")
        assert Services(scope=Scope("alice")).find_scope({}) == Scope("alice")

    def test_a_template_is_filled_from_the_run(self) -> None:
        """The template's fields come from the same places, and are encoded."""
        services = Services(scope=("memories", "{org}", "{user_id}"))
        scope = services.find_scope({"configurable": {"user_id": "ann@x.org", "org": "x.org"}})
        assert scope.namespace == ("memories", "x%2eorg", "ann@x%2eorg")

    def test_an_unfilled_template_is_refused(self) -> None:
        """A field that nobody gives is an error that names it, never a shared bucket."""
        scope = Services(scope=("memories", "{org}", "{user_id}")).find_scope({"configurable": {"user_id": "ann"}})
        with pytest.raises(MissingIdentityError, match="'org'"):
            assert scope.namespace

    def test_a_run_cannot_choose_its_template(self) -> None:
        """A ``template`` in the configuration is the caller's own affair and moves no memory."""
        scope = Services().find_scope(
            {"configurable": {"user_id": "alice", "template": ("memories", "bob", "default")}}
        )
        assert scope.namespace == ("memories", "alice", "default")

    @pytest.mark.parametrize("kind", KINDS)
    def test_inside_of_a_graph_the_context_is_read(self, kind: Callable[..., Any]) -> None:
        """A running graph's context names the user; sync and async."""

        def node(state: Any, config: RunnableConfig) -> Any:
            return {"memory_report": {"namespace": list(Services().find_scope(config).namespace)}}

        builder = StateGraph(_Reported, context_schema=kind)  # type: ignore[arg-type]
        graph = _compiled(builder, node)
        config: RunnableConfig = {"configurable": {"user_id": "bob"}}
        expected = ["memories", "alice", "default"]
        assert graph.invoke({}, config, context=kind(user_id="alice"))["memory_report"]["namespace"] == expected
        ran = asyncio.run(graph.ainvoke({}, config, context=kind(user_id="alice")))
        assert ran["memory_report"]["namespace"] == expected


class TestFindStore:
    def test_the_given_store_wins(self) -> None:
        """A store that was given is used, even one that counts as empty."""

        class Sized(InMemoryStore):
            def __len__(self) -> int:
                return 0

        own, parents = Sized(), InMemoryStore()
        found: list[Any] = []
        _compiled(StateGraph(_Reported), lambda state: found.append(Services(store=own).find_store()), parents).invoke(
            {}
        )
        assert found == [own]

    def test_else_the_running_graphs(self) -> None:
        """Without one, it is the store that the graph was compiled with."""
        parents, found = InMemoryStore(), []
        _compiled(StateGraph(_Reported), lambda state: found.append(Services().find_store()), parents).invoke({})
        assert found == [parents]

    def test_none_at_all_is_an_error(self) -> None:
        """The message says the three ways to give one, in a graph and outside."""
        with pytest.raises(MissingStoreError, match=r"store=.*compile.*langgraph\.json"):
            Services().find_store()
        with pytest.raises(MissingStoreError):
            _compiled(StateGraph(_Reported), lambda state: Services().find_store()).invoke({})


class TestRuntime:
    def test_outside_of_a_graph_there_is_none(self) -> None:
        """Neither plainly nor within another runnable."""
        assert current_runtime() is None
        assert RunnableLambda(lambda _: current_runtime()).invoke(1) is None
        emit_report(MemoryReport())

    def test_a_report_is_streamed(self) -> None:
        """Inside of a graph it is one custom event, as plain JSON."""
        report = MemoryReport(strategy="memory", counts={"kept": 1})
        graph = _compiled(StateGraph(_Reported), lambda state: emit_report(report))
        assert list(graph.stream({}, stream_mode="custom")) == [{"memory": report.model_dump(mode="json")}]


class TestStage:
    def test_the_update_and_the_merged_report(self) -> None:
        """The stage's channels come back, its report joined with the run's and timed."""

        def run(state: MemoryState, config: RunnableConfig) -> dict[str, Any]:
            own = MemoryReport(strategy="memory", counts={"fetched": 2})
            return {"memory_context": config["configurable"]["word"], "memory_report": own}

        before = MemoryReport(counts={"planned": 1}, milliseconds={"plan": 1.0}).model_dump(mode="json")
        for update in _both("retrieve", Services(), run, {"memory_report": before}):
            assert update["memory_context"] == "word"
            report = MemoryReport.model_validate(update["memory_report"])
            assert report.strategy == "memory"
            assert report.counts == {"planned": 1, "fetched": 2}
            assert list(report.milliseconds) == ["plan", "retrieve"]
            assert report.milliseconds["retrieve"] >= 0

    def test_the_node_has_the_stages_name(self) -> None:
        """A trace shows one word for file, node and span."""
        node = stage("rerank", Services(), lambda state, config: {}, _async(lambda state, config: {}))
        assert node.get_name() == "rerank"

    def test_a_failure_is_left_out_and_reported(self, caplog: pytest.LogCaptureFixture) -> None:
        """The fallback is returned, the failure is counted, warned of and logged with its trace; the turn goes on."""

        def run(state: MemoryState, config: RunnableConfig) -> dict[str, Any]:
            raise ConnectionError("no route")

        fallback = {"memory_context": ""}
        for update in _both("inject", Services(), run, {}, fallback):
            report = MemoryReport.model_validate(update.pop("memory_report"))
            assert update == {"memory_context": ""}
            assert report.counts == {"inject_failed": 1}
            assert report.warnings == ["inject failed: ConnectionError: no route"]
            assert "inject" in report.milliseconds
        assert fallback == {"memory_context": ""}
        errors = [record for record in caplog.records if record.levelno == logging.ERROR]
        assert len(errors) == 2
        assert all("inject" in record.getMessage() and record.exc_info for record in errors)

    def test_strict_raises(self) -> None:
        """With ``strict`` on, a failure fails the turn."""

        def run(state: MemoryState, config: RunnableConfig) -> dict[str, Any]:
            raise ConnectionError("no route")

        with pytest.raises(ConnectionError, match="no route"):
            _both("inject", Services(config=MemoryConfig(strict=True)), run, {})

    @pytest.mark.parametrize("error", [ConfigError("bad"), MissingIdentityError("nobody"), MissingStoreError("none")])
    def test_wrong_settings_always_raise(self, error: ConfigError) -> None:
        """What the programmer has to change isn't hidden by a fallback."""

        def run(state: MemoryState, config: RunnableConfig) -> dict[str, Any]:
            raise error

        with pytest.raises(type(error)):
            _both("plan", Services(), run, {})

    def test_an_interrupt_passes(self) -> None:
        """A stage may ask a person, and goes on after the answer."""

        def run(state: MemoryState, config: RunnableConfig) -> dict[str, Any]:
            return {"memory_turn": interrupt("how many?")}

        node = stage("record", Services(), run, _async(run), {"memory_turn": -1})
        builder = StateGraph(MemoryState)
        graph = _compiled(builder, node, checkpointer=InMemorySaver())
        config: RunnableConfig = {"configurable": {"thread_id": "t"}}
        assert graph.invoke({"messages": [HumanMessage("hi")]}, config)["__interrupt__"][0].value == "how many?"
        assert graph.invoke(Command(resume=3), config)["memory_turn"] == 3

    def test_a_stage_leaves_its_input_alone(self) -> None:
        """Neither the state nor what the stage returned is changed."""
        returned = {"memory_turn": 1, "memory_report": MemoryReport()}
        state: Any = {"memory_report": MemoryReport(counts={"a": 1}).model_dump(mode="json")}
        before = {**state["memory_report"]}
        _both("record", Services(), lambda state, config: returned, state)
        assert set(returned) == {"memory_turn", "memory_report"}
        assert state["memory_report"] == before


class _Reported(TypedDict, total=False):
    memory_report: dict[str, Any]


def _runtime(context: Any, server_user: str | None = None) -> Any:
    user = SimpleNamespace(identity=server_user) if server_user else None
    return SimpleNamespace(context=context, server_info=SimpleNamespace(user=user))


def _compiled(builder: Any, node: Any, store: Any = None, checkpointer: Any = None) -> Any:
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile(store=store, checkpointer=checkpointer)


def _async(run: Callable[..., Any]) -> Callable[..., Any]:
    async def arun(state: Any, config: RunnableConfig) -> Any:
        await asyncio.sleep(0)
        return run(state, config)

    return arun


def _both(name: str, services: Services, run: Any, state: Any, fallback: Any = None) -> list[dict[str, Any]]:
    """The stage's update, sync and async."""
    node = stage(name, services, run, _async(run), fallback)
    config: RunnableConfig = {"configurable": {"word": "word"}}
    return [node.invoke(state, config), asyncio.run(node.ainvoke(state, config))]
