"""Files of each form become memories and questions."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.errors import ImportFileError
from langmem_plus.evals.datasets import read_dataset, read_datasets, told_apart
from langmem_plus.evals.haystacks import SESSIONS

Write = Callable[..., Path]


def utc(*parts: int) -> dt.datetime:
    """A time in UTC."""
    return dt.datetime(*parts, tzinfo=dt.UTC)  # type: ignore[misc,arg-type]


def test_locomo_is_one_memory_a_conversation(dataset_file: Write) -> None:
    """Several ids in one text are several; what has no evidence isn't asked; category 5 has no answer."""
    path = dataset_file("locomo")
    found = read_dataset(path)
    (sample,) = found.samples
    assert (found.form, sample.id, sample.messages) == ("LoCoMo", "s1", 3)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert [(q.kind, sorted(q.evidence), q.answerable) for q in sample.questions] == [
        ("single-hop", ["D1:1"], True),
        ("multi-hop", ["D1:1", "D1:2"], True),
        ("temporal", ["D2:1"], True),
        ("false premise", ["D1:1"], False),
    ]
    assert sample.questions[2].sessions == {"s1/session_2"}
    assert sample.questions[0].asked_at == utc(2023, 5, 18, 14, 56)


def test_longmemeval_draws_a_haystack_for_each_question(dataset_file: Write) -> None:
    """The user's turns alone; what was drawn keeps its age before its own question's date."""
    found = read_dataset(dataset_file("longmemeval"))
    first, _, third = found.samples
    assert found.form == "LongMemEval"
    assert sorted(thread.thread_id for thread in first.threads) == ["answer_q1", "answer_q2", "answer_q3_abs"]
    assert {message["role"] for thread in first.threads for message in thread.messages} == {"user"}
    assert {message["created_at"] for thread in first.threads for message in thread.messages} == {utc(2023, 4, 7, 12)}
    (question,) = first.questions
    assert (question.evidence, question.sessions) == ({"answer_q1:0"}, {"answer_q1"})
    assert question.asked_at == utc(2023, 4, 10, 12)
    assert not third.questions[0].answerable


def test_a_haystack_is_the_same_each_time_and_no_larger_than_it_says(dataset_file: Write) -> None:
    """Drawn with a seed, without a session twice; another seed draws others."""
    entries = [_entry(f"q{n}", f"I own {n} hats.", "How many hats do I own?") for n in range(SESSIONS + 20)]
    path = dataset_file("longmemeval", entries)
    first, again, other = read_dataset(path), read_dataset(path), read_dataset(path, seed=1)
    names = [[thread.thread_id for thread in sample.threads] for sample in first.samples]
    assert all(len(set(each)) == len(each) == SESSIONS for each in names)
    assert all(f"answer_q{n}" in each for n, each in enumerate(names))
    assert first == again
    assert first.samples != other.samples


def _entry(name: str, said: str, question: str) -> dict[str, Any]:
    turns = [{"role": "user", "content": said, "has_answer": True}]
    return {
        "question_id": name,
        "question_type": "single-session-user",
        "question": question,
        "question_date": "2023/04/10 (Mon) 12:00",
        "haystack_dates": ["2023/04/08 (Sat) 12:00"],
        "haystack_session_ids": [f"answer_{name}"],
        "haystack_sessions": [turns],
        "answer_session_ids": [f"answer_{name}"],
    }


def test_the_last_evidence_of_an_update_is_the_newer_version(dataset_file: Write) -> None:
    """Whatever order the sessions have in the file."""
    data = _entry("q1", "I own five hats.", "How many hats do I own?")
    data |= {
        "question_type": "knowledge-update",
        "haystack_dates": ["2023/04/08 (Sat) 12:00", "2023/04/01 (Sat) 12:00"],
        "haystack_session_ids": ["late", "early"],
        "haystack_sessions": [[{"role": "user", "content": text, "has_answer": True}] for text in ("Five.", "Four.")],
    }
    (sample,) = read_dataset(dataset_file("longmemeval", [data])).samples
    assert (sample.questions[0].newer, sample.questions[0].older) == ({"late:0"}, {"early:0"})


def test_beam_has_both_sides_turns(dataset_file: Write) -> None:
    """An update's sources are versions; abstention has no answer."""
    (sample,) = read_dataset(dataset_file("beam")).samples
    update, abstention = sample.questions
    assert (sample.messages, len(sample.threads)) == (3, 2)
    assert (update.kind, update.evidence) == ("knowledge update", {"0", "2"})
    assert (update.newer, update.older) == ({"2"}, {"0"})
    assert (abstention.answerable, abstention.kind) == (False, "abstention")


def test_pairs_share_a_memory(dataset_file: Write) -> None:
    """Each newer statement was said the day before; the gap is the file's, or a month."""
    (sample,) = read_dataset(dataset_file("pairs")).samples
    said = {message["id"]: message["created_at"] for thread in sample.threads for message in thread.messages}
    update, other = sample.questions
    assert update.asked_at - said["p1/new:0"] == dt.timedelta(days=1)
    assert said["p1/new:0"] - said["p1/old:0"] == dt.timedelta(days=50, hours=9, minutes=1)
    assert said["p2/new:0"] - said["p2/old:0"] == dt.timedelta(days=30)
    assert (update.newer, update.older) == ({"p1/new:0"}, {"p1/old:0"})
    assert other.kind == "contradiction"


def test_ones_own_lines_are_messages_and_questions(dataset_file: Write) -> None:
    """A question has its own time, or is asked after the last message; one without evidence has no answer."""
    (sample,) = read_dataset(dataset_file("own")).samples
    first, second = sample.questions
    assert (first.kind, first.newer, first.older, first.asked_at) == ("update", {"m2"}, {"m1"}, utc(2024, 4, 1))
    assert (second.kind, second.answerable, second.asked_at) == ("question", False, utc(2024, 3, 1, 1))


def test_fewer_questions_are_drawn_the_same_each_time(dataset_file: Write) -> None:
    """Samples of which nothing is asked are left out."""
    path = dataset_file("longmemeval")
    assert [sample.id for sample in read_dataset(path, limit=1).samples] == [
        sample.id for sample in read_dataset(path, limit=1).samples
    ]
    assert len(read_dataset(path, limit=2).samples) == 2
    assert len(read_dataset(path, limit=99).samples) == 3


@pytest.mark.parametrize("text", ["", "[1]", '{"a": 1}', '[{"sample_id": "x"}]', "[" * 100_000, "[]", "{"])
def test_what_has_no_questions_is_named(dataset_file: Write, text: str) -> None:
    """The error names the file."""
    with pytest.raises(ImportFileError, match=r"other\.json"):
        read_dataset(dataset_file("other", text))


@pytest.mark.parametrize(
    ("form", "data", "problem"),
    [
        ("locomo", [{"conversation": {"session_1": []}, "qa": [{"question": "a", "category": 9}]}], "1 to 5"),
        ("locomo", [{"conversation": {"session_1": []}, "qa": [1]}], "list of questions"),
        ("locomo", [{"conversation": {"session_1": []}, "qa": [{"question": 1, "category": 4}]}], "expected a text"),
        ("own", [{"question": "a"}], "no question|no message"),
        ("own", [{"role": "user", "content": "a"}, {"question": "b", "evidence": ["m9"]}], "m9"),
        ("own", [{"role": "user", "content": "a"}, {"question": "b", "evidence": "m9"}], "expected a list"),
        ("own", [{"role": "user", "content": "a"}, {"question": "b", "asked_at": "soon"}], "isn't a time"),
        ("own", [{"role": "user", "content": "a"}], "no question"),
        ("pairs", [{"old": {}, "new": {}, "question": "a"}], "expected a message"),
        ("pairs", [{"old": [], "new": [], "question": "a"}], "expected a message"),
        ("pairs", [{"old": [], "new": [], "question": 1}], "expected a text"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(dataset_file: Write, form: str, data: Any, problem: str) -> None:
    """What was expected, and what was found."""
    with pytest.raises(ImportFileError, match=problem):
        read_dataset(dataset_file(form, data))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """Whatever its ending."""
    for name in ("nowhere.json", "nowhere.jsonl"):
        with pytest.raises(ImportFileError, match="nowhere"):
            read_dataset(tmp_path / name)


ASKED: dict[str, Any] = {"question": "b", "evidence": ["m1"]}
SAID: dict[str, Any] = {"role": "user", "content": "a", "id": "m1"}


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([SAID | {"time": "2026-01-05"}, ASKED], r"line 1: a message has no key 'time'; did you mean 'created_at'\?"),
        ([SAID | {"creatd_at": "2026-01-05"}, ASKED], "'creatd_at'; did you mean 'created_at'"),
        ([SAID | {"xyz": 1}, ASKED], "'xyz'; it may have role, content"),
        ([SAID, ASKED, {"question": "b", "evidense": ["m1"]}], "line 3: a question has no key 'evidense'.*'evidence'"),
        ([SAID, ASKED | {"date": "2026-01-05"}], "'date'; did you mean 'asked_at'"),
        ([SAID, {"questoin": "b"}], "line 2: did you mean 'question' by 'questoin'"),
        ([SAID, {"a": 1}], "line 2: It is no message"),
        ([{"messages": [SAID | {"tiem": 1}]}, ASKED], r"line 1.messages\[0\]: a message.*'tiem'"),
        ([SAID, {"question": "b"}, {"question": "c", "evidence": []}], "no question has evidence"),
        ([SAID], "there is no question"),
        ([ASKED], "there is no message, only questions"),
        ([SAID, ASKED | {"sample_id": "x"}], "of the sample 'x', but no message"),
        ([SAID | {"sample_id": "x"}, ASKED], "has no sample_id"),
        (
            [SAID | {"sample_id": "x"}, SAID | {"sample_id": "y", "id": "m2"}, ASKED | {"sample_id": "y"}],
            "no message of the sample 'y' has that id",
        ),
        ([SAID, SAID, ASKED], "several messages have that id"),
        (
            [SAID | {"id": "m0"}, SAID | {"content": " "}, ASKED],
            "line 2: the question 'b' names the message 'm1'.*words",
        ),
        ([{"messages": [SAID | {"content": ""}]}, ASKED], "line 1: the question 'b' names the message 'm1'"),
        ([SAID | {"role": "system"}, ASKED], "line 1: .*none that memory keeps"),
        ([SAID, SAID | {"id": "m2", "content": ""}, ASKED | {"older": ["m2"]}], "line 2: .*'m2'"),
        (
            [SAID | {"sample_id": "x"}, SAID | {"sample_id": "y", "content": ""}, ASKED | {"sample_id": "y"}],
            "line 2: .*'m1'",
        ),
    ],
)
def test_a_key_that_is_not_read_is_named(dataset_file: Write, lines: list[Any], problem: str) -> None:
    """With its line and what was meant: silently passed over, it would be another question or another date."""
    with pytest.raises(ImportFileError, match=problem) as raised:
        read_dataset(dataset_file("own", lines))
    assert "own.jsonl: " in str(raised.value)


@pytest.mark.parametrize("name", ["own", "other"])
def test_an_empty_file_is_called_empty(dataset_file: Write, name: str) -> None:
    """In either form."""
    with pytest.raises(ImportFileError, match="the file is empty"):
        read_dataset(dataset_file(name, " \n"))


def test_lines_are_read_whatever_the_file_is_called(tmp_path: Path) -> None:
    """Where its first line is an object; what goes on behind one document is no JSON."""
    path = tmp_path / "own.txt"
    path.write_text("\n".join(map(json.dumps, [SAID, ASKED])), encoding="utf-8")
    assert read_dataset(path).to_json()["form"] == "JSON lines"
    path.write_text("[\n1]\n[2]", encoding="utf-8")
    with pytest.raises(ImportFileError, match="not JSON"):
        read_dataset(path)


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """In results and figures; the same file is asked once."""
    paths = [tmp_path / folder / "own.jsonl" for folder in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_text("\n".join(map(json.dumps, [SAID, ASKED])), encoding="utf-8")
    found = read_datasets([*paths, paths[0].parent / ".." / "a" / "own.jsonl"])
    assert [(each.to_json()["file"], each.label) for each in found] == [
        ("a/own.jsonl", "a-own"),
        ("b/own.jsonl", "b-own"),
    ]
    (alone,) = read_datasets(paths[:1])
    assert (alone.name, alone.label) == ("own.jsonl", "own")
    assert told_apart([Path("own.json"), Path("own.jsonl")])[1] == ["own.json", "own.jsonl"]


@given(st.lists(st.lists(st.sampled_from(["a", "A", "b", "a-b", "a.json", "b.json"]), min_size=1, max_size=4)))
def test_no_two_files_have_one_name(parts: list[list[str]]) -> None:
    """Whatever folders they lie in, also where capitals don't count; no label leaves the folder of figures."""
    paths = list(dict.fromkeys(Path(*each) for each in parts))
    for names in told_apart(paths):
        assert len({name.lower() for name in names}) == len(paths)
    assert not any("/" in label for label in told_apart(paths)[1])


def test_what_others_write_of_a_message_is_passed_over(dataset_file: Write) -> None:
    """Tool calls of an export, and an answer beside a question."""
    lines = [SAID | {"tool_calls": [], "metadata": {}, "timestamp": "2026-01-05"}, ASKED | {"answer": "a"}]
    assert read_dataset(dataset_file("own", lines)).to_json()["questions"] == 1
