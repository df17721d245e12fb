"""Pairs that go through remember with a model that decides rightly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.evals.datasets import read_dataset
from langmem_plus.evals.decided import Answers, fact_of, measured
from langmem_plus.evals.questions import Sample
from langmem_plus.evals.recall import Place, evaluate, workload
from langmem_plus.evals.setups import make_setups

Write = Callable[..., Path]
CONFIG = MemoryConfig(embeddings="none")
UPDATES = [
    ("In which town do I live?", "I live in Porto, can you find a bakery?", "Good news: I live in Aveiro now."),
    ("Where do I work?", "I work at Borealis. The canteen is good.", "I work at Initrode these days, is it far?"),
    ("What is my locker code?", "My locker code is 4512. Is the gym open?", "My locker code is 7730 now."),
    ("How many goats do I have?", "I have 3 goats, and what do they eat?", "I have 5 goats. Which shed is big enough?"),
    ("On which day do I train?", "I train on Mondays. Any stretches?", "I now train on Fridays. Any new stretches?"),
    ("What colour is my boat?", "My boat is blue, how do I clean it?", "My boat is now green. Which varnish fits?"),
]
UNRELATED = [
    ("What do I drink at breakfast?", "I drink black tea at breakfast.", "I drink cocoa before I go to bed, too."),
    ("Who is my dentist?", "My dentist is Dr Novak.", "My lawyer is Ms Abara."),
]


def pairs(entries: list[tuple[str, str, str]], kind: str = "update") -> list[dict[str, Any]]:
    """A file's entries."""
    return [
        {"id": f"{kind}-{n}", "kind": kind, "question": question, "old": {"text": old}, "new": {"text": new}}
        for n, (question, old, new) in enumerate(entries)
    ]


@pytest.fixture
def sample(dataset_file: Write) -> Sample:
    """The updates as one memory."""
    (found,) = read_dataset(dataset_file("pairs", pairs(UPDATES))).samples
    return found


def test_a_fact_is_the_clause_that_is_asked_for() -> None:
    """Not the greeting before it, nor the question behind it; a statement without words is itself."""
    text = "Hello there! By the way, my cat is called Minka, so can you find a vet?"
    assert fact_of(text, "What is my cat called?") == "my cat is called Minka"
    assert fact_of("…", "What?") == "…"


def test_a_question_is_a_fact_only_where_nothing_else_is() -> None:
    """However many of the words it has."""
    asked = "How many Thai cookbooks do I own?"
    text = "Do you know how many Thai cookbooks there are? By the way, I bought my eleventh cookbook."
    assert fact_of(text, asked) == "I bought my eleventh cookbook."
    assert fact_of("Hello! Which Thai cookbooks would you buy?", asked) == "Which Thai cookbooks would you buy?"


def test_what_is_decided_rightly_comes_first_and_alone(sample: Sample, tmp_path: Path) -> None:
    """The real extraction, reconciliation and recall: every newer statement is found, and no older one is shown."""
    (setup, _) = make_setups([], CONFIG)
    steps = list[int]()
    found = measured(sample, setup, tmp_path, steps.append)
    shares = found["by_kind"]["update"]
    assert found["offered"] == len(UPDATES)
    assert {name: each["mean"] for name, each in shares.items() if "where" not in name} == {
        "replaced": 1.0,
        "first": 1.0,
        "older_shown": 0.0,
    }
    assert sum(steps) == 3 * len(UPDATES)


def test_without_the_model_an_older_statement_is_still_shown(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that only adds leaves both: what is measured is its decisions, not the ranking."""
    monkeypatch.setattr(Answers, "changes", lambda self, facts, memories: {"changes": []})
    (setup, _) = make_setups([], CONFIG)
    shares = measured(sample, setup, tmp_path, lambda _: None)["by_kind"]["all"]
    assert shares["replaced"]["mean"] == 0.0
    assert shares["older_shown"]["mean"] == 1.0


def test_statements_of_other_pairs_stay(dataset_file: Write) -> None:
    """The model says UPDATE of the facts of one pair alone, each older one once."""
    (found,) = read_dataset(dataset_file("pairs", pairs(UPDATES[:1]) + pairs(UNRELATED, "other"))).samples
    model = Answers(found)
    told = model.changes(
        ["A: I live in Aveiro now.", "B: My dentist is Dr Novak."],
        ["0: My boat is blue", "1: I live in Porto", "2: I live in Porto"],
    )
    assert [(each["event"], each["fact"], each["id"]) for each in told["changes"]] == [
        ("UPDATE", "A", 1),
        ("ADD", "B", None),
    ]
    assert model.offered == 1


def test_it_is_a_row_of_every_measurement_of_pairs(tmp_path: Path, dataset_file: Write) -> None:
    """Of those setups that recall takes part in; the steps are counted beforehand, and nothing is left on disk."""
    dataset = read_dataset(dataset_file("pairs", pairs(UPDATES[:2])))
    setups, steps = make_setups(["default", "words"], CONFIG), list[int]()
    result = evaluate(dataset, setups, Place(tmp_path / "s", tmp_path / "v"), probes=False, step=steps.append)
    assert sum(steps) == workload(dataset, setups, probes=False)
    told = {row["name"]: row.get("through_remember") for row in result["rows"]}
    assert told["bm25"] is None
    assert told["default"]["by_kind"]["all"]["first"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "count": 2}
    assert any("through remember" in line for line in result["protocol"])
    assert not list((tmp_path / "s").glob("decided-*"))
