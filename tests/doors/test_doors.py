"""Every door does the same: sync and async alike, and each mistake of a user is told with its remedy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_plus import (
    LongTermMemoryMiddleware,
    MarkdownStore,
    MemoryClient,
    MemoryConfig,
    MemoryRecord,
    MemoryRetriever,
    Scope,
    create_manage_memory_tool,
    create_memory_graph,
    create_recall_graph,
    create_remember_graph,
    create_search_memory_tool,
)
from langmem_plus.errors import ConfigError, MissingExtraError, MissingIdentityError, MissingStoreError
from langmem_plus.providers import QuotingChatModel
from langmem_plus.tools import create_forget_memory_tool, create_list_memories_tool, create_pin_memory_tool

Call: TypeAlias = Callable[..., Awaitable[Any]]
Door: TypeAlias = Callable[[BaseStore | None, MemoryConfig, Any, Call], Awaitable[Any]]

TOLD = "My wife is called Anne"
ASKED = "What is my wife called?"
SETTINGS = MemoryConfig(embeddings="none", rerank_bits="none", background=False)


def run(thread: str, user: str | None = "alice") -> dict[str, Any]:
    """A run's configuration."""
    return {"configurable": {"thread_id": thread, **({} if user is None else {"user_id": user})}}


def said(text: str) -> dict[str, Any]:
    """A run's input."""
    return {"messages": [HumanMessage(text, id=text)]}


def texts(state: dict[str, Any]) -> list[str]:
    """What stands in a thread."""
    return [message.text for message in state["messages"]]


# the doors, each used as somebody would: something is told in one thread, and asked for in the next


async def memory_graph(store: BaseStore | None, config: MemoryConfig, scope: Any, call: Call) -> Any:
    """`create_memory_graph` around a chat model."""
    graph = create_memory_graph(
        QuotingChatModel(), store=store, config=config, scope=scope, checkpointer=InMemorySaver()
    )
    return [texts(await call(graph, "invoke", said(text), run(text))) for text in (TOLD, ASKED)]


async def halves(store: BaseStore | None, config: MemoryConfig, scope: Any, call: Call) -> Any:
    """The recall graph, and the remember graph."""
    recall = create_recall_graph(store=store, config=config, scope=scope)
    remember = create_remember_graph(store=store, config=config, scope=scope)
    heard = {"messages": [HumanMessage(TOLD, id="1"), AIMessage("I see.", id="2")]}
    report = (await call(remember, "invoke", heard, run("monday")))["memory_report"]
    found = await call(recall, "invoke", said(ASKED), run("friday"))
    events = [decision["event"] for decision in report["decisions"]]
    return events, TOLD in found["memory_context"], found["memory_report"]["counts"]


async def middleware(store: BaseStore | None, config: MemoryConfig, scope: Any, call: Call) -> Any:
    """The middleware in `create_agent`."""
    memory = LongTermMemoryMiddleware(store=store, config=config, scope=scope)
    agent = create_agent(QuotingChatModel(), middleware=[memory], checkpointer=InMemorySaver())
    states = [await call(agent, "invoke", said(text), run(text)) for text in (TOLD, ASKED)]
    return [(texts(state), state["memory_report"]["counts"]) for state in states]


async def retriever(store: BaseStore | None, config: MemoryConfig, scope: Any, call: Call) -> Any:
    """The retriever, over what the remember graph stored."""
    remember = create_remember_graph(store=store, config=config, scope=scope)
    await call(remember, "invoke", said(TOLD), run("monday"))
    documents = await call(MemoryRetriever(store, scope, config=config), "invoke", ASKED, run("friday"))
    return [(each.page_content, each.metadata["role"], sorted(each.metadata["scores"])) for each in documents]


async def tools(store: BaseStore | None, config: MemoryConfig, scope: Any, call: Call) -> Any:
    """The tools, called by their arguments."""
    makers = (create_manage_memory_tool, create_search_memory_tool, create_list_memories_tool)
    manage, search, listing = (make(scope, store=store, config=config) for make in makers)
    created = await call(manage, "invoke", {"content": TOLD}, run("monday"))
    id = created.split()[-1].rstrip(".")
    found = await call(search, "invoke", {"query": ASKED}, run("friday"))
    listed = await call(listing, "invoke", {}, run("friday"))
    forget = create_forget_memory_tool(scope, store=store, config=config)
    forgot = await call(forget, "invoke", {"id": id}, run("friday"))
    kept = (await call(manage, "invoke", {"content": "I play the cello"}, run("monday"))).split()[-1].rstrip(".")
    pin = create_pin_memory_tool(scope, store=store, config=config)
    pinned = await call(pin, "invoke", {"id": kept}, run("monday"))
    answers = [answer.replace(id, "ID").replace(kept, "ID") for answer in (created, forgot, pinned)]
    return answers, TOLD in found, TOLD in listed


async def client(store: BaseStore | None, config: MemoryConfig, scope: Any, call: Call) -> Any:
    """The client."""
    if scope is not None or store is None:
        pytest.skip("a client opens a store, and is told whose memory it is by each call")
    whose = MemoryClient(store, config=config)
    await call(whose, "chat", TOLD, user_id="alice", thread_id="monday")
    reply = await call(whose, "chat", ASKED, user_id="alice", thread_id="friday")
    hits = await call(whose, "search", ASKED, user_id="alice")
    return reply.text, [(hit.text, sorted(hit.scores)) for hit in hits], reply.report.counts


DOORS: list[Door] = [memory_graph, halves, middleware, retriever, tools, client]


async def in_sync(door: Any, name: str, *arguments: Any, **named: Any) -> Any:
    """The sync twin of a call."""
    return getattr(door, name)(*arguments, **named)


async def in_async(door: Any, name: str, *arguments: Any, **named: Any) -> Any:
    """The async twin of a call."""
    return await getattr(door, f"a{name}")(*arguments, **named)


def held(store: BaseStore) -> list[tuple[Any, ...]]:
    """All that a store holds, without what no two runs have in common."""
    records = [MemoryRecord.model_validate(item.value) for item in store.search((), limit=1000)]
    return sorted((each.role, each.text, each.status, each.importance, each.pinned, each.thread_id) for each in records)


@pytest.fixture(params=[MarkdownStore, InMemoryStore], ids=["markdown", "in-memory"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], BaseStore]:
    """Makes empty stores."""

    def make(name: str) -> BaseStore:
        return MarkdownStore(tmp_path / name, config=SETTINGS) if request.param is MarkdownStore else InMemoryStore()

    return make


@pytest.mark.parametrize("door", DOORS)
async def test_sync_and_async_are_one(door: Door, make_store: Callable[[str], BaseStore]) -> None:
    """A door's sync and async calls give the same, leave the same behind, and recall what was told."""
    stores = make_store("sync"), make_store("async")
    given = [await door(store, SETTINGS, None, call) for store, call in zip(stores, (in_sync, in_async), strict=True)]
    assert given[0] == given[1]
    assert held(stores[0]) == held(stores[1]) != []
    assert "Anne" in repr(given[0]) or True in given[0]


@pytest.mark.parametrize("call", [in_sync, in_async], ids=["sync", "async"])
@pytest.mark.parametrize("door", DOORS)
async def test_no_store(door: Door, call: Call) -> None:
    """Without a store anywhere, each door says how one is given."""
    with pytest.raises(MissingStoreError, match=r"MarkdownStore\(.*langgraph\.json"):
        await door(None, SETTINGS, None, call)


@pytest.mark.parametrize("call", [in_sync, in_async], ids=["sync", "async"])
@pytest.mark.parametrize("door", DOORS[:-1])
async def test_a_template_that_is_not_filled(door: Door, call: Call) -> None:
    """A field of the namespace that nobody fills is an error that names it, and nothing is stored."""
    store = InMemoryStore()
    with pytest.raises(MissingIdentityError, match=r"\{org_id\}.*configurable"):
        await door(store, SETTINGS, ("memories", "{org_id}", "{user_id}"), call)
    assert store.search((), limit=10) == []


@pytest.mark.parametrize("call", [in_sync, in_async], ids=["sync", "async"])
@pytest.mark.parametrize("door", DOORS[:-1])
async def test_nobody(door: Door, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that names no user is refused, and nothing is stored."""
    nobody = lambda thread, user=None: {"configurable": {"thread_id": thread}}  # noqa: E731 - stands in for `run`
    monkeypatch.setitem(door.__globals__, "run", nobody)  # type: ignore[attr-defined]
    store = InMemoryStore()
    with pytest.raises(MissingIdentityError, match=r"user_id.*configurable"):
        await door(store, SETTINGS, None, call)
    assert store.search((), limit=10) == []


async def test_nobody_at_the_client() -> None:
    """The client's calls name the user; who leaves it blank is told so."""
    whose = MemoryClient(InMemoryStore(), config=SETTINGS)
    for user in ("", " ", None):
        with pytest.raises(MissingIdentityError, match="user_id"):
            whose.add(TOLD, user_id=user)  # type: ignore[arg-type]


MAKERS: list[Callable[..., Any]] = [
    lambda **given: create_memory_graph(QuotingChatModel(), **given),
    create_remember_graph,
    LongTermMemoryMiddleware,
    lambda store, **given: MemoryClient(store, **given),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("my-own", r"my-own.*openai:gpt-5-mini"),
        ("opnai:gpt-5", r"opnai.*did you mean openai:gpt-5\?"),
        (42, r"42.*chat model"),
    ],
)
def test_a_model_that_is_none(make: Callable[..., Any], model: Any, told: str) -> None:
    """A model string without a provider, with a misspelt one, or something that is no model is told at once."""
    with pytest.raises(ConfigError, match=told):
        make(store=InMemoryStore(), model=model, config=SETTINGS)


@pytest.mark.parametrize("make", [*MAKERS, MemoryRetriever, create_search_memory_tool])
def test_a_store_that_is_none(make: Callable[..., Any]) -> None:
    """A path where a store belongs is told with the way to open one; the client opens it itself."""
    if make is MAKERS[-1]:
        pytest.skip("the client takes a path")
    with pytest.raises(ConfigError, match=r"MarkdownStore\('./memory_db'\)"):
        make(store="./memory_db")


@pytest.mark.parametrize("make", [create_recall_graph, *MAKERS[:-1], MemoryRetriever])
def test_a_scope_that_is_none(make: Callable[..., Any]) -> None:
    """A user's name where a scope belongs isn't spelt out into a namespace."""
    with pytest.raises(ConfigError, match=r"Scope\("):
        make(store=InMemoryStore(), scope="alice", config=SETTINGS)


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """What needs a package that isn't installed says how it is installed."""
    monkeypatch.setattr("langmem_plus.providers.known.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'langmem-plus\[openai\]'"):
        create_memory_graph(QuotingChatModel(), store=InMemoryStore(), model="openai:gpt-5", config=SETTINGS)


def test_a_model_without_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose key isn't set is built where it is used, and what it lacks is told; the words stay."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    store = InMemoryStore()
    graph = create_memory_graph(QuotingChatModel(), store=store, model="openai:gpt-5-mini", config=SETTINGS)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        graph.invoke(said(TOLD), run("monday"))
    assert [record[1] for record in held(store)] == [TOLD]
    assert Scope("alice").namespace in store.list_namespaces()
