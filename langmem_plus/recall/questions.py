"""Questions that were asked before: nothing is nearer to a question than itself, and it answers nothing."""

from __future__ import annotations

from collections.abc import Sequence

from langmem_plus.recall.made import with_scores
from langmem_plus.recall.readings import read
from langmem_plus.records import TURN_ROLES, MemoryHit
from langmem_plus.small_talk import (
    ACKNOWLEDGEMENTS,
    FILLERS,
    GREETINGS_AND_THANKS,
    find_cues,
    is_question,
    longest_first,
    normalise,
)
from langmem_plus.text import SENTENCE, tokens

_SMALL_TALK = longest_first(tuple({*GREETINGS_AND_THANKS, *ACKNOWLEDGEMENTS, *FILLERS}))


def only_asks(text: str) -> bool:
    """Whether every sentence of a text is a question or small talk beside one, so that it states nothing.

    >>> only_asks("Hi! Where do I live?"), only_asks("I moved. Where do I live?")
    (True, False)
    """
    asked = False
    for sentence in SENTENCE.findall(text):
        if is_question(sentence):
            asked = True
        elif find_cues(normalise(sentence), _SMALL_TALK)[1]:
            return False
    return asked


def questions_last(query: str, hits: Sequence[MemoryHit]) -> list[MemoryHit]:
    """The hits with the turns that only ask what the query asks behind everything else, at a total no better than the
    last of the others. Takes and gives sorted hits.

    A question holds its own words, so keyword and vector search find it before its answer. Demoted are turns that are
    nothing but questions (`only_asks`) and that hold every content word of the query, and at most as many others;
    another question may still tell something ("Do you like my new bike?").
    """
    wanted = set(tokens(query))
    asked = [hit for hit in hits if wanted and hit.record.role in TURN_ROLES and _asks(wanted, hit.record.text)]
    last = {id(hit) for hit in asked}
    said = [hit for hit in hits if id(hit) not in last]
    if not said or not asked:
        return list(hits)
    floor = min(hit.scores["total"] for hit in said)
    return said + [with_scores(hit, {**hit.scores, "total": min(floor, hit.scores["total"])}) for hit in asked]


def _asks(wanted: set[str], text: str) -> bool:
    if not is_question(text):  # nothing that only asks goes without
        return False
    held = read(text).words.keys()
    return wanted <= held and len(held) <= 2 * len(wanted) and only_asks(text)
