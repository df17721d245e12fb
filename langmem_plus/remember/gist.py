"""What stays of a conversation: what was talked about, what was decided, what is open; pure, no I/O.

An archive's text is the truth, which a person may edit: a line for each of what happened, ``Decided:`` and ``Open:``
lines, and one of ``Topics:``. Its metadata has the same in parts, and the names.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langmem_plus.prompts import Archived
from langmem_plus.records import MemoryRecord, unique
from langmem_plus.remember.beside import bare, is_telling, lines_of
from langmem_plus.remember.choices import choices_of
from langmem_plus.remember.fact_records import retire
from langmem_plus.remember.key_phrases import find_phrases
from langmem_plus.remember.named import find_names
from langmem_plus.remember.points import extract_points, open_question
from langmem_plus.remember.sentences import ends_question, own_words, sentences
from langmem_plus.remember.simhash import near_duplicate
from langmem_plus.remember.statements import find_statements
from langmem_plus.remember.tombstones import EMPTIED
from langmem_plus.text import words

UNREAD = "unread"  # in an archive's metadata: the ids of the turns that rules have read, and no model yet
LASTING = "lasting"  # in an archive's metadata: the fingerprints of the lines that nothing made anew takes away
_TAGS = 8
_DECIDED, _OPEN, _TOPICS = "Decided: ", "Open: ", "Topics: "
_MARKS = (_DECIDED, _OPEN, _TOPICS)
_LONGEST_LINE, _LONGEST_NAME = 600, 80  # characters; what a model or a person makes longer is cut
_ROOM = 2  # an archive has room for so many times the points of a summary: it stands when all else is gone
_FEWEST_WORDS = 3  # of what tells what somebody wanted


@dataclass(frozen=True)
class Gist:
    """What stays of a conversation; empty where nothing was said that stays.

    Attributes:
        told: what was talked about and what came of it, a line each.
        topics: what it was about.
        names: who and what is named in it.
        decisions: what was decided.
        questions: what is left open.
    """

    told: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.told or self.decisions or self.questions)

    @property
    def lines(self) -> list[str]:
        """The lines of the text."""
        topics = [_TOPICS + ", ".join(self.topics)] if self.topics else []
        decided, open_ = [_DECIDED + each for each in self.decisions], [_OPEN + each for each in self.questions]
        return [*self.told, *decided, *open_, *topics]

    @property
    def text(self) -> str:
        """The text, as a person reads it."""
        return "\n".join(self.lines)

    @property
    def metadata(self) -> dict[str, Any]:
        """The parts, as they stand in a record's metadata."""
        return {
            "summary": " ".join(self.told),
            "topics": list(self.topics),
            "entities": list(self.names),
            "decisions": list(self.decisions),
            "open_questions": list(self.questions),
        }


def tags_of(gist: Gist) -> list[str]:
    """What the record is tagged with: topics, then names."""
    return unique(term.casefold() for term in (*gist.topics, *gist.names))[:_TAGS]


def read_gist(record: MemoryRecord | None) -> Gist:
    """The parts of an archive, read from its text; the names, which no line of it lists, from its metadata."""
    if record is None:
        return Gist()
    lines = [line.strip() for line in record.text.splitlines() if line.strip()]

    def after(mark: str) -> list[str]:
        return [line.removeprefix(mark).strip() for line in lines if line.startswith(mark)]

    topics = [topic.strip() for line in after(_TOPICS) for topic in line.split(",")]
    known = record.metadata.get("entities")
    return Gist(
        told=tuple(line for line in lines if not line.startswith(_MARKS)),
        topics=tuple(filter(None, topics)),
        names=tuple(name for name in known if isinstance(name, str)) if isinstance(known, list) else (),
        decisions=tuple(filter(None, after(_DECIDED))),
        questions=tuple(filter(None, after(_OPEN))),
    )


# what lasts


def lasting(record: MemoryRecord | None) -> Gist:
    """The lines that nothing made anew takes away: a person's, which the metadata doesn't have, and those marked."""
    return _lasting(record) if record is not None and record.status == "active" else Gist()


def _lasting(record: MemoryRecord) -> Gist:
    gist, known = read_gist(record), record.metadata
    marks = set(known[LASTING]) if isinstance(known.get(LASTING), list) else set()
    summary = f" {known.get('summary') or ''} "

    def beside(lines: Sequence[str], name: str) -> tuple[str, ...]:
        made = known[name] if isinstance(known.get(name), list) else []
        return tuple(line for line in lines if line not in made or _fingerprint(line) in marks)

    told = tuple(line for line in gist.told if f" {line} " not in summary or _fingerprint(line) in marks)
    return Gist(told, decisions=beside(gist.decisions, "decisions"), questions=beside(gist.questions, "open_questions"))


def marks_of(kept: Gist, standing: Gist) -> dict[str, list[str]]:
    """The metadata that marks those lasting lines that still stand."""
    lines = {*standing.told, *standing.decisions, *standing.questions}
    found = unique(_fingerprint(each) for each in (*kept.told, *kept.decisions, *kept.questions) if each in lines)
    return {LASTING: found} if found else {}


def _fingerprint(line: str) -> str:
    return hashlib.sha256(line.encode("utf-8", "backslashreplace")).hexdigest()[:12]


# by rules


def gist_by_rules(
    previous: Gist,
    turns: Sequence[MemoryRecord],
    max_items: int,
    duplicate_distance: int,
    *,
    summary: Sequence[str] = (),
    facts: Sequence[MemoryRecord] = (),
) -> Gist:
    """What stays of a conversation in the user's own words: statements, choices, the last question nobody answered,
    names, and the words that are said most.

    Args:
        previous: what stays of what came before.
        turns: the new turns, the oldest first.
        max_items: entries of each kind at most.
        duplicate_distance: bits in which the fingerprints of near-duplicates may differ.
        summary: the points of the thread's rolling summary, which go first.
        facts: what is known from the conversation.
    """
    room = _ROOM * max_items
    given = [point for point in summary if not ends_question(point)]
    before = _apart([*previous.told, *given], duplicate_distance)
    made = extract_points(before, turns, room + 1, duplicate_distance)
    stated = [point for point in made if not ends_question(point)]
    beside = [*(line for line in before if ends_question(line)), *_beside(turns, max_items)]
    texts = [own_words(turn.text) for turn in turns if turn.role == "user"]
    named = unique([*previous.names, *(name for text in texts for name in _names(text))])
    topics = unique([*previous.topics, *_topics(texts, facts)])
    said = [each for turn in turns if turn.role == "user" for each in choices_of(turn)]
    chosen = _apart(_unmarked([*previous.decisions, *said]), duplicate_distance)
    questions = _unmarked(_open_questions(previous, turns))
    told = _apart(_unmarked([*stated, *beside]), duplicate_distance)
    rest = [line for line in told if line not in (*chosen, *questions)] or told
    others = [line for line in rest if line not in stated]
    kept = _most_telling(others, room + 1 - (len(rest) - len(others)))
    rest = [line for line in rest if line not in others or line in kept]
    return _bounded(Gist(tuple(rest), tuple(topics), tuple(named), tuple(chosen), tuple(questions)), max_items)


def _beside(turns: Sequence[MemoryRecord], max_items: int) -> list[str]:
    """What the user said beside statements: of each turn what it begins with, and what has figures or names."""
    found: list[str] = []
    for turn in turns:
        if turn.role == "user":
            stated = [statement.text for statement in find_statements(turn.text, max_items)]
            found += [bare(line) for line in lines_of(turn, stated)]
    return [line for line in found if len(words(line)) >= _FEWEST_WORDS]


def _most_telling(lines: Sequence[str], room: int) -> list[str]:
    """So many lines, in their order: those with figures or names first, and the newest of those that tell as much."""
    ranked = sorted(range(len(lines)), key=lambda place: (is_telling(lines[place]), place), reverse=True)
    return [line for place, line in enumerate(lines) if place in set(ranked[: max(room, 0)])]


def _apart(lines: Sequence[str], distance: int) -> list[str]:
    """The lines without those that say the same as an earlier one."""
    kept: list[str] = []
    for line in (" ".join(line.split()) for line in lines):
        if line and all(not near_duplicate(line, other, distance) for other in kept):
            kept.append(line)
    return kept


def _open_questions(previous: Gist, turns: Sequence[MemoryRecord]) -> list[str]:
    """The last question that nobody answered, whoever asked it; an earlier one where nobody spoke since."""
    if not turns:
        return list(previous.questions)
    asked = open_question(turns)
    last = turns[-1]
    if asked is None and last.role == "assistant":
        said = sentences(last.text)
        asked = said[-1] if said and ends_question(said[-1]) else None
    answered = any(turn.role == "assistant" for turn in turns)
    return [*([] if answered else previous.questions), *([asked] if asked else [])]


def _topics(texts: Sequence[str], facts: Sequence[MemoryRecord]) -> list[str]:
    """What was said is about, by key phrases, the surest and most frequent first; then what the facts are about."""
    found: Counter[str] = Counter()
    for phrase in (phrase for text in texts for sentence in sentences(text) for phrase in find_phrases(sentence)):
        found[phrase.text.casefold()] += round(100 * phrase.confidence)
    tags = Counter(tag.casefold() for fact in facts for tag in fact.tags)
    return unique([*(topic for topic, _ in found.most_common()), *(tag for tag, number in tags.items() if number > 1)])


def _names(text: str) -> list[str]:
    return [name.text for sentence in sentences(text) for name in find_names(sentence)]


# by a model


def gist_by_answer(answer: Archived, previous: Gist, said: str, max_items: int, duplicate_distance: int) -> Gist:
    """What stays by a model's answer: its names are those that were said, and its lists have no repeats.

    Args:
        answer: the answer.
        previous: what stays of what came before.
        said: all that was said, and known before.
        max_items: entries of each list at most.
        duplicate_distance: bits in which the fingerprints of near-duplicates may differ.
    """
    known = said.casefold()
    named = [name for name in map(str.strip, answer.entities) if name and name.casefold() in known]
    told = tuple(" ".join(line.split()) for line in answer.summary.splitlines() if line.strip())
    made = Gist(
        told=_unmarked(told),
        topics=tuple(unique(filter(None, (" ".join(topic.split()) for topic in answer.topics)))),
        names=tuple(unique([*named, *(name for name in previous.names if name not in named)])),
        decisions=tuple(_apart(_unmarked(answer.decisions), duplicate_distance)),
        questions=tuple(_apart(_unmarked(answer.open_questions), duplicate_distance)),
    )
    return _bounded(made, max_items)


def _unmarked(lines: Sequence[str]) -> tuple[str, ...]:
    """Lines that don't pass for a line of another kind."""
    return tuple(filter(None, map(unmarked, (" ".join(line.split()) for line in lines))))


def unmarked(line: str) -> str:
    """A line without what says of which kind it is."""
    while line.startswith(_MARKS):
        line = line.partition(": ")[2].strip()
    return line


def _bounded(gist: Gist, max_items: int) -> Gist:
    """Each list with its newest entries, none too long; of topics and names the first are the best."""

    def cut(lines: Sequence[str], limit: int) -> tuple[str, ...]:
        return tuple(line if len(line) <= limit else f"{line[:limit].rstrip()} …" for line in lines)

    return Gist(
        told=cut(gist.told[: _ROOM * max_items + 1], _LONGEST_LINE * _ROOM),
        topics=tuple(topic.replace(",", " ") for topic in cut(gist.topics[: _ROOM * max_items], _LONGEST_NAME)),
        names=cut(gist.names[: _ROOM * max_items], _LONGEST_NAME),
        decisions=cut(gist.decisions[-max_items:], _LONGEST_LINE),
        questions=cut(gist.questions[-max_items:], _LONGEST_LINE),
    )


# without something


def without(gist: Gist, says: Callable[[str], bool]) -> Gist:
    """The gist without what says something that is to be forgotten, and without the names and topics that stood in such
    lines alone.
    """
    gone = [line for line in (*gist.told, *gist.decisions, *gist.questions) if says(line)]
    if not gone:
        return gist

    def kept(lines: Sequence[str]) -> tuple[str, ...]:
        left = []
        for line in lines:
            if line in gone:  # of a paragraph, the other sentences stay
                line = " ".join(each for each in sentences(line) if not says(each)) if len(sentences(line)) > 1 else ""
            if line and not says(line):
                left.append(line)
        return tuple(left)

    left = replace(gist, told=kept(gist.told), decisions=kept(gist.decisions), questions=kept(gist.questions))
    before, now = "\n".join(gone).casefold(), "\n".join((*left.told, *left.decisions, *left.questions)).casefold()

    def still(terms: Sequence[str]) -> tuple[str, ...]:
        return tuple(term for term in terms if term.casefold() in now or term.casefold() not in before)

    return replace(left, topics=still(left.topics), names=still(left.names))


def parts_left(record: MemoryRecord, left: Gist, says: Callable[[str], bool] = lambda line: False) -> dict[str, Any]:
    """An archive's metadata with the parts that are left of it without what ``says`` it; what is left of the lines that
    lasted still lasts, in a tombstone, too.
    """
    metadata = {name: value for name, value in record.metadata.items() if name != LASTING}
    return {**metadata, **left.metadata, **marks_of(without(_lasting(record), says), left)}


def without_statement(
    record: MemoryRecord, says: Callable[[str], bool], now: dt.datetime, *, shares: Callable[[str], bool] | None = None
) -> MemoryRecord:
    """An archive without what says something that is to be forgotten, or shares a word of its own with it; the record
    itself where nothing does, and its tombstone where nothing is left. What a model has still to read of it, it
    doesn't.
    """
    before = read_gist(record)
    goes = says if shares is None else lambda line: says(line) or shares(line)
    left = without(before, goes)
    if shares is not None:
        topics, names = (tuple(each for each in terms if not shares(each)) for terms in (left.topics, left.names))
        left = replace(left, topics=topics, names=names)
    if left == before and UNREAD not in record.metadata:
        return record
    if not left:
        return retire(record, now, EMPTIED)
    changed = {} if left == before else {"text": left.text, "tags": tags_of(left)}
    metadata = parts_left(record, left, goes) if changed else record.metadata
    metadata = {name: value for name, value in metadata.items() if name != UNREAD}
    return record.model_copy(update={**changed, "metadata": metadata, "updated_at": now})
