"""One question for facts, decisions and summary: what it asks, whose facts they are, what is left when it fails."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.config import MemoryConfig
from langmem_plus.prompts import (
    ExtractedFact,
    ExtractedFacts,
    FactsAndSummary,
    PlacedFact,
    PlacedFacts,
    Summary,
    SummaryPoint,
)
from langmem_plus.records import Decision, Fact, MemoryRecord
from langmem_plus.remember.combine import groups, read_answer
from langmem_plus.remember.draft import SummaryDraft, decide_by_proposal
from langmem_plus.remember.extract import aextract, extract
from langmem_plus.remember.points import read_points
from langmem_plus.remember.reconcile import areconcile, reconcile
from langmem_plus.remember.sentences import own_words
from langmem_plus.remember.summarize import Work, summarize
from langmem_plus.speakers import Voice
from langmem_plus.testing import ScriptedChatModel
from langmem_plus.tokens import counter


def facts(*texts: str) -> ExtractedFacts:
    """What a model answers that is asked for facts alone."""
    return ExtractedFacts(facts=[ExtractedFact(text=text) for text in texts])


def placed(*items: tuple[Any, ...]) -> PlacedFacts:
    """What a model answers: a letter, a text, and, where it isn't ADD, an event and a number."""
    return PlacedFacts(
        facts=[PlacedFact(**dict(zip(("turn", "text", "event", "id"), each, strict=False))) for each in items]
    )


def turn(text: str, number: int = 1, **fields: Any) -> MemoryRecord:
    """A turn that waits."""
    usual = {"thread_id": "t1", "metadata": {"turn": number}}
    return MemoryRecord(
        id=f"turn {number}", role="user", text=text, user_id="u", extracted=False, **{**usual, **fields}
    )


def work(ann: Any) -> tuple[Any, Any]:
    """The whole background run."""
    found = extract(ann.services, ann.scope)
    result = reconcile(ann.services, ann.scope, found.turns, found.facts, found.claim, found.draft)
    summarize(ann.services, ann.scope, Work(found.turns, found.facts, result.decisions, found.draft))
    return found, result


# what is asked


def test_one_call_holds_facts_decisions_and_the_summary(person: Any) -> None:
    """The first turn asks for facts alone, because nothing is known yet."""
    both = FactsAndSummary(
        facts=[PlacedFact(turn="A", text="The user moved to Lyon.", event="UPDATE", id=0)],
        summary=[SummaryPoint(text="The user lives in Lyon.")],
    )
    model = ScriptedChatModel([facts("The user lives in Paris."), both])
    ann = person(model, combine=True, summary_refresh_turns=2)
    for text in ("I live in Paris.", "I moved to Lyon."):
        ann.tell(text)
        work(ann)
    assert len(model.calls) == 2
    assert "<memories>" not in model.calls[0].text
    assert "0: The user lives in Paris." in model.calls[1].messages[-1].text
    assert ann.texts() == ["The user moved to Lyon."]
    assert ann.texts(status="superseded") == ["The user lives in Paris."]
    assert ann.texts("summary") == ["- The user lives in Lyon."]
    assert all(record.extracted for record in ann.records("user"))


def test_turns_that_wait_are_one_call_and_each_fact_is_its_turns(person: Any) -> None:
    """A letter that is missing or wrong is made good by what the turns say."""
    answer = placed(("A", "The user likes tea."), ("A", "The user owns a boat."), (None, "The user plays chess."))
    model = ScriptedChatModel([answer])
    ann = person(model, combine=True)
    for text in ("I like tea.", "I own a boat.", "I play chess."):
        ann.tell(text)
    work(ann)
    assert len(model.calls) == 1
    sources = {record.source_ids[0]: record.text for record in ann.records()}
    said = {record.id: record.text for record in ann.records("user")}
    assert {said[source]: text for source, text in sources.items()} == {
        "I like tea.": "The user likes tea.",
        "I own a boat.": "The user owns a boat.",
        "I play chess.": "The user plays chess.",
    }


def test_a_neighbourhood_of_none_shows_nothing(person: Any) -> None:
    """Then nothing is compared, and the short question is asked."""
    model = ScriptedChatModel([facts("The user lives in Paris."), facts("The user moved to Lyon.")])
    ann = person(model, combine=True, neighbourhood=0)
    ann.say("I live in Paris.")
    ann.say("I moved to Lyon.")
    assert len(model.calls) == 2
    assert len(ann.texts()) == 2


@given(
    st.lists(st.tuples(st.sampled_from(["t1", "t2", None]), st.integers(0, 60)), max_size=12),
    st.integers(1, 5),
    st.integers(1, 80),
)
def test_turns_are_grouped_in_order_within_bounds(said: list[tuple[str | None, int]], most: int, limit: int) -> None:
    """Of one thread, no more than may be, and together no longer than one turn may be; none is lost."""
    config = MemoryConfig(turns_per_call=most, user_max_tokens=limit)
    turns = [turn("tea " * length, place, thread_id=thread) for place, (thread, length) in enumerate(said)]
    found = groups(turns, config)
    assert [each for group in found for each in group] == turns
    tokens = counter(config)
    for group in found:
        assert 1 <= len(group) <= most
        assert len({each.thread_id for each in group}) == 1
        assert len(group) == 1 or sum(tokens.count(own_words(each.text)) for each in group) <= limit


# what is left of an answer


def test_what_no_turn_says_is_dropped_and_reported() -> None:
    """It belongs to nobody."""
    found = read_answer(
        [turn("I like tea.", 1), turn("I own a boat.", 2)], [], placed(("B", "The user has 4 cats.")), MemoryConfig()
    )
    assert [drawn.facts for drawn, _ in found.values()] == [[], []]
    assert "without support" in found["turn 2"][0].warnings[0]


def test_a_deletion_alone_is_left_undone(person: Any) -> None:
    """Nobody asked to forget, and nothing replaces it."""
    answers = [
        facts("The user works at Acme."),
        placed(("A", "The user works at Acme.", "DELETE", 0), ("A", "The user likes tea.")),
    ]
    ann = person(ScriptedChatModel(answers), combine=True)
    ann.say("I work at Acme.")
    ann.say("I like tea.")
    assert ann.texts() == ["The user likes tea.", "The user works at Acme."]


def test_a_deletion_fulfils_the_request_that_it_belongs_to() -> None:
    """What was asked isn't stored, and `decide` judges whether the memory is meant."""
    said = turn("Forget about my job. Forget about my boat.")
    shown = [MemoryRecord(id=text, text=text, user_id="u") for text in ("I own a boat", "I work at Acme")]
    answer = placed(("A", "about my boat", "DELETE", 0), ("A", "about my job", "DELETE", 1))
    drawn, proposal = read_answer([said], shown, answer, MemoryConfig())[said.id]
    keys = {fact.text: fact.key for fact in drawn.facts}
    assert [(each.fact, each.number) for each in proposal.changes] == [
        (keys["my boat."], 0),
        (keys["my job."], 1),
    ]
    decided = decide_by_proposal(drawn.facts, proposal, shown, []).decisions
    assert {(decision.event, decision.target) for decision in decided} == {
        ("DELETE", "I own a boat"),
        ("DELETE", "I work at Acme"),
    }


@pytest.mark.parametrize("noise", ["I can't do that.", "", "{}"])
def test_an_unreadable_answer_is_asked_for_again_and_then_gives_way_to_rules(person: Any, noise: str) -> None:
    """Every fact is added, nothing is retired, and the report says why."""
    model = ScriptedChatModel([facts("The user lives in Paris.")], then=noise)
    ann = person(model, combine=True)
    ann.say("I live in Paris.")
    ann.tell("I moved to Lyon.")
    found, result = work(ann)
    assert ann.texts() == ["I moved to Lyon.", "The user lives in Paris."]
    assert found.report.counts["turns_by_rules"] == 1
    assert "fell back to rules" in found.report.warnings[0]
    assert [decision.by for decision in result.decisions] == ["fallback"]
    assert "added everything" in result.report.warnings[0]


@pytest.mark.parametrize("text", ["I live in Paris.", "Ich wohne in Berlin.", "Vivo en Madrid."])
def test_the_first_turn_of_a_model_that_cant_be_read_costs_one_call_more(person: Any, text: str) -> None:
    """Nothing is known of the model yet, and the ways to ask it aren't tried out on one turn."""
    model = ScriptedChatModel(then="Let me think.")
    ann = person(model, combine=True)
    ann.say(text)
    assert (len(model.calls), ann.texts()) == (2, [text])


def test_a_model_that_is_down_leaves_the_turn_waiting(person: Any) -> None:
    """As where it is asked for facts alone."""
    ann = person(ScriptedChatModel([facts("The user likes tea.")], then=ConnectionError("down")), combine=True)
    ann.say("I like tea.")
    ann.tell("I like jazz.")
    with pytest.raises(ConnectionError):
        work(ann)
    assert [record.extracted for record in ann.records("user")] == [False, True]


def test_turns_of_a_call_that_fails_are_tried_one_by_one(person: Any) -> None:
    """A model that refuses one of them takes the others."""

    def answer(messages: Any) -> Any:
        asked = messages[-1].text
        if "bomb" in asked:
            raise ValueError("content filter")
        return facts("The user likes tea.") if "tea" in asked else facts("The user owns a boat.")

    ann = person(ScriptedChatModel(then=answer, methods=("json_schema",)), combine=True)
    for text in ("I like tea.", "I watched a film about a bomb.", "I own a boat."):
        ann.tell(text)
    found, _ = work(ann)
    assert ann.texts() == ["The user likes tea.", "The user owns a boat."]
    assert found.report.counts["turns_left"] == 1


def test_an_answer_about_several_turns_that_cannot_be_read_is_asked_for_turn_by_turn(person: Any) -> None:
    """A small model may manage one at a time."""

    def answer(messages: Any) -> Any:
        asked = messages[-1].text if "<turn>" in messages[-1].text else str(messages)
        if "boat" in asked and "tea" in asked:
            return "I can't."
        return facts("The user likes tea.") if "tea" in asked else facts("The user owns a boat.")

    ann = person(ScriptedChatModel(then=answer), combine=True)
    for text in ("I like tea.", "I own a boat."):
        ann.tell(text)
    found, _ = work(ann)
    assert ann.texts() == ["The user likes tea.", "The user owns a boat."]
    assert found.report.warnings == []


def test_an_outage_is_not_tried_turn_by_turn(person: Any) -> None:
    """Nothing would fare better."""
    model = ScriptedChatModel(then=ConnectionError("down"))
    ann = person(model, combine=True)
    for text in ("I like tea.", "I own a boat."):
        ann.tell(text)
    with pytest.raises(ConnectionError):
        work(ann)
    assert len(model.calls) == 1


def test_what_was_edited_since_it_was_shown_is_left_as_it_is(person: Any) -> None:
    """The decision was about other words."""
    answers = [facts("The user lives in Paris."), placed(("A", "The user moved to Lyon.", "UPDATE", 0))]
    ann = person(ScriptedChatModel(answers), combine=True)
    ann.say("I live in Paris.")
    ann.tell("I moved to Lyon.")
    found = extract(ann.services, ann.scope)
    (record,) = ann.records()
    edited = record.model_copy(update={"text": "The user lives in Paris with Anne."})
    ann.store.put(ann.scope.namespace, record.id, edited.to_value())
    reconcile(ann.services, ann.scope, found.turns, found.facts, found.claim, found.draft)
    assert ann.texts() == ["The user lives in Paris with Anne.", "The user moved to Lyon."]


async def test_combining_is_the_same_in_async(person: Any) -> None:
    """The same steps under another driver."""
    answers = [facts("The user lives in Paris."), placed(("A", "The user moved to Lyon.", "UPDATE", 0))]
    ann = person(ScriptedChatModel(answers), combine=True)
    for text in ("I live in Paris.", "I moved to Lyon."):
        ann.tell(text)
        found = await aextract(ann.services, ann.scope)
        await areconcile(ann.services, ann.scope, found.turns, found.facts, found.claim, found.draft)
    assert ann.texts() == ["The user moved to Lyon."]


# the summary


def test_a_summary_that_is_missing_in_the_answer_is_asked_for_alone(person: Any) -> None:
    """Small models forget a part."""
    model = ScriptedChatModel(
        [placed(("A", "The user likes tea.")), Summary(points=[SummaryPoint(text="The user likes tea.")])]
    )
    ann = person(model, combine=True, summary_refresh_turns=1)
    ann.tell("I like tea.")
    work(ann)
    assert len(model.calls) == 2
    assert read_points(ann.records("summary")[0]) == ["The user likes tea."]


def test_a_summary_is_settled_with_what_happened_since_it_was_drafted() -> None:
    """What was replaced or forgotten isn't in it; what read something else isn't used."""
    told = turn("I moved to Lyon.", 3)
    points = [
        SummaryPoint(text="I live in Paris."),
        SummaryPoint(text="My dog is Rex."),
        SummaryPoint(text="I like tea."),
    ]
    draft = SummaryDraft(Summary(points=points), ("I like tea.",), {told.id: told.text})
    moved = Fact(text="I moved to Lyon.", source_id=told.id, ordinal=0)
    decisions = [Decision(event="UPDATE", fact=moved, target="x")]
    kept = draft.settle(["I like tea."], [told], decisions, [Voice("my dog is Rex")])
    assert kept is not None
    assert [point.text for point in kept.points] == ["I like tea."]
    assert draft.settle(["I like coffee."], [told], decisions, []) is None
    assert draft.settle(["I like tea."], [told.model_copy(update={"text": "x"})], decisions, []) is None
    assert draft.settle(["I like tea."], [], decisions, []) is None


def test_small_talk_waits_with_a_summary_that_is_due(person: Any) -> None:
    """It costs no call; the next turn that says something makes the summary."""
    summary = [SummaryPoint(text="The user likes tea and jazz.")]
    both = FactsAndSummary(facts=[PlacedFact(turn="A", text="The user likes jazz.")], summary=summary)
    model = ScriptedChatModel([facts("The user likes tea."), both])
    ann = person(model, combine=True, summary_refresh_turns=2)
    for text, calls, made in [("I like tea.", 1, 0), ("Thanks a lot!", 1, 0), ("I like jazz.", 2, 1)]:
        ann.tell(text)
        work(ann)
        assert (len(model.calls), len(ann.records("summary"))) == (calls, made), text
