"""The questions that went wrong, with what was found instead."""

from __future__ import annotations

from typing import Any

import pytest

from langmem_plus.cli.measured import print_misses
from langmem_plus.evals.datasets import Dataset
from langmem_plus.evals.misses import FIRST, worst
from langmem_plus.evals.questions import Sample
from langmem_plus.importers import Conversation
from langmem_plus.importers.parts import ImportedMessage


def dataset() -> Dataset:
    """Two people's memories whose messages have the same ids."""
    samples = []
    for name in ("mara", "yuki"):
        said = [
            ImportedMessage(role="user", content=f"{name} says {n}.", name=None, id=f"m{n}", created_at=None)
            for n in range(8)
        ]
        samples.append(Sample(name, [Conversation("t", said, name)], []))
    return Dataset("x.jsonl", "JSON lines", "0" * 64, "", samples)


def answer(question: str, value: float | None, hits: list[str], **more: Any) -> dict[str, Any]:
    """An answer as results have it."""
    measures = {} if value is None else {"ndcg@10": value}
    found = {"kind": "single", "probe": "", "sample": "mara", "evidence": ["m1"], "newer_first": None}
    return {**found, "question": question, "measures": measures, "hits": hits, **more}


def test_the_worst_come_first_and_what_went_well_does_not_come() -> None:
    """Those with an outdated version first are among them; probes, and what has no measure, aren't."""
    row = {
        "answers": [
            answer("fine?", 1.0, ["m1"]),
            answer("half?", 0.5, ["m2", "m1"]),
            answer("nonsense?", 0.0, [], probe="nonsense"),
            answer("silent?", None, []),
            answer("nothing?", 0.0, []),
            answer("by session?", None, [], measures={"session recall@5": 0.4}),
            answer("outdated?", 1.0, ["m2", "m1"], newer_first=False),
        ]
    }
    names = [miss.question for miss in worst(row, dataset(), 9)]
    assert names == ["nothing?", "by session?", "half?", "outdated?"]
    assert [miss.question for miss in worst(row, dataset(), 2)] == names[:2]


def test_a_miss_tells_its_evidence_and_what_was_found_instead() -> None:
    """In words, each message once with its place, out of the memory that was asked; a record has its id alone."""
    hits = ["m2", "m2", "m1", "record", "m3", "m4"]
    (miss,) = worst({"answers": [answer("a?", 0.5, hits, sample="yuki")]}, dataset(), 1)
    assert [(each.id, each.text, each.place) for each in miss.evidence] == [("m1", "yuki says 1.", 3)]
    told = [("m2", "yuki says 2.", 1), ("record", "", 4), ("m3", "yuki says 3.", 5)]
    assert [(each.id, each.text, each.place) for each in miss.found] == told
    assert len(told) == FIRST


def test_misses_are_printed_in_the_width_of_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long ids and texts are; the question is whole."""
    monkeypatch.setenv("COLUMNS", "80")
    answers = [answer("Where do I live now?", 0.0, ["m2", "x" * 90], evidence=["m1", "m7"])]
    print_misses("default", worst({"answers": answers}, dataset(), 1))
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    for wanted in (
        "default",
        "Where do I live now?",
        "evidence  –  m1  mara says 1.",
        "found     1  m2  mara says 2.",
        "xxx",
    ):
        assert any(wanted in line for line in lines), wanted
    print_misses("default", [])
    assert "comes first" in capsys.readouterr().out
