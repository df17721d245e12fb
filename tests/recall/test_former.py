"""What a fact replaced speaks for it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import Item
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig, MemoryRecord, Scope
from langmem_plus.recall.built_in import Judged
from langmem_plus.recall.former import best_of, judged_for, spoken_for, today, with_formers
from langmem_plus.recall.items import Found, Wanted
from langmem_plus.recall.rerank import rerank
from langmem_plus.records import MemoryHit

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
SPACE = Scope("ann").namespace
OTHERS = ("I like tea.", "I love golf.", "I play tennis.", "I enjoy music.", "I hate rain.")
LOCAL, WORDS = MemoryConfig(background=False), MemoryConfig(background=False, embeddings="none")


@pytest.fixture(params=["files", "files, words alone", "memory"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryClient]:
    """A client without a language model."""
    store = InMemoryStore() if request.param == "memory" else tmp_path
    with MemoryClient(store, config=WORDS if "words" in request.param else LOCAL) as client:
        yield client


def say(client: MemoryClient, *texts: str) -> None:
    """Say something in one thread after another."""
    for place, text in enumerate(texts):
        client.add([{"role": "user", "content": text}], user_id="ann", thread_id=f"{place} {text}")


@pytest.mark.parametrize(
    ("told", "question"),
    [
        (["I live in Leeds.", "I moved to York."], "Where do I live?"),
        (["I live in Leeds.", "I moved to York.", "I moved to Hull."], "Where do I live?"),
        (["I work at Apple.", "I started at Google."], "Where do I work?"),
        (["J'habite à Lyon.", "J'ai déménagé à Paris."], "Où est-ce que j'habite ?"),
    ],
)
def test_a_change_answers_the_question_that_the_old_fact_answered(
    client: MemoryClient, told: list[str], question: str
) -> None:
    """However little its own words have in common with it; what was replaced isn't shown."""
    say(client, told[0], *OTHERS, *told[1:])
    context = client.explain(question, user_id="ann").context
    assert told[-1] in context
    assert not [old for old in told[:-1] if old in context]
    assert told[-1].rstrip(".") in client.search(question, user_id="ann")[0].text


def test_what_was_forgotten_speaks_for_nothing(client: MemoryClient) -> None:
    """Neither does what it replaced come back."""
    say(client, "I live in Leeds.", *OTHERS, "I moved to York.", "Forget where I live.")
    for known in client.list(user_id="ann", role="memory"):
        if "York" in known.text:
            client.forget(known.id, user_id="ann")
    found = "\n".join(hit.text for hit in client.search("Where do I live?", user_id="ann"))
    assert "Leeds" not in found
    assert "York" not in found


def test_a_ranking_by_the_stores_scores_alone_stays_as_it_is(tmp_path: Path) -> None:
    """Formulas that others published know of no replaced facts."""
    with MemoryClient(tmp_path, config=LOCAL.replace(relevance="minmax")) as client:
        say(client, "I live in Leeds.", "I moved to York.")
        (fact,) = [hit for hit in client.search("Where do I live?", user_id="ann") if hit.record.role == "memory"]
        assert fact.text.startswith("I moved to York")
        assert fact.former == ()


def make(id: str, replaced_by: str | None = None) -> MemoryHit:
    """A fact; one that was replaced holds no longer."""
    status = "superseded" if replaced_by else "active"
    record = MemoryRecord(id=id, text=id, user_id="ann", status=status, replaced_by=replaced_by, created_at=NOW)
    return MemoryHit(record=record, namespace=SPACE)


def followed(stored: list[MemoryHit], found: Found, hits: list[MemoryHit]) -> tuple[list[MemoryHit], int]:
    """What `today` makes of an answer, and how often it asked the store."""
    items = {hit.id: Item(value=hit.record.to_value(), key=hit.id, namespace=SPACE, created_at=NOW, updated_at=NOW)
             for hit in stored}  # fmt: skip
    steps, asked = today(Wanted(Scope("ann"), "q", 10, MemoryConfig(), NOW), found, hits), 0
    try:
        ops = next(steps)
        while True:
            asked += 1
            ops = steps.send([items.get(op.key) for op in ops])
    except StopIteration as end:
        return end.value, asked


def test_what_replaced_a_fact_is_read_where_the_search_did_not_find_it() -> None:
    """Over what stands between them, and nothing is asked where all of it was found."""
    old, between, new = make("old", "between"), make("between", "new"), make("new")
    hits, asked = followed([between, new], Found(ended=[old]), [])
    assert [(hit.id, [former.id for former in hit.former]) for hit in hits] == [("new", ["old"])]
    assert asked == 2
    assert followed([], Found(ended=[make("old", "new")]), [new])[1] == 0


@pytest.mark.parametrize("stored", [[], [make("new", "gone")], [make("new", "old")]], ids=["lost", "broken", "circle"])
def test_a_chain_that_ends_nowhere_leads_nowhere(stored: list[MemoryHit]) -> None:
    """And is followed no longer than it is."""
    other = make("other")
    hits, asked = followed(stored, Found(ended=[make("old", "new")]), [other])
    assert hits == [other]
    assert hits[0].former == ()
    assert asked <= 2


def test_what_may_not_be_recalled_is_no_successor() -> None:
    """What is over, or was asked to be left out."""
    over = make("new")
    over.record.expires_at = NOW - dt.timedelta(days=1)
    assert followed([over], Found(ended=[make("old", "new")]), [])[0] == []


@given(st.permutations(range(6)), st.integers(0, 5))
def test_each_replaced_fact_stands_with_what_holds_at_the_end_of_its_chain(order: list[int], start: int) -> None:
    """In whatever order they were found."""
    chain = [make(str(place), str(place + 1)) for place in range(6)]
    ended = [chain[place] for place in order]
    (hit,) = with_formers([make("6")], ended[start:], ended)
    assert hit.former == tuple(ended[start:])


def test_the_best_of_a_fact_and_what_it_replaced_counts() -> None:
    """In the order, in what each feature gave of it, and in what speaks for it at all."""
    first, second = make("first"), make("second").model_copy(update={"former": (make("a"), make("b"))})
    hits = [first, second]
    assert [hit.id for hit in spoken_for(hits)] == ["first", "second", "a", "b"]
    assert best_of(hits, [0.5, 0.1, 0.9, np.nan]).tolist() == [0.5, 0.9]
    judged = Judged(
        np.array([0.5, 0.1, 0.9, 0.3]),
        {"words": np.array([0.5, 0.0, 0.8, 0.3])},
        near=np.array([False, False, False, True]),
        sentences=np.array([np.nan, 0.2, np.nan, 0.4]),
    )
    told = judged_for(hits, judged)
    assert told.order.tolist() == [0.5, 0.9]
    assert told.shares["words"].tolist() == [0.5, 0.8]
    assert told.near is not None and told.near.tolist() == [False, True]
    assert told.sentences is not None and np.isnan(told.sentences[0]) and told.sentences[1] == 0.4
    assert judged_for([first, make("x"), make("y"), make("z")], judged) is judged


def test_a_reranking_model_reads_what_was_replaced() -> None:
    """Its best score counts for what holds."""
    texts: list[str] = []

    def score(query: str, documents: list[str]) -> list[float]:
        texts.extend(documents)
        return [0.9 if "old" in text else 0.1 for text in documents]

    hit = make("new").model_copy(update={"former": (make("old", "new"),)})
    kept, _ = rerank("q", [hit, make("other")], MemoryConfig(score_threshold=0.5), NOW, score)
    assert [each.id for each in kept] == ["new"]
    assert len(texts) == 3


@pytest.mark.parametrize(("batch", "read"), [(2, 2), (3, 3), (4, 4), (9, 4)])
def test_a_reranking_model_reads_no_more_than_a_batch(batch: int, read: int) -> None:
    """What was replaced takes the room that the hits leave."""
    texts: list[str] = []

    def score(query: str, documents: list[str]) -> list[float]:
        texts.extend(documents)
        return [0.5] * len(documents)

    hit = make("new").model_copy(update={"former": (make("a", "new"), make("b", "new"))})
    kept, _ = rerank("q", [hit, make("other")], MemoryConfig(rerank_batch=batch), NOW, score)
    assert len(texts) == read
    assert {each.id for each in kept} == {"new", "other"}
