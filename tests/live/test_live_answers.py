"""Structured answers from a real server and a small model, in each way of asking."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, SystemMessage
from pydantic import BaseModel

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ModelAnswerError
from langmem_plus.prompts import (
    Changes,
    ExtractedFacts,
    Summary,
    render_extraction,
    render_reconciliation,
    render_summary,
)
from langmem_plus.providers import chat, make_chat_model
from langmem_plus.providers.chat import METHODS, astructured, structured
from langmem_plus.records import Fact, MemoryRecord, utc_now
from langmem_plus.remember.decide import decide_by_answer

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

EVENTS = {"ADD", "UPDATE", "DELETE", "NONE"}


def known(text: str) -> MemoryRecord:
    """A fact that is stored already."""
    return MemoryRecord(id=text, text=text, user_id="alice", created_at=utc_now())


def new(text: str, ordinal: int) -> Fact:
    """A fact that was just said."""
    return Fact(text=text, source_id="turn", ordinal=ordinal, observed_at=utc_now())


KNOWN = [known("The user lives in Paris."), known("The user likes tea.")]
NEW = [new("The user lives in Lyon.", 0), new("The user likes tea.", 1)]
REQUESTS: dict[str, tuple[list[BaseMessage], type[BaseModel]]] = {
    "facts": (render_extraction("I live in Lyon and my dog is called Rex.", max_facts=3), ExtractedFacts),
    "no facts": (render_extraction("Thanks, that's all!", max_facts=3), ExtractedFacts),
    "changes": (render_reconciliation([fact.text for fact in NEW], KNOWN), Changes),
    "summary": (render_summary([], [], [("user", "I live in Lyon."), ("assistant", "Nice!")], max_items=5), Summary),
}


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A way of asking, which is then the only one."""
    monkeypatch.setattr(chat, "METHODS", (request.param,))
    name: str = request.param
    return name


def ask(model: Any, request: str) -> BaseModel | None:
    """The answer; None where it couldn't be read twice, which is the one failure that a clumsy model may cause."""
    messages, schema = REQUESTS[request]
    try:
        answer = structured(model, messages, schema)
    except ModelAnswerError as error:
        assert schema.__name__ in str(error)
        return None
    assert isinstance(answer, schema)
    return answer


@pytest.mark.parametrize("request_name", REQUESTS)
def test_every_way_of_asking_reaches_the_server(server: Any, method: str, request_name: str) -> None:
    """An answer has the type that was asked for, or is refused with the one error that says so; the server accepts each
    way of asking."""
    ask(server.chat(), request_name)


def test_a_schema_is_obeyed(server: Any) -> None:
    """The server keeps even a small model to the schema, so that its answers are read at once, and the best way of
    asking is the one that is remembered."""
    model = server.chat()
    assert all(ask(model, name) is not None for name in REQUESTS)
    assert chat._known_method(model) == METHODS[0]


def test_decisions_come_from_the_events_alone(server: Any, method: str) -> None:
    """Whatever the model says, every new fact has one decision, and a memory that is named is one that was listed."""
    answer = ask(server.chat(), "changes")
    decisions = decide_by_answer(NEW, KNOWN, answer).decisions if isinstance(answer, Changes) else []
    assert {decision.event for decision in decisions} <= EVENTS
    assert {decision.target for decision in decisions} <= {None, *(record.id for record in KNOWN)}
    told = [decision.fact.key for decision in decisions if decision.fact]
    assert len(told) == len(set(told)) and (answer is None or set(told) == {fact.key for fact in NEW})


@pytest.mark.parametrize("temperature", [0.7, 1.5])
@pytest.mark.parametrize("request_name", ["facts", "changes"])
def test_a_clumsy_answer_is_read_or_refused(
    server: Any, monkeypatch: pytest.MonkeyPatch, temperature: float, request_name: str
) -> None:
    """Without a schema on the wire, told to write fences and prose, a hot model's answer is read or refused."""
    monkeypatch.setattr(chat, "METHODS", ("text",))
    messages, schema = REQUESTS[request_name]
    clumsy = [SystemMessage(messages[0].text + "\nExplain first, then answer in a ```json code fence."), *messages[1:]]
    monkeypatch.setitem(REQUESTS, "clumsy", (clumsy, schema))
    for seed in range(3):
        ask(server.chat(temperature=temperature, seed=seed), "clumsy")


@pytest.mark.parametrize("tokens", [1, 12, 40])
def test_an_answer_that_is_cut_off(server: Any, method: str, tokens: int) -> None:
    """Where the server stops in the middle of the JSON, what is complete is read, or the answer is refused."""
    ask(server.chat(max_tokens=tokens), "facts")


async def test_several_requests_at_once(server: Any) -> None:
    """Threads and tasks share one model and one server, more of them than it has places, and each gets its answer."""
    model = server.chat()
    with ThreadPoolExecutor(3) as pool:
        from_threads = [pool.submit(ask, model, name) for name in REQUESTS]
        messages, schema = REQUESTS["no facts"]
        answers = await asyncio.gather(*(astructured(model, messages, schema) for _ in range(4)))
        assert all(isinstance(answer, schema) for answer in answers)
        assert all(future.result() is not None for future in from_threads)


def test_a_named_model_is_built_for_the_server(server: Any) -> None:
    """``openai:name`` with ``base_url`` asks the server, without a key in the environment."""
    model = make_chat_model(f"openai:{server.name}", MemoryConfig(base_url=server.url))
    assert model is not None and ask(model, "no facts") is not None
