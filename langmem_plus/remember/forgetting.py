"""What a request to forget means.

A request deletes a record only if it names just what the record says, and nothing else could be meant: "forget that I
live in Lyon" means "I live in Lyon", not "I live in Lyon with Anne". What becomes of the turns that say it, see
`witnesses`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from langmem_plus.records import MemoryRecord
from langmem_plus.remember.asked import ALL, EVERYTHING, JUST_SAID, VALUE
from langmem_plus.remember.assertion import people_in
from langmem_plus.remember.data_names import (
    CHINESE_OWNER,
    CODED,
    OWNERS,
    SECRET,
    TELLS,
    Datum,
    find_datum,
    is_another,
    may_tell,
    tells_the_same,
    tells_value,
)
from langmem_plus.remember.likeness import holds
from langmem_plus.remember.sentences import LONGEST_STATEMENT
from langmem_plus.remember.simhash import LOCATING, NEGATIONS
from langmem_plus.remember.slots import JOINS_MORE, USER, Slot, canonical, find_slot
from langmem_plus.remember.values import find_values
from langmem_plus.speakers import Voice, key_of, name_of
from langmem_plus.text import STOP_WORDS, stem, tokens, words

STATED = "the user asked to forget it"
NAMED = "the user asked to forget what it tells"
NOTHING = "nothing known is meant"
TOO_MUCH = "everything about something is more than rules forget: name each statement, or forget the memories by hand"
_ALL_OF_IT = (
    "rules forget one thing at a time; `erase` takes all of a user or a space, `clear_conversation` what was said"
)
_UNCLEAR = "rules can't tell how much of it is meant; `clear_conversation` takes what was said in a conversation"

_PRONOUNS = """he she they him her them his hers their theirs you your yours"""
_OTHERS = frozenset(_PRONOUNS.split())
_PARTICLES = {"ja", "doch", "halt", "eigentlich", "encore"}
_FILLING = (
    (STOP_WORDS | {"now", "really", "also", "user", "users", "please"} | _PARTICLES) - NEGATIONS - LOCATING - _OTHERS
)
# "where I live" is my home
_ASIDES = (
    (re.compile(r"where (?:I|we) live\b", re.IGNORECASE), "my home"),
    (re.compile(r"where (?:I|we) work\b", re.IGNORECASE), "my employer"),
    (re.compile(r"how old (?:I am|we are)\b", re.IGNORECASE), "my age"),
    (
        re.compile(r"wo (?:ich|wir) (?:gerade |jetzt )?(?:wohn|leb)en?\b|où (?:j['’]habite|je vis)\b", re.IGNORECASE),
        "my home",
    ),
    (re.compile(r"dónde vivo\b|我住在?(?:哪里|哪儿|什么地方)", re.IGNORECASE), "my home"),
    (re.compile(r"wo (?:ich|wir) arbeiten?\b|où je travaille\b|dónde trabajo\b", re.IGNORECASE), "my employer"),
    (re.compile(r"我在(?:哪里|哪儿|什么地方)(?:工作|上班)"), "my employer"),
    (re.compile(r"wie alt ich bin\b|quel âge j['’]ai\b|cuántos años tengo\b|我(?:多大|几岁)了?", re.I), "my age"),
    (re.compile(r"wie ich heiße\b|comment je m['’]appelle\b|cómo me llamo\b|我叫什么(?:名字)?", re.I), "my name"),
    (re.compile(r"(?:what|who|when) (my|our) (.+?) (?:is|are)\b(?: called| named)?", re.IGNORECASE), r"\1 \2"),
)
_ABOUT = re.compile(r"^(?:about|über|sur|sobre|关于)\s*", re.IGNORECASE)
# What else people call an attribute.
_NAMES_OF = {
    "home": "home city town wohnort zuhause wohnung stadt domicile ville casa ciudad domicilio",
    "employer": "employer job work company arbeitgeber firma arbeit job employeur travail entreprise empleador "
    "trabajo empresa",
    "job": "job work profession occupation beruf arbeit métier travail profession profesión trabajo",
    "name": "name nom nombre namen",
    "age": "age alter âge edad",
    "birthday": "birthday birthdate geburtstag anniversaire cumpleaños",
}
_CALLED = {attribute: frozenset(called.split()) for attribute, called in _NAMES_OF.items()}
_CALLED_IN_CHINESE = {
    "home": ("家", "住址", "住处", "住的地方"),
    "employer": ("工作", "公司"),
    "job": ("工作", "职业"),
    "name": ("名字", "姓名"),
    "age": ("年龄",),
    "birthday": ("生日",),
}
_CHINESE_NAMES = frozenset(name for names in _CALLED_IN_CHINESE.values() for name in names)
_ALL_CALLED = frozenset(stem(name) for names in _CALLED.values() for name in names)
_MOST_NAMING, _MOST_NAMING_IN_CHINESE = 3, 8  # words, or characters, of a name of a datum: "wife's phone number"
_YEARS = frozenset("years year old jahre alt ans años".split())  # noqa: SIM905 - as a list reads
_WORDLESS = {"name", "number"}  # "my wife" names the slot "wife name", "my phone" the slot "phone number"


def find_forgotten(request: str, known: Sequence[MemoryRecord], speaker: str = "") -> tuple[list[MemoryRecord], str]:
    """The records that a request to forget means, and why: all that say the same; none where different ones could be
    meant. Where messages carry names, nobody forgets what somebody else said.

    Args:
        request: what is to be forgotten.
        known: the records, of which those are looked at that the speaker's are.
        speaker: the name of who asks; empty where nobody is named.
    """
    if reason := too_much(request):
        return [], reason
    asker = key_of(speaker)
    own = {record.id: record for record in known if key_of(name_of(record)) == asker}
    heard = [record.model_copy(update={"text": Voice.of(record).own}) if asker else record for record in own.values()]
    meant, reason = _find_forgotten(request, heard)
    return [own[record.id] for record in meant], reason


def too_much(request: str) -> str:
    """Why a request asks for more than rules forget; empty where it doesn't."""
    if EVERYTHING.fullmatch(request):
        return _ALL_OF_IT
    if JUST_SAID.fullmatch(request):
        return _UNCLEAR
    return TOO_MUCH if ALL.match(request) else ""


def _find_forgotten(request: str, known: Sequence[MemoryRecord]) -> tuple[list[MemoryRecord], str]:
    request = _plain(request)
    if VALUE.fullmatch(request):
        return _find_by_value(request, known)
    stated = [record for record in known if _says_the_same(request, record.text)]
    if stated:
        return stated, STATED
    datum = find_datum(request)
    exact = [record for record in known if _is_named(request, record.text)]
    told = [record for record in known if datum and record not in exact and _tells_of(record.text, datum)]
    named = exact or told
    # The same value goes with it whatever it is called.
    named += [each for each in known if named and each not in named and _says_the_same(named[0].text, each.text)]
    is_other = _is_rival if named else _may_hold
    others = [each for each in known if each not in named and is_other(request, datum, each.text)]
    meant = [*named, *others]
    if named and all(_says_the_same(named[0].text, record.text) for record in meant[1:]):
        return meant, NAMED
    if len(meant) > 1:
        return [], f"{len(meant)} memories could be meant"
    return [], f"{others[0].text!r} says more than that" if others else NOTHING


def _find_by_value(value: str, known: Sequence[MemoryRecord]) -> tuple[list[MemoryRecord], str]:
    """The records that tell a value that is named alone, as the asker's own, and nothing else; and why."""
    held = [each for each in known if any(one.found.search(value) for one in find_values(each.text))]
    if not held:
        return [], NOTHING
    if len(held) > 1 and not all(_says_the_same(held[0].text, each.text) for each in held[1:]):
        return [], f"{len(held)} memories could be meant"
    for each in held:
        subject, rest = canonical(each.text[:LONGEST_STATEMENT])
        datum, told = find_datum(each.text), TELLS.fullmatch(rest)
        is_alone = told is not None and not JOINS_MORE.search(told["value"] or told["told"])
        if subject != USER or people_in(each.text) or not (is_alone or (datum and datum.value)):
            return [], f"{each.text!r} says more than that"
    return held, NAMED


def _may_hold(request: str, datum: Datum | None, text: str) -> bool:
    """Whether a statement holds what is named, and doesn't tell a datum of another kind."""
    wanted = set(tokens(request))
    is_held = bool(wanted) and wanted <= set(tokens(text))
    return not _tells_another(text, datum) and (is_held or (datum is not None and may_tell(text, datum)))


def _is_rival(request: str, datum: Datum | None, text: str) -> bool:
    """Whether a statement may be meant beside another one that tells just what is named: of the same subject, it tells
    the same datum with more or in other words, or it holds a thing that is no datum.
    """
    subject, rest = canonical(text[:LONGEST_STATEMENT])
    asker, name = canonical(request)
    if subject != asker or people_in(text) - people_in(request) or _tells_another(text, datum):
        return False
    told, is_datum = TELLS.fullmatch(rest), is_name(request)
    if told is not None:
        thing, value = told["thing"] or told["chinese"], told["value"] or told["told"]
        if is_datum and not tells_value(thing, JOINS_MORE.split(value, maxsplit=1)[0]):
            return False
        other = find_datum(thing)
        is_same = datum is not None and other is not None and datum.kind == other.kind and datum.covers(other)
        return is_same or _thing(thing) == _thing(name)
    if datum is not None:
        return may_tell(text, datum)
    return _may_hold(request, None, text) and (not is_datum or bool(CODED.search(text)))


def _plain(request: str) -> str:
    for aside, plain in _ASIDES:
        request = aside.sub(plain, request)
    return request


def is_name(request: str) -> bool:
    """Whether a request names a datum, or an attribute, and tells nothing of it: "my phone number", "where I live", or
    all that is known.
    """
    if EVERYTHING.fullmatch(request) or JUST_SAID.fullmatch(request):
        return True
    name = canonical(_plain(request))[1]
    datum = find_datum(name)
    is_datum = (datum is not None and not datum.value) or bool(SECRET.search(name))
    owned = CHINESE_OWNER.sub("", name)
    if owned != name:
        return len(owned) <= _MOST_NAMING_IN_CHINESE and (is_datum or owned in _CHINESE_NAMES)
    said = _thing(name)
    return 0 < len(said) <= _MOST_NAMING and (is_datum or said[-1] in _ALL_CALLED)


def _tells_of(text: str, datum: Datum) -> bool:
    """Whether a statement tells the datum that is named, whatever it calls it."""
    told = find_datum(text)
    return told is not None and bool(told.value) and datum.covers(told)


def _tells_another(text: str, datum: Datum | None) -> bool:
    """Whether a statement tells a datum of another kind: an e-mail address is no address."""
    told = find_datum(text) if datum else None
    return told is not None and datum is not None and bool(told.value) and told.kind not in datum.kinds


def concerns(request: str, record: MemoryRecord, speaker: str = "") -> bool:
    """Whether a record says what a request names, so that a model may say that it is meant: it is what rules would
    forget, or one of its clauses says all of the request, of the same subject and by the same speaker.
    """
    if find_forgotten(request, [record], speaker)[0]:
        return True
    if key_of(name_of(record)) != key_of(speaker) or too_much(request):
        return False
    return holds(Voice.of(record).own, _ABOUT.sub("", request))


def _says_the_same(a: str, b: str) -> bool:
    mine, theirs = _content(a), _content(b)
    if mine and Counter(mine) == Counter(theirs):
        return mine == theirs or not LOCATING & set(words(a))
    if tells_the_same(a, b):
        return True
    one, other = find_slot(a), find_slot(b)
    if one is None or other is None or not (one.same_slot(other) and one.value == other.value):
        return False
    return one.alone and other.alone and _ends_with(a, one) and _ends_with(b, other)


def _content(text: str) -> list[str]:
    subject, rest = canonical(text[:LONGEST_STATEMENT])
    return [subject, *(stem(word) for word in words(rest) if word not in _FILLING)] if words(rest) else []


def _ends_with(text: str, slot: Slot) -> bool:
    """Whether nothing follows the value but words that say nothing."""
    said, value = [word for word in words(text) if word not in _FILLING], words(slot.value)
    value = [word for word in value if word not in _FILLING]
    if slot.attribute == "age":
        said = [word for word in said if word not in _YEARS]
    return bool(value) and said[len(said) - len(value) :] == value


def _is_named(request: str, text: str) -> bool:
    """Whether a statement tells what is named ("my phone number"), and nothing else."""
    if is_another(request, text):
        return False
    if _names_datum(request, text):
        return True
    slot = find_slot(text)
    if slot is None or not slot.alone or find_slot(request) is not None or not _ends_with(text, slot):
        return False
    subject, rest = canonical(request)
    if CHINESE_OWNER.sub("", rest) in _CALLED_IN_CHINESE.get(slot.attribute, ()):
        return subject == slot.subject
    wanted = set(_thing(rest))
    attribute = {stem(word) for word in slot.attribute.split()}
    called = [attribute, attribute - _WORDLESS, *({stem(word)} for word in _CALLED.get(slot.attribute, ()))]
    return (
        bool(wanted) and subject == slot.subject and (wanted in called or wanted == set(map(stem, words(slot.value))))
    )


def _names_datum(request: str, text: str) -> bool:
    """Whether a statement tells the datum or the secret that is named, and nothing else."""
    subject, rest = canonical(text[:LONGEST_STATEMENT])
    told = TELLS.fullmatch(rest)
    if told is None:
        return False
    thing, value = told["thing"] or told["chinese"], told["value"] or told["told"]
    if not tells_value(thing, value) or JOINS_MORE.search(value):
        return False
    asker, named = canonical(request)
    if told["chinese"]:
        return asker == subject and CHINESE_OWNER.sub("", named) == CHINESE_OWNER.sub("", thing)
    asked_for = _thing(named)
    return asker == subject and bool(asked_for) and asked_for == _thing(thing)


def _thing(name: str) -> list[str]:
    """The words that name a thing, without those that say nothing, and whose it is of the speaker's."""
    return [stem(word) for word in words(name) if word not in _FILLING and not OWNERS.fullmatch(word)]
