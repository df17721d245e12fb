"""Requests to forget that came to nothing are told."""

from __future__ import annotations

from typing import Any

import pytest


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
