import asyncio
import datetime as dt
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.store.base import GetOp, PutOp
from langgraph.store.memory import InMemoryStore

from langmem_plus import MarkdownStore, MemoryClient, MemoryConfig, MemoryRetriever
from langmem_plus.errors import ConfigError, InvalidValueError, MissingIdentityError, NotFoundError
from langmem_plus.importers import read_messages
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.testing import ScriptedChatModel

PATIENCE = 30.0
CONFIG = MemoryConfig(embeddings="none", retry_seconds=0.0, retries=0, flush_seconds=PATIENCE)


class Counting(InMemoryStore):
    """A store that notes every batch."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list] = []

    def batch(self, ops):
        """As the store's own."""
        self.batches.append(list(ops))
        return super().batch(self.batches[-1])


@pytest.fixture(params=["memory", "markdown"])
def client(request, tmp_path):
    """A client over each kind of store; facts are drawn out before add() returns."""
    store = InMemoryStore() if request.param == "memory" else tmp_path / "memories"
    with MemoryClient(store, config=CONFIG.replace(background=False)) as opened:
        yield opened


def wait_until(happened) -> None:
    """Look again until it has happened; that it never does is an error."""
    for _ in range(500):
        if happened():
            return
        time.sleep(0.02)
    raise AssertionError("it never happened")


def texts(records) -> list[str]:
    """What the records say, sorted."""
    return sorted(record.text for record in records)


def test_the_readmes_lines(client):
    """What is added is found by a question, best first, with the scores of each stage."""
    client.add("I moved to Lyon last year", user_id="alice")
    client.add("I like green tea", user_id="alice")
    hits = client.search("where did I move to?", user_id="alice")
    assert hits[0].text == "I moved to Lyon last year"
    assert {"relevance", "recency", "importance", "total"} <= hits[0].scores.keys()
    assert [hit.scores["total"] for hit in hits] == sorted((hit.scores["total"] for hit in hits), reverse=True)


async def test_each_call_has_an_async_twin(client):
    """aadd, asearch, alist, aget and aflush do what the sync calls do."""
    stored = await client.aadd("My wife is called Anne", user_id="alice")
    assert await client.aflush()
    facts = await client.alist(user_id="alice", role="memory")
    assert texts(facts) == ["My wife is called Anne"]
    assert await client.aget(facts[0].id, user_id="alice") == client.get(facts[0].id, user_id="alice")
    assert await client.aget(stored[0].id[:9], user_id="alice") == client.get(stored[0].id, user_id="alice")
    assert (await client.asearch("what is my wife called?", user_id="alice"))[0].text == "My wife is called Anne"


async def test_an_async_context_manager(tmp_path):
    """async with opens and closes the client, and the facts are there afterwards."""
    async with MemoryClient(tmp_path, config=CONFIG) as client:
        await client.aadd("My wife is called Anne", user_id="alice")
    with MemoryClient(tmp_path, config=CONFIG) as client:
        assert texts(client.list(user_id="alice", role="memory")) == ["My wife is called Anne"]


def test_two_event_loops(client):
    """A client serves one event loop after another."""
    for number in range(2):
        asyncio.run(client.aadd(f"I have {number} dogs", user_id="alice"))
    assert len(client.list(user_id="alice", role="user")) == 2


def test_messages_of_every_kind(client):
    """LangChain's messages and dicts are stored with ids, names, times and places; system and tool messages aren't."""
    stored = client.add(
        [
            SystemMessage("Be brief."),
            HumanMessage("I like tea", id="h1", name="ann"),
            AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}]),
            ToolMessage("found", tool_call_id="c"),
            AIMessage("Noted.", id="a1"),
            {"role": "system", "content": "x"},
            {"role": "tool", "content": "x", "tool_call_id": "c"},
            {"role": "user", "content": "I like cake", "id": 7, "name": "ann", "created_at": "2023-05-08T13:56:00Z"},
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "assistant", "content": [{"type": "text", "text": "Good."}, {"type": "image_url"}]},
        ],
        user_id="alice",
        thread_id="t1",
        agent_id="bot",
    )
    assert [(r.role, r.text) for r in stored] == [
        ("user", "I like tea"),
        ("assistant", "Noted."),
        ("user", "I like cake"),
        ("assistant", "Good.\n[image]"),
    ]
    assert [r.source_ids for r in stored] == [["h1"], ["a1"], ["7"], []]
    assert [r.metadata.get("name") for r in stored] == ["ann", None, "ann", None]
    assert [(r.metadata["turn"], r.metadata["position"]) for r in stored] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert stored[2].observed_at == dt.datetime(2023, 5, 8, 13, 56, tzinfo=dt.UTC)
    assert {(r.thread_id, r.agent_id) for r in stored} == {("t1", "bot")}
    facts = client.list(user_id="alice", role="memory")
    assert {source for fact in facts for source in fact.source_ids} >= {"h1", "7"}


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (7, "7 is nothing that was said"),
        (b"bytes", "nothing that was said"),
        ([7], "7 isn't a message"),
        ({"content": "x"}, "the role None"),
        ([{"role": "nobody", "content": "x"}], "'nobody' isn't one of"),
        ([{"role": "user", "content": 3}], "3 isn't a text"),
        ([{"role": "user", "content": "ok"}, {"role": "user", "content": "x", "created_at": "soon"}], "'soon' isn't"),
    ],
)
def test_what_is_no_message_is_refused(client, content, names):
    """A wrong value is named, and nothing of the call is stored."""
    with pytest.raises(InvalidValueError, match=names):
        client.add(content, user_id="alice")
    assert client.list(user_id="alice") == []


@pytest.mark.parametrize("user_id", ["", " ", None])
def test_nobody_is_refused(client, user_id):
    """No call works without a user: there is no shared bucket."""
    for call in (
        lambda: client.add("x", user_id=user_id),
        lambda: client.search("x", user_id=user_id),
        lambda: client.list(user_id=user_id),
        lambda: client.get("x", user_id=user_id),
    ):
        with pytest.raises(MissingIdentityError):
            call()


def test_users_and_spaces_are_apart_and_global_is_shared(client):
    """A search sees its space and the user's global one, and nobody else's."""
    client.add("My tea is green", user_id="alice", space="work")
    client.add("My tea is black", user_id="alice", space="home")
    client.add("My tea is white", user_id="alice", space="global")
    client.add("My tea is red", user_id="bob", space="work")
    found = {hit.text for hit in client.search("my tea", user_id="alice", space="work")}
    assert found == {"My tea is green", "My tea is white"}
    assert {r.text for r in client.list(user_id="alice", space="work")} == {"My tea is green"}


def test_a_search_in_one_thread(client):
    """thread_id narrows a search to what was said there."""
    client.add("My tea is green", user_id="alice", thread_id="t1")
    client.add("My tea is black", user_id="alice", thread_id="t2")
    assert {hit.text for hit in client.search("my tea", user_id="alice", thread_id="t1")} == {"My tea is green"}
    assert len({hit.text for hit in client.search("my tea", user_id="alice")}) == 2


def test_k_limits_a_search(client):
    """k is how many hits come back at most."""
    for number in range(5):
        client.add(f"My tea number {number} is green", user_id="alice")
    assert len(client.search("green tea", user_id="alice", k=2)) == 2


def test_a_text_is_said_anew_with_every_call(client):
    """Saying a thing twice stores two turns, and strengthens the one fact."""
    for _ in range(2):
        assert len(client.add("My wife is called Anne", user_id="alice", thread_id="t1")) == 1
    assert len(client.list(user_id="alice", role="user")) == 2
    (fact,) = client.list(user_id="alice", role="memory")
    assert fact.repeat_count == 1


def test_a_thread_that_is_added_again_gains_only_what_is_new(client):
    """Messages are told by their place, or by their ids: a whole thread can be added after each turn."""
    thread = [{"role": "user", "content": "yes"}, {"role": "assistant", "content": "ok"}]
    assert len(client.add(thread, user_id="alice", thread_id="t1")) == 2
    assert client.add(thread, user_id="alice", thread_id="t1") == []
    assert texts(client.add([*thread, *thread], user_id="alice", thread_id="t1")) == ["ok", "yes"]
    assert len(client.add(thread, user_id="alice", thread_id="t2")) == 2
    assert len(client.add(thread, user_id="bob", thread_id="t1")) == 2


def test_ids_tell_messages_that_come_one_by_one(client):
    """With ids, the same words in a later call are a new message, and the same message isn't."""
    for key in ("m1", "m2", "m2"):
        client.add({"role": "user", "content": "yes", "id": key}, user_id="alice", thread_id="t1")
    assert sorted(r.source_ids[0] for r in client.list(user_id="alice", role="user")) == ["m1", "m2"]


def test_messages_without_a_thread(client):
    """Messages that belong to no conversation are written once if they have ids, else anew with every call."""
    for _ in range(2):
        client.add([{"role": "user", "content": "with id", "id": "m1"}], user_id="alice")
        client.add([{"role": "user", "content": "without"}], user_id="alice")
    assert texts(client.list(user_id="alice", role="user")) == ["with id", "without", "without"]


def test_an_empty_text_stores_nothing(client):
    """There is nothing to keep of white space."""
    assert client.add(" \n", user_id="alice") == []
    assert client.add([], user_id="alice", thread_id="t") == []


def test_thousands_of_messages_are_one_write(tmp_path):
    """However many messages a call brings, they are looked up and written in one batch each."""
    store = Counting()
    with MemoryClient(store, config=CONFIG.replace(background=False, max_facts=0, turn_batch=10_000)) as client:
        messages = [{"role": "user", "content": f"number {n}"} for n in range(3000)]
        assert len(client.add(messages, user_id="alice", thread_id="t1")) == 3000
    puts = [ops for ops in store.batches if any(isinstance(op, PutOp) for op in ops)]
    assert len(puts[0]) == 3000
    assert len(puts) <= 3  # the turns; their marks; a summary
    assert sum(len(ops) for ops in store.batches if all(isinstance(op, GetOp) for op in ops)) <= 5 * 3000


def test_a_list_is_newest_first(client):
    """Records are listed by when they were said, then by their place in the thread, newest first."""
    client.add(
        [
            {"role": "user", "content": "one", "created_at": "2023-01-01"},
            {"role": "user", "content": "three", "created_at": "2023-03-01"},
            {"role": "assistant", "content": "four", "created_at": "2023-03-01"},
            {"role": "user", "content": "two", "created_at": "2023-02-01"},
        ],
        user_id="alice",
        thread_id="t1",
    )
    client.add("elsewhere", user_id="alice", thread_id="t2")
    listed = client.list(user_id="alice", thread_id="t1")
    assert [record.text for record in listed] == ["four", "three", "two", "one"]
    assert [record.text for record in client.list(user_id="alice", thread_id="t1", limit=2)] == ["four", "three"]
    assert [record.text for record in client.list(user_id="alice", role="assistant")] == ["four"]


def test_a_list_holds_active_records_alone(client):
    """What is retired or has expired isn't listed."""
    (record,) = client.add("hello", user_id="alice")
    namespace = Scope("alice").namespace
    past = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    for key, change in (("a", {"status": "deleted"}), ("b", {"expires_at": past}), ("c", {})):
        client.store.put(namespace, key, record.model_copy(update={"id": key, **change}).to_value())
    assert sorted(r.id for r in client.list(user_id="alice")) == sorted(["c", record.id])


def test_an_unknown_role(client):
    """A role that doesn't exist is named, with those that do."""
    with pytest.raises(InvalidValueError, match="'facts'; choose from memory, user"):
        client.list(user_id="alice", role="facts")


def test_get_by_id_or_the_beginning_of_one(client):
    """A record is found by its id, or by a beginning that no other has; else the error says what is wrong."""
    namespace = Scope("alice").namespace
    for key in ("abc1", "abc2", "abc"):
        client.store.put(namespace, key, MemoryRecord(id=key, text=key, user_id="alice").to_value())
    shared = MemoryRecord(id="shared", text="everywhere", user_id="alice", space="global")
    client.store.put(Scope("alice", "global").namespace, shared.id, shared.to_value())
    assert client.get("abc", user_id="alice").id == "abc"
    assert client.get("abc2", user_id="alice").id == "abc2"
    assert client.get("sha", user_id="alice").text == "everywhere"
    for missing in ("zzz", ""):
        with pytest.raises(NotFoundError, match="there is no record"):
            client.get(missing, user_id="alice")
    with pytest.raises(NotFoundError, match="3 records begin with 'ab'"):
        client.get("ab", user_id="alice")
    with pytest.raises(NotFoundError):
        client.get("abc", user_id="bob")


def test_values_of_other_programs_are_listed_and_got(client):
    """What langmem or another program put into the namespace can be read."""
    client.store.put(Scope("alice").namespace, "k", {"kind": "Memory", "content": {"content": "likes tea"}})
    assert texts(client.list(user_id="alice")) == ["likes tea"]
    assert client.get("k", user_id="alice").text == "likes tea"


def test_the_file_of_a_record(tmp_path):
    """A record's file can be found, edited, and read again; a store without files has none."""
    with MemoryClient(tmp_path, config=CONFIG.replace(background=False, sync_interval=0)) as client:
        (record,) = client.add("I live in Lyon", user_id="alice")
        path = client.path_of(record)
        assert path.is_relative_to(tmp_path)
        path.write_text(path.read_text(encoding="utf-8").replace("Lyon", "Lisbon"), encoding="utf-8")
        wait_until(lambda: client.get(record.id, user_id="alice").text == "I live in Lisbon")
    with MemoryClient(InMemoryStore(), config=CONFIG) as client:
        assert client.path_of(record) is None


def test_add_does_not_wait_for_a_model():
    """In the background facts come later; flush() tells whether the time was enough."""
    release = threading.Event()

    def answer(messages):
        assert release.wait(PATIENCE)
        return {"facts": [{"text": "The user likes tea", "kind": "preference"}]}

    with MemoryClient(InMemoryStore(), model=ScriptedChatModel([answer]), config=CONFIG) as client:
        assert len(client.add("I like tea", user_id="alice")) == 1
        assert not client.flush(0.0)
        release.set()
        assert client.flush(None)
        assert texts(client.list(user_id="alice", role="memory")) == ["The user likes tea"]


def test_a_model_that_fails_does_not_fail_add(caplog):
    """Without a background a model that is down costs the facts, for now, and not the turn; strict raises."""
    down = ConnectionError("the model is down")
    store = InMemoryStore()
    config = CONFIG.replace(background=False)
    with MemoryClient(store, model=ScriptedChatModel([down]), config=config) as client:
        assert len(client.add("I like tea", user_id="alice")) == 1
        assert "the model is down" in caplog.text
        assert [turn.extracted for turn in client.list(user_id="alice")] == [False]
    strict = config.replace(strict=True)
    with MemoryClient(store, model=ScriptedChatModel([down]), config=strict) as client, pytest.raises(ConnectionError):
        client.add("I like cake", user_id="alice")


def test_opening_works_off_what_a_crash_left(tmp_path):
    """Turns that a killed process had only stored are drawn out when the folder is opened again."""
    source = f"""
import os, threading
from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.testing import ScriptedChatModel
asked = threading.Event()
def stuck(messages):
    asked.set()
    threading.Event().wait()
client = MemoryClient({str(tmp_path)!r}, model=ScriptedChatModel([stuck]), config=MemoryConfig(embeddings="none"))
client.add("My wife is called Anne", user_id="ann@x.org", space="a/b")
asked.wait(30)
os.kill(os.getpid(), 9)
"""
    killed = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=False)
    assert killed.returncode == -9, killed.stderr
    with MemoryClient(tmp_path, config=CONFIG) as client:
        assert client.flush()
        assert texts(client.list(user_id="ann@x.org", space="a/b", role="memory")) == ["My wife is called Anne"]


@pytest.mark.parametrize("call", ["search", "list", "add"])
def test_other_stores_are_worked_off_when_first_touched(call):
    """A store that can't tell which namespaces have pending turns has them worked off at the first call."""
    store = InMemoryStore()
    turn = MemoryRecord(id="t", role="user", text="My wife is called Anne", user_id="alice", extracted=False)
    store.put(Scope("alice").namespace, turn.id, turn.to_value())
    with MemoryClient(store, config=CONFIG) as client:
        {
            "search": lambda: client.search("tea", user_id="alice"),
            "list": lambda: client.list(user_id="alice"),
            "add": lambda: client.add([], user_id="alice"),
        }[call]()
        assert client.flush()
        assert texts(client.list(user_id="alice", role="memory")) == ["My wife is called Anne"]


def test_namespaces_of_other_programs_are_left_alone(tmp_path):
    """A pending turn in a namespace that no client uses doesn't keep the folder from being opened."""
    with MarkdownStore(tmp_path, config=CONFIG) as store:
        turn = MemoryRecord(id="t", role="user", text="My wife is called Anne", user_id="alice", extracted=False)
        for namespace in (("memories", "alice"), ("other", "alice", "default"), ("memories", "a", "b", "c")):
            store.put(namespace, turn.id, turn.to_value())
    with MemoryClient(tmp_path, config=CONFIG) as client:
        assert client.flush()


def test_a_clients_own_store_is_closed_and_a_given_one_is_not(tmp_path):
    """A store that was handed over stays open."""

    class Closing(InMemoryStore):
        closed = False

        def close(self) -> None:
            self.closed = True

    store = Closing()
    MemoryClient(store, config=CONFIG).close()
    assert not store.closed
    client = MemoryClient(tmp_path, config=CONFIG)
    assert isinstance(client.store, MarkdownStore)
    client.close()


def test_the_settings_name_the_folder(tmp_path):
    """Without a store the settings' memory_path is opened."""
    with MemoryClient(config=CONFIG.replace(memory_path=tmp_path / "here")) as client:
        client.add("hello", user_id="alice")
    assert (tmp_path / "here").is_dir()


@pytest.mark.parametrize("store", [7, "postgresql://localhost/db"])
def test_something_that_is_no_store(store):
    """What can't be opened is refused by name."""
    with pytest.raises(ConfigError, match="pass a folder"):
        MemoryClient(store, config=CONFIG)


def test_an_imported_file_is_added_once(tmp_path):
    """Conversations from a file keep their times; importing again after an interruption adds what was missing."""
    file = tmp_path / "chat.jsonl"
    line = '{"role": "user", "content": "I like tea %d", "thread_id": "%s", "timestamp": 1683554160}\n'
    file.write_text("".join(line % (n, "ab"[n % 2]) for n in range(6)), encoding="utf-8")
    with MemoryClient(InMemoryStore(), config=CONFIG.replace(background=False)) as client:
        conversations = list(read_messages(file))
        tries = (conversations[0], *conversations)
        stored = [client.add(each.messages, user_id="alice", thread_id=each.thread_id) for each in tries]
        assert [len(turns) for turns in stored] == [3, 0, 3]
        said = {turn.observed_at for turn in client.list(user_id="alice", role="user")}
        assert said == {dt.datetime(2023, 5, 8, 13, 56, tzinfo=dt.UTC)}


def test_what_was_corrected_does_not_come_back(client):
    """Neither the replaced fact nor the turn that said it first is found; the newer one is."""
    for text in ("Hi! My name is Sam and I live in Lyon.", "Good news: I live in Grenoble now."):
        client.add(text, user_id="alice")
        client.flush()
    found = [hit.text for hit in client.search("Which city do I live in?", user_id="alice")]
    assert any("Grenoble" in text for text in found)
    assert not any("Lyon" in text for text in found)
    assert any("Sam" in hit.text for hit in client.search("What is my name?", user_id="alice"))


@pytest.mark.parametrize("k", ["3", float("nan"), -1, 0, 1.5, True], ids=repr)
async def test_k_is_a_number_of_memories(client: MemoryClient, k: Any) -> None:
    """Anything else is named, with what to give, by the client and the retriever alike."""
    with pytest.raises(InvalidValueError, match=r"k is .*: give how many memories at most, 1 or more"):
        client.search("tea", user_id="alice", k=k)
    with pytest.raises(InvalidValueError, match="k is"):
        await client.asearch("tea", user_id="alice", k=k)
    with pytest.raises(InvalidValueError, match="k is"):
        MemoryRetriever(client.store, Scope("alice")).invoke("tea", k=k)
    with pytest.raises(InvalidValueError, match="k is"):
        MemoryRetriever(client.store, k=k)


async def test_values_of_other_programs_are_facts_in_a_list(client: MemoryClient) -> None:
    """With ``role="memory"`` they are listed, as they are without a role, and no other role has them."""
    client.store.put(Scope("alice").namespace, "k", {"kind": "Memory", "content": {"content": "likes tea"}})
    assert [record.text for record in client.list(user_id="alice", role="memory")] == ["likes tea"]
    assert [record.text for record in await client.alist(user_id="alice", role="memory")] == ["likes tea"]
    assert client.list(user_id="alice", role="user") == []


async def test_an_id_is_a_text(client: MemoryClient) -> None:
    """Who passes a hit or a record is told where its id stands."""
    client.add("I like tea", user_id="alice")
    (record, *_) = client.list(user_id="alice")
    for call in (client.pin, client.unpin, client.forget, client.get):
        with pytest.raises(InvalidValueError, match=r"'MemoryRecord' has it in its \.id"):
            call(record, user_id="alice")  # type: ignore[operator]
    for acall in (client.apin, client.aunpin, client.aforget, client.aget):
        with pytest.raises(InvalidValueError, match="is no text"):
            await acall(5, user_id="alice")  # type: ignore[operator]
    with pytest.raises(InvalidValueError, match=r"\.id"):
        client.erase(user_id="alice", id=record)  # type: ignore[arg-type]
