"""Which of the messages that a program hands over a thread holds already, and where the new ones stand in it."""

from __future__ import annotations

import bisect
import datetime as dt
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import SearchOp

from langmem_plus.records import TURN_ROLES, MemoryRecord, Scope, parse_time, record_id
from langmem_plus.remember.record import TurnRole, make_turns, said_at
from langmem_plus.remember.steps import PAGE, Batch, Steps
from langmem_plus.services import Services
from langmem_plus.speakers import key_of, name_of

Words: TypeAlias = tuple[str, str, str]  # the role, what it said, and the speaker's name, "" where nobody is named

RUN = 3  # nobody says so many messages again, word for word and one after another
_MOST_COMPARED = 4_000_000  # pairs of messages; beyond that only beginning and end of a thread are compared
_RETRIED = dt.timedelta(
    hours=1
)  # for so long a call that says just what the thread ends with is taken for a repetition


@dataclass(frozen=True)
class Told:
    """A turn that a thread holds: its id, its message's, its words, its number in the thread, its place in the turn,
    and when it was stored.
    """

    id: str
    message_id: str | None
    words: Words
    turn: int
    position: int
    stored: dt.datetime | None = None


def read_thread(scope: Scope) -> Steps[list[Told]]:
    """The turns of the scope's thread in their order, those that were deleted too; none without a thread."""
    found: list[Told] = []
    for role in TURN_ROLES if scope.thread_id is not None else ():
        offset = 0
        while True:
            wanted = {"role": role, "thread_id": scope.thread_id}
            (page,) = yield Batch([SearchOp(scope.namespace, filter=wanted, limit=PAGE, offset=offset)])
            found += [_told(item.key, item.value) for item in page if tuple(item.namespace) == scope.namespace]
            if len(page) < PAGE:
                break
            offset += PAGE
    return sorted(found, key=lambda told: (told.turn, told.position))


def _told(key: str, value: Mapping[str, Any]) -> Told:
    metadata = value.get("metadata")
    known: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    turn, position = (place if isinstance(place := known.get(name), int) else 0 for name in ("turn", "position"))
    name = known.get("name")
    words = (str(value.get("role")), str(value.get("text")), key_of(name if isinstance(name, str) else None))
    return Told(key, known.get("message_id"), words, turn, position, _time(value.get("created_at")))


def _time(value: object) -> dt.datetime | None:
    try:
        time = parse_time(value)
    except ValueError:
        return None
    return time if isinstance(time, dt.datetime) else None


def known_places(thread: Sequence[Words], given: Sequence[Words]) -> dict[int, int]:
    """Which messages a thread holds already, told by nothing but their words: their places, and those in the thread.

    The messages go on where the thread ends: as many of the first as are its last are known, so a call that is repeated
    adds nothing, and words that are said again later are new. Beside that, `RUN` messages or more that stand in the
    thread one after another are known wherever they stand; and messages that begin as the thread does are the thread
    once more: there each is looked for behind the one before.
    """
    if len(given) >= RUN and thread and given[0] == thread[0]:
        return _in_order(thread, given)
    known: dict[int, int] = {}
    if len(thread) * len(given) <= _MOST_COMPARED:
        blocks = SequenceMatcher(None, thread, given, autojunk=False).get_matching_blocks()
        known = {b + n: a + n for a, b, size in blocks if size >= RUN for n in range(size)}
    for count in range(min(len(thread), len(given)), 0, -1):
        if thread[-count] == given[0] and list(thread[-count:]) == list(given[:count]):
            return known | {place: len(thread) - count + place for place in range(count)}
    return known


def _in_order(thread: Sequence[Words], given: Sequence[Words]) -> dict[int, int]:
    places: dict[Words, list[int]] = {}
    for place, words in enumerate(thread):
        places.setdefault(words, []).append(place)
    known, start = dict[int, int](), 0
    for number, words in enumerate(given):
        there = places.get(words, [])
        at = bisect.bisect_left(there, start)
        if at < len(there):
            known[number] = there[at]
            start = there[at] + 1
    return known


def new_turns(
    messages: Sequence[BaseMessage], thread: Sequence[Told], scope: Scope, services: Services, *, anew: bool = False
) -> list[MemoryRecord]:
    """The turns that the thread doesn't hold yet, numbered behind those that it holds.

    A message is told by its id, else by its time and its words, else by its words and its place, as `known_places`
    says. Outside of a thread, one with neither id nor time is said anew with every call.

    Args:
        messages: what is handed over.
        thread: what the thread holds.
        scope: whose memory, and which thread.
        services: the settings and the clock.
        anew: these words are said now, whatever was said before.
    """
    spoken = [(message, role) for message in messages if (role := _role(message)) is not None]
    first = [make_turn(message, role, scope, services) for message, role in spoken]
    heard = [(message, role, turn) for (message, role), turn in zip(spoken, first, strict=True) if turn is not None]
    again = (
        {}
        if anew
        else _known(thread, [(role, turn.text, key_of(name_of(turn))) for _, role, turn in heard], services.clock())
    )
    there = {name for told in thread for name in _names(told)}
    said = Counter[tuple[dt.datetime, str, str]]()
    last = thread[-1] if thread else None
    turn, position = (last.turn, last.position) if last else (0, 0)
    found: list[MemoryRecord] = []
    for number, (message, role, record) in enumerate(heard):
        event = uuid.uuid4().hex if anew else _event(message, record, said)
        if event is None and scope.thread_id is None:
            event = uuid.uuid4().hex
        if number in again and (event is None or _unnamed(thread[again[number]], message, len(again))):
            continue
        key = _key(record, scope, event) if event else None
        if key in there or (message.id, role, record.text) in there:
            continue
        turn, position = (turn + 1, 0) if role == "user" else (turn, position + 1)
        made = make_turn(message, role, scope, services, turn, position)
        if made is not None:
            found.append(made.model_copy(update={"id": key}) if key else made)
    return found


def _names(told: Told) -> list[str | tuple[str, str, str]]:
    """What a turn is known by: its id, and its own id or its message's with its words."""
    return [told.id, *((own, *told.words[:2]) for own in (told.id, told.message_id) if own)]


def _known(thread: Sequence[Told], given: Sequence[Words], now: dt.datetime) -> dict[int, int]:
    """`known_places`, but for a few words that were stored long ago: who says just these again, says them anew."""
    known = known_places([told.words for told in thread], given)
    if len(known) == len(given) < RUN and all(
        (stored := thread[place].stored) is not None and now - stored > _RETRIED for place in known.values()
    ):
        return {}
    return known


def _unnamed(told: Told, message: BaseMessage, known: int) -> bool:
    """Whether a message with an id is one that was handed over without it before, as part of a whole conversation."""
    return message.id is not None and told.message_id is None and known >= RUN


def make_turn(
    message: BaseMessage, role: TurnRole, scope: Scope, services: Services, turn: int = 1, position: int = 0
) -> MemoryRecord | None:
    """A message's record at its place in the thread; None where it says nothing."""
    made = make_turns([message], role, scope, turn, now=services.clock(), config=services.config, position=position)
    return made[0] if made else None


def _role(message: BaseMessage) -> TurnRole | None:
    if isinstance(message, HumanMessage):
        return "user"
    return "assistant" if isinstance(message, AIMessage) else None


def _event(message: BaseMessage, record: MemoryRecord, said: Counter[tuple[dt.datetime, str, str]]) -> str | None:
    """What tells a message from others with the same words; None where only its place does."""
    if message.id:
        return message.id
    time = said_at(message)
    if time is None:
        return None
    said[time, record.role, record.text] += 1
    return f"{time.isoformat()} {said[time, record.role, record.text]}"


def _key(record: MemoryRecord, scope: Scope, event: str) -> str:
    return record_id("turn", *scope.namespace, scope.thread_id or "", event, record.role, record.text)
