"""The retriever: LangChain's own tests, and what a chain, a tool and a graph make of it."""

from __future__ import annotations

import copy
import datetime as dt
import json
import operator
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, Runnable, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, InvalidValueError, MissingIdentityError, MissingStoreError
from langmem_plus.fence import strip_context
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.retriever import MemoryRetriever, as_context
from langmem_plus.store import MarkdownStore
from langmem_plus.testing import ScriptedChatModel

ALICE: Any = {"configurable": {"user_id": "alice"}}
BOB: Any = {"configurable": {"user_id": "bob"}}
WORDS = MemoryConfig(embeddings="none", background=False)
TURNS: list[dict[str, Any]] = [
    {"role": "user", "content": "My wife is Anne, she likes green tea.", "name": "Al", "created_at": "2024-05-01"},
    {"role": "user", "content": "My dog likes tea, too."},
    {
        "role": "user",
        "name": "Al",
        "created_at": "2024-05-01",
        "content": "Green tea is on the table every morning, isn't it?",
    },
    {"role": "user", "content": "For the birthday I bought black tea."},
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MarkdownStore]:
    """A store in which Alice and Bob said something."""
    with MarkdownStore(tmp_path_factory.mktemp("retriever") / "memory", config=WORDS) as opened:
        with MemoryClient(opened, config=WORDS) as client:
            client.add(TURNS, user_id="alice", thread_id="t1")
            client.add("My wife is Berta, she likes coffee and tea.", user_id="bob")
        yield opened


@pytest.fixture
def retriever(store: MarkdownStore) -> MemoryRetriever:
    """One that is told by each run whose memory it is."""
    return MemoryRetriever(store, config=WORDS)


class TestLangChainsOwn(RetrieversIntegrationTests):
    """LangChain's standard tests of retrievers."""

    @pytest.fixture(autouse=True)
    def _open(self, store: MarkdownStore) -> None:
        self.store = store

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        """Ours."""
        return MemoryRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """Alice's memory."""
        return {"store": self.store, "scope": Scope("alice"), "config": WORDS}

    @property
    def retriever_query_example(self) -> str:
        """What several memories answer."""
        return "Who likes tea?"


Ask = Callable[..., Any]


async def _asked(runnable: Runnable[Any, Any], way: str, question: Any, config: Any = None, **options: Any) -> Any:
    if way == "invoke":
        return runnable.invoke(question, config, **options)
    return await runnable.ainvoke(question, config, **options)


both = pytest.mark.parametrize("way", ["invoke", "ainvoke"])


@both
async def test_a_document_tells_what_the_record_knows(retriever: MemoryRetriever, way: str) -> None:
    """Text, id, role, times, sources, speaker, namespace and one plain number a stage; all of it is JSON."""
    found = await _asked(retriever, way, "Where is the green tea every morning?", ALICE)
    turn = next(each for each in found if "Green tea" in each.page_content)
    assert (turn.page_content, turn.metadata["role"]) == (TURNS[2]["content"], "user")
    assert turn.id
    assert turn.metadata["time"] == "2024-05-01T00:00:00.000000Z"
    assert turn.metadata["created_at"] > turn.metadata["time"]
    assert (turn.metadata["user_id"], turn.metadata["space"]) == ("alice", "default")
    assert (turn.metadata["thread_id"], turn.metadata["name"]) == ("t1", "Al")
    assert turn.metadata["namespace"] == ["memories", "alice", "default"]
    assert turn.metadata["pinned"] is False
    assert turn.metadata["scores"]["relevance"] > 0
    assert all(type(score) is float for each in found for score in each.metadata["scores"].values())
    assert json.loads(json.dumps([each.metadata for each in found])) == [each.metadata for each in found]
    assert len({tuple(each.metadata) for each in found}) == 1, "every document has the same keys"


@both
async def test_the_run_tells_whose_memory_it_is(retriever: MemoryRetriever, way: str) -> None:
    """Two users get their own memories from one retriever."""
    alice = await _asked(retriever, way, "Who is my wife?", ALICE)
    bob = await _asked(retriever, way, "Who is my wife?", BOB)
    assert {each.metadata["user_id"] for each in alice} == {"alice"}
    assert {each.metadata["user_id"] for each in bob} == {"bob"}
    assert "Berta" in retriever.with_config(BOB).invoke("Who is my wife?")[0].page_content


@both
async def test_nobody_and_no_store_are_errors_with_a_remedy(store: MarkdownStore, way: str) -> None:
    """Memory of nobody is never searched, and a missing store is said to be missing."""
    with pytest.raises(MissingIdentityError, match="user_id"):
        await _asked(MemoryRetriever(store, config=WORDS), way, "tea")
    with pytest.raises(MissingIdentityError, match="team"):
        await _asked(MemoryRetriever(store, ("memories", "{team}"), config=WORDS), way, "tea", ALICE)
    with pytest.raises(MissingStoreError, match="store"):
        await _asked(MemoryRetriever(config=WORDS), way, "tea", ALICE)


def test_what_cannot_be_built_is_told_at_once(store: MarkdownStore, tmp_path: Path) -> None:
    """Wrong arguments are errors of the constructor, which name the value."""
    wrong: Any = str(tmp_path)
    with pytest.raises(ConfigError, match="MarkdownStore"):
        MemoryRetriever(wrong)
    with pytest.raises(ConfigError, match="MemoryConfig"):
        MemoryRetriever(store, config={"top_k": 3})  # type: ignore[arg-type]
    for k in (0, -1, True, "3"):
        with pytest.raises(InvalidValueError, match="1 or more"):
            MemoryRetriever(store, k=k)  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="1 or more"):
        MemoryRetriever(store, config=WORDS).invoke("tea", ALICE, k=0)
    for scope in ("alice", {"user_id": "alice"}, (), ("memories", 3), 5):
        with pytest.raises(ConfigError, match="Scope"):
            MemoryRetriever(store, scope, config=WORDS)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no-such-folder"):
        MemoryRetriever(store, config=WORDS.replace(reranker="./no-such-folder"))
    with pytest.raises(TypeError, match="top_k"):
        MemoryRetriever(store, top_k=3)  # type: ignore[call-arg]


@both
async def test_a_mapping_is_no_query(retriever: MemoryRetriever, way: str) -> None:
    """Who hands in a chain's whole input is told how to take the question out."""
    with pytest.raises(InvalidValueError, match="itemgetter"):
        await _asked(retriever, way, {"question": "tea"}, ALICE)
    chain = operator.itemgetter("question") | retriever
    assert await _asked(chain, way, {"question": "Who likes tea?"}, ALICE)


@both
async def test_k_may_be_told_once(retriever: MemoryRetriever, way: str) -> None:
    """A call's own number wins over the retriever's, which wins over the settings'."""
    assert len(await _asked(retriever, way, "tea", ALICE, k=1)) == 1
    one = MemoryRetriever(retriever.store, k=1, config=WORDS)
    assert len(await _asked(one, way, "tea", ALICE)) == 1
    assert len(await _asked(one, way, "tea", ALICE, k=3)) == 3
    few = MemoryRetriever(retriever.store, config=WORDS.replace(top_k=2))
    assert len(await _asked(few, way, "tea", ALICE)) == 2


@both
async def test_a_filter_of_the_call_narrows_the_own_one(retriever: MemoryRetriever, way: str) -> None:
    """Both hold; what can't be read is told by the constructor, and by the call."""
    users = MemoryRetriever(retriever.store, filter={"role": "user"}, config=WORDS)
    assert {each.metadata["role"] for each in await _asked(users, way, "green tea", ALICE)} == {"user"}
    assert await _asked(users, way, "green tea", ALICE, filter={"role": "memory"}) == []
    earlier = {"time": {"lt": "2025-01-01"}}
    (found,) = await _asked(users, way, "green tea every morning", ALICE, filter=earlier, k=1)
    assert found.metadata["time"] < "2025"
    with pytest.raises(InvalidValueError, match="colour"):
        MemoryRetriever(retriever.store, filter={"colour": "red"}, config=WORDS)
    with pytest.raises(InvalidValueError, match="colour"):
        await _asked(users, way, "green tea", ALICE, filter={"colour": "red"})


@given(
    texts=st.lists(st.text() | st.just("a </memory_context> b"), min_size=1, max_size=4),
    name=st.none() | st.text(),
)
def test_nothing_in_a_document_leaves_the_fence(texts: list[str], name: str | None) -> None:
    """Whatever a memory says, the block begins once, ends once, and has a line a document."""
    documents = [Document(text, metadata={"role": "user", "name": name, "time": "2026-05-01T"}) for text in texts]
    context = as_context(documents)
    assert strip_context(context) == ""
    assert len(context.splitlines()) == len(texts) + 4
    assert context.count("</memory_context>") == context.count("<memory_context>") == 1


def test_foreign_documents_have_a_context_too() -> None:
    """Documents of another retriever in the same chain know neither role nor time."""
    assert "\n[document] Opening hours" in as_context([Document("Opening hours")])
    assert as_context([]) == ""


@given(st.dictionaries(st.sampled_from(["role", "time", "name"]), st.none() | st.integers() | st.text() | st.just([1])))
def test_foreign_metadata_stays_on_its_line(metadata: dict[str, Any]) -> None:
    """Whatever another program calls role, time and name: of any type, with line ends, with delimiters in it."""
    metadata = {
        name: f"{value}\n</memory_context>" if isinstance(value, str) else value for name, value in metadata.items()
    }
    context = as_context([Document("Opening hours", metadata=metadata)])
    assert len(context.splitlines()) == 5
    assert context.count("</memory_context>") == 1
    day = as_context([Document("Opening hours", metadata={"time": dt.datetime(2026, 5, 1, 12), "name": 5})])
    assert "[document] 5: Opening hours (2026-05-01)" in day


@both
async def test_incognito_and_memory_that_is_off_find_nothing(retriever: MemoryRetriever, way: str) -> None:
    """As everywhere: such a run recalls nothing."""
    incognito = {"configurable": {"user_id": "alice", "incognito": "true"}}
    assert await _asked(retriever, way, "tea", incognito) == []
    off = MemoryRetriever(retriever.store, config=WORDS.replace(enabled=False))
    assert await _asked(off, way, "tea", ALICE) == []


@both
async def test_nonsense_gets_nothing(retriever: MemoryRetriever, way: str) -> None:
    """Nothing relevant is an answer."""
    assert await _asked(retriever, way, "zyxq flurbled gnarpt?", ALICE) == []


class _Heard(BaseCallbackHandler):
    """Writes down what a handler is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
        self.events.append(("start", (kwargs["name"], query, kwargs["tags"], kwargs["metadata"])))

    def on_retriever_end(self, documents: Any, **kwargs: Any) -> None:
        self.events.append(("end", len(documents)))

    def on_retriever_error(self, error: BaseException, **kwargs: Any) -> None:
        self.events.append(("error", type(error)))

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.events.append(("model", None))


class _HeardAsync(_Heard, AsyncCallbackHandler):
    """The same for async runs, where each event is awaited."""

    async def on_retriever_start(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        _Heard.on_retriever_start(self, *args, **kwargs)

    async def on_retriever_end(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        _Heard.on_retriever_end(self, *args, **kwargs)

    async def on_retriever_error(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        _Heard.on_retriever_error(self, *args, **kwargs)


@both
@pytest.mark.parametrize("handler", [_Heard, _HeardAsync])
async def test_callbacks_are_told_once(store: MarkdownStore, way: str, handler: type[_Heard]) -> None:
    """One start with name, tags and metadata, and one end or one error; a model that reranks isn't part of it."""
    if way == "invoke" and handler is _HeardAsync:
        pytest.skip("sync runs know sync handlers")
    heard = handler()
    model = ScriptedChatModel(then={"scores": [{"id": number, "score": 5} for number in range(20)]})
    retriever = MemoryRetriever(store, config=WORDS, tags=["mine"], metadata={"part": "memory"}, reranker=model)
    found = await _asked(retriever, way, "tea", {**ALICE, "callbacks": [heard], "tags": ["run"]})
    (start, (name, query, tags, metadata)), end = heard.events
    assert (start, name, query, set(tags)) == ("start", "MemoryRetriever", "tea", {"mine", "run"})
    assert metadata["part"] == "memory"
    assert metadata["ls_retriever_name"] == "memory"
    assert end == ("end", len(found))
    assert found
    assert len(model.calls) == 1
    heard.events.clear()
    with pytest.raises(MissingIdentityError):
        await _asked(retriever, way, "tea", {"callbacks": [heard]})
    assert [event for event, _ in heard.events] == ["start", "error"]


def _joined(documents: list[Document]) -> str:
    return "\n".join(document.page_content for document in documents)


@both
async def test_a_chain_hands_the_identity_on(retriever: MemoryRetriever, way: str) -> None:
    """The usual chain of retriever, prompt and model sees the memory of whom its config names."""
    model = ScriptedChatModel(then="Anne.")
    prompt = ChatPromptTemplate.from_template("Use:\n{context}\n\nQuestion: {question}")
    chain = {"context": retriever | _joined, "question": RunnablePassthrough()} | prompt | model
    assert (await _asked(chain, way, "Who is my wife?", ALICE)).text == "Anne."
    await _asked(chain, way, "Who is my wife?", BOB)
    assert "Anne" in model.calls[0].text
    assert "Berta" not in model.calls[0].text
    assert "Berta" in model.calls[1].text
    assert "Question: Who is my wife?" in model.calls[0].text


async def test_batches_and_streams(retriever: MemoryRetriever) -> None:
    """A batch takes one config each; a stream is one piece."""
    questions = ["Who is my wife?", "Who is my wife?"]
    alice, bob = map(_joined, retriever.batch(questions, [ALICE, BOB]))
    assert [alice, bob] == list(map(_joined, await retriever.abatch(questions, [ALICE, BOB])))
    assert "Anne" in alice
    assert "Berta" in bob
    assert [_joined(piece) async for piece in retriever.astream("Who is my wife?", BOB)] == [bob]
    assert [_joined(piece) for piece in retriever.stream("Who is my wife?", BOB)] == [bob]


@both
@pytest.mark.filterwarnings("ignore:This API is in beta")
async def test_as_a_tool(retriever: MemoryRetriever, way: str) -> None:
    """Both of LangChain's ways to make a tool of it see whose memory the run is about."""
    asked = {"query": "Who is my wife?"}
    tool = create_retriever_tool(retriever, "memories", "What the user said.")
    assert "Berta" in await _asked(tool, way, asked, BOB)
    assert "Berta" not in await _asked(tool, way, asked, ALICE)
    own = retriever.as_tool(name="memories", description="What the user said.")
    assert "Berta" in (await _asked(own, way, "Who is my wife?", BOB))[0].page_content


@both
@pytest.mark.parametrize("hidden", [False, True])
async def test_in_a_graph_it_takes_its_store_and_context(store: MarkdownStore, way: str, hidden: bool) -> None:
    """No store given: the graph's. The context names the user; a config of the caller's own hides neither."""
    retriever = MemoryRetriever(config=WORDS)
    own: Any = {"configurable": {"space": "default"}} if hidden else None

    def node(state: Any) -> Any:
        return {"messages": [("ai", _joined(retriever.invoke("Who is my wife?", own)))]}

    async def anode(state: Any) -> Any:
        return {"messages": [("ai", _joined(await retriever.ainvoke("Who is my wife?", own)))]}

    builder = StateGraph(MessagesState, context_schema=dict)
    builder.add_node("look", node if way == "invoke" else anode).add_edge(START, "look")
    graph = builder.compile(store=store)
    for user, wife in (("alice", "Anne"), ("bob", "Berta")):
        if way == "invoke":
            state = graph.invoke({"messages": []}, context={"user_id": user})
        else:
            state = await graph.ainvoke({"messages": []}, context={"user_id": user})
        assert wife in state["messages"][-1].text
    events = (
        list(graph.stream({"messages": []}, context={"user_id": "bob"}, stream_mode="custom"))
        if (way == "invoke")
        else [each async for each in graph.astream({"messages": []}, context={"user_id": "bob"}, stream_mode="custom")]
    )
    assert [list(event) for event in events] == [["memory"]]
    assert events[0]["memory"]["counts"]["chosen"] >= 1


@both
async def test_as_a_tool_of_an_agent(store: MarkdownStore, way: str) -> None:
    """In `create_agent` it searches the agent's store, for the user of the agent's context."""
    from langchain.agents import create_agent

    call = {"name": "memories", "args": {"query": "Who is my wife?"}, "id": "call-1"}
    model = ScriptedChatModel([AIMessage("", tool_calls=[call]), "Berta."])
    tool = create_retriever_tool(MemoryRetriever(config=WORDS), "memories", "What the user said.")
    agent: Any = create_agent(model, [tool], store=store, context_schema=dict)
    asked = {"messages": [("user", "Who is my wife?")]}
    if way == "invoke":
        agent.invoke(asked, context={"user_id": "bob"})
    else:
        await agent.ainvoke(asked, context={"user_id": "bob"})
    found = model.calls[1].messages[-1].text
    assert "Berta" in found
    assert "Anne" not in found


def test_foreign_stores_and_templates() -> None:
    """Any LangGraph store will do, with langmem's namespace and langmem's values."""
    store = InMemoryStore()
    store.put(("memories", "alice"), "1", {"content": "Alice likes green tea"})
    template = ("memories", "{langgraph_user_id}")
    retriever = MemoryRetriever(store, template, config=WORDS)
    (found,) = retriever.invoke("Who likes green tea?", {"configurable": {"langgraph_user_id": "alice"}})
    assert (found.page_content, found.id) == ("Alice likes green tea", "1")
    assert found.metadata["namespace"] == ["memories", "alice"]
    json.dumps(found.metadata)


def test_fields_can_be_changed(store: MarkdownStore) -> None:
    """Setting a field, copying with a change, and LangChain's configurable fields all take effect."""
    retriever = MemoryRetriever(store, Scope("alice"), config=WORDS)
    assert retriever.model_copy(update={"k": 1}).invoke("tea")[1:] == []
    chosen = retriever.configurable_fields(k=ConfigurableField(id="memories"))
    assert len(chosen.invoke("tea", {"configurable": {"memories": 2}})) == 2
    retriever.scope = Scope("bob")
    assert {each.metadata["user_id"] for each in retriever.invoke("tea")} == {"bob"}


def test_copies_share_the_store(store: MarkdownStore) -> None:
    """A deep copy searches the same store; one without a store can be pickled."""
    twin = copy.deepcopy(MemoryRetriever(store, Scope("alice"), config=WORDS))
    assert twin.store is store
    assert twin.invoke("Who is my wife?")
    sent = pickle.loads(pickle.dumps(MemoryRetriever(scope=Scope("alice"), k=3, config=WORDS)))
    assert (sent.scope, sent.k) == (Scope("alice"), 3)
    sent.store = store
    assert sent.invoke("Who is my wife?")


class _Broken(InMemoryStore):
    """A store whose disk is gone."""

    def batch(self, ops: Any) -> Any:
        raise OSError("the disk is gone")

    async def abatch(self, ops: Any) -> Any:
        raise OSError("the disk is gone")


@both
async def test_a_store_that_fails_is_an_error_of_the_call(way: str) -> None:
    """Who asks by hand is told; `with_fallbacks` is LangChain's way to go on without."""
    store: BaseStore = _Broken()
    retriever = MemoryRetriever(store, Scope("alice"), config=WORDS)
    with pytest.raises(OSError, match="the disk is gone"):
        await _asked(retriever, way, "tea")
    spare = MemoryRetriever(InMemoryStore(), Scope("alice"), config=WORDS)
    assert await _asked(retriever.with_fallbacks([spare]), way, "tea") == []


def test_a_record_that_nobody_said_has_no_name() -> None:
    """Odd metadata of foreign values do no harm."""
    store = InMemoryStore()
    record = MemoryRecord(id="1", text="green tea", user_id="alice", role="memory", metadata={"name": 5})
    store.put(("memories", "alice", "default"), "1", record.to_value())
    (found,) = MemoryRetriever(store, Scope("alice"), config=WORDS).invoke("green tea")
    assert found.metadata["name"] is None
    assert found.metadata["metadata"] == {"name": 5}
