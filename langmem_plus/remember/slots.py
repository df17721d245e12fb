"""Slots: what can have one value at a time, such as a home or a name, read from short statements.

A slot is a subject, an attribute and a value. Two statements about the same slot with values that exclude each other
can't both be true now; anything else can. Statements are read in the user's own words ("I moved to Lyon") and in the
third person ("The user lives in Lyon", "Anne's wife is named Bea").
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langmem_plus.remember.employers import is_employer
from langmem_plus.remember.favourites import MAY_BE_EITHER, ends_of_name, is_surely_favourite
from langmem_plus.remember.fronted import put_behind
from langmem_plus.remember.places import lie_apart
from langmem_plus.remember.sentences import LONGEST_STATEMENT, strip_lead
from langmem_plus.remember.slot_kinds import is_of_kind, shape
from langmem_plus.remember.slot_patterns import (
    AGAIN,
    CHANGE,
    CORRECTION,
    KIN,
    ON_A_DAY,
    ONE_KIN,
    PARTLY,
    PETS,
    SEVERAL,
    SLOT_PATTERNS,
    WORKPLACE,
)
from langmem_plus.remember.tails import ends_plainly, tells_trade
from langmem_plus.text import stem, words

USER = "user"
_STREET = "street"

_USER_OWNS = re.compile(r"(?:the user['’]s|the users|die frau des nutzers)\s+", re.IGNORECASE)
_USER_IS = re.compile(
    r"(?:the user|user|der nutzer|die nutzerin|l['’]utilisat(?:eur|rice)|el usuario|la usuaria)\s+", re.I
)
_NAMED_OWNS = re.compile(r"(?P<name>[A-Z][\w-]+)['’]s\s+")
_NAMED_IS = re.compile(
    r"(?P<name>(?!(?:I|My|We|Just|Recently|Finally|The|Our|He|She|It|They|This|That|There)\b)[A-Z][\w-]+)\s+"
    r"(?=(?:(?:now|currently|still|recently|just|really) )*(?:lives?|works?|is(?! (?:my|our|now my)\b)|was|has|"
    r"moved|likes?|loves?|hates?|"
    r"dislikes?|prefers?|turned|got|started|joined|relocated|resides?)\b)"
)
_KIN_IS = re.compile(
    rf"(?:my|our) (?P<kin>{KIN}(?: (?-i:[A-Z])[\w-]+)?) (?=(?:(?:now|currently|still|recently|just) )*(?:lives?|works?|"
    rf"moved|turned|"
    r"relocated|got|started|is \d|is (?:now )?(?:single|married|divorced|engaged|vegan|vegetarian))\b)",
    re.IGNORECASE,
)
JOINS_MORE = re.compile(
    r"\b(?:and|but|with|who|which|because|while|where|und|aber|mit|et|mais|avec|y|pero|con)\b|[;，、]|,\s*(?:my|I|we|an?)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:19|20)\d\d\b|\b(?:used to|when I was|as an? (?:child|kid|(?:\w+ )?student|teen\w*|young \w+|boy|girl|"
    r"au pair)|"
    r"in (?:my|his|her|our|the) (?:(?:early|late|mid) )?(?:teens|\w+ties|\d0s)|at (?:age )?\d\d?\b"
    r"(?! ?(?:[ap]\.?m|:))(?! (?-i:[A-Z]))|"
    r"in (?:college|high school|a dream|my dreams?)|back then|until|for the (?:weekend|week|"
    r"summer|day)"
    r"|temporarily|for now|for a (?:few|couple)|früher|damals|avant|antes)\b|以前|曾经|暂时",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?:now|again|these days|at the moment|currently|right now|nowadays|any ?more|by the way|jetzt|maintenant|ahora|"
    r"very much|a lot|so much|the most)$",
    re.IGNORECASE,
)
_INSTEAD = re.compile(r"\bnot \S+[.!]?$", re.IGNORECASE)  # "my cat is called Pixie, not Pixel"
_ENDS = ' \t\n.,;:!?。！？"”’)'


@dataclass(frozen=True)
class Slot:
    """What a statement says of whom.

    Args:
        subject: ``user``, a name, or somebody's relative, casefolded.
        attribute: what there is one of: ``home``, ``favourite colour``, ``opinion of coffee``.
        value: its value, normalised.
        alone: whether the statement says nothing else, so that it may be retired as a whole. Where in the place one
            lives is nothing else ("in a small flat in Leeds": who moves leaves the flat, too); with whom, or what one
            does, is ("with Tom", "and work as a nurse"), and holds on. Such a statement stays, below the newer one.
        shape: what another value must be like to exclude this one: ``kg``, ``proper``; ``either`` excludes any.
        decides: whether the statement retires another value: of what one can have several of, such as employers, only a
            change does, and only one of which nothing else that is said can undo.
        told: whether a verb tells the change ("moved to").
        left: what is said to be left for the value ("moved from Leeds"), normalised.
    """

    subject: str
    attribute: str
    value: str
    alone: bool = True
    shape: str = ""
    decides: bool = True
    told: bool = False
    left: str = ""

    def same_slot(self, other: Slot) -> bool:
        """Whether both speak of the same attribute of the same subject."""
        return (self.subject, self.attribute) == (other.subject, other.attribute)

    def excludes(self, older: Slot) -> bool:
        """Whether the older statement can't be true any more: another value, and of two homes places that surely lie
        apart, unless it is said which one was left.
        """
        if not self.decides or not self.differs(older):
            return False
        if self.attribute != "home" or self.left == older.value or _STREET in (self.shape, older.shape):
            return True
        return lie_apart(self.value, older.value, moved=self.told)

    def differs(self, older: Slot) -> bool:
        """Whether the older statement gives another value of the same slot: of one shape, neither a part of the
        other.
        """
        alike = self.shape == older.shape or MAY_BE_EITHER in (self.shape, older.shape)
        if not self.same_slot(older) or not alike:
            return False
        mine, theirs = set(words(self.value)), set(words(older.value))
        apart = self.value not in older.value and older.value not in self.value
        return apart and not (mine <= theirs or theirs <= mine)


@functools.lru_cache(maxsize=16_384)
def find_slot(text: str) -> Slot | None:
    """The slot that a statement fills, or None."""
    if len(text) > LONGEST_STATEMENT:
        return None
    subject, rest = canonical(text)
    for attribute, pattern in SLOT_PATTERNS:
        if match := pattern.match(rest):
            if found := _read(subject, attribute, match, text):
                return found
            if _PAST.search(rest):
                return None
    return _opinion(subject, rest)


def _read(subject: str, attribute: str, match: re.Match[str], text: str) -> Slot | None:
    """The slot that a phrase fills, if its value is of the right kind and holds now and without limits."""
    named, rest = match.groupdict(), match.string
    is_favourite = attribute.startswith("favourite")
    value, more = _cut(named["value"], ends_of_name if is_favourite else None)
    filled = attribute.format(**{key: part or "" for key, part in named.items()})
    guessed = bool(named.get("name_of"))
    told = "" if is_favourite and value.isdigit() else rest  # the film "1917" is no year
    if not value or _PAST.search(told) or not is_of_kind(filled.casefold(), value, guessed=guessed):
        return None
    if filled in SEVERAL and PARTLY.search(ON_A_DAY.sub("", text) if named.get("told") else text):
        return None
    name = " ".join(attribute.format(**{key: _plain(part or "") for key, part in named.items()}).split())
    remainder = more or (rest[match.end("value") :] if match.end("value") > match.start("value") else "")
    return Slot(
        subject,
        "job" if name == "job title" else name,
        " ".join(words(value)),
        alone=not (JOINS_MORE.search(remainder) or named.get("beside") or named.get("others")),
        shape=shape(filled.casefold(), value),
        decides=_decides(attribute, named, text, rest) and _is_sure(filled, value, match, text),
        told=bool(named.get("told")),
        left=" ".join(words(named.get("left") or "")),
    )


def _is_sure(attribute: str, value: str, match: re.Match[str], text: str) -> bool:
    """Whether a phrase that tells another value can't mean something else, or be undone by what is said behind it."""
    if attribute.startswith("favourite"):
        return is_surely_favourite(attribute.removeprefix("favourite").strip(), value)
    tail = match.string[match.end() :]
    named = match.groupdict()
    known = named.get("alike") is None or is_employer(value) or tells_trade(text)
    return known and ends_plainly(attribute, tail)


def _decides(attribute: str, named: dict[str, str | None], text: str, rest: str) -> bool:
    """Whether a phrase retires another value: always where there is but one, else where it tells of a change, in what
    is said but for the company.
    """
    kin = (named.get("kin") or "").casefold()
    one = attribute not in SEVERAL and named.get("of") not in SEVERAL and not named.get("name_of")
    if one and (not kin or kin in ONE_KIN):
        return True
    for company in (named.get("beside"), named.get("others")):
        rest = rest.replace(company or "\n", "")
    told = bool(named.get("told")) or _tells_change(rest)
    return _corrects(text) or (not PETS.search(kin) and told)


def _corrects(text: str) -> bool:
    return bool(CORRECTION.match(text) or _INSTEAD.search(text))


def _tells_change(rest: str) -> bool:
    """Whether the statement, but for what is joined to it, tells of a change."""
    joined = JOINS_MORE.search(rest)
    told = rest[: joined.start()] if joined else rest
    return bool(CHANGE.search(told) or AGAIN.search(told))


def _cut(text: str, ends: Callable[[str, Sequence[int]], int] | None = None) -> tuple[str, str]:
    """A value without what is joined to it, and what is joined; ``ends`` tells at which of the joints the value ends:
    without it, at the first one.
    """
    joints = [joined.start() for joined in JOINS_MORE.finditer(text)]
    end = next(iter(joints), len(text)) if ends is None else ends(text, joints)
    return _trim(text[:end]), text[end:]


def find_slots(text: str) -> list[Slot]:
    """All slots that a statement fills: a job may come with its employer."""
    first = find_slot(text)
    if first is None or first.attribute != "job":
        return [first] if first else []
    subject, rest = canonical(text)
    match = WORKPLACE.match(rest)
    if match is None:
        return [first]
    tail = rest[match.end() :]
    employer = " ".join(words(_trim(match["value"])))
    decides = (_corrects(text) or _tells_change(rest)) and ends_plainly("employer", tail)
    return [first, Slot(subject, "employer", employer, not JOINS_MORE.search(tail), decides=decides)]


def canonical(text: str) -> tuple[str, str]:
    """The subject of a statement, and the statement as if the subject spoke.

    >>> canonical("The user's wife is named Anne.")
    ('user', 'my wife is named Anne')
    >>> canonical("Anne lives in Lyon")
    ('anne', 'I lives in Lyon')
    """
    rest = put_behind(strip_lead(text.strip()).rstrip(" .!。！"))
    rest = re.sub(r"^(?:用户|使用者)(?=的|\w)", "我", rest)
    subject = USER
    if match := _USER_OWNS.match(rest):
        rest = "my " + rest[match.end() :]
    elif match := _USER_IS.match(rest):
        rest = "I " + rest[match.end() :]
    elif match := _NAMED_OWNS.match(rest):
        subject, rest = match["name"].casefold(), "my " + rest[match.end() :]
    elif match := _NAMED_IS.match(rest):
        subject, rest = match["name"].casefold(), "I " + rest[match.end() :]
    if match := _KIN_IS.match(rest):
        subject, rest = f"{subject}'s {match['kin'].casefold()}", "I " + rest[match.end() :]
    return subject, rest


def _trim(text: str) -> str:
    """The text without the adverbs and the punctuation at its end."""
    text = text.strip(_ENDS)
    while (shorter := _TRAILING.sub("", text).rstrip(_ENDS)) != text:
        text = shorter
    return text


def _plain(text: str) -> str:
    """A stemmed form, in which ``favorite colors`` and ``favourite colour`` meet."""
    british = text.casefold().replace("color", "colour").replace("favorite", "favourite").replace("-", "")
    return " ".join(stem(word) for word in words(british))


# Opinions: one of a kind for each thing, and for or against it.

_MUCH = r"(?:(?:really|absolutely|still|now|also|do|actually|truly|totally|just|kind of) )*"
_OPINION = re.compile(
    rf"I {_MUCH}(?:(?P<against>hates?|dislikes?|detests?|loathes?|(?:can['’]?t|cannot) stand|(?:don['’]?t|do not|"
    rf"doesn['’]?t|does not) "
    rf"{_MUCH}(?:like|love|enjoy|care for))|(?P<for>likes?|loves?|enjoys?|adores?)) (?P<thing>[^,;.]+)$",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    rf"I(?:['’]d)? {_MUCH}prefers? (?!to\b)(?P<value>[^,;.]+?) (?:over|to|rather than|instead of) (?P<other>[^,;.]+)$",
    re.IGNORECASE,
)


def _opinion(subject: str, rest: str) -> Slot | None:
    rest = _trim(rest)
    if match := _PREFERENCE.match(rest):
        both = sorted((_plain(match["value"]), _plain(match["other"])))
        return Slot(subject, f"preference {both[0]} | {both[1]}", _plain(match["value"]))
    match = _OPINION.match(rest)
    if match is None or JOINS_MORE.search(match["thing"]):
        return None
    return Slot(subject, f"opinion of {_plain(match['thing'])}", "against" if match["against"] else "for")
