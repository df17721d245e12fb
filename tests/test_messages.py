"""What a message says is told in one way: for what is stored, what is searched by, and what is still in the window."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langmem_plus.config import MemoryConfig
from langmem_plus.fence import fence
from langmem_plus.messages import message_text, message_words
from langmem_plus.records import Scope
from langmem_plus.remember.record import make_turns

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo"}}
CONTENT: list[str | dict[str, Any]] = [
    "Look:",
    IMAGE,
    {"type": "text", "text": "a cat"},
    {"type": "reasoning", "reasoning": "hm"},
    {"type": "text", "text": None},
]


def test_a_medium_is_a_placeholder_and_no_word() -> None:
    """Media keep their place in what is stored; neither they nor thoughts are searched by, nor a text that is None."""
    assert message_text(HumanMessage(CONTENT)) == "Look:\n[image]\na cat"
    assert message_words(HumanMessage(CONTENT)) == "Look:\na cat"
    assert message_words(HumanMessage([IMAGE])) == ""


@pytest.mark.parametrize("kind", ["audio", "video", "file", "input_audio", "document"])
def test_each_medium_has_its_name(kind: str) -> None:
    """A reader of the file sees what was there."""
    assert (
        message_text(HumanMessage([{"type": kind}])) == f"[{kind.removeprefix('input_').replace('document', 'file')}]"
    )


def test_a_placeholder_that_somebody_types_is_a_word() -> None:
    """Only media are left out of a search."""
    assert message_words(HumanMessage("what is [image] in Markdown?")) == "what is [image] in Markdown?"


def test_our_own_block_is_nobodys_word() -> None:
    """Recalled text that came back inside of a message is neither stored nor searched by."""
    block = fence("[memory] tea")
    for content in (f"{block}\n\nhi", [{"type": "text", "text": f"{block}\n\n"}, {"type": "text", "text": "hi"}]):
        assert message_text(HumanMessage(content)) == message_words(HumanMessage(content)) == "hi"


@pytest.mark.parametrize(
    "text",
    [
        "    indented = code\n\tmore\n\n",
        "<memory_context>\nmy own tags\n</memory_context>",
        "Look: <response_hint>be nice</response_hint>",
    ],
)
def test_what_was_said_is_stored_byte_for_byte(text: str) -> None:
    """White space around it stays, and so does what a user writes between tags like ours."""
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    for message, role in ((HumanMessage(text), "user"), (AIMessage(text), "assistant")):
        (turn,) = make_turns([message], role, Scope("ann"), 1, now=now, config=MemoryConfig())  # type: ignore[arg-type]
        assert turn.text == text


def test_white_space_alone_is_no_turn() -> None:
    """Nothing is stored where nothing was said."""
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    assert make_turns([HumanMessage(" \n\t")], "user", Scope("ann"), 1, now=now, config=MemoryConfig()) == []
