"""Chunks are spans of their text: within the limit, in order, complete, and cited by their lines."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langmem_plus.documents.chunks import normalise, split, title_of
from langmem_plus.tokens import ApproximateCounter

MEASURE = ApproximateCounter()

LINES = st.sampled_from(
    [
        "# Title",
        "## Part",
        "### Detail",
        "#hashtag",
        "",
        "",
        "One sentence. Another one! A third?",
        "A line that is wrapped",
        "- an item of a list",
        "```",
        "# in code",
        "~~~",
        "Underlined",
        "===",
        "---",
        "你好。今天天气很好！",
        "word " * 40,
        "x" * 300,
        "  \t",
        "é́ 👩‍👩‍👧 end.",
    ]
)
TEXTS = st.lists(LINES, max_size=40).map("\n".join) | st.text(max_size=300).map(normalise)


def squeezed(text: str) -> str:
    """A text without blank space."""
    return re.sub(r"\s+", "", text)


class TestProperties:
    @given(TEXTS, st.integers(8, 60), st.integers(0, 7))
    @settings(max_examples=150)
    def test_a_chunk_is_its_lines(self, text: str, limit: int, overlap: int) -> None:
        """Each chunk stands in the lines that it names, keeps to the limit, and has no blank ends."""
        lines = text.split("\n")
        for place, chunk in enumerate(split(text, MEASURE, limit, overlap)):
            assert chunk.ordinal == place
            assert chunk.text == chunk.text.strip() != ""
            assert chunk.text in "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
            assert chunk.text.count("\n") == chunk.end_line - chunk.start_line
            assert MEASURE.count(chunk.text) <= limit or len(chunk.text) == 1

    @given(TEXTS, st.integers(8, 60), st.integers(0, 7))
    @settings(max_examples=150)
    def test_nothing_is_lost(self, text: str, limit: int, overlap: int) -> None:
        """Every character stands in a chunk or in the headings of one, in order; a chunk gets further than the last."""
        chunks = split(text, MEASURE, limit, overlap)
        held = squeezed("".join(f"{chunk.shown}\n" for chunk in chunks))
        for word in text.split():
            if not re.fullmatch(r"[#=\-]+", word):
                assert all(char in held for char in squeezed(word))
        plain = split(text, MEASURE, limit)
        body = squeezed("".join(chunk.text for chunk in plain))
        headings = squeezed("".join(name for chunk in plain for name in chunk.headings))
        assert len(body) + len(headings) >= len(squeezed(re.sub(r"^[ ]{0,3}(#{1,6}|=+|-{2,})", "", text, flags=re.M)))
        ends = [(chunk.end_line, chunk.start_line) for chunk in chunks]
        assert ends == sorted(ends, key=lambda end: end[0])

    @given(st.lists(st.sampled_from(["One sentence is here.", "Another."]), min_size=1, max_size=60))
    def test_the_overlap(self, sentences: list[str]) -> None:
        """Within a section each chunk begins with whole sentences of the one before, and goes on after it."""
        text = " ".join(sentences)
        chunks = split(text, MEASURE, 30, 10)
        assert squeezed(chunks[-1].text) == squeezed(text)[-len(squeezed(chunks[-1].text)) :]
        for before, after in itertools.pairwise(chunks):
            first = re.match(r"[^.]+\.", after.text)
            assert first is not None
            assert first[0] in before.text


class TestHeadings:
    def test_the_trail(self) -> None:
        """Headings of both kinds, the outermost first; what is deeper ends with what is higher."""
        text = "intro\n\n# A #\n\none\n\n### C\n\ntwo\n\nUnder\n-----\n\nthree\n\n# B\n\nfour"
        found = [(chunk.headings, chunk.text.split("\n")[-1]) for chunk in split(text, MEASURE, 100)]
        assert found == [
            ((), "intro"),
            (("A",), "one"),
            (("A", "C"), "two"),
            (("A", "Under"), "three"),
            (("B",), "four"),
        ]

    @pytest.mark.parametrize("fence", ["```", "~~~~", "```python"])
    def test_code_has_none(self, fence: str) -> None:
        """A comment in code is no heading."""
        closing = re.match(r"[`~]+", fence)
        assert closing is not None
        text = f"# A\n\n{fence}\n# a comment\n{closing[0]}\n\ntext"
        (chunk,) = split(text, MEASURE, 100)
        assert chunk.headings == ("A",)

    @pytest.mark.parametrize(
        "text", ["#tag", "a | b\n--- | ---", "- item\n---", "one\ntwo\n===", "---\ntitle: x\n---\n", "    # code"]
    )
    def test_what_is_none(self, text: str) -> None:
        """Tags, tables, rules, the end of a paragraph, front matter, code."""
        assert all(not chunk.headings for chunk in split(text, MEASURE, 100))

    def test_a_heading_alone_stands_above_what_follows(self) -> None:
        """It is no chunk of its own, unless nothing follows."""
        chunks = split("# A\n\n## B\n\ntext\n\n# Last", MEASURE, 100)
        assert [(chunk.headings, chunk.text) for chunk in chunks] == [
            (("A", "B"), "## B\n\ntext"),
            (("Last",), "# Last"),
        ]
        assert title_of("text\n\n## B") == "B"
        assert title_of("text") == ""


class TestCuts:
    def test_paragraphs_before_sentences(self) -> None:
        """A chunk ends where a paragraph does, where that lies in its second half."""
        text = "First one here, and more.\n\nSecond. And more of it. And still more of it."
        assert split(text, MEASURE, 12)[0].text == "First one here, and more."

    def test_sentences_before_words(self) -> None:
        """Else it ends where a sentence does, in scripts without spaces, too."""
        chunks = split("今天天气很好。我们去公园。" * 10, MEASURE, 20)
        assert all(chunk.text.endswith("。") for chunk in chunks)

    def test_a_line_without_end(self) -> None:
        """Two megabytes in one line are cut where they must be."""
        chunks = split("x" * 2_000_000, MEASURE, 800, 100)
        assert sum(len(chunk.text) for chunk in chunks) == 2_000_000
        assert {(chunk.start_line, chunk.end_line) for chunk in chunks} == {(1, 1)}
