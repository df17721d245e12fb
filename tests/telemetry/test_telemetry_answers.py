"""Whether an answer used a memory: an estimate by words that says no to what the question had already."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.config import MemoryConfig
from langmem_plus.recall.inject import build_context
from langmem_plus.records import MemoryHit, MemoryRecord, utc_now
from langmem_plus.telemetry import injected_memories, uses_memory
from langmem_plus.text import tokens

DOG = "My dog is called Rex."
LONG = (
    "On Monday I went to the market with my sister, bought apples, pears and cheese, and met Anna, who told me that "
    "she has left the bank and works for a newspaper in Berlin now."
)
WORDS = st.lists(st.sampled_from(("tea", "green", "market", "sister", "apple", "cheese", "dog", "42")), max_size=6)
TEXTS = WORDS.map(" ".join)


@pytest.mark.parametrize(
    ("answer", "question", "memories", "used"),
    [
        ("Rex!", "What is my dog called?", [DOG], True),
        ("Your dog is called Rex.", "What is my dog called?", [LONG, DOG], True),
        ("I don't know what your dog is called.", "What is my dog called?", [DOG], False),
        ("Anna works in Berlin.", "Where does Anna work?", [LONG], True),
        ("She works for a big company, I think.", "Where does Anna work?", [LONG], False),
        ("How about some green tea?", "What shall I drink?", ["I like green tea."], True),
        ("How about a coffee?", "What shall I drink?", ["I like green tea."], False),
        ("The code is 4711.", "What is the code?", ["The code of the garage door at the old house is 4711."], True),
        ("北京大学", "我在哪里读书?", ["我在北京大学读书。"], True),
        ("天気がいいですね", "我在哪里读书?", ["我在北京大学读书。"], False),
        ("", "What is my dog called?", [DOG], False),
        ("Rex!", "What is my dog called?", [], False),
    ],
)
def test_what_counts_as_a_use(answer: str, question: str, memories: list[str], used: bool) -> None:
    """A name or a number that only the memory has, or half of the words that the question doesn't have."""
    assert uses_memory(answer, question, memories) is used


@given(question=TEXTS, memories=st.lists(TEXTS, max_size=3))
def test_repeating_the_question_is_no_use(question: str, memories: list[str]) -> None:
    """Whatever is remembered, who only says again what was asked has used nothing."""
    assert not uses_memory(question, question, memories)


@given(question=TEXTS, memory=TEXTS)
def test_quoting_a_memory_is_a_use(question: str, memory: str) -> None:
    """Wherever the memory says more than the question."""
    assert uses_memory(memory, question, [memory]) is bool(set(tokens(memory)) - set(tokens(question)))


@given(answer=TEXTS, question=TEXTS, memories=st.lists(TEXTS, max_size=3), more=TEXTS)
def test_another_memory_takes_nothing_away(answer: str, question: str, memories: list[str], more: str) -> None:
    """What used one memory uses it beside others, in any order."""
    before = uses_memory(answer, question, memories)
    assert uses_memory(answer, question, [more, *reversed(memories)]) >= before


@given(texts=st.lists(TEXTS.filter(bool), min_size=1, max_size=4, unique=True))
def test_the_memories_are_read_back_out_of_the_context(texts: list[str]) -> None:
    """What was injected is what is compared, without its role, its date and its source."""
    now = utc_now()
    times = dict.fromkeys(("created_at", "updated_at", "observed_at"), now)
    records = [
        MemoryRecord(id=f"id-{place}", role="memory", text=text, user_id="alice", **times)
        for place, text in enumerate(texts)
    ]
    hits = [MemoryHit(record=record) for record in records]
    context, _ = build_context(hits, None, MemoryConfig())
    assert sorted(injected_memories(context)) == sorted(texts)
