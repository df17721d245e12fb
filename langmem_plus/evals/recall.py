"""How well memories are found again: stores built as a program would, questions asked through the real recall path.

Each sample becomes a store of its own, written through `MemoryClient.add`, a thread at a time. Each question is asked
twice: as an agent's turn (`MemoryClient.explain`: what is injected, how long each stage takes), and as a search, as
deep as the settings fetch candidates, for the ranking. No language model is asked anything, but where one reranks.
Pairs of statements also go through remember, with a model that is scripted from the file.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langmem_plus.evals.asking import ANSWERED_AT, Answer, ask, warm_up
from langmem_plus.evals.building import Moment, Step, build_all, opened, without
from langmem_plus.evals.datasets import Dataset
from langmem_plus.evals.decided import PROTOCOL as DECIDED_PROTOCOL
from langmem_plus.evals.decided import measured
from langmem_plus.evals.metrics import RESAMPLES, SEED
from langmem_plus.evals.probes import NONSENSE, OWN, UNRELATED, nonsense_questions, unrelated_questions
from langmem_plus.evals.provenance import provenance, settings_json
from langmem_plus.evals.questions import Question, Sample
from langmem_plus.evals.removals import Removal, removals, told
from langmem_plus.evals.setups import BM25, Setup, by_store
from langmem_plus.evals.summary import compared, summarise
from langmem_plus.evals.vectors import take_vectors

Answers = dict[str, list[Answer]]  # by setup, in the order of asking
Asked = tuple[Question, str]  # and why it should get no answer, empty where it has one

PROBED = 100  # questions of nonsense, and as many unrelated ones, over all samples
PROTOCOL = (
    "stores are built through MemoryClient.add, one a sample, each thread at its own time; facts are drawn out by "
    "rules and count as the message that they came from",
    "each question is asked in no thread, as of its own date, through MemoryClient.explain (tokens, times, what is "
    "injected) and MemoryClient.search with k = fetch_k (the ranking); times are those of a store that was asked "
    "before: each row asks each store something first that isn't counted",
    "recall@k: share of the evidence turns among the first k hits; NDCG@10: normalised by all evidence; sessions: the "
    "first 5 different threads among the hits, a fact counting for each conversation that told it",
    f"intervals: 95 %, {RESAMPLES} resamples of the questions, seed {SEED}",
    "bm25: the store's keyword ranking of the same turns (k1 1.2, b 0.75, stems, stop words, speakers' names), "
    f"without facts, neighbours and recall; McNemar: some evidence among the first {ANSWERED_AT} hits",
    "nonsense, unrelated: questions that come with the package; evidence removed: questions asked again in a copy of "
    "the store without their evidence, whose neighbours stay, and half of all messages at least; sessions removed: "
    "in one without the sessions of their evidence; AUROC of the best hit's relevance against that of answerable "
    "questions",
)


@dataclass(frozen=True)
class Place:
    """Where a run keeps what it builds.

    Args:
        stores: the folder of the built stores.
        cache: the folder of known vectors, apart for each file, since every store takes all that are known along.
        keep: whether a later run uses the stores again.
    """

    stores: Path
    cache: Path
    keep: bool = False


def workload(dataset: Dataset, setups: Sequence[Setup], *, probes: bool = True) -> int:
    """How many steps a run takes: messages that are added and questions that are asked."""
    messages = sum(sample.messages for sample in dataset.samples) * len(by_store(setups))
    asked = sum(len(each) for each in _asked(dataset, probes))
    asked += sum(len(gone.questions) for each in (removals(dataset) if probes else ()) for gone in each)
    again = sum(sample.messages + len(sample.questions) for sample, _ in _decided(dataset, setups))
    return messages + asked * len(setups) + again


def evaluate(
    dataset: Dataset,
    setups: Sequence[Setup],
    place: Place,
    *,
    probes: bool = True,
    jobs: int = 1,
    step: Step = lambda n: None,
) -> dict[str, Any]:
    """Build the samples, ask every question under every setup, and tell what came of it, as plain JSON.

    Args:
        dataset: what is asked.
        setups: the rows; one of them may be BM25, against which the others are tested.
        place: where stores and vectors are kept.
        probes: also ask what has no answer.
        jobs: processes that build stores at a time; the questions are asked by one alone, since they are timed.
        step: called with the number of messages added and questions asked.
    """
    started = time.perf_counter()
    answers: Answers = {setup.name: [] for setup in setups}
    building = 0.0
    asked, removed = _asked(dataset, probes), removals(dataset) if probes else [[] for _ in dataset.samples]
    for group in by_store(setups):
        folder = place.stores / dataset.sha256[:12] / f"{group[0].written_as}-{_word(group[0])}"
        # By the sample's own name: another run may ask fewer of them.
        roots = [(sample, folder / hashlib.sha256(sample.id.encode()).hexdigest()[:16]) for sample in dataset.samples]
        began = time.perf_counter()
        build_all(roots, group[0], place.cache / dataset.sha256[:12], jobs, step)
        building += time.perf_counter() - began
        for number, (sample, root) in enumerate(roots):
            _ask_all(root, group, sample, asked[number], answers, step)
            for gone in removed[number]:
                _ask_without(root, group, sample, gone, answers, step)
            if not place.keep:
                shutil.rmtree(root, ignore_errors=True)
    rows = {setup.name: _row(setup, answers) for setup in setups}
    for sample, setup in _decided(dataset, setups):
        rows[setup.name]["through_remember"] = _through_remember(sample, setup, place, dataset, step)
    return {
        "measured": "recall",
        "dataset": dataset.to_json(),
        "protocol": [
            dataset.protocol,
            *PROTOCOL,
            *([told(removed)] if probes else ()),
            *([DECIDED_PROTOCOL] if _decided(dataset, setups) else ()),
        ],
        **provenance(),
        "seconds": {"building": round(building, 1), "all": round(time.perf_counter() - started, 1)},
        "rows": list(rows.values()),
    }


def _decided(dataset: Dataset, setups: Sequence[Setup]) -> list[tuple[Sample, Setup]]:
    """The pairs that also go through remember, each with the settings that they do it with."""
    return [
        (sample, setup) for sample in dataset.samples for setup in setups if dataset.form == "pairs" and not setup.plain
    ]


def _through_remember(sample: Sample, setup: Setup, place: Place, dataset: Dataset, step: Step) -> dict[str, Any]:
    place.stores.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.stores, prefix="decided-") as scratch:
        root = Path(scratch)
        if setup.embeds:
            take_vectors(place.cache / dataset.sha256[:12], root)
        return measured(sample, setup, root, step)


def _word(setup: Setup) -> str:
    return "".join(char if char.isalnum() else "-" for char in setup.config.embeddings)[:40]


def _row(setup: Setup, answers: Answers) -> dict[str, Any]:
    found = {"name": setup.name, "changed": setup.changed, **summarise(answers[setup.name])}
    if BM25 in answers and setup.name != BM25:
        found["against_bm25"] = compared(answers[setup.name], answers[BM25])
    found["config"] = settings_json(setup.config)
    found["answers"] = [answer.to_json() for answer in answers[setup.name]]
    return found


def _ask_all(
    root: Path, group: Sequence[Setup], sample: Sample, asked: Sequence[Asked], answers: Answers, step: Step
) -> None:
    for setup in group:
        moment = Moment()
        with opened(root, setup.config, moment) as client:
            if timed := [question for question, probe in asked if not probe]:
                moment.now = timed[0].asked_at
                warm_up(client, setup)
            for question, probe in asked:
                moment.now = question.asked_at
                answers[setup.name].append(ask(client, setup, question, probe, sample))
                step(1)


def _ask_without(
    root: Path, group: Sequence[Setup], sample: Sample, gone: Removal, answers: Answers, step: Step
) -> None:
    with tempfile.TemporaryDirectory(dir=root.parent, prefix="without-") as scratch:
        copy = Path(scratch) / "store"
        without(root, copy, group[0], gone.message_ids)
        _ask_all(copy, group, sample, [(question, gone.probe) for question in gone.questions], answers, step)


def _asked(dataset: Dataset, probes: bool) -> list[list[Asked]]:
    """What is asked of each sample: its own questions, then those that come with the package."""
    found = [
        [
            (question, "" if question.answerable else OWN)
            for question in sample.questions
            if question.answerable or probes
        ]
        for sample in dataset.samples
    ]
    extra = [(text, NONSENSE) for text in nonsense_questions(PROBED)]
    unrelated = unrelated_questions()
    extra += [(unrelated[n % len(unrelated)], UNRELATED) for n in range(PROBED)]
    # Each unrelated question is asked of several samples, each sample is asked several.
    for number, (text, probe) in enumerate(extra if probes else []):
        place = (number + number // len(unrelated)) % len(dataset.samples)
        asked_at = dataset.samples[place].questions[0].asked_at
        found[place].append((Question(text, probe, asked_at=asked_at, answerable=False), probe))
    return found


__all__ = ["Place", "evaluate", "workload"]
