"""One core for sync and async: a stage says what it needs next, and one of two drivers fetches it.

A stage's I/O is a generator that yields requests (a batch of the store, a question to the model, a claim of turns) and
is sent their results; what goes wrong is raised at the place of the request. `run_steps` and `arun_steps` differ in
nothing but the awaiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from langchain_core.messages import BaseMessage
from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, SearchOp
from pydantic import BaseModel, ValidationError

from langmem_plus.erasure import Choose, EraseReceipt, SupportsErasure
from langmem_plus.errors import ModelAnswerError, ModelTimeoutError
from langmem_plus.providers.chat import astructured, structured
from langmem_plus.providers.threads import within
from langmem_plus.records import MemoryRecord
from langmem_plus.services import Services

Namespace: TypeAlias = tuple[str, ...]
PAGE = 1000  # items of a listing that are fetched at a time


@runtime_checkable
class SupportsClaims(Protocol):
    """A store that lets one owner claim keys for a while, so that two don't do the same work at once."""

    def claim(self, namespace: Namespace, keys: Iterable[str], seconds: float, *, owner: str) -> set[str]:
        """Claim what nobody else holds, or go on holding it; the keys that are the owner's now, for so many seconds."""
        ...

    def release(self, namespace: Namespace, keys: Iterable[str], *, owner: str) -> None:
        """Give up claims of the owner."""
        ...


Values: TypeAlias = Mapping[str, Mapping[str, Any] | None]  # by key; None where there is no item


@runtime_checkable
class SupportsExchange(Protocol):
    """A store that can make a batch depend on some items being what they were when they were read."""

    def exchange(self, namespace: Namespace, expected: Values, ops: Sequence[PutOp]) -> bool:
        """Write all, or, where one of the items isn't what is expected, nothing; whether it was written."""
        ...

    async def aexchange(self, namespace: Namespace, expected: Values, ops: Sequence[PutOp]) -> bool:
        """`exchange`, awaiting."""
        ...


@dataclass(frozen=True)
class Batch:
    """Operations of the store; gives their results in order."""

    ops: Sequence[Op]


@dataclass(frozen=True)
class Exchange:
    """Writes that are right only while some items are what they were; gives whether all was written, or None where the
    store can't tell.
    """

    namespace: Namespace
    expected: Values
    ops: Sequence[PutOp]


@dataclass(frozen=True)
class Ask:
    """A question to the model; gives an answer of the schema's type."""

    messages: Sequence[BaseMessage]
    schema: type[BaseModel]


@dataclass(frozen=True)
class Claim:
    """A wish to work on some keys, or to go on with it; gives those that are the owner's: all, where the store knows
    no claims.
    """

    namespace: Namespace
    keys: Collection[str]
    owner: str


@dataclass(frozen=True)
class Release:
    """The end of the owner's claims on some keys; gives nothing."""

    namespace: Namespace
    keys: Collection[str]
    owner: str


@dataclass(frozen=True)
class Erase:
    """A wish to erase for good; gives the receipt, or None where the store can't."""

    namespace: Namespace
    choose: Choose | None


Request: TypeAlias = Batch | Exchange | Ask | Claim | Release | Erase
Result = TypeVar("Result")
Steps: TypeAlias = Generator[Request, Any, Result]


def run_steps(steps: Steps[Result], services: Services, store: BaseStore) -> Result:
    """Fetch what the steps ask for, one after another, and give their result."""

    held: list[Claim] = []

    def fetch(request: Request) -> Any:
        if isinstance(request, Batch):
            return store.batch(request.ops)
        if isinstance(request, Ask):
            return _answer(request, services)
        if isinstance(request, Exchange):
            if not isinstance(store, SupportsExchange):
                return None
            return store.exchange(request.namespace, request.expected, request.ops)
        return _others(request, services, store, held)

    try:
        request = next(steps)
        while True:
            try:
                result = fetch(request)
            except Exception as error:  # noqa: BLE001 - the steps decide what to do about it
                request = steps.throw(error)
            else:
                request = steps.send(result)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    except BaseException as error:
        _give_up(error, held, store)
        raise


async def arun_steps(steps: Steps[Result], services: Services, store: BaseStore) -> Result:
    """`run_steps`, awaiting."""

    held: list[Claim] = []

    async def fetch(request: Request) -> Any:
        if isinstance(request, Batch):
            return await store.abatch(request.ops)
        if isinstance(request, Ask):
            return await _aanswer(request, services)
        if isinstance(request, Exchange):
            if not isinstance(store, SupportsExchange):
                return None
            return await store.aexchange(request.namespace, request.expected, request.ops)
        return await asyncio.to_thread(_others, request, services, store, held)

    try:
        request = next(steps)
        while True:
            try:
                result = await fetch(request)
            except Exception as error:  # noqa: BLE001 - the steps decide what to do about it
                request = steps.throw(error)
            else:
                request = steps.send(result)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    except BaseException as error:
        _give_up(error, held, store)
        raise


def _answer(request: Ask, services: Services) -> BaseModel:
    seconds = services.config.answer_seconds
    try:
        answer: BaseModel = within(seconds, structured, _model(services), list(request.messages), request.schema)
    except TimeoutError as error:
        raise ModelTimeoutError(seconds) from error
    return answer


async def _aanswer(request: Ask, services: Services) -> BaseModel:
    seconds = services.config.answer_seconds
    try:
        asked: BaseModel = await asyncio.wait_for(
            astructured(_model(services), list(request.messages), request.schema), seconds
        )
    except TimeoutError as error:
        raise ModelTimeoutError(seconds) from error
    return asked


def _others(
    request: Claim | Release | Erase, services: Services, store: BaseStore, held: list[Claim]
) -> set[str] | EraseReceipt | None:
    if isinstance(request, Erase):
        return store.erase(request.namespace, request.choose) if isinstance(store, SupportsErasure) else None
    if not isinstance(store, SupportsClaims):
        return set(request.keys) if isinstance(request, Claim) else None
    if isinstance(request, Claim):
        held.append(request)
        return store.claim(request.namespace, request.keys, services.config.lease_seconds, owner=request.owner)
    store.release(request.namespace, request.keys, owner=request.owner)
    return None


def _give_up(error: BaseException, held: Sequence[Claim], store: BaseStore) -> None:
    """Release what a run holds that is cut off, by Ctrl-C or because its task is cancelled; steps that fail have done
    so themselves.
    """
    if not isinstance(error, Exception) and isinstance(store, SupportsClaims):
        for claim in held:
            store.release(claim.namespace, claim.keys, owner=claim.owner)


def _model(services: Services) -> Any:
    if services.model is None:
        raise ModelAnswerError("there is no model to ask: pass model=… or set it in the settings.")
    return services.model


# Steps that several stages take.


def list_records(namespace: Namespace, filter: Mapping[str, Any]) -> Steps[list[MemoryRecord]]:
    """All records of a namespace (not of those below it) that match a filter."""
    found: list[MemoryRecord] = []
    offset = 0
    while True:
        (page,) = yield Batch([SearchOp(namespace, filter=dict(filter), limit=PAGE, offset=offset)])
        found += read_records(page, namespace)
        if len(page) < PAGE:
            return found
        offset += PAGE


def get_items(namespace: Namespace, keys: Iterable[str]) -> Steps[dict[str, Item | None]]:
    """The items under some keys, each asked for once; None where there is none."""
    wanted = list(dict.fromkeys(keys))
    items = (yield Batch([GetOp(namespace, key) for key in wanted])) if wanted else []
    return dict(zip(wanted, items, strict=True))


def get_records(namespace: Namespace, keys: Iterable[str]) -> Steps[dict[str, MemoryRecord]]:
    """The records under some keys, whatever their status; missing ones are left out."""
    items = yield from get_items(namespace, keys)
    return {record.id: record for record in read_records([item for item in items.values() if item], namespace)}


def put(namespace: Namespace, record: MemoryRecord) -> PutOp:
    """The write of a record. What was deleted and summaries aren't indexed: no search may find them, only their keys
    do. A fact that was replaced stays indexed, so that recall can tell that the turn it came from is outdated; one that
    waits for approval is indexed, so that it is found once a person approves it in its file.
    """
    searchable = record.status != "deleted" and record.role != "summary"
    return PutOp(namespace, record.id, record.to_value(), index=None if searchable else False)


def write(ops: Sequence[PutOp]) -> Steps[None]:
    """Write everything in one batch.

    Some stores (LangGraph's InMemoryStore with an index, for one) can't embed two equal texts in one batch, and refuse
    it. There the writes are done in their order, in batches in which each text occurs once.
    """
    if not ops:
        return
    try:
        yield Batch(ops)
    except ValueError:
        groups = _apart(ops)
        if len(groups) == 1:
            raise
        for group in groups:
            yield Batch(group)


def _apart(ops: Sequence[PutOp]) -> list[list[PutOp]]:
    groups: list[list[PutOp]] = [[]]
    texts: set[object] = set()
    for op in ops:
        text = (op.value or {}).get("text")
        if text in texts:
            groups.append([])
            texts = set()
        groups[-1].append(op)
        texts.add(text)
    return groups


def read_records(items: Iterable[Item], namespace: Namespace) -> list[MemoryRecord]:
    """The items of a namespace that are records of ours; other programs' values are passed over."""
    found = []
    for item in items:
        record = read_record(item)
        if record is not None and tuple(item.namespace) == namespace:
            found.append(record)
    return found


def read_record(item: Item) -> MemoryRecord | None:
    """An item as a record, or None where it isn't one of ours."""
    try:
        return MemoryRecord.model_validate(item.value)
    except ValidationError:
        return None
