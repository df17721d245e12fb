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

from langgraph.store.base import Item, SearchOp

from langmem_plus.records import FORGOTTEN, Fact, MemoryRecord, parse_time
from langmem_plus.remember.data_names import TELLS, capitals
from langmem_plus.remember.fact_records import ASKED_AT
from langmem_plus.remember.forgetting import STATED, find_forgotten
from langmem_plus.remember.review import review_of
from langmem_plus.remember.sentences import LONGEST_STATEMENT
from langmem_plus.remember.simhash import near_duplicate, negations
from langmem_plus.remember.slots import JOINS_MORE, canonical, find_slot
from langmem_plus.remember.steps import Batch, Namespace, Steps, read_records
from langmem_plus.remember.tombstones import is_set_aside
from langmem_plus.speakers import Voice, key_of, shown_name
from langmem_plus.text import tokens, words

# The newest tombstones come first in a store that sorts them so; mostly none of them is as new as what was just said.
_PAGE = 100
# Words that change nothing of what is said.
_ASIDE = re.compile(
    r"\b(?:still|by the way|btw|as (?:I|you) (?:said|know)|as I told you|(?:immer )?noch(?: immer)?|übrigens|toujours|"
    r"todavía|aún|sigue siendo)\b|还是?",
    re.IGNORECASE,
)
_PRONOUNS = """he she they him her them his hers their theirs you your yours it its"""
_OTHERS = frozenset(_PRONOUNS.split())
_OF_ONESELF = re.compile(r"\b(?:I|me|my|mine|we|us|our)\b|我")
_CODED = re.compile(r"[\d@]")
_CODE = re.compile(r"\S*[\d@]\S*(?: [\d()./-]+)*")
_GONE = {"role": "memory", "status": "deleted"}


def is_forgotten(record: MemoryRecord | None) -> bool:
    """Whether a fact was deleted because its owner wanted to forget it."""
    if record is None or record.role != "memory" or record.status != "deleted":
        return False
    return not is_set_aside(record) and review_of(record) is None


def find_barred(
    namespaces: Sequence[Namespace], facts: Sequence[Fact], turns: Mapping[str, MemoryRecord], limit: int
) -> Steps[set[str]]:
    """The keys of the facts that their owner asked to forget after they were said.

    Args:
        namespaces: where it may have been forgotten.
        facts: new facts, no requests.
        turns: their turns, by id.
        limit: bits in which the fingerprints of near-duplicates may differ.
    """
    first = min((turns[fact.source_id].said_at for fact in facts), default=None)
    if first is None:
        return set()
    gone: list[MemoryRecord] = []
    for namespace in namespaces:
        gone += yield from _forgotten_since(namespace, first)
    return {
        fact.key
        for fact in facts
        if any(_is_before(turns[fact.source_id], record) and says_again(fact, record, limit) for record in gone)
    }


def _forgotten_since(namespace: Namespace, first: dt.datetime) -> Steps[list[MemoryRecord]]:
    """What was forgotten in a namespace since some time, and maybe more."""
    found: list[MemoryRecord] = []
    offset = 0
    while True:
        (page,) = yield Batch([SearchOp(namespace, filter=dict(_GONE), limit=_PAGE, offset=offset)])
        records = read_records(page, namespace)
        found += filter(is_forgotten, records)
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
    return " ".join(_ASIDE.sub(" ", text).split())


def _is_same(told: str, said: str, gone: MemoryRecord, limit: int) -> bool:
    subject, _ = canonical(told[:LONGEST_STATEMENT])
    if negations(told) != negations(said) or subject != canonical(said[:LONGEST_STATEMENT])[0]:
        return False
    if _marked(told) != _marked(said):
        return False
    if words(told) == words(said) or near_duplicate(told, said, limit) or _tells_code(told, said):
        return True
    mine, theirs = find_slot(told), find_slot(said)
    if mine and theirs and mine.same_slot(theirs):
        return mine.value == theirs.value and mine.alone
    # Small words alone say too little; "I love my wife" isn't "My wife loves me".
    if not tokens(said) or not (_in_order(told, said) or _CODED.search(said)):
        return False
    heard = gone.model_copy(update={"text": told, "metadata": {}})
    return find_forgotten(said, [heard])[1] == STATED


def _in_order(one: str, other: str) -> bool:
    mine, theirs = tokens(one), tokens(other)
    return [word for word in mine if word in theirs] == [word for word in theirs if word in mine]


def _marked(text: str) -> frozenset[str]:
    """The words by which statements of the same words differ: who else is meant, and what is a name by its capitals."""
    return frozenset(words(text)) & _OTHERS | capitals(text)


def _tells_code(told: str, said: str) -> bool:
    """Whether both tell the same number or address of the same thing; what follows the value may differ."""
    mine, theirs = (TELLS.fullmatch(canonical(text[:LONGEST_STATEMENT])[1]) for text in (told, said))
    if mine is None or theirs is None:
        return False
    value, known = (each["value"] or each["told"] for each in (mine, theirs))
    things = [words(each["thing"] or each["chinese"])[1:] for each in (mine, theirs)]
    if JOINS_MORE.search(value) or not _CODE.fullmatch(known):
        return False
    return things[0] == things[1] and words(value)[: len(words(known))] == words(known)
