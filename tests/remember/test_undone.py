"""Requests to forget that came to nothing are told."""

from __future__ import annotations

from typing import Any

import pytest

from langmem_plus.records import FORGOTTEN


@pytest.mark.parametrize(
    ("said", "request_", "reason"),
    [
        ("I like jazz.", "Forget my email address.", "nothing known is meant"),
        ("I prefer to be reached by email, kim@wood.no.", "Forget my email address.", "says more than that"),
        ("My email is kim@wood.no.", "Please forget my address.", "nothing known is meant"),
        ("I like jazz.", "Forget everything about my job.", "everything about something is more"),
    ],
)
def test_a_request_by_which_nothing_goes_is_a_warning(person: Any, said: str, request_: str, reason: str) -> None:
    """The report of the run names it, with the reason; memory is as it was."""
    ann = person()
    ann.say(said)
    known = ann.texts()
    result = ann.say(request_)
    (warning,) = result.report.warnings
    assert "nothing was forgotten" in warning
    assert request_.split("orget ")[1].rstrip(".") in warning
    assert reason in warning
    assert ann.texts() == known


@pytest.mark.parametrize(
    "turns",
    [
        ["My email is kim@wood.no.", "Forget my email address."],
        ["My email is kim@wood.no.", "Delete my email address from your memory."],
        ["My email is kim@wood.no. Forget my email address."],
        ["My email is kim@wood.no.", "Forget my email. Please forget my email address."],
        ["I like jazz.", "I live in Lyon."],
    ],
)
def test_what_is_done_is_no_warning(person: Any, turns: list[str]) -> None:
    """Nor is a request whose record another one of the same run retired, or that speaks of the same message."""
    ann = person()
    results = [ann.say(turn) for turn in turns]
    assert [warning for result in results for warning in result.report.warnings] == []
    assert not [text for text in ann.texts() if "kim@" in text]


def test_what_is_kept_on_purpose_is_told(person: Any) -> None:
    """A pinned memory stays, and who asked to forget it is told why."""
    ann = person()
    ann.say("My email is kim@wood.no.")
    (record,) = ann.records()
    ann.store.put(ann.scope.namespace, record.id, record.model_copy(update={"pinned": True}).to_value())
    (warning,) = ann.say("Forget my email address.").report.warnings
    assert "my email address" in warning
    assert "it is pinned" in warning


def test_a_request_that_is_met_elsewhere_is_no_warning(person: Any) -> None:
    """What the user's global space loses is forgotten, too."""
    ann = person()
    everywhere = ann.scope.namespaces[1]
    ann.say("My email is kim@wood.no.")
    (record,) = ann.records()
    ann.store.delete(ann.scope.namespace, record.id)
    ann.store.put(everywhere, record.id, record.to_value())
    assert ann.say("Forget my email address.").report.warnings == []
    assert ann.store.get(everywhere, record.id).value["status"] == "deleted"


@pytest.mark.parametrize(
    ("turn", "request_"),
    [
        ("The wifi password is sunflower99.", "Forget that the wifi password is sunflower99."),
        ("Jule's phone number is 555 1234 567.", "Forget that Jule's phone number is 555 1234 567."),
        ("Das WLAN-Passwort ist Sonne99.", "Vergiss, dass das WLAN-Passwort Sonne99 ist."),
        ("我的手机号是13812345678。", "忘记我的手机号是13812345678。"),
        ("我的手机号是13812345678。", "忘记我的手机号。"),
        ("My daughter Ella is 7. She goes to the Nygård school.", "Forget that Ella goes to the Nygård school."),
        ("My dog is called Rex. He sleeps on the sofa.", "Forget that my dog sleeps on the sofa."),
        ("My dog is called Rex. He sleeps on the sofa.", "Forget that he sleeps on the sofa."),
    ],
)
def test_what_a_message_alone_tells_is_withheld(person: Any, turn: str, request_: str) -> None:
    """Where a whole sentence of it says what is to be forgotten; facts that say something else stay, and no warning."""
    ann = person()
    ann.say(turn)
    ann.say("The gate opens at nine.")
    facts = ann.texts()
    assert ann.say(request_).report.warnings == []
    assert ann.texts() == facts
    turns = {record.text: bool(record.metadata.get(FORGOTTEN)) for record in ann.records(role="user")}
    assert turns == {turn: True, "The gate opens at nine.": False, request_: True}


@pytest.mark.parametrize(
    ("turn", "request_"),
    [
        ("The wifi password is sunflower99 at Anne's.", "Forget that the wifi password is sunflower99."),
        ("The wifi password isn't sunflower99.", "Forget that the wifi password is sunflower99."),
        ("My son Ben is 9. She goes to the Nygård school.", "Forget that Ella goes to the Nygård school."),
        ("Jule's phone number is 555 1234 567.", "Forget my phone number."),
    ],
)
def test_a_message_that_says_something_else_stays(person: Any, turn: str, request_: str) -> None:
    """More, the opposite, or of somebody else: the request comes to nothing, and its owner is told."""
    ann = person()
    ann.say(turn)
    (warning,) = ann.say(request_).report.warnings
    assert "nothing was forgotten" in warning
    assert [record.text for record in ann.records(role="user") if not record.metadata.get(FORGOTTEN)] == [turn]


def test_what_somebody_else_said_alone_stays(person: Any) -> None:
    """Only the asker's messages are withheld, and only those that were said before."""
    ann = person()
    ann.say("The wifi password is sunflower99.", name="Bob")
    assert len(ann.say("Forget that the wifi password is sunflower99.", name="Ann").report.warnings) == 1
    ann.say("The wifi password is sunflower99.", name="Ann")
    assert [bool(record.metadata.get(FORGOTTEN)) for record in ann.records(role="user")] == [True, False, False]


def test_what_is_pinned_stays_with_its_message(person: Any) -> None:
    """A memory that is meant and kept isn't withheld in its message."""
    ann = person()
    ann.say("I live in Lyon.")
    (record,) = ann.records()
    ann.store.put(ann.scope.namespace, record.id, record.model_copy(update={"pinned": True}).to_value())
    ann.say("Forget that I live in Lyon.")
    assert not any(each.metadata.get(FORGOTTEN) for each in ann.records(role="user") if each.text == "I live in Lyon.")
