"""Cut a text into chunks that can be found and cited: at headings, then at paragraphs, then at sentences.

A chunk is a span of its text, so nothing is lost, and its lines can be named. Chunks keep to one section; where a
section is longer than a chunk, the next one begins with the last sentences of the one before.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langmem_plus.tokens import TokenCounter

# A cut is moved back to the end of a paragraph or of a sentence that lies in the last so much of the chunk.
_LAST_PART = 0.5
# No more than so many characters of a run without any end are counted at a time for each token that is wanted.
_CHARACTERS = 12

_HEADING = re.compile(r"[ ]{0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r"[ ]{0,3}(=+|-{2,})[ \t]*$")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})(.*)$")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
# Where a text may be cut: after each line, and after what ends a sentence.
_END = re.compile(r"\n|[.!?…]+[\"'”’)\]]*(?=[ \t])[ \t]+|[。！？｡]+[」』”’）]*")
_SENTENCE = re.compile(r"[.!?…。！？｡:;][\"'”’)\]」』）*_`]*\s*$")


@dataclass(frozen=True)
class Chunk:
    """A span of a document.

    Attributes:
        text: what it says, without blank space around it.
        headings: those that it stands under, the outermost first.
        ordinal: its place in the document, from 0.
        start_line: its first line, from 1.
        end_line: its last line.
    """

    text: str
    headings: tuple[str, ...]
    ordinal: int
    start_line: int
    end_line: int

    @property
    def shown(self) -> str:
        """The text below its headings, which is what is searched."""
        return f"{' > '.join(self.headings)}\n{self.text}" if self.headings else self.text


@dataclass(frozen=True)
class _Section:
    """What stands under a heading: from where to where, and the headings above."""

    start: int
    end: int
    headings: tuple[str, ...]


@dataclass(frozen=True)
class _Unit:
    """What isn't cut: a sentence or a line; ``rank`` tells how well a chunk may end after it."""

    start: int
    end: int
    tokens: int
    rank: int


def normalise(text: str) -> str:
    """The text with one kind of line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def split(text: str, measure: TokenCounter, limit: int, overlap: int = 0) -> list[Chunk]:
    """The chunks of a document, in order.

    Every word of the text is in one of them at least; headings that are followed by nothing but deeper headings only
    stand in the headings of those.

    Args:
        text: with line ends as `normalise` leaves them.
        measure: counts tokens.
        limit: tokens of a chunk at most.
        overlap: tokens at most with which a chunk repeats the end of the one before it in the same section.
    """
    newlines = [match.start() for match in re.finditer("\n", text)]
    chunks: list[Chunk] = []
    for section in sections(text):
        units = list(_units(text, section, measure, limit))
        for start, end in _pack(text, units, measure, limit, overlap):
            body = text[start:end]
            left = start + len(body) - len(body.lstrip())
            right = start + len(body.rstrip())
            if left < right:
                first, last = bisect_right(newlines, left - 1) + 1, bisect_left(newlines, right - 1) + 1
                chunks.append(Chunk(text[left:right], section.headings, len(chunks), first, last))
    return chunks


def title_of(text: str) -> str:
    """The document's first heading, or nothing."""
    return next((found.headings[0] for found in sections(text) if found.headings), "")


# sections


def sections(text: str) -> list[_Section]:
    """The parts of a text by its Markdown headings; code in fences has none."""
    found: list[_Section] = []
    open_headings: list[tuple[int, str]] = []
    start, only_heading = 0, False
    for place, level, title, after in _headings(text):
        blank = only_heading and not text[_line_end(text, start) : place].strip()
        # A heading without words of its own stands above the next one, if that is a deeper one.
        if place > start and not (blank and level > open_headings[-1][0]):
            found.append(_Section(start, place, tuple(name for _, name in open_headings)))
        open_headings = [(depth, name) for depth, name in open_headings if depth < level]
        open_headings.append((level, title))
        start, only_heading = place, after == _line_end(text, place)
    found.append(_Section(start, len(text), tuple(name for _, name in open_headings)))
    return found


def _headings(text: str) -> Iterator[tuple[int, int, str, int]]:
    """Each heading: where it begins, its level, its words, and where it ends."""
    front = _FRONT_MATTER.match(text)
    fence, before = "", ("", 0)
    place = front.end() if front else 0
    while place < len(text):
        end = _line_end(text, place)
        line = text[place:end].rstrip("\n")
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
            before = ("", place)
        elif mark:
            fence, before = mark[1], ("", place)
        elif heading := _HEADING.match(line):
            if title := (heading[2] or "").strip():
                yield place, len(heading[1]), title, end
            before = ("", place)
        elif before[0] and (under := _UNDERLINE.match(line)):
            yield before[1], 1 if under[1].startswith("=") else 2, before[0], end
            before = ("", place)
        else:
            # What is underlined is one line after a blank one; lists, quotes and tables are no headings.
            plain = line.strip() and line[0] not in " \t>|-*+`#" and not before[0] and _is_blank_before(text, place)
            before = (line.strip(), place) if plain else ("", place)
        place = end


def _line_end(text: str, place: int) -> int:
    found = text.find("\n", place)
    return len(text) if found < 0 else found + 1


def _is_blank_before(text: str, place: int) -> bool:
    return place == 0 or not text[max(0, text.rfind("\n", 0, place - 1)) : place].strip()


# units


def _units(text: str, section: _Section, measure: TokenCounter, limit: int) -> Iterator[_Unit]:
    """The sentences and lines of a section, one after the other; what is longer than a chunk is cut where it fits."""
    start = section.start
    for end in ends(text, section.start, section.end):
        if text[start:end].strip() or end == section.end:
            yield from _fitting(text, start, end, measure, limit)
            start = end


def ends(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Where the lines and the sentences of a part of a text end; the last one is the part's end."""
    stop = len(text) if end is None else end
    for match in _END.finditer(text, start, stop):
        if match.end() < stop:
            yield match.end()
    yield stop


def _fitting(text: str, start: int, end: int, measure: TokenCounter, limit: int) -> Iterator[_Unit]:
    while start < end:
        piece = text[start : min(end, start + _CHARACTERS * limit)]
        tokens = measure.count(piece)
        if start + len(piece) < end or tokens > limit:
            kept = measure.clip(piece, limit)
            # Blank space that a clip leaves out, or a character that alone is longer than a chunk, isn't lost.
            stop = start + max(len(kept), 1)
        else:
            stop = end
        yield _Unit(start, stop, measure.count(text[start:stop]), _rank(text, start, stop))
        start = stop


def _rank(text: str, start: int, end: int) -> int:
    """2 where a paragraph ends, 1 where a sentence does."""
    if not text[end : _line_end(text, end)].strip() and text[:end].endswith("\n"):
        return 2
    return int(bool(_SENTENCE.search(text, max(start, end - 200), end)))


# chunks


def _pack(
    text: str, units: Sequence[_Unit], measure: TokenCounter, limit: int, overlap: int
) -> Iterator[tuple[int, int]]:
    """From where to where each chunk of a section goes."""
    first, before = 0, -1
    while first < len(units):
        last = _fill(text, units, first, measure, limit)
        if last <= before:  # what is repeated leaves no room for anything new
            first = before + 1
            last = _fill(text, units, first, measure, limit)
        if last + 1 < len(units):
            last = _cut(units, first, last, before)
        yield units[first].start, units[last].end
        if last + 1 == len(units):
            return
        first, before = _overlapping(units, first, last, overlap), last


def _fill(text: str, units: Sequence[_Unit], first: int, measure: TokenCounter, limit: int) -> int:
    """The last unit that fits into a chunk that begins with the first one."""
    last, total = first, units[first].tokens
    while last + 1 < len(units) and total + units[last + 1].tokens <= limit:
        last += 1
        total += units[last].tokens
    # Tokens don't quite add up: texts that were counted apart may take one more together.
    while last > first and measure.count(text[units[first].start : units[last].end].strip()) > limit:
        last -= 1
    return last


def _cut(units: Sequence[_Unit], first: int, last: int, before: int) -> int:
    """The unit to end with, further on than the chunk ``before``: of those in the chunk's last part, one that ends a
    paragraph, else a sentence.
    """
    least = units[first].start + _LAST_PART * (units[last].end - units[first].start)
    fit = [place for place in range(max(first, before + 1), last + 1) if units[place].end >= least]
    return max(fit, key=lambda place: (units[place].rank, place))


def _overlapping(units: Sequence[_Unit], first: int, last: int, overlap: int) -> int:
    """The unit to go on with: as many of the last ones again as the overlap allows, but never the whole chunk."""
    following, spent = last + 1, 0
    while following - 1 > first and (spent := spent + units[following - 1].tokens) <= overlap:
        following -= 1
    return following
