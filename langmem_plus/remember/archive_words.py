"""Which lines of an archive share a word with what is forgotten or erased that no text that is left holds; pure but for
`find_said`.

A model tells a conversation in its own words, so a line that says what is forgotten can't be found by what it says
alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from langmem_plus.records import FORGOTTEN, TURN_ROLES, MemoryRecord
from langmem_plus.remember.function_words import SPACED
from langmem_plus.remember.gist import Gist, lasting, unmarked
from langmem_plus.remember.steps import Namespace, Steps, list_records
from langmem_plus.remember.telling import Telling, Told, turn_lines
from langmem_plus.remember.tombstones import may_return
from langmem_plus.speakers import name_of, shown_name
from langmem_plus.text import tokens

# Words that everybody says of anything tell nothing of what is erased: those of languages we know, and a few more.
_MORE = """
like liked love loved live lived work want wanted need needed got get go going went make made take took use used know
think say said tell told call called name named favourite favorite prefer enjoy mag liebe wohne lebe arbeite heißt heiße
möchte brauche gehe mache lieblings aime habite travaille appelle préfère veux nom gusta vivo trabajo llama llamo quiero
prefiero nombre mi piace abito lavoro chiama voglio preferisco c d j l m n qu s t люблю живу работаю зовут хочу нравится
мой моя моё мои меня 喜欢 我喜 我的 我们 我住 我在 工作 现在
"""
_SAID = frozenset(_MORE.split()).union(*(language.function_words for language in SPACED))
_EVERYDAY = frozenset(token for word in _SAID for token in tokens(word))
_MOST = 0.5  # of the words of its own, in a line that stands in the archive alone
_DIGIT = re.compile(r"\d")


def own_words(gone: Iterable[str], left: Iterable[str]) -> set[str]:
    """The words of texts that are gone that no text that is left holds, but for those that everybody says."""
    kept = {word for text in left for word in tokens(text)}
    return {word for text in gone for word in tokens(text)} - kept - _EVERYDAY


def without_name(line: str, names: Collection[str]) -> str:
    """A line without the speaker's name in front of it."""
    before, colon, rest = line.partition(": ")
    return rest if colon and before.casefold() in names else line


def find_said(namespace: Namespace) -> Steps[list[MemoryRecord]]:
    """All that is remembered of what was said: facts and turns, whatever their status."""
    found: list[MemoryRecord] = []
    for role in ("memory", *TURN_ROLES):
        found += yield from list_records(namespace, {"role": role})
    return found


def sharing(
    archive: MemoryRecord, gone: Sequence[MemoryRecord], said: Sequence[MemoryRecord], hidden: Collection[str] = ()
) -> Callable[[str], bool]:
    """Whether a line, a topic or a name of an archive shares a word with forgotten facts that nothing else holds. An
    archive that is of no conversation in which they were said, and read none, tells by no word. What stands in the
    archive alone, because a person wrote it or its sources are gone, goes only where it has a number of theirs or half
    of their words.

    Args:
        archive: the archive.
        gone: the facts that are forgotten.
        said: everything that was said, as `find_said` finds it.
        hidden: the ids of the turns that are withheld with them, or ask to forget them.
    """
    known = {record.id: record for record in said}
    near = [fact for fact in gone if fact.role == "memory" and _is_near(archive, fact, known)]
    if not near:
        return lambda line: False
    forgotten = {*hidden, *(id for fact in gone for id in (fact.id, *fact.source_ids))}
    sources = [known[source] for fact in near for source in fact.source_ids if source in known]
    alone = [each.text for each in sources if len(turn_lines(each)) == 1]  # it says nothing else
    turns = [each for each in said if each.role in TURN_ROLES and each.thread_id == archive.thread_id]
    told = [turn for turn in turns if may_return(turn) and not turn.metadata.get(FORGOTTEN)]
    facts = [each for each in said if each.role == "memory" and each.status == "active"]
    left = [each.text for each in (*told, *facts) if each.id not in forgotten]
    own = own_words([*(fact.text for fact in near), *alone], left)
    kept, names = "\n".join(lasting(archive).lines), {shown_name(name_of(each)).casefold() for each in said} - {""}

    def shares(line: str) -> bool:
        shared = own.intersection(tokens(without_name(unmarked(line), names)))
        if not shared or line not in kept:
            return bool(shared)
        return len(shared) >= _MOST * len(own) or any(map(_DIGIT.search, shared))

    return shares


def telling_turn(turn: MemoryRecord, said: Sequence[MemoryRecord]) -> Callable[[str], bool]:
    """Whether a line tells a turn, sentence by sentence, and nothing else that the user said in its conversation.

    Args:
        turn: the turn; any other record is told by no line.
        said: everything that was said, as `find_said` finds it.
    """
    if turn.role not in TURN_ROLES:
        return lambda line: False
    mine = [each for each in said if each.role == "user" and each.thread_id == turn.thread_id and each.id != turn.id]
    others = [each for each in mine if may_return(each) and not each.metadata.get(FORGOTTEN)]
    own, rest = Telling(Told(()), [turn]), Telling(Told(()), others)
    return lambda line: bool(own.of(Gist((line,)))) and not rest.of(Gist((line,)))


def _is_near(archive: MemoryRecord, fact: MemoryRecord, known: dict[str, MemoryRecord]) -> bool:
    """Whether a fact was said in the conversation of an archive, or the archive read it."""
    if not {fact.id, *fact.source_ids}.isdisjoint(archive.source_ids):
        return True
    threads = {fact.thread_id, *(known[source].thread_id for source in fact.source_ids if source in known)}
    return archive.thread_id is not None and archive.thread_id in threads
