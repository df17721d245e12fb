"""What of a thread its summary tells: only that may leave it.

A message is told by the stored turn that was made of it, once the summary has read that turn; a tool round by the
turn that keeps its gist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langmem_plus.fence import QUOTED_FROM_MEMORY
from langmem_plus.messages import message_text
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.actions import ACTION_IDS, find_actions, is_action
from langmem_plus.remember.compress_cut import Stretch


@dataclass
class Covered:
    """The messages of a thread against its stored turns and its summary.

    Args:
        messages: the thread.
        turns: its stored turns, the retired ones too.
        summary: its summary, where there is one in force.
        whole: a turn whose facts aren't drawn out yet counts as not told.
        told: the ids of messages that the summary has read directly.
    """

    messages: Sequence[BaseMessage]
    turns: Sequence[MemoryRecord]
    summary: MemoryRecord | None
    whole: bool = False
    told: frozenset[str] = frozenset()
    _by_id: dict[str, list[MemoryRecord]] = field(default_factory=dict, init=False)
    _by_text: dict[tuple[str, str], list[MemoryRecord]] = field(default_factory=dict, init=False)
    _by_action: dict[str, list[MemoryRecord]] = field(default_factory=dict, init=False)
    _ids: Counter[str | None] = field(default_factory=Counter, init=False)
    _read: frozenset[str] = field(default=frozenset(), init=False)

    def __post_init__(self) -> None:
        self._ids = Counter(message.id for message in self.messages)
        self._read = frozenset(self.summary.source_ids if self.summary else ())
        for turn in self.turns:
            source = turn.metadata.get("message_id")
            if isinstance(source, str):
                self._by_id.setdefault(source, []).append(turn)
            else:
                self._by_text.setdefault((turn.role, turn.text), []).append(turn)
            for action in turn.metadata.get(ACTION_IDS) or ():
                self._by_action.setdefault(action, []).append(turn)

    def turns_of(self, place: int) -> list[MemoryRecord]:
        """The stored turns that a message became; none where it isn't known, or can't be told from another."""
        message = self.messages[place]
        role = "user" if isinstance(message, HumanMessage) else "assistant"
        if message.id is None:
            return self._by_text.get((role, message_text(message)), [])
        if self._ids[message.id] > 1:
            return []
        return [turn for turn in self._by_id.get(message.id, ()) if turn.role == role]

    def tells(self, places: Stretch) -> bool:
        """Whether the summary has read everything that a stretch says and does."""
        return self.summary is not None and all(map(self._is_told, places))

    def can_tell(self, places: Stretch) -> bool:
        """Whether a new summary could: all that was said was stored. What wasn't was said off the record, or erased."""
        said = [place for place in places if self._says(place)]
        return bool(said) and all(self.turns_of(place) for place in said)

    def untold_actions(self, places: Stretch) -> list[str]:
        """The lines of what was done in a stretch and isn't kept with a turn."""
        if all(self._done_in(place) for place in places if is_action(self.messages[place])):
            return []
        return list(find_actions(self.messages, places[0], places[-1] + 1).lines)

    def action_ids(self, places: Iterable[int]) -> set[str]:
        """The ids of the calls and results at those places."""
        return {str(each.id) for place in places if is_action(each := self.messages[place]) and self._ids[each.id] == 1}

    def _says(self, place: int) -> bool:
        """Whether a message says something of its own; what it quotes from memory, and tool logs, are none."""
        message = self.messages[place]
        if message.type == "tool" or message.response_metadata.get(QUOTED_FROM_MEMORY):
            return False
        return bool(message_text(message).strip())

    def _is_told(self, place: int) -> bool:
        message = self.messages[place]
        if not isinstance(message, HumanMessage | AIMessage) and message.type != "tool":
            return False  # nobody stores what other kinds of messages say
        if self._says(place):
            turns = self.turns_of(place)
            if not turns or not all(map(self._is_read, turns)):
                return False
        if not is_action(message) or (message.id in self.told and self._ids[message.id] == 1):
            return True
        done = self._done_in(place)
        return bool(done) and all(map(self._is_read, done))

    def _done_in(self, place: int) -> list[MemoryRecord]:
        id = self.messages[place].id
        return self._by_action.get(id, []) if id is not None and self._ids[id] == 1 else []

    def _is_read(self, turn: MemoryRecord) -> bool:
        return turn.id in self._read and not (self.whole and turn.extracted is False)
