"""One core, two drivers: what the steps ask for is fetched, and what goes wrong is raised where it was asked for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from langgraph.store.base import GetOp, Item, PutOp
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ModelAnswerError
from langmem_plus.prompts import ExtractedFact, ExtractedFacts
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.steps import (
    PAGE,
    Ask,
    Batch,
    Claim,
    Release,
    Steps,
    arun_steps,
    get_items,
    get_records,
    list_records,
    put,
    read_record,
    run_steps,
    write,
)
from langmem_plus.services import Services
from langmem_plus.testing import BagOfWordsEmbeddings, ScriptedChatModel

NAMESPACE = ("memories", "ann", "default")
FACTS = ExtractedFacts(facts=[ExtractedFact(text="The user likes tea.")])
Drive = Callable[[Steps[Any], Services], Any]


def record(key: str, text: str = "I like tea", **fields: object) -> MemoryRecord:
    """A fact."""
    return MemoryRecord.model_validate({"id": key, "text": text, "user_id": "ann", **fields})


def services(model: ScriptedChatModel | None = None, store: InMemoryStore | None = None) -> Services:
    """What the steps run with."""
    return Services(config=MemoryConfig(), store=store or InMemoryStore(), model=model)


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    """Both drivers, which must do the same."""

    def run(steps: Steps[Any], over: Services) -> Any:
        if request.param == "sync":
            return run_steps(steps, over, over.find_store())
        return asyncio.run(arun_steps(steps, over, over.find_store()))

    return run


def test_results_come_back_to_the_place_of_the_request(drive: Drive) -> None:
    """A batch gives the store's results, a question the model's answer, a claim all keys where nobody claims."""

    def steps() -> Steps[list[Any]]:
        yield Batch([put(NAMESPACE, record("a"))])
        (item,) = yield Batch([GetOp(NAMESPACE, "a")])
        answer = yield Ask([], ExtractedFacts)
        claimed = yield Claim(NAMESPACE, ["a", "b"], "me")
        released = yield Release(NAMESPACE, ["a"], "me")
        return [item.key, answer, claimed, released]

    assert drive(steps(), services(ScriptedChatModel([FACTS]))) == ["a", FACTS, {"a", "b"}, None]


def test_a_failure_can_be_caught_where_it_happened(drive: Drive) -> None:
    """The steps go on with something else."""

    def steps() -> Steps[str]:
        try:
            yield Ask([], ExtractedFacts)
        except ConnectionError as error:
            yield Batch([put(NAMESPACE, record("a", f"failed: {error}"))])
        found = yield from get_records(NAMESPACE, ["a"])
        return str(found["a"].text)

    assert drive(steps(), services(ScriptedChatModel([ConnectionError("down")]))) == "failed: down"


def test_a_failure_that_nobody_catches_is_raised(drive: Drive) -> None:
    """And so is the lack of a model."""

    def steps() -> Steps[None]:
        yield Ask([], ExtractedFacts)

    with pytest.raises(ConnectionError, match="down"):
        drive(steps(), services(ScriptedChatModel([ConnectionError("down")])))
    with pytest.raises(ModelAnswerError, match="no model"):
        drive(steps(), services())


def test_a_listing_is_read_to_its_end(drive: Drive) -> None:
    """Page after page, and nothing of other programs or of namespaces below."""
    store = InMemoryStore()
    store.batch([put(NAMESPACE, record(str(n))) for n in range(PAGE + 5)])
    store.put((*NAMESPACE, "below"), "x", record("x").to_value())
    store.put(NAMESPACE, "foreign", {"status": "active", "content": "not a record"})
    found = drive(list_records(NAMESPACE, {"status": "active"}), services(store=store))
    assert {each.id for each in found} == {str(n) for n in range(PAGE + 5)}


def test_items_are_asked_for_once_and_missing_ones_are_told(drive: Drive) -> None:
    """Each key once, in the order in which it was first named."""
    store = InMemoryStore()
    store.put(NAMESPACE, "a", record("a").to_value())
    found: dict[str, Item | None] = drive(get_items(NAMESPACE, ["b", "a", "b"]), services(store=store))
    assert [(key, item and item.key) for key, item in found.items()] == [("b", None), ("a", "a")]
    assert drive(get_items(NAMESPACE, []), services(store=store)) == {}


def test_equal_texts_are_written_over_a_store_that_cannot_embed_them_at_once(drive: Drive) -> None:
    """All of them are there afterwards, and the last write of a key wins."""
    embed = BagOfWordsEmbeddings()
    store = InMemoryStore(index={"dims": embed.dims, "embed": embed, "fields": ["text"]})
    ops = [put(NAMESPACE, record(str(n), "the same words")) for n in range(4)]
    drive(write([*ops, put(NAMESPACE, record("0", "other words"))]), services(store=store))
    assert {item.key: item.value["text"] for item in store.search(NAMESPACE)} == {
        "0": "other words",
        **{str(n): "the same words" for n in range(1, 4)},
    }


@pytest.mark.parametrize(
    ("fields", "indexed"),
    [
        ({}, True),
        ({"status": "superseded", "replaced_by": "b"}, True),
        ({"status": "deleted"}, False),
        ({"role": "summary"}, False),
    ],
)
def test_what_no_search_may_find_is_not_indexed(fields: dict[str, object], indexed: bool) -> None:
    """What was deleted, and summaries; what was replaced is found, so that recall knows what is outdated."""
    op: PutOp = put(NAMESPACE, record("a", **fields))
    assert (op.index is None) is indexed


def test_a_value_of_another_program_is_no_record() -> None:
    """It is passed over, never an error."""
    store = InMemoryStore()
    store.put(NAMESPACE, "a", {"kind": "Memory", "content": {"content": "I like tea"}})
    item = store.get(NAMESPACE, "a")
    assert item is not None
    assert read_record(item) is None


class ClaimingStore(InMemoryStore):
    """A store that knows who holds what."""

    def __init__(self) -> None:
        super().__init__()
        self.held: set[str] = set()

    def claim(self, namespace: tuple[str, ...], keys: Iterable[str], seconds: float, *, owner: str) -> set[str]:
        """Everything is free."""
        self.held |= set(keys)
        return set(keys)

    def release(self, namespace: tuple[str, ...], keys: Iterable[str], *, owner: str) -> None:
        """It is free again."""
        self.held -= set(keys)


def claiming() -> Steps[None]:
    """Steps that hold something while they ask a model."""
    yield Claim(NAMESPACE, ["a", "b"], "me")
    yield Ask([], ExtractedFacts)


def test_a_run_that_is_interrupted_holds_nothing_on() -> None:
    """Ctrl-C, as an exception that is none."""

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    store = ClaimingStore()
    with pytest.raises(KeyboardInterrupt):
        run_steps(claiming(), services(ScriptedChatModel([interrupt]), store), store)
    assert store.held == set()


async def test_a_run_that_is_cancelled_holds_nothing_on() -> None:
    """Its task is cancelled while the model thinks."""
    asked, never = threading.Event(), threading.Event()

    def think(_: object) -> None:
        asked.set()
        never.wait(30)

    store = ClaimingStore()
    task = asyncio.create_task(arun_steps(claiming(), services(ScriptedChatModel([think]), store), store))
    await asyncio.to_thread(asked.wait, 30)
    assert store.held == {"a", "b"}
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    never.set()
    assert store.held == set()
