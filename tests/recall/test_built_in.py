"""The built-in reranker over hits of any store."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.config import MemoryConfig
from langmem_plus.providers.token_bits import local_token_encoder
from langmem_plus.recall.built_in import CROWD, crowding, find_bits, judge
from langmem_plus.recall.candidates import neighbours, sessions
from langmem_plus.recall.rerank import rerank
from langmem_plus.recall.weights import ROWS, choose_row
from langmem_plus.records import MemoryHit, MemoryRecord

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
MakeHit = Callable[..., MemoryHit]


def turn(make: MakeHit, text: str, number: int, position: int = 0, **fields: object) -> MemoryHit:
    """A turn of a thread."""
    metadata = {"turn": number, "position": position, "name": fields.pop("name", None)}
    return make(text, role="assistant" if position else "user", metadata=metadata, **{"thread_id": "t", **fields})


def test_shares_add_up(hit: MakeHit) -> None:
    """What each feature gave a hit is its place below the best, and stands in its scores."""
    hits = [hit("she drinks green tea"), hit("green fields in May"), hit("I hike")]
    judged = judge("who drinks green tea in May?", hits, NOW)
    assert np.allclose(sum(judged.shares.values()), judged.order)
    assert judged.order.max() == 1
    kept, _ = rerank("who drinks green tea in May?", hits, MemoryConfig(), NOW)
    assert kept[0].scores["bQ"] > 0
    assert judged.row == "words"


def test_rows_follow_what_is_there(hit: MakeHit) -> None:
    """Token bits, sentence vectors, turn vectors, words; each row holds features that exist."""
    assert judge("tea", [hit("tea", {"cosine": 0.5}), hit("b", {"cosine": 0.1})], NOW).row == "turn vectors"
    assert choose_row({"msb", "smax", "dT"}).name == "token bits"
    assert choose_row({"smax"}).name == "sentence vectors"
    assert all(weight >= 0 for row in ROWS for weight in row.weights.values())


def test_neighbours_are_those_of_the_thread(hit: MakeHit) -> None:
    """Whatever order they come in; not over a gap, nor into another thread, nor to a fact."""
    hits = [
        turn(hit, "c", 2),
        turn(hit, "a", 1),
        turn(hit, "b", 1, 1),
        turn(hit, "d", 4),
        turn(hit, "e", 2, 1, thread_id="u"),
        hit("fact", thread_id="t"),
    ]
    before, after = neighbours(hits)
    assert before.tolist() == [2, 6, 1, 6, 6, 6]
    assert after.tolist() == [6, 2, 0, 6, 6, 6]
    assert sessions(hits).tolist() == [0, 0, 0, 0, 1, 0]


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(0, 4)), max_size=30))
def test_better_hits_of_a_session_are_counted(found: list[tuple[float, int]]) -> None:
    """For each hit those above it in its own session; the best of each session has none."""
    totals, numbers = np.array([total for total, _ in found]), np.array([number for _, number in found], np.int64)
    crowd = crowding(totals, numbers, np.arange(len(totals)))
    for place, (total, number) in enumerate(found):
        above = [n for n, (other, session) in enumerate(found) if session == number and (-other, n) < (-total, place)]
        assert crowd[place] == min(len(above), CROWD)


def test_what_a_session_repeats_makes_room_for_another(hit: MakeHit) -> None:
    """Of hits that answer as well, those come first whose session hasn't been heard; by words alone, none gives way."""
    hits = [hit("Tea with honey is what I like", thread_id=thread) for thread in "aabb"]
    encoder = local_token_encoder()
    if encoder is not None:
        order = judge("who likes tea with honey?", hits, NOW, encoder, 10).order
        assert order[0] == order[2] == 1
        assert order[1] == order[3] < 1
    assert judge("who likes tea with honey?", hits, NOW).order.tolist() == [1, 1, 1, 1]


def test_nothing_to_judge(hit: MakeHit) -> None:
    """No hits, and a question without words."""
    assert judge("tea", [], NOW).order.tolist() == []
    assert judge("", [hit("a"), hit("b")], NOW).order.tolist() == [0, 0]


@pytest.mark.parametrize("reranker", ["none", "builtin"])
def test_none_keeps_the_stores_order(hit: MakeHit, reranker: str) -> None:
    """The built-in reranker prefers who says it."""
    scores = {"cosine": 0.6, "coverage": 0.5}
    hits = [
        turn(hit, "you like tea", 1, name="Bob", id="bob").model_copy(update={"scores": {**scores, "store": 1.0}}),
        turn(hit, "I like tea", 3, name="Ann", id="ann").model_copy(update={"scores": {**scores, "store": 0.9}}),
    ]
    kept, _ = rerank("Does Ann like tea?", hits, MemoryConfig(reranker=reranker), NOW)
    assert kept[0].record.id == ("bob" if reranker == "none" else "ann")


LANGUAGES = [
    (
        "Wie heißt mein Hund?",
        "Mein Hund heißt Rex.",
        ["Ich wohne in Lyon.", "Der Zug kam heute zu spät.", "Ich mag Tee."],
    ),
    (
        "¿Dónde vivo?",
        "Vivo en Madrid desde enero.",
        ["Mi perro se llama Rex.", "El tren llegó tarde.", "Me gusta el té."],
    ),
    ("我住在哪里？", "我住在上海。", ["我的狗叫小白。", "火车今天晚点了。", "我喜欢喝茶。"]),
    ("我的狗叫什么名字？", "我的狗叫小白。", ["我住在上海。", "火车今天晚点了。", "我喜欢喝茶。"]),
    ("Comment s'appelle ma fille ?", "Ma fille s'appelle Zoé.", ["J'habite à Lyon.", "Le train est en retard."]),
]


@pytest.mark.parametrize(("question", "answer", "others"), LANGUAGES)
def test_other_languages_lose_nothing(hit: MakeHit, question: str, answer: str, others: list[str]) -> None:
    """What the store puts first by words stays first, with token bits and without."""
    hits = [hit(text, {"store": 0.2, "cosine": 0.2, "coverage": 0.0}) for text in others]
    hits.insert(1, hit(answer, {"store": 1.0, "cosine": 0.5, "coverage": 0.6}))
    for encoder in (None, local_token_encoder()):
        judged = judge(question, hits, NOW, encoder, 10)
        assert int(judged.order.argmax()) == 1, judged


def test_the_local_model_reads_a_bounded_number(hit: MakeHit) -> None:
    """The store's best first; those that it handed bits out for aren't read."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    hits = [hit(f"a bounded text {number}", {"store": number / 10}) for number in range(4)]
    bits = find_bits(hits, encoder, 2)
    assert [each is not None for each in bits] == [False, False, True, True]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.sampled_from("tu")), max_size=8))
def test_neighbours_answer_each_other(places: list[tuple[int, int, str]]) -> None:
    """What comes before me comes after me for the other one."""
    hits = [
        MemoryHit(
            record=MemoryRecord(
                id=str(n),
                text="x",
                user_id="a",
                role="user",
                thread_id=thread,
                metadata={"turn": number, "position": at},
            )
        )
        for n, (number, at, thread) in enumerate(places)
    ]
    before, after = neighbours(hits)
    for here, place in enumerate(before.tolist()):
        assert place == len(hits) or after[place] == here


def test_the_order_of_hits_says_nothing(hit: MakeHit) -> None:
    """Of equals in one conversation, the newer one isn't the one that makes room, however they are handed in."""
    said = [
        hit(
            "I like tea.",
            {"cosine": 0.5},
            id=f"m{age}",
            role="user",
            thread_id="t",
            observed_at=NOW - dt.timedelta(days=age),
        )
        for age in (9, 1, 4)
    ]
    other = hit("I like hiking.", {"cosine": 0.1}, id="other", role="user", thread_id="u")
    for hits in itertools.permutations([*said, other]):
        judged = judge("tea", list(hits), NOW)
        order = sorted(zip(judged.order.tolist(), [each.record.id for each in hits], strict=True), reverse=True)
        assert [id for _, id in order] == ["m1", "m4", "m9", "other"]
