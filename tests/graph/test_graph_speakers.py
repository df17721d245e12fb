"""Several people in one thread, from their messages to what a model is told: through every door."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig, create_memory_graph, create_recall_graph
from langmem_plus.errors import ConfigError
from langmem_plus.middleware import LongTermMemoryMiddleware
from langmem_plus.recall.cue_features import by_speaker
from langmem_plus.recall.overlap import shown
from langmem_plus.records import MemoryHit, MemoryRecord, Plan, Scope
from langmem_plus.testing import ScriptedChatModel
from langmem_plus.tools import create_manage_memory_tool, create_search_memory_tool

CONFIG = MemoryConfig(embeddings="none", background=False, summarize=False, strict=True)
RUN: Any = {"configurable": {"user_id": "house", "thread_id": "kitchen"}}
ELSEWHERE: Any = {"configurable": {"user_id": "house", "thread_id": "hall"}}
SAID = [("Ann", "My favourite colour is green."), ("Bob", "My favourite colour is black.")]


def facts(store: InMemoryStore, user: str = "house") -> dict[str, str | None]:
    """What is known, and who said it."""
    found = store.search(Scope(user).namespace, filter={"role": "memory", "status": "active"}, limit=100)
    return {item.value["text"]: item.value["metadata"].get("name") for item in found}


def first(hits: list[MemoryHit]) -> str:
    """The best hit as a model reads it."""
    return shown(hits[0].record)


def test_a_memory_graph_keeps_people_apart() -> None:
    """Record, rules, recall: each line says whose it is, and "my" is who asks."""
    store, model = InMemoryStore(), ScriptedChatModel([], then="Yes.")
    graph = create_memory_graph(model, store=store, config=CONFIG, checkpointer=InMemorySaver())
    for name, text in [*SAID, ("Bob", "My favourite colour is white.")]:
        graph.invoke({"messages": [HumanMessage(text, name=name)]}, RUN)
    assert facts(store) == {SAID[0][1]: "Ann", "My favourite colour is white.": "Bob"}
    for name, wanted in [
        ("Ann", "Ann: My favourite colour is green."),
        ("Bob", "Bob: My favourite colour is white."),
    ]:
        graph.invoke({"messages": [HumanMessage("What is my favourite colour?", name=name)]}, ELSEWHERE)
        assert wanted in model.calls[-1].text


@pytest.mark.parametrize("relevance", ["calibrated", "store"])
def test_a_search_by_name_and_by_who_asks(relevance: Any) -> None:
    """ "What does Bob like?" is Bob's; "my" asked by Ann is Ann's."""
    client = MemoryClient(
        InMemoryStore(), config=CONFIG if relevance == "calibrated" else CONFIG.replace(reranker="none")
    )
    with client:
        client.add([HumanMessage(text, name=name) for name, text in SAID], user_id="house", thread_id="kitchen")
        client.flush()
        assert first(client.search("What is Bob's favourite colour?", user_id="house")).startswith("Bob: ")
        assert first(client.search("What is Ann's favourite colour?", user_id="house")).startswith("Ann: ")


def test_what_the_question_means_by_my() -> None:
    """Who asks is named by it, in any language; others without a name are told apart, too."""
    names = ["Ann", "Bob", ""]
    assert by_speaker("what is my drink?", names, "ann").tolist() == [1, 0, 0]
    assert by_speaker("was ist mein Getränk?", names, "Bob").tolist() == [0, 1, 0]
    assert by_speaker("我喜欢喝什么？", names, "Bob").tolist() == [0, 1, 0]
    assert by_speaker("what is the drink?", names, "Ann").tolist() == [0, 0, 0]
    assert by_speaker("what is my drink?", names).tolist() == [0, 0, 0]
    assert by_speaker("what is my drink?", names, "Carl").tolist() == [0, 0, 0]
    assert by_speaker("what does Bob drink?", ["Bob", "", ""]).tolist() == [0, 0, 0]
    assert by_speaker("what does Bob drink?", ["Bob", "", ""], others=True).tolist() == [1, 0, 0]


def test_my_comes_first() -> None:
    """Of two who say the like, who asks is meant; nobody's question has no such order to lose."""
    store = InMemoryStore()
    with MemoryClient(store, config=CONFIG) as client:
        client.add([HumanMessage(text, name=name) for name, text in SAID], user_id="house", thread_id="kitchen")
    graph = create_recall_graph(store=store, config=CONFIG)
    for name in ("Ann", "bob "):
        found = graph.invoke({"messages": [HumanMessage("What is my favourite colour?", name=name)]}, ELSEWHERE)
        assert first(found["memory_hits"]).startswith(f"{name.strip().title()}: ")


def test_a_reranking_model_is_told_who_asks() -> None:
    """Where that person said something; else the question is as it was."""
    asked: list[str] = []

    def reranker(query: str, texts: list[str]) -> list[float]:
        asked.append(query)
        return [1.0] * len(texts)

    store = InMemoryStore()
    with MemoryClient(store, config=CONFIG) as client:
        client.add([HumanMessage(text, name=name) for name, text in SAID], user_id="house", thread_id="kitchen")
    graph = create_recall_graph(store=store, config=CONFIG, reranker=reranker)
    for name in ("Ann", "Carl", None):
        graph.invoke({"messages": [HumanMessage("What is my favourite colour?", name=name)]}, RUN)
    assert asked == ["Ann: What is my favourite colour?", *["What is my favourite colour?"] * 2]


def test_the_middleware_keeps_people_apart() -> None:
    """As the graph does."""
    store, model = InMemoryStore(), ScriptedChatModel([], then="Yes.")
    agent = create_agent(model, middleware=[LongTermMemoryMiddleware(store=store, config=CONFIG)])
    for name, text in [*SAID, ("Bob", "My favourite colour is white.")]:
        agent.invoke({"messages": [HumanMessage(text, name=name)]}, RUN)
    assert facts(store) == {SAID[0][1]: "Ann", "My favourite colour is white.": "Bob"}
    agent.invoke({"messages": [HumanMessage("What is my favourite colour?", name="Ann")]}, RUN)
    assert "Ann: My favourite colour is green." in model.calls[-1].text


# the client


def test_a_conversation_of_the_client_keeps_names() -> None:
    """Chat, load, add: the same words of two people are two messages; a name that providers refuse stands before the
    words, and is stored as it is.
    """
    model = ScriptedChatModel([], then="Yes.")
    with MemoryClient(InMemoryStore(), chat_model=model, config=CONFIG) as client:
        for name in ("Ann", "Ann Lee", None):
            client.chat(HumanMessage("I like tea.", name=name), user_id="house", thread_id="t")
        loaded = client.load("t", user_id="house")
        assert [each.name for each in loaded if each.type == "human"] == ["Ann", "Ann Lee", None]
        sent = [(each.name, each.text) for each in model.calls[-1].messages if each.type == "human"]
        assert sent[:2] == [("Ann", "I like tea."), (None, "Ann Lee: I like tea.")]
        assert sent[2][0] is None and sent[2][1].endswith("I like tea.") and "Lee" not in sent[2][1][-20:]
        assert client.add(loaded, user_id="house", thread_id="t") == []
        said = [{"role": "user", "content": "Good night.", "name": name} for name in ("Ann", "Bob")]
        assert len(client.add(said[:1], user_id="house", thread_id="u")) == 1
        assert len(client.add(said[1:], user_id="house", thread_id="u")) == 1
        assert client.add(said[1:], user_id="house", thread_id="u") == []


@pytest.mark.parametrize("way", ["sync", "async"])
def test_the_client_takes_a_plan(way: str) -> None:
    """A function, a coroutine function or a model decides in place of the cues; what fails gives way to them."""
    asked: list[str] = []

    def choose(text: str, messages: Any, config: MemoryConfig) -> Any:
        asked.append(text)
        return Plan(strategy="none", reason="mine") if "plain" in text else None

    async def achoose(text: str, messages: Any, config: MemoryConfig) -> Any:
        return choose(text, messages, config)

    plan = choose if way == "sync" else achoose
    with MemoryClient(InMemoryStore(), config=CONFIG, plan=plan) as client:
        client.add("I like green tea.", user_id="ann")
        client.flush()
        for text, strategy in [("plain: do I like tea?", "none"), ("Do I like tea?", "memory")]:
            if way == "sync":
                reports = [client.chat(text, user_id="ann").report, client.explain(text, user_id="ann").report]
            else:
                reports = asyncio.run(_ask(client, text))
            assert [report.strategy for report in reports] == [strategy] * 2
    assert len(asked) == 4


async def _ask(client: MemoryClient, text: str) -> list[Any]:
    return [(await client.achat(text, user_id="ann")).report, (await client.aexplain(text, user_id="ann")).report]


def test_a_model_plans_for_the_client() -> None:
    """Asked with its structured answer; what is no plan is refused when the client is opened."""
    model = ScriptedChatModel([], then={"strategy": "none", "reason": "small"})
    with MemoryClient(InMemoryStore(), config=CONFIG, plan=model) as client:
        assert client.explain("Do I like tea?", user_id="ann").report.strategy == "none"
    with pytest.raises(ConfigError, match="plan"):
        MemoryClient(InMemoryStore(), config=CONFIG, plan=7)  # type: ignore[arg-type]


# tools


def calling(tool: str, **given: Any) -> AIMessage:
    """A message that calls a tool."""
    return AIMessage("", tool_calls=[{"name": tool, "args": given, "id": f"c{abs(hash(str(given)))}"}])


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_tool_writes_for_whoever_the_model_answers(way: str) -> None:
    """The same words of two people are two memories; nobody changes or deletes another's, unnamed programs do."""
    store = InMemoryStore()
    tools = [create_manage_memory_tool(config=CONFIG), create_search_memory_tool(config=CONFIG)]

    def ask(name: str | None, call: AIMessage) -> Any:
        agent = create_agent(ScriptedChatModel([call, "Done."]), tools, store=store)
        said = {"messages": [HumanMessage("Hello.", name=name)]}
        state = agent.invoke(said, RUN) if way == "sync" else asyncio.run(agent.ainvoke(said, RUN))
        return state["messages"][-2].content

    for name in ("Ann", "Bob", "Bob", None):
        ask(name, calling("manage_memory", content="The user likes tea."))
    known = {item.value["metadata"].get("name"): item.key for item in store.search(Scope("house").namespace, limit=9)}
    assert known.keys() == {"Ann", "Bob", None}
    for action in ("update", "delete"):
        answer = ask("Bob", calling("manage_memory", action=action, id=known["Ann"], content="The user likes milk."))
        assert "is what Ann said" in answer
    assert "updated" in ask(
        "Ann", calling("manage_memory", action="update", id=known["Ann"], content="The user likes milk.")
    )
    assert facts(store)["The user likes milk."] == "Ann"
    assert '"speaker": "Bob"' in ask("Bob", calling("search_memory", query="What do I like, tea?"))
    assert "deleted" in ask(None, calling("manage_memory", action="delete", id=known["Bob"]))


# imports


def test_an_import_joins_no_named_speakers_fact() -> None:
    """What mem0 or langmem knew is nobody's of a room."""
    store, source = InMemoryStore(), InMemoryStore()
    record = MemoryRecord(id="a", text="I like tea.", user_id="house", metadata={"name": "Ann"})
    store.put(Scope("house").namespace, "a", record.to_value())
    source.put(("memories", "house"), "k", {"content": "I like tea."})
    with MemoryClient(store, config=CONFIG) as client:
        report = client.import_store(source, user_id="house")
        assert len(client.list(user_id="house")) == 2
    assert not report.skipped


def test_an_imported_conversation_keeps_its_names(tmp_path: Any) -> None:
    """Each person's facts are theirs."""
    file = tmp_path / "talk.json"
    file.write_text(
        '[{"role": "user", "name": "Ann", "content": "I live in Lyon."}, {"role": "assistant", "content": "Ah."},'
        ' {"role": "user", "name": "Bob", "content": "I moved to Bonn."},'
        ' {"role": "user", "content": "I live in Rome."}]',
        encoding="utf-8",
    )
    store = InMemoryStore()
    with MemoryClient(store, config=CONFIG) as client:
        client.import_file(file, user_id="house")
        client.flush()
    assert facts(store) == {"I live in Lyon.": "Ann", "I moved to Bonn.": "Bob", "I live in Rome.": None}
