"""Turns out of what a program hands over."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus.client.said import add_steps, to_message
from langmem_plus.config import MemoryConfig
from langmem_plus.errors import InvalidValueError
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.steps import run_steps
from langmem_plus.services import Services

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ANN = Scope("ann", thread_id="t1")


@pytest.fixture
def services() -> Services:
    """A store and a clock that stands still."""
    return Services(config=MemoryConfig(embeddings="none"), store=InMemoryStore(), clock=lambda: NOW)


def said(content: Any, services: Services) -> list[MemoryRecord]:
    """What was written of a content."""
    return run_steps(add_steps(content, ANN, services), services, services.find_store())


@pytest.mark.parametrize(("role", "kind"), [("user", HumanMessage), ("assistant", AIMessage), ("human", HumanMessage)])
def test_a_message_of_any_role_is_taken_by_its_role(services: Services, role: str, kind: type[BaseMessage]) -> None:
    """LangChain's ChatMessage is what its role says, with all that it carries."""
    spoken = ChatMessage(
        role=role, content="I like tea", id="m1", name="ann", additional_kwargs={"created_at": "2023-05-08"}
    )
    message = to_message(spoken)
    assert type(message) is kind
    (turn,) = said([spoken], services)
    assert (turn.text, turn.source_ids, turn.metadata["name"]) == ("I like tea", ["m1"], "ann")
    assert turn.observed_at == dt.datetime(2023, 5, 8, tzinfo=dt.UTC)


def test_a_message_of_an_unknown_role_is_refused() -> None:
    """Nothing that somebody said is dropped in silence."""
    with pytest.raises(InvalidValueError, match="'narrator' isn't one of user, human, assistant"):
        to_message(ChatMessage(role="narrator", content="Once"))


def test_nothing_is_kept_of_what_nobody_said(services: Services) -> None:
    """System and tool messages, as messages and as dicts, are no turns."""
    silent: list[Any] = [
        SystemMessage("x"),
        ToolMessage("x", tool_call_id="c"),
        ChatMessage(role="system", content="x"),
        {"role": "developer", "content": "x"},
        {"role": "tool", "content": "x"},
    ]
    assert said(silent, services) == []


@pytest.mark.parametrize(
    ("item", "names"),
    [
        ({"role": "user", "content": [5]}, "the part 5 isn't a text or a dict"),
        ({"role": "user", "content": [None]}, "the part None"),
        ({"role": "user", "content": [{"type": "text", "text": 5}]}, "the part {'type': 'text', 'text': 5}"),
        ({"role": "user", "content": 5}, "the content 5 isn't a text or a list"),
        ({"role": ["user"], "content": "x"}, r"the role \['user'\] isn't one of"),
        ({"role": "user", "content": "x", "id": ["a"]}, r"id is \['a'\], a list"),
        ({"role": "user", "content": "x", "name": {}}, "name is {}, a dict"),
        ({"role": "user", "content": "x", "created_at": 10**400}, "created_at=a number of 1329 bits isn't a time"),
        ({"role": "user", "content": "x", "created_at": True}, "created_at=True isn't a time"),
        ({"role": "user", "content": "x", "timestamp": "soon"}, "timestamp='soon' isn't a time"),
        (
            {"role": "user", "text": "I like tea"},
            "has no \"content\", where a message's words stand: it has 'role', 'text'",
        ),
        ({"role": "assistant", "tool_calls": []}, 'has no "content"'),
        ({"role": "user", "content": "x" * 10_000, "created_at": "?"}, "created_at='\\?' isn't a time"),
        (("user", "x"), "isn't a message"),
    ],
)
def test_what_is_no_message_is_one_readable_line(item: Any, names: str) -> None:
    """The error names the value that is wrong and what would be right, and is never longer than one can read."""
    with pytest.raises(InvalidValueError, match=names) as caught:
        to_message(item)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("content", [None, "", [], [{"type": "text", "text": None}]])
def test_what_is_missing_has_no_words(services: Services, content: Any) -> None:
    """A null is nothing that was said, and never the word None."""
    assert said([{"role": "user", "content": content}], services) == []


@pytest.mark.parametrize("field", ["created_at", "timestamp"])
@pytest.mark.parametrize(
    "when", ["2023-05-08T13:56:00Z", 1683554160, 1683554160.0, 1683554160000, "2023-05-08T15:56+02:00"]
)
def test_times_as_programs_write_them(services: Services, when: Any, field: str) -> None:
    """ISO 8601, seconds and milliseconds since 1970, under either name."""
    (turn,) = said([{"role": "user", "content": "x", field: when}], services)
    assert turn.observed_at == dt.datetime(2023, 5, 8, 13, 56, tzinfo=dt.UTC)


def test_a_text_is_stored_byte_for_byte(services: Services) -> None:
    """White space around it is part of what was said."""
    (turn,) = said("  def f():\n      pass\n", services)
    assert turn.text == "  def f():\n      pass\n"


def test_what_is_there_is_not_written_again(services: Services) -> None:
    """Only turns that are new are written, and they are what comes back."""
    messages = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    assert [turn.text for turn in said(messages[:1], services)] == ["one"]
    assert [turn.text for turn in said(messages, services)] == ["two"]
    assert said(messages, services) == []
