"""The points of a summary: read, written, and drawn out of the user's own statements."""

from __future__ import annotations

from collections.abc import Sequence

from langmem_plus.prompts import PointKind, Summary, SummaryPoint
from langmem_plus.records import Decision, MemoryRecord, unique
from langmem_plus.remember.actions import told_actions
from langmem_plus.remember.beside import MARK, Fits, bare, fitted, is_beside, lines_of, packed, unpacked
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
    """The points of a summary, read from its text, which a person may have edited; what was said beside (`beside`) is
    a point a line.
    """
    lines = record.text.splitlines() if record else []
    points = [point for line in lines if (point := line.strip().removeprefix(_BULLET.strip()).strip())]
    return [each for point in points for each in unpacked(point)]


def write_points(points: Sequence[str]) -> str:
    """A summary's text: a line a point."""
    return "\n".join(f"{_BULLET}{' '.join(point.split())}" for point in packed(points))


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
    fits: Fits | None = None,
) -> list[str]:
    """A summary in the user's own words, as `draw_points` makes it; whatever has no room is left out."""
    return draw_points(previous, turns, max_items, duplicate_distance, done=done, fits=fits)[0]


def draw_points(
    previous: Sequence[str],
    turns: Sequence[MemoryRecord],
    max_items: int,
    duplicate_distance: int,
    *,
    done: Sequence[str] = (),
    fits: Fits | None = None,
) -> tuple[list[str], bool]:
    """A summary in the user's own words: durable statements, then recent intents, the assistant's last actions in one
    point, then the question still open. Gives it, and whether it tells all that is new.

    Points so far stay unless a newer statement replaces them or the user asked to forget them; near-duplicates are
    merged.

    Args:
        previous: the points so far.
        turns: the new turns, the oldest first.
        max_items: points at most.
        duplicate_distance: bits in which the fingerprints of near-duplicates may differ.
        done: what the assistant did that no turn tells.
        fits: whether a summary may be that long. With it, what makes no point of its own is told beside, in one more
            point; without, it is left out.
    """
    actions = merge_actions(previous, [*(line for turn in turns for line in told_actions(turn)), *done])
    durable = [point for point in previous if not point.startswith(_ACTIONS) and (fits or not ends_question(point))]
    durable = [MARK + point if ends_question(point) and not is_beside(point) else point for point in durable]
    weights: dict[str, int] = {}
    for turn in turns:
        if turn.role == "user":
            durable = _take_in(durable, turn, max_items, duplicate_distance, weights, beside=fits is not None)
    question = open_question(turns)
    if question:
        durable = [point for point in durable if point != MARK + question]
    if fits and question and durable and max_items == 1:
        durable, question = [*durable, MARK + question], None
    if fits and not durable and not question:  # whatever it was, it is told
        durable = unique(line for turn in turns if turn.role == "user" for line in lines_of(turn, (), whatever=True))
    if max_items <= bool(question) + 1:
        actions = None  # what the user said goes first
    last = [point for point in (actions, question) if point]
    return _arranged(durable, last, max_items, weights, fits)


def _take_in(
    points: Sequence[str],
    turn: MemoryRecord,
    max_items: int,
    duplicate_distance: int,
    weights: dict[str, int],
    *,
    beside: bool,
) -> list[str]:
    """The points after what the user said in one more turn; ``weights`` is told what the new ones weigh."""
    name = name_of(turn)
    points = _forget(points, [Voice(text, name) for text in forget_requests(turn.text)])
    statements = find_statements(turn.text, max_items)
    for statement in statements:
        said = Voice(" ".join(statement.text.split()), name)
        points = _merge(points, said, duplicate_distance)
        weights[said.shown] = _weight(statement)
    for line in lines_of(turn, [statement.text for statement in statements]) if beside else ():
        if all(not near_duplicate(bare(line), bare(point), duplicate_distance) for point in points):
            points = [*points, line]
        weights.setdefault(line, 0)
    return list(points)


def _arranged(
    points: Sequence[str], last: Sequence[str], max_items: int, weights: dict[str, int], fits: Fits | None
) -> tuple[list[str], bool]:
    """The weightiest points, the newest of those that weigh the same, in their order, then the last ones; what has no
    room among them is told beside. Gives them, and whether all that is new is told.
    """
    own = [point for point in points if not is_beside(point)]
    room = max(max_items - len(last), 0)
    if fits is not None and (len(own) < len(points) or len(own) > room):
        room = max(room - 1, 0)
    newest = {text: place for place, text in enumerate(own)}
    kept = set(sorted(own, key=lambda text: (weights.get(text, 1), newest[text]), reverse=True)[:room])
    told = [text for text in own if text in kept]
    if fits is None:
        return [*told, *last], True
    beside = unique(text if is_beside(text) else MARK + text for text in points if text not in kept)
    shown = fitted(beside, lambda text: fits(write_points([*told, text, *last])))
    gone = beside[: len(beside) - len(shown)]
    is_whole = not any(text in weights or bare(text) in weights for text in gone)
    return [*told, *shown, *last], is_whole


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
    point = bare(point)
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
