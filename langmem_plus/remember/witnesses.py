"""Where what was forgotten still stands: turns are verbatim, and those through which it would come back are withheld
from recall (`records.FORGOTTEN` in their metadata).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from langmem_plus.records import FORGOTTEN, Decision, Fact, MemoryRecord
from langmem_plus.remember.by_name import FIRST_PERSON, tells_of
from langmem_plus.remember.data_names import CODED, tells_the_same
from langmem_plus.remember.sentences import LONGEST_STATEMENT, sentences
from langmem_plus.remember.slots import USER, Slot, canonical, find_slot
from langmem_plus.remember.steps import Namespace, Steps
from langmem_plus.remember.tombstones import list_returning, may_return
from langmem_plus.remember.values import find_values
from langmem_plus.speakers import Voice, key_of, name_of
from langmem_plus.text import tokens, words

_MOST_MENTIONS = 40  # of the user in a turn, looked at for what was forgotten
_CHINESE_OWN = re.compile("我")
_CHINESE_SELF = re.compile(r"[我你您]们?的?|[\W_]|现在|目前")
_SECOND_WORDS = """
du dein deine deinen deinem deiner sie ihr ihre ihren tu t ton ta tes vous votre vos te su sus usted
"""
_SECOND_PERSON = frozenset(_SECOND_WORDS.split())
# Verbs of which the form for "you" begins with other letters, or is short.
_OWN_VERBS = {
    "bin": "bist", "habe": "hast", "mag": "magst", "esse": "isst", "heiße": "heißt",
    "suis": "es", "ai": "as", "vais": "vas", "soy": "eres", "vivo": "vives", "tengo": "tienes", "trabajo": "trabajas",
    "estoy": "estás", "llamo": "llamas", "prefiero": "prefieres", "como": "comes",
}  # fmt: skip
_MENTION = re.compile(r"\b(?:you(?:['’]re| are)?|your|I(?:['’]m| am)?|my)\b", re.IGNORECASE)


def find_witnesses(
    namespace: Namespace,
    decisions: Sequence[Decision],
    facts: Sequence[Fact],
    seen: Iterable[MemoryRecord],
) -> Steps[list[str]]:
    """The ids of the turns through which what these decisions forget would come back.

    These are the turns that it was drawn from, and all that say it, too, replies among them, also those that hold no
    more than its value; and those that were deleted softly, since they may be brought back.

    Args:
        namespace: whose memory.
        decisions: what was decided; a DELETE without a fact is a request to forget that was granted.
        facts: the new facts.
        seen: the known records.
    """
    targets = {decision.target for decision in decisions if decision.event == "DELETE" and decision.fact is None}
    if not targets:
        return []
    records = [record for record in seen if record.id in targets]
    new = [fact for fact in facts if fact.key in targets]
    sources = {source for record in records for source in record.source_ids} | {fact.source_id for fact in new}
    gone = {*map(Voice.of, records), *map(Voice.of, new)}
    turns = yield from list_returning(namespace)
    asked = by_exchange(turns)
    return [
        turn.id
        for turn in turns
        if turn.id in sources or any(comes_back(turn, said, asked.get(exchange_of(turn))) for said in gone)
    ]


def exchange_of(record: MemoryRecord) -> tuple[str, int] | None:
    """The thread and the number of the turn that a record belongs to."""
    turn = record.metadata.get("turn")
    return (record.thread_id, turn) if record.thread_id is not None and isinstance(turn, int) else None


def by_exchange(turns: Iterable[MemoryRecord]) -> dict[tuple[str, int] | None, MemoryRecord]:
    """The users' messages, by their exchange; of several the last."""
    return {exchange: turn for turn in turns if turn.role == "user" and (exchange := exchange_of(turn)) is not None}


def comes_back(turn: MemoryRecord, said: Voice, asked: MemoryRecord | None) -> bool:
    """Whether what somebody said would come back through a turn: it says it, or tells the same value by another name,
    or it is a reply to the same person that holds the number, the address or the code of it.

    Args:
        turn: a turn or a reply.
        said: the statement that was forgotten, and its speaker.
        asked: what a reply replies to; None where that isn't known.
    """
    if tells(turn, said, says):
        return True
    if turn.role == "user" and CODED.search(turn.text) and key_of(name_of(turn)) == key_of(said.name):
        return any(tells_the_same(sentence, said.own) for sentence in sentences(turn.text))
    if turn.role != "assistant" or key_of(name_of(asked) if asked else "") != key_of(said.name):
        return False
    return any(value.is_told(turn.text, asked.text if asked else "") for value in find_values(said.own))


def tells(record: MemoryRecord, said: Voice, says: Callable[[str, str], bool]) -> bool:
    """Whether a record says what somebody said: a reply, or the same person; or who names that one.

    Args:
        record: a turn, a fact, a reply.
        said: the statement and its speaker.
        says: whether a text says a statement.
    """
    if tells_of(record.text, said):
        return True
    if record.role in ("user", "memory") and key_of(name_of(record)) != key_of(said.name):
        named = set(words(said.name))
        if not named or not named <= set(words(record.text)):
            return False
    return says(record.text, said.text) or (said.own != said.text and says(record.text, said.own))


def says(turn: str, statement: str) -> bool:
    """Whether a turn holds all words of a statement, or says the same of the user or to the user ("You live in …")."""
    content = set(tokens(statement))
    return bool(content and content <= set(tokens(turn))) or restates(turn, statement)


def restates(turn: str, statement: str) -> bool:
    """Whether a turn says the same as a statement of the user or to the user in other words ("You live in …")."""
    slot = find_slot(statement)
    if _restates_abroad(turn, statement, slot):
        return True
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


def _restates_abroad(turn: str, statement: str, slot: Slot | None) -> bool:
    """Whether a turn says it to the user in another language than English: 你住在… of 我住在…, "Tu habites …" of
    "J'habite …"; verbs may have another ending.
    """
    subject, rest = canonical(statement)
    if _CHINESE_OWN.match(rest):
        return subject == USER and _CHINESE_SELF.sub("", rest) in _CHINESE_SELF.sub("", turn)
    wanted = [word for word in words(rest) if word not in FIRST_PERSON]
    if subject != USER or not wanted or not set(words(rest)) & FIRST_PERSON | _OWN_VERBS.keys() & set(wanted):
        return False
    for sentence in re.split(r"[.!?\n]", turn):
        said = words(sentence)
        to_user = _SECOND_PERSON & set(said) or any(_OWN_VERBS.get(word) in said for word in wanted)
        if to_user and all(_is_said(word, said) for word in wanted):
            return True
        told = find_slot(re.sub(r"^.*?\b(?:du|tu|vous|usted)\b", "ich", sentence, flags=re.IGNORECASE))
        if slot and told and (told.attribute, told.value) == (slot.attribute, slot.value):
            return True
    return False


def _is_said(word: str, said: Sequence[str]) -> bool:
    """Whether a word is among those said, in the form for "you" or "your" too."""
    if word in said or _OWN_VERBS.get(word) in said:
        return True
    length = max(3, len(word) - 2)
    return len(word) > length and any(
        abs(len(each) - len(word)) <= 2 and each[:length] == word[:length] for each in said
    )


def withhold(turn: MemoryRecord) -> MemoryRecord:
    """The turn, kept as it was said, and never recalled again."""
    return turn.model_copy(update={"metadata": {**turn.metadata, FORGOTTEN: True}})


def withheld(turns: Mapping[str, MemoryRecord], witnesses: Iterable[str]) -> dict[str, MemoryRecord]:
    """Those of the turns that are to be withheld, so marked, by id."""
    return {each: withhold(turns[each]) for each in witnesses if each in turns and may_return(turns[each])}
