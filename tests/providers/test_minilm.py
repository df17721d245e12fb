"""The packaged model: the same vector for the same text, sensible nearness, and no surprise from its files."""

from __future__ import annotations

import dataclasses
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from langmem_plus.errors import ConfigError
from langmem_plus.providers.minilm import FORWARD_TEXTS, MAX_TOKENS, LocalEmbeddings, ModelFiles, find_packaged


@pytest.fixture(scope="module")
def packaged() -> ModelFiles:
    """The files of the packaged model."""
    found = find_packaged()
    assert found is not None
    return found


@pytest.fixture(scope="module")
def local(packaged: ModelFiles) -> LocalEmbeddings:
    """The embedder, loaded once."""
    return LocalEmbeddings(packaged)


def test_the_package_holds_tokenizer_and_licence(packaged: ModelFiles) -> None:
    """The tokenizer lies in this package with its licence and origin."""
    licence = (packaged.tokenizer.parent / "LICENSE").read_text(encoding="utf-8")
    assert "sentence-transformers" in licence and "Apache License" in licence and "END OF TERMS" in licence
    assert packaged.tokenizer_sha256 is not None and packaged.tokenizer_sha256 in licence


def test_vectors_are_unit_length(local: LocalEmbeddings) -> None:
    """384 numbers of length 1, as float32 and as lists, also for empty and odd texts."""
    vectors = local.embed(["My wife is Anne", "", "我的妻子叫安妮", "\ud83d", "x" * 5000])
    assert vectors.shape == (5, 384) and vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0] * 5, abs=1e-5)
    assert type(local.embed_query("tea")[0]) is float


def test_a_known_vector(local: LocalEmbeddings) -> None:
    """The vectors are the model's own: their first numbers were taken from a run of the original weights' export."""
    pairs = [
        ("I love coffee", "I hate coffee", 0.795),
        ("A man is eating food.", "A man is eating a piece of bread.", 0.75),
    ]
    for one, other, cosine in pairs:
        first, second = local.embed([one, other])
        assert float(first @ second) == pytest.approx(cosine, abs=0.02)


def test_equal_texts_have_equal_vectors(local: LocalEmbeddings) -> None:
    """Alone, in a batch, beside longer texts or in another order, a text's vector is the same."""
    texts = [f"text number {i}" + " and so on" * (i % 30) for i in range(3 * FORWARD_TEXTS + 5)]
    together = local.embed(texts)
    backwards = local.embed(texts[::-1])[::-1]
    alone = np.array([local.embed_query(text) for text in texts], dtype=np.float32)
    assert float((together * alone).sum(axis=1).min()) > 0.99999
    assert float((together * backwards).sum(axis=1).min()) > 0.99999


def test_meaning_is_near(local: LocalEmbeddings) -> None:
    """A question is nearer to its answer than to anything else."""
    facts = ["The user's wife is named Anne.", "The user lives in Lyon.", "The user is allergic to peanuts."]
    questions = ["Who is my spouse?", "In which city is my home?", "Which food must I avoid?"]
    scores = local.embed(questions) @ local.embed(facts).T
    assert scores.argmax(axis=1).tolist() == [0, 1, 2]


def test_long_texts_are_cut(local: LocalEmbeddings) -> None:
    """What stands after the first 256 tokens changes nothing."""
    words = "tea " * MAX_TOKENS
    assert local.embed_query(words + "coffee") == local.embed_query(words + "milk and honey")


def test_many_threads_share_one_model(packaged: ModelFiles) -> None:
    """Six threads that meet at the first use load one session and get the same vectors."""
    shared, found = LocalEmbeddings(packaged), []
    sessions: set[int] = set()

    def run() -> None:
        found.append(shared.embed(["tea", "coffee with milk"]))
        sessions.add(id(shared._load()[0]))

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and len(sessions) == 1
    assert all(np.array_equal(vectors, found[0]) for vectors in found)


async def test_it_embeds_without_holding_up_the_loop(local: LocalEmbeddings) -> None:
    """The async calls give the same vectors."""
    assert await local.aembed_query("tea") == local.embed_query("tea")
    assert await local.aembed_documents(["tea"]) == local.embed_documents(["tea"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_it_survives_a_fork(local: LocalEmbeddings) -> None:
    """A forked child embeds with the model that its parent loaded."""
    before = local.embed_query("tea")
    child = os.fork()
    if child == 0:
        os._exit(0 if local.embed_query("tea") == before else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("which", ["model", "tokenizer"])
def test_another_file_is_refused(packaged: ModelFiles, which: str, tmp_path: Path) -> None:
    """A file with another hash is never loaded, and the error says both hashes and what to do."""
    other = tmp_path / "other"
    other.write_bytes(b"something else")
    wrong = LocalEmbeddings(
        dataclasses.replace(packaged, model=other)
        if which == "model"
        else dataclasses.replace(packaged, tokenizer=other)
    )
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"sha256.*should be.*--force-reinstall"):
            wrong.embed(["tea"])


def test_a_broken_file_is_named(tmp_path: Path, packaged: ModelFiles) -> None:
    """What is no model, no tokenizer, or isn't there, is a ConfigError with its path."""
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ConfigError, match=r"model\.onnx.*onnxruntime"):
        LocalEmbeddings(ModelFiles(tmp_path / "model.onnx", packaged.tokenizer)).embed(["tea"])
    with pytest.raises(ConfigError, match=r"model\.onnx.*tokenizer"):
        LocalEmbeddings(ModelFiles(packaged.model, tmp_path / "model.onnx")).embed(["tea"])
    with pytest.raises(ConfigError, match="can't be read"):
        assert LocalEmbeddings(ModelFiles(tmp_path / "gone.onnx", packaged.tokenizer)).model_id
