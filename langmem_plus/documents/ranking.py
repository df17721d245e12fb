"""What a search by words and one by meaning come to: candidates, their scores, and the part of each that is shown."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from langmem_plus.config import MemoryConfig
from langmem_plus.documents.catalog import Floats, Piece
from langmem_plus.documents.chunks import ends
from langmem_plus.records import MemoryHit, MemoryRecord, parse_epoch, record_id
from langmem_plus.text import index_tokens, tokens

TERMS = 64  # words of a query that are looked for
CUT_MARK = "…"


def terms_of(query: str) -> list[str]:
    """The words of a query, each once."""
    return list(dict.fromkeys(tokens(query)))[:TERMS]


def rarities(terms: Sequence[str], held: Mapping[str, int], total: int) -> dict[str, float]:
    """How much each word says: the more, the fewer chunks hold it."""
    return {term: math.log(1 + (total - held[term] + 0.5) / (held[term] + 0.5)) for term in terms}


def fused(
    pieces: Sequence[Piece],
    by_words: Mapping[int, float],
    nearest: Sequence[str],
    cosines: Mapping[str, float],
    rarity: Mapping[str, float],
    config: MemoryConfig,
) -> list[tuple[Piece, dict[str, float]]]:
    """The pieces best first with their scores: each leg in [0, 1] within this search, ``store`` for both together.

    Args:
        pieces: the candidates.
        by_words: BM25 by the pieces' ids.
        nearest: keys, the nearest first.
        cosines: by key, where they are known.
        rarity: of the words that are asked for.
        config: how the legs are put together.
    """
    rank = {key: 1 - place / len(nearest) for place, key in enumerate(nearest)}
    most = max(by_words.values(), default=0.0)
    low, high = min(cosines.values(), default=0.0), max(cosines.values(), default=0.0)
    total = sum(rarity.values())
    found = []
    for piece in pieces:
        scores = {"words": by_words.get(piece.id, 0.0) / most if most > 0 else 0.0}
        if piece.key in cosines:
            scores["cosine"] = cosines[piece.key]
            scores["dense"] = (cosines[piece.key] - low) / (high - low) if high > low else 1.0
        elif nearest:
            scores["dense"] = rank.get(piece.key, 0.0)
        said = set(index_tokens(f"{piece.path}\n{piece.chunk.shown}")) if rarity else set()
        scores["coverage"] = sum(weight for term, weight in rarity.items() if term in said) / total if total else 0.0
        found.append((piece, scores))
    _put_together(found, config, has_vectors=bool(nearest))
    found.sort(key=lambda each: (-each[1]["store"], each[0].path, each[0].chunk.ordinal))
    return found


def _put_together(found: Sequence[tuple[Piece, dict[str, float]]], config: MemoryConfig, *, has_vectors: bool) -> None:
    """Set ``store`` in [0, 1] from the two legs."""
    legs = ("words", "dense") if has_vectors else ("words",)
    if config.fusion == "convex" or not has_vectors:
        share = config.dense_weight if has_vectors else 0.0
        for _, scores in found:
            scores["store"] = share * scores.get("dense", 0.0) + (1 - share) * scores["words"]
        return
    totals = dict.fromkeys(range(len(found)), 0.0)
    for leg in legs:
        order = sorted(totals, key=lambda place: -found[place][1].get(leg, 0.0))
        for place, index in enumerate(order):
            if found[index][1].get(leg, 0.0) > 0:
                totals[index] += 1 / (config.rrf_k + place + 1)
    for place, total in totals.items():
        found[place][1]["store"] = total * (config.rrf_k + 1) / len(legs)


def cosines_of(query: Floats, vectors: Mapping[str, Floats]) -> dict[str, float]:
    """The cosine of each vector to a query's, all of unit length."""
    fit = {key: vector for key, vector in vectors.items() if len(vector) == len(query)}
    if not fit:
        return {}
    numbers = np.stack(list(fit.values())) @ query
    return dict(zip(fit, numbers.astype(float).tolist(), strict=True))


def as_hit(
    piece: Piece, scores: dict[str, float], rarity: Mapping[str, float], limit: int, owner: tuple[str, str]
) -> MemoryHit:
    """A piece of a document as a search gives it, cited by its path and lines.

    Args:
        piece: it.
        scores: one number a leg.
        rarity: of the words that are asked for.
        limit: bytes of the excerpt.
        owner: whose memory the recall is of: user and space.
    """
    chunk = piece.chunk
    modified = _time(piece.modified)
    metadata = {
        "path": piece.path,
        "title": piece.title,
        "headings": list(chunk.headings),
        "ordinal": chunk.ordinal,
        "lines": [chunk.start_line, chunk.end_line],
    }
    part = excerpt(chunk.text, rarity, limit)
    if part != chunk.text:
        metadata["excerpt"] = part
    record = MemoryRecord(
        id=record_id("document", piece.path, piece.key, piece.twin),
        role="document",
        text=chunk.text.encode("utf-8", "replace").decode(),
        user_id=owner[0],
        space=owner[1],
        created_at=modified,
        updated_at=modified,
        observed_at=modified,
        source_ids=[f"{piece.path}:{chunk.start_line}-{chunk.end_line}"],
        metadata=metadata,
    )
    return MemoryHit(record=record, scores=scores)


def _time(seconds: float) -> dt.datetime:
    try:
        return parse_epoch(int(seconds))
    except ValueError:
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def excerpt(text: str, rarity: Mapping[str, float], limit: int) -> str:
    """The part of a text that says most of what is asked, in whole sentences and lines; all of it where it fits.

    Args:
        text: a chunk.
        rarity: how much each word that is asked for says.
        limit: bytes at most.
    """
    if _size(text) <= limit:
        return text
    room = limit - 2 * _size(CUT_MARK) - 2
    places = [0, *ends(text)]
    parts = [text[start:end] for start, end in itertools.pairwise(places)]
    asked = [rarity.keys() & index_tokens(part) for part in parts]
    sizes = [_size(part) for part in parts]
    first, last = _best_window(sizes, asked, rarity, room)
    if first == last:  # one sentence is longer than that
        return _cut(text, room)
    first, last = _widened(sizes, *_narrowed(asked, first, last), room)
    body = "".join(parts[first:last]).strip()
    return f"{CUT_MARK} " * (first > 0) + body + f" {CUT_MARK}" * (last < len(parts))


def _best_window(
    sizes: Sequence[int], asked: Sequence[set[str]], rarity: Mapping[str, float], room: int
) -> tuple[int, int]:
    """From where to where the parts go that say most together, within the room; the first of equal ones."""
    best, chosen = -1.0, (0, 0)
    for first in range(len(sizes)):
        last, spent, said = first, 0, set[str]()
        while last < len(sizes) and spent + sizes[last] <= room:
            spent += sizes[last]
            said |= asked[last]
            last += 1
        worth = sum(rarity[term] for term in said)
        if last > first and worth > best:
            best, chosen = worth, (first, last)
    return chosen


def _narrowed(asked: Sequence[set[str]], first: int, last: int) -> tuple[int, int]:
    """The window from the first to the last of its parts that hold what is asked."""
    holding = [place for place in range(first, last) if asked[place]]
    return (holding[0], holding[-1] + 1) if holding else (first, last)


def _widened(sizes: Sequence[int], first: int, last: int, room: int) -> tuple[int, int]:
    """The window with as much as fits on both sides of it."""
    left, grows = room - sum(sizes[first:last]), True
    while grows:
        grows = False
        if last < len(sizes) and sizes[last] <= left:
            left, last, grows = left - sizes[last], last + 1, True
        if first > 0 and sizes[first - 1] <= left:
            left, first, grows = left - sizes[first - 1], first - 1, True
    return first, last


def _cut(text: str, limit: int) -> str:
    return text.encode("utf-8", "replace")[: max(limit, 0)].decode("utf-8", "ignore").rstrip() + f" {CUT_MARK}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
