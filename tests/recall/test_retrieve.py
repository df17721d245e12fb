"""Candidates from any store: the right namespaces, roles and states, and nothing that the model sees anyway."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import BaseStore, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.recall.retrieve import aretrieve, retrieve, retrieve_node
from langmem_plus.records import MemoryHit, MemoryRecord, Plan, Scope, summary_key
from langmem_plus.services import Services
from langmem_plus.store import MarkdownStore
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
Put = Callable[..., MemoryRecord]
RUN = {"configurable": {"user_id": "ann", "thread_id": "now"}}
QUERY = "who drinks green tea?"


def services(store: BaseStore, **config: Any) -> Services:
    """Services with a fixed clock."""
    return Services(config=MemoryConfig(**config), store=store, clock=lambda: NOW)


def texts(hits: list[MemoryHit]) -> list[str]:
    """The hits' texts, sorted."""
    return sorted(hit.text for hit in hits)


def test_the_space_and_global_are_searched_and_no_other(store: BaseStore, put: Put, scope: Scope) -> None:
    """Other spaces and other users stay out, also those whose names begin alike."""
    put("green tea here")
    put("green tea everywhere", space="global")
    put("green tea at work", space="work")
    bob = Scope(user_id="ann2")
    store.put(bob.namespace, "b", MemoryRecord(id="b", text="green tea of another", user_id="ann2").to_value())
    hits, report = retrieve(services(store), scope, QUERY, limit=10)
    assert texts(hits) == ["green tea everywhere", "green tea here"]
    assert report.counts == {"candidates": 2}


async def test_async_finds_the_same(store: BaseStore, put: Put, scope: Scope) -> None:
    """The twin differs in the call alone."""
    for text in ("green tea", "black tea", "green field"):
        put(text)
    found, report = retrieve(services(store), scope, QUERY, limit=10)
    again, report_again = await aretrieve(services(store), scope, QUERY, limit=10)
    assert [hit.model_dump() for hit in again] == [hit.model_dump() for hit in found]
    assert report_again == report


def test_only_records_in_force_are_found(store: BaseStore, put: Put, scope: Scope) -> None:
    """Any role but summary; no tombstone, nothing that waits for approval or has expired."""
    for role in ("memory", "user", "assistant", "archive", "document"):
        put(f"green tea {role}", role=role, thread_id="old")
    put("green tea summary", role="summary")
    for status in ("superseded", "deleted", "pending"):
        put(f"green tea {status}", status=status)
    put("green tea expired", expires_at=NOW)
    put("green tea still", expires_at=NOW + dt.timedelta(seconds=1))
    hits, report = retrieve(services(store), scope, QUERY, limit=50)
    roles = ["archive", "assistant", "document", "memory", "still", "user"]
    assert texts(hits) == [f"green tea {name}" for name in roles]
    # A store that knows times to live doesn't even show what is over.
    assert (report.counts["inactive"], report.counts.get("expired", 0)) == (4, 0 if store.supports_ttl else 1)


def test_foreign_values_are_found_and_broken_ones_counted(store: BaseStore, scope: Scope) -> None:
    """What langmem wrote is recalled beside our own."""
    store.put(scope.namespace, "1", {"kind": "Memory", "content": {"content": "green tea"}}, index=["content.content"])
    store.put(scope.namespace, "2", {"content": "green tea too"})
    store.put(scope.namespace, "3", {"content": {}, "green": "tea"}, index=["green"])
    hits, report = retrieve(services(store), scope, QUERY, limit=10)
    assert {hit.record.id: hit.text for hit in hits}.items() >= {("1", "green tea"), ("2", "green tea too")}
    assert "3" not in [hit.record.id for hit in hits]
    assert report.counts.get("unreadable", 0) <= 1


def test_scores_and_vectors_of_our_store_come_along(tmp_path: Any, scope: Scope, record: Callable[..., Any]) -> None:
    """Later stages read each leg, and compare vectors."""
    with MarkdownStore(tmp_path, index={"dims": 256, "embed": BagOfWordsEmbeddings(), "fields": ["text"]}) as store:
        made = record("green tea")
        store.put(scope.namespace, made.id, made.to_value())
        (hit,), _ = retrieve(services(store), scope, QUERY, limit=10)
    assert hit.scores.keys() == {"store", "words", "dense", "cosine", "coverage"}
    assert hit.vector.shape == (256,)
    assert "vector" not in hit.model_dump()


def test_turns_in_the_window_are_left_out(store: BaseStore, put: Put, scope: Scope) -> None:
    """By their words in the same thread, or by the message's id; the same words of another thread stay."""
    put("green tea", id="1", role="user", thread_id="now")
    put("green tea", id="2", role="user", thread_id="old")
    put("green tea with a picture", id="3", role="user", thread_id="now", metadata={"message_id": "m3"})
    put("green tea, I see", id="4", role="assistant", thread_id="now", source_ids=["m4"])
    put("green tea", id="5", role="memory", thread_id="now")
    window = [
        HumanMessage("green tea "),
        HumanMessage([{"type": "text", "text": "other"}], id="m3"),
        AIMessage("rewritten", id="m4"),
    ]
    hits, report = retrieve(services(store), scope, QUERY, limit=10, messages=window)
    assert sorted(hit.record.id for hit in hits) == ["2", "5"]
    assert report.counts["in_window"] == 3
    assert {choice.id for choice in report.choices if "conversation" in choice.reason} == {"1", "3", "4"}


def test_the_same_question_asked_before_is_no_answer(store: BaseStore, put: Put, scope: Scope) -> None:
    """Nothing is nearer to a question than itself; a statement that is searched word by word is found."""
    put("Who drinks GREEN tea??", id="asked", role="user", thread_id="old")
    put("She drinks green tea", id="said", role="user", thread_id="old")
    assert [hit.record.id for hit in retrieve(services(store), scope, QUERY, limit=10)[0]] == ["said"]
    found, _ = retrieve(services(store), scope, "she drinks green tea", limit=10)
    assert {hit.record.id for hit in found} == {"asked", "said"}


def test_ids_can_be_excluded(store: BaseStore, put: Put, scope: Scope) -> None:
    """Of records, or of the messages that turns were made of."""
    put("green tea one")
    put("green tea two", role="user", source_ids=["m2"], thread_id="old")
    put("green tea three")
    excluded = frozenset({"green tea one", "m2"})
    hits, _ = retrieve(services(store), scope, QUERY, limit=10, exclude_ids=excluded)
    assert texts(hits) == ["green tea three"]


def test_a_strict_session_sees_its_thread_and_archives(store: BaseStore, put: Put, scope: Scope) -> None:
    """``recall_scope = "thread"``: other conversations only through their archives."""
    put("green tea mine", thread_id="now")
    put("green tea theirs", thread_id="old")
    put("green tea nobody's")
    put("green tea archived", role="archive", thread_id="old")
    strict = services(store, recall_scope="thread")
    assert texts(retrieve(strict, scope, QUERY, limit=10)[0]) == ["green tea archived", "green tea mine"]
    nowhere = Scope(user_id="ann")
    assert texts(retrieve(strict, nowhere, QUERY, limit=10)[0]) == ["green tea archived"]


def test_tombstones_do_not_starve_the_search(store: BaseStore, put: Put, scope: Scope) -> None:
    """When retired records fill the page, those in force are asked for again."""
    for number in range(30):
        put("green tea, green tea", id=f"old{number}", status="superseded")
    put("she drinks tea now", id="new")
    hits, _ = retrieve(services(store), scope, QUERY, limit=10)
    assert [hit.record.id for hit in hits] == ["new"]


def test_documents_do_not_starve_memories(store: BaseStore, put: Put, scope: Scope) -> None:
    """A folder full of chunks beside one fact, where the message doesn't name documents."""
    for number in range(60):
        put("green tea, green tea", id=f"doc{number}", role="document")
    put("she drinks tea", id="fact")
    node = retrieve_node(services(store))
    plan = Plan(strategy="memory", reason="", query=QUERY)
    found = node.invoke({"memory_plan": plan, "messages": [HumanMessage(QUERY)]}, RUN)["memory_hits"]
    assert [hit.record.id for hit in found] == ["fact"]


def test_a_store_that_cannot_rank_is_read_further() -> None:
    """InMemoryStore without an index lists the oldest: the newest fact is found all the same."""
    store, scope = InMemoryStore(), Scope(user_id="ann")
    for number in range(200):
        store.put(scope.namespace, str(number), {"text": f"filler {number}"})
    store.put(scope.namespace, "new", {"text": "she drinks green tea"})
    hits, report = retrieve(services(store), scope, QUERY, limit=10)
    assert len(hits) == report.counts["candidates"] == 10
    assert "new" in [hit.record.id for hit in hits]


NESTED = Scope(user_id="ann", template=("memories", "{user_id}"))


def _crowd(store: BaseStore, below: int) -> None:
    """Some tea of Ann's own, among much more of it in a namespace below hers."""
    puts = [PutOp((*NESTED.namespace, "work"), f"w{n}", {"text": f"who drinks green tea {n}"}) for n in range(below)]
    store.batch([*puts, *(PutOp(NESTED.namespace, f"k{n}", {"text": f"she drinks tea, {n}"}) for n in range(5))])


@pytest.mark.parametrize("is_async", [False, True])
async def test_namespaces_below_take_no_place_from_ones_own(store: BaseStore, is_async: bool) -> None:
    """However much lies there and however well it matches: the limit counts one's own memories alone."""
    _crowd(store, 120)
    wired = services(store)
    if is_async:
        hits, report = await aretrieve(wired, NESTED, QUERY, limit=10)
    else:
        hits, report = retrieve(wired, NESTED, QUERY, limit=10)
    assert sorted(hit.record.id for hit in hits) == [f"k{n}" for n in range(5)]
    assert report.counts == {"candidates": 5}


def test_namespaces_below_are_read_over_up_to_a_bound() -> None:
    """In a store that can't leave them out; the pages grow, so there are few of them."""
    embedder = BagOfWordsEmbeddings()
    store = Counting(index={"dims": embedder.dims, "embed": embedder, "fields": ["text"]})
    _crowd(store, 300)
    store.batches.clear()
    assert retrieve(services(store), NESTED, QUERY, limit=10)[1].counts == {"candidates": 5}
    assert [(op.offset, op.limit) for batch in store.batches for op in batch] == [
        (0, 20),
        (20, 80),
        (100, 320),
    ]
    store.batches.clear()
    assert retrieve(services(store, keyword_pool=100), NESTED, QUERY, limit=10)[1].counts == {"candidates": 0}
    assert sum(op.limit for batch in store.batches for op in batch) == 100


def test_our_store_searches_no_namespace_below(tmp_path: Any) -> None:
    """One search answers, and the databases of others stay closed."""
    store = MarkdownStore(tmp_path, index=None)
    _crowd(store, 20)
    store.close()
    again = MarkdownStore(tmp_path, index=None)
    assert retrieve(services(again), NESTED, QUERY, limit=10)[1].counts == {"candidates": 5}
    assert list(again._engine.rooms._recent) == [NESTED.namespace]
    above = Scope(user_id="ann", template=("memories",))
    assert retrieve(services(again), above, QUERY, limit=10)[1].counts == {"candidates": 0}
    assert list(again._engine.rooms._recent) == [NESTED.namespace]
    assert again.exactly(SearchOp(("a",), limit=3))._replace(offset=1) == SearchOp(("a",), limit=3, offset=1)
    again.close()


class Counting(InMemoryStore):
    """Remembers each batch."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.batches: list[list[Any]] = []

    def batch(self, ops: Any) -> list[Any]:
        """As InMemoryStore, and counted."""
        self.batches.append(list(ops))
        return super().batch(self.batches[-1])


@pytest.mark.parametrize("strategy", ["memory", "documents", "archive", "tail", "none"])
def test_one_batch_answers_the_node(strategy: Any, scope: Scope) -> None:
    """The summary and every namespace come with one call; ``none`` makes no call, ``tail`` reads the summary alone."""
    store = Counting()
    summary = MemoryRecord(id=summary_key(scope), text="They spoke of tea.", user_id="ann", role="summary")
    store.put(scope.namespace, summary.id, summary.to_value())
    store.batches.clear()
    state = {"memory_plan": Plan(strategy=strategy, reason="", query="tea"), "messages": [HumanMessage("tea")]}
    update = retrieve_node(services(store)).invoke(state, RUN)
    searches = [op for batch in store.batches for op in batch if isinstance(op, SearchOp)]
    assert len(store.batches) == (0 if strategy == "none" else 1)
    assert (len(searches) > 0) == (strategy not in ("none", "tail"))
    assert (update["memory_summary"] == summary) == (strategy != "none")
    assert update["memory_hits"] == []


def node_finds(store: BaseStore, strategy: Any, query: str = QUERY, **config: Any) -> list[str]:
    """The texts that the node finds under a plan."""
    plan = Plan(strategy=strategy, reason="", query=query)
    state = {"memory_plan": plan, "messages": [HumanMessage(query or "what did we discuss last time?")]}
    return texts(retrieve_node(services(store, **config)).invoke(state, RUN)["memory_hits"])


def test_the_plan_says_which_roles_are_recalled(store: BaseStore, put: Put) -> None:
    """Documents where they are named, archives where a trigger asks; never the thread's own archive."""
    put("green tea fact", thread_id="now")
    put("green tea archived", role="archive", thread_id="old")
    put("green tea before", role="archive", thread_id="now")
    put("green tea document", role="document")
    fact, archived, document = "green tea fact", "green tea archived", "green tea document"
    assert node_finds(store, "memory") == [fact]
    assert node_finds(store, "documents") == [document, fact]
    assert node_finds(store, "archive") == [archived, fact]
    assert node_finds(store, "memory", recall_scope="thread") == [fact]
    assert node_finds(store, "archive", recall_scope="thread") == [archived, fact]


def test_a_bare_question_for_the_last_time_lists_archives(store: BaseStore, put: Put) -> None:
    """ "What did we discuss last time?" has no words to search by."""
    put("pottery and travel", role="archive", thread_id="old")
    assert "pottery and travel" in node_finds(store, "archive", query="")


async def test_the_node_is_the_same_in_async(store: BaseStore, put: Put) -> None:
    """And it makes its own plan where none was made."""
    put("green tea")
    node, state = retrieve_node(services(store)), {"messages": [HumanMessage(QUERY)]}
    update = await node.ainvoke(state, RUN)
    assert texts(update["memory_hits"]) == ["green tea"]
    assert texts(node.invoke(state, RUN)["memory_hits"]) == ["green tea"]


def test_a_summary_that_was_deleted_is_not_read(store: BaseStore, put: Put, scope: Scope) -> None:
    """A tombstone under the summary's key is no summary."""
    put("forgotten", id=summary_key(scope), role="summary", status="deleted", thread_id="now")
    state = {"memory_plan": Plan(strategy="tail", reason=""), "messages": [HumanMessage("go on")]}
    assert retrieve_node(services(store)).invoke(state, RUN)["memory_summary"] is None


def test_a_store_that_fails_costs_memory_and_not_the_turn() -> None:
    """The failure stands in the report; ``strict`` raises it."""

    class Broken(InMemoryStore):
        def batch(self, ops: Any) -> list[Any]:
            raise OSError("disk full")

    state = {"messages": [HumanMessage(QUERY)]}
    update = retrieve_node(services(Broken())).invoke(state, RUN)
    assert (update["memory_hits"], update["memory_summary"]) == ([], None)
    assert "disk full" in update["memory_report"]["warnings"][0]
    with pytest.raises(OSError, match="disk full"):
        retrieve_node(services(Broken(), strict=True)).invoke(state, RUN)
