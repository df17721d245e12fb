"""What else speaks of something that is to be erased: pure, over all records of a namespace.

An erased **fact** takes with it what it replaced, the turns that it was drawn from or that say it, the replies to them,
and facts that say it word for word; what else was drawn from those turns stays, and no longer names them. An erased
**turn** or **thread** takes with it the facts that were drawn from nothing else; a fact that another turn stands for
stays, and no longer names the erased one. A **summary** that read what is erased is made anew, without a model, out of
the turns that it read and that are left; an **archive** loses the lines that say what is erased, and, where it is of
its conversation, or read it, those that share a word with it that no text that is left holds.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from langmem_plus.config import MemoryConfig
from langmem_plus.erasure import Erasure
from langmem_plus.records import FORGOTTEN, REVIEW, TURN_ROLES, MemoryRecord
from langmem_plus.remember.archive_words import own_words, without_name
from langmem_plus.remember.beside import bare, has_room
from langmem_plus.remember.facts import in_order
from langmem_plus.remember.found import without_proposals
from langmem_plus.remember.gist import LASTING, UNREAD, marks_of, parts_left, read_gist, tags_of, unmarked, without
from langmem_plus.remember.points import extract_points, read_points, write_points
from langmem_plus.remember.review import review_of, targets_of
from langmem_plus.remember.sentences import sentences
from langmem_plus.remember.whose import Speakers
from langmem_plus.remember.witnesses import exchange_of, restates, tells
from langmem_plus.speakers import Voice, name_of, shown_name
from langmem_plus.text import tokens, words

# A statement of fewer words stands in too many texts that don't speak of it; it is only found as a whole.
_FEWEST_WORDS = 3


def says_it(text: str, statement: str) -> bool:
    """Whether a text says a statement: word for word, or the same of the user or to the user.

    >>> says_it("Well, I live in Lyon with Anne.", "I live in Lyon"), says_it("I like green tea", "I like tea")
    (True, False)
    """
    said, wanted = words(text), words(statement)
    if said == wanted:
        return bool(wanted) or text == statement
    if len(wanted) >= _FEWEST_WORDS:
        first, length = wanted[0], len(wanted)
        for place, word in enumerate(said[: len(said) - length + 1]):
            if word == first and said[place : place + length] == wanted:
                return True
    return restates(text, statement)


class Traces:
    """Finds what goes and what is rewritten.

    Args:
        records: everything in the namespace, tombstones too.
        config: how long summaries are, and what counts as a duplicate.
        now: the time of the change.
    """

    def __init__(self, records: Sequence[MemoryRecord], config: MemoryConfig, now: dt.datetime) -> None:
        self._records, self._config, self._now = records, config, now
        self._by_id = {record.id: record for record in reversed(records)}
        self._speakers = Speakers(records)
        self._names = {shown_name(name).casefold() for record in records if (name := name_of(record))}
        self._gone: set[str] = set()
        self._sources: set[str] = set()  # what was erased, by its ids and its messages' ids
        self._statements: list[Voice] = []  # what was erased as a fact: whoever said it may say it no more

    def of_record(self, id: str) -> Erasure:
        """What goes with one record."""
        record = self._by_id.get(id)
        self._gone.add(id)
        if record is not None and record.role == "memory":
            self._take_fact(record)
        elif record is not None:
            self._take_replies()
            self._take_derived()
        return self._erasure()

    def of_thread(self, thread_id: str) -> Erasure:
        """What goes with a conversation: everything said in it, its summary, its archive, and what is known from it
        alone.
        """
        mine = [record for record in self._records if record.thread_id == thread_id]
        self._gone.update(record.id for record in mine if record.role != "memory")
        loose = (record for record in mine if record.role == "memory" and not self._has_source(record))
        self._gone.update(record.id for record in loose)
        self._take_derived()
        return self._erasure()

    # what goes

    def _take_fact(self, fact: MemoryRecord) -> None:
        past = [fact.id]
        for id in past:
            known = self._by_id.get(id)
            before = [record.id for record in self._records if record.replaced_by == id]
            past += [each for each in (*(known.replaces if known else ()), *before) if each not in past]
        chain = [self._by_id[id] for id in past if id in self._by_id and self._by_id[id].role == "memory"]
        self._gone.update(record.id for record in chain)
        self._statements = [Voice.of(record) for record in chain]
        sources = {source for record in chain for source in record.source_ids}
        for record in self._records:
            if record.role in ("memory", *TURN_ROLES) and (record.id in sources or self._says(record)):
                self._gone.add(record.id)
        self._take_replies()

    def _take_replies(self) -> None:
        asked = {exchange_of(record) for record in self._erased("user")} - {None}
        replies = (record for record in self._records if record.role == "assistant" and exchange_of(record) in asked)
        self._gone.update(record.id for record in replies)

    def _take_derived(self) -> None:
        """Facts drawn from erased turns alone, and the replies, in whatever thread, that repeat such a fact."""
        for record in self._records:
            drawn = record.role == "memory" and not self._gone.isdisjoint(record.source_ids)
            if drawn and not self._has_source(record):
                self._gone.add(record.id)
        self._statements = [Voice.of(record) for record in self._erased("memory")]
        for record in self._records:
            if record.role == "assistant" and self._says(record):
                self._gone.add(record.id)

    def _has_source(self, record: MemoryRecord) -> bool:
        return any(source in self._by_id and source not in self._gone for source in record.source_ids)

    def _says(self, record: MemoryRecord) -> bool:
        return any(tells(record, said, says_it) for said in self._statements)

    def _tells(self, point: str) -> bool:
        return any(self._speakers.tells(point, said, says_it) for said in self._statements)

    def _erased(self, role: str) -> list[MemoryRecord]:
        return [record for record in self._records if record.role == role and record.id in self._gone]

    # what stays, without it

    def _erasure(self) -> Erasure:
        rewritten: dict[str, Any] = {}
        self._sources = self._gone | self._messages()
        for record in self._records:
            if record.id in self._gone:
                continue
            left = self._without(record)
            if left is None:
                self._gone.add(record.id)
            elif left is not record:
                rewritten[record.id] = left.model_copy(update={"updated_at": self._now}).to_value()
        return Erasure(frozenset(self._gone), {key: value for key, value in rewritten.items() if key not in self._gone})

    def _without(self, record: MemoryRecord) -> MemoryRecord | None:
        """What is left of a record; None where nothing is, the record itself where nothing goes."""
        read = not self._sources.isdisjoint(record.source_ids) and record.role not in TURN_ROLES
        if record.role == "summary" and (read or self._says_points(record)):
            return self._summary(record)
        if record.role == "archive":
            return self._archive(record, is_near=read or record.thread_id in self._threads())
        linked = not self._gone.isdisjoint((*record.replaces, record.replaced_by or ""))
        record = self._without_targets(without_proposals(record, self._gone))
        if not (read or linked):
            return record
        kept = _apart_from(record.source_ids, self._sources) if read else record.source_ids
        update: dict[str, Any] = {"source_ids": kept, "replaces": _apart_from(record.replaces, self._gone)}
        if record.replaced_by in self._gone:
            update["replaced_by"] = None
            update["metadata"] = {name: value for name, value in record.metadata.items() if name != "reason"}
        if read:
            update["tags"] = self._own_tags(record)
            update["thread_id"] = self._thread(record, kept)
        return record.model_copy(update=update)

    def _without_targets(self, record: MemoryRecord) -> MemoryRecord:
        """What waits, or waited, to replace what is erased, without the print of its text, which tells a short one to
        whoever tries them all, and without the reason; that it is gone still stands against an approval.
        """
        told, targets = review_of(record), targets_of(record)
        if told is None or self._gone.isdisjoint(targets):
            return record
        blank = {id: "" if id in self._gone else text for id, text in targets.items()}
        left = {name: value for name, value in told.items() if name != "reason"}
        return record.model_copy(update={"metadata": {**record.metadata, REVIEW: {**left, "targets": blank}}})

    def _messages(self) -> set[str]:
        """The ids of the messages that only erased turns were made of: records name these, too."""
        said: dict[bool, set[str]] = {True: set(), False: set()}
        for record in self._records:
            if record.role in TURN_ROLES:
                said[record.id in self._gone].update(record.source_ids)
        return said[True] - said[False]

    def _own_tags(self, record: MemoryRecord) -> list[str]:
        """The tags without those that a repeat in an erased turn added."""
        own = record.text.casefold()
        erased = "\n".join(r.text for r in self._records if r.id in self._gone and r.id in record.source_ids).casefold()
        return [tag for tag in record.tags if tag.casefold() in own or tag.casefold() not in erased]

    def _thread(self, record: MemoryRecord, kept: Sequence[str]) -> str | None:
        """The conversation of a fact: it may be known from another one alone now."""
        threads = [self._by_id[id].thread_id for id in kept if id in self._by_id]
        return record.thread_id if not threads or record.thread_id in threads else threads[0]

    def _says_points(self, summary: MemoryRecord) -> bool:
        return any(self._tells(point) for point in read_points(summary))

    def _summary(self, summary: MemoryRecord) -> MemoryRecord | None:
        """The summary out of what is left of what it read. Of its points those stay whose words all stand in one text
        that is left: a model's own words can't be told from what is erased.
        """
        if summary.status != "active":
            return None
        kept = set(_apart_from(summary.source_ids, self._sources))
        alive = [r for r in self._records if r.id not in self._gone and r.status == "active"]
        turns = [r for r in alive if r.id in kept and r.role in TURN_ROLES and not r.metadata.get(FORGOTTEN)]
        texts = [set(tokens(r.text)) for r in (*turns, *(r for r in alive if r.role == "memory"))]
        told = [point for point in read_points(summary) if not self._tells(point)]
        points = [point for point in told if any(set(tokens(bare(point))) <= text for text in texts)]
        config = self._config
        items, distance = config.summary_max_items, config.simhash_distance
        made = extract_points(points, in_order(turns), items, distance, fits=has_room(config))
        made = [point for point in made if not self._tells(point)]
        if not made:
            return None
        update = {"text": write_points(made), "source_ids": [id for id in summary.source_ids if id in kept]}
        return summary.model_copy(update=update)

    def _threads(self) -> set[str | None]:
        """The conversations of what is erased."""
        gone = (self._by_id[id] for id in self._gone if id in self._by_id)
        return {record.thread_id for record in gone if record.role in ("memory", *TURN_ROLES)}

    def _archive(self, archive: MemoryRecord, *, is_near: bool) -> MemoryRecord | None:
        """What is left of an archive: lines, topics and names that don't say what is erased and, where it is near,
        share no word with it that no text that is left holds. The others stay, also where nothing else stands for them
        any more; the speaker's name in front of a line is no word of it.
        """
        alive = [record for record in self._records if record.id not in self._gone]
        turns = [r for r in alive if r.role in TURN_ROLES and r.thread_id == archive.thread_id]
        own = self._own_words(turns, alive) if is_near else set[str]()

        def shares(line: str) -> bool:
            return not own.isdisjoint(tokens(without_name(unmarked(line), self._names)))

        old = read_gist(archive)

        def goes(line: str) -> bool:
            return self._tells(line) or shares(line)

        left = without(old, goes)
        topics, names = (tuple(term for term in terms if not shares(term)) for terms in (left.topics, left.names))
        left = replace(left, topics=topics, names=names)
        sources = _apart_from(archive.source_ids, self._sources)
        if left == old and sources == archive.source_ids and not _says_beside(archive, goes):
            return archive
        if not left:
            return None
        metadata = {name: value for name, value in parts_left(archive, left, goes).items() if name != UNREAD}
        metadata["message_count"] = len(turns)
        return archive.model_copy(
            update={"text": left.text, "tags": tags_of(left), "source_ids": sources, "metadata": metadata}
        )

    def _own_words(self, turns: Sequence[MemoryRecord], alive: Sequence[MemoryRecord]) -> set[str]:
        """The words of what is erased that nothing holds that is left of the conversation, nor any fact."""
        told = (turn for turn in turns if not turn.metadata.get(FORGOTTEN))
        facts = (record for record in alive if record.role == "memory" and record.status == "active")
        gone = (self._by_id[id] for id in self._gone if id in self._by_id)
        erased = (record.text for record in gone if record.role in ("memory", *TURN_ROLES))
        return own_words(erased, (record.text for record in (*told, *facts)))


def _says_beside(archive: MemoryRecord, goes: Callable[[str], bool]) -> bool:
    """Whether an archive's metadata tells what its text doesn't, for a person took it out, or has the print of it."""
    known, standing = archive.metadata, read_gist(archive)
    parts = [known.get(name) for name in ("summary", "topics", "decisions", "open_questions")]
    told = [line for part in parts if part for line in (part if isinstance(part, list) else sentences(str(part)))]
    prints = set(map(str, marks)) if isinstance(marks := known.get(LASTING), list) else set[str]()
    return any(map(goes, map(str, told))) or not prints <= set(marks_of(standing, standing).get(LASTING, ()))


def _apart_from(ids: Iterable[str], gone: set[str]) -> list[str]:
    return [id for id in ids if id not in gone]
