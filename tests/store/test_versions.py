"""A memory's past as states: which there were, and what changed."""

from __future__ import annotations

from typing import Any

from langmem_plus.records import MemoryRecord
from langmem_plus.store.versions import chain, compared, in_order, lives, make_version, past_of, text_of

T = [f"2026-01-0{n}T00:00:00.000000Z" for n in range(1, 9)]


def value(key: str = "a", text: str = "tea", **fields: Any) -> dict[str, Any]:
    """A record's value."""
    return MemoryRecord(id=key, text=text, user_id="ann", created_at=T[0], updated_at=T[0], **fields).to_value()


def test_what_changed_is_said_in_words() -> None:
    """Fields by name, the status from what to what; where nothing changed there is no state."""
    states = [
        make_version("a", value(text="coffee", tags=["x"]), T[2], "git", "c2"),
        make_version("a", value(), T[0], "git", "c0"),
        make_version("a", {**value(), "updated_at": T[1]}, T[1], "git", "c1"),
        make_version("a", value(text="coffee", status="superseded", replaced_by="b"), T[3], "git", "c3"),
        make_version("a", None, T[4], "git", "c4"),
        make_version("a", value(), T[5], "file", "f"),
    ]
    assert [(state.place, state.changes) for state in compared(states)] == [
        ("c0", ("added",)),
        ("c2", ("tags", "text")),
        ("c3", ("status: active → superseded", "replaced_by", "tags")),
        ("c4", ("status: superseded → gone",)),
        ("f", ("status: gone → active",)),
    ]


def test_a_file_tells_when_it_came_and_what_became_of_it() -> None:
    """A record that was never written again has one state."""
    assert [state.status for state in lives("a", value(), T[0], T[0], "f")] == ["active"]
    retired = value(status="superseded", replaced_by="b")
    states = compared(lives("a", retired, T[0], T[3], "f"))
    assert [(state.status, state.changes[0]) for state in states] == [
        ("active", "added"),
        ("superseded", "status: active → superseded"),
    ]
    (_, gone) = compared(lives("k", {"text": "x"}, T[0], T[3], "f", removed=True))
    assert gone.status == "deleted"


def test_a_chain_is_followed_both_ways_and_ends() -> None:
    """Also where records name each other in a circle, or name what isn't there."""
    known: dict[str, dict[str, Any]] = {
        "a": value("a", replaced_by="b", status="superseded"),
        "b": value("b", replaces=["a", "gone"], replaced_by="c"),
        "c": value("c", replaces=["b"], replaced_by="a"),
    }
    for key in "abc":
        assert sorted(chain(key, known.get)) == ["a", "b", "c", "gone"]
    assert chain("odd", {"odd": {"replaces": "text", "replaced_by": 7}}.get) == ["odd"]


def test_any_store_has_a_past() -> None:
    """By the times of its items; what is replaced comes before what replaces it."""
    old = value("a", "lives in Paris", status="superseded", replaced_by="b")
    new = {**value("b", "lives in Lyon", replaces=["a"]), "created_at": T[2], "updated_at": T[2]}
    items = {"a": (old, T[0], T[2]), "b": (new, T[2], T[2])}
    past = past_of("b", items.get)
    assert [(state.key, state.status) for state in past] == [("a", "active"), ("a", "superseded"), ("b", "active")]
    assert past_of("nobody", items.get) == []
    assert in_order([past]) == past


def test_a_state_is_plain_json() -> None:
    """With the text that a person reads, whatever the value."""
    (state,) = compared([make_version("k", {"n": 1}, T[0], "file", "f")])
    assert state.to_value()["changes"] == ["added"]
    assert (text_of({"content": "x"}), text_of({"n": 1}), text_of({})) == ("x", '{"n": 1}', "")
