"""The sections of the context: each record one line, in an order that doesn't depend on scores, within a budget."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from langmem_plus.fence import escape, fold
from langmem_plus.recall.made import told
from langmem_plus.recall.overlap import shown
from langmem_plus.recall.tail import BYTES, CUT_MARK, size
from langmem_plus.records import PROPOSED, Choice, MemoryHit, MemoryRecord, unique
from langmem_plus.tokens import TokenCounter

# A record that is cut shorter than this says too little; the lowest ranked give way instead.
LINE_TOKENS = 48
SHOWN_SOURCES = 2
LABEL_CHARACTERS = 60  # of a topic or a source id
PATH_CHARACTERS = 160  # of a document's path, whose end says most

_UUID = re.compile(r"([0-9a-f]{8})-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """One record as it is shown: ``text`` under the heading ``topic``; ``shortened`` when not all of it is."""

    hit: MemoryHit
    text: str
    topic: str
    shortened: bool = False

    @property
    def place(self) -> tuple[str, str, dt.datetime, str]:
        """Where it stands: by topic, then by time, then by id."""
        record = self.hit.record
        return self.topic.casefold(), self.topic, record.said_at, record.id


@dataclass
class Section:
    """A heading, and lines or a body; ``lines`` are best first, ``text`` shows them in a stable order."""

    name: str
    heading: str
    lines: list[Line] = field(default_factory=list)
    cut: list[Choice] = field(default_factory=list)
    body: str = ""
    body_cut: bool = False

    @property
    def text(self) -> str:
        """The section as it stands in the context; empty without lines."""
        parts: list[str] = [self.body] if self.body else []
        topic = ""
        for line in sorted(self.lines, key=lambda line: line.place):
            if line.topic != topic:
                topic = line.topic
                parts.append(_topic_heading(topic))
            parts.append(line.text)
        return "\n".join((self.heading, *parts)) if parts else ""

    def drop_last(self) -> None:
        """Leave out the lowest ranked line."""
        if self.lines:
            self.cut.append(_no_room(self.lines.pop().hit, self.name))
        elif self.body:
            self.body, self.body_cut = "", True


def record_line(record: MemoryRecord, body: str) -> str:
    """``[role] text (when it was said; where it comes from)`` on one line, delimiters escaped."""
    short = _end_of_path if record.role == "document" and record.metadata.get("path") else _short
    sources = [short(source) for source in (record.source_ids or [record.id])[:SHOWN_SOURCES]]
    origin = "; ".join((record.said_at.date().isoformat(), *unique(sources)))
    return escape(f"[{record.role}] {body} ({fold(origin)})")


def topic_of(record: MemoryRecord) -> str:
    """The heading that a record stands under: a document's path, another's first tag; empty without one. An archive has
    several topics, and stands by its time.
    """
    if record.role == "archive":
        return ""
    path = record.metadata.get("path") if record.role == "document" else None
    if isinstance(path, str):
        return escape(_end_of_path(fold(path)))
    return _topic(next(iter(record.tags), ""))


def _topic(tag: str) -> str:
    return escape(fold(tag))[:LABEL_CHARACTERS].strip()


def group(lines: Sequence[Line]) -> list[Line]:
    """The lines under the topics that two or more of them have; documents each under its path, the rest under none.

    A topic is a record's first tag. One that nobody else has gives way to the first of the record's other tags, and of
    the tags that its neighbours proposed, that is the topic of another. Which of them is best doesn't matter: the same
    records are grouped in the same way.
    """
    ordered = sorted((line for line in lines if line.hit.record.role != "document"), key=lambda line: line.place)
    topics = {id(line): line.topic.casefold() for line in ordered}
    held = Counter(topics.values())
    for line in ordered:
        own = topics[id(line)]
        if own and held[own] > 1:
            continue
        shared = next((other for other in _other_topics(line.hit.record) if other != own and held[other]), own)
        held[own] -= 1
        held[shared] += 1
        topics[id(line)] = shared
    headings: dict[str, str] = {}
    for line in ordered:
        headings.setdefault(line.topic.casefold(), line.topic)
    shown = {key: heading if held[key] > 1 else "" for key, heading in headings.items()}
    return [replace(line, topic=shown[topics[id(line)]]) if id(line) in topics else line for line in lines]


def _other_topics(record: MemoryRecord) -> Iterator[str]:
    """A record's other tags, then those that are only proposed, as topics are compared."""
    proposed = record.metadata.get(PROPOSED) if record.role == "memory" else None
    for tag in (*record.tags[1:], *(proposed if isinstance(proposed, dict) else ())):
        if isinstance(tag, str) and (topic := _topic(tag).casefold()):
            yield topic


def fit_records(
    name: str,
    heading: str,
    hits: Sequence[MemoryHit],
    measure: TokenCounter,
    *,
    token_limit: int,
    byte_limit: int,
    excerpt_bytes: int | None = None,
) -> Section:
    """A section of records within both limits: long ones are shortened evenly, then the lowest ranked are left out.

    Args:
        name: for the report.
        heading: its first line.
        hits: the records, best first.
        measure: counts and cuts.
        token_limit: tokens of the section, its headings included.
        byte_limit: bytes of the section.
        excerpt_bytes: bytes of one record's text at most.
    """
    section = Section(name, heading)
    full = group([_full_line(hit, excerpt_bytes) for hit in hits])
    topics = {line.topic for line in full if line.topic}
    overhead = sum(measure.count(f"{text}\n") for text in (heading, *map(_topic_heading, topics)))
    shares = share([measure.count(f"{line.text}\n") for line in full], token_limit - overhead)
    for line, allowed in zip(full, shares, strict=False):
        fitted = line if measure.count(f"{line.text}\n") <= allowed else _shorten(line, allowed, measure)
        if fitted is None:
            section.cut.append(_no_room(line.hit, name))
        else:
            section.lines.append(fitted)
    section.cut += [_no_room(line.hit, name) for line in full[len(shares) :]]
    while section.lines and not (measure.count(section.text) <= token_limit and size(section.text) <= byte_limit):
        section.drop_last()
    return section


def fit_summary(
    record: MemoryRecord | None, heading: str, measure: TokenCounter, *, token_limit: int, byte_limit: int
) -> Section:
    """The thread's summary within both limits, cut at a sentence; its own lines stay."""
    section = Section("summary", heading)
    lines = [fold(line) for line in record.text.splitlines()] if record else []
    text = escape("\n".join(line for line in lines if line))
    if not text:
        return section
    allowed = token_limit - measure.count(f"{heading}\n")
    allowed_bytes = byte_limit - size(f"{heading}\n")
    if measure.count(text) <= allowed and size(text) <= allowed_bytes:
        section.body = text
    else:
        room = BYTES.clip(text, allowed_bytes - size(CUT_MARK))
        clipped = measure.clip(room, allowed - measure.count(CUT_MARK))
        section.body, section.body_cut = clipped and clipped + CUT_MARK, True
    if measure.count(section.text) > token_limit or size(section.text) > byte_limit:
        section.drop_last()
    return section


def share(sizes: Sequence[int], budget: int) -> list[int]:
    """How much each item may take, best first: all of it where everything fits, else the same level for all, short ones
    leaving their rest to the others. Items that wouldn't get `LINE_TOKENS` (or all they need) get no entry.

    >>> share([100, 300, 60], 300)
    [100, 140, 60]
    """
    spent, count = 0, 0
    for wanted in sizes:
        spent += min(wanted, LINE_TOKENS)
        if spent > budget:
            break
        count += 1
    left, level = budget, 0
    for taken, wanted in enumerate(sorted(sizes[:count])):
        level = left // (count - taken)
        if wanted > level:
            break
        left, level = left - wanted, wanted
    return [min(wanted, level) for wanted in sizes[:count]]


def _full_line(hit: MemoryHit, excerpt_bytes: int | None) -> Line:
    body, part = fold(shown(hit.record)), fold(_opened(hit.record))
    excerpt = part if excerpt_bytes is None else _excerpt(part, excerpt_bytes)
    return Line(hit, record_line(hit.record, excerpt), topic_of(hit.record), shortened=excerpt != body)


def _opened(record: MemoryRecord) -> str:
    """What a record says; of a long document the part that says most of what is asked, where the search found one."""
    part = record.metadata.get("excerpt") if record.role == "document" else None
    return part if isinstance(part, str) and part.strip() else shown(record)


def _shorten(line: Line, allowed: int, measure: TokenCounter) -> Line | None:
    """The line with the record's own summary, or with a beginning of its text; None where nothing fits."""
    record = line.hit.record
    room = allowed - measure.count(record_line(record, "") + CUT_MARK + "\n")
    own = record.metadata.get("summary")
    body = escape(fold(own if isinstance(own, str) and own.strip() else _opened(record)))
    if measure.count(body) > room:
        body = measure.clip(body, room)
        body = body and body + CUT_MARK
    return Line(line.hit, record_line(record, body), line.topic, shortened=True) if body else None


def _excerpt(text: str, limit: int) -> str:
    """A beginning of at most ``limit`` bytes, to the end of a sentence or a word where one lies in its last part."""
    if size(text) <= limit:
        return text
    return BYTES.clip(text, limit - size(CUT_MARK)) + CUT_MARK


def _topic_heading(topic: str) -> str:
    return f"## {topic}"


def _short(source: str) -> str:
    return _UUID.sub(r"\1", source)[:LABEL_CHARACTERS]


def _end_of_path(path: str) -> str:
    return path if len(path) <= PATH_CHARACTERS else f"…{path[1 - PATH_CHARACTERS :]}"


def _no_room(hit: MemoryHit, name: str) -> Choice:
    reason = f"no room was left in the {name}"
    return Choice(id=hit.record.id, text=told(hit.record), kept=False, reason=reason, scores=hit.scores)
