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
from langmem_plus.speakers import Voice, name_of

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
        name = name_of(turn)
        durable = _forget(durable, [Voice(text, name) for text in forget_requests(turn.text)])
        for statement in find_statements(turn.text, max_items):
            said = Voice(" ".join(statement.text.split()), name)
            durable = _merge(durable, said, duplicate_distance)
            weights[said.shown] = _weight(statement)
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


def _weight(statement: Statement) -> int:
    """What goes first when there is no room for all: what was asked to be kept, what lasts, intents, the rest."""
    if statement.asked:
        return 3
    return 2 if statement.kind in ("preference", "instruction") or statement.kind in _INTENTS else 1


def heard(point: str, name: str) -> str | None:
    """What a point tells of one speaker, from their own view; None where it tells of somebody else. Without a name it
    is the point as it is.
    """
    own = Voice(point, name).own
    return own if not name or own != point else None


def _merge(points: Sequence[str], new: Voice, limit: int) -> list[str]:
    said = new.own
    own = {point: told for point in points if (told := heard(point, new.name)) is not None}
    if any(near_duplicate(said, told, limit) for told in own.values()):
        return list(points)
    return [*(point for point in points if point not in own or not replaces(said, own[point])), new.shown]


def amend(points: Sequence[str], decisions: Sequence[Decision], requests: Sequence[Voice]) -> list[str]:
    """The points after some facts were replaced and some were asked to be forgotten: what is gone, goes at once. Nobody
    changes what is told of another speaker.
    """
    new = [Voice.of(decision.fact) for decision in decisions if decision.event == "UPDATE" and decision.fact]
    kept = [point for point in points if not any(_is_replaced(point, said) for said in new)]
    return _forget(kept, requests)


def _is_replaced(point: str, new: Voice) -> bool:
    told = heard(point, new.name)
    return told is not None and replaces(new.own, told) is not None


def _forget(points: Sequence[str], requests: Sequence[Voice]) -> list[str]:
    left = list(points)
    for request in requests:
        told = [(point, heard(point, request.name)) for point in left]
        known = [MemoryRecord(id=point, text=own, user_id="") for point, own in told if own]
        gone = {record.id for record in find_forgotten(request.text, known)[0]}
        left = [point for point in left if point not in gone]
    return left


def open_question(turns: Sequence[MemoryRecord]) -> str | None:
    """The user's last question, if nobody has answered since; else None."""
    for turn in reversed(turns):
        if turn.role == "assistant":
            return None
        asked = [sentence for sentence in sentences(turn.text) if ends_question(sentence)]
        if asked:
            return Voice(asked[-1], name_of(turn)).shown
    return None
