"""What was said before it was forgotten doesn't come back from a turn that is read later."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langmem_plus.controls import FORGOT, forget_steps
from langmem_plus.prompts import ExtractedFact, ExtractedFacts
from langmem_plus.records import FORGOTTEN, Fact, MemoryRecord, Scope
from langmem_plus.remember.barred import is_forgotten, says_again
from langmem_plus.remember.extract import extract
from langmem_plus.remember.fact_records import ASKED_AT, make_record, retire
from langmem_plus.remember.reconcile import carry_out_steps, decide_steps
from langmem_plus.remember.steps import put, run_steps
from langmem_plus.remember.undelete import undelete_steps
from langmem_plus.testing import ScriptedChatModel

CODE = "My gate code is 4711."


def forget(whose: Any, text: str) -> None:
    """Forget the fact with this text, by its id."""
    (found,) = [record for record in whose.records() if record.text == text]
    run_steps(forget_steps(whose.services, whose.scope, found.id, FORGOT), whose.services, whose.store)


@pytest.mark.parametrize(
    ("again", "left"),
    [
        (CODE, []),
        ("my gate code is 4711", []),
        ("As I said, my gate code is 4711. And I love tea.", ["I love tea."]),
        ("I love tea. My gate code is still 4711, by the way.", ["I love tea."]),
        ("My gate code is 4712.", ["My gate code is 4712."]),
    ],
)
def test_a_turn_that_waited_when_it_was_forgotten_gives_all_but_that(
    person: Any, again: str, left: Sequence[str]
) -> None:
    """In the same words or others, alone or in company; what says something else is stored."""
    ann = person()
    ann.say(CODE)
    ann.tell(again)
    forget(ann, CODE)
    ann.work()
    assert [text for text in ann.texts() if "4711" in text or text in left] == list(left)
    ann.say(CODE)
    assert CODE in ann.texts()


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ("I'm allergic to nuts.", "My son is allergic to nuts."),
        ("I'm allergic to nuts.", "My son Tom is allergic to nuts and to milk."),
        ("I live in Lyon.", "My sister lives in Lyon."),
        ("I work at Bosch.", "My brother works at Bosch."),
        ("I am vegan.", "My daughter is vegan."),
        ("I hate my job.", "My wife hates her job."),
        ("I like tea.", "My sister Eva likes tea."),
        ("I like tea.", "My boss likes green tea a lot."),
    ],
)
def test_what_was_said_of_somebody_else_is_stored_and_recalled(person: Any, gone: str, said: str) -> None:
    """In the words of what was forgotten; it was said before, and is imported now."""
    ann = person()
    ann.say(gone)
    forget(ann, gone)
    ann.say(said, additional_kwargs={"created_at": "2023-05-01T10:00:00Z"})
    assert ann.texts() == [said]
    assert not [turn for turn in ann.records("user") if turn.text == said and turn.metadata.get(FORGOTTEN)]


def test_a_turn_that_says_more_than_was_forgotten_is_not_withheld(person: Any) -> None:
    """A request to forget would keep what says more, too."""
    ann = person()
    ann.say("I like tea.")
    forget(ann, "I like tea.")
    said = "I like tea with milk, and my daughter Ella goes to the Nygård school."
    ann.say(said, additional_kwargs={"created_at": "2023-05-01T10:00:00Z"})
    assert "I like tea with milk" in ann.texts()
    assert not [turn for turn in ann.records("user") if turn.text == said and turn.metadata.get(FORGOTTEN)]


def is_again(gone: str, said: str, owner: str = "", speaker: str = "") -> bool:
    """Whether a fact says what was forgotten."""
    tombstone = MemoryRecord(id="g", text=gone, user_id="u", status="deleted", metadata={"name": owner})
    return says_again(Fact(text=said, source_id="s", ordinal=0, metadata={"name": speaker}), tombstone, 3)


@pytest.mark.parametrize(
    ("gone", "said", "names"),
    [
        (CODE, "My gate code is still 4711, by the way.", ()),
        (CODE, "My gate code is 4711 since May.", ()),
        (CODE, "4711 is my gate code.", ()),
        (CODE, "The gate code of the user is 4711.", ()),
        ("I live in Lyon.", "The user still lives in Lyon.", ()),
        ("I live in Lyon.", "I moved to Lyon.", ()),
        ("Ich wohne in Lyon.", "I live in Lyon.", ()),
        ("I like tea.", "I love tea.", ()),
        ("My email is a@b.no.", "My e-mail address is a@b.no.", ()),
        ("My wife is called Anne.", "My wife's name is Anne.", ()),
        ("我住在里昂。", "我现在住在里昂。", ()),
        (CODE, "My gate code is 4711, don't tell anybody.", ()),
        (CODE, "My gate code is 4711 (not 4712).", ()),
        ("My PIN is 4711.", "My PIN is 4711, never share it.", ()),
        ("My PIN is 4711.", "My PIN number is 4711.", ()),
        ("My PIN is 4711.", "My pin code is 47 11.", ()),
        ("My PIN is 4711.", "My PIN's 4711.", ()),
        ("My phone number is 555 1234 567.", "My mobile is +1 555-1234-567.", ()),
        ("Ich wohne in Köln.", "Ich wohne ja in Köln.", ()),
        ("Ich wohne in Köln.", "Ich wohne eigentlich doch in Köln.", ()),
        ("J'habite à Lyon.", "J'habite encore à Lyon.", ()),
        ("J'habite à Lyon.", "En fait j'habite à Lyon.", ()),
        ("我住在北京。", "我还住在北京市。", ()),
        ("I have lupus.", "I've got lupus.", ()),
        ("I live in Lyon.", "I live in the city of Lyon these days.", ()),
        (CODE, "I know that Ann's gate code is 4711.", ("Ann", "Bob")),
        (CODE, "The gate code of Ann is 4711.", ("Ann Martin", "Bob")),
        ("I live in Lyon.", "Ann lives in Lyon.", ("Ann", "Bob")),
    ],
)
def test_the_same_of_the_same_person_is_barred_in_whatever_words(gone: str, said: str, names: Sequence[str]) -> None:
    """By the one who forgot it, or by another one who names that one."""
    assert is_again(gone, said, *names)


@pytest.mark.parametrize(
    ("gone", "said", "names"),
    [
        (CODE, "My bike code is 4711.", ()),
        (CODE, "My gate code is 4711 and my dog is Rex.", ()),
        (CODE, "Ann's gate code is 4711.", ()),
        (CODE, "My gate code is not 4711.", ()),
        ("My PIN is 4711.", "My PIN is not 4711.", ()),
        ("My PIN is 4711.", "My PIN is 4712, not 4711.", ()),
        ("My PIN is 4711.", "My card PIN is 4711.", ()),
        ("My PIN is 4711.", "My wife's PIN is 4711.", ()),
        ("我住在北京。", "我住在北京市中心。", ()),
        ("I live in Lyon.", "I want to live in Lyon one day.", ()),
        ("I live in Lyon.", "She lives in Lyon.", ()),
        ("I'm allergic to nuts.", "The user's son is allergic to nuts.", ()),
        ("I love my wife.", "My wife loves me.", ()),
        ("I have 2 sons.", "I have 2 sons studying in Oslo.", ()),
        ("I did it.", "We have been there.", ()),
        ("I work in IT.", "I work out.", ()),
        ("Ich wohne in Lyon.", "Meine Schwester wohnt in Lyon.", ()),
        ("我住在里昂。", "我妹妹住在里昂。", ()),
        ("I live in Lyon.", "I live in Lyon.", ("Ann", "Bob")),
        ("I live in Lyon.", "Ann's sister lives in Lyon.", ("Ann", "Bob")),
        ("I live in Lyon.", "Ann and I live in Lyon.", ("Ann", "Bob")),
        ("I live in Lyon.", "Ann Roux lives in Lyon.", ("Ann Martin", "Bob")),
    ],
)
def test_what_says_more_or_something_else_is_not_barred(gone: str, said: str, names: Sequence[str]) -> None:
    """A new fact that is barred is lost for good."""
    assert not is_again(gone, said, *names)


@given(
    kin=st.sampled_from(["son", "sister Eva", "boss", "neighbour", "ex-wife"]),
    said=st.sampled_from(["{} allergic to nuts.", "{} 42 years old.", "{} a nurse.", "{} vegan.", "{} from Lyon."]),
)
def test_nothing_of_oneself_bars_the_same_of_another(kin: str, said: str) -> None:
    """Nor the other way round."""
    own, other = said.format("I am"), said.format(f"My {kin} is")
    assert is_again(own, own)
    assert is_again(other, other)
    assert not is_again(own, other)
    assert not is_again(other, own)


@pytest.mark.parametrize("again", ["I don't live in Lyon any more.", "I love Lyon.", "I live in Paris now."])
def test_what_says_something_else_of_it_is_stored(person: Any, again: str) -> None:
    """A denial and other statements that share its words aren't what was forgotten."""
    ann = person()
    ann.say("I live in Lyon.")
    ann.tell(again)
    forget(ann, "I live in Lyon.")
    ann.work()
    assert ann.texts() == [again]


@pytest.mark.parametrize("by_words", [False, True])
def test_a_model_that_words_it_anew_brings_nothing_back(
    person: Any, script: Callable[..., ScriptedChatModel], by_words: bool
) -> None:
    """The fact is compared, not the turn alone: what the turn says of it may share no word with it."""
    fact, again = "The gate code of the user is 4711.", "Mein Torcode ist 4711." if not by_words else CODE
    answer = ExtractedFacts(facts=[ExtractedFact(text="The user's gate code is 4711." if by_words else fact)])
    ann = person(model=script(ExtractedFacts(facts=[ExtractedFact(text=fact)]), then=answer), fact_support=0.0)
    ann.say("The gate code is 4711, I was told.")
    ann.tell(again)
    ann.clock.forward(seconds=1)
    forget(ann, fact)
    ann.work()
    assert ann.texts() == []
    assert [turn.metadata.get(FORGOTTEN) for turn in ann.records("user") if turn.text == again] == [True]


def test_a_request_in_words_holds_for_turns_that_are_read_after_it(person: Any) -> None:
    """A turn that had to wait was said before the request; what was said after it is stored, though it is older than
    the day on which the request was worked off.
    """
    ann = person(turn_batch=1)
    ann.say(CODE)
    ann.tell("I moved house, so my gate code is 4711 no longer. No, my gate code is 4711!")
    first = next(turn for turn in ann.records("user") if turn.extracted is False)
    ann.services.refusals[first.id] = 1  # a model refused it, so others go first
    ann.tell("Please forget that my gate code is 4711.")
    ann.clock.forward(days=2)
    ann.work()
    (gone,) = ann.records(status="deleted")
    assert ASKED_AT in gone.metadata
    ann.work()
    assert not [text for text in ann.texts() if text.startswith("My gate code is 4711")]


def test_what_is_said_after_a_request_that_is_worked_off_late_is_stored(person: Any) -> None:
    """An import holds the request and what followed it, and is read a few turns at a time."""
    ann = person(turn_batch=1)
    ann.say(CODE)
    ann.tell("Please forget that my gate code is 4711.")
    ann.tell("My gate code is 4711.")
    ann.clock.forward(days=2)
    ann.work()
    assert ann.texts() == []
    ann.work()
    assert ann.texts() == [CODE]


def test_what_comes_to_the_store_later_and_was_said_before_is_barred_and_withheld(person: Any) -> None:
    """A conversation of last year that is imported after the fact was forgotten."""
    ann = person()
    ann.say(CODE)
    forget(ann, CODE)
    ann.say(CODE, additional_kwargs={"created_at": "2023-05-01T10:00:00Z"})
    assert ann.texts() == []
    said = [*ann.records("user"), *ann.records("assistant")]
    assert len(said) == 4
    assert all(turn.metadata.get(FORGOTTEN) for turn in said)


@pytest.mark.parametrize(
    ("gone", "again"),
    [
        ("My PIN is 4711.", "My PIN's 4711."),
        ("I live in Lyon.", "The weather is fine. I live in Lyon these days."),
        ("我住在北京。", "我还住在北京。"),
        ("Vivo en Madrid.", "Todavía vivo en Madrid."),
        ("J'habite à Lyon.", "En fait j'habite à Lyon."),
    ],
)
def test_an_older_turn_of_which_no_fact_is_drawn_is_withheld(person: Any, gone: str, again: str) -> None:
    """It says what was forgotten in a sentence of its own; said after that, it stays."""
    ann = person()
    ann.say(gone)
    forget(ann, gone)
    ann.say(again, additional_kwargs={"created_at": "2023-05-01T10:00:00Z"})
    assert ann.texts() == []
    assert all(turn.metadata.get(FORGOTTEN) for turn in ann.records("user"))
    ann.say(again)
    assert [turn.text for turn in ann.records("user") if not turn.metadata.get(FORGOTTEN)] == [again]


@pytest.mark.parametrize(
    "said",
    [
        "Do I live in Lyon?",
        "My parents live in Lyon these days.",
        "I don't live in Lyon these days.",
        "The weather in Lyon is fine.",
    ],
)
def test_an_older_turn_that_asks_or_says_something_else_is_not_withheld(person: Any, said: str) -> None:
    """In the words of what was forgotten."""
    ann = person()
    ann.say("I live in Lyon.")
    forget(ann, "I live in Lyon.")
    ann.say(said, additional_kwargs={"created_at": "2023-05-01T10:00:00Z"})
    assert [turn.text for turn in ann.records("user") if not turn.metadata.get(FORGOTTEN)] == [said]


@pytest.mark.parametrize("in_words", [False, True])
def test_what_is_said_again_holds_though_the_clock_went_back(person: Any, in_words: bool) -> None:
    """The store tells what came after the request; what is imported from before it is barred all the same."""
    ann = person()
    ann.clock.forward(hours=3)
    ann.say(CODE)
    if in_words:
        ann.say("Forget that my gate code is 4711.")
    else:
        forget(ann, CODE)
    assert ann.texts() == []
    ann.clock.forward(hours=-4)
    ann.say(CODE, additional_kwargs={"created_at": "2023-05-01T10:00:00Z"})
    assert ann.texts() == []
    ann.say(CODE)
    assert ann.texts() == [CODE]


@pytest.mark.parametrize("again", [CODE, "My gate code is still 4711. I love tea."])
def test_what_is_forgotten_between_deciding_and_writing_does_not_come_back(person: Any, again: str) -> None:
    """A model takes its time, and a person too: the turn waits for the next run, or gives all but that."""
    ann = person()
    ann.say(CODE)
    ann.tell(again)
    found = extract(ann.services, ann.scope)
    steps = decide_steps(ann.services, ann.scope, found.turns, found.facts, found.claim, found.draft)
    decided = run_steps(steps, ann.services, ann.store)
    forget(ann, CODE)
    run_steps(carry_out_steps(ann.services, ann.scope, decided), ann.services, ann.store)
    assert not [text for text in ann.texts() if "4711" in text]
    ann.work()
    assert ann.texts() == (["I love tea."] if "tea" in again else [])


def test_what_was_brought_back_holds_again(person: Any) -> None:
    """A fact that was forgotten and undeleted bars nothing."""
    ann = person()
    ann.say(CODE)
    (known,) = ann.records()
    ann.tell("My gate code is 4711")
    forget(ann, CODE)
    run_steps(undelete_steps(ann.services, ann.scope, known.id), ann.services, ann.store)
    ann.work()
    assert [record.id for record in ann.records()] == [known.id]


def test_many_tombstones_hide_none(person: Any) -> None:
    """The one that matters may lie behind hundreds of others, newer or older."""
    ann = person()
    ann.say(CODE)
    ann.tell(CODE)
    forget(ann, CODE)
    for days in (-3, 3):
        now = ann.clock.now + dt.timedelta(days=days)
        others = (make_record(f"{days} {n}", f"Fact {n}.", ann.scope, now) for n in range(150))
        ann.store.batch([put(ann.scope.namespace, retire(each, now, "x")) for each in others])
    ann.work()
    assert ann.texts() == []


def test_only_what_somebody_wanted_to_forget_counts() -> None:
    """What was evicted, cleared or replaced may be said again by any turn."""
    now = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    record = make_record("a", "I like tea.", Scope("ann"), now)
    assert is_forgotten(retire(record, now, FORGOT))
    assert not is_forgotten(retire(record, now, "evicted: too many"))
    assert not is_forgotten(retire(record, now, "another", "b"))
    assert not is_forgotten(record)
    assert not is_forgotten(None)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(st.sampled_from(["say tea", "say code", "forget code", "work"]), max_size=7))
def test_a_fact_is_known_if_it_was_said_since_it_was_forgotten(person: Any, events: Sequence[str]) -> None:
    """Whenever turns are worked off: of what is forgotten stays what was said after that, and all else stays."""
    ann = person(user_id=f"{uuid.uuid4()}")
    known = {"I love tea.": False, CODE: False}
    ann.say(CODE)
    known[CODE] = True
    for event in events:
        ann.clock.forward(minutes=1)
        if event == "work":
            ann.work()
        elif event == "forget code":
            if CODE in ann.texts():
                forget(ann, CODE)
                known[CODE] = False
        else:
            text = CODE if "code" in event else "I love tea."
            ann.tell(text)
            known[text] = True
    ann.work()
    assert {text for text, is_known in known.items() if is_known} == set(ann.texts())
