"""Tasks that need memory: the same question without memory, with it, and with keyword search alone.

Each task tells what was said in earlier conversations, one thread each, and asks a question of a later one. All tasks
share one memory, so that each has to be told from the others. A task is solved where the text that a model call would
get holds the answer's words. No model is asked: what it would be told is what memory changes. Where one statement
outdates another, it is also told whether the newer one is found first.
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from langmem_plus.client import Explanation
from langmem_plus.config import MemoryConfig
from langmem_plus.evals.building import USER, Moment, Step, build, opened
from langmem_plus.evals.provenance import provenance, settings_json
from langmem_plus.evals.questions import Sample
from langmem_plus.evals.setups import Setup, steady
from langmem_plus.importers import Conversation, ImportedMessage
from langmem_plus.records import MemoryHit

FILE = "data/tasks.toml"
ASKED_AT = dt.datetime(2025, 6, 2, 9, tzinfo=dt.UTC)
WITHOUT, WITH, WORDS = "without memory", "with memory", "words alone"
MODES = (WITHOUT, WITH, WORDS)
PROTOCOL = (
    "what was said in all tasks stands in one store, built through MemoryClient.add, one thread a statement, each at "
    "its own time",
    f"the question is asked of a new conversation through MemoryClient.explain: '{WITHOUT}' with enabled = false, "
    f"'{WITH}' with the settings as they are, '{WORDS}' with embeddings = none",
    "solved: what is injected holds the answer's words; newer first: no hit with an outdated word comes before it",
)


@dataclass(frozen=True)
class Task:
    """What was said, what is asked, and what shows that memory helped.

    Attributes:
        name: what it is called.
        kind: what it needs memory for.
        question: asked in a later conversation.
        answer: words that must be told, all of them.
        stale: words of an outdated statement.
        said: statements, each with its speaker's name and its age in days.
    """

    name: str
    kind: str
    question: str
    answer: tuple[str, ...]
    stale: tuple[str, ...]
    said: tuple[tuple[str, str | None, float], ...]


@dataclass(frozen=True)
class TaskResult:
    """What one way of asking came to.

    Attributes:
        solved: whether the answer's words were told.
        newer_first: whether no outdated statement came before it; None where there is none.
        told: the line that tells the answer, else the first line of memory; empty where nothing was injected.
        tokens: of the text that was injected.
    """

    solved: bool
    newer_first: bool | None
    told: str
    tokens: int


@functools.cache
def read_tasks() -> tuple[Task, ...]:
    """The tasks that come with the package."""
    data = tomllib.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return tuple(_task(item) for item in data["tasks"])


def _task(item: dict[str, Any]) -> Task:
    said = tuple((each["text"], each.get("by"), float(each["days"])) for each in item["said"])
    stale = tuple(item.get("stale", ()))
    return Task(item["name"], item["kind"], item["question"], tuple(item["answer"]), stale, said)


def as_memory(tasks: Sequence[Task]) -> Sample:
    """What was said in all tasks, in the order of time, as one memory."""
    said = [
        (ASKED_AT - dt.timedelta(days=days), f"{task.name}:{number}", name, text)
        for task in tasks
        for number, (text, name, days) in enumerate(task.said)
    ]
    threads = [
        Conversation(id, [ImportedMessage(role="user", content=text, name=name, id=id, created_at=at)])
        for at, id, name, text in sorted(said, key=lambda each: each[:2])
    ]
    return Sample("tasks", threads, [])


def judge(task: Task, found: Explanation) -> TaskResult:
    """Whether what is injected tells the answer."""
    told = [line for line in found.context.splitlines() if line.startswith("[")]
    solving = [line for line in told if _holds(line, task.answer)]
    return TaskResult(
        solved=_holds(found.context, task.answer),
        newer_first=_newer_first(task, found.hits) if task.stale else None,
        told=(solving or told or [""])[0],
        tokens=found.report.tokens.get("context", 0),
    )


def _holds(text: str, words: Sequence[str]) -> bool:
    folded = text.casefold()
    return all(word.casefold() in folded for word in words)


def _newer_first(task: Task, hits: Sequence[MemoryHit]) -> bool:
    for hit in hits:
        if _holds(hit.text, task.answer):
            return True
        if any(_holds(hit.text, (word,)) for word in task.stale):
            return False
    return False


def run_tasks(
    folder: Path, config: MemoryConfig, tasks: Sequence[Task] | None = None, step: Step = lambda n: None
) -> dict[str, dict[str, TaskResult]]:
    """Build the memory and ask every question in every mode; the results by task and mode.

    Args:
        folder: where the store is made.
        config: the settings of memory.
        tasks: which; None takes those that come with the package.
        step: called with the number of statements stored and questions asked.
    """
    tasks = read_tasks() if tasks is None else tasks
    build(as_memory(tasks), folder / "store", Setup(WITH, steady(config)), step=step)
    found: dict[str, dict[str, TaskResult]] = {task.name: {} for task in tasks}
    moment = Moment()
    moment.now = ASKED_AT
    changes: dict[str, dict[str, Any]] = {WITHOUT: {"enabled": False}, WITH: {}, WORDS: {"embeddings": "none"}}
    for mode, changed in changes.items():
        with opened(folder / "store", steady(config.replace(**changed)), moment) as client:
            for task in tasks:
                found[task.name][mode] = judge(task, client.explain(task.question, user_id=USER))
                step(1)
    return found


def workload(tasks: Sequence[Task]) -> int:
    """How many steps a run takes."""
    return sum(len(task.said) for task in tasks) + len(MODES) * len(tasks)


def tasks_json(results: dict[str, dict[str, TaskResult]], config: MemoryConfig, seconds: float) -> dict[str, Any]:
    """The results as plain JSON, in the shape of every measurement."""
    raw = files(__package__).joinpath(FILE).read_bytes()
    tasks = [task for task in read_tasks() if task.name in results]
    return {
        "measured": "tasks",
        "dataset": {
            "file": Path(FILE).name,
            "form": "tasks of our own",
            "sha256": hashlib.sha256(raw).hexdigest(),
            "entries": len(tasks),
        },
        "protocol": list(PROTOCOL),
        **provenance(),
        "seconds": {"all": round(seconds, 1)},
        "config": settings_json(config),
        "rows": [
            {
                "name": mode,
                "solved": sum(results[task.name][mode].solved for task in tasks),
                "newer_first": sum(bool(results[task.name][mode].newer_first) for task in tasks),
                "of_updates": sum(bool(task.stale) for task in tasks),
                "answers": {task.name: vars(results[task.name][mode]) for task in tasks},
            }
            for mode in MODES
        ],
        "tasks": [{"name": task.name, "kind": task.kind, "question": task.question} for task in tasks],
    }
