"""Late interaction over sign bits: what is kept of a text, and how a question's tokens are compared with it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langmem_plus.config import MemoryConfig
from langmem_plus.providers.minilm import DATA
from langmem_plus.providers.token_bits import (
    PIECES,
    SENTENCES,
    TEXT_SHARE,
    TextBits,
    TokenEncoder,
    TokenTable,
    load_table,
    local_token_encoder,
    make_token_encoder,
    similarities,
)

DIMS = 16


def test_only_tokens_that_say_something_are_kept(encoder: TokenEncoder) -> None:
    """One row a token, packed, and one a sentence."""
    bits = encoder.read(["lyon. rex."])[0]
    assert bits.tokens.shape == (3 + 2, DIMS // 8)  # l, y, n and r, x
    assert bits.sentences.shape == (2, DIMS // 8)


def test_a_text_finds_its_own_tokens(encoder: TokenEncoder) -> None:
    """A token is nearest to the text that holds it."""
    texts = encoder.read(["rx", "bcd"])
    cosines = similarities(encoder.ask("rx").tokens, [bits.tokens for bits in texts])
    assert (cosines[0] > cosines[1]).all()


def test_what_was_read_is_remembered(encoder: TokenEncoder, letters: Any) -> None:
    """Texts by their words and speaker, questions by their words."""
    encoder.read(["Ann: rex", "Ann: rex"])
    encoder.ask("rex?")
    before = list(letters.read)
    assert encoder.known("Ann: rex") is encoder.read(["Ann: rex"])[0]
    encoder.ask("rex?")
    assert letters.read == before
    assert encoder.known("Bob: rex") is None


def test_one_pass_gives_vector_and_bits(encoder: TokenEncoder, letters: Any) -> None:
    """What is embedded is read once, and its bits are known; its sentences need no passes of their own."""
    text = "I live in Lyon. My dog is called Rex."
    vector = encoder.embed_documents([text])[0]
    assert letters.read == [text]
    assert np.allclose(vector, letters.read_tokens([text])[0].vector)
    bits = encoder.known(text)
    assert bits is not None
    assert len(bits.sentences) == 2


def test_a_sentence_is_what_it_says_beyond_its_text(encoder: TokenEncoder, letters: Any) -> None:
    """Signs of the mean of its tokens without a share of the text's vector, compared with their mean (zero here); the
    speaker's name is no part of it.
    """
    bits = encoder.read(["Bob: bcd. fgh!"])[0]
    whole = letters.read_tokens(["Bob: bcd. fgh!"])[0].vector
    for row, sentence in zip(bits.sentences, ("bcd.", " fgh!"), strict=True):
        mean = letters.vectors[[ord(letter) for letter in sentence]].mean(axis=0)
        expected = mean / np.linalg.norm(mean) - TEXT_SHARE * whole > 0
        assert np.array_equal(np.unpackbits(row).astype(bool), expected)


@pytest.mark.parametrize(
    ("question", "foreign"),
    [
        ("Where does my cousin work?", False),
        ("Did Zuleika Zanzibarquux move to Ougadougou?", False),
        ("Wo arbeitet meine Schwester seit letzter Woche?", True),
        ("¿En qué trabajaba mi abuela de joven?", True),
        ("Comment s'appelle le chien de ma voisine ?", True),
    ],
)
def test_words_break_in_languages_that_the_model_does_not_know(question: str, foreign: bool) -> None:
    """Names break in any."""
    real = local_token_encoder()
    if real is None:
        pytest.skip("the packaged model isn't installed")
    assert (real.ask(question).broken > 0.3) == foreign


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text("ab. !\n", max_size=6000))
def test_long_texts_are_read_to_their_end(make_letters: Callable[[], Any], text: str) -> None:
    """Piece by piece, each as long as the model sees; a sentence that is cut is read again, and no token is lost."""
    model = make_letters()
    zero = np.zeros(DIMS, np.float32)
    encoder = TokenEncoder(model, TokenTable(np.full(128, 5, np.float32), zero, zero, zero))
    bits = encoder.read([text])[0]
    assert 1 <= len(bits.sentences) <= SENTENCES
    assert len(model.read) <= PIECES
    if len(model.read) < PIECES:
        assert len(bits.tokens) >= len("".join(text.split()))


def test_what_lies_behind_the_models_sight_is_found(encoder: TokenEncoder) -> None:
    """A text's last words count, as far as pieces go."""
    bits = encoder.read(["a" * 600 + ". xyz."])[0]
    assert similarities(encoder.ask("xyz").tokens, [bits.tokens]).min() > 0.5


def test_texts_are_joined(encoder: TokenEncoder) -> None:
    """Bits of several are those of one."""
    one, other = encoder.read(["lyon.", "rex."])
    joined = TextBits.joined([one, other])
    assert (len(joined.tokens), len(joined.sentences)) == (len(one.tokens) + len(other.tokens), 2)
    assert TextBits.joined([one]) is one


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
    assert make_token_encoder(MemoryConfig(embeddings="none")) is None
    assert make_token_encoder(MemoryConfig()) is local_token_encoder()


def test_the_local_model_finds_what_is_meant() -> None:
    """The sentence that answers, in other words than the question's."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    texts = ["My dog is called Rex.", "I had soup for lunch.", "The train was late."]
    asked = encoder.ask("What is the name of my puppy?")
    cosines = similarities(asked.tokens, [bits.tokens for bits in encoder.read(texts)])
    assert int((cosines @ asked.rarity).argmax()) == 0


def test_many_texts_are_read_some_at_a_time(
    encoder: TokenEncoder, letters: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that not all of their token vectors are held; each text has its own vector and bits."""
    together: list[int] = []
    read = letters.read_tokens
    monkeypatch.setattr(letters, "read_tokens", lambda texts: (together.append(len(texts)), read(texts))[1])
    texts = [f"bcd {number}" for number in range(300)]
    vectors = encoder.embed_documents(texts)
    assert max(together) <= 128
    assert np.allclose(vectors, [each.vector for each in read(texts)])
    assert [len(bits.tokens) for bits in encoder.read(texts)] == [len(text) - 1 for text in texts]


def test_runs_of_dots_are_read_in_one_go(encoder: TokenEncoder) -> None:
    """Each is looked at once, not once for each before it."""
    assert len(encoder.read(["a" + "." * 100_000 + "x"])[0].sentences) >= 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system doesn't fork")
def test_a_forked_child_can_go_on(encoder: TokenEncoder) -> None:
    """Also where a thread of the parent held the locks just then."""
    real = local_token_encoder()
    locks = [encoder._texts._lock, *([real.embeddings._lock] if real is not None else [])]
    for lock in locks:
        assert lock.acquire(timeout=10)
    child = os.fork()
    if child == 0:
        free = encoder._texts._lock.acquire(timeout=5)
        free = free and (real is None or real.embeddings._lock.acquire(timeout=5))
        os._exit(0 if free else 1)
    for lock in locks:
        lock.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_bits_are_and_their_name_change_together(encoder: TokenEncoder) -> None:
    """Stores hold bits of older versions under the name: where this fails, give the bits another one."""
    read = encoder.read(["Ann: lyn. rex? bcd xyz! " * 40, "lyon", "", " \n lyn"])
    data = [(DATA / name).read_bytes() for name in ("rarity.npy", "means.npy")]
    told = hashlib.sha256(b"".join([*(bits.to_bytes() for bits in read), *data])).hexdigest()[:16]
    assert (encoder.model_id, told) == ("letters:bits1", "fc1c5881ff3f706c")


def test_half_a_character_and_blanks_are_read_as_an_embedder_reads_them(encoder: TokenEncoder) -> None:
    """What is known of a text doesn't depend on how it came here."""
    encoder.embed_documents(["lyn?"])
    assert encoder.known("lyn\ud800") is not None
    read, ends = encoder.read([" " * 20_000 + "lyn" + "\n" * 20_000 + "rx", "lynrx"])
    assert np.array_equal(read.tokens[[0, 1, 2, -2, -1]], ends.tokens)
