"""Questions with known evidence, from public data sets."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from langmem_plus.errors import ImportFileError


@dataclass(frozen=True)
class Question:
    """A question whose evidence is known.

    Attributes:
        sample_id: the conversations that it is about.
        text: the question.
        category: LoCoMo's: 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial.
        evidence: the ids of the messages that hold the answer.
    """

    sample_id: str
    text: str
    category: int
    evidence: frozenset[str]


def read_locomo_questions(path: str | Path) -> list[Question]:
    """The questions of a LoCoMo file; those without evidence are left out.

    Raises:
        ImportFileError: the file isn't LoCoMo's.

    Source: Maharana et al. (2024), "Evaluating Very Long-Term Conversational Memory of LLM Agents".
    """
    try:
        samples = json.loads(Path(path).read_text(encoding="utf-8"))
        questions = [
            Question(
                str(sample["sample_id"]),
                str(qa["question"]),
                int(qa["category"]),
                # Some lists hold several ids in one text: "D8:6; D9:17".
                frozenset(found for text in qa.get("evidence") or [] for found in re.findall(r"D\d+:\d+", text)),
            )
            for sample in samples
            for qa in sample["qa"]
        ]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ImportFileError(f"{path}: not a LoCoMo file with questions ({type(error).__name__}: {error}).") from error
    return [question for question in questions if question.evidence]
