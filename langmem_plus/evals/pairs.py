"""Pairs of statements of which the newer one holds, as one memory: is the newer one found first?

Each entry has ``old`` and ``new`` (a message with ``text`` and, optionally, ``date``, or several), ``kind`` and
``question``. All pairs stand in one store. Each pair's newer statement was said the day before the question; the older
one as long before it as the file says, or `GAP`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from langmem_plus.evals.questions import Question, Sample
from langmem_plus.importers import Conversation, ImportedMessage
from langmem_plus.importers.longmemeval import read_date
from langmem_plus.importers.parts import Place
from langmem_plus.shown import shown

GAP = dt.timedelta(days=30)
ASKED_AT = dt.datetime(2024, 6, 1, 12, tzinfo=dt.UTC)
_AFTER_NEWER = dt.timedelta(days=1)


def is_pair(data: Any) -> bool:
    """Whether something is an older and a newer statement."""
    return isinstance(data, Mapping) and {"old", "new", "question"} <= data.keys()


def pair_samples(entries: Sequence[Mapping[str, Any]], place: Place) -> list[Sample]:
    """All pairs as one sample."""
    threads: list[Conversation] = []
    questions: list[Question] = []
    for number, entry in enumerate(entries):
        spot = place / f"[{number}]"
        name, text = str(entry.get("id", number)), entry["question"]
        if not isinstance(text, str):
            raise (spot / "question").error(f"expected a text, found {shown(text)}")
        old, new = (_statements(entry[side], spot / side) for side in ("old", "new"))
        newer_at = ASKED_AT - _AFTER_NEWER
        older_at = newer_at - _gap(old, new)
        sides = [
            _thread(f"{name}/{side}", said, at) for side, said, at in (("old", old, older_at), ("new", new, newer_at))
        ]
        threads += sides
        older, newer = (frozenset(str(message["id"]) for message in thread.messages) for thread in sides)
        sessions = frozenset(thread.thread_id for thread in sides)
        kind = str(entry.get("kind", "update"))
        questions.append(Question(text, kind, older | newer, sessions, ASKED_AT, older=older, newer=newer))
    threads.sort(key=lambda thread: (str(thread.messages[0]["created_at"]), thread.thread_id))
    return [Sample("pairs", threads, questions)]


def _statements(side: Any, place: Place) -> list[tuple[str, dt.datetime | None]]:
    found = []
    for item in side if isinstance(side, list) else [side]:
        if not isinstance(item, Mapping) or not isinstance(item.get("text"), str):
            raise place.error(f"expected a message with text, found {shown(item)}")
        date = item.get("date")
        found.append((item["text"], None if date is None else read_date(date, place / "date")))
    if not found:
        raise place.error("expected a message, found none")
    return found


def _gap(old: Sequence[tuple[str, dt.datetime | None]], new: Sequence[tuple[str, dt.datetime | None]]) -> dt.timedelta:
    first, second = old[-1][1], new[0][1]
    return max(second - first, dt.timedelta(minutes=1)) if first and second else GAP


def _thread(name: str, said: Sequence[tuple[str, dt.datetime | None]], at: dt.datetime) -> Conversation:
    messages = [
        ImportedMessage(role="user", content=text, name=None, id=f"{name}:{n}", created_at=at)
        for n, (text, _) in enumerate(said)
    ]
    return Conversation(name, messages)
