"""Questions with known evidence, asked of an imported conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ImportFileError
from langmem_plus.evals.datasets import read_locomo_questions
from langmem_plus.evals.recall import USER, evaluate_recall, evidence_ranking, import_conversations, read_questions
from langmem_plus.records import MemoryHit, MemoryRecord


def locomo(folder: Path, *questions: dict[str, Any]) -> Path:
    """A file of LoCoMo's form with two messages."""
    said = [("Ann", "D1:1", "I adopted a turtle."), ("Bob", "D1:2", "I have been baking bread.")]
    turns = [{"speaker": speaker, "dia_id": id, "text": text} for speaker, id, text in said]
    talk = {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns}
    path = folder / "locomo.json"
    path.write_text(json.dumps([{"sample_id": "s1", "conversation": talk, "qa": list(questions)}]), encoding="utf-8")
    return path


def question(text: str, *evidence: str, category: int = 4) -> dict[str, Any]:
    """A question as LoCoMo writes it."""
    return {"question": text, "answer": "x", "evidence": list(evidence), "category": category}


def test_questions_are_read_with_their_evidence(tmp_path: Path) -> None:
    """Several ids in one text are several; questions without evidence, and adversarial ones, aren't asked."""
    path = locomo(tmp_path, question("a?", "D1:1; D1:2"), question("b?"), question("c?", "D1:1", category=5))
    found = read_locomo_questions(path)
    assert [(each.text, each.evidence) for each in found] == [
        ("a?", frozenset({"D1:1", "D1:2"})),
        ("c?", frozenset({"D1:1"})),
    ]
    assert [each.text for each in read_questions(path)] == ["a?"]


@pytest.mark.parametrize("text", ["", "[1]", '{"a": 1}', '[{"sample_id": "x"}]', "[" * 100_000, "[]"])
def test_what_has_no_questions_is_named(tmp_path: Path, text: str) -> None:
    """The error names the file."""
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ImportFileError, match=r"other\.json"):
        read_questions(path)


def test_each_evidence_is_found_once() -> None:
    """A fact counts as the message that it was drawn from; shown again, it is no evidence but itself."""
    records = [
        MemoryRecord(id=id, text="x", user_id="u", source_ids=sources)
        for id, sources in (("fact", ["D1:1"]), ("turn", ["D1:1"]), ("other", ["D9:9"]), ("both", ["D1:1", "D1:2"]))
    ]
    ranking = evidence_ranking([MemoryHit(record=record) for record in records], {"D1:1", "D1:2"})
    assert ranking == ["D1:1", "turn", "other", "D1:2"]


def test_recall_is_measured_end_to_end(tmp_path: Path) -> None:
    """One question is answered by its message, the other's evidence isn't what is found first."""
    path = locomo(tmp_path, question("Who adopted a turtle?", "D1:1"), question("Who adopted a turtle?", "D1:2"))
    steps: list[int] = []
    with MemoryClient(tmp_path / "memory", config=MemoryConfig(embeddings="none", background=False)) as client:
        assert import_conversations(client, path, steps.append) == 2
        assert len(client.list(user_id=USER, space="s1", role="user")) == 2
        result = evaluate_recall(client, read_questions(path), steps.append)
    assert (result.questions, steps) == (2, [2, 1, 1])
    assert result.recall_at_5 <= 0.5 or result.mrr < 1
    assert result.mrr >= 0.5
    assert result.to_json()["questions"] == 2
