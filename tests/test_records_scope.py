"""Scopes, namespaces and their labels: two identities never meet."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from pydantic import ValidationError

from langmem_plus.errors import ConfigError, MissingIdentityError
from langmem_plus.labels import decode_label, encode_label, fill_template
from langmem_plus.records import Scope

HARD = [
    "ann@x.org",
    "a/b",
    "..",
    ".",
    "%",
    "%2e",
    "%00",
    "a.b%c",
    "\0",
    "a\0.b",
    "用户",
    "é",
    "e\u0301",
    " a",
    "a ",
    "*",
]
texts = st.one_of(st.sampled_from(HARD), st.text(alphabet=st.sampled_from("%.\0/\\2e0aé用 "), max_size=8), st.text())
ids = texts.filter(lambda text: bool(text.strip()))


class TestLabels:
    @given(texts)
    def test_a_label_says_what_it_was_made_from(self, text: str) -> None:
        """Any text comes back from its label."""
        assert decode_label(encode_label(text)) == text

    @given(texts)
    def test_langgraph_accepts_every_label(self, text: str) -> None:
        """No label holds what LangGraph forbids, and only an empty text has an empty label."""
        label = encode_label(text)
        assert "." not in label
        assert "\0" not in label
        assert bool(label) == bool(text)

    @given(texts, texts)
    def test_different_texts_have_different_labels(self, one: str, other: str) -> None:
        """Two texts never share a label."""
        assert (encode_label(one) == encode_label(other)) == (one == other)

    @pytest.mark.parametrize("text", ["alice", "用户", "a b", "a-b_c", "A"])
    def test_harmless_text_is_its_own_label(self, text: str) -> None:
        """A label stays readable where nothing has to be encoded."""
        assert encode_label(text) == text


class TestScope:
    def test_defaults(self) -> None:
        """A user alone has a default space, no thread and the usual namespace."""
        scope = Scope("alice")
        assert (scope.space, scope.thread_id, scope.agent_id) == ("default", None, None)
        assert scope.namespace == ("memories", "alice", "default")
        assert scope == Scope(user_id="alice")

    @given(ids, ids, ids, ids)
    def test_two_identities_never_meet(self, user: str, space: str, other_user: str, other_space: str) -> None:
        """Another user or another space is another namespace."""
        one, other = Scope(user, space=space), Scope(other_user, space=other_space)
        assert (one.namespace == other.namespace) == ((user, space) == (other_user, other_space))

    @given(ids, ids)
    def test_a_namespace_never_lies_in_another_users(self, user: str, other: str) -> None:
        """One user's namespace is never a prefix of another's."""
        one, two = Scope(user).namespace, Scope(other).namespace
        assert len(one) == len(two) == 3
        assert (one[:2] == two[:2]) == (user == other)

    @given(ids, ids)
    def test_any_identity_works_in_a_store(self, user: str, space: str) -> None:
        """LangGraph takes the namespace of every user and every space."""
        store: BaseStore = InMemoryStore()
        namespace = Scope(user, space=space).namespace
        store.put(namespace, "k", {"a": 1})
        assert store.get(namespace, "k") is not None
        assert (decode_label(namespace[1]), decode_label(namespace[2])) == (user, space)

    @pytest.mark.parametrize("user", [None, "", " ", "\t\n", "\u3000"], ids=ascii)
    def test_nobody_is_refused(self, user: Any) -> None:
        """A missing or blank user is an error that says how to name one."""
        with pytest.raises(MissingIdentityError, match="user_id"):
            Scope(user_id=user)

    @pytest.mark.parametrize("space", ["", "  ", None, 5], ids=ascii)
    def test_a_blank_space_is_refused(self, space: Any) -> None:
        """A space that isn't a name is an error."""
        with pytest.raises(MissingIdentityError, match="space"):
            Scope("alice", space=space)

    @pytest.mark.parametrize("thread", [7, uuid.UUID(int=7), "7"], ids=["int", "uuid", "text"])
    def test_ids_become_text(self, thread: Any) -> None:
        """Numbers and UUIDs, as LangGraph takes them for threads, are read as their text."""
        scope = Scope(user_id=7, thread_id=thread, agent_id=thread)  # type: ignore[arg-type]
        assert (scope.user_id, scope.thread_id, scope.agent_id) == ("7", str(thread), str(thread))

    def test_global_is_searched_with_every_space(self) -> None:
        """A search looks in the space and in the user's global one, and there only once."""
        assert Scope("a", space="work").namespaces == (("memories", "a", "work"), ("memories", "a", "global"))
        assert Scope("a", space="global").namespaces == (("memories", "a", "global"),)

    def test_a_template_without_spaces_has_one_namespace(self) -> None:
        """Where the template names no space, there is no global one to search."""
        assert Scope("a", template=("memories", "{user_id}")).namespaces == (("memories", "a"),)

    def test_a_template_takes_fields_of_ones_own(self) -> None:
        """A template may name further fields, which stand beside the others."""
        scope = Scope("a.b", org_id="x.y", template=("org-{org_id}", "{user_id}", "{space}"))
        assert scope.namespace == ("org-x%2ey", "a%2eb", "default")
        with pytest.raises(MissingIdentityError, match="org_id"):
            Scope("a", template=("{org_id}", "{user_id}")).namespace  # noqa: B018 - reading it is the test

    def test_a_scope_is_frozen(self) -> None:
        """Whose memory it is doesn't change on the way."""
        with pytest.raises(ValidationError):
            Scope("alice").user_id = "bob"

    @pytest.mark.parametrize("value", [["u"], {"id": 1}, True, 1.5, b"u"], ids=ascii)
    def test_what_names_nobody_is_refused(self, value: Any) -> None:
        """The error names the field, the value and the remedy; two users never meet in the text of some object."""
        with pytest.raises(MissingIdentityError, match=r"user_id is .*a \w+: give a text.* Name one user"):
            Scope(value)
        for name in ("thread_id", "agent_id"):
            with pytest.raises(ConfigError, match=f"{name} is .*: give a text, a number or a UUID"):
                Scope("alice", **{name: value})
        with pytest.raises(MissingIdentityError, match="space is"):
            Scope("alice", value)

    def test_a_long_value_doesnt_bury_the_remedy(self) -> None:
        """Whatever somebody passes, the message stays one that can be read."""
        with pytest.raises(MissingIdentityError) as caught:
            Scope(["x" * 100_000])  # type: ignore[arg-type]
        assert len(str(caught.value)) < 400


class TestFillTemplate:
    @given(ids)
    def test_a_field_is_filled_wherever_it_stands(self, user: str) -> None:
        """A label may be a field, or have one within."""
        filled = fill_template(("memories", "{user_id}", "user-{user_id}"), {"user_id": user})
        assert filled == ("memories", encode_label(user), f"user-{encode_label(user)}")

    def test_a_value_is_never_read_as_a_template(self) -> None:
        """Braces in a value stay what they are."""
        assert fill_template(("{a}",), {"a": "{b}", "b": "x"}) == ("{b}",)

    @pytest.mark.parametrize("value", [None, "", "  "], ids=repr)
    def test_an_unfilled_field_is_refused(self, value: Any) -> None:
        """A field without a value is an error that names it, never a shared bucket."""
        with pytest.raises(MissingIdentityError, match="'user_id'"):
            fill_template(("memories", "{user_id}"), {"user_id": value})
        with pytest.raises(MissingIdentityError, match="'user_id'"):
            fill_template(("memories", "{user_id}"), {})

    @pytest.mark.parametrize(
        "label", ["{user-id}", "{user.id}", "{ user_id }", "{}", "{user_id", "user_id}", "{{user_id}}"]
    )
    def test_a_field_that_cannot_be_read_is_refused(self, label: str) -> None:
        """A misspelt field would be one bucket for everybody, so it is an error, too."""
        with pytest.raises(MissingIdentityError, match="braces"):
            fill_template(("memories", label), {"user_id": "a", "user-id": "a"})
