"""An adverb of the present in front of a statement says the same as behind its verb: "Now I live in Lyon", "Jetzt wohne
ich in Hamburg", "Ahora vivo en Sevilla", "Maintenant j'habite à Lyon", 现在我住在上海.

Rules read statements from their subject on; so the adverb is put behind it (`put_behind`), or left out (`left_out`).
"""

from __future__ import annotations

import functools
import re

# Not what holds for the moment only: "right now I'm in a meeting", "im Moment habe ich keine Zeit".
_SINCE = """
yesterday,last week,last month,this week,this month,monday,tuesday,wednesday,thursday,friday,saturday,sunday,january,
february,march,april,may,june,july,august,september,october,november,december
"""
SINCE = "|".join("".join(_SINCE.split("\n")).split(","))
_ENGLISH_NOW = {
    **dict.fromkeys(("now", "nowadays", "these days", "as of now"), "now"),
    **{f"since {day}": "now" for day in SINCE.split("|")},
}
_ENGLISH_FOR_NOW = dict.fromkeys(("currently", "at present", "presently"), "currently")
_GERMAN_NOW = dict.fromkeys(("jetzt", "nun", "inzwischen", "mittlerweile", "neuerdings"), "jetzt")
_GERMAN_FOR_NOW = dict.fromkeys(("derzeit", "zurzeit", "zur zeit", "aktuell"), "derzeit")
_FRENCH_NOW = dict.fromkeys(("maintenant", "désormais", "dorénavant", "à présent"), "maintenant")
_FRENCH_FOR_NOW = {"actuellement": "actuellement"}
_SPANISH_NOW = dict.fromkeys(("ahora", "hoy en día", "hoy día"), "ahora")
_SPANISH_FOR_NOW = {"actualmente": "actualmente"}
_CHINESE_NOW = dict.fromkeys(("现在", "如今", "目前"), "现在")

_PLAIN = {
    **_ENGLISH_NOW, **_ENGLISH_FOR_NOW, **_GERMAN_NOW, **_GERMAN_FOR_NOW, **_FRENCH_NOW, **_FRENCH_FOR_NOW,
    **_SPANISH_NOW, **_SPANISH_FOR_NOW, **_CHINESE_NOW,
}  # fmt: skip


def _any(*adverbs: dict[str, str]) -> str:
    found = sorted((each for group in adverbs for each in group), key=len, reverse=True)
    return rf"(?P<adverb>{'|'.join(map(re.escape, found))})"


_ENGLISH, _GERMAN = _any(_ENGLISH_NOW, _ENGLISH_FOR_NOW), _any(_GERMAN_NOW, _GERMAN_FOR_NOW)
_CHINESE = _any(_CHINESE_NOW)
_FRENCH, _SPANISH = _any(_FRENCH_NOW, _FRENCH_FOR_NOW), _any(_SPANISH_NOW, _SPANISH_FOR_NOW)
_VERB = r"(?:lives?|works?|resides?|studies|likes?|loves?|hates?|prefers?|has|goes|owns)"
_NAMED = r"(?:(?:my|our) [\w'’-]+(?: (?-i:[A-Z])\w*)?|(?-i:[A-Z])[\w-]+)"

# Each with what stands before the adverb's place (``first``), what stands behind it (``rest``), and how it is put.
_FRONTED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), form)
    for pattern, form in (
        (rf"{_ENGLISH},? (?P<first>(?:I|we)(?:['’](?:m|ve|re))?)(?= )(?P<rest>.+)", "{first} {adverb}{rest}"),
        (
            rf"{_ENGLISH},? (?P<first>(?:my|our) [^,;.!?]{{1,60}}? (?:is|are))(?= )(?P<rest>.+)",
            "{first} {adverb}{rest}",
        ),
        (rf"{_ENGLISH},? (?P<first>{_NAMED}) (?P<rest>{_VERB} .+)", "{first} {adverb} {rest}"),
        (rf"{_ENGLISH},? (?P<first>(?-i:[A-Z])[\w-]+ is)(?= )(?P<rest>.+)", "{first} {adverb}{rest}"),
        (rf"{_GERMAN} (?P<verb>\w+) (?P<first>ich|wir)\b(?P<rest>.+)", "{first} {verb} {adverb}{rest}"),
        (
            rf"{_GERMAN} (?P<verb>ist|sind|lautet|heißt|wohnt|lebt|arbeitet) "
            r"(?P<first>(?:mein|unser)\w{0,2} [\w-]+)(?P<rest> .+)",
            "{first} {verb} {adverb}{rest}",
        ),
        (
            rf"{_FRENCH},? (?P<first>(?:j['’]|je (?:me |m['’]|ne |n['’])*|nous |on )[\w-]+)(?P<rest>.+)",
            "{first} {adverb}{rest}",
        ),
        (
            rf"{_FRENCH},? (?P<first>(?:mon|ma|mes|notre|nos) [^,;.!?]{{1,60}}? (?:est|sont))(?= )(?P<rest>.+)",
            "{first} {adverb}{rest}",
        ),
        (
            rf"{_SPANISH},? (?P<first>(?:mis?|nuestr[ao]s?) [^,;.!?]{{1,60}}? (?:es|son))(?= )(?P<rest>.+)",
            "{first} {adverb}{rest}",
        ),
        (
            rf"{_SPANISH},? (?P<first>(?:(?:yo|no|ya|me|nos) )*(?!que\b|mis?\b|nuestr)\w+)(?P<rest> .+)",
            "{first} {adverb}{rest}",
        ),
        (
            rf"{_CHINESE}[，,]?(?P<first>我们?的[^，。,是]{{1,12}})(?P<rest>是.+)",
            "{first}{adverb}{rest}",
        ),
        (rf"{_CHINESE}[，,]?(?P<first>我们?|(?=住在))(?P<rest>.+)", "{first}{adverb}{rest}"),
    )
)


@functools.lru_cache(maxsize=16_384)
def put_behind(clause: str) -> str:
    """The clause with the adverb in front put behind its subject and verb, as the plainest word of its language; as it
    is where there is none.

    >>> put_behind("These days I live in Lyon"), put_behind("Inzwischen wohne ich in Hamburg")
    ('I now live in Lyon', 'ich wohne jetzt in Hamburg')
    """
    return _joined(clause, keep=True)


def is_adverb(text: str) -> bool:
    """Whether a text is such an adverb and nothing else."""
    return text.casefold() in _PLAIN


def left_out(clause: str) -> str:
    """The clause without an adverb in front of it.

    >>> left_out("Jetzt wohne ich in Hamburg"), left_out("Now is the time")
    ('ich wohne in Hamburg', 'Now is the time')
    """
    return _joined(clause, keep=False)


def _joined(clause: str, *, keep: bool) -> str:
    for pattern, form in _FRONTED:
        if match := pattern.fullmatch(clause):
            parts = {name: part or "" for name, part in match.groupdict().items()}
            parts["adverb"] = _PLAIN[parts["adverb"].casefold()] if keep else ""
            moved = form.format(**parts)
            return moved if keep else " ".join(moved.split())
    return clause
