"""Many answers as a few numbers, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from langmem_plus.evals.asking import Answer
from langmem_plus.evals.metrics import auroc, bootstrap, mcnemar, percentile, refused_at
from langmem_plus.evals.probes import PROBES

MEASURES = (
    "recall@1", "recall@5", "recall@10", "ndcg@10", "mrr", "session recall@5", "session any@5", "session all@5",
)  # fmt: skip
STAGES = ("plan", "retrieve", "rerank", "mmr", "inject", "recall", "again")


def summarise(answers: Sequence[Answer]) -> dict[str, Any]:
    """Everything that is told about one setup, as plain JSON."""
    asked = [answer for answer in answers if not answer.probe]
    kinds = sorted({answer.kind for answer in asked})
    return {
        "questions": len(asked),
        "measures": _measures(asked),
        "by_kind": {kind: _measures([each for each in asked if each.kind == kind]) for kind in kinds},
        "abstention": _abstention(asked, answers),
        "newer_first": _newer_first(asked),
        "tokens": {
            "mean": round(fmean([each.tokens for each in asked]), 1) if asked else 0.0,
            "p95": percentile([each.tokens for each in asked], 0.95),
            "max": max((each.tokens for each in asked), default=0),
        },
        "milliseconds": _milliseconds(asked),
    }


def compared(answers: Sequence[Answer], others: Sequence[Answer]) -> dict[str, float]:
    """McNemar's test: which of the same questions one setup answers and the other doesn't."""
    pairs = [(a.answered, b.answered) for a, b in zip(answers, others, strict=True) if _has_evidence(a)]
    mine, theirs = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    return {"only_this": mine, "only_bm25": theirs, "p": mcnemar(mine, theirs)}


def _measures(answers: Sequence[Answer]) -> dict[str, Any]:
    values = {name: [each.measures[name] for each in answers if name in each.measures] for name in MEASURES}
    return {name: bootstrap(numbers).to_json() for name, numbers in values.items() if numbers}


def _abstention(asked: Sequence[Answer], answers: Sequence[Answer]) -> dict[str, Any]:
    asked = [answer for answer in asked if _has_evidence(answer)]
    scores = [answer.score for answer in asked]
    found: dict[str, Any] = {
        "answerable": len(asked),
        "false_refusals": _share([not each.found for each in asked]),
        "false_silence": _share([not each.injected for each in asked]),
    }
    for probe in PROBES:
        those = [answer for answer in answers if answer.probe == probe]
        if those:
            found[probe] = {
                "questions": len(those),
                "auroc": round(auroc(scores, [each.score for each in those]), 4),
                "nothing_found": _share([not each.found for each in those]),
                "nothing_injected": _share([not each.injected for each in those]),
                "refused_at_5_percent": round(refused_at(scores, [each.score for each in those]), 4),
            }
    return found


def _has_evidence(answer: Answer) -> bool:
    """Whether some turn of the store holds the answer, not only something that the store leaves out."""
    return not answer.probe and "recall@5" in answer.measures


def _share(values: Sequence[bool]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0


def _newer_first(asked: Sequence[Answer]) -> dict[str, Any]:
    kinds = sorted({each.kind for each in asked if each.newer_first is not None})
    by_kind = {k: [float(a.newer_first) for a in asked if a.kind == k and a.newer_first is not None] for k in kinds}
    return {kind: bootstrap(values).to_json() for kind, values in by_kind.items()}


def _milliseconds(asked: Sequence[Answer]) -> dict[str, Mapping[str, float]]:
    found: dict[str, Mapping[str, float]] = {}
    for stage in STAGES:
        times = [each.milliseconds[stage] for each in asked if stage in each.milliseconds]
        if times:
            found[stage] = {"p50": round(percentile(times, 0.5), 3), "p95": round(percentile(times, 0.95), 3)}
    return found
