"""Which questions went wrong, and what was found in their stead: the worst of a row, with the words of the messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langmem_plus.evals.datasets import Dataset
from langmem_plus.records import unique

FIRST = 3  # messages that are told of what was found instead
_MEASURES = ("ndcg@10", "session recall@5")  # the first that a question has says how bad it is


@dataclass(frozen=True)
class Message:
    """A message that is told of.

    Attributes:
        id: as the file has it, or a record's where no message is shown.
        text: what was said; empty for a record.
        place: where it came among the first hits, from 1; None where it didn't.
    """

    id: str
    text: str
    place: int | None


@dataclass(frozen=True)
class Miss:
    """A question that a row didn't answer, or not with the evidence first.

    Attributes:
        question: its text.
        kind: its type.
        sample: the memory that was asked; empty where the file names none.
        evidence: the messages that answer it.
        found: the first other messages.
        older_first: whether an outdated version came before the newer one.
    """

    question: str
    kind: str
    sample: str
    evidence: Sequence[Message]
    found: Sequence[Message]
    older_first: bool


def worst(row: Mapping[str, Any], dataset: Dataset, count: int) -> list[Miss]:
    """The worst questions of a row, the worst one first; those whose evidence came first of all aren't among them.

    Args:
        row: one of the rows that `langmem_plus.evals.recall.evaluate` gives.
        dataset: what was asked.
        count: how many at most.
    """
    texts = {
        (sample.id, str(message["id"])): message["content"]
        for sample in dataset.samples
        for thread in sample.threads
        for message in thread.messages
    }
    missed = [each for each in row["answers"] if not each["probe"] and (_value(each) < 1 or _older_first(each))]
    missed.sort(key=lambda each: (_value(each), not _older_first(each)))
    return [_miss(each, texts) for each in missed[:count]]


def _value(answer: Mapping[str, Any]) -> float:
    return next((float(answer["measures"][name]) for name in _MEASURES if name in answer["measures"]), 1.0)


def _older_first(answer: Mapping[str, Any]) -> bool:
    return answer["newer_first"] is False


def _miss(answer: Mapping[str, Any], texts: Mapping[tuple[str, str], str]) -> Miss:
    hits: Sequence[str] = answer["hits"]

    def message(id: str) -> Message:
        return Message(id, texts.get((answer["sample"], id), ""), hits.index(id) + 1 if id in hits else None)

    # Of versions, the outdated one may be evidence, too: where it comes first, it is shown.
    others = [id for id in unique(hits) if id not in answer["evidence"]][:FIRST]
    evidence = [message(id) for id in answer["evidence"]]
    found = [message(id) for id in others]
    return Miss(answer["question"], answer["kind"], answer["sample"], evidence, found, _older_first(answer))
