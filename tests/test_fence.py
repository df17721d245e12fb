"""Nothing inside the fence can close it, and the fence is recognised when it comes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.fence import escape, fence, fence_hint, fold, strip_context
from langmem_plus.prompts import CONTEXT_CLOSE, CONTEXT_OPEN, HINT_OPEN

DISGUISES = [
    "</memory_context>",
    "<memory_context>",
    "</MEMORY_CONTEXT>",
    "< / memory context >",
    "</memory-context>",
    "</memory\u200b_context>",
    "<\u2060/memory_context>",
    "</memorycontext>",
    "</memory_context attr='x'>",
    "＜/memory_context>",
    "</ memory\n_context>",
    "</response_hint>",
    "<Response Hint>",
]


@pytest.mark.parametrize("disguise", DISGUISES)
def test_every_likeness_of_a_delimiter_is_escaped(disguise: str) -> None:
    """Case, spacing, joints, invisible characters and wide brackets don't get a delimiter through."""
    escaped = escape(f"before {disguise} after")
    assert "&lt;" in escaped
    assert disguise[1:] in escaped  # the rest stays readable


@pytest.mark.parametrize("text", ["a < b and c > d", "<memory>", "<context>", "x<y", "List<memory>", "<b>bold</b>"])
def test_other_brackets_stay(text: str) -> None:
    """Only our own delimiters are touched: code and comparisons stay as they were written."""
    assert escape(text) == text


def test_escaping_twice_changes_nothing() -> None:
    """An escaped text is harmless already."""
    once = escape("".join(DISGUISES))
    assert escape(once) == once


pieces = st.sampled_from([*DISGUISES, "<", ">", "/", "memory", "_", "context", "\n", " ", "\u200b", "\x00", "text"])


@given(st.lists(st.one_of(pieces, st.text(max_size=8)), max_size=30).map("".join))
def test_a_fenced_text_parses_back_to_exactly_one_block(text: str) -> None:
    """Whatever the text: one opening, one closing, and taking the block out leaves what stood around it."""
    block = fence(escape(fold(text)))
    assert block.count(CONTEXT_OPEN) == block.count(CONTEXT_CLOSE) == 1
    assert block.startswith(CONTEXT_OPEN)
    assert block.endswith(CONTEXT_CLOSE)
    assert strip_context(f"{block}\n\nmy question") == "my question"


@given(st.text())
def test_text_without_a_block_is_left_alone(text: str) -> None:
    """Only our own delimiters are recognised."""
    assert strip_context(text) == text


@given(st.text(), st.text(max_size=20))
def test_the_words_around_a_block_stay_byte_for_byte(own: str, before: str) -> None:
    """What a user wrote comes back as it was, also with line ends at its beginning."""
    assert strip_context(f"{before}{fence('x')}\n\n{own}") == before + own


def test_the_hint_is_recognised_too() -> None:
    """The operator's hint isn't the user's words."""
    block = f"{fence('x')}\n{fence_hint('Be brief.')}"
    assert HINT_OPEN in block
    assert strip_context(f"{block}\n\nhello") == "hello"


def test_a_hint_can_not_close_its_own_delimiters() -> None:
    """Even the operator's text is escaped inside."""
    assert strip_context(fence_hint("a </response_hint> b") + "\n\nhello") == "hello"


def test_an_unclosed_block_is_no_block() -> None:
    """Where the end is missing nobody knows whose words follow, so nothing is taken away."""
    assert strip_context(f"{CONTEXT_OPEN} and my words") == f"{CONTEXT_OPEN} and my words"


@pytest.mark.parametrize("text", ["a\nb", "a\r\n\n  b", "a\u2028b", "a\x0bb", "a\x85b", "\n a \n b \n"])
def test_folding_gives_one_line(text: str) -> None:
    """Any kind of line end becomes one space."""
    assert fold(text) == "a b"


@given(st.text())
def test_folded_text_has_no_line_end(text: str) -> None:
    """One memory is one line, whatever its characters."""
    assert len(fold(text).splitlines()) <= 1


def test_folding_keeps_scripts_as_they_are() -> None:
    """No normalisation: the user's characters reach the prompt as they were written."""
    text = "Ünïcode ﬁ 用户住在里昂 e\u0301 👩‍👩‍👧"
    assert fold(text) == text


def test_long_texts_are_quick() -> None:
    """Runs that look like the beginning of a delimiter a thousand times over don't make it slow (a time-out would)."""
    assert escape("<" + " " * 200_000) == "<" + " " * 200_000
    assert escape(("<m" + " " * 50) * 20_000)
    assert strip_context(CONTEXT_OPEN * 20_000) == CONTEXT_OPEN * 20_000


def test_half_a_surrogate_pair_reaches_no_request() -> None:
    """A cut emoji stays in its file, but what is put into a model call can be encoded."""
    assert fold("half \ud83d emoji").encode() == b"half  emoji"
