"""How fast the store is: searches beside others', puts, opening, and a million memories."""

from __future__ import annotations

import itertools
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from langmem_plus.evals.bench.rivals import BATCH, Rival, namespace, open_rivals, ours, puts
from langmem_plus.evals.bench.timing import Figure, Times, resident, stopwatch, time_each
from langmem_plus.evals.scale import HashEmbeddings, ScaleMemory, ScaleQuestion, memories, questions
from langmem_plus.store import MarkdownStore

K = 5
USERS = 20
QUESTIONS = 200
_NEEDED = ("MarkdownStore", "floor, partitioned")  # what the targets are made of
_SORTED = 250_000  # memories of the large store that are sorted by their users before they are written
Say = Callable[[str], None]


def compare_searches(sizes: Sequence[int], folder: Path, say: Say) -> dict[str, dict[int, Times]]:
    """Each store's time for a search, by the number of memories over 20 users."""
    found: dict[str, dict[int, Times]] = {}
    for size in sizes:
        corpus, asked = [*memories(size, USERS)], questions(size, USERS, QUESTIONS)
        for name in open_rivals(folder, HashEmbeddings()):
            say(f"{name}: {size:,} memories of {USERS} users")
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                rival = open_rivals(Path(scratch), HashEmbeddings())[name]()
                try:
                    found.setdefault(name, {})[size] = time_searches(rival, corpus, asked)
                except Exception as error:
                    if name in _NEEDED:
                        raise
                    say(
                        f"{name} failed: {type(error).__name__}: {error}"
                    )  # the others are worth measuring all the same
                finally:
                    rival.close()
    return found


def time_searches(rival: Rival, corpus: Sequence[ScaleMemory], asked: Sequence[ScaleQuestion]) -> Times:
    """The time of a search once everything is warm and the queries' vectors are known."""
    rival.fill(corpus)
    for question in asked:
        rival.search(question.user, question.text, K)
    return time_each(lambda q=question: rival.search(q.user, q.text, K) for question in asked)  # type: ignore[misc]


def targets_of_searches(found: dict[str, dict[int, Times]]) -> Iterator[Figure]:
    """How often ours takes the time of the floor that has an index a user."""
    for size, times in found["MarkdownStore"].items():
        floor = found["floor, partitioned"][size].p50
        yield Figure(f"search p50, {size:,} memories over {USERS} users", times.p50, "ms", note=f"floor {floor} ms")
        yield Figure(f"… against the partitioned floor, {size:,}", round(times.p50 / floor, 1), "×", 3.0)


def time_one_namespace(size: int, folder: Path, say: Say) -> Iterator[Figure]:
    """Searches where all memories are one user's, and what it takes to start over such a store."""
    say(f"MarkdownStore: {size:,} memories in one namespace")
    corpus, asked = [*memories(size, 1)], questions(size, 1, QUESTIONS)
    root, embeddings = folder / f"one-{size}", HashEmbeddings()
    with ours(root, embeddings, ann_threshold=10 * size) as store:
        for start in range(0, size, BATCH):
            store.batch(puts(corpus[start : start + BATCH]))
        for question in asked:
            embeddings.embed_query(question.text)
        search(store, asked[0])
        times = time_each(lambda q=question: search(store, q) for question in asked)  # type: ignore[misc]
    yield Figure(f"search p95, {size:,} in one namespace, exact", times.p95, "ms", 50.0, f"p50 {times.p50} ms")
    started = in_new_process("start", str(root), asked[0].text)
    yield Figure(f"start and first recall, {size:,} in one namespace", started["seconds"], "s", 1.0)
    yield Figure("… texts that were embedded again", started["embedded"], "texts", 0)


def search(store: MarkdownStore, question: ScaleQuestion) -> list[str]:
    """One search in our store."""
    return [item.key for item in store.search(namespace(question.user), query=question.text, limit=K)]


def in_new_process(task: str, *arguments: str) -> dict[str, Any]:
    """Run a task of this module in a fresh interpreter; what it measured."""
    command = [sys.executable, "-m", "langmem_plus.evals.bench", "task", task, *arguments]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    answer: dict[str, Any] = json.loads(output)
    return answer


def start(root: Path, query: str) -> dict[str, float]:
    """Open a store that is there and search it once."""
    embeddings = HashEmbeddings()
    embeddings.embed_query(query)
    with stopwatch() as seconds, ours(root, embeddings) as store:
        store.search(namespace("u0"), query=query, limit=K)
        taken = seconds()
    return {"seconds": round(taken, 3), "embedded": embeddings.embedded}


def time_puts(count: int, folder: Path, say: Say) -> Iterator[Figure]:
    """Single puts and batches, against a bare file and a bare commit for each."""
    say(f"puts: {count:,} single ones, and as many in batches")
    corpus = [*memories(BATCH + 2 * count, 1)]
    singles, rest = corpus[BATCH : BATCH + count], corpus[BATCH + count :]
    floor = _Floor(folder / "floor")
    with ours(folder / "puts", HashEmbeddings()) as store:
        for each in corpus[:BATCH]:  # vectors that are known: what is measured is the writing
            store.batch(puts([each]))
        single = time_each(lambda m=each: store.batch(puts([m])) for each in singles)  # type: ignore[misc]
        bare = time_each(lambda m=each: floor.put([m]) for each in singles)  # type: ignore[misc]
        parts = [rest[start : start + BATCH] for start in range(0, count, BATCH)]
        batches = time_each(lambda p=part: store.batch(puts(p)) for part in parts)  # type: ignore[misc]
        bare_batches = time_each(lambda p=part: floor.put(p) for part in parts)  # type: ignore[misc]
    floor.close()
    yield Figure("put, p50", single.p50, "ms", note=f"floor {bare.p50} ms")
    yield Figure("… against the floor", round(single.p50 / bare.p50, 1), "×", 4.0)
    yield Figure(f"put of {BATCH} in a batch, p50", batches.p50, "ms", note=f"floor {bare_batches.p50} ms")
    yield Figure("… against the floor", round(batches.p50 / bare_batches.p50, 1), "×", 2.0)


class _Floor:
    """A bare file a memory and a bare commit, with the vector beside it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder, self._embeddings = folder, HashEmbeddings()
        self._db = sqlite3.connect(folder / "index.sqlite", isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("CREATE TABLE items (key TEXT PRIMARY KEY, value TEXT, vector BLOB)")
        self._db.execute("CREATE VIRTUAL TABLE words USING fts5(text)")

    def put(self, group: Sequence[ScaleMemory]) -> None:
        """Write some memories and commit once."""
        rows = []
        for each in group:
            path = self._folder / f"{each.id}.md"
            temporary = path.with_suffix(".tmp")
            temporary.write_text(each.text, encoding="utf-8")
            temporary.rename(path)
            rows.append((str(each.id), json.dumps({"text": each.text}), self._embeddings.vector(each.text).tobytes()))
        self._db.execute("BEGIN")
        self._db.executemany("INSERT OR REPLACE INTO items VALUES (?, ?, ?)", rows)
        self._db.executemany("INSERT INTO words (text) VALUES (?)", [(each.text,) for each in group])
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the database."""
        self._db.close()


def time_many_namespaces(size: int, users: int, root: Path, say: Say) -> Iterator[Figure]:
    """A large store of many small namespaces against one of them alone; an existing folder is measured as it is."""
    if not root.exists():
        with ours(root, HashEmbeddings()) as store:
            corpus = memories(size, users)
            for number, part in enumerate(iter(lambda: [*itertools.islice(corpus, _SORTED)], [])):
                say(f"MarkdownStore: {number * _SORTED:,} of {size:,} memories of {users:,} users")
                part.sort(key=lambda each: each.user)  # a batch then touches few namespaces
                for start in range(0, len(part), 10 * BATCH):
                    store.batch(puts(part[start : start + 10 * BATCH]))
    say("searching in the large store")
    middle = f"u{users // 2}"
    alone = root.with_name(f"{root.name}-alone")
    if not alone.exists():
        with ours(alone, HashEmbeddings()) as store:
            store.batch(puts(each for each in memories(size, users) if each.user == middle))
    large, small = in_new_process("visit", str(root), middle), in_new_process("visit", str(alone), middle)
    yield Figure(f"opening a store of {size:,}", large["open"], "ms", 50.0)
    yield Figure(
        f"search in one of {users:,} namespaces, warm p50", large["warm"], "ms", note=f"alone {small['warm']} ms"
    )
    yield Figure("… against the same namespace alone", round(large["warm"] / small["warm"], 2), "×", 2.0)
    yield Figure("… cold", large["cold"], "ms", 50.0)
    grown = in_new_process("grow", str(root), str(users), "200")
    yield Figure("memory with 200 namespaces visited", grown["megabytes"], "MB", 400.0)


def visit(root: Path, user: str) -> dict[str, float]:
    """Open a store, search one namespace cold, then warm."""
    embeddings = HashEmbeddings()
    asked = [f"What do I do on {day}s?" for day in ("Monday", "Tuesday", "Friday", "Saturday")]
    for text in asked:
        embeddings.embed_query(text)
    with stopwatch() as opened:
        store = ours(root, embeddings)
        taken = opened() * 1000
    with store:
        cold = time_each([lambda: store.search(namespace(user), query=asked[0], limit=K)])
        warm = time_each(lambda t=text: store.search(namespace(user), query=t, limit=K) for text in asked * 25)  # type: ignore[misc]
    return {"open": round(taken, 2), "cold": cold.p50, "warm": warm.p50}


def grow(root: Path, users: int, count: int) -> dict[str, float]:
    """The memory of a process that searched in so many namespaces."""
    with ours(root, HashEmbeddings()) as store:
        for number in random.Random(1).sample(range(users), min(count, users)):
            store.search(namespace(f"u{number}"), query="Which city do I live in?", limit=K)
        return {"megabytes": round(resident(), 1)}
