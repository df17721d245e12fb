"""Where what was forgotten still stands."""

from __future__ import annotations

from typing import Any

import pytest

from langmem_plus.records import FORGOTTEN, MemoryRecord
from langmem_plus.remember.witnesses import says


def test_what_says_it_too_is_found_whoever_says_it() -> None:
    """All words of it, or the same slot and value in a reply."""
    for turn in ("I live in Lyon.", "You live in Lyon!", "OK, noted that you moved to Lyon.", "In Lyon, where I live"):
        assert says(turn, "I live in Lyon"), turn
    for turn in ("The weather in Lyon?", "You live in Rome", "My sister lives in Rome", ""):
        assert not says(turn, "I live in Lyon"), turn


@pytest.mark.parametrize(
    ("reply", "statement"),
    [
        ("Tu habites à Lyon, super.", "J'habite à Lyon."),
        ("Du wohnst in Lyon, schön.", "Ich wohne in Lyon."),
        ("Vives en Madrid, genial.", "Vivo en Madrid."),
        ("你住在北京，真好。", "我住在北京。"),
        ("你的密码是abc1。", "我的密码是abc1。"),
        ("Ton mot de passe est abc1.", "Mon mot de passe est abc1."),
        ("Tu contraseña es abc1.", "Mi contraseña es abc1."),
        ("Also bist du Arzt.", "Ich bin Arzt."),
    ],
)
def test_replies_say_it_to_the_user(reply: str, statement: str) -> None:
    """In the second person, in German, French, Spanish and Chinese too."""
    assert says(reply, statement)
    for other in ("Lyon ist eine Stadt.", "Madrid está lejos.", "我住在上海。", "Tu aimes le thé."):
        assert not says(other, statement)


def test_what_was_forgotten_does_not_come_back_through_turns(person: Any) -> None:
    """Source, reply and request are withheld, other turns aren't; saying it again makes it known again."""
    ann = person()
    ann.say("I live in Lyon.")
    ann.say("I like jazz.")
    ann.say("Forget that I live in Lyon.")
    assert ann.texts() == ["I like jazz."]
    turns = {turn.text: bool(turn.metadata.get(FORGOTTEN)) for turn in ann.records(role="user")}
    assert turns == {"I live in Lyon.": True, "I like jazz.": False, "Forget that I live in Lyon.": True}
    ann.say("I live in Lyon again.")
    assert "I live in Lyon again." in ann.texts()


def test_what_is_known_everywhere_is_forgotten_everywhere(person: Any) -> None:
    """A request reaches each namespace that recall searches, turns among them, and no other."""
    ann = person()
    everywhere, elsewhere = (ann.scope.namespaces[1], (*ann.scope.namespace[:-1], "elsewhere"))
    for namespace in (everywhere, elsewhere):
        for role in ("memory", "user"):
            record = MemoryRecord(id=role, role=role, text="I live in Lyon.", user_id="u", extracted=True)
            ann.store.put(namespace, record.id, record.to_value())
    ann.say("Forget that I live in Lyon.")

    def kept(namespace: tuple[str, ...]) -> list[str]:
        values = [item.value for item in ann.store.search(namespace, limit=9)]
        return sorted(
            value["role"]
            for value in values
            if value["status"] == "active" and not value.get("metadata", {}).get(FORGOTTEN)
        )

    assert kept(everywhere) == []
    assert kept(elsewhere) == ["memory", "user"]


@pytest.mark.parametrize(
    "turn",
    [
        "Don't remember this: my password is hunter2.",
        "Off the record: I have diabetes.",
        "Merk dir das nicht: Ich bin krank.",
    ],
)
def test_what_is_not_to_be_kept_is_withheld(person: Any, turn: str) -> None:
    """No fact is kept, and the turn itself is nothing to recall."""
    ann = person()
    ann.say(turn)
    ann.say("I like jazz.")
    assert ann.texts() == ["I like jazz."]
    turns = {record.text: bool(record.metadata.get(FORGOTTEN)) for record in ann.records(role="user")}
    assert turns == {turn: True, "I like jazz.": False}
