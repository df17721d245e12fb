"""How well memory is written, by rules or by a model: what is extracted of a turn, and what a newer statement retires.

Every measure comes in two halves, by an entry's place in its file: the rules were tuned on the even half, so the odd
half is the one to believe. The files' texts are read, never shipped.

`statements` describes the two kinds of file.
"""

from __future__ import annotations

import dataclasses
import hashlib
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.evals.against import LOOK_ALIKE, RANDOM, Case, against, likeness, word_f1
from langmem_plus.evals.metrics import SEED
from langmem_plus.evals.provenance import provenance, settings_json
from langmem_plus.evals.statements import is_pair, read_entries, read_pairs, read_statements
from langmem_plus.graph import make_services
from langmem_plus.providers import make_embeddings
from langmem_plus.records import Fact, MemoryRecord, record_id
from langmem_plus.remember.decide import decide_by_rules, find_repeats
from langmem_plus.remember.fact_records import to_record
from langmem_plus.remember.facts import draw_facts, facts_by_rules
from langmem_plus.remember.ledger import Ledger
from langmem_plus.remember.steps import run_steps
from langmem_plus.remember.weigh import decide_turn
from langmem_plus.services import Services

Model = str | BaseChatModel | None

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

    measured: str
    path: Path
    entries: int
    protocol: str
    tuned: dict[str, Score]
    reported: dict[str, Score]
    services: Services
    seconds: float
    against: dict[str, Any] = field(default_factory=dict)

    @property
    def by(self) -> str:
        """Who extracted and decided."""
        model = self.services.model
        if model is None:
            return "rules"
        return str(getattr(model, "model_name", None) or getattr(model, "model", None) or type(model).__name__)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain JSON, for programs, in the shape of a measurement of recall."""
        dataset = {
            "file": self.path.name,
            "form": self.measured,
            "sha256": hashlib.sha256(self.path.read_bytes()).hexdigest(),
            "entries": self.entries,
        }
        row = {
            "name": self.by,
            "tuned_on_even_entries": {name: score.to_json() for name, score in self.tuned.items()},
            "reported_on_odd_entries": {name: score.to_json() for name, score in self.reported.items()},
            **({"against": self.against} if self.against else {}),
            "config": settings_json(self.services.config),
        }
        return {
            "measured": self.measured,
            "dataset": dataset,
            "protocol": [self.protocol, "rules were tuned on the even entries: the odd ones are to be believed"],
            **provenance(),
            "seconds": {"all": round(self.seconds, 1)},
            "rows": [row],
        }


# Extraction

EXTRACTION_PROTOCOL = (
    "facts are extracted by rules, or by the model that is named; each of the user's messages is one turn; a fact is "
    f"right if its words match an expected statement (F1 ≥ {MATCH}); a message says more than the one statement that "
    "is expected of it, so precision is a lower bound"
)


def evaluate_extraction(path: str | Path, config: MemoryConfig | None = None, model: Model = None) -> Halves:
    """Extract facts from every entry's turns, and compare them with the expected statements.

    Raises:
        ImportFileError: the file isn't such a list.
    """
    services, started = _services(config, model), time.perf_counter()
    halves: list[dict[str, Score]] = [{}, {}]
    entries = read_statements(path)
    for place, entry in enumerate(entries):
        half, expected = halves[place % 2], entry.expected
        texts = [fact.text for fact in _facts(entry.turns, str(place), services)]
        for kind, gold in expected:
            met = any(word_f1(text, gold) >= MATCH for text in texts)
            half[kind] = half.get(kind, Score()) + Score(expected=1, met=int(met))
        matched = sum(any(word_f1(text, gold) >= MATCH for _, gold in expected) for text in texts)
        reached = sum(any(word_f1(text, gold) >= MATCH for text in texts) for _, gold in expected)
        half["all"] = half.get("all", Score()) + Score(len(texts), matched, len(expected), reached)
    return _halves("extraction", path, len(entries), EXTRACTION_PROTOCOL, halves, services, started)


def _halves(
    measured: str,
    path: str | Path,
    entries: int,
    protocol: str,
    halves: Sequence[dict[str, Score]],
    services: Services,
    started: float,
) -> Halves:
    tuned, reported = map(_sorted, halves)
    return Halves(measured, Path(path), entries, protocol, tuned, reported, services, time.perf_counter() - started)


def _sorted(scores: dict[str, Score]) -> dict[str, Score]:
    return {name: scores[name] for name in sorted(scores, key=lambda name: (name != "all", name))}


# Reconciliation

RECONCILIATION_PROTOCOL = (
    "facts are extracted from both messages, by rules or by the model that is named, the older one's are known and the "
    "newer one's are decided about; "
    "'update': the newer message should retire a fact of the older one; 'unrelated': the newer message of each entry "
    "meets the older ones of all other entries and must retire nothing; 'look-alike': of these, the 5 nearest by "
    "cosine (by words in common without an embedder); 'contradiction' (which of two statements holds is for the user "
    "to say) is only counted; against random and look-alike pairs: updates beside unrelated, and beside look-alike "
    "older messages, with 95 % intervals over resampled entries"
)
MODEL_PROTOCOL = "; a model, which takes its time, meets 5 of all other entries, drawn with a seed, and not all of them"
LOOK_ALIKES = 5  # older messages of other entries, the most similar ones, that an entry is tried against apart


def evaluate_reconciliation(path: str | Path, config: MemoryConfig | None = None, model: Model = None) -> Halves:
    """Decide about every pair, and about every newer message against the other entries' older ones.

    Raises:
        ImportFileError: the file isn't such a list.
    """
    services, started = _services(config, model), time.perf_counter()
    pairs = read_pairs(path)
    known = {pair.place: _facts(pair.old, f"old {pair.place}", services) for pair in pairs}
    new = {pair.place: _facts(pair.new, f"new {pair.place}", services) for pair in pairs}
    sides = [" ".join(pair.new) for pair in pairs], [" ".join(pair.old) for pair in pairs]
    near = likeness(*sides, make_embeddings(services.config.embeddings, services.config))
    halves: list[dict[str, Score]] = [{}, {}]
    cases: list[list[Case]] = [[], []]
    for pair in pairs:
        half = halves[pair.place % 2]
        retired = _retires(new[pair.place], known[pair.place], services)
        expected = pair.kind == "update"
        score = Score(int(retired), int(retired and expected), int(expected), int(retired and expected), tried=1)
        half[pair.kind] = half.get(pair.kind, Score()) + score
        others = [other for other in pairs if other.place % 2 == pair.place % 2 and not pair.same_story(other)]
        alike = sorted(others, key=lambda other: -near[pair.place, other.place])[:LOOK_ALIKES]
        if services.model is not None:
            others = random.Random(f"{SEED}:{pair.place}").sample(others, min(LOOK_ALIKES, len(others)))
        met = {other.place: other for other in (*others, *alike)}
        mistaken = {place for place in met if _retires(new[pair.place], known[place], services)}
        groups = {RANDOM: others, LOOK_ALIKE: alike}
        wrong = {name: sum(other.place in mistaken for other in those) for name, those in groups.items()}
        tried = {name: len(those) for name, those in groups.items()}
        cases[pair.place % 2].append(Case(expected, retired, tried, wrong))
        for kind, name in (("unrelated", RANDOM), ("look-alike", LOOK_ALIKE)):
            half[kind] = half.get(kind, Score()) + Score(found=wrong[name], tried=tried[name])
    for half in halves:
        updates = half.get("update", Score())
        half["all"] = updates + half.get("unrelated", Score())
    protocol = RECONCILIATION_PROTOCOL + ("" if services.model is None else MODEL_PROTOCOL)
    found = _halves("reconciliation", path, len(pairs), protocol, halves, services, started)
    told = [{name: against(half, name) for name in (RANDOM, LOOK_ALIKE)} for half in cases]
    return dataclasses.replace(found, against=dict(zip(("even, tuned", "odd"), told, strict=True)))


def _retires(facts: Sequence[Fact], known: Sequence[Fact], services: Services) -> bool:
    """Whether the decision about the new facts retires any of the known ones."""
    turn = _turn("", 0)
    records = [to_record(fact, turn, turn.created_at) for fact in known]
    if services.model is None:
        _, rest = find_repeats(facts, records, services.config.simhash_distance)
        return any(decision.event in ("UPDATE", "DELETE") for decision in decide_by_rules(rest, records))
    turns = {fact.source_id: turn.model_copy(update={"id": fact.source_id}) for fact in facts}
    ledger = Ledger(turns, turn.created_at)
    verdict = run_steps(decide_turn(facts, ledger.learn(records), ledger, services), services, services.find_store())
    ids = {record.id for record in records}
    return any(each.event in ("UPDATE", "DELETE") and each.target in ids for each in verdict.decisions)


def _facts(texts: Iterable[str], place: str, services: Services) -> list[Fact]:
    turns = [_turn(text, place) for text in texts]
    if services.model is None:
        return [fact for turn in turns for fact in facts_by_rules(turn, services.config)]
    drawn = (run_steps(draw_facts(turn, services), services, services.find_store()) for turn in turns)
    return [fact for each in drawn for fact in each.facts]


def _services(config: MemoryConfig | None, model: Model) -> Services:
    return make_services(store=InMemoryStore(), model=model, config=config or MemoryConfig())


# Files


def evaluate_file(path: str | Path, config: MemoryConfig | None = None, model: Model = None) -> Halves:
    """Evaluate a file of either kind, told apart by its first entry.

    Raises:
        ImportFileError: the file is of neither kind.
    """
    evaluate = evaluate_reconciliation if is_pair(read_entries(path)[0]) else evaluate_extraction
    return evaluate(path, config, model)


def _turn(text: str, place: object) -> MemoryRecord:
    return MemoryRecord(id=record_id("evaluation", place, text), role="user", text=text, user_id="evaluation")
