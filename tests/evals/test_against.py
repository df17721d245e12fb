"""What decisions are worth against pairs that have nothing to do with each other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.config import MemoryConfig
from langmem_plus.evals.against import LOOK_ALIKE, RANDOM, Case, against, likeness, ratio
from langmem_plus.evals.write import evaluate_reconciliation
from langmem_plus.testing import BagOfWordsEmbeddings, ScriptedChatModel


def case(expected: bool, retired: bool, random: int = 0, alike: int = 0) -> Case:
    """An entry that met ten random statements and five look-alikes."""
    return Case(expected, retired, {RANDOM: 10, LOOK_ALIKE: 5}, {RANDOM: random, LOOK_ALIKE: alike})


def test_what_is_retired_wrongly_costs_precision_alone() -> None:
    """Of the updates two of three are met; a contradiction that is retired counts as neither right nor wrong."""
    cases = [case(True, True), case(True, True, alike=2), case(True, False), case(False, True)]
    found = against(cases, LOOK_ALIKE)
    assert {name: found[name] for name in ("updates", "others", "right", "wrong")} == {
        "updates": 3,
        "others": 20,
        "right": 2,
        "wrong": 2,
    }
    assert (found["precision"]["mean"], found["precision"]["count"]) == (0.5, 4)
    assert found["recall"]["mean"] == pytest.approx(2 / 3, abs=1e-4)
    assert against(cases, RANDOM)["precision"]["mean"] == 1.0


def test_nothing_retired_has_no_precision() -> None:
    """A share of nothing: counted over 0, so that it isn't printed as a number."""
    found = against([case(True, False)], RANDOM)
    assert (found["precision"]["count"], found["recall"]["mean"]) == (0, 0.0)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda t: (min(t), max(t))), max_size=12))
def test_an_interval_holds_its_ratio(parts: list[tuple[int, int]]) -> None:
    """Within [0, 1] where no part is more than its whole."""
    found = ratio([part for part, _ in parts], [whole for _, whole in parts])
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert found.count == sum(whole for _, whole in parts)


@pytest.mark.parametrize("embeddings", [None, BagOfWordsEmbeddings()])
def test_what_says_the_same_is_nearest(embeddings: BagOfWordsEmbeddings | None) -> None:
    """With an embedder and without one."""
    old = ["I drink green tea", "My boat is blue", ""]
    near = likeness(["My boat is red", "I drink tea"], old, embeddings)
    assert near.shape == (2, 3)
    assert np.argmax(near, axis=1).tolist() == [1, 0]


def test_a_model_that_is_too_eager_pays_with_precision_against_look_alikes(tmp_path: Path) -> None:
    """Everything that it is shown it calls replaced, and believed it is where both are about the same attribute."""
    towns = ["Lyon", "Porto", "Ghent", "Turin", "Basel", "Graz"]
    data = [
        {"id": f"q{n}", "kind": "update", "old": {"text": f"I live in {old}."}, "new": {"text": f"I live in {new}."}}
        for n, (old, new) in enumerate(zip(towns, towns[1:] + towns[:1], strict=True))
    ]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    facts = [{"facts": [{"text": entry[side]["text"]}]} for side in ("old", "new") for entry in data]
    model = ScriptedChatModel(facts, then={"changes": [{"fact": "A", "event": "UPDATE", "id": 0}]})
    found = evaluate_reconciliation(path, MemoryConfig(embeddings="none"), model).against
    for kinds in found.values():
        assert kinds[LOOK_ALIKE]["recall"]["mean"] == 1.0
        assert kinds[LOOK_ALIKE]["wrong"] > 0
        assert kinds[LOOK_ALIKE]["precision"]["mean"] < 1.0
    rules = evaluate_reconciliation(path, MemoryConfig(embeddings="none"))
    assert all(kinds[LOOK_ALIKE]["wrong"] == 0 for kinds in rules.against.values())
    assert rules.to_json()["rows"][0]["against"]["odd"][RANDOM]["others"] == 6
