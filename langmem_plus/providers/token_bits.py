"""Late interaction at 48 bytes a token: the sign bits of a text's token vectors, compared with a question's tokens.

A text keeps, of each token that says something (its rarity is above `STORED_RARITY`), the signs of the local model's
token vector minus a fixed mean; and of each of its sentences the signs of what the mean of its token vectors says
beyond the text's own vector. All of them come from the forward pass that gives that vector. A question keeps its
vectors as they are. Another embedder of the store changes nothing here: the bits are always the local model's.

Rarities and means ship as data (``data/minilm``); ``python -m langmem_plus.evals.token_table`` makes them.

Source: Khattab, Zaharia (2020), "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction";
Günther et al. (2024), "Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding Models".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from langmem_plus.config import MemoryConfig
from langmem_plus.providers.embeddings import find_local
from langmem_plus.providers.minilm import DATA, MAX_TOKENS, FloatArray, LocalEmbeddings, TokenVectors
from langmem_plus.providers.recent import Recent
from langmem_plus.text import SENTENCE
from langmem_plus.tokens import encodable

Bits = NDArray[np.uint8]

STORED_RARITY = 3.2
# What a question's piece must have for its own to be looked for.
ASKED_RARITY = 2.0
# A long text is read piece by piece, since the model sees 256 tokens at a time; more than so many aren't read.
PIECES = 8
SENTENCES = 32
# A word that the model knows whole is English where people use it often, or where it is long and they use it at all:
# so many letters at least, and a rarity below.
FAMILIAR = ((4, 7.0), (7, 10.0))
_PIECE = 8_000  # characters, of which the model sees the beginning
# Rows that are multiplied at a time: so few that the linear algebra library keeps to one thread, since calling others
# takes longer than the work, and very long where all cores are busy.
_BLOCK = 16
_KEPT_TEXTS = 20_000
_KEPT_QUESTIONS = 256
_AT_ONCE = 128  # texts whose token vectors are held at a time, up to 50 MB
# In a forward pass of the whole text each token tells of all: so much of the text's vector is taken off a sentence's
# own, which finds about as much as sentences that are read one by one.
TEXT_SHARE = 0.6
# "Ann: I moved." says who speaks, which isn't what the sentence says.
_SPEAKER = re.compile(r"[^\n:.!?]{1,40}: ")
_BLANK = re.compile(r"\s*")


@dataclass(frozen=True)
class TokenTable:
    """What is known of a model's word pieces from text.

    Attributes:
        rarity: inverse document frequency of each piece of the vocabulary, shape (vocabulary,), 0 for unknown ones.
        mean: the mean token vector, shape (dims,).
        sentence_mean: the mean unit vector of sentences, shape (dims,).
        beyond_mean: the mean of what `beyond` gives for them, shape (dims,).
    """

    rarity: FloatArray
    mean: FloatArray
    sentence_mean: FloatArray
    beyond_mean: FloatArray


@functools.cache
def load_table(folder: Path = DATA) -> TokenTable:
    """The table that ships with the package."""
    rarity = np.load(folder / "rarity.npy").astype(np.float32)
    return TokenTable(rarity, *np.load(folder / "means.npy").astype(np.float32))


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

    @staticmethod
    def joined(parts: Sequence[TextBits]) -> TextBits:
        """The bits of several texts as those of one."""
        if len(parts) == 1:
            return parts[0]
        return TextBits(np.concatenate([part.tokens for part in parts]), np.concatenate([p.sentences for p in parts]))


@dataclass(frozen=True)
class AskedTokens:
    """A question: its pieces' unit vectors, shape (n, dims), their rarities, shape (n,), its own vector minus the mean
    of sentences, shape (dims,), unit length, into how many further pieces its words break, on average, and how many of
    them are familiar ones.
    """

    tokens: FloatArray
    rarity: FloatArray
    sentence: FloatArray
    broken: float = 0.0
    familiar: int = 0


class TokenEncoder(Embeddings):
    """The local model's embeddings, which also gives the bits of texts; what was read lately is remembered.

    Calls from several threads at a time are fine.
    """

    in_process = True

    def __init__(self, embeddings: LocalEmbeddings, table: TokenTable | None = None) -> None:
        self.embeddings = embeddings
        self.table = table or load_table()
        self._texts: Recent[str, TextBits] = Recent(_KEPT_TEXTS)
        self._questions: Recent[str, AskedTokens] = Recent(_KEPT_QUESTIONS)

    @property
    def model_id(self) -> str:
        """The name that bits are kept under."""
        return f"{self.embeddings.model_id}:bits1"

    @property
    def dims(self) -> int:
        """The number of bits in a row."""
        return len(self.table.mean)

    def known(self, text: str) -> TextBits | None:
        """A text's bits, where it was read lately."""
        return self._texts.get(encodable(text))

    def read(self, texts: Sequence[str]) -> list[TextBits]:
        """The bits of some texts, in their order."""
        texts = list(map(encodable, texts))  # as an embedder is given them
        missing = [text for text in dict.fromkeys(texts) if self._texts.get(text) is None]
        made = dict(zip(missing, self._read(missing)[1], strict=True))
        return [made.get(text) or self._texts.get(text) or self._read([text])[1][0] for text in texts]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of the texts; their bits come from the same forward passes, and are `known` then."""
        return [vector.tolist() for vector in self._read(texts)[0]]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, which is read once for this and for `ask`."""
        return self.embeddings.embed_query(text)

    def ask(self, question: str) -> AskedTokens:
        """A question's token vectors."""
        found = self._questions.get(question)
        if found is None:
            read = self.embeddings.read_query(question)
            found = AskedTokens(
                _unit(read.tokens - self.table.mean),
                self.table.rarity[read.ids],
                _unit(read.vector - self.table.sentence_mean),
                broken(question, read),
                familiar(question, read, self.table.rarity),
            )
            self._questions.put(question, found)
        return found

    def _read(self, texts: Sequence[str]) -> tuple[list[FloatArray], list[TextBits]]:
        """The texts' vectors and bits."""
        vectors: list[FloatArray] = []
        bits: list[TextBits] = []
        for start in range(0, len(texts), _AT_ONCE):
            some, theirs = self._read_some(texts[start : start + _AT_ONCE])
            vectors += some
            bits += theirs
        return vectors, bits

    def _read_some(self, texts: Sequence[str]) -> tuple[list[FloatArray], list[TextBits]]:
        """Each round reads one piece of the texts that aren't at their end."""
        vectors: list[FloatArray] = []
        tokens: list[list[Bits]] = [[] for _ in texts]
        sentences: list[list[FloatArray]] = [[] for _ in texts]
        todo = [(place, _begin(text, 0)) for place, text in enumerate(texts)]
        for _ in range(PIECES):
            parts = [texts[place][start : start + _PIECE] for place, start in todo]
            read = self.embeddings.read_tokens(parts) if parts else []
            vectors = vectors or [piece.vector for piece in read]
            further = []
            for (place, start), text, piece in zip(todo, parts, read, strict=True):
                found, end = split(text, piece)
                stored = (self.table.rarity[piece.ids] > STORED_RARITY) & (piece.spans[:, 0] < end)
                tokens[place].append(np.packbits(piece.tokens[stored] > self.table.mean, axis=1))
                sentences[place] += [beyond(mean_of(piece, part), vectors[place]) for part in found]
                begin = _begin(texts[place], start + end)
                further += [(place, begin)] if begin < len(texts[place]) else []
            todo = further
        bits = []
        for place, text in enumerate(texts):
            said = np.array(sentences[place][:SENTENCES] or [vectors[place]], np.float32)
            bits.append(TextBits(np.concatenate(tokens[place]), np.packbits(said > self.table.beyond_mean, axis=1)))
            self._texts.put(text, bits[-1])
        return vectors, bits


def _begin(text: str, start: int) -> int:
    """Where the next piece begins: what is blank isn't read."""
    found = _BLANK.match(text, start)
    return found.end() if found else start


def split(text: str, read: TokenVectors) -> tuple[list[slice], int]:
    """The sentences of what the model saw of a text, each as a slice of its tokens, and how far in the text that goes:
    to its end, or to where the sentence begins that the model saw the beginning of. The speaker's name is in none.
    """
    speaker = _SPEAKER.match(text)
    body = speaker.end() if speaker else 0
    places = [(found.start(), found.end()) for found in SENTENCE.finditer(text, body) if len(found[0].strip()) > 1]
    end = len(text)
    if len(read.ids) >= MAX_TOKENS - 2:
        seen = int(read.spans[-1, 1])
        begun = next((start for start, stop in places if start < seen < stop), seen)
        end = begun or seen
    starts = read.spans[:, 0]
    slices = [
        slice(*np.searchsorted(starts, (start, min(stop, end))).tolist()) for start, stop in places if start < end
    ]
    return [tokens for tokens in slices if tokens.stop > tokens.start], end


def broken(text: str, read: TokenVectors) -> float:
    """Into how many further pieces the words of a text break, on average: 0 to 0.3 in the model's own language, more in
    others. Names break in any language, so only words that begin small count.
    """
    words = pieces = 0
    begins_small, end = False, -1
    for start, stop in read.spans.tolist():
        if not text[start:stop].isalnum():
            end = -1
            continue
        if start == end:
            pieces += begins_small
        else:
            begins_small = text[start].islower()
            words += begins_small
        end = stop
    return pieces / max(words, 1)


def familiar(text: str, read: TokenVectors, rarity: FloatArray) -> int:
    """How many words of a text the model knows whole that people use often, or that are long and used at all."""
    pieces = [
        (start, stop, rare)
        for (start, stop), rare in zip(read.spans.tolist(), rarity[read.ids].tolist(), strict=True)
        if text[start:stop].isalpha()
    ]
    starts, stops = {start for start, _, _ in pieces}, {stop for _, stop, _ in pieces}
    whole = [(stop - start, rare) for start, stop, rare in pieces if start not in stops and stop not in starts]
    return sum(any(length >= letters and rare < bound for letters, bound in FAMILIAR) for length, rare in whole)


def mean_of(read: TokenVectors, sentence: slice) -> FloatArray:
    """A sentence's unit vector within its text."""
    return _unit(read.tokens[sentence].mean(axis=0))


def beyond(sentence: FloatArray, text: FloatArray) -> FloatArray:
    """What a sentence says beyond its text: its unit vector without a share of the text's, of unit length."""
    return _unit(sentence - np.float32(TEXT_SHARE) * text)


def similarities(asked: FloatArray, documents: Sequence[Bits]) -> FloatArray:
    """For each document and each vector that is asked for, the greatest cosine to one of the document's rows of bits.

    Args:
        asked: unit vectors, shape (n, dims).
        documents: packed bits, shape (rows, dims / 8) each.

    Returns:
        shape (documents, n); 0 for a document without rows.
    """
    counts = np.array([len(rows) for rows in documents], np.int64)
    found, total = np.zeros((len(documents), len(asked)), np.float32), int(counts.sum())
    if not total or not len(asked):
        return found
    held, dims = counts > 0, asked.shape[1]
    # Arrays are buffers. This takes a third of what `np.concatenate` does for so many small ones.
    filling = bytes(-total % _BLOCK * (dims // 8))
    packed = np.frombuffer(b"".join([*documents, filling]), np.uint8)  # type: ignore[list-item]
    bits = np.unpackbits(packed).astype(np.float32).reshape(-1, _BLOCK, dims)
    products = (bits @ asked.T).reshape(-1, len(asked))[:total]
    best = np.maximum.reduceat(products, np.cumsum(counts[held]) - counts[held], axis=0)
    # Signs are 2·bit - 1, and their length is √dims.
    found[held] = (2 * best - asked.sum(axis=1)) / np.float32(dims**0.5)
    return found


def make_token_encoder(config: MemoryConfig) -> TokenEncoder | None:
    """What the settings mean: None where no token bits are wanted, or no vectors at all, or where there is no local
    model to make them.
    """
    wanted = config.rerank_bits != "none" and config.embeddings.strip().lower() not in ("", "none")
    return local_token_encoder() if wanted else None


@functools.cache
def local_token_encoder() -> TokenEncoder | None:
    """The encoder of this process, or None where there is no local model. Nothing is loaded before its first use."""
    embeddings, _ = find_local()
    return None if embeddings is None else TokenEncoder(embeddings)


def _unit(vectors: FloatArray) -> FloatArray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: FloatArray = (vectors / np.maximum(length, 1e-12)).astype(np.float32)
    return unit
