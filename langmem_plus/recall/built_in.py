"""The built-in reranker: what speaks for each candidate, weighed and added up. It works for the hits of any store.

Token bits come from the store where it hands them out (``hit.bits``), else from the local model, which reads at most
``rerank_late`` candidates in one recall and remembers what it read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt

from langmem_plus.providers.late_interaction import can_read, is_foreign
from langmem_plus.providers.token_bits import TextBits, TokenEncoder
from langmem_plus.recall.answerable import probability, signs
from langmem_plus.recall.asker import own_first
from langmem_plus.recall.candidates import Candidates, Floats, Ints, make_candidates
from langmem_plus.recall.features import Compared, compare, features, is_near
from langmem_plus.recall.overlap import spoken
from langmem_plus.recall.repeats import Place, place_of
from langmem_plus.recall.weights import PRIORS, choose_row
from langmem_plus.records import MemoryHit

# So many better candidates of its own session count against a candidate (`weights.Row.spread`).
CROWD = 10
# One model gives one cosine, but for rounding.
SAME_COSINE = 0.01


@dataclass(frozen=True)
class Judged:
    """What the built-in reranker says of some hits.

    Attributes:
        order: how good each is compared with the best, in [0, 1].
        shares: what each feature gave of that, by its name, what better hits of the session took away, ``spread``, and
            what the asker's words took from other people's, ``own``; the shares of a hit add up to its ``order``, where
            that isn't 0.
        row: the weights that were used.
        probability: of an answer among them, in [0, 1]; None without token bits.
        foreign: whether the local model made the vectors and doesn't know the question's language, so that bits tell
            the probability at most, and vectors hardly anything.
        near: which hits are near to the question by their bits; None without.
        sentences: the cosine of each hit's best sentence to the question, NaN where there is none; None without bits.
        asked: the question's vector, which the sentences of ``bits`` are compared with; None without.
        bits: the token bits of those hits that came without, by their places.
    """

    order: Floats
    shares: dict[str, Floats] = field(default_factory=dict)
    row: str = ""
    probability: float | None = None
    foreign: bool = False
    near: npt.NDArray[np.bool_] | None = None
    sentences: Floats | None = None
    asked: npt.NDArray[np.float32] | None = None
    bits: Mapping[Place, TextBits | None] = field(default_factory=dict)

    def given(self) -> list[dict[str, float]]:
        """What each feature gave each hit."""
        if not self.shares:
            return [{} for _ in self.order]
        names, table = list(self.shares), np.round(np.stack(list(self.shares.values()), axis=1), 4).tolist()
        return [{name: share for name, share in zip(names, row, strict=True) if share} for row in table]


def judge(
    question: str,
    hits: Sequence[MemoryHit],
    asked_at: datetime,
    encoder: TokenEncoder | None = None,
    limit: int = 0,
    asker: str = "",
) -> Judged:
    """Compare the hits with each other.

    Args:
        question: the words to rank by.
        hits: the candidates, each with its store's scores.
        asked_at: the time that "last week" is counted from.
        encoder: reads token bits; None goes without.
        limit: how many hits it reads anew, the store's best first.
        asker: the name of who asks, "" where nobody is named.
    """
    if not hits:
        return Judged(np.zeros(0))
    if encoder is None or not can_read(question):
        judged = weigh(question, make_candidates(hits), asked_at, None, asker=asker)
        return replace(judged, foreign=encoder is not None and not knows_better(question, hits, encoder))
    bits = find_bits(hits, encoder, limit)
    if all(each is None for each in bits):
        return weigh(question, make_candidates(hits), asked_at, None, asker=asker)
    asked = encoder.ask(question)
    foreign = is_foreign(question, asked)
    judged = weigh(question, make_candidates(hits), asked_at, compare(asked, bits), by_vectors=foreign, asker=asker)
    made = {place_of(hit): each for hit, each in zip(hits, bits, strict=True) if hit.bits is None}
    if foreign and knows_better(question, hits, encoder):
        return replace(judged, probability=None, near=None, bits=made)
    return replace(judged, foreign=foreign, asked=None if foreign else asked.sentence, bits=made)


def knows_better(question: str, hits: Sequence[MemoryHit], encoder: TokenEncoder) -> bool:
    """Whether the hits' cosines are surely another model's than the local one; it may know the question's language."""
    one = next((hit for hit in hits if "cosine" in hit.scores and hit.vector is not None), None)
    if one is None:
        return False
    if len(one.vector) != encoder.dims:
        return True
    local = float(np.asarray(one.vector, np.float64) @ np.asarray(encoder.embed_query(question)))
    return abs(local - one.scores["cosine"]) > SAME_COSINE


def weigh(
    question: str,
    candidates: Candidates,
    asked_at: datetime,
    compared: Compared | None,
    *,
    by_vectors: bool = False,
    asker: str = "",
) -> Judged:
    """The features of the candidates, weighed and added up; ``by_vectors``, bits tell the probability alone."""
    found = features(question, candidates, asked_at.date(), None if by_vectors else compared, asker)
    row = choose_row(found)
    points = {name: weight * found[name] for name, weight in row.weights.items() if name in found and found[name].any()}
    points = {} if points.keys() <= PRIORS else points
    total = np.sum(list(points.values()), axis=0) if points else np.zeros(len(candidates))
    if points and row.spread:
        points["spread"] = -row.spread * crowding(total, candidates.sessions, candidates.newest)
        total = np.maximum(total + points["spread"], 0)
    before = total
    total = own_first(question, candidates, asker, None if by_vectors else compared, total)
    if (total != before).any():
        points["own"] = np.where(total == before, 0, total - np.sum(list(points.values()), axis=0))
    best = float(total.max(initial=0.0)) or 1.0
    can_tell = compared is not None and len(compared.weights) > 0
    found_signs = signs(question, candidates, compared, asker) if compared is not None and can_tell else None
    sure = None if found_signs is None else probability(found_signs, abroad=by_vectors)
    shares = {name: each / best for name, each in points.items()}
    if compared is None:
        return Judged(total / best, shares, row.name, sure)
    near, sentences = is_near(compared, abroad=by_vectors), None if by_vectors else compared.sentences
    return Judged(total / best, shares, row.name, sure, near=near, sentences=sentences)


def crowding(total: Floats, sessions: Ints, newest: Ints) -> Floats:
    """How many better candidates each has in its own session, `CROWD` at most; of equals, the newer is better."""
    order = np.lexsort((newest, -total, sessions))
    groups = sessions[order]
    crowd = np.empty(len(order))
    crowd[order] = np.minimum(np.arange(len(order)) - np.searchsorted(groups, groups), CROWD)
    return crowd


def find_bits(hits: Sequence[MemoryHit], encoder: TokenEncoder, limit: int) -> list[TextBits | None]:
    """The bits of the hits: the store's own, those that are remembered, and at most ``limit`` that are read now."""
    found: list[TextBits | None] = [hit.bits for hit in hits]
    texts = {place: spoken(hits[place].record) for place, bits in enumerate(found) if bits is None}
    for place, text in texts.items():
        found[place] = encoder.known(text)
    missing = [place for place, text in texts.items() if found[place] is None and text.strip()]
    missing.sort(key=lambda place: -hits[place].scores.get("store", hits[place].scores.get("coverage", 0.0)))
    for place, bits in zip(missing[:limit], encoder.read([texts[place] for place in missing[:limit]]), strict=True):
        found[place] = bits
    return found
