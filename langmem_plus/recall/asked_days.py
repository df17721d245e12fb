"""Questions for days and nothing else: "What did I do yesterday?", "Was habe ich am 4. März erzählt?".

No word of what was said then is in them, so neither words nor vectors find it: what was said on those days is listed.
A question that asks for more ("What film did I see on Tuesday?") is searched by it, and its days are cues.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Sequence

import numpy as np

from langmem_plus.config import MemoryConfig
from langmem_plus.recall.candidates import Floats
from langmem_plus.recall.earlier import asked_topic
from langmem_plus.recall.readings import asks_assistant, asks_past, read
from langmem_plus.recall.times import Named, Period, named_dates, period_match, periods, weekdays, without_times
from langmem_plus.records import MemoryHit
from langmem_plus.small_talk import is_question, phrases_of

_LONGEST = 200  # characters
_LEAP = 8  # years, of which one has a 29 February
# What happened, whatever it was.
_DOING = phrases_of(
    """
    what happened, happened, happen, happening, going on, went on, been up to, up to, doing, done, have been, on, at,
    since, passiert, geschehen, los war, gemacht, getan, erlebt, dir, am, seit,
    s'est il passé, s'est passé, passé, fait, faisais, depuis, le, qu'ai je, j'ai, hice,
    hecho, hacía, pasó, ha pasado, desde,
    发生, 做, 干, 怎么样, 事情, 事儿, 事
    """
)
_HAPPENED = re.compile(
    r"\b(?:happened|went on|going on|war|passiert|geschehen|passé|fait|dit|pasó|hecho|dicho"
    r"|(?:hab|habe|hast|haben) (?:\S+ ){1,6}?(?:gemacht|getan|erlebt|erzählt|gesagt)|hice|hicimos|dije)\b|发生"
    r"|[做干说]了",
    re.IGNORECASE,
)
# How a question begins that has no mark; those of Chinese stand anywhere.
_ASKING = re.compile(
    r"\W{0,9}(?:(?:hey|hi|hello|so|and|und|et|y)\b\W{0,9}){0,2}(?:what|where|who|how|was|wo|wen|wie|qu['’]|que|quoi|où|qui"
    r"|j['’]ai fait quoi|qué|dónde|cómo)\b|[^\n]{0,60}(?:什么|哪|怎么)",
    re.IGNORECASE,
)
_TO_COME = re.compile(
    r"\b(?:will|shall|gonna|going to|plan\w*|tomorrow|next|werde|wirst|morgen|nächste\w?|vais|demain|prochaine?|voy"
    r"|haré|mañana|próxim[oa])\b|明天|下周|将",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\W*(?:please\s)?(?:tell|remind|show|give|list|summari[sz]e|recap|sag|zeig|erzähl\w*|fass\w*|dis|montre|résum\w*|dime"
    r"|cuéntame|resume)\b",
    re.IGNORECASE,
)
# What only asked, and what the assistant said, tells less of a day than what was told.
_BESIDE = 0.5


def asked_days(question: str, today: dt.date) -> list[Period]:
    """The days that a question asks for; empty where it asks for anything else, too, or for what is to come.

    >>> asked_days("What did I do yesterday?", dt.date(2026, 3, 7))
    [Period(first=datetime.date(2026, 3, 6), last=datetime.date(2026, 3, 6))]
    >>> asked_days("What film did I see yesterday?", dt.date(2026, 3, 7))
    []
    """
    return _days(question, today) or []


def asks_no_day(question: str, today: dt.date) -> bool:
    """Whether a question asks for days that don't exist ("on 31 April", "on 2026-02-30"), and for nothing else."""
    return _days(question, today) == []


def _days(question: str, today: dt.date) -> list[Period] | None:
    """The days that a question asks for, as far as they exist; None where it asks for anything else."""
    if len(question) > _LONGEST or not (is_question(question) or _REQUEST.match(question) or _ASKING.match(question)):
        return None
    if _TO_COME.search(question) or not (asks_past(question) or _HAPPENED.search(question)):
        return None
    counted, named = [*periods(question, today, exactly=True), *weekdays(question, today)], named_dates(question)
    if not (counted or named) or asked_topic(without_times(question), _DOING):
        return None
    return [*counted, *(day for each in named if (day := _latest(each, today)) is not None)]


def _latest(named: Named, today: dt.date) -> Period | None:
    """The last time that it was such a day, or month; None where no year has it, or the one that is named hasn't."""
    latest = today.year if (named.month, named.day or 1) <= (today.month, today.day) else today.year - 1
    years = range(latest, latest - _LEAP, -1) if named.year is None else [named.year]
    for year in (each for each in years if dt.MINYEAR <= each <= dt.MAXYEAR):
        end = calendar.monthrange(year, named.month)[1]
        if (named.day or end) <= end:
            return Period(dt.date(year, named.month, named.day or 1), dt.date(year, named.month, named.day or end))
    return None


def said_then(days: Sequence[Period]) -> dict[str, str]:
    """A store's filter for what was said on some days: times are ISO texts, which sort as they follow one another."""
    return {
        "$gte": min(day.first for day in days).isoformat(),
        "$lte": f"{max(day.last for day in days).isoformat()}~",  # "~" comes behind "T…"
    }


def split_by_days(
    question: str, hits: Sequence[MemoryHit], days: Sequence[Period], config: MemoryConfig
) -> tuple[list[MemoryHit], Floats, list[MemoryHit]]:
    """The hits that were said on the days that are asked for, how relevant each is, in [0, 1], and the other hits."""
    then = [hit for hit in hits if period_match(list(days), hit.record.said_at.date())]
    others = [hit for hit in hits if not period_match(list(days), hit.record.said_at.date())]
    replies = asks_assistant(question)
    beside = [not read(hit.record.text).tells or (hit.record.role == "assistant") > replies for hit in then]
    return then, np.where(np.array(beside, bool), max(_BESIDE, config.score_threshold or 0.0), 1.0), others
