"""Stores that the write path runs over, and a clock that stands where a test puts it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.extract import extract
from langmem_plus.remember.reconcile import Reconciliation, reconcile
from langmem_plus.remember.record import record, user_turn
from langmem_plus.services import Services
from langmem_plus.testing import BagOfWordsEmbeddings

START = dt.datetime(2024, 5, 1, 9, 0, tzinfo=dt.UTC)


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> dt.datetime:
        """The time."""
        return self.now

    def forward(self, **span: float) -> None:
        """Let some time pass."""
        self.now += dt.timedelta(**span)


class Person:
    """A user of memory in tests: says things in a thread and lets them be worked off."""

    def __init__(self, services: Services, scope: Scope, clock: Clock) -> None:
        self.services = services
        self.scope = scope
        self.clock = clock
        self.messages: list[BaseMessage] = []
        self.turn = 0

    @property
    def store(self) -> BaseStore:
        """Where this person's memory is kept."""
        return self.services.find_store()

    def tell(self, text: str, **fields: Any) -> None:
        """Say something that is only recorded."""
        self.clock.forward(minutes=1)
        self.messages.append(HumanMessage(text, **fields))
        self.turn, new = user_turn(self.messages, self.turn)
        record(self.services, self.scope, new, "user", self.turn)
        self.messages.append(AIMessage("I see."))
        record(self.services, self.scope, [self.messages[-1]], "assistant", self.turn, 1)

    def say(self, text: str, **fields: Any) -> Reconciliation:
        """Say something that is recorded, extracted and reconciled."""
        self.tell(text, **fields)
        return self.work()

    def work(self) -> Reconciliation:
        """Work off what waits."""
        found = extract(self.services, self.scope)
        return reconcile(self.services, self.scope, found.turns, found.facts, found.claim)

    def records(self, role: str = "memory", status: str | None = "active") -> list[MemoryRecord]:
        """The stored records of a role, in the order of their texts."""
        wanted = {"role": role, **({"status": status} if status else {})}
        items = self.store.search(self.scope.namespace, filter=wanted, limit=1000)
        return sorted((MemoryRecord.model_validate(item.value) for item in items), key=lambda found: found.text)

    def texts(self, role: str = "memory", status: str | None = "active") -> list[str]:
        """The texts of those records."""
        return [found.text for found in self.records(role, status)]


MakePerson = Callable[..., Person]


@pytest.fixture
def clock() -> Clock:
    """A clock at a fixed time."""
    return Clock()


@pytest.fixture(params=["memory", "memory with vectors", "markdown"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseStore]:
    """Any store: one that ranks nothing, one that ranks by vectors, and ours."""
    if request.param == "markdown":
        from langmem_plus.store import MarkdownStore

        with MarkdownStore(tmp_path / "memory", index=None) as ours:
            yield ours
    elif request.param == "memory":
        yield InMemoryStore()
    else:
        embed = BagOfWordsEmbeddings()
        yield InMemoryStore(index={"dims": len(embed.embed_query("x")), "embed": embed, "fields": ["text"]})


@pytest.fixture
def person(store: BaseStore, clock: Clock) -> MakePerson:
    """Makes a person over the store: ``person(model=…, user_id=…, thread_id=…, **settings)``."""

    def make(
        model: BaseChatModel | None = None, user_id: str = "ann@x.org", thread_id: str = "t1", **settings: Any
    ) -> Person:
        services = Services(config=MemoryConfig(**settings), store=store, model=model, clock=clock)
        return Person(services, Scope(user_id, thread_id=thread_id), clock)

    return make
