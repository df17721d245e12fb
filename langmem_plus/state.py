"""The channels that the nodes read and write.

Only ``messages`` is ever checkpointed, and beside it how far turns were counted, and which words were said incognito.
Everything recalled lives in untracked channels: it is gone after the run, and after an interrupt, and can never grow a
thread's history.
"""

from __future__ import annotations

from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.channels import UntrackedValue
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict  # the schema of a graph over typing.TypedDict fails before Python 3.12

from langmem_plus.records import Decision, Fact, MemoryHit, MemoryRecord, Plan


class MemoryState(TypedDict, total=False):
    """The memory graph's state. A parent graph that wants ``memory_context`` declares the channel too.

    Attributes:
        messages: the thread, as the agent sees it; never holds recalled text.
        memory_turn: the number of the thread's last recorded turn (a turn is a user's words and the reply).
        memory_counted: the id of the user's last message that was counted as part of a turn.
        memory_incognito: the ids of the user's last messages, as far as they were said incognito; what answers them
            is, too, whatever the run that resumes or repeats their turn says.
        memory_plan: whether this message needs memory, and which.
        memory_hits: the candidates, narrowed by each stage of recall.
        memory_summary: the record of the thread's rolling summary.
        memory_context: the fenced text for the model call; empty when nothing is recalled.
        memory_turns: the stored turns whose facts are being drawn out.
        memory_warned: the warnings about what one of these turns says, by the turn's id; the report has them, too.
        memory_claim: in whose name these turns are claimed.
        memory_facts: the facts that were drawn out and aren't stored yet.
        memory_draft: what the model's answer proposed beside the facts (`langmem_plus.remember.draft.Draft`).
        memory_decisions: what reconciliation decided about them.
        memory_report: the `MemoryReport` of this run as plain JSON.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    memory_turn: int
    memory_counted: str | None
    memory_incognito: list[str]
    memory_plan: Annotated[Plan, UntrackedValue]
    memory_hits: Annotated[list[MemoryHit], UntrackedValue]
    memory_summary: Annotated[MemoryRecord | None, UntrackedValue]
    memory_context: Annotated[str, UntrackedValue]
    memory_turns: Annotated[list[MemoryRecord], UntrackedValue]
    memory_warned: Annotated[dict[str, list[str]], UntrackedValue]
    memory_claim: Annotated[str, UntrackedValue]
    memory_facts: Annotated[list[Fact], UntrackedValue]
    memory_draft: Annotated[Any, UntrackedValue]
    memory_decisions: Annotated[list[Decision], UntrackedValue]
    memory_report: Annotated[dict[str, Any], UntrackedValue]
