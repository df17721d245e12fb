"""Exact search against Chroma's approximate one in a namespace of any size: what each costs, and what is missed."""

from __future__ import annotations

import itertools
import json
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from langmem_plus.config import MemoryConfig
from langmem_plus.evals.bench.rivals import BATCH, NEVER, namespace, ours, puts
from langmem_plus.evals.bench.store import in_new_process
from langmem_plus.evals.bench.timing import Times, resident, stopwatch, time_each
from langmem_plus.evals.scale import HASH_DIMENSIONS, HashEmbeddings, ScaleQuestion, memories, questions
from langmem_plus.store import MarkdownStore

K = 10
QUESTIONS = 200
_CLUSTERS = 200
_SPREAD = 0.8  # a vector's distance from the middle of its cluster, which is one from the origin
KINDS = ("clustered", "hashed")
_MODES = ("exact", "chroma")
_READY_SECONDS = 3600.0
_USER = "u0"


class ClusteredEmbeddings(HashEmbeddings):
    """Random vectors around the middles of some clusters, a function of the text alone: with a number in every
    dimension, as a model's have, and as hard for a graph of neighbours.
    """

    def __init__(self, dimensions: int = HASH_DIMENSIONS) -> None:
        super().__init__(dimensions)
        self._middles = np.random.default_rng(0).standard_normal((_CLUSTERS, dimensions), np.float32)
        self._middles /= np.linalg.norm(self._middles, axis=1, keepdims=True)

    def vector(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        """A text's vector."""
        state = zlib.crc32(text.encode())
        around = np.random.default_rng(state).standard_normal(self.dimensions, np.float32)
        vector = self._middles[state % _CLUSTERS] + _SPREAD * around / np.linalg.norm(around)
        return np.asarray(vector / np.linalg.norm(vector), np.float32)


@dataclass(frozen=True)
class Dense:
    """What one way to search costs in a namespace.

    Attributes:
        size: how many memories the namespace has.
        mode: ``exact`` or ``chroma``.
        fill: seconds until it answered, in the background, where something had to be filled.
        opened: seconds from opening the store that is there to the first answer.
        vectors: milliseconds of a search by vectors alone.
        both: milliseconds of the default search, by words and vectors.
        megabytes: the process's memory afterwards.
        recall: how many of the ten nearest were among the ten found, as a share.
    """

    size: int
    mode: str
    fill: float
    opened: float
    vectors: Times
    both: Times
    megabytes: float
    recall: float


def compare_dense(sizes: Sequence[int], folder: Path, say: Callable[[str], None], kind: str) -> Iterator[Dense]:
    """Each way's costs, each in a process of its own, by the number of memories in one namespace.

    Args:
        sizes: how many memories.
        folder: where the stores are made.
        say: takes what is being done.
        kind: ``clustered`` or ``hashed`` vectors.
    """
    for size in sizes:
        root = folder / f"dense-{size}"
        say(f"MarkdownStore: writing {size:,} memories in one namespace")
        with _store(root, kind, "exact") as store:
            corpus = memories(size, 1)
            while part := [*itertools.islice(corpus, 10 * BATCH)]:
                store.batch(puts(part))
        nearest: list[list[str]] = []
        for mode in _MODES:
            say(f"{mode}: {size:,} memories in one namespace")
            found = in_new_process("dense", str(root), str(size), mode, kind)
            nearest = nearest or found["nearest"]
            pairs = zip(nearest, found.pop("nearest"), strict=True)
            recall = float(np.mean([len({*one} & {*other}) / max(len(one), 1) for one, other in pairs]))
            found |= {name: Times(**found[name]) for name in ("vectors", "both")}
            yield Dense(size=size, mode=mode, recall=round(recall, 4), **found)


def measure(root: Path, size: int, mode: str, kind: str) -> dict[str, Any]:
    """What `compare_dense` measures of one way, in this process."""
    asked = questions(size, 1, QUESTIONS)
    with _store(root, kind, mode) as store, stopwatch() as filled:
        if mode == "chroma":
            _wait(store, asked[0])
        fill = filled()
    with stopwatch() as seconds, _store(root, kind, mode) as store:
        _search(store, asked[0])
        opened = seconds()
        both = _times(store, asked, mode)
    with _store(root, kind, mode, ranking="dense") as store:
        vectors = _times(store, asked, mode)
        nearest = [_search(store, question) for question in asked]
        megabytes = resident()
    return {
        "fill": round(fill, 1),
        "opened": round(opened, 2),
        "vectors": asdict(vectors),
        "both": asdict(both),
        "megabytes": round(megabytes),
        "nearest": nearest,
    }


def _store(root: Path, kind: str, mode: str, **more: Any) -> MarkdownStore:
    embeddings = ClusteredEmbeddings() if kind == "clustered" else HashEmbeddings()
    if not more:
        return ours(root, embeddings, dense_index=mode)
    index: Any = {"dims": embeddings.dimensions, "embed": embeddings, "fields": ["text"]}
    return MarkdownStore(root, index=index, config=MemoryConfig(sync_interval=NEVER, dense_index=mode), **more)


def _times(store: MarkdownStore, asked: Sequence[ScaleQuestion], mode: str) -> Times:
    if mode == "chroma":
        _wait(store, asked[0])
    for question in asked:  # the queries' vectors are known, and everything is warm
        _search(store, question)
    return time_each(lambda q=question: _search(store, q) for question in asked)  # type: ignore[misc]


def _search(store: MarkdownStore, question: ScaleQuestion) -> list[str]:
    return [item.key for item in store.search(namespace(_USER), query=question.text, limit=K)]


def _wait(store: MarkdownStore, question: ScaleQuestion) -> None:
    until = time.monotonic() + _READY_SECONDS
    while not store._engine.approximate.is_ready(namespace(_USER)):
        if time.monotonic() > until:
            raise TimeoutError(f"Chroma wasn't filled within {_READY_SECONDS:g} s: see the warnings above.")
        _search(store, question)
        time.sleep(0.1)


def rows(found: Sequence[Dense]) -> list[dict[str, Any]]:
    """Plain JSON."""
    return json.loads(json.dumps([asdict(each) for each in found]))  # type: ignore[no-any-return]
