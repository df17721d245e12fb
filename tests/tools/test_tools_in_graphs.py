"""The tools where agents call them: create_agent, a hand-built graph, tasks; retries, replays, errors of who builds."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, MissingIdentityError, MissingStoreError
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.testing import ScriptedChatModel
from langmem_plus.tools import (
    create_list_memories_tool,
    create_manage_memory_tool,
    create_pin_memory_tool,
    create_search_memory_tool,
)

CONFIG = MemoryConfig(embeddings="none")
ANNE = "My wife is called Anne"


@dataclass
class Context:
    user_id: str
    space: str = "default"


def calling(name: str, id: str, **args: Any) -> AIMessage:
    """A model's answer that calls one tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": id}])


def tools() -> list[Any]:
    """The tools without a store of their own."""
    made = (create_manage_memory_tool, create_search_memory_tool, create_pin_memory_tool, create_list_memories_tool)
    return [make(config=CONFIG) for make in made]


def run(graph: Any, way: str, *args: Any, **kwargs: Any) -> Any:
    """Invoke it, in either way."""
    return asyncio.run(graph.ainvoke(*args, **kwargs)) if way == "async" else graph.invoke(*args, **kwargs)


def answers(state: Any) -> list[ToolMessage]:
    """What the tools answered."""
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def texts(store: Any, user_id: str = "alice") -> list[str]:
    """What is known of a user."""
    return sorted(item.value["text"] for item in store.search(Scope(user_id).namespace, limit=100))


def hello(config: Any = None) -> Any:
    """A run's input."""
    return {"messages": [HumanMessage("hello")]}


@pytest.mark.parametrize("way", ["sync", "async"])
class TestAgents:
    def test_create_agent(self, way) -> None:
        """The agent's store, the run's user: what one thread saves, another finds, and nobody else."""
        store = InMemoryStore()
        script = [
            calling("manage_memory", "c1", content=ANNE),
            "Saved.",
            calling("search_memory", "c2", query="What is my wife called?"),
            "Anne.",
            calling("search_memory", "c3", query="What is my wife called?"),
            "I don't know.",
        ]
        agent = create_agent(ScriptedChatModel(script), tools(), store=store)
        for user, thread, found in (("alice", "t1", "created"), ("alice", "t2", "Anne"), ("bob", "t3", "Nothing")):
            state = run(agent, way, hello(), {"configurable": {"user_id": user, "thread_id": thread}})
            (answer,) = answers(state)
            assert (found in answer.content, answer.status) == (True, "success")
        assert (texts(store), texts(store, "bob")) == ([ANNE], [])

    def test_the_context_names_the_user(self, way) -> None:
        """``runtime.context`` comes before ``configurable``."""
        store = InMemoryStore()
        agent = create_agent(
            ScriptedChatModel([calling("manage_memory", "c1", content=ANNE), "Saved."]),
            tools(),
            store=store,
            context_schema=Context,
        )
        run(agent, way, hello(), {"configurable": {"user_id": "bob"}}, context=Context("alice", "work"))
        (item,) = store.search(())
        assert item.namespace == ("memories", "alice", "work")

    def test_a_hand_built_graph(self, way) -> None:
        """A `ToolNode` runs several calls of one message; errors of the model's are messages, and the graph goes on."""
        store = InMemoryStore()
        message = AIMessage(
            "",
            tool_calls=[
                {"name": "manage_memory", "args": {"content": ANNE}, "id": "c1"},
                {"name": "manage_memory", "args": {"content": f"{ANNE}."}, "id": "c2"},
                {"name": "manage_memory", "args": {"action": "delete", "id": "nonsense"}, "id": "c3"},
                {"name": "manage_memory", "args": {"action": "burn"}, "id": "c4"},
            ],
        )
        builder = StateGraph(MessagesState)
        builder.add_node("model", lambda state: {"messages": [message]}).add_node("tools", ToolNode(tools()))
        graph = builder.add_edge(START, "model").add_edge("model", "tools").compile(store=store)
        state = run(graph, way, hello(), {"configurable": {"user_id": "alice"}})
        assert [answer.status for answer in answers(state)] == ["success", "success", "error", "error"]
        assert len(texts(store)) == 1

    def test_what_the_model_sees_anyway(self, way) -> None:
        """Turns of this conversation that stand in the state aren't found; those of other threads are."""
        store = InMemoryStore()
        for id, thread in (("here", "t1"), ("there", "t2")):
            record = MemoryRecord(id=id, role="user", text="I drink green tea", user_id="alice", thread_id=thread)
            store.put(Scope("alice").namespace, id, record.to_value())
        script = [calling("search_memory", "c1", query="Which tea does Alice drink?"), "Green tea."]
        agent = create_agent(ScriptedChatModel(script), tools(), store=store)
        config = {"configurable": {"user_id": "alice", "thread_id": "t1"}}
        state = run(agent, way, {"messages": [HumanMessage("I drink green tea")]}, config)
        assert [entry["key"] for entry in json.loads(answers(state)[0].content)] == ["there"]

    def test_a_task_of_the_functional_api(self, way) -> None:
        """A tool that is called by itself finds the running graph's store and user."""
        store, manage = InMemoryStore(), create_manage_memory_tool(config=CONFIG)

        @entrypoint(store=store)
        def work(text: str) -> str:
            return manage.invoke({"content": text})

        @entrypoint(store=store)
        async def awork(text: str) -> str:
            return await manage.ainvoke({"content": text})

        graph = awork if way == "async" else work
        assert run(graph, way, ANNE, {"configurable": {"user_id": "alice"}}).startswith("created memory")
        assert texts(store) == [ANNE]

    def test_a_node_that_names_the_user_itself(self, way) -> None:
        """A config of one's own hides neither the graph's store nor the rest of its run."""
        store, manage = InMemoryStore(), create_manage_memory_tool(config=CONFIG)
        bob = {"configurable": {"user_id": "bob"}}

        def node(state: MessagesState) -> dict[str, Any]:
            return {"messages": [AIMessage(manage.invoke({"content": ANNE}, bob))]}

        async def anode(state: MessagesState) -> dict[str, Any]:
            return {"messages": [AIMessage(await manage.ainvoke({"content": ANNE}, bob))]}

        builder = StateGraph(MessagesState).add_node("work", anode if way == "async" else node)
        graph = builder.add_edge(START, "work").compile(store=store)
        run(graph, way, hello(), {"configurable": {"user_id": "alice", "thread_id": "t1"}})
        (item,) = store.search(())
        assert (item.namespace, item.value["thread_id"]) == (("memories", "bob", "default"), "t1")

    def test_replayed_from_before_the_tools(self, way) -> None:
        """Time travel executes the same call again: one memory, the same answer."""
        store = InMemoryStore()
        model = ScriptedChatModel([calling("manage_memory", "c1", content=ANNE)], then="Saved.")
        agent = create_agent(model, tools(), store=store, checkpointer=InMemorySaver())
        config = {"configurable": {"user_id": "alice", "thread_id": "t1"}}
        first = run(agent, way, hello(), config)
        before = next(point for point in agent.get_state_history(config) if point.next == ("tools",))
        again = run(agent, way, None, {"configurable": {**before.config["configurable"], "user_id": "alice"}})
        assert answers(first)[0].content == answers(again)[0].content
        assert texts(store) == [ANNE]

    def test_a_person_approves(self, way) -> None:
        """Resumed after an interrupt, the call is executed once; edited, it writes what was approved."""
        store = InMemoryStore()
        agent = create_agent(
            ScriptedChatModel([calling("manage_memory", "c1", content=ANNE)], then="Saved."),
            tools(),
            middleware=[HumanInTheLoopMiddleware({"manage_memory": True})],
            store=store,
            checkpointer=InMemorySaver(),
        )
        config = {"configurable": {"user_id": "alice", "thread_id": "t1"}}
        assert run(agent, way, hello(), config)["__interrupt__"]
        assert not texts(store)
        edited = {"name": "manage_memory", "args": {"content": "My wife is called Annette"}}
        decisions = {"decisions": [{"type": "edit", "edited_action": edited}]}
        run(agent, way, Command(resume=decisions), config)
        assert texts(store) == ["My wife is called Annette"]

    def test_an_artifact_survives_a_strict_checkpoint(self, way, monkeypatch) -> None:
        """The items of a search stand in the state as plain JSON."""
        monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
        store, saver = InMemoryStore(), InMemorySaver()
        search = create_search_memory_tool(response_format="content_and_artifact", config=CONFIG)
        script = [
            calling("manage_memory", "c1", content=ANNE),
            calling("search_memory", "c2", query="What is my wife called?"),
            "Anne.",
        ]
        manage = create_manage_memory_tool(config=CONFIG)
        agent = create_agent(ScriptedChatModel(script), [manage, search], store=store, checkpointer=saver)
        config = {"configurable": {"user_id": "alice", "thread_id": "t1"}}
        state = run(agent, way, hello(), config)
        kept = answers(agent.get_state(config).values)[1].artifact
        assert kept == answers(state)[1].artifact
        assert kept[0]["value"]["text"] == ANNE


@pytest.mark.parametrize("way", ["sync", "async"])
class TestMistakes:
    def test_no_store(self, way) -> None:
        """The message says where to give one, and it isn't hidden in a tool's answer."""
        for tool in tools():
            given = {"query": "x", "id": "x", "content": "x"}
            with pytest.raises(MissingStoreError, match=rf"{tool.name}.*store=.*create_agent.*langgraph\.json"):
                run(tool, way, given if tool.name != "manage_memory" else {"content": "x"}, _alice())
        agent = create_agent(ScriptedChatModel([calling("manage_memory", "c1", content=ANNE)]), tools())
        with pytest.raises(MissingStoreError):
            run(agent, way, hello(), _alice())

    def test_nobody_is_named(self, way) -> None:
        """Without an identity nothing is read or written, in nobody's bucket."""
        store = InMemoryStore()
        agent = create_agent(ScriptedChatModel([calling("manage_memory", "c1", content=ANNE)]), tools(), store=store)
        with pytest.raises(MissingIdentityError, match="configurable"):
            run(agent, way, hello(), {"configurable": {"thread_id": "t1"}})
        assert not store.search(())

    def test_a_context_that_names_nobody(self, way) -> None:
        """The message says how the context can, too."""

        @dataclass
        class Nameless:
            space: str = "work"

        script = ScriptedChatModel([calling("manage_memory", "c1", content=ANNE)])
        agent = create_agent(script, tools(), store=InMemoryStore(), context_schema=Nameless)
        with pytest.raises(MissingIdentityError, match=r"configurable.*context=\{.*context_schema with user_id"):
            run(agent, way, hello(), context=Nameless())

    @pytest.mark.parametrize("template", [("memories", "{team}"), ("memories", "{user_id}", "{team}")])
    def test_a_template_that_is_not_filled(self, way, template) -> None:
        """The field is named."""
        store = InMemoryStore()
        for make in (create_manage_memory_tool, create_search_memory_tool, create_list_memories_tool):
            tool = make(template, store=store, config=CONFIG)
            given = {"query": "x"} if tool.name == "search_memory" else {"content": "x"}
            with pytest.raises(MissingIdentityError, match="'team'"):
                run(tool, way, given, _alice())
        assert not store.search(())

    def test_langmems_template_without_a_user(self, way) -> None:
        """Nobody's memory is no memory."""
        tool = create_manage_memory_tool(("memories", "{langgraph_user_id}"), store=InMemoryStore(), config=CONFIG)
        with pytest.raises(MissingIdentityError):
            run(tool, way, {"content": ANNE}, {})


def _alice() -> dict[str, Any]:
    return {"configurable": {"user_id": "alice"}}


class TestWrongArguments:
    @pytest.mark.parametrize(
        "namespace", [(), ("",), ("memories", ""), ("memories", 7), 7, {"a": "b"}, ("memories", "a@x.org")], ids=repr
    )
    def test_no_namespace(self, namespace) -> None:
        """What isn't one is refused when the tool is made."""
        for make in (create_manage_memory_tool, create_search_memory_tool, create_pin_memory_tool):
            with pytest.raises(ConfigError, match="namespace"):
                make(namespace)

    @pytest.mark.parametrize("actions", [(), ("burn",), "burn", ("create", "burn")], ids=repr)
    def test_no_action(self, actions) -> None:
        """The actions that there are stand in the message."""
        with pytest.raises(ConfigError, match="create, update, delete"):
            create_manage_memory_tool(actions_permitted=actions)

    def test_no_store(self) -> None:
        """A path isn't a store."""
        with pytest.raises(ConfigError, match="MarkdownStore"):
            create_search_memory_tool(store="./memory_db")  # type: ignore[arg-type]

    def test_a_fixed_scope(self) -> None:
        """A `Scope` is a namespace, too, whoever runs the graph."""
        store = InMemoryStore()
        tool = create_manage_memory_tool(Scope("alice", "work"), store=store, config=CONFIG)
        tool.invoke({"content": ANNE}, {"configurable": {"user_id": "bob"}})
        (item,) = store.search(())
        assert item.namespace == ("memories", "alice", "work")
        search = create_search_memory_tool(Scope("alice", "work"), store=store, config=CONFIG)
        assert json.loads(search.invoke("wife"))[0]["value"]["content"] == ANNE
