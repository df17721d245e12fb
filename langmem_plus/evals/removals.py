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
# Of a sample's sessions about so many go: what is left is a memory of nearly the same size.
SHARE_OF_SESSIONS = 0.25


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
        ids = frozenset(id for question in questions for id in question.evidence)
        each = [Removal(REMOVED, ids, questions), _sessions(sample, most)]
        found.append([removal for removal in each if removal.questions])
    return found


def _fit(sample: Sample) -> list[Question]:
    return [each for each in sample.questions if each.answerable and each.evidence and not each.older]


def _evidence(dataset: Dataset) -> list[list[Question]]:
    """The questions of each sample whose evidence goes."""
    places = [(s, question) for s, sample in enumerate(dataset.samples) for question in _fit(sample)]
    found: list[list[Question]] = [[] for _ in dataset.samples]
    for s, question in random.Random(f"{SEED}:removed").sample(places, min(REMOVED_QUESTIONS, len(places))):
        found[s].append(question)
    return found


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
