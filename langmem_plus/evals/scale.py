"""A corpus of any size, made by a generator: short personal memories, and questions of which the answers are known.

Each memory is a function of the seed and its number alone, so a prefix of a larger corpus is the smaller one, and any
part can be made by itself. A few users own many memories, as in life. The words stand in ``scale.toml``.
"""

from __future__ import annotations

import functools
import itertools
import random
import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from langchain_core.embeddings import Embeddings

HASH_DIMENSIONS = 384
_LARGE_USERS = 1.7  # the exponent that gives a few users many memories
_STABLE_WEIGHT = 0.25  # how often somebody speaks of what there is one of, against all else
_PRIME, _BITS = 2_654_435_761, 40
_HASHES = 4  # dimensions that each word touches
_AMOUNT, _DAYS = 3000, 28


@dataclass(frozen=True)
class ScaleMemory:
    """One memory of the corpus: its number, whose it is, what it says, and the slot that it fills."""

    id: int
    user: str
    text: str
    slot: tuple[str, str]
    question: str
    answer: str


class ScaleQuestion(NamedTuple):
    """A question of a user, the newest memory that answers it, and the older ones that it outdates."""

    text: str
    user: str
    gold: int
    stale: tuple[int, ...]


@functools.cache
def _language() -> dict[str, Any]:
    language = tomllib.loads(files(__package__).joinpath("scale.toml").read_text(encoding="utf-8"))
    language["words"] = {name: line.split(" | ") for name, line in language["words"].items()}
    language["words"] = {name: [word.strip() for word in words] for name, words in language["words"].items()}
    language["weights"] = [_STABLE_WEIGHT if topic.get("stable") else 1.0 for topic in language["topics"]]
    return language


class _Parts(dict[str, str]):
    """Draws a word for each name that a sentence has in it, once."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self._draw, self._words = draw, _language()["words"]

    def __missing__(self, name: str) -> str:
        draw, words = self._draw, self._words
        if name == "name":  # a proper name that nobody has: an open vocabulary
            syllables = [draw.choice(words["syllable"]) for _ in range(draw.choice((1, 2, 2)))]
            self[name] = "".join([draw.choice(words["first_syllable"]), *syllables]).capitalize()
        elif name == "amount":
            self[name] = str(draw.randrange(15, _AMOUNT))
        elif name == "date":
            self[name] = f"{draw.randint(1, _DAYS)} {draw.choice(words['month'])} {draw.choice(words['year'])}"
        else:
            self[name] = draw.choice(words[name])
        return self[name]


def memory(number: int, users: int, seed: int = 0) -> ScaleMemory:
    """One memory of a corpus.

    Args:
        number: which, from 0.
        users: how many people the corpus has.
        seed: which corpus.
    """
    language, draw = _language(), random.Random((seed << _BITS) ^ (number * _PRIME % (1 << _BITS)))
    owner = f"u{min(int(users * draw.random() ** _LARGE_USERS), users - 1)}"
    topic = draw.choices(language["topics"], language["weights"])[0]
    value = topic["value"].format_map(_Parts(draw))
    parts = _Parts(draw)
    parts["value"] = value
    said = topic["statement"].format_map(parts)
    tail = draw.choice(language["said"]["tails"]).format_map(_Parts(draw))
    text = f"{draw.choice(language['said']['openings'])}{said}.{tail}"
    question = topic["question"].format_map(parts)
    slot = (owner, topic["name"] if topic.get("stable") else question)
    return ScaleMemory(number, owner, text[0].upper() + text[1:], slot, question, value)


def memories(count: int, users: int, seed: int = 0) -> Iterator[ScaleMemory]:
    """The first memories of a corpus."""
    return (memory(number, users, seed) for number in range(count))


def questions(count: int, users: int, wanted: int, seed: int = 0) -> list[ScaleQuestion]:
    """Questions over the first ``count`` memories; the answer to each is the newest memory of its slot."""
    slots: dict[tuple[str, str], list[int]] = {}
    for each in memories(count, users, seed):
        slots.setdefault(each.slot, []).append(each.id)
    found = []
    for slot in random.Random(seed + 1).sample(sorted(slots), min(wanted, len(slots))):
        *stale, gold = slots[slot]
        newest = memory(gold, users, seed)
        found.append(ScaleQuestion(newest.question, newest.user, gold, tuple(stale)))
    return found


class HashEmbeddings(Embeddings):
    """Vectors from hashed words and pairs of words: likeness in words, at no cost. For load, not for quality.

    A query that was embedded before is looked up, so that a measurement leaves its embedding out.

    Attributes:
        embedded: how many texts were embedded so far.
    """

    def __init__(self, dimensions: int = HASH_DIMENSIONS) -> None:
        self.dimensions = dimensions
        self.embedded = 0
        self._queries: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of some texts, unit length."""
        self.embedded += len(texts)
        return [self.vector(text).tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        if text not in self._queries:
            self._queries[text] = self.vector(text).tolist()
        return self._queries[text]

    def vector(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        """A text's vector, as an array."""
        single = [word.strip(".,:'").lower() for word in text.split()]
        vector = np.zeros(self.dimensions, np.float32)
        for term in (*single, *(f"{first} {second}" for first, second in itertools.pairwise(single))):
            state = zlib.crc32(term.encode())
            for _ in range(_HASHES):
                state = (state * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
                vector[state % self.dimensions] += 1.0 if state & 0x10000 else -1.0
        length = float(np.linalg.norm(vector))
        return vector / length if length else vector
