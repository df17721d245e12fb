"""Late interaction over sign bits: what is kept of a text, and how a question's tokens are compared with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.config import MemoryConfig
from langmem_plus.providers.minilm import TokenVectors
from langmem_plus.providers.token_bits import (
    PIECE_CHARACTERS,
    PIECES,
    SENTENCES,
    Spoken,
    TextBits,
    TokenEncoder,
    TokenTable,
    load_table,
    local_token_encoder,
    make_token_encoder,
    similarities,
    split,
)

DIMS = 16


class Letters:
    """A model whose tokens are a text's letters, each with its own vector."""

    model_id = "letters"

    def __init__(self) -> None:
        self.read: list[str] = []
        self.vectors = np.random.default_rng(0).normal(size=(128, DIMS)).astype(np.float32)

    def read_tokens(self, texts: list[str]) -> list[TokenVectors]:
        """A vector a letter."""
        self.read += texts
        ids = [np.array([min(ord(letter), 127) for letter in text], np.int64) for text in texts]
        return [TokenVectors(self.vectors[each].mean(axis=0), each, self.vectors[each]) for each in ids]

    def read_query(self, text: str) -> TokenVectors:
        """The same of one text."""
        return self.read_tokens([text])[0]


@pytest.fixture
def letters() -> Letters:
    """The model."""
    return Letters()


@pytest.fixture
def encoder(letters: Letters) -> TokenEncoder:
    """An encoder over it, for which vowels say nothing."""
    rarity = np.full(128, 5, np.float32)
    rarity[[ord(vowel) for vowel in "aeiou :."]] = 1
    zero = np.zeros(DIMS, np.float32)
    model: Any = letters
    return TokenEncoder(model, TokenTable(rarity, zero, zero))


def test_only_tokens_that_say_something_are_kept(encoder: TokenEncoder) -> None:
    """One row a token, packed, and one a sentence."""
    bits = encoder.read([Spoken("lyon. rex.")])[0]
    assert bits.tokens.shape == (3 + 2, DIMS // 8)  # l, y, n and r, x
    assert bits.sentences.shape == (2, DIMS // 8)


def test_a_text_finds_its_own_tokens(encoder: TokenEncoder) -> None:
    """A token is nearest to the text that holds it."""
    texts = encoder.read([Spoken("rx"), Spoken("bcd")])
    cosines = similarities(encoder.ask("rx").tokens, [bits.tokens for bits in texts])
    assert (cosines[0] > cosines[1]).all()


def test_what_was_read_is_remembered(encoder: TokenEncoder, letters: Letters) -> None:
    """Texts by their words and speaker, questions by their words."""
    encoder.read([Spoken("rex", "Ann"), Spoken("rex", "Ann")])
    encoder.ask("rex?")
    before = list(letters.read)
    assert encoder.known(Spoken("rex", "Ann")) is encoder.read([Spoken("rex", "Ann")])[0]
    encoder.ask("rex?")
    assert letters.read == before
    assert encoder.known(Spoken("rex", "Bob")) is None


def test_one_sentence_is_read_once(encoder: TokenEncoder, letters: Letters) -> None:
    """It is its own text."""
    encoder.read([Spoken("I live in Lyon.", "Ann")])
    assert letters.read == ["Ann: I live in Lyon."]


@given(st.text(max_size=6000), st.sampled_from(["", "Ann"]))
def test_long_texts_are_read_in_bounded_pieces(text: str, name: str) -> None:
    """Whatever the text, the model is given few pieces that it can see whole."""
    pieces, sentences = split(Spoken(text, name))
    assert 1 <= len(pieces) <= PIECES
    assert 1 <= len(sentences) <= SENTENCES
    assert all(len(part) <= 2 * PIECE_CHARACTERS for part in (*pieces, *sentences))


@given(st.integers(0, 40), st.integers(0, 9), st.randoms())
def test_bits_come_back_from_bytes(tokens: int, sentences: int, random: Any) -> None:
    """As they were."""
    rows = np.frombuffer(random.randbytes((tokens + sentences) * 48), np.uint8).reshape(-1, 48)
    made = TextBits.from_bytes(TextBits(rows[:tokens], rows[tokens:]).to_bytes(), 384)
    assert np.array_equal(made.tokens, rows[:tokens])
    assert np.array_equal(made.sentences, rows[tokens:])


def test_broken_bytes_are_refused() -> None:
    """Rather than read as other rows."""
    with pytest.raises(ValueError, match="should hold 3"):
        TextBits.from_bytes((3).to_bytes(2, "little") + bytes(48), 384)


@given(st.lists(st.integers(0, 5), max_size=6), st.integers(0, 4), st.integers(0, 1000))
def test_similarities_are_the_best_cosines(counts: list[int], asked: int, seed: int) -> None:
    """As computed one by one; 0 for a text without tokens."""
    draw = np.random.default_rng(seed)
    documents = [draw.integers(0, 256, (count, DIMS // 8), dtype=np.uint8) for count in counts]
    vectors = draw.normal(size=(asked, DIMS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) if asked else 1
    found = similarities(vectors, documents)
    assert found.shape == (len(counts), asked)
    for row, bits in zip(found, documents, strict=True):
        signs = np.unpackbits(bits, axis=1).astype(np.float32) * 2 - 1
        expected = (signs @ vectors.T / DIMS**0.5).max(axis=0) if len(bits) else np.zeros(asked)
        assert np.allclose(row, expected, atol=1e-5)


def test_the_table_that_ships_is_the_models() -> None:
    """One rarity a word piece; marks and unknown pieces say nothing; names are rarer than articles."""
    table = load_table()
    assert table.rarity.shape == (30_522,)
    assert table.mean.shape == table.sentence_mean.shape == (384,)
    assert table.rarity[[0, 100, 101, 102, 103]].tolist() == [0] * 5
    assert np.isfinite(table.rarity).all()


def test_a_search_and_its_reranking_read_a_question_once() -> None:
    """The vector is the one that the embedder gives to texts, and a second look costs nothing."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    question = "Where does the red fox sleep?"
    vector = encoder.embeddings.embed_query(question)
    assert np.allclose(vector, encoder.embeddings.embed_documents([question])[0], atol=1e-6)
    assert encoder.embeddings.read_query(question) is encoder.embeddings.read_query(question)


def test_a_setting_goes_without() -> None:
    """Bits of the local model, or none."""
    assert make_token_encoder(MemoryConfig(rerank_bits="none")) is None
    assert make_token_encoder(MemoryConfig()) is local_token_encoder()


def test_the_local_model_finds_what_is_meant() -> None:
    """The sentence that answers, in other words than the question's."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    texts = [Spoken("My dog is called Rex."), Spoken("I had soup for lunch."), Spoken("The train was late.")]
    asked = encoder.ask("What is the name of my puppy?")
    cosines = similarities(asked.tokens, [bits.tokens for bits in encoder.read(texts)])
    assert int((cosines @ asked.rarity).argmax()) == 0
