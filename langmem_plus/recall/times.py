"""Times that a question names: a month or a day ("on 7 May", "im Mai 2023", "5月7日"), or a span that is counted from
when it is asked ("two weeks ago", "letzten Samstag", "上周").
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Iterator
from typing import NamedTuple

_MONTHS = """
    january jan januar janvier enero | february feb februar février fevrier febrero | march mar märz maerz mars marzo |
    april apr avril abril | may mai mayo | june jun juni juin junio | july jul juli juillet julio |
    august aug août aout agosto | september sep sept septembre septiembre setiembre | october oct oktober octobre
    octubre | november nov novembre noviembre | december dec dezember décembre decembre diciembre
"""
MONTHS = {name: number for number, names in enumerate(_MONTHS.split("|"), 1) for name in names.split()}
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
# Month names that are words, too: they count with a capital, and beside a year, a day or a word of time.
_WORDS_TOO = frozenset({"may", "march", "mar", "mars", "sept", "jan", "mai"})
_BEFORE_MONTH = r"(?P<before>in|of|during|since|until|by|last|this|next|im|seit|bis|en|de|depuis)"
_DAY = r"(\d{1,2})(?:st|nd|rd|th|er|\.)?"
_YEAR = r"(?:,?\s*(?:of\s+|de\s+|del\s+)?(\d{4})\b)?"
_DAY_MONTH = re.compile(rf"\b{_DAY}\s+(?:of\s+|de\s+)?({_MONTH})\b\.?{_YEAR}", re.IGNORECASE)
_MONTH_DAY = re.compile(rf"\b({_MONTH})\b\.?\s+(?:the\s+)?{_DAY}(?!\d){_YEAR}", re.IGNORECASE)
_MONTH_ALONE = re.compile(rf"\b(?:{_BEFORE_MONTH}\s+)?(?P<month>{_MONTH})\b\.?{_YEAR}", re.IGNORECASE)
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_HAN = re.compile(r"(?:(\d{4})年)?(\d{1,2})月(?:(\d{1,2})[日号])?")

_DAYS = """
    monday montag lundi lunes | tuesday dienstag mardi martes | wednesday mittwoch mercredi miércoles miercoles |
    thursday donnerstag jeudi jueves | friday freitag vendredi viernes | saturday samstag sonnabend samedi sábado
    sabado | sunday sonntag dimanche domingo
"""
_WEEKDAYS = {name: number for number, names in enumerate(_DAYS.split("|")) for name in names.split()}
_UNITS = {
    **dict.fromkeys(("day", "days", "tag", "tage", "tagen", "jour", "jours", "día", "días", "dia", "dias", "天"), 1),
    **dict.fromkeys(
        ("week", "weeks", "woche", "wochen", "semaine", "semaines", "semana", "semanas", "周", "星期", "个星期"), 7
    ),
    **dict.fromkeys(("month", "months", "monat", "monate", "monaten", "mois", "mes", "meses", "个月", "月"), 30),
    **dict.fromkeys(("year", "years", "jahr", "jahre", "jahren", "an", "ans", "année", "año", "años", "年"), 365),
}
_COUNTS = """
    a an one ein eine einem einer un une uno una 一 | two zwei deux dos couple 两 二 | three few drei trois tres 三 |
    four vier quatre cuatro 四 | five fünf cinq cinco 五 | six sechs seis 六 | seven sieben sept siete 七 |
    eight acht huit ocho 八 | nine neun neuf nueve 九 | ten zehn dix diez 十
"""
_NUMBERS = {name: number for number, names in enumerate(_COUNTS.split("|"), 1) for name in names.split()}
_MANY = r"(?:a\s+)?(\d+|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + r")(?:\s+of)?"
_UNIT = (
    "("
    + "|".join(sorted((unit for unit in _UNITS if unit.isalpha() and ord(unit[0]) < 0x3000), key=len, reverse=True))
    + ")"
)
_HAN_UNIT = "(个星期|星期|个月|周|天|年)"
_AGO = re.compile(
    rf"\b{_MANY}\s+{_UNIT}\s+(?:ago|before|back|earlier)\b|\b(?:vor|il y a|hace)\s+{_MANY}\s+{_UNIT}\b"
    rf"|((?<!\d)\d+|[一二两三四五六七八九十]){_HAN_UNIT}之?前",  # a number has one beginning, however long it is
    re.IGNORECASE,
)
_SINCE = re.compile(
    rf"\b(?:last|past|previous|letzten|vergangenen|derniers|dernières|últimos|últimas)\s+{_MANY}\s+{_UNIT}\b"
    rf"|\b(?:los|las|les|den)\s+{_MANY}\s+(?:últimos|últimas|derniers|dernières)\s+{_UNIT}\b"
    rf"|(?:过去|最近)(\d+|[一二两三四五六七八九十]){_HAN_UNIT}",
    re.IGNORECASE,
)
_LAST = (
    r"(?:last|past|previous|letzten|letzte|letztes|letzter|vorigen|vorige|voriges|vergangenen|dernier|dernière|"
    r"último|última)"
)
_THIS = r"(?:this|diesen|diese|dieses|dieser|cette|ce|este|esta)"
_AFTER = r"(?:dernier|dernière|derniere|passé|passée|pasado|pasada)"
_SPAN = "|".join(
    [
        *sorted(_WEEKDAYS, key=len, reverse=True),
        "fin de semana",
        "weekend",
        "week-end",
        "wochenende",
        "week",
        "woche",
        "semaine",
        "semana",
        "month",
        "monat",
        "mois",
        "mes",
        "year",
        "jahr",
        "année",
        "año",
    ]
)
_NAMED = re.compile(
    rf"\b(?P<past>{_LAST})\s+(?P<a>{_SPAN})\b|\b(?P<now>{_THIS})\s+(?P<b>{_SPAN})\b|\b(?P<c>{_SPAN})\s+(?P<after>{_AFTER})\b",
    re.IGNORECASE,
)
_NEAR = {
    **dict.fromkeys(("yesterday", "last night", "gestern", "hier", "ayer", "anoche", "昨天", "昨晚"), (1, 1)),
    **dict.fromkeys(("today", "heute", "aujourd'hui", "hoy", "今天", "今晚"), (0, 0)),
    **dict.fromkeys(("the day before yesterday", "day before yesterday", "vorgestern"), (2, 2)),
    **dict.fromkeys(("avant-hier", "avant hier", "anteayer", "antes de ayer", "anteanoche", "前天", "前晚"), (2, 2)),
    **dict.fromkeys(("vorvorgestern", "avant-avant-hier", "trasanteayer", "大前天"), (3, 3)),
}
_HAN_SPAN = re.compile(r"(上上|上|这|本)个?(?:(?:周|星期|礼拜)([一二三四五六日天])?|(月))|(今|去|前)年")
_HAN_BACK = {"上上": 2, "上": 1, "这": 0, "本": 0, "今": 0, "去": 1, "前": 2}
_NEAR_WORD = re.compile(
    "|".join(rf"\b{word}\b" if word[0].isascii() else word for word in sorted(_NEAR, key=len, reverse=True)),
    re.IGNORECASE,
)
_DAY_NAME = "|".join(sorted(_WEEKDAYS, key=len, reverse=True))
_ON_DAY = re.compile(
    rf"\b(?:(?P<since>since|seit|depuis|desde)|on|am|le|el)\s+(?:el\s+)?(?P<day>{_DAY_NAME})\b", re.IGNORECASE
)
# How many days a count may be off, by its unit: nobody counts to the day.
_SLACK = {1: 1, 7: 4, 30: 16, 365: 120}
_ROUGHLY = re.compile(r"\b(?:few|couple)\b", re.IGNORECASE)
_MONTH_SHARE, _OTHER_DAY_SHARE = 0.5, 0.25


class Named(NamedTuple):
    """A month, or a day of it, perhaps of a year."""

    month: int
    day: int | None = None
    year: int | None = None


class Period(NamedTuple):
    """From one day to another, both included."""

    first: dt.date
    last: dt.date


# What matches "i", "s" and "k" when case is ignored, and isn't the same letter in lower case.
_LIKE_ASCII = str.maketrans({"ı": "i", "İ": "I", "ſ": "s", "\u212a": "K"})


def named_dates(question: str) -> list[Named]:
    """The months and days that a question names; months alone only where no day is named.

    >>> named_dates("What did Ann do on 7 May, 2023?"), named_dates("¿Qué pasó en mayo?")
    ([Named(month=5, day=7, year=2023)], [Named(month=5, day=None, year=None)])
    """
    question = question.translate(_LIKE_ASCII)
    found = [Named(int(m[2]), int(m[3]), int(m[1])) for m in _ISO.finditer(question)]
    found += [Named(int(m[2]), _number(m[3]), _number(m[1])) for m in _HAN.finditer(question)]
    found += [Named(MONTHS[m[2].lower()], int(m[1]), _number(m[3])) for m in _DAY_MONTH.finditer(question)]
    found += [Named(MONTHS[m[1].lower()], int(m[2]), _number(m[3])) for m in _MONTH_DAY.finditer(question)]
    if not found:
        found = [
            Named(MONTHS[m["month"].lower()], None, _number(m[3]))
            for m in _MONTH_ALONE.finditer(question)
            if m[3] or m["month"].lower() not in _WORDS_TOO or (m["month"][0].isupper() and m["before"])
        ]
    return [
        each for each in dict.fromkeys(found) if 1 <= each.month <= 12 and (each.day is None or 1 <= each.day <= 31)
    ]


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def date_match(named: list[Named], said: dt.date) -> float:
    """How well a day meets what a question names, in [0, 1]: 1 for the day, give or take one; ½ for a month that is
    named alone; ¼ for another day of the month that was named with a day.
    """
    return max((_match(each, said) for each in named), default=0.0)


def _match(named: Named, said: dt.date) -> float:
    same_month = said.month == named.month and named.year in (None, said.year)
    if named.day is None:
        return _MONTH_SHARE if same_month else 0.0
    for year in (named.year,) if named.year else (said.year - 1, said.year, said.year + 1):
        if not dt.MINYEAR < year < dt.MAXYEAR or named.day > calendar.monthrange(year, named.month)[1]:
            continue
        if abs((dt.date(year, named.month, named.day) - said).days) <= 1:
            return 1.0
    return _OTHER_DAY_SHARE if same_month else 0.0


def periods(question: str, asked_at: dt.date, *, exactly: bool = False) -> list[Period]:
    """The spans that a question means by words that count from the day on which it is asked.

    Args:
        question: what is asked.
        asked_at: on which day.
        exactly: whether so many days ago is that day alone, and not about then.

    >>> periods("What did I buy last Saturday?", dt.date(2026, 3, 4))
    [Period(first=datetime.date(2026, 2, 28), last=datetime.date(2026, 2, 28))]
    """
    try:
        return list(_periods(question.translate(_LIKE_ASCII), asked_at, exactly=exactly))
    except (OverflowError, ValueError):  # "3000 years ago", or the year before the first one
        return []


def _periods(question: str, now: dt.date, *, exactly: bool) -> Iterator[Period]:
    for match in _AGO.finditer(question):
        count, unit = _counted(match)
        is_exact = exactly and unit == 1 and not _ROUGHLY.search(match[0])
        centre, slack = now - dt.timedelta(count * unit), 0 if is_exact else _SLACK[unit]
        yield Period(centre - dt.timedelta(slack), min(centre + dt.timedelta(slack), now))
    for match in _SINCE.finditer(question):
        count, unit = _counted(match)
        yield Period(now - dt.timedelta(count * unit + 1), now)
    for match in _NAMED.finditer(question):
        name = (match["a"] or match["b"] or match["c"]).lower()
        yield _span(name, now, this=bool(match["now"]))
    for match in _HAN_SPAN.finditer(question):
        yield _han_span(match, now)
    for match in _NEAR_WORD.finditer(question):
        first, last = _NEAR[match[0].lower()]
        yield Period(now - dt.timedelta(first), now - dt.timedelta(last))


def weekdays(question: str, asked_at: dt.date) -> list[Period]:
    """The days that a question about what was means by a weekday alone: its last one, or all days since then.

    >>> weekdays("What did I do on Monday?", dt.date(2026, 3, 4))
    [Period(first=datetime.date(2026, 3, 2), last=datetime.date(2026, 3, 2))]
    """
    found = []
    for match in _ON_DAY.finditer(question):
        day = _span(match["day"].lower(), asked_at, this=False).first
        found.append(Period(day, asked_at if match["since"] else day))
    return found


def without_times(question: str) -> str:
    """A question without the words that name days and spans."""
    for pattern in (_ISO, _HAN, _DAY_MONTH, _MONTH_DAY, _AGO, _SINCE, _NAMED, _HAN_SPAN, _NEAR_WORD, _ON_DAY):
        question = pattern.sub(" ", question)
    return _MONTH_ALONE.sub(" ", question) if named_dates(question) else question


def _counted(match: re.Match[str]) -> tuple[int, int]:
    """The number and the unit of a match, in days."""
    count, unit = (group.lower() for group in match.groups() if group)
    return min(int(count) if count.isdigit() else _NUMBERS[count], 10_000), _UNITS[unit]


def _span(name: str, now: dt.date, *, this: bool) -> Period:
    day = dt.timedelta(1)
    if name in _WEEKDAYS:
        back = (now.weekday() - _WEEKDAYS[name]) % 7 or (0 if this else 7)
        return Period(now - back * day, now - back * day)
    if name in ("weekend", "week-end", "wochenende", "fin de semana"):
        saturday = now - ((now.weekday() - 5) % 7 or 7) * day
        return Period(saturday - day, saturday + 2 * day)
    if name in ("week", "woche", "semaine", "semana"):
        monday = now - now.weekday() * day
        return Period(monday, now) if this else Period(monday - 8 * day, monday)
    if name in ("month", "monat", "mois", "mes"):
        first = now.replace(day=1)
        return Period(first, now) if this else Period((first - day).replace(day=1), first - day)
    first = now.replace(month=1, day=1)
    return Period(first, now) if this else Period(first.replace(year=now.year - 1), now - day)


def _han_span(match: re.Match[str], now: dt.date) -> Period:
    """A week, one of its days, a month or a year, counted back from this one."""
    back, day = _HAN_BACK[match[1] or match[4]], dt.timedelta(1)
    if match[4]:
        first = now.replace(month=1, day=1, year=now.year - back)
        return Period(first, min(first.replace(month=12, day=31), now))
    if match[3]:
        months = now.year * 12 + now.month - 1 - back
        first = dt.date(months // 12, months % 12 + 1, 1)
        return Period(first, min(first + (calendar.monthrange(first.year, first.month)[1] - 1) * day, now))
    monday = now - (now.weekday() + 7 * back) * day
    if match[2]:
        that = monday + ("一二三四五六日".find(match[2].replace("天", "日"))) * day
        return Period(that, that)
    return Period(monday - day, min(monday + 7 * day, now)) if back else Period(monday, now)


def period_match(wanted: list[Period], said: dt.date) -> float:
    """1 where a day lies within one of the spans, else 0."""
    return float(any(period.first <= said <= period.last for period in wanted))
