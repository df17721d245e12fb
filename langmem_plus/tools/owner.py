"""The tools for what a memory's owner decides, when they ask an agent for it: pin, forget, and see what there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

from langchain_core.tools import BaseTool
from langgraph.store.base import BaseStore, SearchItem, SearchOp
from pydantic import Field, create_model

from langmem_plus.config import MemoryConfig
from langmem_plus.recall import read_item
from langmem_plus.records import MemoryRecord, Role
from langmem_plus.remember.review import is_withheld
from langmem_plus.remember.steps import PAGE, Batch, Steps, read_record
from langmem_plus.remember.steps import Namespace as Labels
from langmem_plus.tools.descriptions import (
    ARGUMENTS,
    FORGET_INSTRUCTIONS,
    INCOGNITO_READ,
    INCOGNITO_WRITE,
    LIST_INSTRUCTIONS,
    NO_MORE,
    NOTHING_STORED,
    PIN_INSTRUCTIONS,
    describe_forget,
    describe_list,
    describe_pin,
)
from langmem_plus.tools.entries import brief, written
from langmem_plus.tools.manage import read_actions
from langmem_plus.tools.memory_tool import (
    Arguments,
    AsWord,
    Call,
    MemoryId,
    Namespace,
    choice,
    stepping_tool,
    tool_services,
)
from langmem_plus.tools.search import MOST
from langmem_plus.tools.writing import delete_steps, pin_or_unpin_steps

PinAction = Literal["pin", "unpin"]


class ForgetArguments(Arguments):
    """What is to be forgotten."""

    id: MemoryId = Field(description=ARGUMENTS["id"])


class ListArguments(Arguments):
    """What is listed, and which page of it."""

    role: Annotated[Role, AsWord] = Field("memory", description=ARGUMENTS["role"])
    limit: int = Field(10, ge=1, le=MOST, description=ARGUMENTS["limit"])
    offset: int = Field(0, ge=0, description=ARGUMENTS["offset"])


def create_pin_memory_tool(
    namespace: Namespace = None,
    *,
    instructions: str = PIN_INSTRUCTIONS,
    actions_permitted: Sequence[PinAction] | None = ("pin",),
    store: BaseStore | None = None,
    name: str = "pin_memory",
    config: MemoryConfig | None = None,
) -> BaseTool:
    """A tool that pins a memory: ``pin_memory(id, action="pin")``. No model replaces or deletes what is pinned.

    Args:
        namespace: whose memory, as in `create_search_memory_tool`.
        instructions: when a model is to pin.
        actions_permitted: pin, unpin, or both. By default only the owner unpins, so that a model can't lift what
            protects a memory from it.
        store: where memories are kept; None uses the store of the graph that calls the tool.
        name: the tool's name.
        config: the settings; None reads them from the environment.

    Raises:
        ConfigError: the namespace or the store isn't one, or an action doesn't exist.
    """
    actions = read_actions(actions_permitted, get_args(PinAction))
    fields: dict[str, Any] = {
        "id": (MemoryId, Field(description=ARGUMENTS["id"])),
        "action": choice(actions, actions[0], ARGUMENTS["action"]),
    }

    def steps(call: Call, given: dict[str, Any]) -> Steps[str]:
        return pin_or_unpin_steps(call, given["id"], pinned=given["action"] == "pin")

    return stepping_tool(
        tool_services(namespace, store, config),
        steps,
        name=name,
        description=describe_pin(actions, instructions),
        arguments=create_model(name, __base__=Arguments, **fields),
        incognito=INCOGNITO_WRITE,
    )


def create_forget_memory_tool(
    namespace: Namespace = None,
    *,
    instructions: str = FORGET_INSTRUCTIONS,
    store: BaseStore | None = None,
    name: str = "forget_memory",
    config: MemoryConfig | None = None,
) -> BaseTool:
    """A tool that forgets a memory: ``forget_memory(id)``. Its tombstone stays; what it was drawn from is withheld from
    recall, and summaries lose it. `MemoryClient.erase` is for good.

    Args:
        namespace: whose memory, as in `create_search_memory_tool`.
        instructions: when a model is to forget.
        store: where memories are kept; None uses the store of the graph that calls the tool.
        name: the tool's name.
        config: the settings; None reads them from the environment.

    Raises:
        ConfigError: the namespace or the store isn't one.
    """
    return stepping_tool(
        tool_services(namespace, store, config),
        lambda call, given: delete_steps(call, given["id"]),
        name=name,
        description=describe_forget(instructions),
        arguments=ForgetArguments,
        incognito=INCOGNITO_WRITE,
    )


def create_list_memories_tool(
    namespace: Namespace = None,
    *,
    instructions: str = LIST_INSTRUCTIONS,
    store: BaseStore | None = None,
    name: str = "list_memories",
    config: MemoryConfig | None = None,
) -> BaseTool:
    """A tool that lists what is remembered, newest first: ``list_memories(role="memory", limit=10, offset=0)``.

    Args:
        namespace: whose memory, as in `create_search_memory_tool`.
        instructions: when a model is to list.
        store: where memories are kept; None uses the store of the graph that calls the tool.
        name: the tool's name.
        config: the settings; None reads them from the environment.

    Raises:
        ConfigError: the namespace or the store isn't one.
    """
    return stepping_tool(
        tool_services(namespace, store, config),
        list_steps,
        name=name,
        description=describe_list(instructions),
        arguments=ListArguments,
        incognito=INCOGNITO_READ,
    )


def list_steps(call: Call, given: dict[str, Any]) -> Steps[str]:
    """One page of the active records of a role, of the space and ``global``, the newest words first."""
    offset, end = given["offset"], given["offset"] + given["limit"]
    found: list[tuple[MemoryRecord, Labels]] = []
    for namespace in call.scope.namespaces:
        records = yield from _listed(call, namespace, given["role"])
        found += [(record, namespace) for record in records]
    found.sort(key=lambda each: (each[0].said_at, each[0].created_at, each[0].id), reverse=True)
    page = [brief(record, namespace, call.services.config) for record, namespace in found[offset:end]]
    return written(page) if page else NO_MORE if offset else NOTHING_STORED


def _listed(call: Call, namespace: Labels, role: str) -> Steps[list[MemoryRecord]]:
    """The active records of a role; values of other programs, which have no role, are facts."""
    now, found = call.services.clock(), list[MemoryRecord]()
    filters: list[dict[str, Any]] = [{"role": role, "status": "active"}]
    if role == "memory":
        filters.append({"status": {"$ne": "active"}})
    for place, condition in enumerate(filters):
        offset = 0
        while True:
            page: list[SearchItem]
            (page,) = yield Batch([SearchOp(namespace, filter=condition, limit=PAGE, offset=offset)])
            items = [item for item in page if tuple(item.namespace) == namespace]
            records = [read_item(item, call.scope) for item in items if not place or read_record(item) is None]
            found += [record for record in records if record is not None and record.status == "active"]
            offset += PAGE
            if len(page) < PAGE:
                break
    return [record for record in found if not is_withheld(record) and not record.has_ended(now)]
