"""How long a recall takes, stage by stage, beside what the local model takes for the question alone.

The memories are one user's: threads of turns, the user's by name and an assistant's replies between them. Recall is
that of a program which opens a folder and sets nothing. A large store has no vectors and token bits of the model's
own, since that would take long: they are drawn for word pieces, and the model still reads every question. What a recall
costs is the same; what it finds is found by words alone.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import BaseStore, PutOp

from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.evals.bench.rivals import BATCH
from langmem_plus.evals.bench.store import in_new_process
from langmem_plus.evals.bench.timing import MILLISECONDS, Figure, Times
from langmem_plus.evals.scale import ScaleQuestion, memories, memory, questions
from langmem_plus.providers.embeddings import find_local
from langmem_plus.providers.minilm import FloatArray, LocalEmbeddings
from langmem_plus.providers.token_bits import load_table, local_token_encoder
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.record import TurnRole, make_turns
from langmem_plus.store import MarkdownStore

USER, SPEAKER = "u0", "Maya"
SCOPE = Scope(USER)
STAGES = ("plan", "retrieve", "rerank", "mmr", "inject")
ROWS = {
    **{name: name for name in STAGES},
    "between": "between them",
    "recall": "whole recall",
    "inference": "… inference",
    "ours": "… the rest",
    "alone": "inference alone",
}
OPENED, NEW, AGAIN, PAUSED = "first after opening", "new question", "asked before", "after a pause"
WORDS = "new, without a model"
TARGET_SIZE, TARGET = 10_000, 10.0
_EXCHANGES = 10  # of the user and the assistant, in a thread
_EVERY = dt.timedelta(hours=7)  # from one thread to the next
_FIRST = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
_REPLIES = ("Good to know: {}.", "{}, I see. Tell me more.", "Thanks, I'll keep {} in mind.", "Did {} surprise you?")
_OPENINGS, _WARMING = 5, 10
_MARK = "filled.json"
_READY_SECONDS, _LOOK_SECONDS = 3600.0, 0.1
Say = Callable[[str], None]
Asked = dict[str, Times]


@dataclass(frozen=True)
class Recalls:
    """What recalls cost in a namespace of one size.

    Attributes:
        size: how many memories it has.
        vectors: ``model`` or ``drawn``.
        first: milliseconds of the first recall of a process, with the model's loading.
        found: the share of the new questions whose answer was among the memories that were recalled.
        asked: times by how the questions were asked (`OPENED`, `NEW`, `AGAIN`, `PAUSED`, `WORDS`), then by row: the
            stages; ``between`` them; the whole ``recall``; the model's ``inference`` in it; ``ours``, which is the
            rest; and the inference for the same question ``alone``.
    """

    size: int
    vectors: str
    first: float
    found: float
    asked: dict[str, Asked]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Recalls:
        """What `to_json` gave."""
        asked = {name: {row: Times(**times) for row, times in rows.items()} for name, rows in value["asked"].items()}
        return cls(**{**value, "asked": asked})


def compare_sizes(sizes: Sequence[int], wanted: int, embedded: int, folder: Path, say: Say) -> Iterator[Recalls]:
    """What recalls cost by the number of memories; each store is filled and measured in processes of their own.

    Args:
        sizes: how many memories.
        wanted: how many questions are asked.
        embedded: the largest store that has the model's own vectors.
        folder: where the stores are made; those that are there are measured as they are.
        say: takes what is being done.
    """
    for size in sizes:
        drawn = size > embedded
        root = folder / f"recall-{size}{'-drawn' if drawn else ''}"
        if not (root.parent / f"{root.name}.{_MARK}").is_file():
            say(f"{size:,} memories: writing them, with {'drawn vectors' if drawn else 'vectors of the local model'}")
            in_new_process("fill", str(root), str(size), kind_of(drawn))
        say(f"{size:,} memories: asking {wanted} questions")
        yield Recalls.from_json(in_new_process("recall", str(root), str(size), kind_of(drawn), str(wanted)))


def kind_of(drawn: bool) -> str:
    """What the vectors are called."""
    return "drawn" if drawn else "model"


def targets(found: Sequence[Recalls]) -> Iterator[Figure]:
    """What has to be met: everything but the model's inference, and the look at the files after a pause."""
    for each in found:
        for asked, rows in each.asked.items():
            target = TARGET if each.size == TARGET_SIZE and asked != PAUSED else None
            name = f"recall without inference, p50, {each.size:,} memories, {asked}"
            if asked != OPENED:
                yield Figure(name, rows["ours"].p50, "ms", target)
        yield Figure(f"first recall of a process, {each.size:,} memories", each.first, "ms", note="loads the model")


# the store


def fill(root: Path, size: int, kind: str) -> dict[str, float]:
    """Write the memories, and have everything embedded; gives the seconds that it took."""
    started = time.perf_counter()
    config = MemoryConfig(embed_in_background=False, embed_timeout=_READY_SECONDS)
    with watch(kind) as watched, MarkdownStore(root, config=config) as store:
        if watched:
            watched.reads = False
        records = turns(size)
        while part := [*itertools.islice(records, 5 * BATCH)]:
            store.batch([PutOp(SCOPE.namespace, each.id, each.to_value()) for each in part])
        settle(store)
        found = {"seconds": round(time.perf_counter() - started, 1), "texts": watched.texts if watched else 0}
    (root.parent / f"{root.name}.{_MARK}").write_text(json.dumps(found) + "\n", encoding="utf-8")
    return found


def settle(store: BaseStore) -> None:
    """Wait until nothing is left that the background would embed, or fill Chroma with.

    Raises:
        TimeoutError: it takes too long; the warnings say why.
    """
    if not isinstance(store, MarkdownStore):
        return
    _wait(lambda: not (store.embed_waiting() or store.embedding_state().waiting))
    large = store.embedding_state().texts > store.config.ann_threshold and store.config.dense_index == "auto"
    if large and find_spec("chromadb") is not None:
        _wait(lambda: _is_near(store))


def _is_near(store: MarkdownStore) -> bool:
    """Whether Chroma answers; it is filled once something is asked."""
    store.search(SCOPE.namespace, query="tea", limit=1)
    return store._engine.approximate.is_ready(SCOPE.namespace)


def _wait(ready: Callable[[], bool]) -> None:
    until = time.monotonic() + _READY_SECONDS
    while not ready():
        if time.monotonic() > until:
            raise TimeoutError(f"the store wasn't ready within {_READY_SECONDS:g} s: see the warnings above.")
        time.sleep(_LOOK_SECONDS)


def turns(size: int) -> Iterator[MemoryRecord]:
    """So many turns, in threads; their facts count as drawn out."""
    config = MemoryConfig()
    for number, said in enumerate(memories((size + 1) // 2, 1)):
        thread, exchange = divmod(number, _EXCHANGES)
        at = _FIRST + thread * _EVERY + dt.timedelta(minutes=exchange)
        scope = Scope(USER, thread_id=f"thread-{thread}")
        reply = _REPLIES[number % len(_REPLIES)].format(said.answer)
        spoken: list[tuple[HumanMessage | AIMessage, TurnRole]] = [
            (HumanMessage(said.text, name=SPEAKER, id=f"m{number}"), "user"),
            (AIMessage(reply, id=f"r{number}"), "assistant"),
        ]
        for position, (message, role) in enumerate(spoken[: size - 2 * number]):
            made = make_turns([message], role, scope, exchange + 1, now=at, config=config, position=position)
            yield from (record.model_copy(update={"extracted": True}) for record in made)


# the local model


class Watched:
    """The local model of this process, with the time that it takes.

    Attributes:
        seconds: of inference so far, the splitting into word pieces with it.
        texts: how many it read.
        reads: whether the model is run although vectors are drawn; a store is filled without it.
    """

    def __init__(self, model: LocalEmbeddings) -> None:
        self.seconds, self.texts, self.reads = 0.0, 0, True
        self.model, self._forward = model, model._forward

    def forward(self, texts: Sequence[str]) -> Iterator[Any]:
        """The model's own passes, timed."""
        self.texts += len(texts)
        started = time.perf_counter()
        passes = [*self._forward(texts)]
        self.seconds += time.perf_counter() - started
        yield from passes

    def alone(self, text: str) -> float:
        """Milliseconds for a question by itself."""
        started = time.perf_counter()
        self.model.read_tokens([text])
        return (time.perf_counter() - started) * MILLISECONDS


class _Drawing:
    """A session that gives a drawn vector for each word piece, and runs the model only where that is wanted."""

    def __init__(self, model: LocalEmbeddings, watched: Watched) -> None:
        self._load, self._watched, self._pieces = model._load, watched, _draw_pieces()
        self._session: Any = None

    def load(self) -> tuple[Any, Any]:
        """In place of the model's own, which is loaded at its first use, too."""
        self._session, tokenizer = self._load()
        return self, tokenizer

    def get_inputs(self) -> Any:
        """What the model takes."""
        return self._session.get_inputs()

    def run(self, outputs: Any, inputs: dict[str, Any]) -> list[FloatArray]:
        """The vectors of the pieces, wherever they stand."""
        if self._watched.reads:
            self._session.run(outputs, inputs)
        return [self._pieces[inputs["input_ids"]]]


def _draw_pieces() -> FloatArray:
    """A vector for each word piece: the mean one, and a direction of its own, the longer the rarer it is."""
    table = load_table()
    own = np.random.default_rng(0).standard_normal((len(table.rarity), len(table.mean)), np.float32)
    own *= (table.rarity * np.linalg.norm(table.mean) / np.sqrt(own.shape[1]))[:, None]
    return own + table.mean


@contextmanager
def watch(kind: str) -> Iterator[Watched | None]:
    """Put this process's local model under the stopwatch, and have it draw where that is wanted; None where there is no
    model. What it was asked before is forgotten.
    """
    model, _ = find_local()
    if model is None:
        yield None
        return
    watched, fields = Watched(model), vars(model)
    before = dict(fields)
    fields |= {"_forward": watched.forward, "_asked": {}}
    if kind == "drawn":
        fields |= {"model_id": "local:drawn", "_load": _Drawing(model, watched).load}
    local_token_encoder.cache_clear()
    try:
        yield watched
    finally:
        for name in fields.keys() - before.keys():
            del fields[name]
        fields |= {name: value for name, value in before.items() if name != "_loaded"}
        local_token_encoder.cache_clear()


# asking


def measure(root: Path, size: int, kind: str, wanted: int) -> Recalls:
    """What `compare_sizes` measures of one store, in this process."""
    others = questions((size + 1) // 2, 1, 1 + _OPENINGS + _WARMING + wanted)
    asked, others = others[:wanted], others[wanted:] or others
    openings, warming = others[: _OPENINGS + 1], others[-_WARMING:]
    with watch(kind) as watched:
        found: dict[str, list[dict[str, float]]] = {OPENED: []}
        for question in openings:
            with MemoryClient(root) as client:
                found[OPENED].append(_ask(client, watched, question))
                settle(client.store)  # what opening set going in the background is over before the next
        first, found[OPENED] = found[OPENED][0], found[OPENED][1:] or found[OPENED]
        with MemoryClient(root) as client:
            settle(client.store)
            _ask_all(client, watched, warming)
            found[NEW] = _ask_all(client, watched, asked)
            found[AGAIN] = _ask_all(client, watched, asked)
            found[PAUSED] = _ask_all(client, watched, asked, paused=True)
        with MemoryClient(root, config=MemoryConfig(embeddings="none", rerank_bits="none")) as client:
            _ask_all(client, watched, warming)
            found[WORDS] = _ask_all(client, watched, asked)
    answered = statistics.fmean(each["found"] for each in found[NEW])
    times = {name: {row: Times.of(each[row] for each in rows) for row in ROWS} for name, rows in found.items()}
    return Recalls(size, kind, round(first["recall"], 3), round(answered, 3), times)


def _ask_all(
    client: MemoryClient, watched: Watched | None, asked: Sequence[ScaleQuestion], *, paused: bool = False
) -> list[dict[str, float]]:
    """``paused``: each as if a ``sync_interval`` had gone by since the last, so that the files are looked at."""
    found = []
    for question in asked:
        if paused and isinstance(client.store, MarkdownStore):
            client.store._engine.room(SCOPE.namespace).look_again()
        found.append(_ask(client, watched, question))
    return found


def _ask(client: MemoryClient, watched: Watched | None, question: ScaleQuestion) -> dict[str, float]:
    """One recall as an agent's turn has it: milliseconds by row, and whether it found the answer."""
    before, started = watched.seconds if watched else 0.0, time.perf_counter()
    told = client.explain(question.text, user_id=USER)
    taken = (time.perf_counter() - started) * MILLISECONDS
    inference = (watched.seconds - before) * MILLISECONDS if watched else 0.0
    stages = {name: told.report.milliseconds.get(name, 0.0) for name in STAGES}
    gold = memory(question.gold, 1)
    return {
        **stages,
        "between": taken - sum(stages.values()),
        "recall": taken,
        "inference": inference,
        "ours": taken - inference,
        "alone": watched.alone(question.text) if watched else 0.0,
        "found": float(any(hit.text == gold.text for hit in told.hits)),
    }
