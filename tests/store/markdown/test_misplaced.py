"""A front matter that isn't where it should be is told from a person's own text."""

from __future__ import annotations

import json
import logging
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.store.markdown.fields import UnreadableFileError
from langmem_plus.store.markdown.frontmatter import parse, render

NS = Scope("ann").namespace
THEN = "2026-05-01T10:00:00.000000Z"
ANY_TEXT = st.text(st.characters(codec=None))
NO_FIELD_OF_OURS = st.sampled_from(
    ["Note: tea", "Role: cook", "idea: id", "id", "> role: cook", "- id: 3", "# id: 3", "title: id: 3", "Ann, text: me"]
)
LINES = st.sampled_from(
    [
        *("---", "--", "* * *", "===", "", " ", "id: 3", "role: cook", "text: tea", "tags: [a]", "stored: {}", "a: b"),
        *("- tea", "  - green", "value: {}", "Ann likes tea.", "```"),
    ]
)
ABOVE = st.sampled_from(["", "\n", "\ufeff", " \n\t\n", "--\n", "----\n\n", "\u2014\n", "x-\n"])


def _read(text: str, path: str = "facts/note.md") -> Entry:
    return parse(text, PurePosixPath(path), NS, THEN)


@given(ABOVE, NO_FIELD_OF_OURS, st.lists(LINES, max_size=6))
def test_a_text_that_begins_otherwise_is_a_text(above: str, first: str, more: list[str]) -> None:
    """Whatever rules, lists and fields of ours follow further down, it is read word for word."""
    text = above + "\n".join([first, *more])
    assert _read(text).value["text"] == text.removeprefix("\ufeff").removesuffix("\n")


@pytest.mark.parametrize(
    "text",
    [
        "text: a headline\n---\nAnn likes tea.",  # Markdown's headline of the second order
        "text: tea\ntext: coffee\n---\nx",
        "role: cook\ntext: tea\nAnn likes tea.\n---\nx",
        "role: cook\ntext: tea\n",
        "role: cook\nstored: in the cellar",
        "\n---\nAnn likes tea.\n---\nrole: cook",
        "\n---\nNote: tea\n---\nx",
        "```\nid: 3\nrole: cook\n---\n```",
    ],
)
def test_a_text_with_a_word_of_ours_is_a_text(text: str) -> None:
    """One field before a rule is a headline, and without a rule there are no fields."""
    assert _read(text).value["text"] == text.removesuffix("\n")


@given(
    ANY_TEXT, st.booleans(), st.sampled_from(["", "--\n", "----\n", "\u2014\n", "x---\n", "\n- - -\n", "---\n---\n"])
)
def test_a_file_of_ours_whose_first_line_is_lost_is_named(text: str, is_record: bool, instead: str) -> None:
    """Whatever it holds, and whatever stands there instead; its closing line may be lost, too."""
    value = MemoryRecord(id="k", text=text, user_id="ann").to_value() if is_record else {"text": text, "n": 1}
    entry = Entry("k", json.loads(json.dumps(value)), THEN, THEN)
    path = "facts/k.md" if is_record else "items/k.md"
    whole = render(entry, NS)
    assert _read(f"\ufeff\n \n{whole}", path) == _read(whole, path) == entry
    broken = instead + whole.removeprefix("---\n")
    for each in (broken, broken.replace("}\n---\n", "}\n", 1)):
        with pytest.raises(UnreadableFileError, match="two lines '---'"):
            _read(each, path)


def test_the_store_names_what_a_slip_at_the_top_broke(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No front matter becomes a text; a blank line above it does no harm; what is mended is back."""
    config = MemoryConfig(sync_interval=0, embeddings="none", background=False)
    texts: dict[str, Any] = {"blank": "Ann likes tea.", "lost": "Ann likes coffee.", "empty": "Ann likes cocoa."}
    with MarkdownStore(tmp_path, index=None, config=config) as store:
        for key, text in texts.items():
            store.put(NS, key, MemoryRecord(id=key, text=text, user_id="ann").to_value())
        files = {key: next(tmp_path.rglob(f"*__{key}.md")) for key in texts}
        whole = {key: file.read_text("utf-8") for key, file in files.items()}
        files["blank"].write_text("\n" + whole["blank"], "utf-8")
        files["lost"].write_text(whole["lost"].replace("---", "--", 1), "utf-8")
        files["empty"].write_text(whole["empty"].removesuffix(f"{texts['empty']}\n"), "utf-8")
        with caplog.at_level(logging.WARNING):
            assert [item.value["text"] for item in store.search(NS)] == [texts["blank"]]
        assert store.unreadable().keys() == {files["lost"], files["empty"]}
        assert all(str(files[key]) in caplog.text for key in ("lost", "empty"))
        for key, text in whole.items():
            files[key].write_text(text, "utf-8")
        assert {item.value["text"] for item in store.search(NS)} == set(texts.values())
