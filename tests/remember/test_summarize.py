from __future__ import annotations

from typing import Any

import pytest

from langmem_plus.errors import ConfigError
from langmem_plus.prompts import Summary, SummaryPoint
from langmem_plus.records import MemoryRecord, record_id
from langmem_plus.remember.extract import aextract, extract
from langmem_plus.remember.points import amend, extract_points, open_question, points_of, read_points, write_points
from langmem_plus.remember.reconcile import reconcile
from langmem_plus.remember.summarize import Work, asummarize, is_read, summarize, summarize_node
from langmem_plus.testing import ScriptedChatModel


def turn(text: str, number: int = 1, role: str = "user", **fields: Any) -> MemoryRecord:
    """A turn of a thread."""
    metadata = {"turn": number, **fields}
    return MemoryRecord(id=f"{role} {number} {text}", role=role, text=text, user_id="u", metadata=metadata)


def points(*texts: str) -> Summary:
    """What a model answers."""
    return Summary(points=[SummaryPoint(text=text) for text in texts])


def summary(ann: Any) -> MemoryRecord | None:
    """The thread's summary."""
    records = ann.records("summary")
    return records[0] if records else None


def work(ann: Any) -> Any:
    """The whole background run."""
    found = extract(ann.services, ann.scope)
    result = reconcile(ann.services, ann.scope, found.turns, found.facts, found.claim)
    return summarize(ann.services, ann.scope, Work(found.turns, found.facts, result.decisions))


# points


def test_a_summarys_text_can_be_edited_by_a_person() -> None:
    """One line a point, with or without a bullet; empty lines don't count."""
    record = MemoryRecord(id="s", role="summary", user_id="u", text="- I like tea\n\n  I live in Lyon\n-\n")
    assert read_points(record) == ["I like tea", "I live in Lyon"]
    assert write_points(["I like\ntea", "x"]) == "- I like tea\n- x"
    assert read_points(None) == []


def test_durable_statements_intents_and_the_open_question_make_a_summary() -> None:
    """Small talk is left out, duplicates are merged."""
    turns = [
        turn("Hello! I live in Lyon.", 1),
        turn("Thanks!", 2),
        turn("I live in Lyon. I'm planning a trip to Rome in May.", 3),
        turn("What should I see there?", 4),
    ]
    assert extract_points([], turns, 7, 3) == [
        "I live in Lyon.",
        "I'm planning a trip to Rome in May.",
        "What should I see there?",
    ]


def test_a_summary_is_merged_never_restarted() -> None:
    """Points so far stay, unless a newer statement replaces them or they were asked to be forgotten."""
    previous = ["I live in Paris.", "I like tea.", "My dog is Rex.", "Where is my key?"]
    turns = [turn("I moved to Lyon.", 5), turn("Forget that my dog is Rex.", 6)]
    assert extract_points(previous, turns, 7, 3) == ["I like tea.", "I moved to Lyon."]


def test_a_summary_has_so_many_points_the_weightiest() -> None:
    """What was asked to be kept goes first, then what lasts, then the newest."""
    said = "Remember that my boat is red. I prefer tea. I own a house. I met Bob in May 2020."
    kept = extract_points([], [turn(said), turn("I have a cat. Is that good?", 2)], 3, 3)
    assert kept == ["my boat is red.", "I prefer tea.", "Is that good?"]


def test_a_question_is_open_until_somebody_answers() -> None:
    """Only the last words of the thread can hold one."""
    assert open_question([turn("I like tea. What time is it?")]) == "What time is it?"
    assert open_question([turn("What time is it?"), turn("Nine.", 1, "assistant")]) is None
    assert open_question([turn("I like tea.")]) is None


def test_several_speakers_are_named_in_the_points() -> None:
    """ "I" alone would be nobody."""
    assert extract_points([], [turn("I like tea.", name="Anne")], 7, 3) == ["Anne: I like tea."]


def test_a_models_points_are_put_in_order_and_told_apart() -> None:
    """Facts, intents, actions, questions; repeats and empty ones are left out."""
    answer = Summary(
        points=[
            SummaryPoint(text="Which boat?", kind="question"),
            SummaryPoint(text="The user likes tea.", kind="fact"),
            SummaryPoint(text="The user likes tea", kind="fact"),
            SummaryPoint(text=" ", kind="fact"),
        ]
    )
    assert points_of(answer, 7, 3) == ["The user likes tea.", "Which boat?"]
    assert points_of(answer, 1, 3) == ["Which boat?"]


def test_nothing_to_amend_leaves_the_points() -> None:
    """Most runs change nothing."""
    assert amend(["I like tea."], [], []) == ["I like tea."]


# the stage


def test_a_summary_is_made_every_so_many_turns(person: Any) -> None:
    """Not before; then from the turns since; its record covers what it read."""
    ann = person(summary_refresh_turns=3)
    for number, text in enumerate(["I live in Lyon.", "I like tea.", "I have a cat."], 1):
        ann.tell(text)
        report = work(ann)
        assert report.counts["summaries"] == (number == 3)
    made = summary(ann)
    assert made is not None
    assert made.id == record_id("summary", *ann.scope.namespace, "t1")
    assert read_points(made) == ["I live in Lyon.", "I like tea.", "I have a cat."]
    assert made.covers_until == max(each.created_at for each in ann.records("assistant"))
    assert len(made.source_ids) == 6
    for text in ("I play chess.", "I own a boat."):
        ann.tell(text)
        assert work(ann).counts["summaries"] == 0
    ann.tell("I speak Dutch.")
    assert work(ann).counts["summaries"] == 1
    assert read_points(summary(ann)) == [*read_points(made), "I play chess.", "I own a boat.", "I speak Dutch."]
    assert len(ann.records("summary")) == 1


def test_a_summary_passes_no_turn_over(person: Any) -> None:
    """Where more turns wait than it reads at a time, it reads those that were written first, then the others, also
    where all were written in the same moment.
    """
    ann = person(summary_refresh_turns=1, summary_source_max_turns=4)
    for number in range(5):
        ann.tell(f"I like the number {number}.")
    for text in ("I own a boat.", "I play chess."):
        ann.clock.forward(minutes=-1)
        ann.tell(text)
    read: set[str] = set()
    for _ in range(3):
        assert summarize(ann.services, ann.scope).counts["summaries"] == 1
        made = summary(ann)
        assert made is not None
        known = {turn.id for role in ("user", "assistant") for turn in ann.records(role) if is_read(turn, made)}
        assert read < known
        read = known
    assert len(read) >= 12


def test_what_was_replaced_or_forgotten_leaves_the_summary_at_once(person: Any) -> None:
    """It doesn't wait for the next refresh."""
    ann = person(summary_refresh_turns=3)
    for text in ("I live in Paris.", "My dog is Rex.", "I like tea."):
        ann.tell(text)
        work(ann)
    ann.tell("I moved to Lyon.")
    work(ann)
    assert read_points(summary(ann)) == ["My dog is Rex.", "I like tea."]
    ann.tell("Forget that my dog is Rex.")
    work(ann)
    assert read_points(summary(ann)) == ["I like tea."]


def test_a_summary_of_which_nothing_is_left_goes_and_may_come_again(person: Any) -> None:
    """An empty summary is none; the next one is made anew."""
    ann = person(summary_refresh_turns=1)
    ann.tell("My dog is Rex.")
    work(ann)
    assert summary(ann) is not None
    ann.tell("Forget that my dog is Rex.")
    work(ann)
    assert summary(ann) is None
    ann.tell("I like tea.")
    work(ann)
    assert read_points(summary(ann)) == ["I like tea."]


def test_the_model_gets_the_summary_so_far_the_new_facts_and_the_new_turns(person: Any) -> None:
    """Media as placeholders, no code; turns that it has read aren't read again."""
    model = ScriptedChatModel([points("The user lives in Lyon.")], then=points("The user lives in Lyon with a cat."))
    ann = person(summary_refresh_turns=1)
    ann.tell("I live in Lyon.")
    found = extract(ann.services, ann.scope)
    result = reconcile(ann.services, ann.scope, found.turns, found.facts, found.claim)
    ann.services = type(ann.services)(**{**vars(ann.services), "model": model})
    summarize(ann.services, ann.scope, Work(found.turns, found.facts, result.decisions))
    ann.tell("I have a cat. [image]\n```\nsecret\n```")
    summarize(ann.services, ann.scope)
    assert read_points(summary(ann)) == ["The user lives in Lyon with a cat."]
    first, second = (call.messages[-1].text for call in model.calls)
    assert "- I live in Lyon." in first
    assert "user: I live in Lyon.\nassistant: I see." in first
    assert "- The user lives in Lyon." in second
    assert "I have a cat." in second
    assert "secret" not in second
    assert "user: I live in Lyon." not in second


@pytest.mark.parametrize("failure", [ConnectionError("down"), "no JSON", '{"points": []}'])
def test_a_model_that_fails_keeps_the_summary_so_far(person: Any, failure: Any) -> None:
    """Nothing is removed, the report says why, and the turns are summarised the next time."""
    model = ScriptedChatModel([points("The user likes tea.")], then=failure)
    ann = person(model, summary_refresh_turns=1)
    ann.tell("I like tea.")
    summarize(ann.services, ann.scope)
    before = summary(ann)
    ann.tell("I like jazz.")
    report = summarize(ann.services, ann.scope)
    assert summary(ann) == before
    assert report.warnings
    model.then = None
    ann.services = type(ann.services)(**{**vars(ann.services), "model": ScriptedChatModel([], then=points("x"))})
    assert summarize(ann.services, ann.scope).counts["summaries"] == 1


def test_a_missing_key_raises(person: Any) -> None:
    """Wrong settings aren't a passing failure."""
    ann = person(ScriptedChatModel([], then=ConfigError("no key")), summary_refresh_turns=1)
    ann.tell("I like tea.")
    with pytest.raises(ConfigError):
        summarize(ann.services, ann.scope)


def test_threads_have_their_own_summaries_and_leftovers_get_theirs(person: Any) -> None:
    """A run that works off another thread's turns refreshes that thread's summary."""
    ann, other = person(summary_refresh_turns=1), person(thread_id="t2", summary_refresh_turns=1)
    ann.tell("I like tea.")
    other.tell("I like jazz.")
    assert work(other).counts["summaries"] == 2
    texts = {made.thread_id: made.text for made in ann.records("summary")}
    assert texts == {"t1": "- I like tea.", "t2": "- I like jazz."}


def test_summaries_can_be_switched_off(person: Any) -> None:
    """And a scope without a thread has none."""
    ann = person(summary_refresh_turns=1, summarize=False)
    ann.tell("I like tea.")
    work(ann)
    assert summary(ann) is None
    ann = person(thread_id=None, summary_refresh_turns=1, user_id="bob")
    ann.tell("I like tea.")
    work(ann)
    assert summary(ann) is None


async def test_summaries_are_the_same_in_async_and_none_are_made_incognito(person: Any) -> None:
    """The node reads what the stages before it wrote."""
    ann = person(summary_refresh_turns=1)
    ann.tell("I like tea.")
    found = await aextract(ann.services, ann.scope)
    config = {"configurable": {"user_id": ann.scope.user_id, "thread_id": "t1", "incognito": True}}
    state = {"memory_turns": found.turns, "memory_facts": found.facts}
    node = summarize_node(ann.services)
    await node.ainvoke(state, config)
    node.invoke(state, config)
    assert summary(ann) is None
    assert (await asummarize(ann.services, ann.scope)).counts["summaries"] == 1
    ann.tell("I like jazz.")
    del config["configurable"]["incognito"]
    found = await aextract(ann.services, ann.scope)
    update = await node.ainvoke({"memory_turns": found.turns, "memory_facts": found.facts}, config)
    assert update["memory_report"]["counts"]["summaries"] == 1
    assert node.invoke({"memory_turns": []}, config)["memory_report"]["counts"]["summaries"] == 0


@pytest.mark.parametrize("late", ["restored", "imported", "clock behind"])
def test_what_was_written_before_what_the_summary_has_read_is_read_too(person: Any, late: str) -> None:
    """Ids tell what has been read, not times; however much has been read."""
    ann = person(summary_refresh_turns=2, summary_source_max_turns=4)
    ann.tell("We sold the boat Marieke.")
    (old,) = ann.records("user")
    if late == "restored":
        ann.store.put(ann.scope.namespace, old.id, old.model_copy(update={"status": "deleted"}).to_value())
    else:
        ann.store.delete(ann.scope.namespace, old.id)
    for number in range(4):
        ann.tell(f"I like the number {number}.")
        summarize(ann.services, ann.scope)
    made = summary(ann)
    assert made is not None
    assert "Marieke" not in made.text
    assert len(made.source_ids) > 4
    assert not is_read(old, made)
    if late == "clock behind":
        ann.clock.forward(days=-2)
        ann.tell("We sold the boat Marieke.")
    else:
        ann.store.put(ann.scope.namespace, old.id, old.to_value())
    ann.clock.forward(days=3)
    ann.tell("I like rye bread.")
    assert summarize(ann.services, ann.scope).counts["summaries"] == 1
    assert "Marieke" in summary(ann).text  # type: ignore[union-attr]
    assert summarize(ann.services, ann.scope).counts["summaries"] == 0
