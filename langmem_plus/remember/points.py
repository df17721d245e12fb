"""The points of a summary: read, written, and drawn out of the user's own statements."""

from __future__ import annotations

from collections.abc import Sequence

from langmem_plus.prompts import PointKind, Summary, SummaryPoint
from langmem_plus.records import Decision, MemoryRecord
from langmem_plus.remember.actions import told_actions
from langmem_plus.remember.forgetting import find_forgotten
from langmem_plus.remember.rules import replaces
from langmem_plus.remember.sentences import ends_question, sentences
from langmem_plus.remember.simhash import near_duplicate
from langmem_plus.remember.statements import Statement, find_statements, forget_requests

_BULLET = "- "
_ACTIONS, _BETWEEN = "Actions taken: ", " · "
_ACTION_COUNT, _ACTION_LENGTH = 5, 120  # calls in a summary by rules, and characters of each
_INTENTS = frozenset({"goal", "commitment"})


def read_points(record: MemoryRecord | None) -> list[str]:
    """The points of a summary, read from its text, which a person may have edited."""
    lines = record.text.splitlines() if record else []
    return [point for line in lines if (point := line.strip().removeprefix(_BULLET.strip()).strip())]


def write_points(points: Sequence[str]) -> str:
    """A summary's text: a line a point."""
    return "\n".join(f"{_BULLET}{' '.join(point.split())}" for point in points)


def points_of(answer: Summary, max_items: int, duplicate_distance: int) -> list[str]:
    """The points of a model's answer, each once; facts, intents, actions and questions in this order."""
    order: dict[PointKind, int] = {"fact": 0, "intent": 1, "action": 2, "question": 3}
    kept: list[SummaryPoint] = []
    for point in answer.points:
        text = " ".join(point.text.split())
        if text and all(not near_duplicate(text, other.text, duplicate_distance) for other in kept):
            kept.append(SummaryPoint(text=text, kind=point.kind))
    return [point.text for point in sorted(kept[:max_items], key=lambda point: order[point.kind])]


def extract_points(
    previous: Sequence[str],
    turns: Sequence[MemoryRecord],
    max_items: int,
    duplicate_distance: int,
    *,
    done: Sequence[str] = (),
) -> list[str]:
    """A summary in the user's own words: durable statements, then recent intents, the assistant's last actions in one
    point, then the question still open.

    Points so far stay unless a newer statement replaces them or the user asked to forget them; near-duplicates are
    merged.

    Args:
        previous: the points so far.
        turns: the new turns, the oldest first.
        max_items: points at most.
        duplicate_distance: bits in which the fingerprints of near-duplicates may differ.
        done: what the assistant did that no turn tells.
    """
    actions = merge_actions(previous, [*(line for turn in turns for line in told_actions(turn)), *done])
    durable = [point for point in previous if not ends_question(point) and not point.startswith(_ACTIONS)]
    weights: dict[str, int] = {}
    for turn in turns:
        if turn.role != "user":
            continue
        durable = _forget(durable, forget_requests(turn.text))
        for statement in _statements(turn, max_items):
            durable = _merge(durable, statement.text, duplicate_distance)
            weights[" ".join(statement.text.split())] = _weight(statement)
    question = open_question(turns)
    if max_items <= bool(question) + 1:
        actions = None  # what the user said goes first
    room = max_items - bool(question) - bool(actions)
    newest = {text: place for place, text in enumerate(durable)}
    kept = sorted(durable, key=lambda text: (weights.get(text, 1), newest[text]), reverse=True)[:room]
    last = [point for point in (actions, question) if point]
    return [text for text in durable if text in kept] + last


def merge_actions(previous: Sequence[str], lines: Sequence[str]) -> str | None:
    """One point of the newest calls, those of the summary so far among them; None where nothing was done."""
    known = [point.removeprefix(_ACTIONS).split(_BETWEEN) for point in previous if point.startswith(_ACTIONS)]
    short = [line if len(line) <= _ACTION_LENGTH else f"{line[:_ACTION_LENGTH].rstrip()} …" for line in lines]
    newest = list(dict.fromkeys([*(line for point in known for line in point), *short][::-1]))[:_ACTION_COUNT][::-1]
    return _ACTIONS + _BETWEEN.join(newest) if newest else None


def _statements(turn: MemoryRecord, limit: int) -> list[Statement]:
    name = turn.metadata.get("name")
    found = find_statements(turn.text, limit)
    if not name:
        return found
    return [Statement(f"{name}: {item.text}", item.kind, item.weight, item.asked) for item in found]


def _weight(statement: Statement) -> int:
    """What goes first when there is no room for all: what was asked to be kept, what lasts, intents, the rest."""
    if statement.asked:
        return 3
    return 2 if statement.kind in ("preference", "instruction") or statement.kind in _INTENTS else 1


def _merge(points: Sequence[str], new: str, limit: int) -> list[str]:
    new = " ".join(new.split())
    if any(near_duplicate(new, point, limit) for point in points):
        return list(points)
    return [*(point for point in points if not replaces(new, point)), new]


def amend(points: Sequence[str], decisions: Sequence[Decision], requests: Sequence[str]) -> list[str]:
    """The points after some facts were replaced and some were asked to be forgotten: what is gone, goes at once."""
    new = [decision.fact.text for decision in decisions if decision.event == "UPDATE" and decision.fact]
    kept = [point for point in points if not any(replaces(text, point) for text in new)]
    return _forget(kept, requests)


def _forget(points: Sequence[str], requests: Sequence[str]) -> list[str]:
    left = list(points)
    for request in requests:
        known = [MemoryRecord(id=str(place), text=point, user_id="") for place, point in enumerate(left)]
        gone = {record.text for record in find_forgotten(request, known)[0]}
        left = [point for point in left if point not in gone]
    return left


def open_question(turns: Sequence[MemoryRecord]) -> str | None:
    """The user's last question, if nobody has answered since; else None."""
    for turn in reversed(turns):
        if turn.role == "assistant":
            return None
        asked = [sentence for sentence in sentences(turn.text) if ends_question(sentence)]
        if asked:
            return asked[-1]
    return None
