"""What an instance keeps in the agent's state, and what beside it.

Recalled text is in neither a checkpoint nor a channel: tools are handed the agent's state, and some hand it on as the
input of another graph, which is checkpointed. A channel holds a handle; the text stays in the process while the run
goes on.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, cast

from langchain.agents.middleware.types import AgentState, OmitFromInput, PrivateStateAttr
from langchain_core.messages import BaseMessage
from langgraph.channels import UntrackedValue
from typing_extensions import TypedDict

from langmem_plus.errors import ConfigError

DEFAULT_NAME = "LongTermMemoryMiddleware"
KEPT_RUNS = 1000  # runs whose recalled text is kept at a time; the text of an older one is recalled again


class Progress(TypedDict):
    """How far an instance is in a thread; plain JSON, checkpointed.

    Attributes:
        turn: the number of the last turn.
        counted: the id of the user's last message that was counted as part of a turn.
        said: the id of the user's last message when the last run began.
        asked: what it says, cut to a bounded length, while that run goes on: whoever shortens the thread may take it
            away. None where it is incognito.
        open: a run has begun that isn't over.
        incognito: a part of the turn was incognito, so nothing more of it is stored, whatever later runs say.
    """

    turn: int | None
    counted: str | None
    said: str | None
    asked: NotRequired[str | None]
    open: bool
    incognito: bool


NOWHERE = Progress(turn=None, counted=None, said=None, open=False, incognito=False)


@dataclass(frozen=True)
class Channels:
    """The names of an instance's channels in the agent's state: each instance has its own."""

    progress: str
    run: str
    report: str

    @classmethod
    def of(cls, name: str) -> Channels:
        """The channels of the instance of that name."""
        suffix = "" if name == DEFAULT_NAME else f"_{name}"
        return cls(f"memory_progress{suffix}", f"memory_run{suffix}", f"memory_report{suffix}")

    def schema(self) -> type[AgentState[Any]]:
        """What the instance adds to the agent's state."""
        make: Any = TypedDict
        return cast(
            type[AgentState[Any]],
            make(
                "LongTermMemoryState",
                {
                    self.progress: NotRequired[Annotated[Progress, PrivateStateAttr]],
                    self.run: NotRequired[Annotated[str, UntrackedValue, PrivateStateAttr]],
                    self.report: NotRequired[Annotated[dict[str, Any], UntrackedValue, OmitFromInput]],
                },
            ),
        )


@dataclass(frozen=True)
class Run:
    """What is known of one run.

    Args:
        context: the recalled text; None where nothing was recalled yet.
        report: the report so far.
        window: the ids of the messages that were taken for seen when it was recalled.
        sent: a model was called with it, so it stays as it is.
    """

    context: str | None = None
    report: dict[str, Any] = field(default_factory=dict)
    window: frozenset[str | None] = frozenset()
    sent: bool = False

    def fits(self, messages: Sequence[BaseMessage]) -> bool:
        """Whether a model that sees these messages may be called with what was recalled; where it doesn't see all that
        was taken for seen, because they were shortened for the call, it is recalled anew before the first call.
        """
        return self.context is not None and (self.sent or self.window <= {message.id for message in messages})


class Runs:
    """The runs that are going on, by their handles; the least recently used are forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, Run] = OrderedDict()

    def get(self, handle: str | None) -> Run:
        """What is known; nothing of a run that isn't there."""
        with self._lock:
            if handle is None or handle not in self._runs:
                return Run()
            self._runs.move_to_end(handle)
            return self._runs[handle]

    def keep(self, handle: str | None, run: Run) -> str:
        """Keep what is known; gives the handle, a new one where there is none."""
        handle = handle or uuid.uuid4().hex
        with self._lock:
            self._runs[handle] = run
            self._runs.move_to_end(handle)
            while len(self._runs) > KEPT_RUNS:
                self._runs.popitem(last=False)
        return handle

    def drop(self, handle: str | None) -> None:
        """Forget a run that is over."""
        with self._lock:
            self._runs.pop(handle or "", None)


def read_name(name: str) -> str:
    """A name that an agent's nodes can carry.

    Raises:
        ConfigError: it is blank, or has a character that LangGraph keeps for itself.
    """
    if not isinstance(name, str) or not name.strip() or any(mark in name for mark in "|:"):
        raise ConfigError(f"name is {name!r}: give a text without '|' and ':', such as name='WorkMemory'.")
    return name
