"""Stores that the write path runs over, and a clock that stands where a test puts it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.prompts import Changes, ExtractedFacts, PlacedFact, PlacedFacts, fact_label
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.extract import extract
from langmem_plus.remember.reconcile import Reconciliation, reconcile
from langmem_plus.remember.record import record, user_turn
from langmem_plus.services import Services
from langmem_plus.testing import BagOfWordsEmbeddings, ScriptedChatModel

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
        return reconcile(self.services, self.scope, found.turns, found.facts, found.claim, found.draft)

    def records(self, role: str = "memory", status: str | None = "active") -> list[MemoryRecord]:
        """The stored records of a role, in the order of their texts."""
        wanted = {"role": role, **({"status": status} if status else {})}
        items = self.store.search(self.scope.namespace, filter=wanted, limit=1000)
        return sorted((MemoryRecord.model_validate(item.value) for item in items), key=lambda found: found.text)

    def texts(self, role: str = "memory", status: str | None = "active") -> list[str]:
        """The texts of those records."""
        return [found.text for found in self.records(role, status)]


MakePerson = Callable[..., Person]


def placed(facts: ExtractedFacts, changes: Changes | None = None) -> PlacedFacts:
    """What two answers say, in one: the facts, and what happens to them."""
    items = {
        fact_label(place): PlacedFact(turn="A", **fact.model_dump(exclude={"keep"}))
        for place, fact in enumerate(facts.facts)
    }
    deletions = []
    for change in changes.changes if changes else ():
        if change.fact in items:
            items[change.fact] = items[change.fact].model_copy(update={"event": change.event, "id": change.id})
        else:
            deletions.append(PlacedFact(turn="A", text="something known", event=change.event, id=change.id))
    return PlacedFacts(facts=[*items.values(), *deletions])


class _Answers:
    """Answers in order; where everything is asked at once, facts and the changes after them are one answer."""

    def __init__(self, answers: Sequence[Any], then: Any) -> None:
        self.answers = list(answers)
        self.then = then

    def __call__(self, messages: Sequence[BaseMessage]) -> Any:
        """The next answer."""
        answer = self.answers.pop(0) if self.answers else self.then
        if isinstance(answer, Exception):
            raise answer
        together = "<turn>" in messages[-1].text and "<memories>" in messages[-1].text
        if together and isinstance(answer, ExtractedFacts):
            follows = self.answers and isinstance(self.answers[0], Changes)
            return placed(answer, self.answers.pop(0) if follows else None)
        return answer


@pytest.fixture(params=["apart", "together"])
def way(request: pytest.FixtureRequest) -> str:
    """How a model is asked for facts and decisions: one after the other, or at once."""
    return str(request.param)


@pytest.fixture
def script() -> Callable[..., ScriptedChatModel]:
    """Makes a model that answers in this order, whichever way it is asked: ``script(*answers, then=…)``."""

    def make(*answers: Any, then: Any = None) -> ScriptedChatModel:
        return ScriptedChatModel(then=_Answers(answers, then))

    return make


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
def person(request: pytest.FixtureRequest, store: BaseStore, clock: Clock) -> MakePerson:
    """Makes a person over the store: ``person(model=…, user_id=…, thread_id=…, **settings)``."""
    together = "way" in request.fixturenames and request.getfixturevalue("way") == "together"

    def make(
        model: BaseChatModel | None = None, user_id: str = "ann@x.org", thread_id: str = "t1", **settings: Any
    ) -> Person:
        settings.setdefault("combine", together)
        services = Services(config=MemoryConfig(**settings), store=store, model=model, clock=clock)
        return Person(services, Scope(user_id, thread_id=thread_id), clock)

    return make
