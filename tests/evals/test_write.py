from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.errors import ImportFileError
from langmem_plus.evals.write import Score, evaluate_extraction, evaluate_file, evaluate_reconciliation, word_f1
from langmem_plus.testing import ScriptedChatModel


def written(path: Path, data: Any) -> Path:
    """A file with this JSON."""
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_scores_add_up() -> None:
    """Shares are of the sums, not means of shares; nothing found is not wrong."""
    both = Score(2, 1, 4, 1) + Score(2, 2, 0, 0)
    assert (both.precision, both.recall) == (0.75, 0.25)
    assert (Score().precision, Score().recall) == (1.0, 1.0)


def test_words_are_compared_by_their_stems() -> None:
    """Stop words and "the user" say nothing."""
    assert word_f1("I prefer green teas", "The user prefers green tea") == 1.0
    assert word_f1("I prefer tea", "I live in Lyon") == 0.0


def test_extraction_is_measured_on_both_halves(tmp_path: Path) -> None:
    """Even entries are the tuned half, odd ones the reported half."""
    data = [
        {"kind": "preference", "gold": "I prefer tea.", "messages": [{"role": "user", "text": "I prefer tea."}]},
        {
            "kind": "preference",
            "gold": "I prefer jazz.",
            "messages": [{"role": "user", "text": "Hello! I have a cat."}],
        },
        {"text": "I like art. I live in Lyon.", "memories": [{"type": "fact", "content": "I live in Lyon."}]},
    ]
    halves = evaluate_extraction(written(tmp_path / "x.json", data))
    assert halves.tuned["all"] == Score(found=3, right=2, expected=2, met=2)
    assert halves.reported["all"] == Score(found=1, right=0, expected=1, met=0)
    assert halves.tuned["fact"].recall == 1.0
    assert (halves.tuned["all"].precision, halves.tuned["all"].recall) == (2 / 3, 1.0)
    assert json.dumps(halves.to_json())


def test_reconciliation_is_measured_on_pairs_and_on_all_others(tmp_path: Path) -> None:
    """Updates should retire; no entry's new statement may retire another entry's old one."""
    pairs = [
        ("I live in Paris.", "I moved to Lyon."),
        ("I like coffee.", "I like tea."),
        ("My favourite tea is green.", "My favourite tea is black."),
        ("I work at Acme.", "I no longer work at Acme."),
    ]
    data = [
        {"id": f"q{place}", "kind": "update", "old": {"text": old}, "new": [{"text": new}]}
        for place, (old, new) in enumerate(pairs)
    ]
    halves = evaluate_reconciliation(written(tmp_path / "x.json", data))
    assert (halves.tuned["update"].recall, halves.reported["update"].recall) == (1.0, 0.5)
    assert halves.tuned["unrelated"] == Score(tried=2)
    assert halves.tuned["all"].precision == 1.0
    assert json.dumps(halves.to_json())


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"text": "x"}]', '[{"old": 1}]'])
def test_other_files_are_refused_with_their_name(tmp_path: Path, text: str) -> None:
    """The message says which file, and where it can be read what fits."""
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    for measure in (evaluate_extraction, evaluate_reconciliation):
        with pytest.raises(ImportFileError, match=r"x\.json"):
            measure(path)
    with pytest.raises(ImportFileError, match="missing"):
        evaluate_extraction(tmp_path / "missing.json")


EXTRACT: dict[str, Any] = {"messages": [{"text": "I like tea."}], "gold": "I like tea."}
SEVERAL: dict[str, Any] = {"text": "I like tea.", "memories": [{"content": "I like tea."}]}
PAIR: dict[str, Any] = {"kind": "update", "old": {"text": "I like tea."}, "new": [{"text": "I like jam."}]}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([], "the list is empty; expected a JSON list: for extract of .* for reconcile of .*eval recall"),
        ({"messages": []}, "isn't a list of entries; expected a JSON list"),
        ([{"question": "a"}], r"\[0\]: it has no 'text' and no 'memories'; expected a JSON list"),
        ([EXTRACT, {"text": "a"}], r"\[1\]: it has no 'memories'"),
        ([EXTRACT | {"glod": "a"}], r"\[0\]: an entry for extract with messages has no key 'glod'"),
        (
            [EXTRACT | {"messages": [{"text": "a", "roel": "assistant"}]}],
            r"messages\[0\]: .*'roel'; did you mean 'role'",
        ),
        ([EXTRACT | {"messages": [{"content": "a"}]}], "'content'; did you mean 'text'"),
        ([EXTRACT | {"messages": "a"}], "messages: expected a list, found 'a'"),
        ([EXTRACT | {"messages": [{"text": "a", "role": "assistant"}]}], "no message of the user's"),
        ([{"gold": "a"}], "messages: expected a list"),
        ([SEVERAL | {"memories": ["a"]}], r"memories\[0\]: expected .*content"),
        ([SEVERAL | {"memories": [{"content": "a", "typ": "b"}]}], "'typ'; did you mean 'type'"),
        ([SEVERAL | {"text": 1}], "text: expected a text, found 1"),
        ([PAIR | {"old": "a"}], "old: expected a list"),
        ([PAIR | {"old": [1]}], r"old\[0\]: expected a message"),
        ([PAIR | {"new": {"text": None}}], "new.text: expected a text"),
        ([PAIR, {"old": {"text": "a"}, "new": {"text": "b"}}], r"\[1\]: it has no 'kind'"),
        ([PAIR, EXTRACT], r"\[1\]: it has no 'old' and no 'new'"),
        ([EXTRACT, PAIR], r"\[1\]: it has no 'text' and no 'memories'"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_expected(tmp_path: Path, data: Any, problem: str) -> None:
    """And with its place; a key that nobody reads is an error."""
    with pytest.raises(ImportFileError, match=problem) as raised:
        evaluate_file(written(tmp_path / "x.json", data))
    assert "x.json" in str(raised.value)


def test_lines_of_messages_are_sent_to_the_command_that_reads_them(tmp_path: Path) -> None:
    """They are no list."""
    path = tmp_path / "own.jsonl"
    path.write_text('{"role": "user", "content": "a"}\n{"question": "b"}\n', encoding="utf-8")
    with pytest.raises(ImportFileError, match=r"not JSON: .*expected a JSON list.*`langmem-plus eval recall`"):
        evaluate_file(path)


def test_what_data_sets_hold_beside_is_passed_over(tmp_path: Path) -> None:
    """Questions, parts and ids."""
    more = {"id": "q1", "part": "a", "question": "b", "answer": "c", "src": "d"}
    message = {"text": "I like tea.", "role": "user", "id": "m1", "date": "2024-01-01"}
    data = [EXTRACT | more | {"messages": [message]}, SEVERAL | {"id": 1}]
    assert evaluate_file(written(tmp_path / "x.json", data)).entries == 2
    pair = PAIR | more | {"old": message}
    assert evaluate_file(written(tmp_path / "y.json", [pair])).measured == "reconciliation"


def test_the_shape_is_that_of_every_measurement(tmp_path: Path) -> None:
    """Hash, versions, settings and protocol, so that the numbers can be had again."""
    path = written(tmp_path / "x.json", [{"text": "I like tea.", "memories": [{"content": "I like tea."}]}])
    result = evaluate_extraction(path).to_json()
    assert json.loads(json.dumps(result)) == result
    assert result["dataset"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (result["dataset"]["entries"], result["measured"]) == (1, "extraction")
    assert result["rows"][0]["name"] == "rules"
    assert result["versions"]["langmem-plus"]
    assert result["protocol"]


def test_a_model_can_be_measured(tmp_path: Path) -> None:
    """It extracts and decides, and the rules don't."""
    tea, lyon, paris = ({"facts": [{"text": text}]} for text in ("I like tea.", "I live in Lyon.", "I live in Paris."))
    data = [{"text": "I like tea.", "memories": [{"content": "I like tea."}]}]
    halves = evaluate_extraction(written(tmp_path / "x.json", data), model=ScriptedChatModel([tea]))
    assert halves.tuned["all"] == Score(found=1, right=1, expected=1, met=1)
    assert halves.by == "ScriptedChatModel"
    entry = {"kind": "update", "old": {"text": "I live in Paris."}, "new": {"text": "I live in Lyon."}}
    decided = {"changes": [{"fact": "A", "event": "UPDATE", "id": 0}]}
    model = ScriptedChatModel([paris, lyon, decided])
    halves = evaluate_reconciliation(written(tmp_path / "y.json", [{"id": "q0", **entry}]), model=model)
    assert halves.tuned["update"] == Score(found=1, right=1, expected=1, met=1, tried=1)
    assert halves.to_json()["rows"][0]["name"] == "ScriptedChatModel"
