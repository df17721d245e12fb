"""Which records an archive tells, and what has to stay in it: pure, no I/O.

What is erased for good stands in an archive alone, so a line that tells it isn't taken away by what is made anew, nor
is one that a person wrote (`gist.lasting`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from langmem_plus.records import TURN_ROLES, MemoryRecord, unique
from langmem_plus.remember.beside import bare, lines_of
from langmem_plus.remember.gist import Gist, lasting, unmarked
from langmem_plus.remember.simhash import NEGATIONS
from langmem_plus.remember.tombstones import EMPTIED
from langmem_plus.speakers import Voice
from langmem_plus.text import tokens, words

KEPT_OUT = "kept_out"  # in an archive's metadata: the ids of what earlier ones had read that were forgotten
_LONGEST_LINE = 240  # characters of a sentence that tells a turn
_ENOUGH = 0.6  # of the words of a sentence, in one line that tells it in other words
_MOST = 0.5  # of the words of an earlier line, in an answer that takes it in
_NAMED = re.compile(r"([^.!?:\n]{1,80}): ")
_CUT = " …"
_END = " .,;:!?…)]\"'’”»。、，；：！？）"  # what may stand behind a statement
_UNTIL = re.compile(r" \(until \d{4}-\d\d-\d\d\)$")
_FEWEST_WORDS = 3
_DIGIT = re.compile(r"\d")


def apart(gist: Gist, kept: Gist) -> Gist:
    """A gist without the lines that last."""
    return replace(
        gist,
        told=tuple(each for each in gist.told if each not in kept.told),
        decisions=tuple(each for each in gist.decisions if each not in kept.decisions),
        questions=tuple(each for each in gist.questions if each not in kept.questions),
    )


def joined(made: Gist, kept: Gist) -> Gist:
    """A gist, and behind it the lines that last; what says the same as one of these isn't told twice."""
    said = {_plain(line) for line in (*kept.told, *kept.decisions, *kept.questions)}

    def both(lines: Sequence[str], last: Sequence[str]) -> tuple[str, ...]:
        return tuple(unique([*(line for line in lines if _plain(line) not in said), *last]))

    return replace(
        made,
        told=both(made.told, kept.told),
        decisions=both(made.decisions, kept.decisions),
        questions=both(made.questions, kept.questions),
    )


def taken_in(made: Gist, previous: Gist) -> Gist:
    """A model's answer, and behind it what stood there and the answer doesn't take in: what it has not most words of,
    or not each number. What was open and is so no more may go.
    """
    text = set(tokens(made.text))

    def left(lines: Sequence[str]) -> tuple[str, ...]:
        return tuple(line for line in lines if not _is_taken(line, text))

    return joined(made, Gist(told=left(previous.told), decisions=left(previous.decisions)))


def _is_taken(line: str, text: set[str]) -> bool:
    content = set(tokens(line))
    details = {each for each in content if _DIGIT.search(each)}
    return details <= text and len(content & text) >= _MOST * len(content)


# which record an archive tells


@dataclass(frozen=True)
class _Line:
    """A line as it is compared: what it says, who is named before a colon, its search tokens, those of its numbers and
    of the name, and whether it denies.
    """

    said: str
    name: str
    content: frozenset[str]
    details: frozenset[str]
    denies: bool

    @classmethod
    def of(cls, text: str) -> _Line:
        named = _NAMED.match(text)
        denies = not NEGATIONS.isdisjoint(words(text))
        name, content = named[1].casefold() if named else "", frozenset(tokens(text))
        details = {*tokens(name), *(each for each in content if _DIGIT.search(each))}
        return cls(_plain(text), name, content, frozenset(details), denies)

    @classmethod
    def read(cls, line: str) -> list[_Line]:
        """A line of an archive, without its mark, and without the day at its end; with them, too, because people may be
        called like a mark, and end what they say like that.
        """
        said = line.strip()
        plain = [_UNTIL.sub("", said), said]
        return [cls.of(text) for text in unique([*map(unmarked, plain), *plain])]

    def says(self, other: _Line) -> bool:
        """Whether it says another line word for word, of the same one; few words are only found as a whole."""
        if self.name not in ("", other.name) and self.name not in other.said:
            return False
        if len(other.said.split()) < _FEWEST_WORDS and other.said.isascii():
            return self.said == other.said
        start = self.said.find(other.said)
        while start >= 0:
            before, after = self.said[:start][-1:], self.said[start + len(other.said) :][:1]
            if not before.isalnum() and not after.strip(_END):
                return True
            start = self.said.find(other.said, start + 1)
        return False

    def holds(self, other: _Line) -> bool:
        """Whether it holds most words of another line, each number among them, of the same one."""
        wanted = other.content
        if len(wanted) < 2 or self.denies != other.denies or self.name not in ("", other.name):
            return False
        return other.details <= self.content and len(wanted & self.content) >= _ENOUGH * len(wanted)


class Told:
    """What the lines of an archive tell."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines: list[_Line] = []
        for line in unique(lines):
            self.add(line)

    @classmethod
    def by(cls, archive: MemoryRecord | None) -> Told:
        """What an archive in force tells, line by line."""
        return cls(archive.text.splitlines() if archive is not None and archive.status == "active" else ())

    def add(self, line: str) -> None:
        """Take in one more line."""
        self._lines += _Line.read(line)

    def has(self, statement: str) -> bool:
        """Whether a line says a statement, word for word and of the one who said it."""
        wanted = _Line.of(statement)
        return not wanted.said or any(line.says(wanted) for line in self._lines)

    def tells(self, statement: str) -> bool:
        """Whether a line says a statement, or most of it in other words."""
        wanted = _Line.of(statement)
        return self.has(statement) or any(line.holds(wanted) for line in self._lines)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(_END)


def fact_line(fact: MemoryRecord) -> str:
    """The line that tells a fact: what it says, whole; until when, where something replaced it."""
    said = _shown(fact)
    return f"{said.rstrip(_END)} (until {fact.updated_at:%Y-%m-%d})" if fact.status == "superseded" else said


def dated(gist: Gist, replaced: Sequence[MemoryRecord]) -> Gist:
    """A gist of which the lines that say a replaced fact, and no more, tell until when it held."""
    lines = {_plain(_shown(fact)): fact_line(fact) for fact in replaced}
    return replace(gist, told=tuple(unique(lines.get(_plain(line), line) for line in gist.told)))


def _shown(fact: MemoryRecord) -> str:
    return " ".join(Voice.of(fact).shown.split())


def turn_lines(turn: MemoryRecord) -> list[str]:
    """The lines that tell a turn where no fact does: its sentences but for small talk; of a reply, the first."""
    lines = [_short(bare(line)) for line in lines_of(turn, ())]
    return lines if turn.role == "user" else lines[:1]


def _short(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    start = line[:_LONGEST_LINE]
    return (start.rpartition(" ")[0] or start) + _CUT


class Telling:
    """Which records of a conversation its archive tells, and the lines that it lacks.

    A fact is told by a line that says it; a turn by one of its sentences or by a fact that was drawn from it; a reply
    with the turn that it answers. What says nothing but small talk needs no line.
    """

    def __init__(self, told: Told, records: Sequence[MemoryRecord]) -> None:
        self.told = told
        self.facts = [record for record in records if record.role == "memory"]
        self.turns = [record for record in records if record.role in TURN_ROLES]
        self._lines: dict[str, list[str]] = {}  # of a turn, which may be long

    def missing(self) -> list[str]:
        """The lines that have to be there before the records may go; they count as told from now on."""
        found: list[str] = []

        def add(line: str) -> None:
            found.append(line)
            self.told.add(line)

        for fact in self.facts:
            if not self._has_fact(fact):
                add(fact_line(fact))
        sources = self._sources()
        asked = {_number(turn) for turn in self.turns if turn.role == "user"} - {0}
        for turn in self.turns:
            if turn.id in sources or (turn.role == "assistant" and _number(turn) in asked):
                continue
            for line in self._lines_of(turn):
                if not self._has_line(line):
                    add(line)
        return found

    def of(self, gist: Gist) -> Gist:
        """Those lines that tell one of the records."""
        said = [*map(_shown, self.facts), *(line for turn in self.turns for line in self._lines_of(turn))]
        wanted = [_Line.of(line.removesuffix(_CUT)) for line in said]

        def is_wanted(told: _Line) -> bool:
            return any(told.says(each) or told.holds(each) for each in wanted)

        def left(lines: Sequence[str]) -> tuple[str, ...]:
            return tuple(line for line in lines if any(map(is_wanted, _Line.read(line))))

        return Gist(left(gist.told), decisions=left(gist.decisions), questions=left(gist.questions))

    def untold(self) -> list[MemoryRecord]:
        """The records that no line tells."""
        sources = self._sources()
        silent = [turn for turn in self.turns if turn.id not in sources and not self._has_turn(turn)]
        asked = {_number(turn) for turn in self.turns if turn.role == "user" and turn not in silent} - {0}
        replies = [turn for turn in silent if turn.role == "assistant" and _number(turn) not in asked]
        facts = [fact for fact in self.facts if not self._has_fact(fact)]
        return [*facts, *(turn for turn in silent if turn.role == "user"), *replies]

    def _has_fact(self, fact: MemoryRecord) -> bool:
        return self.told.has(_shown(fact))

    def _has_turn(self, turn: MemoryRecord) -> bool:
        lines = self._lines_of(turn)
        return not lines or any(map(self._has_line, lines))

    def _lines_of(self, turn: MemoryRecord) -> list[str]:
        if turn.id not in self._lines:
            self._lines[turn.id] = turn_lines(turn)
        return self._lines[turn.id]

    def _has_line(self, line: str) -> bool:
        return self.told.tells(line.removesuffix(_CUT))

    def _sources(self) -> set[str]:
        return {source for fact in self.facts if self._has_fact(fact) for source in fact.source_ids}


def not_lasting(records: Sequence[MemoryRecord], archive: MemoryRecord | None) -> list[MemoryRecord]:
    """The records that no lasting line of an archive tells, whatever its status, and that aren't kept out of it."""
    out = kept_out(archive)
    return [each for each in Telling(Told(lasting(archive).lines), records).untold() if not is_out(each, out)]


def kept_out(archive: MemoryRecord | None) -> set[str]:
    """The ids of what archives of a conversation had read that their owner forgot: no later one tells it."""
    if archive is None:
        return set()
    found = archive.metadata.get(KEPT_OUT)
    before = {str(each) for each in found} if isinstance(found, list) else set[str]()
    is_forgotten = archive.status != "active" and archive.metadata.get("reason") != EMPTIED
    return {*before, *archive.source_ids} if is_forgotten else before


def is_out(record: MemoryRecord, out: set[str]) -> bool:
    """Whether a record is kept out, or was drawn from what is."""
    return record.id in out or not out.isdisjoint(record.source_ids)


def _number(turn: MemoryRecord) -> int:
    """The number of the exchange that a turn belongs to; 0 where nobody knows."""
    number = turn.metadata.get("turn")
    return number if isinstance(number, int) else 0
