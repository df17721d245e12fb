"""Vectors for a store: checked, remembered, and an outage is no error."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from langmem_plus.errors import EmbeddingError
from langmem_plus.store.embedding import Needs, TextEmbedder, Vectors
from langmem_plus.testing.embeddings import BagOfWordsEmbeddings


class Answers(Embeddings):
    """Answers whatever it is told to."""

    def __init__(self, documents: Any, query: Any = (1.0, 0.0)) -> None:
        self.documents, self.query = documents, query
        self.asked: list[str] = []

    def embed_documents(self, texts: list[str]) -> Any:
        """What it was told, whatever it is asked."""
        self.asked += texts
        return self.documents

    def embed_query(self, text: str) -> Any:
        """As above."""
        self.asked.append(text)
        return self.query


@pytest.fixture(params=["sync", "async"])
def fulfil(request: pytest.FixtureRequest) -> Any:
    """Both halves."""

    def run(embedder: TextEmbedder, needs: Needs) -> Vectors:
        if request.param == "sync":
            return embedder.fulfil(needs)
        return asyncio.run(embedder.afulfil(needs))

    return run


def test_vectors_have_unit_length(fulfil: Any) -> None:
    """However long the embedder's are, and however large; a zero vector stays one."""
    embedder = TextEmbedder(Answers([[3.0, 4.0], [0.0, 0.0], [3e30, 4e30], [3e-30, 4e-30]], [0, 2]), "m", None)
    vectors = fulfil(embedder, Needs(texts=["a", "b", "c", "d"], queries=["q"]))
    for text in "acd":
        assert vectors.texts[text].tolist() == pytest.approx([0.6, 0.8])
        assert vectors.texts[text].dtype == np.float32
    assert vectors.texts["b"].tolist() == [0, 0]
    assert vectors.queries["q"].tolist() == [0, 1]


@pytest.mark.parametrize(
    "answer",
    [
        [[1.0, 0.0]],
        [],
        [[1.0, 0.0], [1.0, 0.0, 0.0]],
        [[1.0, 0.0], [1.0, float("nan")]],
        [[1.0, 0.0], [1.0, float("inf")]],
        [[1.0, 0.0], 1.0],
        [[1.0, 0.0], ["a", "b"]],
        [[1.0, 0.0], None],
        [[1.0, 0.0], [[1.0], [0.0, 1.0]]],
    ],
    ids=repr,
)
def test_a_wrong_answer_to_a_strict_one_is_an_error(fulfil: Any, answer: Any) -> None:
    """The wrong number, size or kind of vectors: nothing is written, and the message names the embedder."""
    with pytest.raises(EmbeddingError, match="some-model"):
        fulfil(TextEmbedder(Answers(answer), "some-model", 2, strict=True), Needs(texts=["a", "b"]))


@pytest.mark.parametrize(
    ("answer", "good", "remedy"),
    [
        ([[1.0, 0.0], [1.0, 0.0, 0.0]], ["a"], "shape (3,), not (2,): set dims"),
        ([[float("inf"), 1.0], [1.0, 0.0]], ["b"], "a vector with inf, which is no number to compare by: mend"),
        ([[1.0, float("nan")], [1.0]], [], "a vector with nan, which is no number to compare by: mend"),
        ([[1.0, 0.0], None], ["a"], "set dims"),
    ],
    ids=repr,
)
def test_a_wrong_vector_takes_no_other_with_it(
    fulfil: Any, answer: Any, good: list[str], remedy: str, caplog: Any
) -> None:
    """Those that are right are kept; one warning names an item whose vector is wrong, and says what to do."""
    places = {"a": (("n", "x"), "key a"), "b": (("n", "x"), "key b")}
    embedder = TextEmbedder(Answers(answer), "some-model", 2)
    assert list(fulfil(embedder, Needs(texts=["a", "b"], places=places)).texts) == good
    bad = next(text for text in "ab" if text not in good)
    (told,) = caplog.records
    assert f"'key {bad}' in ('n', 'x')" in told.message
    assert remedy in told.message
    assert len(embedder.refused) == 2 - len(good)
    assert fulfil(embedder, Needs(texts=["a", "b"], places=places)).texts.keys() == set(good)
    assert len(caplog.records) == 1


@pytest.mark.parametrize("answer", [[[1.0]], [[1.0, 0.0, 0.0]], [], [[float("nan"), 0.0]]], ids=repr)
def test_a_wrong_answer_for_what_waits_is_only_told(fulfil: Any, answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    """It waits on; questions and writes of the same call aren't disturbed, not even with a strict one."""
    embedder = TextEmbedder(Answers(answer), "m", 2, strict=True)
    vectors = fulfil(embedder, Needs(backlog=["late"], queries=["q"]))
    assert vectors.texts == {}
    assert list(vectors.queries) == ["q"]
    assert "found by its words" in caplog.text
    assert embedder.refused.find("late").times == 1


def test_a_wrong_answer_for_a_question_leaves_it_to_the_words(fulfil: Any) -> None:
    """It is no error, it isn't remembered, and a question beside it keeps its vector."""
    answers = Answers([], query=[1.0])
    embedder = TextEmbedder(answers, "m", 2)
    assert fulfil(embedder, Needs(queries=["q"])).queries == {}
    answers.query = [0.0, 1.0]
    assert list(fulfil(embedder, Needs(queries=["q"])).queries) == ["q"]


def test_questions_are_embedded_once(fulfil: Any) -> None:
    """The same question again costs nothing."""
    answers = Answers([])
    embedder = TextEmbedder(answers, "m", None)
    for _ in range(3):
        assert list(fulfil(embedder, Needs(queries=["a", "b"])).queries) == ["a", "b"]
    assert answers.asked == ["a", "b"]


def test_more_questions_than_are_remembered_all_get_their_vector(fulfil: Any) -> None:
    """One batch may ask any number of them."""
    questions = [f"question {n}" for n in range(700)]
    vectors = fulfil(TextEmbedder(BagOfWordsEmbeddings(), "m", None), Needs(queries=questions))
    assert list(vectors.queries) == questions


def test_an_outage_is_told_once_and_is_no_error(fulfil: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing has a vector then; when the embedder is up again, its next outage is told again."""
    inner = BagOfWordsEmbeddings(fail=ConnectionError("no route"))
    embedder = TextEmbedder(inner, "some-model", None)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            vectors = fulfil(embedder, Needs(texts=["a"], backlog=["b"], queries=["q"]))
            assert (vectors.texts, vectors.queries) == ({}, {})
        assert [record.message.count("some-model is down") for record in caplog.records] == [1]
        inner.fail = None
        assert set(fulfil(embedder, Needs(texts=["a"], backlog=["b"])).texts) == {"a", "b"}
        inner.fail = TimeoutError()
        fulfil(embedder, Needs(texts=["a"]))
    assert len(caplog.records) == 2


def test_what_waits_is_not_tried_while_questions_fail(fulfil: Any) -> None:
    """A search waits for a dead embedder once, not twice."""
    inner = BagOfWordsEmbeddings(fail=TimeoutError())
    fulfil(TextEmbedder(inner, "m", None), Needs(backlog=["b"], queries=["q"]))
    assert (inner.queries, inner.documents) == (["q"], [])


def test_broken_text_is_sent_as_text_that_has_utf8(fulfil: Any) -> None:
    """Half of a surrogate pair would make an embedder fail for the whole batch."""
    answers = Answers([[1.0, 0.0]])
    vectors = fulfil(TextEmbedder(answers, "m", None), Needs(texts=["a\ud83d"], queries=["\udc00?"]))
    assert answers.asked == ["a?", "??"]
    assert list(vectors.texts) == ["a\ud83d"]
    assert list(vectors.queries) == ["\udc00?"]


def test_nothing_to_embed_asks_nothing(fulfil: Any) -> None:
    """A batch of reads costs no call."""
    answers = Answers(None, None)
    assert fulfil(TextEmbedder(answers, "m", None), Needs()) == Vectors({}, {})
    assert answers.asked == []


class Picky(BagOfWordsEmbeddings):
    """Refuses each batch with certain texts in it."""

    def __init__(self, bad: set[str], error: Exception | None = None) -> None:
        super().__init__()
        self.bad, self.error = bad, error or ValueError("too long")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """As it is told."""
        found = super().embed_documents(texts)
        if self.bad.intersection(texts):
            raise self.error
        return found


class Status(Exception):
    """An error of a provider's client."""

    def __init__(self, status_code: int) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code


@pytest.mark.parametrize(
    "error", [ValueError("too long"), RuntimeError("token ids"), Status(400), Status(413)], ids=str
)
@pytest.mark.parametrize(
    "bad", [{"text 0"}, {"text 17"}, {"text 63"}, {"text 5", "text 40"}], ids=lambda bad: " and ".join(sorted(bad))
)
def test_a_text_that_is_refused_takes_no_other_with_it(fulfil: Any, bad: set[str], error: Exception) -> None:
    """Whatever the embedder raises for it; the others have their vectors after a bounded number of calls."""
    texts = [f"text {n}" for n in range(64)]
    inner = Picky(bad, error)
    embedder = TextEmbedder(inner, "m", None)
    assert fulfil(embedder, Needs(texts=texts)).texts.keys() == set(texts) - bad
    assert len(inner.documents) <= 1 + 12 * len(bad)
    assert {text for text in texts if embedder.refused.find(text)} == bad
    assert not embedder.breaker.is_open


@pytest.mark.parametrize("error", [ValueError("no"), RuntimeError("no")], ids=repr)
def test_an_embedder_that_refuses_everything_costs_a_bounded_number_of_calls(fulfil: Any, error: Exception) -> None:
    """It isn't asked text by text."""
    inner = BagOfWordsEmbeddings(fail=error)
    embedder = TextEmbedder(inner, "m", None, failures=1)
    assert fulfil(embedder, Needs(texts=[f"text {n}" for n in range(500)], queries=["q"])).texts == {}
    assert len(inner.documents) <= 20
    assert embedder.breaker.is_open
    assert inner.queries == []


@pytest.mark.parametrize("error", [ConnectionError(), TimeoutError(), Status(503), Status(429), Status(401)], ids=repr)
def test_an_outage_is_not_searched_for_its_text(fulfil: Any, error: Exception) -> None:
    """One call, and none for the question beside it: nobody waits for two time-outs."""
    inner = BagOfWordsEmbeddings(fail=error)
    fulfil(TextEmbedder(inner, "m", None), Needs(texts=["a", "b", "c"], queries=["q"]))
    assert (len(inner.documents), inner.queries) == (1, [])


def test_a_dead_embedder_is_left_alone(fulfil: Any, caplog: pytest.LogCaptureFixture) -> None:
    """After some failures in a row nothing is asked until the pause is over; then one call tells, and one warning."""
    inner = BagOfWordsEmbeddings(fail=ConnectionError("no route"))
    embedder = TextEmbedder(inner, "m", None, failures=3, pause=10)
    now = 0.0
    embedder.breaker._clock = lambda: now
    for _ in range(50):
        fulfil(embedder, Needs(texts=["a"], queries=["q"]))
    assert len(inner.documents) == 3
    now = 11.0
    for _ in range(5):
        fulfil(embedder, Needs(queries=["q"]))
    assert len(inner.queries) == 1
    inner.fail = None
    assert fulfil(embedder, Needs(queries=["q"])).queries == {}
    now = 32.0
    assert list(fulfil(embedder, Needs(queries=["q"], texts=["a"])).queries) == ["q"]
    assert [record.levelname for record in caplog.records].count("WARNING") == 1


def test_an_embedder_that_changes_its_size_is_believed_the_second_time(fulfil: Any) -> None:
    """Another model may stand behind its name now; a single odd vector is only that."""
    answers = Answers([[1.0, 0.0]])
    embedder = TextEmbedder(answers, "m", None)
    assert fulfil(embedder, Needs(texts=["a"])).texts["a"].shape == (2,)
    answers.documents = [[1.0, 0.0, 0.0]]
    assert fulfil(embedder, Needs(texts=["b"])).texts == {}
    answers.documents = [[1.0, 0.0]]
    assert fulfil(embedder, Needs(texts=["c"])).texts["c"].shape == (2,)
    answers.documents = [[1.0, 0.0, 0.0]]
    assert fulfil(embedder, Needs(texts=["d"])).texts == {}
    assert fulfil(embedder, Needs(texts=["e"])).texts["e"].shape == (3,)
    assert embedder.size == 3
