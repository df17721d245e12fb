"""What is taken from a memory before some of its questions are asked again, so that they have no answer then."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from langmem_plus.evals.datasets import Dataset
from langmem_plus.evals.metrics import SEED
from langmem_plus.evals.probes import REMOVED, SESSIONS
from langmem_plus.evals.questions import Question, Sample

REMOVED_QUESTIONS = 150  # questions that are asked once more when their evidence is gone, and about as many, sessions
# Of a sample's sessions about so many go, and of its messages no more: what is left is a memory to search in.
SHARE_OF_SESSIONS = 0.25
SHARE_OF_MESSAGES = 0.5


@dataclass(frozen=True)
class Removal:
    """Messages that are taken from a sample, and the questions that they answer.

    Args:
        probe: what the questions count as.
        message_ids: the messages; what was drawn out of them goes with them.
        questions: what is asked then.
    """

    probe: str
    message_ids: frozenset[str]
    questions: Sequence[Question]


def removals(dataset: Dataset) -> list[list[Removal]]:
    """By sample: its evidence alone, whose neighbours still talk about what is asked; and whole sessions."""
    evidence = _evidence(dataset)
    most = math.ceil(REMOVED_QUESTIONS / max(len(dataset.samples), 1))
    found: list[list[Removal]] = []
    for sample, questions in zip(dataset.samples, evidence, strict=True):
        each = [_messages(sample, questions), _sessions(sample, most)]
        found.append([removal for removal in each if removal.questions])
    return found


def told(found: Sequence[Sequence[Removal]]) -> str:
    """How many questions are asked again, for the protocol; of a small memory it may be none."""
    counts = {
        probe: sum(len(gone.questions) for each in found for gone in each if gone.probe == probe)
        for probe in (REMOVED, SESSIONS)
    }
    parts = [
        f"{probe}: {count or 'no'} question{'' if count == 1 else 's'}"
        f"{'' if count else ', since too little of any memory would be left'}"
        for probe, count in counts.items()
    ]
    return f"asked again: {'; '.join(parts)}"


def _fit(sample: Sample) -> list[Question]:
    return [each for each in sample.questions if each.answerable and each.evidence and not each.older]


def _evidence(dataset: Dataset) -> list[list[Question]]:
    """The questions of each sample whose evidence goes."""
    places = [(s, question) for s, sample in enumerate(dataset.samples) for question in _fit(sample)]
    found: list[list[Question]] = [[] for _ in dataset.samples]
    for s, question in random.Random(f"{SEED}:removed").sample(places, min(REMOVED_QUESTIONS, len(places))):
        found[s].append(question)
    return found


def _messages(sample: Sample, questions: Sequence[Question]) -> Removal:
    """The evidence of questions, as many as leave `SHARE_OF_MESSAGES` of the sample where it is."""
    gone: frozenset[str] = frozenset()
    asked: list[Question] = []
    for question in questions:
        with_it = gone | question.evidence
        if len(with_it) <= SHARE_OF_MESSAGES * sample.messages:
            gone, asked = with_it, [*asked, question]
    return Removal(REMOVED, gone, asked)


def _sessions(sample: Sample, most: int) -> Removal:
    """Some sessions, `SHARE_OF_SESSIONS` of all or those of one question, and questions that they alone answer; none
    where nothing would be left to search in.
    """
    questions = [each for each in _fit(sample) if each.sessions]
    random.Random(f"{SEED}:sessions:{sample.id}").shuffle(questions)
    gone: set[str] = set()
    for question in questions:
        with_it = gone | question.sessions
        if not gone or len(with_it) <= SHARE_OF_SESSIONS * len(sample.threads):
            gone = with_it
    asked = [each for each in questions if each.sessions <= gone][:most]
    stay = [thread for thread in sample.threads if thread.thread_id not in gone and thread.messages]
    ids = {str(m["id"]) for thread in sample.threads if thread.thread_id in gone for m in thread.messages}
    return Removal(SESSIONS, frozenset(ids), asked if stay else [])
