"""The bag-of-words embedder: near when words are shared, the same everywhere, and able to fail."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.testing import BagOfWordsEmbeddings


@given(st.text())
def test_vectors_have_unit_length(text: str) -> None:
    """Any text, even one without words, has a vector of length 1, in numbers that are never negative."""
    (vector,) = BagOfWordsEmbeddings(dims=16).embed_documents([text])
    assert len(vector) == 16
    assert math.sqrt(sum(number * number for number in vector)) == pytest.approx(1.0)
    assert min(vector) >= 0


@given(st.text())
def test_a_text_is_nearest_to_itself(text: str) -> None:
    """A document and a query of the same text have the same vector."""
    embedder = BagOfWordsEmbeddings()
    assert embedder.embed_documents([text])[0] == embedder.embed_query(text)
    assert embedder.similarity(text, text) == pytest.approx(1.0)


def test_shared_words_bring_texts_closer() -> None:
    """The more words two texts share, the closer they are; none shared is 0."""
    embedder = BagOfWordsEmbeddings()
    query = "my wife is called anne"
    near = [embedder.similarity(query, text) for text in ("Anne is my wife", "my wife", "my dog", "quantum physics")]
    assert near == sorted(near, reverse=True)
    assert len(set(near)) == 4
    assert near[-1] == 0


def test_case_and_punctuation_do_not_count() -> None:
    """Words are compared without them."""
    assert BagOfWordsEmbeddings().similarity("Green tea, please!", "please: GREEN tea") == pytest.approx(1.0)


def test_scripts_without_spaces_are_read_by_character() -> None:
    """A Chinese question finds a Chinese answer."""
    embedder = BagOfWordsEmbeddings()
    assert embedder.similarity("我喜欢喝茶", "你喜欢什么") > 0.3 > embedder.similarity("我喜欢喝茶", "量子力学")


def test_vectors_are_the_same_in_every_process() -> None:
    """Python's salted hashes play no part."""
    code = "from langmem_plus.testing import BagOfWordsEmbeddings as B; print(B(8).embed_query('green tea'))"
    ran = [
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert ran == [f"{BagOfWordsEmbeddings(8).embed_query('green tea')}\n"] * 2


async def test_calls_are_recorded() -> None:
    """Batches, queries and async calls are told apart, and can be forgotten."""
    embedder = BagOfWordsEmbeddings()
    embedder.embed_documents(["a", "b"])
    await embedder.aembed_documents(["c"])
    embedder.embed_query("d")
    await embedder.aembed_query("e")
    embedder.similarity("f", "g")
    assert (embedder.documents, embedder.texts) == ([["a", "b"], ["c"]], ["a", "b", "c"])
    assert (embedder.queries, embedder.async_calls) == (["d", "e"], 2)
    embedder.clear()
    assert (embedder.documents, embedder.queries, embedder.async_calls) == ([], [], 0)


async def test_it_fails_as_it_is_told() -> None:
    """An exception, a vector too few, vectors too long; each until it is told otherwise."""
    embedder = BagOfWordsEmbeddings(dims=8, fail=ConnectionError("down"))
    with pytest.raises(ConnectionError, match="down"):
        embedder.embed_documents(["a"])
    with pytest.raises(ConnectionError, match="down"):
        await embedder.aembed_query("a")
    embedder.fail = "count"
    assert len(embedder.embed_documents(["a", "b"])) == 1
    assert embedder.embed_documents(["a"]) == []
    embedder.fail = "dims"
    assert [len(vector) for vector in await embedder.aembed_documents(["a", "b"])] == [9, 9]
    assert len(embedder.embed_query("a")) == 9
    embedder.fail = None
    assert [len(vector) for vector in embedder.embed_documents(["a", "b"])] == [8, 8]
    assert len(embedder.documents) == 5
