"""What clumsy models write is read as what was asked for, and nothing readable is lost."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from pydantic import BaseModel, Field, RootModel

from langmem_plus.prompts import Changes, ExtractedFacts, FactsAndSummary
from langmem_plus.providers.answers import fit, read_message, read_text


class Step(BaseModel):
    """One decision."""

    event: Literal["ADD", "UPDATE", "NONE"]
    id: str | None = None
    text: str
    weight: float = Field(0.5, ge=0, le=1)
    rank: int = 0


class Steps(BaseModel):
    """A list of decisions."""

    steps: list[Step]


class Notes(BaseModel):
    """A list of texts, at most three."""

    notes: list[str] = Field(max_length=3)


class Loose(BaseModel):
    """Everything has a default."""

    notes: list[str] = Field(default_factory=list)
    title: str = ""


class Bare(RootModel[list[Step]]):
    """A list without a name."""


ONE = Steps(steps=[Step(event="ADD", text="tea")])
GOOD = '{"steps": [{"event": "ADD", "text": "tea"}]}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}",
        f"Sure! Here it is:\n\n```JSON\n{GOOD}\n```\nLet me know.",
        f"Here is the answer: {GOOD} I hope that [this] helps.",
        f'<think>Perhaps {{"steps": [{{"event": "NONE", "text": "no"}}]}}?</think>\n{GOOD}',
        f"so I think</think>{GOOD}",
        f"{GOOD}<think>unfinished {{",
        '{"steps": [{"event": "ADD", "text": "tea",},],}',
        "{'steps': [{'event': 'ADD', 'text': 'tea'}]}",
        '{steps: [{event: "ADD", text: "tea"}]}',
        '{"steps": {"event": "ADD", "text": "tea"}}',
        '{"event": "add", "text": "tea"}',
        '[{"event": "Add", "text": "tea"}]',
        '{"Steps": [{"Event": "ADD", "Text": "tea"}]}',
        '{"answer": {"steps": [{"event": "ADD", "text": "tea"}]}}',
        '{"decisions": [{"event": "ADD", "text": "tea"}]}',
        '{"properties": {"steps": [{"event": "ADD", "text": "tea"}]}, "type": "object"}',
        '{"steps": [{"event": "ADD", "text": "tea", "weight": null, "rank": null, "mood": 3}]}',
        '{"steps": [{"event": " add ", "text": {"value": "tea"}}]}',
        '{"steps": [{"event": "ADD", "text": "tea"}, {"event": "EXPLODE", "text": "no"}, {"text": 1}, 7, null]}',
        '{"steps": [{"event": "ADD", "text": "tea"}',
        '{"steps": [{"event": "ADD", "text": "tea"}, {"event": "ADD", "text": "cof',
        '{"steps": [{"event": "ADD", "text": "tea"}, {"eve',
        '[see below] {"steps": [{"event": "ADD", "text": "tea"}]}',
        '{"steps": [\n// the first\n{"event": "ADD", "text": "tea"}]}',
    ],
)
def test_one_decision_is_read(text: str) -> None:
    """Fences, thoughts, prose, small faults, wrong shapes and cut ends all give the one decision that is meant."""
    assert read_text(text, Steps) == ONE


def test_numbers_and_texts_change_places() -> None:
    """An id may come as a number, a number as text; what is out of bounds is moved to the bound."""
    text = '{"steps": [{"event": "NONE", "id": 3, "text": 42, "weight": "0.8 (high)", "rank": "no. 2"}]}'
    assert read_text(text, Steps) == Steps(steps=[Step(event="NONE", id="3", text="42", weight=0.8, rank=2)])
    assert read_text('{"steps": [{"event": "ADD", "text": "x", "weight": 7, "rank": 1.6}]}', Steps) == Steps(
        steps=[Step(event="ADD", text="x", weight=1.0, rank=1)]
    )


def test_objects_in_a_row_are_a_list() -> None:
    """One object a line, or one tool call an item, is the whole list and not its longest item."""
    lines = '{"event": "ADD", "text": "a"}\n{"event": "ADD", "text": "bb"}'
    answer = read_text(lines, Steps)
    assert answer is not None and [step.text for step in answer.steps] == ["a", "bb"]
    calls: list[Any] = [
        {"name": "Steps", "args": {"steps": [{"event": "ADD", "text": text}]}, "id": text} for text in ("a", "bb")
    ]
    answer = read_message(AIMessage("", tool_calls=calls), Steps)
    assert answer is not None and [step.text for step in answer.steps] == ["a", "bb"]


def test_items_may_be_bare() -> None:
    """A text where an object is wanted fills its main field, an object where a text is wanted gives its one text."""
    assert read_text('["a", {"note": "b"}, 3]', Notes) == Notes(notes=["a", "b", "3"])
    assert read_text('{"notes": "a"}', Notes) == Notes(notes=["a"])
    assert read_text('{"notes": null}', Notes) == Notes(notes=[])
    assert read_text('{"notes": ["a", "b", "c", "d"]}', Notes) == Notes(notes=["a", "b", "c"])
    assert read_text('{"event": "ADD", "text": "tea"}', Bare) == Bare([Step(event="ADD", text="tea")])


@pytest.mark.parametrize("text", ["", "I found nothing.", "{", "[[[[", '{"steps', "null", "42", '"tea"', "<think>hm"])
def test_prose_is_unreadable(text: str) -> None:
    """What holds no answer is unreadable: never an empty list, which would mean 'nothing there'."""
    assert read_text(text, Steps) is None
    assert read_text(text, Loose) is None


def test_an_error_is_not_an_empty_answer() -> None:
    """An object of another kind isn't taken for an answer of defaults, nor a list of which no item fits."""
    assert read_text('{"error": {"message": "overloaded"}}', Loose) is None
    assert read_text('{"steps": [{"foo": 1}, {"bar": 2}]}', Steps) is None
    assert read_text('{"type": "object", "properties": {"steps": {"type": "array"}}}', Steps) is None
    assert read_text('{"steps": []}', Steps) == Steps(steps=[])
    assert read_text("[]", Steps) == Steps(steps=[])


def test_a_cut_list_keeps_its_whole_items() -> None:
    """An answer that hit its length limit keeps what was finished; half a sentence is never taken for a fact."""
    text = '{"notes": ["The user lives in Lyon.", "The user\'s wife is na'
    assert read_text(text, Notes) == Notes(notes=["The user lives in Lyon."])
    assert read_text('{"notes": ["The user\'s wife is na', Notes) is None


def test_broken_arguments_are_read() -> None:
    """A tool call whose arguments aren't JSON is read tolerantly; without one the text counts."""
    broken: list[Any] = [{"name": "Steps", "args": GOOD[:-1] + ",", "id": "1", "error": "x"}]
    assert read_message(AIMessage("", invalid_tool_calls=broken), Steps) == ONE
    assert read_message(AIMessage(f"No tool, but {GOOD}"), Steps) == ONE
    blocks: list[str | dict[Any, Any]] = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": GOOD}]
    assert read_message(AIMessage(blocks), Steps) == ONE


def test_our_own_answers_are_read() -> None:
    """The answers that this package asks for are read from a small model's style."""
    facts = read_text(
        'Here you go:\n```\n{"facts": ["The user has a dog.", {"fact": "Named Rex."},]}\n```', ExtractedFacts
    )
    assert facts is not None and [fact.text for fact in facts.facts] == ["The user has a dog.", "Named Rex."]
    changes = read_text('{"event": "update", "fact": "A", "memory_id": "1"}', Changes)
    assert changes is not None and (changes.changes[0].event, changes.changes[0].id) == ("UPDATE", 1)


def test_the_value_is_not_changed() -> None:
    """Mending works on a copy."""
    value = {"steps": [{"event": "add", "text": 1}]}
    assert fit(value, Steps) == Steps(steps=[Step(event="ADD", text="1")])
    assert value == {"steps": [{"event": "add", "text": 1}]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["steps", "event", "text", "id", "x"]) | st.text(max_size=4), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=300)
@given(value=JSON)
def test_any_json_is_read_or_refused(value: Any) -> None:
    """Whatever JSON comes, the result is a valid answer or None, never an exception."""
    for schema in (Steps, Notes, Loose, Bare):
        answer = fit(value, schema)
        assert answer is None or schema.model_validate(answer.model_dump()) == answer


@settings(deadline=None, max_examples=300)
@given(text=st.text(alphabet='{}[]",:\\abc1 \n`', max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever text comes, nothing is raised."""
    assert read_text(text, Notes) is None or isinstance(read_text(text, Notes), Notes)


def test_long_texts_are_read_in_linear_time() -> None:
    """A megabyte of prose, of brackets, of thoughts or of quotes is no reason to hang."""
    for text in ("[{" * 500_000, "word " * 200_000, "<think>" + "hm " * 300_000, '{"notes": [' + "it's " * 200_000):
        assert read_text(text, Steps) is None
    assert read_text("word " * 200_000 + GOOD, Steps) == ONE
    many = '{"notes": [' + '"x", ' * 100_000
    assert len(read_text(many, Loose).notes) == 100_000  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        '["The user likes tea."]',
        '{"text": "The user likes tea."}',
        '[{"text": "The user likes tea.", "event": "add"}]',
        '{"facts": [{"text": "The user likes tea."}], "summary": []}',
    ],
)
def test_of_several_lists_an_item_belongs_to_the_one_that_must_be_there(text: str) -> None:
    """An answer with facts and an optional summary, of which only the facts were written."""
    answer = read_text(text, FactsAndSummary)
    assert answer is not None
    assert ([fact.text for fact in answer.facts], answer.summary) == (["The user likes tea."], [])
