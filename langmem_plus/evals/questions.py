"""Questions with known evidence, and the conversations that hold it, as data sets write them down."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from langmem_plus.importers import Conversation
from langmem_plus.importers.parts import Place, read_time
from langmem_plus.shown import shown

LOCOMO_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "false premise"}
AFTERWARDS = dt.timedelta(hours=1)  # a question without a time of its own is asked so long after the last message
_EPOCH = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)  # of messages that nobody dated


@dataclass(frozen=True)
class Question:
    """A question whose evidence is known.

    Attributes:
        text: the question.
        kind: its type, by which results are told apart.
        evidence: the ids of the messages that hold the answer.
        sessions: the threads that hold it.
        asked_at: the day as of which it is asked.
        older: ids of messages that ``newer`` ones outdate.
        newer: ids of messages that should come before the ``older`` ones.
        answerable: whether the messages hold an answer at all.
    """

    text: str
    kind: str
    evidence: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    asked_at: dt.datetime = _EPOCH
    older: frozenset[str] = frozenset()
    newer: frozenset[str] = frozenset()
    answerable: bool = True


@dataclass(frozen=True)
class Sample:
    """One memory: what was said in it, and what is asked of it."""

    id: str
    threads: Sequence[Conversation]
    questions: Sequence[Question]

    @property
    def messages(self) -> int:
        """How many messages there are."""
        return sum(len(thread.messages) for thread in self.threads)

    @cached_property
    def sessions(self) -> Mapping[str, str]:
        """The thread of each message, by its id."""
        return {
            str(message["id"]): thread.thread_id or ""
            for thread in self.threads
            for message in thread.messages
            if message["id"]
        }


def last_time(threads: Iterable[Conversation]) -> dt.datetime:
    """When the last message was said."""
    times = (message["created_at"] for thread in threads for message in thread.messages)
    return max((time for time in times if time is not None), default=_EPOCH)


def with_sessions(questions: Iterable[Question], threads: Sequence[Conversation]) -> list[Question]:
    """The questions with the threads of their evidence, asked after the last message where they have no time."""
    thread_of = {message["id"]: thread.thread_id for thread in threads for message in thread.messages}
    after = last_time(threads) + AFTERWARDS
    return [
        replace(
            question,
            sessions=question.sessions or frozenset(thread_of[id] for id in question.evidence if id in thread_of),
            asked_at=after if question.asked_at == _EPOCH else question.asked_at,
        )
        for question in questions
    ]


def read_locomo_questions(data: Mapping[str, Any], place: Place) -> list[Question]:
    """The questions of one of LoCoMo's samples; those without evidence are left out.

    Source: Maharana et al. (2024), "Evaluating Very Long-Term Conversational Memory of LLM Agents".
    """
    found = []
    for number, item in enumerate(_listed(data, "qa", place)):
        text, spot = _text(item, "question", place / f"qa[{number}]"), place / f"qa[{number}]"
        kind = LOCOMO_KINDS.get(item.get("category"))
        if kind is None:
            raise (spot / "category").error(f"expected one of 1 to 5, found {shown(item.get('category'))}")
        # Some lists hold several ids in one text: "D8:6; D9:17".
        named = [id for ids in _listed(item, "evidence", spot) for id in re.findall(r"D\d+:\d+", str(ids))]
        if named:
            found.append(Question(text, kind, frozenset(named), answerable=kind != "false premise"))
    return found


def read_beam_questions(data: Mapping[str, Any], place: Place) -> list[Question]:
    """The questions of one of BEAM's chats; those on what was never said aren't answerable."""
    found = []
    for number, item in enumerate(_listed(data, "questions", place)):
        spot = place / f"questions[{number}]"
        text, kind = _text(item, "question", spot), _text(item, "category", spot).replace("_", " ")
        evidence = frozenset(map(str, _listed(item, "evidence", spot)))
        sources = item.get("source_chat_ids")
        versions: Mapping[str, Any] = sources if isinstance(sources, Mapping) else {}
        newer = frozenset(map(str, versions.get("updated_info") or []))
        older = frozenset(map(str, versions.get("original_info") or [])) - newer
        answerable = kind != "abstention"
        if evidence or not answerable:
            found.append(Question(text, kind, evidence, older=older, newer=newer, answerable=answerable))
    return found


def read_own_question(data: Mapping[str, Any], place: Place) -> Question:
    """A question as a line of JSON."""
    evidence = frozenset(map(str, _listed(data, "evidence", place)))
    asked_at = data.get("asked_at")
    older = frozenset(map(str, _listed(data, "older", place)))
    return Question(
        text=_text(data, "question", place),
        kind=_text(data, "type", place) if data.get("type") is not None else "question",
        evidence=evidence,
        asked_at=_EPOCH if asked_at is None else read_time(asked_at, place / "asked_at"),
        older=older,
        newer=evidence if older else frozenset(),
        answerable=bool(evidence),
    )


def _listed(data: Mapping[str, Any], field: str, place: Place) -> list[Any]:
    value = data.get(field)
    if value is not None and not isinstance(value, list):
        raise (place / field).error(f"expected a list, found {shown(value)}")
    if field in ("qa", "questions") and not all(isinstance(item, Mapping) for item in value or []):
        raise (place / field).error("expected a list of questions")
    return value or []


def _text(data: Mapping[str, Any], field: str, place: Place) -> str:
    value = data.get(field)
    if not isinstance(value, str) or not value.strip():
        raise (place / field).error(f"expected a text, found {shown(value)}")
    return value
