"""A search over the namespaces below a prefix: one ranking of all their items, or a listing."""

from __future__ import annotations

import contextlib
import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from langgraph.store.base import SearchItem, SearchOp

from langmem_plus.config import MemoryConfig
from langmem_plus.records import parse_time
from langmem_plus.store.markdown.files import Namespace
from langmem_plus.store.markdown.index import Row, rarity
from langmem_plus.store.markdown.legs import Found
from langmem_plus.store.markdown.namespace import OpenNamespace
from langmem_plus.store.search import Floats, Fused, RankedItem, fuse, matches
from langmem_plus.text import tokens

_PAGE = 100
# Times that a ranking is made without holding up any writer; after that, what it found can't be rewritten meanwhile.
_FREE_TRIES = 2
# What ranks further down than so far is for the exact search: an approximate one would have gaps there.
_APPROXIMATE = 100

Chosen = tuple[int, OpenNamespace, Row, dict[str, Any]]
Note = Callable[[OpenNamespace, Row], object]


def forget(room: OpenNamespace, row: Row) -> None:
    """Nobody wants to know what was given out."""


def fields_of(row: Row, value: dict[str, Any], namespace: Namespace) -> dict[str, Any]:
    """What LangGraph's items are made of."""
    return {
        "namespace": namespace,
        "key": row.key,
        "value": value,
        "created_at": parse_time(row.created_at),
        "updated_at": parse_time(row.updated_at),
    }


def listing(rooms: Sequence[OpenNamespace], op: SearchOp, note: Note = forget) -> list[SearchItem]:
    """The items that meet the filter, newest update first; ``note`` is told of each that is given out."""
    newest = heapq.merge(
        *(_tagged(room, op) for room in rooms),
        key=lambda found: (found[1].updated_at, found[1].id),
        reverse=True,
    )
    page = list(itertools.islice(newest, op.offset, op.offset + op.limit))
    for room, row, _ in page:
        note(room, row)
    return [RankedItem(**fields_of(row, value, room.namespace)) for room, row, value in page]


def _tagged(room: OpenNamespace, op: SearchOp) -> Iterator[tuple[OpenNamespace, Row, dict[str, Any]]]:
    return ((room, row, value) for row, value in room.newest(op.filter))


def ranking(
    rooms: Sequence[OpenNamespace],
    op: SearchOp,
    query: Floats | None,
    kind: Literal["hybrid", "dense"],
    config: MemoryConfig,
    note: Note = forget,
) -> list[SearchItem]:
    """The items that meet the filter, best first.

    Args:
        rooms: the namespaces, in the order in which equals are listed.
        op: the search; it has a query.
        query: the query's vector; None while there is none, and then the words alone answer.
        kind: how to rank.
        config: the store's settings.
        note: told of each item that is given out.
    """
    terms = tokens(op.query or "")
    end = op.offset + op.limit
    # Without a filter no more is read than is wanted.
    page = _PAGE if op.filter else min(max(end, 1), _PAGE)
    exact = end > _APPROXIMATE
    for attempt in range(_FREE_TRIES + 2):
        with contextlib.ExitStack() as stack:
            if attempt >= _FREE_TRIES:
                for room in sorted(rooms, key=lambda room: room.namespace):  # the order in which writers take them
                    stack.enter_context(room.locked())
            found = _Ranked(rooms, terms, query, op, kind, config, exact=exact)
            chosen = list(itertools.islice(found.best(page), op.offset, end))
        if found.cut and len(chosen) < op.limit:
            exact = True  # a filter left too little of what was near
        elif not found.stale:
            break
    for _, room, row, _ in chosen:
        note(room, row)
    return _ranked_items(chosen, found.fused, terms, query)


class _Ranked:
    """One ranking over all namespaces.

    Attributes:
        stale: whether an item was gone or rewritten when it was to be read.
        cut: whether not all vectors were compared.
    """

    def __init__(
        self,
        rooms: Sequence[OpenNamespace],
        terms: list[str],
        query: Floats | None,
        op: SearchOp,
        kind: Literal["hybrid", "dense"],
        config: MemoryConfig,
        *,
        exact: bool,
    ) -> None:
        self._rooms, self._filter = rooms, op.filter
        terms = list(dict.fromkeys(terms))
        # Each namespace is visited once: of many, most have to be opened for it.
        self._found = [room.search(terms, query, op.filter, apart=len(rooms) > 1, exact=exact) for room in rooms]
        self.cut = any(one.cut for one in self._found)
        weights = _common_rarity(self._found, terms) if len(rooms) > 1 else np.ones(1, np.float32)
        legs = [found.weighed(weights) for found in self._found]
        self._ids = np.concatenate([leg.ids for leg in legs]) if legs else np.empty(0, np.int64)
        self._ends = np.cumsum([len(leg.ids) for leg in legs])
        self.stale = False
        self.fused = fuse(
            legs,
            ranking=kind if query is not None else "hybrid",
            fusion=config.fusion,
            dense_weight=config.dense_weight,
            window_weight=config.window_weight,
            rrf_k=config.rrf_k,
        )

    def best(self, size: int) -> Iterator[Chosen]:
        """The items that meet the filter, best first, read ``size`` at a time as far as they are asked for."""
        for start in range(0, len(self.fused.order), size):
            page = self.fused.order[start : start + size]
            owners = np.searchsorted(self._ends, page, "right")
            loaded: dict[tuple[int, int], Row] = {}
            for owner in np.unique(owners):
                ids = [int(row_id) for row_id in self._ids[page[owners == owner]]]
                rows = self._rooms[owner].load(ids, self._found[owner].identity)
                loaded.update({(int(owner), row_id): row for row_id, row in rows.items()})
            for position, owner in zip(page, owners, strict=True):
                row = loaded.get((int(owner), int(self._ids[position])))
                if row is None:
                    self.stale = True
                    continue
                value = row.load_value()
                if matches(value, self._filter):
                    yield int(position), self._rooms[owner], row, value


def _common_rarity(found: Sequence[Found], terms: Sequence[str]) -> Floats:
    """How rare each term is in all the namespaces together."""
    held = {term: sum(one.held.get(term, 0) for one in found) for term in terms}
    rarities = rarity(sum(one.total for one in found), held)
    return np.asarray([rarities[term] for term in terms], np.float32)


def _ranked_items(chosen: Sequence[Chosen], fused: Fused, terms: list[str], query: Floats | None) -> list[SearchItem]:
    rooms = {room.namespace: room for _, room, _, _ in chosen}
    details = {
        namespace: room.details([row.id for _, owner, row, _ in chosen if owner is room], terms, query)
        for namespace, room in rooms.items()
    }
    items: list[SearchItem] = []
    for position, room, row, value in chosen:
        scores = {"words": float(fused.words[position]), "dense": float(fused.dense[position])}
        if (cosine := float(fused.cosine[position])) == cosine:
            scores["cosine"] = cosine
        own = details[room.namespace]
        scores["coverage"] = own.coverage.get(row.id, 0.0)
        items.append(
            RankedItem(
                **fields_of(row, value, room.namespace),
                score=float(fused.score[position]),
                vector=own.vectors.get(row.id),
                scores=scores,
            )
        )
    return items
