"""Late interaction at 48 bytes a token: the sign bits of a text's token vectors, compared with a question's tokens.

A text keeps, of each token that says something (its rarity is above `STORED_RARITY`), the signs of the local model's
token vector minus a fixed mean; and of each of its sentences the signs of the sentence's vector. The token vectors come
from the forward pass that gives the text's own vector. A question keeps its vectors as they are. Another embedder
of the store changes nothing here: the bits are always the local model's.

Rarities and means ship as data (``data/minilm``); ``python -m langmem_plus.evals.token_table`` makes them.

Source: Khattab, Zaharia (2020), "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction".
"""

from __future__ import annotations

import functools
import re
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from langmem_plus.config import MemoryConfig
from langmem_plus.providers.embeddings import find_local
from langmem_plus.providers.minilm import DATA, FloatArray, LocalEmbeddings

Bits = NDArray[np.uint8]
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

STORED_RARITY = 3.2
# What a question's piece must have for its own to be looked for.
ASKED_RARITY = 2.0
# A text is read piece by piece, since the model sees 256 tokens at a time; more than so much of it isn't read.
PIECE_CHARACTERS = 900
PIECES = 8
SENTENCES = 32
_KEPT_TEXTS = 20_000
_KEPT_QUESTIONS = 256
_SENTENCE = re.compile(r".+?(?:[!?！？؟⁇。…]+|\.+(?=\s|$)|\n|$)", re.DOTALL)


class Spoken(NamedTuple):
    """A text and who says it; questions ask by names."""

    text: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.text}" if self.name else self.text


@dataclass(frozen=True)
class TokenTable:
    """What is known of a model's word pieces from text.

    Attributes:
        rarity: inverse document frequency of each piece of the vocabulary, shape (vocabulary,), 0 for unknown ones.
        mean: the mean token vector, shape (dims,).
        sentence_mean: the mean unit vector of sentences, shape (dims,).
    """

    rarity: FloatArray
    mean: FloatArray
    sentence_mean: FloatArray


@functools.cache
def load_table(folder: Path = DATA) -> TokenTable:
    """The table that ships with the package."""
    rarity = np.load(folder / "rarity.npy").astype(np.float32)
    mean, sentence_mean = np.load(folder / "means.npy").astype(np.float32)
    return TokenTable(rarity, mean, sentence_mean)


@dataclass(frozen=True)
class TextBits:
    """A text's bits: one row a token and one a sentence, shape (n, dims / 8) each, packed."""

    tokens: Bits
    sentences: Bits

    def to_bytes(self) -> bytes:
        """As kept beside a record: the number of tokens in two bytes, then all rows."""
        return len(self.tokens).to_bytes(2, "little") + self.tokens.tobytes() + self.sentences.tobytes()

    @staticmethod
    def from_bytes(data: bytes, dims: int) -> TextBits:
        """What `to_bytes` gave.

        Raises:
            ValueError: the data isn't whole.
        """
        rows = np.frombuffer(data, np.uint8, offset=2).reshape(-1, dims // 8)
        count = int.from_bytes(data[:2], "little")
        if count > len(rows):
            raise ValueError(f"token bits hold {len(rows)} rows, and should hold {count} at least")
        return TextBits(rows[:count], rows[count:])


@dataclass(frozen=True)
class AskedTokens:
    """A question: its pieces' unit vectors, shape (n, dims), their rarities, shape (n,), and its own vector minus the
    mean of sentences, shape (dims,), unit length.
    """

    tokens: FloatArray
    rarity: FloatArray
    sentence: FloatArray


class TokenEncoder:
    """Texts and questions become bits and vectors; what was read before is remembered.

    Calls from several threads at a time are fine.
    """

    def __init__(self, embeddings: LocalEmbeddings, table: TokenTable | None = None) -> None:
        self.embeddings = embeddings
        self.table = table or load_table()
        self._texts: _Recent[Spoken, TextBits] = _Recent(_KEPT_TEXTS)
        self._questions: _Recent[str, AskedTokens] = _Recent(_KEPT_QUESTIONS)

    @property
    def model_id(self) -> str:
        """The name that bits are kept under."""
        return f"{self.embeddings.model_id}:bits1"

    def known(self, text: Spoken) -> TextBits | None:
        """A text's bits, where it was read before."""
        return self._texts.get(text)

    def read(self, texts: Sequence[Spoken]) -> list[TextBits]:
        """The bits of some texts, in their order."""
        missing = [text for text in dict.fromkeys(texts) if self._texts.get(text) is None]
        made = dict(zip(missing, self._read(missing), strict=True))
        for text, bits in made.items():
            self._texts.put(text, bits)
        return [made.get(text) or self._texts.get(text) or self._read([text])[0] for text in texts]

    def ask(self, question: str) -> AskedTokens:
        """A question's token vectors."""
        found = self._questions.get(question)
        if found is None:
            read = self.embeddings.read_query(question)
            found = AskedTokens(
                _unit(read.tokens - self.table.mean),
                self.table.rarity[read.ids],
                _unit(read.vector - self.table.sentence_mean),
            )
            self._questions.put(question, found)
        return found

    def _read(self, texts: Sequence[Spoken]) -> list[TextBits]:
        passages: list[str] = []
        plans: list[tuple[range, list[int]]] = []  # the passages whose tokens count, and those that are the sentences
        for text in texts:
            pieces, sentences = split(text)
            start = len(passages)
            passages += pieces
            whole = sentences == pieces[:1]  # one sentence is its text: nothing is read twice
            places = [start] if whole else list(range(len(passages), len(passages) + len(sentences)))
            passages += [] if whole else sentences
            plans.append((range(start, start + len(pieces)), places))
        read = self.embeddings.read_tokens(passages)
        table, made = self.table, []
        for pieces_read, places in plans:
            rows = [
                np.packbits(read[place].tokens[table.rarity[read[place].ids] > STORED_RARITY] > table.mean, axis=1)
                for place in pieces_read
            ]
            signs = np.array([read[place].vector for place in places], np.float32) > table.sentence_mean
            made.append(TextBits(np.concatenate(rows), np.packbits(signs, axis=1)))
        return made


def split(text: Spoken) -> tuple[list[str], list[str]]:
    """The pieces that a text is read in, and its sentences, each with the speaker's name before it.

    >>> split(Spoken("I moved. To Lyon!", "Ann"))
    (['Ann: I moved. To Lyon!'], ['Ann: I moved.', 'Ann: To Lyon!'])
    """
    said = [part.strip() for part in _SENTENCE.findall(text.text)]
    sentences = [part[:PIECE_CHARACTERS] for part in said if len(part) > 1] or [text.text[:PIECE_CHARACTERS]]
    if len(text.text) <= PIECE_CHARACTERS:
        pieces = [text.text]
    else:
        pieces = [""]
        for sentence in sentences:
            if len(pieces[-1]) + len(sentence) >= PIECE_CHARACTERS and pieces[-1]:
                pieces.append("")
            pieces[-1] = f"{pieces[-1]} {sentence}".strip()
    said_by = [[str(Spoken(part, text.name)) for part in parts] for parts in (pieces[:PIECES], sentences[:SENTENCES])]
    return said_by[0], said_by[1]


def similarities(asked: FloatArray, documents: Sequence[Bits]) -> FloatArray:
    """For each document and each vector that is asked for, the greatest cosine to one of the document's rows of bits.

    Args:
        asked: unit vectors, shape (n, dims).
        documents: packed bits, shape (rows, dims / 8) each.

    Returns:
        shape (documents, n); 0 for a document without rows.
    """
    counts = np.array([len(rows) for rows in documents], np.int64)
    found = np.zeros((len(documents), len(asked)), np.float32)
    if not counts.sum() or not len(asked):
        return found
    bits = np.unpackbits(np.concatenate([rows for rows in documents if len(rows)]), axis=1)
    # Signs are 2·bit - 1, and their length is √dims.
    cosines = (bits.astype(np.float32) @ asked.T * 2 - asked.sum(axis=1)) / np.float32(asked.shape[1] ** 0.5)
    starts = np.concatenate(([0], np.cumsum(counts[counts > 0])[:-1]))
    found[counts > 0] = np.maximum.reduceat(cosines, starts, axis=0)
    return found


def make_token_encoder(config: MemoryConfig) -> TokenEncoder | None:
    """What a setting means: None where no token bits are wanted, or where there is no local model to make them."""
    return None if config.rerank_bits == "none" else local_token_encoder()


@functools.cache
def local_token_encoder() -> TokenEncoder | None:
    """The encoder of this process, or None where there is no local model. Nothing is loaded before its first use."""
    embeddings, _ = find_local()
    return None if embeddings is None else TokenEncoder(embeddings)


def _unit(vectors: FloatArray) -> FloatArray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: FloatArray = (vectors / np.maximum(length, 1e-12)).astype(np.float32)
    return unit


class _Recent(Generic[Key, Value]):
    """The values that were asked for last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._size:
                self._values.popitem(last=False)
