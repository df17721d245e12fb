"""A search over the namespaces below a prefix: one ranking of all their items, or a listing."""

from __future__ import annotations

import contextlib
import functools
import heapq
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from langgraph.store.base import SearchItem, SearchOp

from langmem_plus.config import MemoryConfig
from langmem_plus.providers import TextBits
from langmem_plus.providers.token_bits import AskedTokens
from langmem_plus.records import parse_time
from langmem_plus.store.batches import ExactSearchOp, NarrowedSearchOp
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.index import Row, rarity
from langmem_plus.store.markdown.legs import Details, Found, Nearest
from langmem_plus.store.markdown.namespace import OpenNamespace
from langmem_plus.store.markdown.narrowing import WIDEST, Order, narrowed
from langmem_plus.store.markdown.visit import Visit
from langmem_plus.store.search import Floats, Fused, Ids, Leg, RankedItem, fuse, matches
from langmem_plus.text import tokens

_PAGE = 100
# Times that a ranking is made without holding up any writer; after that, what it found can't be rewritten meanwhile.
_FREE_TRIES = 2
# What ranks further down than so far is for the exact search: an approximate one would have gaps there.
_APPROXIMATE = 100

_Chosen = tuple[int, int, Row, dict[str, Any]]  # position in the ranking, place, row, value
_read_time = functools.lru_cache(maxsize=10_000)(parse_time)
Note = Callable[[OpenNamespace, Row], object]


def forget(room: OpenNamespace, row: Row) -> None:
    """Nobody wants to know what was given out."""


def fields_of(row: Row, value: dict[str, Any], namespace: Namespace) -> dict[str, Any]:
    """What LangGraph's items are made of."""
    return {
        "namespace": namespace,
        "key": row.key,
        "value": value,
        "created_at": _read_time(row.created_at),
        "updated_at": _read_time(row.updated_at),
    }


def listing(rooms: Sequence[OpenNamespace], op: SearchOp, note: Note = forget) -> list[SearchItem]:
    """The items that meet the filter, newest update first; ``note`` is told of each that is given out."""
    newest = heapq.merge(
        *(_tagged(room, op) for room in rooms),
        key=lambda found: (found[1].updated_at, found[1].id),
        reverse=True,
    )
    page = list(itertools.islice(newest, *_ends(op)))
    for room, row, _ in page:
        note(room, row)
    return [RankedItem(**fields_of(row, value, room.namespace)) for room, row, value in page]


def _ends(op: SearchOp) -> tuple[int, int]:
    """The places of the first item of a page and of the first behind it, however large they are wanted."""
    return min(op.offset, sys.maxsize), min(op.offset + op.limit, sys.maxsize)


def _tagged(room: OpenNamespace, op: SearchOp) -> Iterator[tuple[OpenNamespace, Row, dict[str, Any]]]:
    return ((room, row, value) for row, value in room.newest(op.filter))


def ranking(
    rooms: Sequence[OpenNamespace],
    op: SearchOp,
    query: Floats | None,
    kind: Literal["hybrid", "dense"],
    config: MemoryConfig,
    note: Note = forget,
    asked: AskedTokens | None = None,
) -> list[SearchItem]:
    """The items that meet the filter, best first.

    Args:
        rooms: the namespaces, in the order in which equals are listed.
        op: the search; it has a query.
        query: the query's vector; None while there is none, and then the words alone answer.
        kind: how to rank.
        config: the store's settings.
        note: told of each item that is given out.
        asked: the question's tokens; of one namespace, its items are then chosen by their token bits, too.
    """
    terms = list(dict.fromkeys(tokens(op.query or "")))
    search = _Search(terms, query, op, kind, config, asked)
    # A recall ranks what it is given anew, so gaps at its end cost it nothing.
    exact = op.offset + op.limit > (WIDEST if isinstance(op, NarrowedSearchOp) else _APPROXIMATE)
    for attempt in range(_FREE_TRIES + 2):
        with contextlib.ExitStack() as stack:
            if attempt >= _FREE_TRIES:
                for room in sorted(rooms, key=lambda room: room.namespace):  # the order in which writers take them
                    stack.enter_context(room.locked())
            answer = search.one(rooms[0], exact) if len(rooms) == 1 else search.among(rooms, exact)
        if answer.cut and len(answer.items) < op.limit:
            exact = True  # a filter left too little of what was near
        elif not answer.stale:
            break
    for room, row in zip((rooms[owner] for owner in answer.owners), answer.rows, strict=True):
        note(room, row)
    return answer.items


class _Visits:
    """A namespace of several: each question is a visit of its own, since not all of them can be held at a time."""

    def __init__(self, room: OpenNamespace) -> None:
        self.namespace, self._room = room.namespace, room

    def search(self, *asked: Any, **more: Any) -> Found:
        return self._room.visit(lambda visit: visit.search(*asked, **more), Found.nothing())

    def load(self, ids: Sequence[int], identity: int) -> dict[int, Row]:
        return self._room.visit(lambda visit: visit.load(ids, identity), {})

    def bits(self, ids: Sequence[int]) -> Mapping[int, TextBits]:
        return self._room.visit(lambda visit: visit.bits(ids), {})

    def details(self, *asked: Any, **more: Any) -> Details:
        return self._room.visit(lambda visit: visit.details(*asked, **more), Details({}, {}, {}))


_Place = Visit | _Visits


@dataclass
class _Answer:
    """The items, best first.

    Attributes:
        owners: for each, the place that it comes from.
        rows: for each, its row there.
        stale: whether an item was gone or rewritten when it was to be read.
        cut: whether not all vectors were compared.
    """

    items: list[SearchItem] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    stale: bool = False
    cut: bool = False


class _Search:
    """One question, asked of one namespace or of several.

    Args:
        terms: its distinct words.
        query: its vector.
        op: the search.
        kind: how to rank.
        config: the store's settings.
        asked: the question's tokens.
    """

    def __init__(
        self,
        terms: list[str],
        query: Floats | None,
        op: SearchOp,
        kind: Literal["hybrid", "dense"],
        config: MemoryConfig,
        asked: AskedTokens | None,
    ) -> None:
        self._terms, self._query, self._op, self._asked = terms, query, op, asked
        end = op.offset + op.limit
        # Without a filter no more is read than is wanted.
        self._page = _PAGE if op.filter else min(max(end, 1), _PAGE)
        self._fuse = functools.partial(
            fuse,
            ranking=kind if query is not None else "hybrid",
            fusion=config.fusion,
            dense_weight=config.dense_weight,
            window_weight=config.window_weight,
            rrf_k=config.rrf_k,
        )

    def one(self, room: OpenNamespace, exact: bool) -> _Answer:
        """All in one visit, so nothing is stale."""
        nearest = self._nearest(room, exact)

        def read(visit: Visit) -> _Answer:
            return self._answer([visit], [visit.search(self._terms, self._query, self._op.filter, nearest=nearest)])

        return room.visit(read, _Answer())

    def among(self, rooms: Sequence[OpenNamespace], exact: bool) -> _Answer:
        """Each is visited once for all raw scores: of many, most have to be opened for it."""
        places, condition = [_Visits(room) for room in rooms], self._op.filter
        return self._answer(
            places,
            [
                place.search(self._terms, self._query, condition, apart=True, nearest=self._nearest(room, exact))
                for room, place in zip(rooms, places, strict=True)
            ],
        )

    def _nearest(self, room: OpenNamespace, exact: bool) -> Nearest | None:
        return None if exact or self._query is None else room.nearest(self._query, self._op.filter is not None)

    def _answer(self, places: Sequence[_Place], found: Sequence[Found]) -> _Answer:
        several = len(found) > 1
        weights = _common_rarity(found, self._terms) if several else np.empty(0, np.float32)
        legs = [each.weighed(weights) for each in found] if several else [each.leg for each in found]
        fused = self._fuse(legs)
        ids = legs[0].ids if len(legs) == 1 else np.concatenate([Leg.empty().ids, *(leg.ids for leg in legs)])
        answer = _Answer(cut=any(each.cut for each in found))
        chosen = _best(places, found, ids, self._order(places, ids, fused), self._page, self._op.filter, answer)
        self._fill(answer, places, found, fused, list(itertools.islice(chosen, *_ends(self._op))))
        return answer

    def _order(self, places: Sequence[_Place], ids: Ids, fused: Fused) -> Order:
        if self._asked is None or len(places) > 1 or self._op.offset:
            return Order(fused)

        def bits_of(rows: Ids) -> list[TextBits | None]:
            wanted = ids[rows].tolist()
            bits = places[0].bits(wanted)
            return [bits.get(row_id) for row_id in wanted]

        return narrowed(fused, self._asked, self._op.limit, bits_of)

    def _fill(
        self,
        answer: _Answer,
        places: Sequence[_Place],
        found: Sequence[Found],
        fused: Fused,
        chosen: Sequence[_Chosen],
    ) -> None:
        asked, reads_bits = (self._terms, self._query), isinstance(self._op, ExactSearchOp)  # only a recall does
        details = {
            owner: places[owner].details(
                [row.id for _, its, row, _ in chosen if its == owner], found[owner].identity, *asked, bits=reads_bits
            )
            for owner in {owner for _, owner, _, _ in chosen}
        }
        at = np.asarray([position for position, _, _, _ in chosen], np.int64)
        columns = [column[at].tolist() for column in (fused.score, fused.words, fused.dense, fused.cosine)]
        for (_, owner, row, value), score, words, dense, cosine in zip(chosen, *columns, strict=True):
            scores = {"words": words, "dense": dense}
            if cosine == cosine:
                scores["cosine"] = cosine
            scores["coverage"] = details[owner].coverage.get(row.id, 0.0)
            fields, vector = fields_of(row, value, places[owner].namespace), details[owner].vectors.get(row.id)
            bits = details[owner].bits.get(row.id)
            answer.items.append(RankedItem(**fields, score=score, vector=vector, scores=scores, bits=bits))
            answer.owners.append(owner)
            answer.rows.append(row)


def _best(
    places: Sequence[_Place],
    found: Sequence[Found],
    ids: Ids,
    order: Order,
    size: int,
    condition: Mapping[str, Any] | None,
    answer: _Answer,
) -> Iterator[_Chosen]:
    """The items that meet the filter, best first, read ``size`` at a time as far as they are asked for. Those that
    can't be read any more make the answer stale.
    """
    ends = np.cumsum([len(each.leg.ids) for each in found])
    start = 0
    while start < len(order):
        page = order.page(start, size)
        start += len(page)
        owners, row_ids = np.searchsorted(ends, page, "right").tolist(), ids[page].tolist()
        wanted: dict[int, list[int]] = {}
        for row_id, owner in zip(row_ids, owners, strict=True):
            wanted.setdefault(owner, []).append(row_id)
        loaded = {owner: places[owner].load(some, found[owner].identity) for owner, some in wanted.items()}
        for position, row_id, owner in zip(page.tolist(), row_ids, owners, strict=True):
            row = loaded[owner].get(row_id)
            if row is None:
                answer.stale = True
                continue
            value = row.load_value()
            if matches(value, condition):
                yield position, owner, row, value


def _common_rarity(found: Sequence[Found], terms: Sequence[str]) -> Floats:
    """How rare each term is in all the namespaces together."""
    held = {term: sum(one.held.get(term, 0) for one in found) for term in terms}
    rarities = rarity(sum(one.total for one in found), held)
    return np.asarray([rarities[term] for term in terms], np.float32)
