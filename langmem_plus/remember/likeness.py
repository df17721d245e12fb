"""Whether one statement is held by another, or speaks of the same attribute: what a model's word about it must pass.

Both compare who is spoken of, what is said of them and the order of the words, in any language: words that two
statements happen to share say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from langmem_plus.remember.rules import replaces
from langmem_plus.remember.sentences import LONGEST_STATEMENT, clauses
from langmem_plus.remember.simhash import negations, numbers, symbols
from langmem_plus.remember.slot_patterns import CHANGE, PETS
from langmem_plus.remember.slots import Slot, canonical, find_slot
from langmem_plus.text import STOP_WORDS, stem, words

_SELF = frozenset(("i", "ich", "je", "j", "yo"))
_GROUP = frozenset(("we", "wir", "nous", "on"))
_OWN = re.compile(r"(?:my|our|mein\w{0,2}|unser\w{0,2}|mon|ma|mes|notre|nos|mis?|nuestr\w{1,2})")
_ARTICLE_WORDS = """
a an the m am is are s ve have d do does der die das den dem ein eine einen einem einer le la les l un une des du de el
los las una unos unas really just still currently also very please
"""
_ARTICLES = frozenset(_ARTICLE_WORDS.split())
_JOINING_WORDS = """
and but or with who which that than because while if when where und aber oder mit et mais ou avec y e pero o con
"""
_JOINING = frozenset(_JOINING_WORDS.split())
_MOST_BETWEEN = 2  # words that a record may have between two words of a fact: "an old red bike" is a red bike
_SAME_ENDING = 3  # letters in which two forms of a verb may differ
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")
_CHINESE_FILLING = re.compile(r"[\W_的了也很]|现在|目前")

_OWN_IS = re.compile(
    r"(?:my|our|mein\w{0,2}|unser\w{0,2}|mon|ma|notre|mi|nuestr[oa]) (?P<of>[^,;]{2,40}?) "
    r"(?:is|are|ist|sind|est|sont|es|está|son) (?P<value>.+)",
    re.IGNORECASE,
)
_DATUM = re.compile(r"[^\s,;]*[\d@][^\s,;]*")
_DAY = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:january|february|march|april|june|july|august|september|"
    r"october|november|december)\b|\b(?:mon|diens|mitt|donners|frei|sams|sonn)tag\b|\bmittwoch\b|"
    r"\b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"\d[\d.,]*|\b(?:two|three|four|five|six|seven|eight|nine|ten|zwei|drei|vier|fünf|sechs|deux|trois|quatre|cinq|"
    r"dos|tres|cuatro|cinco|seis)\b|[一二两三四五六七八九十百]+(?=[\u3400-\u9fff])",
    re.IGNORECASE,
)
# How things stand, not what happened once.
_STANDING = re.compile(
    r"(?:I|we|ich|wir|je|j['’]|nous|yo)? ?(?:['’]m|['’]ve|am|have|has|own|owns|weigh|weighs|earn|earns|owe|owes|habe|"
    r"haben|bin|wiege|verdiene|ai|avons|suis|pèse|gagne|tengo|tenemos|peso|gano)\b|我们?(?:现在)?(?:有|重|今年)",
    re.IGNORECASE,
)
_CHANGE_CUES = """
now nowadays instead jetzt nun inzwischen mittlerweile maintenant désormais ahora 现在 目前
"""
_CHANGE_WORDS = frozenset(_CHANGE_CUES.split())
_LEAST_SHARED = 2  # words that two statements about one thing share, in their places, but for subject and value
_LONGEST_VALUE = 3  # words


@dataclass(frozen=True)
class _Said:
    """A statement: whose it is, who is spoken of with which name, and what is said, word by word."""

    subject: str
    head: str
    name: tuple[str, ...]
    content: tuple[str, ...]


def _read(text: str) -> _Said:
    subject, rest = canonical(text[:LONGEST_STATEMENT])
    said = words(rest)
    head, name, start = "", [], 0
    if said and said[0] in _SELF | _GROUP:
        # Verbs tell in Spanish that "I" is meant.
        head, start = ("" if said[0] == "yo" else "i" if said[0] in _SELF else "we"), 1
    elif len(said) > 1 and _OWN.fullmatch(said[0]):
        head, start = f"my {said[1]}", 2
        named = re.match(r"\S+ \S+((?: [A-ZÀ-Þ][\w-]+)*)", rest)
        name = words(named[1]) if named else []
        start += len(name)
    return _Said(subject, head, tuple(name), tuple(word for word in said[start:] if word not in _ARTICLES))


def holds(record: str, fact: str) -> bool:
    """Whether a record says what a fact says, so that nothing is lost if the fact isn't stored.

    They fill a slot with the same value; or one clause of the record is about whom the fact is about, and has all its
    words in their order, from the verb on, denied as often and with the same numbers and signs.
    """
    mine, theirs = find_slot(fact), find_slot(record)
    if mine and theirs and mine.alone and mine.same_slot(theirs):
        return mine.value == theirs.value and bool(negations(fact)) == bool(negations(record))
    if _UNSPACED.search(fact):
        one, other = canonical(fact), canonical(record)
        return one[0] == other[0] and _CHINESE_FILLING.sub("", one[1]) == _CHINESE_FILLING.sub("", other[1])
    return any(_clause_holds(piece, fact) for piece in {record, *clauses(record)})


def _clause_holds(clause: str, fact: str) -> bool:
    new, known = _read(fact), _read(clause)
    if (new.subject, new.head) != (known.subject, known.head) or not set(new.name) <= set(known.name):
        return False
    if negations(fact) != negations(clause) or not set(numbers(fact)) <= set(numbers(clause)):
        return False
    return symbols(fact) <= symbols(clause) and _in_order(new.content, known.content)


def _in_order(wanted: Sequence[str], said: Sequence[str]) -> bool:
    """Whether the words stand there from the first one on, with no more than a few that only describe between them."""
    if not wanted or not said or not _same_verb(wanted[0], said[0]):
        return False
    place = 0
    for word in wanted[1:]:
        ahead = said[place + 1 : place + 2 + _MOST_BETWEEN]
        found = next((step for step, other in enumerate(ahead) if stem(other) == stem(word)), None)
        if found is None or _JOINING & set(ahead[:found]):
            return False
        place += found + 1
    # "a dog" isn't held by "a dog house".
    return place + 1 == len(said) or said[place + 1] in STOP_WORDS | _JOINING


def _same_verb(a: str, b: str) -> bool:
    if stem(a) == stem(b):
        return True
    length = max(4, min(len(a), len(b)) - _SAME_ENDING + 1)
    return abs(len(a) - len(b)) < _SAME_ENDING and min(len(a), len(b)) > length - 1 and a[:length] == b[:length]


def may_replace(new: str, old: str) -> bool:
    """Whether two statements are so much about the same attribute that a model may let one replace the other.

    They fill the same slot; rules would do it; they give the same datum of the same thing another value, or count the
    same thing anew; or the new one tells a change and differs from the old one in one place. Anything else can be true
    beside the old one.
    """
    mine, theirs = find_slot(new), find_slot(old)
    if mine is not None and theirs is not None and mine.same_slot(theirs):
        return _is_exclusive(mine, theirs)
    if replaces(new, old):
        return True
    if canonical(new[:LONGEST_STATEMENT])[0] != canonical(old[:LONGEST_STATEMENT])[0]:
        return False
    if bool(negations(new)) != bool(negations(old)):
        return False
    return _same_datum(new, old) or _counted_anew(new, old) or _changed_in_place(new, old)


def _is_exclusive(new: Slot, old: Slot) -> bool:
    """Whether the record can go as a whole; a second dog comes beside the first one."""
    if not old.alone:
        return False
    return new.decides or not PETS.search(new.attribute.removesuffix(" name"))


def _same_datum(new: str, old: str) -> bool:
    """Whether both say what "my locker code" is, and the values differ in nothing but a number, an address or a day."""
    first, second = (_OWN_IS.match(canonical(text)[1]) for text in (new, old))
    if first is None or second is None or words(first["of"]) != words(second["of"]):
        return False
    one, other = (_masked(match["value"]) for match in (first, second))
    return "#" in one and one == other


def _masked(value: str) -> str:
    kept = [word for word in _DAY.sub("#", _DATUM.sub("#", value.casefold())).split() if word not in _CHANGE_WORDS]
    return " ".join(kept)


def _counted_anew(new: str, old: str) -> bool:
    """Whether both tell how things stand in the same words but for one number."""
    if not (_STANDING.match(canonical(new)[1]) and _STANDING.match(canonical(old)[1])):
        return False
    one, other = (_COUNT.sub("#", text) for text in (new, old))
    if one.count("#") != 1 or other.count("#") != 1:
        return False
    frames = [[w for w in re.findall(r"\w+|#", _unchanged(text)) if w not in _ARTICLES] for text in (one, other)]
    return frames[0] == frames[1]


def _unchanged(text: str) -> str:
    """The text without the words that tell a change."""
    rest = re.sub("现在|目前", "", canonical(text)[1]).casefold()
    return " ".join(word for word in rest.split() if word not in _CHANGE_WORDS)


def _changed_in_place(new: str, old: str) -> bool:
    """Whether the new statement tells a change, and both are the same but for one short value."""
    if not CHANGE.search(new) or _UNSPACED.search(new):
        return False
    one, other = _read(_unchanged(new)), _read(_unchanged(old))
    if one.head != other.head:
        return False
    mine, theirs = [stem(word) for word in one.content], [stem(word) for word in other.content]
    start = 0
    while start < min(len(mine), len(theirs)) and mine[start] == theirs[start]:
        start += 1
    end = 0
    while end < min(len(mine), len(theirs)) - start and mine[-1 - end] == theirs[-1 - end]:
        end += 1
    values = (len(mine) - start - end, len(theirs) - start - end)
    if not all(1 <= length <= _LONGEST_VALUE for length in values):
        return False
    shared = [*mine[:start], *(mine[len(mine) - end :] if end else ())]
    return bool(one.head.startswith("my ") and start == 0 and not shared and "is" in words(new)) or (
        start > 0 and len(shared) >= _LEAST_SHARED and any(word not in STOP_WORDS for word in shared)
    )
