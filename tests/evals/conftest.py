"""Small files of each form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LOCOMO = {
    "sample_id": "s1",
    "conversation": {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a turtle called Speedy."},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "I have been baking rye bread every Sunday."},
        ],
        "session_2_date_time": "1:56 pm on 18 May, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "My sister moved to Oslo for her studies."}],
    },
    "qa": [
        {"question": "Who adopted a turtle?", "answer": "Ann", "evidence": ["D1:1"], "category": 4},
        {"question": "What do Ann and Bob do?", "answer": "x", "evidence": ["D1:1; D1:2"], "category": 1},
        {"question": "Where did the sister move?", "answer": "x", "evidence": ["D2:1"], "category": 2},
        {"question": "Which turtle did Bob adopt?", "answer": "x", "evidence": ["D1:1"], "category": 5},
        {"question": "Why?", "answer": "x", "evidence": [], "category": 3},
    ],
}


def entry(name: str, said: str, question: str, kind: str = "single-session-user", day: int = 10) -> dict[str, Any]:
    """One of LongMemEval's questions with one session."""
    return {
        "question_id": name,
        "question_type": kind,
        "question": question,
        "answer": "x",
        "question_date": f"2023/04/{day:02d} (Mon) 12:00",
        "haystack_dates": [f"2023/04/{day - 3:02d} (Mon) 12:00"],
        "haystack_session_ids": [f"answer_{name}"],
        "haystack_sessions": [
            [
                {"role": "user", "content": said, "has_answer": True},
                {"role": "assistant", "content": "Noted, thank you.", "has_answer": False},
            ]
        ],
        "answer_session_ids": [f"answer_{name}"],
    }


LONGMEMEVAL = [
    entry("q1", "I bought a red kayak in Kiel.", "Where did I buy my kayak?"),
    entry("q2", "My piano teacher is Mrs Novak.", "Who teaches me the piano?", day=20),
    entry("q3_abs", "I planted tulips in the garden.", "When did I plant the roses?", day=25),
]
BEAM = {
    "id": "100K-1",
    "messages": [
        {"id": 0, "role": "user", "session": 1, "time": "March-15-2024", "text": "My sprint ends on March 29."},
        {"id": 1, "role": "assistant", "session": 1, "time": None, "text": "Then plan two weeks."},
        {"id": 2, "role": "user", "session": 2, "time": "April-05-2024", "text": "My sprint ends on April 19 now."},
    ],
    "questions": [
        {
            "category": "knowledge_update",
            "question": "When does my sprint end?",
            "evidence": [0, 2],
            "source_chat_ids": {"original_info": [0], "updated_info": [2]},
        },
        {"category": "abstention", "question": "Who is my manager?", "evidence": []},
    ],
}
PAIRS = [
    {
        "id": "p1",
        "kind": "update",
        "question": "Where do I live?",
        "old": {"date": "2023/08/11 (Fri) 09:00", "text": "I live in Porto."},
        "new": {"date": "2023/09/30 (Sat) 18:01", "text": "I live in Lisbon."},
    },
    {
        "id": "p2",
        "kind": "contradiction",
        "question": "Did I ever ski?",
        "old": [{"text": "I never went skiing."}],
        "new": [{"text": "I went skiing in Tirol."}],
    },
]
OWN = [
    {"role": "user", "content": "I moved to Lyon.", "id": "m1", "created_at": "2024-01-01"},
    {"role": "user", "content": "I moved to Nantes.", "id": "m2", "created_at": "2024-03-01"},
    {"question": "Where did I move?", "evidence": ["m2"], "older": ["m1"], "type": "update", "asked_at": "2024-04-01"},
    {"question": "What is my shoe size?"},
]
FORMS: dict[str, Any] = {"locomo": [LOCOMO], "longmemeval": LONGMEMEVAL, "beam": [BEAM], "pairs": PAIRS, "own": OWN}


@pytest.fixture
def dataset_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a file of a form, or any data; gives its path."""

    def write(form: str, data: Any = None) -> Path:
        data = FORMS[form] if data is None else data
        path = tmp_path / f"{form}{'.jsonl' if form == 'own' else '.json'}"
        lines = "\n".join(map(json.dumps, data)) if form == "own" else json.dumps(data)
        path.write_text(data if isinstance(data, str) else lines, encoding="utf-8")
        return path

    return write
