"""How well memory is written without a model: what is extracted of a turn, and what a newer statement retires.

Every measure comes in two halves, by an entry's place in its file: the rules were tuned on the even half, so the odd
half is the one to believe. The files' texts are read, never shipped.

Two kinds of file are understood:

- extraction: a list of entries with ``messages`` and ``gold`` (one statement that a user's messages make), or with
  ``text`` and ``memories`` (several);
- reconciliation: a list of entries with ``kind``, ``old`` and ``new`` (a message, or several), where the newer
  statement replaces the older one if the kind is ``update``.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ImportFileError
from langmem_plus.records import Fact, MemoryRecord, record_id
from langmem_plus.remember.decide import decide_by_rules, find_repeats, to_record
from langmem_plus.remember.extract import facts_by_rules
from langmem_plus.remember.simhash import simhash
from langmem_plus.text import tokens

MATCH = 0.5  # F1 of the words from which an extracted fact counts as the expected statement


@dataclass(frozen=True)
class Score:
    """Precision and recall over counted cases, each in [0, 1].

    Args:
        found: things that were found.
        right: those of them that were expected.
        expected: things that should have been found.
        met: those of them that were found.
        tried: cases that were tried, where it is asked what happens in none of them.
    """

    found: int = 0
    right: int = 0
    expected: int = 0
    met: int = 0
    tried: int = 0

    @property
    def precision(self) -> float:
        """The share of what was found that is right; 1 where nothing was found."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of what was expected that was found; 1 where nothing was expected."""
        return self.met / self.expected if self.expected else 1.0

    def __add__(self, other: Score) -> Score:
        return Score(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)))

    def to_json(self) -> dict[str, float]:
        """The counts and both shares, as plain JSON."""
        return {**dataclasses.asdict(self), "precision": round(self.precision, 4), "recall": round(self.recall, 4)}


@dataclass(frozen=True)
class Halves:
    """A measure on both halves of a file, and what it means."""

    file: str
    protocol: str
    tuned: dict[str, Score]
    reported: dict[str, Score]

    def to_json(self) -> dict[str, Any]:
        """Everything as plain JSON, for programs."""
        return {
            "file": self.file,
            "protocol": self.protocol,
            "tuned_on_even_entries": {name: score.to_json() for name, score in self.tuned.items()},
            "reported_on_odd_entries": {name: score.to_json() for name, score in self.reported.items()},
        }


def word_f1(a: str, b: str) -> float:
    """The harmonic mean of precision and recall over two texts' stemmed words without stop words, in [0, 1].

    >>> word_f1("I prefer green tea", "The user prefers tea")
    0.8
    """
    mine, theirs = set(tokens(a)) - {"user"}, set(tokens(b)) - {"user"}
    shared = len(mine & theirs)
    return 2 * shared / (len(mine) + len(theirs)) if shared else 0.0


# Extraction

EXTRACTION_PROTOCOL = (
    f"each of the user's messages is one turn; a fact is right if its words match an expected statement (F1 ≥ "
    f"{MATCH}); a "
    "message says more than the one statement that is expected of it, so precision is a lower bound"
)


def evaluate_extraction(path: str | Path, config: MemoryConfig | None = None) -> Halves:
    """Extract facts by rules from every entry's turns, and compare them with the expected statements.

    Raises:
        ImportFileError: the file isn't such a list.
    """
    config = config or MemoryConfig()
    halves: list[dict[str, Score]] = [{}, {}]
    for place, entry in enumerate(_read(path)):
        try:
            turns, expected = _extraction_entry(entry)
        except (KeyError, TypeError) as error:
            raise ImportFileError(f"{path}: entry {place} has no {error}; see langmem_plus.evals.write.") from error
        half = halves[place % 2]
        texts = [fact.text for turn in turns for fact in facts_by_rules(_turn(turn, place), config)]
        for kind, gold in expected:
            met = any(word_f1(text, gold) >= MATCH for text in texts)
            half[kind] = half.get(kind, Score()) + Score(expected=1, met=int(met))
        matched = sum(any(word_f1(text, gold) >= MATCH for _, gold in expected) for text in texts)
        reached = sum(any(word_f1(text, gold) >= MATCH for text in texts) for _, gold in expected)
        half["all"] = half.get("all", Score()) + Score(len(texts), matched, len(expected), reached)
    return Halves(Path(path).name, EXTRACTION_PROTOCOL, _sorted(halves[0]), _sorted(halves[1]))


def _extraction_entry(entry: dict[str, Any]) -> tuple[list[str], list[tuple[str, str]]]:
    if "gold" in entry:
        messages = [message["text"] for message in entry["messages"] if message.get("role", "user") == "user"]
        return messages, [(entry.get("kind", "statement"), entry["gold"])]
    return [entry["text"]], [(memory.get("type", "statement"), memory["content"]) for memory in entry["memories"]]


def _sorted(scores: dict[str, Score]) -> dict[str, Score]:
    return {name: scores[name] for name in sorted(scores, key=lambda name: (name != "all", name))}


# Reconciliation

RECONCILIATION_PROTOCOL = (
    "facts are extracted by rules from both messages, the older one's are known and the newer one's are decided about; "
    "'update': the newer message should retire a fact of the older one; 'unrelated': the newer message of each entry "
    "meets the older ones of all other entries and must retire nothing; 'look-alike': of these, the ones with the most "
    "words in common; 'contradiction' (which of two statements holds is for the user to say) is only counted"
)
LOOK_ALIKES = 5  # older messages of other entries, the most similar ones, that an entry is tried against apart


@dataclass(frozen=True)
class _Pair:
    place: int
    kind: str
    group: str
    old: tuple[str, ...]
    new: tuple[str, ...]


def evaluate_reconciliation(path: str | Path, config: MemoryConfig | None = None) -> Halves:
    """Let the rules decide about every pair, and about every newer message against the other entries' older ones.

    Raises:
        ImportFileError: the file isn't such a list.
    """
    config = config or MemoryConfig()
    pairs = [_pair(path, place, entry) for place, entry in enumerate(_read(path))]
    known = {pair.place: _facts(pair.old, f"old {pair.place}", config) for pair in pairs}
    new = {pair.place: _facts(pair.new, f"new {pair.place}", config) for pair in pairs}
    halves: list[dict[str, Score]] = [{}, {}]
    for pair in pairs:
        half = halves[pair.place % 2]
        retired = _retires(new[pair.place], known[pair.place], config)
        expected = pair.kind == "update"
        score = Score(int(retired), int(retired and expected), int(expected), int(retired and expected), tried=1)
        half[pair.kind] = half.get(pair.kind, Score()) + score
        others = [other for other in pairs if other.place % 2 == pair.place % 2 and not _same_story(pair, other)]
        wrong = {other.place for other in others if _retires(new[pair.place], known[other.place], config)}
        alike = sorted(others, key=lambda other: _alike(pair, other), reverse=True)[:LOOK_ALIKES]
        false_alarms = {"unrelated": len(wrong), "look-alike": sum(other.place in wrong for other in alike)}
        for name, count in false_alarms.items():
            tried = len(others) if name == "unrelated" else len(alike)
            half[name] = half.get(name, Score()) + Score(found=count, tried=tried)
    for half in halves:
        updates = half.get("update", Score())
        half["all"] = updates + half.get("unrelated", Score())
    return Halves(Path(path).name, RECONCILIATION_PROTOCOL, _sorted(halves[0]), _sorted(halves[1]))


def _pair(path: str | Path, place: int, entry: dict[str, Any]) -> _Pair:
    try:
        old, new = _texts(entry["old"]), _texts(entry["new"])
        return _Pair(place, entry["kind"], _story(str(entry.get("id", place))), old, new)
    except (KeyError, TypeError) as error:
        raise ImportFileError(f"{path}: entry {place} has no {error}; see langmem_plus.evals.write.") from error


def _story(entry_id: str) -> str:
    """The conversation that an entry was made of: ids such as 100K-1-… name it by their first two parts."""
    parts = entry_id.split("-")
    return "-".join(parts[:2]) if len(parts) > 2 else entry_id


def _texts(side: Any) -> tuple[str, ...]:
    return tuple(message["text"] for message in (side if isinstance(side, list) else [side]))


def _same_story(pair: _Pair, other: _Pair) -> bool:
    """Whether two entries may speak of the same thing: one conversation, or a message in common."""
    shared = {*pair.old, *pair.new} & {*other.old, *other.new}
    return pair.group == other.group or bool(shared)


def _alike(pair: _Pair, other: _Pair) -> float:
    return word_f1(" ".join(pair.new), " ".join(other.old))


def _retires(facts: Sequence[Fact], known: Sequence[Fact], config: MemoryConfig) -> bool:
    """Whether the decision about the new facts retires any of the known ones."""
    turn = _turn("", 0)
    records = [to_record(fact, turn, turn.created_at, simhash(fact.text)) for fact in known]
    _, rest = find_repeats(facts, records, config.simhash_distance)
    return any(decision.event in ("UPDATE", "DELETE") for decision in decide_by_rules(rest, records))


def _facts(texts: Iterable[str], place: str, config: MemoryConfig) -> list[Fact]:
    return [fact for text in texts for fact in facts_by_rules(_turn(text, place), config)]


# Files


def evaluate_file(path: str | Path, config: MemoryConfig | None = None) -> Halves:
    """Evaluate a file of either kind, told apart by its first entry.

    Raises:
        ImportFileError: the file is of neither kind.
    """
    first = next(_read(path), {})
    return (
        evaluate_reconciliation(path, config) if {"old", "new"} <= first.keys() else evaluate_extraction(path, config)
    )


def _read(path: str | Path) -> Iterator[dict[str, Any]]:
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ImportFileError(f"{str(path)!r} can't be read as JSON: {error}") from error
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        raise ImportFileError(f"{str(path)!r} isn't a list of entries; see langmem_plus.evals.write.")
    yield from data


def _turn(text: str, place: object) -> MemoryRecord:
    return MemoryRecord(id=record_id("evaluation", place, text), role="user", text=text, user_id="evaluation")
