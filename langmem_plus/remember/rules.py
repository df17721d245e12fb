"""What a new statement does to a known one, decided without a language model.

Only what speaks of the same attribute of the same subject is ever retired: an exclusive slot with another value, a
quantity of which the new statement tells the change, what the user says is no longer so, and what the user asks to
forget. Likeness alone retires nothing.
"""

from __future__ import annotations

import functools
import itertools
import re

from langmem_plus.remember.alone import frames
from langmem_plus.remember.places import may_hold
from langmem_plus.remember.quantities import find_quantity
from langmem_plus.remember.sentences import LONGEST_STATEMENT, clauses
from langmem_plus.remember.simhash import NEGATIONS
from langmem_plus.remember.slot_patterns import SEVERAL
from langmem_plus.remember.slots import Slot, canonical, find_slot, find_slots
from langmem_plus.remember.tails import is_framed
from langmem_plus.text import stem, words

ADDITIVE = re.compile(
    r"\b(?:also|too|as well|in addition|besides|another|additionally|auch|außerdem|zusätzlich|aussi|également|"
    r"también|además)\b|[也还]",
    re.IGNORECASE,
)
_NO_LONGER = re.compile(
    r"\b(?:no longer|not any ?more|am not|['’]m not|is not|isn['’]t|do not|don['’]t|does not|doesn['’]t)\s+", re.I
)
_AM_NOT = re.compile(r"(?<=^I)(?: am|['’]m) not\s+(?!any ?more)", re.IGNORECASE)
_ANYMORE = re.compile(r"\s*\b(?:any ?more|any longer|after all)\b", re.IGNORECASE)
_CHINESE_CHANGE = re.compile(r"^(我[们]?(?:现在)?)不(?!是)(.+?)了$")  # "我不喜欢咖啡了"
_ENDED = re.compile(
    r"^I(?:['’]ve| have)? (?:just |finally |recently )*(?:stopped|quit|gave up|given up)\s+(?=\w+ing\b)", re.IGNORECASE
)
_LEFT = re.compile(
    r"^I(?:['’]ve| have)? (?:just |finally |recently )*(?:quit|left|lost|resigned from) (?:my|the) (?:job|position) "
    r"(?:at|with|for)\s+",
    re.I,
)
_OTHERS = (
    (
        re.compile(r"\bnicht mehr\b\s*|\bkeine?n? (?=.*\bmehr\b)|(?<=\S) mehr\b", re.IGNORECASE),
        re.compile(r"nicht mehr|kein\w* .*mehr"),
    ),
    (re.compile(r"\bne |\bn['’]|\bplus\b\s*", re.IGNORECASE), re.compile(r"\bn(?:e |['’]).*\bplus\b")),
    (re.compile(r"\bya no\b\s*", re.IGNORECASE), re.compile(r"\bya no\b")),
    (re.compile(r"不再|再也不"), re.compile(r"不再|再也不")),
)
_ENDINGS = """
at in on for with as since because when while every by from to of if so than over very much most often bei als seit weil
chez comme depuis en como desde
"""
_PHRASE_END = frozenset(_ENDINGS.split())  # what may follow the end of a phrase
_SMALL = """
i m ve am is are have has had been do does really also still now currently usually just very a an the my our always
often ich bin habe je j ai yo
"""
_WEAK = frozenset(_SMALL.split())

# No slot: who asks to forget a car may speak of the thing, and of two cars both may be driven.
_CAR = re.compile(
    r"(?:I(?: (?:now|currently|still|just))*(?: am|['’]m)? driv(?:es?|ing)(?: now)? an?|"
    r"(?:my|our) car(?: is|['’]s)(?: now)? an?|(?:I|ich) fahre(?: (?:jetzt|nun|inzwischen|wieder|derzeit))* eine?n?|"
    r"(?:mein|unser) Auto ist(?: (?:jetzt|nun|wieder))* eine?) "
    r"(?P<value>\w[\w-]*(?: [\w-]+){0,2}?)(?: (?:now|again|these days))?",
    re.IGNORECASE,
)


@functools.lru_cache(maxsize=16_384)
def ended_statement(text: str) -> str | None:
    """What a statement says is no longer so, as it was when it was; None where it ends nothing.

    >>> ended_statement("I no longer work at Acme")
    'I work at Acme'
    >>> ended_statement("I don't like coffee anymore")
    'I like coffee'
    """
    if len(text) > LONGEST_STATEMENT:
        return None
    _, rest = canonical(text)
    if match := _LEFT.match(rest):
        return f"I work at {rest[match.end() :]}"
    if match := _ENDED.match(rest):
        return f"I {rest[match.end() :]}"
    if "no longer" in rest or _ANYMORE.search(rest):
        ended = _ANYMORE.sub("", _NO_LONGER.sub("", _AM_NOT.sub(" am ", rest), count=1))
        return ended if ended != rest and not NEGATIONS & set(words(ended)) else None
    if match := _CHINESE_CHANGE.match(rest):
        return match[1] + match[2]
    for removed, cue in _OTHERS:
        if cue.search(rest):
            return removed.sub("", rest).strip()
    return None


def replaces(new: str, old: str) -> str | None:
    """Why the new statement retires the old one, both of one speaker; None if both stay."""
    if _is_limited(new):
        return None
    if not ADDITIVE.search(new):
        old_slots = [slot for slot in find_slots(old) if slot.alone]
        for new_slot in find_slots(new):
            if any(new_slot.excludes(old_slot) for old_slot in old_slots):
                return f"another {new_slot.attribute}"
    if ended_statement(new) and not ended_statement(old) and _ends(new, old):
        return "no longer so"
    if ADDITIVE.search(new):
        return None
    new_quantity, old_quantity = find_quantity(new), find_quantity(old)
    if new_quantity and old_quantity and new_quantity.follows(old_quantity):
        return f"was {old_quantity.value}, now {new_quantity.value}"
    return None


@functools.lru_cache(maxsize=16_384)
def _is_limited(text: str) -> bool:
    """Whether a statement is told with what limits it: who says so, of when it is, in which story ("As a child, …")."""
    if len(text) > LONGEST_STATEMENT:
        return False
    return is_framed(text) or any(frames(before, clause) for before, clause in itertools.pairwise(clauses(text)))


def may_outdate(new: str, old: str) -> bool:
    """Whether a new statement gives another value of what one mostly has one of, and retires nothing: it tells no
    change, or the known one tells more than that ("I live in Leeds with my husband Tom"), which would be lost with it,
    and may hold on. Both stay, and who asks wants the newer one first.
    """
    if ADDITIVE.search(new):
        return False
    mine, theirs = _find_car(new), _find_car(old)
    if mine and theirs and mine[0] == theirs[0]:
        return not set(mine[1]) & set(theirs[1])
    if _is_limited(new):
        return False
    return any(_may_outdate(slot, other) for slot in find_slots(new) for other in find_slots(old))


def _may_outdate(new: Slot, old: Slot) -> bool:
    """Whether one slot may be the newer value of another: of several that hold at a time, too; who lives in a town
    doesn't leave it for its country.
    """
    unsure = new.attribute.startswith("favourite") and not new.decides
    if not (new.attribute in SEVERAL or not old.alone or unsure) or not new.differs(old):
        return False
    return new.attribute != "home" or new.told or not may_hold(new.value, old.value)


def _find_car(text: str) -> tuple[str, list[str]] | None:
    """Whose car a statement names, and which."""
    subject, rest = canonical(text[:LONGEST_STATEMENT])
    match = _CAR.fullmatch(rest)
    return (subject, words(match["value"])) if match else None


def _ends(new: str, old: str) -> bool:
    """Whether the old statement is what the new one says is no longer so, word for word up to a phrase's end."""
    ended = ended_statement(new)
    if ended is None:
        return False
    subject, _ = canonical(new)
    old_subject, rest = canonical(old[:LONGEST_STATEMENT])
    if subject != old_subject or NEGATIONS & set(words(rest)):
        return False
    was, is_known = find_slot(ended), find_slot(rest)
    if was and is_known and was.attribute == is_known.attribute:
        return was.value == is_known.value and is_known.alone
    mine, theirs = _core(ended), _core(rest)
    if len(mine) < 2 or [stem(word) for word in theirs[: len(mine)]] != [stem(word) for word in mine]:
        return False
    return len(theirs) == len(mine) or theirs[len(mine)] in _PHRASE_END


def _core(text: str) -> list[str]:
    return [word for word in words(text) if word not in _WEAK]


def same_subject(a: str, b: str) -> bool:
    """Whether two statements may speak of the same subject; different relatives or names don't."""
    one, other = canonical(a[:LONGEST_STATEMENT])[0], canonical(b[:LONGEST_STATEMENT])[0]
    called = one.startswith(f"{other} ") or other.startswith(f"{one} ")  # "my wife" may be "my wife Anne"
    return one == other or called or one in b.casefold() or other in a.casefold()


def probe(text: str) -> str | None:
    """A query that finds what fills the same slot in other words, or None."""
    slot = find_slot(ended_statement(text) or text)
    if slot is None:
        return None
    probes = _PROBES if _ENGLISH.search(text) else _PROBES_ABROAD
    return probes.get(slot.attribute, f"{slot.subject} {slot.attribute}")


# The words of English statements that fill a slot; what has none of them is told in another language.
_ENGLISH = re.compile(
    r"\b(?:I|we|my|our|moved|lives?|living|works?|working|started|joined|got|is|the)\b(?!['’])|\bI['’]", re.IGNORECASE
)
_PROBES = {
    "home": "lives in, moved to",
    "employer": "works at, works for, job at",
    "job": "works as, job title",
    "name": "name is, called",
    "marital status": "single, married, divorced, engaged",
    "diet": "vegan, vegetarian",
}
# By words alone, a sentence is found by the verb that it has: there is one of each person that speaks of itself.
_PROBES_ABROAD = {
    "home": "wohne wohnen lebe leben gezogen, habite vis habitons vivons déménagé emménagé, vivo vivimos mudé mudamos, "
    "我住在 住在 搬到",
    "employer": "arbeite arbeiten bei, travaille travaillons chez, trabajo trabajamos, 工作 上班 入职",
    "job": "arbeite als, travaille comme, trabajo como",
    "name": "heiße Name, appelle nom, llamo nombre, 我叫 名字",
    "age": "Jahre alt bin, ans ai, tengo años, 岁 今年",
}
