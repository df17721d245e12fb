"""The tool that creates, updates and deletes memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Optional, get_args

from langchain_core.tools import BaseTool
from langgraph.store.base import BaseStore
from pydantic import BaseModel, Field, create_model

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, InvalidValueError
from langmem_plus.remember.steps import Steps
from langmem_plus.shown import shown
from langmem_plus.tools.content import read_content
from langmem_plus.tools.descriptions import ARGUMENTS, INCOGNITO_WRITE, MANAGE_INSTRUCTIONS, describe_manage
from langmem_plus.tools.memory_tool import (
    Arguments,
    AsJson,
    Call,
    Namespace,
    OptionalId,
    choice,
    stepping_tool,
    tool_services,
)
from langmem_plus.tools.writing import create_steps, delete_steps, update_steps

Action = Literal["create", "update", "delete"]


def read_actions(asked: Sequence[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    """The actions that a tool permits.

    Raises:
        ConfigError: there is none, or one doesn't exist.
    """
    actions = (asked,) if isinstance(asked, str) else tuple(known if asked is None else asked)
    if not actions or not set(actions) <= set(known):
        raise ConfigError(f"actions_permitted is {shown(asked)}: give one or more of {', '.join(known)}.")
    return tuple(dict.fromkeys(actions))


def manage_steps(call: Call, given: dict[str, Any]) -> Steps[str]:
    """Do what a model asks for.

    Raises:
        InvalidValueError: the action needs an id or a content, or can't have an id.
    """
    action, id, content = given["action"], given.get("id"), given.get("content")
    if action == "create":
        if id is not None:
            raise InvalidValueError("a new memory has no id yet: leave the id out, or use the action update.")
        return (yield from create_steps(call, read_content("" if content is None else content)))
    if not id:
        raise InvalidValueError(f"which memory? Give its id to {action} it, as a search shows it under key.")
    if action == "delete":
        return (yield from delete_steps(call, id))
    return (yield from update_steps(call, id, read_content("" if content is None else content)))


def _arguments(name: str, schema: Any, actions: tuple[str, ...]) -> type[BaseModel]:
    default = "create" if "create" in actions else actions[0]
    content: Any = Optional[schema]  # noqa: UP045 - any type may come
    fields: dict[str, Any] = {
        "content": (
            content if schema is str else Annotated[content, AsJson],
            Field(None, description=ARGUMENTS["content"]),
        ),
        "action": choice(actions, default, ARGUMENTS["action"]),
        "id": (OptionalId, Field(None, description=ARGUMENTS["id"])),
    }
    return create_model(name, __base__=Arguments, **fields)


def create_manage_memory_tool(
    namespace: Namespace = None,
    *,
    instructions: str = MANAGE_INSTRUCTIONS,
    schema: Any = str,
    actions_permitted: Sequence[Action] | None = get_args(Action),
    store: BaseStore | None = None,
    name: str = "manage_memory",
    config: MemoryConfig | None = None,
) -> BaseTool:
    """A tool that writes long-term memory: ``manage_memory(content=None, action="create", id=None)``.

    The same tool call writes once, however often it is executed. What is known already isn't stored twice. An update
    leaves the old memory as a tombstone and gives the new one another id; a deletion is soft. An unknown id is an
    error, and so is a pinned memory. In an incognito session nothing is written, and the answer says so.

    Args:
        namespace: whose memory, as in `create_search_memory_tool`.
        instructions: when a model is to write.
        schema: what a memory's content is: ``str``, a pydantic model, a list of them. Fields stand in the record's
            ``metadata["content"]``, in words in its text.
        actions_permitted: what the model may do: some of create, update and delete.
        store: where memories are kept; None uses the store of the graph that calls the tool.
        name: the tool's name.
        config: the settings; None reads them from the environment.

    Raises:
        ConfigError: the namespace or the store isn't one, or an action doesn't exist.
    """
    actions = read_actions(actions_permitted, get_args(Action))
    return stepping_tool(
        tool_services(namespace, store, config),
        manage_steps,
        name=name,
        description=describe_manage(actions, instructions),
        arguments=_arguments(name, schema, actions),
        incognito=INCOGNITO_WRITE,
    )
