"""Who asks of "my home" means their own: what they said comes before what anybody else said that is about as near.

Only where who asks has a name and said some of what was found, and only against other people's words, be they named
or not. Replies, archives and documents keep their places.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from langmem_plus.recall.candidates import Candidates, Floats
from langmem_plus.recall.features import Compared, in_context
from langmem_plus.recall.readings import read
from langmem_plus.speakers import key_of
from langmem_plus.text import tokens, words

Flags = npt.NDArray[np.bool_]

# Words are about as near to a question as others from this share of their nearness on: to "where do I live?", "I moved
# to Bonn" has .55 of the nearness of "I live in Lyon", other statements have .1 to .25.
AS_NEAR = 0.5
# So much of the place of the asker's words is left to what comes after them; they have `LEAST` at least.
BELOW, LEAST = 0.7, 0.05


def own_first(question: str, candidates: Candidates, asker: str, compared: Compared | None, total: Floats) -> Floats:
    """The candidates' totals where the asker's own words come before other people's.

    What another one says of oneself ("I live in Bonn") comes after all the asker's words that are about as near; what
    may be about the asker as well ("Ann's flight leaves at nine", "the key is under the mat") after the best of them.
    Words alone don't tell that "I moved" answers "where do I live?": without bits, the former comes after the asker's
    best words, too.

    Args:
        question: the words to rank by.
        candidates: what was found.
        asker: the name of who asks, "" where nobody is named.
        compared: what their bits say, None where these tell nothing of the order.
        total: how good each is, 0 or more.
    """
    mine = _own(candidates, asker)
    if not mine.any() or not is_own(question, candidates.names, asker):
        return total
    near = nearness(question, candidates, compared)
    lifted = np.where(mine, np.maximum(total, LEAST), total)
    theirs, as_near = lifted[mine][:, None], near[mine][:, None] >= AS_NEAR * near
    others = about_others(question, candidates, asker)
    if compared is None:
        as_near[lifted[mine].argmax()] |= others & ~as_near.any(axis=0)
    least, best = np.where(as_near, theirs, np.inf).min(axis=0), np.where(as_near, theirs, -np.inf).max(axis=0)
    bound = BELOW * np.where(others, least, best)
    lowered: Floats = np.where(candidates.stated & ~mine & as_near.any(axis=0), np.minimum(lifted, bound), lifted)
    return lowered


def is_own(question: str, names: Sequence[str], asker: str) -> bool:
    """Whether a question is about who asks it, one of the speakers, and no other: "where do I live?", but not "did I
    meet Bob?".

    Args:
        question: what was asked.
        names: who said each of the candidates, "" where nobody is named.
        asker: the name of who asks.
    """
    key = key_of(asker)
    if not key or not read(question).own or all(key_of(name) != key for name in names):
        return False
    asked = set(words(question)) - set(words(asker))
    return all(asked.isdisjoint(words(name)) for name in set(names) if key_of(name) != key)


def about_others(question: str, candidates: Candidates, asker: str) -> Flags:
    """Which candidates other people say of themselves alone, without the name of who asks about themselves."""
    if not is_own(question, candidates.names, asker):
        return np.zeros(len(candidates), bool)
    named = _bearing(asker, frozenset(candidates.names))
    alone = np.array([text.own and named.isdisjoint(text.words) for text in candidates.texts], bool)
    found: Flags = alone & candidates.stated & ~_own(candidates, asker)
    return found


def _own(candidates: Candidates, asker: str) -> Flags:
    key = key_of(asker)
    found: Flags = np.array([bool(key) and key_of(name) == key for name in candidates.names], bool) & candidates.stated
    return found


@functools.lru_cache(maxsize=1024)
def _bearing(asker: str, names: frozenset[str]) -> frozenset[str]:
    """The words of a name that no other speaker's has."""
    others = {word for name in names if key_of(name) != key_of(asker) for word in tokens(name)}
    return frozenset(tokens(asker)) - others


def nearness(question: str, candidates: Candidates, compared: Compared | None) -> Floats:
    """How near each is to the question, whoever says it: by late interaction, or, without bits, by the share of the
    question's words that it holds, rare ones among the candidates counting more.
    """
    if compared is not None and len(compared.weights):
        return np.maximum(in_context(compared.tokens, candidates) @ compared.weights, 0.0)
    asked = list(read(question).words)
    held = np.array([[word in text.words for word in asked] for text in candidates.texts], np.float64)
    held = held.reshape(len(candidates), len(asked))
    holding = held.sum(axis=0)
    rarity = np.log1p((len(candidates) - holding + 0.5) / (holding + 0.5))
    near: Floats = held @ rarity
    return near
