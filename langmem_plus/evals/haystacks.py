"""LongMemEval's questions, each with a haystack: its own sessions among others, drawn with a fixed seed.

The file with the evidence alone is small; what makes a haystack of it is said here, so that anyone draws the same. A
session that was drawn keeps its age: it lies as long before the question as it lay before the one that it belongs to.

Source: Wu et al. (2025), "LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory".
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langmem_plus.evals.metrics import SEED
from langmem_plus.evals.questions import Question, Sample
from langmem_plus.importers import Conversation
from langmem_plus.importers.longmemeval import read_date
from langmem_plus.importers.parts import Place
from langmem_plus.shown import shown

SESSIONS = 50  # of a haystack, with the evidence
UPDATES = "knowledge-update"


def longmemeval_samples(
    entries: Sequence[Mapping[str, Any]], conversations: Sequence[Conversation], place: Place, *, seed: int = SEED
) -> Iterator[Sample]:
    """One sample a question, of user's turns alone; a file whose haystacks are full is taken as it is.

    Args:
        entries: the questions, as the file has them.
        conversations: the sessions of all questions.
        place: the file.
        seed: of the draw.
    """
    own: dict[str, list[Conversation]] = {}
    for conversation in conversations:
        own.setdefault(conversation.sample_id or "", []).append(_users(conversation))
    asked = {
        str(entry["question_id"]): read_date(entry.get("question_date"), place / f"[{n}].question_date")
        for n, entry in enumerate(entries)
    }
    for number, entry in enumerate(entries):
        name = str(entry["question_id"])
        threads = own.get(name, [])
        drawn = _draw(name, own, asked, SESSIONS - len(threads), seed)
        question = _question(entry, threads, asked[name], place / f"[{number}]")
        haystack = sorted([*threads, *drawn], key=_said_at)
        yield Sample(name, [thread for thread in haystack if thread.messages], [question])


def _draw(
    name: str, own: Mapping[str, list[Conversation]], asked: Mapping[str, dt.datetime], count: int, seed: int
) -> list[Conversation]:
    """So many sessions of other questions, none twice, moved to their age before this question."""
    there = {thread.thread_id for thread in own.get(name, [])}
    pool: dict[str, tuple[str, Conversation]] = {}
    for other, threads in own.items():
        for thread in threads:
            if thread.thread_id not in there:
                pool.setdefault(thread.thread_id, (other, thread))
    names = random.Random(f"{seed}:{name}").sample(sorted(pool), min(max(count, 0), len(pool)))
    return [_moved(pool[each][1], asked[name] - asked[pool[each][0]]) for each in names]


def _moved(thread: Conversation, by: dt.timedelta) -> Conversation:
    moved = [{**m, "created_at": m["created_at"] and m["created_at"] + by} for m in thread.messages]
    return replace(thread, messages=moved)  # type: ignore[arg-type] # the same message with another time


def _users(conversation: Conversation) -> Conversation:
    return replace(conversation, messages=[m for m in conversation.messages if m["role"] == "user"])


def _said_at(thread: Conversation) -> tuple[float, str]:
    first = thread.messages[0]["created_at"] if thread.messages else None
    return first.timestamp() if first else 0.0, thread.thread_id


def _question(
    entry: Mapping[str, Any], threads: Sequence[Conversation], asked_at: dt.datetime, place: Place
) -> Question:
    text, kind = entry.get("question"), entry.get("question_type")
    if not isinstance(text, str) or not isinstance(kind, str):
        raise place.error(f"expected question and question_type, found {shown(text)} and {shown(kind)}")
    marked = {
        f"{session}:{n}"
        for session, turns in zip(entry["haystack_session_ids"], entry["haystack_sessions"], strict=True)
        for n, turn in enumerate(turns)
        if turn.get("has_answer") and turn["role"] == "user"
    }
    newer, older = _versions(kind, threads, marked)
    return Question(
        text,
        kind,
        evidence=frozenset(marked),
        sessions=frozenset(map(str, entry.get("answer_session_ids") or [])),
        asked_at=asked_at,
        newer=newer,
        older=older,
        answerable=not str(entry["question_id"]).endswith("_abs"),
    )


def _versions(kind: str, threads: Sequence[Conversation], marked: set[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Of an update, the evidence in the last session that has some, and the evidence before it."""
    held = [
        (thread, frozenset(m["id"] for m in thread.messages if m["id"] in marked))
        for thread in sorted(threads, key=_said_at)
    ]
    parts = [ids for _, ids in held if ids]
    if kind != UPDATES or len(parts) < 2:
        return frozenset(), frozenset()
    return frozenset(filter(None, parts[-1])), frozenset(id for ids in parts[:-1] for id in ids if id)
