"""The lines of a front matter."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.store.markdown.fields import UnreadableFileError, read_fields, write_fields

ANY_TEXT = st.text(st.characters(codec=None))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=10,
)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True)


@given(st.dictionaries(NAMES, JSON))
def test_any_json_comes_back_exactly(fields: dict[str, Any]) -> None:
    """Types, numbers and every character."""
    head = write_fields(fields.items()).removesuffix("\n")
    # Two halves of a surrogate pair are one character in JSON.
    assert json.dumps(read_fields(head)) == json.dumps(json.loads(json.dumps(fields)))


@given(st.dictionaries(NAMES, JSON))
def test_an_edit_of_one_line_leaves_the_others_exact(fields: dict[str, Any]) -> None:
    """What YAML would read a little differently is still read as the JSON that it is."""
    fields.pop("edited_by_hand", None)
    head = write_fields(fields.items()) + "edited_by_hand: [tea, Lyon]  # a list as people write it"
    found = read_fields(head)
    assert found.pop("edited_by_hand") == ["tea", "Lyon"]
    assert json.dumps(found) == json.dumps(json.loads(json.dumps(fields)))


@given(st.dictionaries(NAMES, JSON.filter(lambda value: "\\ud" not in json.dumps(value))))
def test_it_is_yaml_too(fields: dict[str, Any]) -> None:
    """Another program's YAML reader accepts it, and sees the same names."""
    found = yaml.safe_load(write_fields(fields.items())) or {}
    assert {str(name) for name in found} <= {*fields, *(str(yaml.safe_load(name)) for name in fields)}


@pytest.mark.parametrize(
    ("head", "fields"),
    [
        ("", {}),
        ("\n\n", {}),
        ("# only a comment", {}),
        ("a: tea", {"a": "tea"}),
        ("a: Tea time", {"a": "Tea time"}),
        ("a: 2026-05-01", {"a": "2026-05-01"}),
        ("a: 2026-05-01 10:30", {"a": "2026-05-01 10:30"}),
        ("a: 10:30", {"a": "10:30"}),
        ("a: yes\nb: on\nc: No", {"a": "yes", "b": "on", "c": "No"}),
        ("a: true\nb: False", {"a": True, "b": False}),
        ("a: 012\nb: 1_000\nc: 0x1F\nd: +5", {"a": "012", "b": "1_000", "c": "0x1F", "d": "+5"}),
        ("a: 12\nb: -0.5\nc: 1e3", {"a": 12, "b": -0.5, "c": 1000.0}),
        ("a:\nb: ~\nc: null", {"a": None, "b": None, "c": None}),
        ("a:\n  - x\n  - y", {"a": ["x", "y"]}),
        ("a:\n- x\n- y\nb: 1", {"a": ["x", "y"], "b": 1}),
        ("a: [x, y]", {"a": ["x", "y"]}),
        ("a: {x: 1}", {"a": {"x": 1}}),
        ("a: 'it''s'", {"a": "it's"}),
        ("a: |\n  one\n  two: 2\nb: 1", {"a": "one\ntwo: 2\n", "b": 1}),
        ("a: >\n  one\n  two", {"a": "one two\n"}),
        ("a: word\n  and more", {"a": "word and more"}),
        ("a:\n  2024: in Lyon\n  true: x", {"a": {"2024": "in Lyon", "True": "x"}}),
        ("a: 1\n\n# comment\nb: 2", {"a": 1, "b": 2}),
        ("tag-name: 1\n'quoted name': 2", {"tag-name": 1, "quoted name": 2}),
        ("a: http://x.org/#top", {"a": "http://x.org/#top"}),
    ],
)
def test_yaml_is_read_as_a_person_means_it(head: str, fields: dict[str, Any]) -> None:
    """Times, yes and no, numbers with a leading zero stay texts."""
    assert read_fields(head) == fields


@pytest.mark.parametrize(
    "head",
    [
        "a: [1, 2",
        "a: 'open",
        "- just\n- a list",
        "only words",
        "a: b: c",
        "\ta: 1",
        "a: &x [*x]",
        "a: !!python/object:os.system {}",
        "a: " + "[" * 5000,
        "a: " + "[" * 150 + "]" * 150 + "  # too deep for anything that a person means",
    ],
    ids=lambda head: head[:20],
)
def test_what_is_neither_is_reported(head: str) -> None:
    """With a message, and never as another kind of error."""
    with pytest.raises(UnreadableFileError):
        read_fields(head)


def test_an_error_counts_the_lines_as_the_person_does() -> None:
    """In the file, which begins with ``---``; although our own lines aren't given to the YAML reader."""
    with pytest.raises(UnreadableFileError, match="line 5"):
        read_fields('role: memory\ntext: "x"\nspace: default\ntags: [a, b')


def test_an_alias_is_refused_by_name() -> None:
    """A few lines of them would stand for gigabytes."""
    bomb = "a: &a [x, x]\n" + "".join(
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in pairwise("abcdefghij")
    )
    with pytest.raises(UnreadableFileError, match=r"says \*a; write out"):
        read_fields(bomb)


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ("role: [memory", "line 2: expected ',' or ']', but got the end."),
        ("id: x\n a: b: c", "line 3: mapping values are not allowed here."),
        ("id: \x01", "special characters are not allowed."),
    ],
)
def test_what_is_no_yaml_is_told_in_a_few_words(head: str, says: str) -> None:
    """What is wrong and in which line of the file; nothing of the reader's own talk."""
    with pytest.raises(UnreadableFileError) as error:
        read_fields(head)
    assert str(error.value) == f"the front matter isn't YAML: {says}"
