"""What a question's cues ask for, and whether each candidate has it: a speaker, a day, a number, what was said by whom.

The features' names are explained in `features`.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from langmem_plus.recall.candidates import Candidates, Floats
from langmem_plus.recall.readings import (
    Reading,
    asks_assistant,
    asks_name,
    asks_number,
    asks_past,
    asks_time,
    read,
)
from langmem_plus.recall.times import date_match, named_dates, period_match, periods
from langmem_plus.speakers import key_of
from langmem_plus.text import words

T = TypeVar("T")
_has_number, _has_time, _first_person, _past, _tells = map(
    operator.attrgetter, ("has_number", "has_time", "first_person", "past", "tells")
)


def by_cues(question: str, candidates: Candidates, asked_on: dt.date, asker: str = "") -> dict[str, Floats]:
    """spk, role, date, win, x_num, x_date, x_name, x_past, firstp and tells."""
    named, spans = named_dates(question), periods(question, asked_on)
    texts = candidates.texts
    others = any(not name and not reply for name, reply in zip(candidates.names, candidates.replies, strict=True))

    def each(condition: bool, holds: Callable[[Reading], bool]) -> Floats:
        return np.array([*map(holds, texts)], np.float64) if condition else np.zeros(len(texts))

    def days(sought: list[T], match: Callable[[list[T], dt.date], float]) -> Floats:
        return np.array([match(sought, day) for day in candidates.days] if sought else np.zeros(len(texts)), np.float64)

    return {
        "spk": by_speaker(question, candidates.names, asker, others=others),
        "role": by_role(question, candidates),
        "date": days(named, date_match),
        "win": days(spans, period_match),
        "x_num": each(asks_number(question), _has_number),
        "x_date": each(asks_time(question), _has_time),
        "x_name": by_name(question, candidates) if asks_name(question) else np.zeros(len(texts)),
        "x_past": each(asks_past(question), _past),
        "firstp": each(True, _first_person),
        "tells": np.array([*map(_tells, texts)], np.float64),
    }


def by_name(question: str, candidates: Candidates) -> Floats:
    """1 for what holds a name that answers: none of the question's own, and not that of another speaker, who is spoken
    to ("Thanks, Ann!").
    """
    asked = frozenset(words(question))
    names = {name: frozenset(words(name)) for name in set(candidates.names)}
    known = {name: asked.union(*(said for other, said in names.items() if other != name)) for name in names}
    told = zip(candidates.texts, candidates.names, strict=True)
    return np.array([not text.names <= known[name] for text, name in told], np.float64)


def by_speaker(question: str, names: Sequence[str], asker: str = "", *, others: bool = False) -> Floats:
    """1 for what a speaker says whom the question names, where it doesn't name all of them. Who asks of "my dog" is
    named, too.

    Args:
        question: the words to rank by.
        names: the candidates' speakers, "" where nobody is named.
        asker: the name of who asks, "" where nobody is named.
        others: whether somebody without a name says some of them.
    """
    asked, speakers = set(words(question)), set(names) - {""}
    named = {name for name in speakers if not asked.isdisjoint(words(name))}
    if asker and ((reading := read(question)).first_person or reading.own):
        named |= {name for name in speakers if key_of(name) == key_of(asker)}
    tells_apart = bool(named) and (others or named != speakers)
    return np.array([tells_apart and name in named for name in names], np.float64)


def by_role(question: str, candidates: Candidates) -> Floats:
    """1 for a reply where the question asks for what the assistant said, else for everything but replies; 0 for all
    where there is no reply among the candidates."""
    if not candidates.replies.any():
        return np.zeros(len(candidates))
    unnamed = np.array([not name for name in candidates.names], bool)
    wanted: Floats = (unnamed & (candidates.replies == asks_assistant(question))).astype(np.float64)
    return wanted
