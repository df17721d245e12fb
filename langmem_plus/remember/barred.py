"""Facts that were forgotten before they were stored: what was said before its owner asked to forget it doesn't come
back out of a turn that is read later.

A request to forget retires what is known, and marks the turns that say it. A turn may still have waited for its facts
then, or come to the store afterwards (an import), and a model may word it in its own way: so each new fact is compared
with what was forgotten since it was said. In doubt it is stored: a fact that is barred is lost for good.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langgraph.store.base import GetOp, Item, SearchOp

from langmem_plus.records import FORGOTTEN, Fact, MemoryRecord, parse_time, unique
from langmem_plus.remember.data_names import CODED, capitals, tells_the_same
from langmem_plus.remember.fact_records import ASKED_AT
from langmem_plus.remember.forgetting import STATED, find_forgotten
from langmem_plus.remember.review import review_of
from langmem_plus.remember.sentences import LONGEST_STATEMENT, ends_question, opens_question, sentences, strip_lead
from langmem_plus.remember.simhash import near_duplicate, negations
from langmem_plus.remember.slots import canonical, find_slot
from langmem_plus.remember.steps import Batch, Namespace, Steps, list_records, read_records
from langmem_plus.remember.tombstones import is_set_aside, may_return
from langmem_plus.remember.witnesses import by_exchange, comes_back, exchange_of
from langmem_plus.speakers import Voice, key_of, name_of, shown_name
from langmem_plus.text import tokens, words

# The newest tombstones come first in a store that sorts them so; mostly none of them is as new as what was just said.
_PAGE = 100
# Words that change nothing of what is said.
_ASIDE = re.compile(
    r"\b(?:still|by the way|btw|as (?:I|you) (?:said|know)|as I told you|these days|(?:immer )?noch(?: immer)?|"
    r"übrigens|ja|doch|halt|eigentlich|toujours|encore|en fait|todavía|aún|sigue siendo)\b|(?<=in )the city of ",
    re.IGNORECASE,
)
_ASIDE_IN_CHINESE = re.compile("还是?|(?<=[\u4e00-\u9fff]{2})市(?=\\W*$)")
_SHORT = ((re.compile(r"(?<=\w)['’]s(?= \S*\d)"), " is"), (re.compile(r"\bI(?:['’]ve| have) got\b", re.I), "I have"))
_PRONOUNS = """he she they him her them his hers their theirs you your yours it its"""
_OTHERS = frozenset(_PRONOUNS.split())
_OF_ONESELF = re.compile(r"\b(?:I|me|my|mine|we|us|our)\b|我")
_GONE = {"role": "memory", "status": "deleted"}


def is_forgotten(record: MemoryRecord | None) -> bool:
    """Whether a fact was deleted because its owner wanted to forget it."""
    if record is None or record.role != "memory" or record.status != "deleted":
        return False
    return not is_set_aside(record) and review_of(record) is None


@dataclass(frozen=True)
class Barred:
    """What was forgotten since it was said: facts, by their keys, and the turns and replies that say it."""

    facts: frozenset[str] = frozenset()
    turns: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Gone:
    """What was forgotten, its words, and when the store heard of it."""

    record: MemoryRecord
    words: frozenset[str]
    stored: dt.datetime


def find_barred(
    namespaces: Sequence[Namespace], facts: Sequence[Fact], turns: Mapping[str, MemoryRecord], limit: int
) -> Steps[Barred]:
    """What of some turns their owner asked to forget after it was said: facts, turns that say it, whether in a fact or
    in a sentence of which none was drawn, and the replies to any of the turns that a request would withhold.

    Args:
        namespaces: where it may have been forgotten, the turns' own first.
        facts: new facts, no requests.
        turns: the turns that are read, by id.
        limit: bits in which the fingerprints of near-duplicates may differ.
    """
    first = min((turn.said_at for turn in turns.values()), default=None)
    if first is None:
        return Barred()
    gone: list[_Gone] = []
    for namespace in namespaces:
        gone += yield from _forgotten_since(namespace, first)
    told = [(turns[fact.source_id], fact) for fact in facts]
    told += [(turn, fact) for turn in (turns.values() if gone else ()) for fact in _sentences_of(turn)]
    found = [
        (turn, fact.key, each)
        for turn, fact in told
        for each in gone
        if _is_before(turn, each.record) and _shares(fact.text, each) and says_again(fact, each.record, limit)
    ]
    replies = (yield from _replies_to(namespaces[0], turns)) if gone else []
    found += [
        (reply, "", each)
        for reply, asked in replies
        for each in gone
        if _is_before(reply, each.record) and comes_back(reply, Voice.of(each.record), asked)
    ]
    later = yield from _stored_later(namespaces[0], [(turn, each) for turn, _, each in found])
    found = [(turn, key, each) for turn, key, each in found if (turn.id, each.record.id) not in later]
    known, said = {fact.key for fact in facts}, frozenset(turn.id for turn, _, _ in found)
    return Barred(frozenset(key for _, key, _ in found if key in known), said)


def _replies_to(
    namespace: Namespace, turns: Mapping[str, MemoryRecord]
) -> Steps[list[tuple[MemoryRecord, MemoryRecord]]]:
    """The replies to some turns, each with what it replies to."""
    asked = by_exchange(turns.values())
    found: list[tuple[MemoryRecord, MemoryRecord]] = []
    for thread_id in unique(turn.thread_id for turn in turns.values() if turn.thread_id is not None):
        replies = yield from list_records(namespace, {"role": "assistant", "thread_id": thread_id})
        meant = ((reply, asked.get(exchange_of(reply))) for reply in replies if may_return(reply))
        found += [(reply, turn) for reply, turn in meant if turn is not None]
    return found


def _sentences_of(turn: MemoryRecord) -> list[Fact]:
    """A turn's sentences as facts of their own; questions tell nothing."""
    metadata = {"name": name_of(turn)}
    told = (each for each in sentences(turn.text) if not (ends_question(each) or opens_question(strip_lead(each))))
    return [
        Fact(text=text, source_id=f"{turn.id} sentence", ordinal=place, metadata=metadata)
        for place, text in enumerate(told)
    ]


def _shares(text: str, gone: _Gone) -> bool:
    """Whether a text has a word of what was forgotten, or a number as that has: what says it again does, and the others
    are told at once.
    """
    if not gone.words or not gone.words.isdisjoint(tokens(text)):
        return True
    return bool(CODED.search(text) and CODED.search(gone.record.text))


def _stored_later(namespace: Namespace, found: Sequence[tuple[MemoryRecord, _Gone]]) -> Steps[set[tuple[str, str]]]:
    """Those of some turns that were said just when they were stored, and stored after what they say was forgotten, by
    the store's own clock: whatever ours said, it was said again.
    """
    # One that is withheld was there when it was forgotten, and a store may count it from then on.
    fresh = (turn for turn, _ in found if not turn.metadata.get(FORGOTTEN))
    live = unique(turn.id for turn in fresh if turn.observed_at in (None, turn.created_at))
    items = (yield Batch([GetOp(namespace, id, refresh_ttl=False) for id in live])) if live else []
    stored = {item.key: item.created_at for item in items if item is not None}
    return {(turn.id, each.record.id) for turn, each in found if turn.id in stored and stored[turn.id] > each.stored}


def _forgotten_since(namespace: Namespace, first: dt.datetime) -> Steps[list[_Gone]]:
    """What was forgotten in a namespace since some time, and maybe more."""
    found: list[_Gone] = []
    offset = 0
    while True:
        (page,) = yield Batch([SearchOp(namespace, filter=dict(_GONE), limit=_PAGE, offset=offset)])
        records, stored = read_records(page, namespace), {item.key: item.updated_at for item in page}
        found += [
            _Gone(each, frozenset(tokens(each.text)), stored.get(each.id, each.updated_at))
            for each in records
            if is_forgotten(each)
        ]
        # By the store's clock and by ours, which may stand anywhere.
        if len(page) < _PAGE or (_is_sorted(page, first) and records and records[-1].updated_at < first):
            return found
        offset += _PAGE


def _is_sorted(page: Sequence[Item], first: dt.datetime) -> bool:
    """Whether the store gives the newest first, and what comes behind this page is older than that."""
    times = [item.updated_at for item in page]
    return times[-1] < first and all(one >= other for one, other in itertools.pairwise(times))


def _is_before(turn: MemoryRecord, gone: MemoryRecord) -> bool:
    """Whether something was said before it was forgotten. At the same moment, a turn that the request met was."""
    asked = gone.metadata.get(ASKED_AT)
    if asked is None:
        is_met = turn.said_at == gone.updated_at and bool(turn.metadata.get(FORGOTTEN))
        return is_met or turn.said_at < gone.updated_at
    try:
        return bool(turn.said_at < parse_time(asked))
    except ValueError:  # edited by hand
        return turn.said_at < gone.updated_at


def says_again(fact: Fact, gone: MemoryRecord, limit: int) -> bool:
    """Whether a fact says what was forgotten, of the same person or thing: the same but for the wording, or the same
    value of the same slot. What says more, or something of somebody else, doesn't, and what denies it neither.

    Args:
        fact: the new fact.
        gone: what was forgotten.
        limit: bits in which the fingerprints of near-duplicates may differ.
    """
    said = _plain(Voice.of(gone).own)
    return any(_is_same(_plain(each), said, gone, limit) for each in _views(Voice.of(fact), Voice.of(gone)))


def _views(told: Voice, said: Voice) -> list[str]:
    """A statement as who said another one would say it; none where it doesn't name that person.

    >>> _views(Voice("I know that Ann's gate code is 4711."), Voice("My gate code is 4711.", "Ann"))
    ["The user's gate code is 4711."]
    """
    if key_of(told.name) == key_of(said.name):
        return [told.own]
    if not said.name:
        return []
    called = "|".join(map(re.escape, dict.fromkeys((said.name, shown_name(said.name), said.name.partition(" ")[0]))))
    # "Ann Roux" and "Ann #12ab" are others.
    named = re.compile(rf"(?<!\w)(?:{called})(?!\w)(?! (?-i:[^\W\d_a-zß-ÿ]|#))", re.IGNORECASE)
    views = [f"The user{told.text[found.end() :]}" for found in named.finditer(told.text)]
    views.append(named.sub("the user", told.text))
    return [each for each in dict.fromkeys(views) if not _OF_ONESELF.search(each)]


def _plain(text: str) -> str:
    for short, whole in _SHORT:
        text = short.sub(whole, text)
    return " ".join(_ASIDE.sub(" ", _ASIDE_IN_CHINESE.sub("", text)).split())


def _is_same(told: str, said: str, gone: MemoryRecord, limit: int) -> bool:
    subject, _ = canonical(told[:LONGEST_STATEMENT])
    if subject != canonical(said[:LONGEST_STATEMENT])[0]:
        return False
    if tells_the_same(told, said):
        return True  # "…, don't tell anybody": what is said behind it denies nothing
    if negations(told) != negations(said) or _marked(told) != _marked(said):
        return False
    if words(told) == words(said) or near_duplicate(told, said, limit):
        return True
    mine, theirs = find_slot(told), find_slot(said)
    if mine and theirs and mine.same_slot(theirs):
        return mine.value == theirs.value and mine.alone
    # Small words alone say too little; "I love my wife" isn't "My wife loves me".
    if not tokens(said) or not (_in_order(told, said) or CODED.search(said)):
        return False
    heard = gone.model_copy(update={"text": told, "metadata": {}})
    return find_forgotten(said, [heard])[1] == STATED


def _in_order(one: str, other: str) -> bool:
    mine, theirs = tokens(one), tokens(other)
    return [word for word in mine if word in theirs] == [word for word in theirs if word in mine]


def _marked(text: str) -> frozenset[str]:
    """The words by which statements of the same words differ: who else is meant, and what is a name by its capitals."""
    return frozenset(words(text)) & _OTHERS | capitals(text)
