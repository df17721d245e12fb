"""Tasks that need memory: what it changes, and that keyword search carries on alone."""

from __future__ import annotations

import json

import pytest

from langmem_plus.client import Explanation
from langmem_plus.config import MemoryConfig
from langmem_plus.evals.tasks import (
    MODES,
    WITH,
    WITHOUT,
    WORDS,
    Task,
    TaskResult,
    judge,
    read_tasks,
    run_tasks,
    tasks_json,
    workload,
)
from langmem_plus.records import MemoryHit, MemoryRecord

Results = dict[str, dict[str, TaskResult]]
KINDS = {"preference", "recurring meeting", "multi-step goal", "correction", "two speakers", "date"}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """All tasks in all modes, with the packaged embedder where it is installed."""
    steps: list[int] = []
    found = run_tasks(tmp_path_factory.mktemp("tasks"), MemoryConfig(), step=steps.append)
    assert sum(steps) == workload(read_tasks())
    return found


def solved(results: Results, mode: str) -> list[str]:
    """The names of the tasks that are solved."""
    return [name for name, modes in results.items() if modes[mode].solved]


def test_the_tasks_are_of_every_kind_and_can_be_judged() -> None:
    """About twenty; the answer was said, in the newest of the statements where one outdates another."""
    tasks = read_tasks()
    assert 20 <= len(tasks) == len({task.name for task in tasks})
    assert {task.kind for task in tasks} == KINDS
    for task in tasks:
        said = [text for text, _, _ in sorted(task.said, key=lambda each: each[2])]
        assert all(any(word in text for text in said) for word in (*task.answer, *task.stale)), task.name
        assert not any(word.casefold() in task.question.casefold() for word in task.answer), task.name
        newest = next(text for text in said if any(word in text for word in (*task.answer, *task.stale)))
        assert all(word in newest for word in task.answer), task.name


def test_without_memory_nothing_is_solved(results: Results) -> None:
    """Nothing is injected."""
    assert solved(results, WITHOUT) == []
    assert all(modes[WITHOUT] == TaskResult(False, modes[WITHOUT].newer_first, "", 0) for modes in results.values())


def test_with_memory_the_answers_are_told(results: Results) -> None:
    """Within a bounded text; nine of ten at least."""
    assert len(solved(results, WITH)) >= 0.9 * len(results)
    assert all(modes[WITH].tokens <= 1500 for modes in results.values())
    told = [modes[WITH] for modes in results.values() if modes[WITH].tokens]
    assert len(told) >= len(solved(results, WITH))
    assert all(each.told.startswith("[") for each in told)


def test_keyword_search_carries_on_without_vectors(results: Results) -> None:
    """Four of five at least."""
    assert len(solved(results, WORDS)) >= 0.8 * len(results)


def test_results_are_plain_json(results: Results) -> None:
    """In the shape of every measurement."""
    found = tasks_json(results, MemoryConfig(), 1.0)
    assert json.loads(json.dumps(found)) == found
    assert [row["name"] for row in found["rows"]] == list(MODES)
    assert found["rows"][1]["solved"] == len(solved(results, WITH))
    assert len(found["dataset"]["sha256"]) == 64


def test_a_task_is_judged_by_words_and_by_what_comes_first() -> None:
    """All words of the answer, in any case; an outdated hit must not come before the newer one."""
    task = Task("t", "correction", "Where?", ("Lyon", "old town"), ("Paris",), ())
    hits = [
        MemoryHit(record=MemoryRecord(id=f"{n}", text=text, user_id="u"))
        for n, text in enumerate(("I live in Paris.", "I live in Lyon, in the old town."))
    ]
    context = "<m>\n[user] I live in Paris.\n[user] I live in LYON, in the old town.\n</m>"
    told = judge(task, Explanation(context, hits))
    assert (told.solved, told.newer_first, told.told) == (True, False, "[user] I live in LYON, in the old town.")
    assert judge(task, Explanation(context, hits[::-1])).newer_first is True
    half = judge(task, Explanation("[user] I live in Lyon.", hits[:1]))
    assert (half.solved, half.told) == (False, "[user] I live in Lyon.")
    assert judge(task, Explanation()).newer_first is False
