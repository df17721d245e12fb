"""What a request to forget means, and where what was forgotten still stands.

A request deletes a record only if it names exactly that one, and the record says just what is named: "forget that I
live in Lyon" means "I live in Lyon", not "I live in Lyon with Anne". Turns are verbatim; those through which it would
come back are withheld from recall (`records.FORGOTTEN` in their metadata).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from langmem_plus.records import FORGOTTEN, TURN_ROLES, Decision, Fact, MemoryRecord
from langmem_plus.remember.asked import ALL
from langmem_plus.remember.sentences import LONGEST_STATEMENT
from langmem_plus.remember.simhash import LOCATING, NEGATIONS
from langmem_plus.remember.slots import JOINS_MORE, Slot, canonical, find_slot
from langmem_plus.remember.steps import Namespace, Steps, list_records
from langmem_plus.text import STOP_WORDS, stem, tokens, words

STATED = "the user asked to forget it"
NAMED = "the user asked to forget what it tells"
TOO_MUCH = "everything about something is more than rules forget: name each statement, or forget the memories by hand"

_PRONOUNS = """he she they him her them his hers their theirs you your yours"""
_OTHERS = frozenset(_PRONOUNS.split())
_FILLING = (STOP_WORDS | {"now", "really", "also", "user", "users", "please"}) - NEGATIONS - LOCATING - _OTHERS
# "where I live" is my home
_ASIDES = (
    (re.compile(r"where (?:I|we) live\b", re.IGNORECASE), "my home"),
    (re.compile(r"where (?:I|we) work\b", re.IGNORECASE), "my employer"),
    (re.compile(r"how old (?:I am|we are)\b", re.IGNORECASE), "my age"),
    (re.compile(r"(?:what|who|when) (my|our) (.+?) (?:is|are)\b(?: called| named)?", re.IGNORECASE), r"\1 \2"),
)
_TELLS = re.compile(r"(?P<thing>(?:my|our) [\w' -]{1,60}?) (?:is|are|=) (?P<value>.+)", re.IGNORECASE | re.DOTALL)
# What can be named like a slot: a datum, or what people keep to themselves. "Forget my umbrella" is about an umbrella.
_DATUM = re.compile(r"\d|@")
_SECRET = re.compile(
    r"\b(?:pass ?(?:word|phrase|code)|pin|code|key|secret|safe ?word|e-?mail|address|birthday|salary|income|diagnosis|"
    r"medication|weight|budget|nickname|handle|username|login)s?$",
    re.IGNORECASE,
)
# What else people call an attribute.
_CALLED = {"home": {"home", "city", "town"}, "employer": {"employer", "job", "work", "company"}}
_CALLED["job"] = {"job", "work", "profession", "occupation"}
_WORDLESS = {"name", "number"}  # "my wife" names the slot "wife name", "my phone" the slot "phone number"
_MOST_MENTIONS = 40  # of the user in a turn, looked at for what was forgotten
_MENTION = re.compile(r"\b(?:you(?:['’]re| are)?|your|I(?:['’]m| am)?|my)\b", re.IGNORECASE)


def find_forgotten(request: str, known: Sequence[MemoryRecord]) -> tuple[MemoryRecord | None, str]:
    """The one record that a request to forget means, and why; no record where none or several could be meant."""
    if ALL.match(request):
        return None, TOO_MUCH
    for aside, plain in _ASIDES:
        request = aside.sub(plain, request)
    stated = [record for record in known if _says_the_same(request, record.text)]
    named = [record for record in known if _is_named(request, record.text)]
    wanted = set(tokens(request))
    holding = [record for record in known if wanted and wanted <= set(tokens(record.text))]
    for found, reason in ((stated, STATED), (named, NAMED)):
        if not found:
            continue
        others = [] if found is stated else [record for record in holding if record not in found]
        if len(found) + len(others) > 1:
            return None, f"{len(found) + len(others)} memories could be meant"
        return found[0], reason
    if len(holding) > 1:
        return None, f"{len(holding)} memories could be meant"
    return None, f"{holding[0].text!r} says more than that" if holding else "nothing known is meant"


def concerns(request: str, record: MemoryRecord) -> bool:
    """Whether a record has to do with what a request names, so that a model may say that it is meant."""
    slot = find_slot(record.text)
    wanted = set(tokens(request)) - {"user"}
    if slot is not None and wanted & {stem(word) for word in _CALLED.get(slot.attribute, ())}:
        return True
    return not ALL.match(request) and bool(wanted & set(tokens(record.text)))


def _says_the_same(a: str, b: str) -> bool:
    mine, theirs = _content(a), _content(b)
    if mine and Counter(mine) == Counter(theirs):
        return mine == theirs or not LOCATING & set(words(a))
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
    return bool(value) and said[len(said) - len(value) :] == value


def _is_named(request: str, text: str) -> bool:
    """Whether a statement tells what is named ("my phone number"), and nothing else."""
    subject, rest = canonical(text[:LONGEST_STATEMENT])
    told = _TELLS.fullmatch(rest)
    if (
        told
        and (_DATUM.search(told["value"]) or _SECRET.search(told["thing"]))
        and not JOINS_MORE.search(told["value"])
    ):
        asker, named = canonical(request)
        asked_for, thing = ([stem(w) for w in words(text) if w not in _FILLING] for text in (named, told["thing"]))
        if asker == subject and asked_for and asked_for == thing:
            return True
    slot = find_slot(text)
    if slot is None or not slot.alone or find_slot(request) is not None or not _ends_with(text, slot):
        return False
    subject, rest = canonical(request)
    wanted = {stem(word) for word in words(rest) if word not in _FILLING}
    attribute = {stem(word) for word in slot.attribute.split()}
    called = [attribute, attribute - _WORDLESS, *({stem(word)} for word in _CALLED.get(slot.attribute, ()))]
    return (
        bool(wanted) and subject == slot.subject and (wanted in called or wanted == set(map(stem, words(slot.value))))
    )


# Where it still stands.


def find_witnesses(
    namespace: Namespace,
    decisions: Sequence[Decision],
    facts: Sequence[Fact],
    seen: Iterable[MemoryRecord],
) -> Steps[list[str]]:
    """The ids of the turns through which what these decisions forget would come back.

    These are the turns that it was drawn from, and all that say it, too, replies among them.

    Args:
        namespace: whose memory.
        decisions: what was decided; a DELETE without a fact is a request to forget that was granted.
        facts: the new facts.
        seen: the known records.
    """
    targets = {decision.target for decision in decisions if decision.event == "DELETE" and decision.fact is None}
    if not targets:
        return []
    gone = {record.text: set(record.source_ids) for record in seen if record.id in targets}
    gone.update({fact.text: {fact.source_id} for fact in facts if fact.key in targets})
    sources = {source for ids in gone.values() for source in ids}
    found: list[str] = []
    for role in TURN_ROLES:
        turns = yield from list_records(namespace, {"role": role, "status": "active"})
        found += [turn.id for turn in turns if turn.id in sources or any(says(turn.text, text) for text in gone)]
    return found


def says(turn: str, statement: str) -> bool:
    """Whether a turn holds all words of a statement, or says the same of the user or to the user ("You live in …")."""
    content = set(tokens(statement))
    return bool(content and content <= set(tokens(turn))) or restates(turn, statement)


def restates(turn: str, statement: str) -> bool:
    """Whether a turn says the same as a statement of the user or to the user in other words ("You live in …")."""
    slot = find_slot(statement)
    if slot is None:
        return False
    for place, mention in enumerate(_MENTION.finditer(turn)):
        if place == _MOST_MENTIONS:
            break
        first = "my" if mention[0].casefold() in ("your", "my") else "I am" if " " in mention[0] else "I"
        said = find_slot(re.split(r"[.!?\n]", first + turn[mention.end() : mention.end() + LONGEST_STATEMENT // 2])[0])
        if said is not None and said.attribute == slot.attribute and said.value == slot.value:
            return True
    return False


def withhold(turn: MemoryRecord) -> MemoryRecord:
    """The turn, kept as it was said, and never recalled again."""
    return turn.model_copy(update={"metadata": {**turn.metadata, FORGOTTEN: True}})


def withheld(turns: Mapping[str, MemoryRecord], witnesses: Iterable[str]) -> dict[str, MemoryRecord]:
    """Those of the turns that are to be withheld, so marked, by id."""
    return {each: withhold(turns[each]) for each in witnesses if each in turns and turns[each].status == "active"}
