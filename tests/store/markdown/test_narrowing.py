"""A recall's candidates are chosen from more than are read, by fused score and token bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import SearchOp

from langmem_plus.config import MemoryConfig
from langmem_plus.providers import TextBits, TokenEncoder
from langmem_plus.providers.late_interaction import ask_for_order
from langmem_plus.providers.token_bits import AskedTokens, local_token_encoder
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown import narrowing
from langmem_plus.store.markdown.narrowing import LOOKED_AT, Order, narrowed, question_tokens, widened
from langmem_plus.store.search import Fused
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings

DIMS = 16


def fused(scores: Any) -> Fused:
    """Rows with these scores."""
    score = np.asarray(scores, np.float32)
    return Fused(np.arange(len(score)), score, score, score, score)


def one_token(*signs: int) -> TextBits:
    """A text of one token: so many of its first bits are set."""
    bits = np.zeros((1, DIMS), np.uint8)
    bits[0, : signs[0]] = 1
    packed = np.packbits(bits, axis=1)
    return TextBits(packed, packed)


ASKED = AskedTokens(
    np.full((1, DIMS), DIMS**-0.5, np.float32), np.array([5.0], np.float32), np.full(DIMS, DIMS**-0.5, np.float32)
)


def test_near_texts_come_before_better_fused_ones() -> None:
    """Of equal fused scores the nearer one is read; what lies beyond those looked at keeps its place."""
    many = fused(np.linspace(1, 0.9, LOOKED_AT + 50))
    order = narrowed(many, ASKED, 10, lambda rows: [one_token(DIMS if row == LOOKED_AT - 20 else 0) for row in rows])
    assert order.page(0, 10)[0] == LOOKED_AT - 20
    assert order.page(LOOKED_AT, 5).tolist() == list(range(LOOKED_AT, LOOKED_AT + 5))


def test_what_has_no_bits_is_judged_by_its_fused_score() -> None:
    """A memory whose bits aren't made yet isn't lost among those that have them."""
    some = fused([1.0, *np.linspace(0.5, 0.1, 80)])
    order = narrowed(some, ASKED, 5, lambda rows: [None if row == 0 else one_token(row % DIMS) for row in rows])
    assert order.page(0, 5)[0] == 0


def test_who_wants_everything_reads_it_in_fused_order() -> None:
    """Nothing is compared where nothing is left out."""

    def bits_of(rows: Any) -> Any:
        raise AssertionError("no bits are needed")

    assert narrowed(fused([0.1, 0.9]), ASKED, 2, bits_of).page(0, 9).tolist() == [1, 0]
    assert len(narrowed(fused(np.ones(600)), ASKED, LOOKED_AT, bits_of)) == 600


@settings(max_examples=40, deadline=None)
@given(
    scores=st.lists(st.floats(0, 1, width=32), max_size=40),
    size=st.integers(1, 9),
    first=st.integers(0, 40),
    seed=st.randoms(use_true_random=False),
)
def test_pages_hold_every_row_once(scores: list[float], size: int, first: int, seed: Any) -> None:
    """However the first rows are ordered, and wherever they end."""
    found = fused(scores)
    rows = found.best(min(first, len(scores))).tolist()
    seed.shuffle(rows)
    order, seen = Order(found, np.array(rows, np.int64)), list[int]()
    while len(seen) < len(order):
        page = order.page(len(seen), size).tolist()
        assert 0 < len(page) <= size
        seen += page
    assert sorted(seen) == list(range(len(scores)))
    assert seen[: len(rows)] == rows


def test_a_model_that_fails_leaves_the_fused_scores_to_choose(encoder: TokenEncoder, monkeypatch: Any) -> None:
    """A recall goes on without it."""

    def fail(self: TokenEncoder, question: str) -> AskedTokens:
        raise RuntimeError("no memory left")

    assert question_tokens(None, "r x") is None
    assert question_tokens(encoder, "r x") is not None
    monkeypatch.setattr(TokenEncoder, "ask", fail)
    assert question_tokens(encoder, "r x") is None


def test_a_recall_finds_what_fusion_ranks_too_low(tmp_path: Any, record: Any, ns: Any, monkeypatch: Any) -> None:
    """Searched as a recall searches; a plain search ranks by the fused score as ever."""
    if local_token_encoder() is None:
        pytest.skip("there is no local model")
    monkeypatch.setattr(narrowing, "LOOKED_AT", 30)
    config = MemoryConfig(embed_in_background=False, versioning=False, start_watcher=False, dense_weight=0.0)
    with MarkdownStore(tmp_path / "memory", config=config) as store:
        store.put(ns, "gold", record("gold", "My veterinarian is Dr. Osei, who treats our parrot."))
        for n in range(24):
            where = "trip" if n % 8 == 0 else "parade"
            store.put(ns, f"k{n}", record(f"k{n}", f"The weather report number {n} says where the {where} may go."))
        op = SearchOp(ns, query="which vet sees the bird before the trip?", limit=5)
        (chosen,) = store.batch([store.exactly(op, narrowed=True)])
        (plain,), (whole,) = store.batch([op]), store.batch([op._replace(limit=25)])
        assert "gold" in [item.key for item in chosen]
        assert "gold" not in [item.key for item in plain]
        assert len(chosen) == len(plain) == 5
        assert {item.key: item.score for item in chosen}.items() <= {item.key: item.score for item in whole}.items()
        assert ask_for_order(local_token_encoder(), op.query or "") is not None


def test_without_token_bits_more_candidates_are_given(open_store: Any, ns: Any, record: Any) -> None:
    """The caller has to choose from them; a plain search keeps to its limit."""
    store = open_store(None)
    for n in range(20):
        store.put(ns, f"k{n}", record(f"k{n}", f"green tea, cup {n}"))
    op = SearchOp(ns, query="green tea", limit=3)
    (wide,), (exact,) = store.batch([store.exactly(op, narrowed=True)]), store.batch([store.exactly(op)])
    assert (len(wide), len(exact)) == (12, 3)
    assert wide[:3] == exact
    assert (widened(1000), widened(50), widened(100), widened(1)) == (1000, 200, 250, 4)


@pytest.mark.parametrize(
    ("limit", "narrowed", "approximate"), [(50, True, True), (100, False, True), (200, False, False)]
)
def test_a_recall_without_bits_still_asks_the_approximate_index(
    open_store: Any, ns: Any, record: Any, monkeypatch: Any, limit: int, narrowed: bool, approximate: bool
) -> None:
    """However many more candidates it is given; a plain search that goes so deep is exact."""
    asked: list[bool] = []
    store = open_store(BagOfWordsEmbeddings(), rerank_bits="none")
    store.put(ns, "a", record("a", "green tea"))
    monkeypatch.setattr(store._engine.room(ns), "nearest", lambda query, filtered: asked.append(filtered))
    op = SearchOp(ns, query="green tea", limit=limit)
    (found,) = store.batch([store.exactly(op, narrowed=narrowed)])
    assert [item.key for item in found] == ["a"]
    assert bool(asked) == approximate
