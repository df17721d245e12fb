"""How well memories are found again: LoCoMo's conversations imported as an app would, its questions asked by `search`.

Protocol: each conversation is a space of one user, each session a thread, each message a turn with its own time; no
language model. A question of categories 1 to 4 counts by the share of its evidence messages among the first k hits; a
fact counts as the message that it was drawn from.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from langmem_plus.client import MemoryClient
from langmem_plus.errors import ImportFileError
from langmem_plus.evals.datasets import Question, read_locomo_questions
from langmem_plus.evals.metrics import ndcg_at, recall_at, reciprocal_rank
from langmem_plus.importers import read_messages
from langmem_plus.records import MemoryHit

USER = "locomo"
CATEGORIES = (1, 2, 3, 4)
DEPTH = 10


@dataclass(frozen=True)
class RecallResult:
    """Means over the questions, each in [0, 1], and the time of a search."""

    questions: int
    recall_at_5: float
    recall_at_10: float
    ndcg_at_10: float
    mrr: float
    search_ms_p50: float

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return asdict(self)


def import_conversations(client: MemoryClient, path: str | Path, step: Callable[[int], None] = lambda n: None) -> int:
    """Add every conversation of a file, each sample into a space of its own, and wait until all is drawn out.

    Returns:
        The number of messages.
    """
    total = 0
    for conversation in read_messages(path):
        space = conversation.sample_id or "default"
        client.add(conversation.messages, user_id=USER, space=space, thread_id=conversation.thread_id)
        total += len(conversation.messages)
        step(len(conversation.messages))
    return total


def evidence_ranking(hits: Sequence[MemoryHit], gold: Collection[str]) -> list[str]:
    """One id a hit, best first: the evidence that it shows for the first time, else its own id."""
    ranking: list[str] = []
    for hit in hits:
        shown = [source for source in hit.record.source_ids if source in gold and source not in ranking]
        ranking.append(shown[0] if shown else hit.record.id)
    return ranking


def evaluate_recall(
    client: MemoryClient, questions: Sequence[Question], step: Callable[[int], None] = lambda n: None
) -> RecallResult:
    """Ask every question, of which there is one at least, and compare the hits with its evidence."""
    rows: list[tuple[float, float, float, float]] = []
    took: list[float] = []
    for question in questions:
        started = time.perf_counter()
        hits = client.search(question.text, user_id=USER, space=question.sample_id, k=DEPTH)
        took.append((time.perf_counter() - started) * 1000)
        gold = question.evidence
        ranking = evidence_ranking(hits, gold)
        recalls = recall_at(gold, ranking, 5), recall_at(gold, ranking, 10)
        rows.append((*recalls, ndcg_at(gold, ranking, 10), reciprocal_rank(gold, ranking)))
        step(1)
    at_5, at_10, ndcg, mrr = (fmean(column) for column in zip(*rows, strict=True))
    return RecallResult(len(rows), at_5, at_10, ndcg, mrr, median(took))


def read_questions(path: str | Path) -> list[Question]:
    """The questions that `evaluate_recall` asks.

    Raises:
        ImportFileError: the file isn't LoCoMo's, or has no such question.
    """
    found = [question for question in read_locomo_questions(path) if question.category in CATEGORIES]
    if not found:
        raise ImportFileError(f"{path}: there is no question of the categories 1 to 4 whose evidence is named.")
    return found
