"""Questions that were asked before: nothing is nearer to a question than itself, and it answers nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from langmem_plus.recall.readings import read
from langmem_plus.recall.repeats import NOTHING, Place, left_out, place_of
from langmem_plus.records import TURN_ROLES, Choice, MemoryHit
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

# From this cosine on a question is another one in other words.
PARAPHRASE = 0.75
# A sentence that ends so states what stands before it.
_TAG = re.compile(
    r"[,，;–-]\s*(?:(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)n['’]?t \w+"
    r"|(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should) (?:it|he|she|they|we|you|I|there)"
    r"|right|correct|no|yes|eh|huh|you know|oder(?: nicht)?|nicht(?: wahr)?|gell|stimmt['’]?s"
    r"|n['’]est[- ]ce pas|non|hein|verdad|cierto|¿?(?:no|verdad)|对吧|是吧|不是吗|对不对|是不是)\s*[?？]*\s*$",
    re.IGNORECASE,
)
_SMALL_TALK = longest_first(tuple({*GREETINGS_AND_THANKS, *ACKNOWLEDGEMENTS, *FILLERS}))


def only_asks(text: str) -> bool:
    """Whether every sentence of a text is a question or small talk beside one, so that it states nothing.

    >>> only_asks("Hi! Where do I live?"), only_asks("I moved. Where do I live?")
    (True, False)
    """
    asked = False
    for sentence in SENTENCE.findall(text):
        if is_question(sentence):
            if _TAG.search(sentence):
                return False
            asked = True
        elif find_cues(normalise(sentence), _SMALL_TALK)[1]:
            return False
    return asked


def without_questions(
    query: str, hits: Sequence[MemoryHit], near: Mapping[Place, float] = NOTHING
) -> tuple[list[MemoryHit], list[Choice]]:
    """The hits without the turns that only ask what the query asks, and why those were dropped.

    A question holds its own words, so search by words and vectors finds it before its answer. Dropped are turns that
    are nothing but questions (`only_asks`) and that hold every content word of the query, and at most as many others,
    or whose best sentence is as near to it as a paraphrase; another question may still tell something ("Do you like
    my new bike?").

    Args:
        query: what was asked.
        hits: what was found.
        near: how near the best sentence of each is to the query, as cosines, where that is known.
    """
    wanted = set(tokens(query))
    kept: list[MemoryHit] = []
    dropped: list[Choice] = []
    for hit in hits:
        is_turn = bool(wanted) and hit.record.role in TURN_ROLES
        if is_turn and _asks(wanted, hit.record.text, near.get(place_of(hit), 0.0)):
            dropped.append(left_out(hit, "it only asks the same"))
        else:
            kept.append(hit)
    return kept, dropped


def _asks(wanted: set[str], text: str, near: float) -> bool:
    if not is_question(text):  # nothing that only asks goes without
        return False
    held = read(text).words.keys()
    same = near >= PARAPHRASE or (wanted <= held and len(held) <= 2 * len(wanted))
    return same and only_asks(text)
