"""What the tools share: the tool itself, which knows the call that it answers, and whose memory a call touches."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from langchain_core.messages import BaseMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import ArgsSchema, InjectedToolArg, StructuredTool, ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.store.base import BaseStore
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import (
    ConfigError,
    InvalidValueError,
    LangMemPlusError,
    MissingStoreError,
    NotFoundError,
    PinnedError,
)
from langmem_plus.graph import make_services
from langmem_plus.labels import decode_label, fill_template, read_template
from langmem_plus.recall.query import current_name
from langmem_plus.records import Scope
from langmem_plus.remember.steps import Steps, arun_steps, run_steps
from langmem_plus.services import Services, current_runtime, find_identity, settle
from langmem_plus.tokens import aprepare

logger = logging.getLogger(__name__)

Namespace = tuple[str, ...] | str | Scope | None
"""Whose memory: None takes the run's user and space; a template, with fields in braces; or a fixed scope."""

Given = str | dict[str, Any] | ToolCall
_USER_FIELDS = ("{user_id}", "{langgraph_user_id}")
_OF_THE_MODEL = (NotFoundError, InvalidValueError, PinnedError)  # what the model did wrong, and can do better


def _as_id(value: Any) -> Any:
    """An id as text; what small models write where there is none is none."""
    if isinstance(value, str):
        return None if value.strip().casefold() in ("", "null", "none") else value.strip()
    return str(value) if isinstance(value, uuid.UUID | int) and not isinstance(value, bool) else value


def _as_json(value: Any) -> Any:
    """An object that a model wrote as text; what can't be read stays the text, which is refused."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value.strip() else None
    except (ValueError, RecursionError):
        return value


def _as_word(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def choice(actions: Sequence[str], default: str, description: str) -> tuple[Any, Any]:
    """An argument with which a model chooses one of the actions."""
    kind: Any = Literal[tuple(actions)]
    return Annotated[kind, AsWord], Field(default, description=description)


MemoryId = Annotated[str, BeforeValidator(_as_id)]
OptionalId = Annotated[str | None, BeforeValidator(_as_id)]
AsJson = BeforeValidator(_as_json)
AsWord = BeforeValidator(_as_word)


class Arguments(BaseModel):
    """The arguments of a tool."""

    model_config = ConfigDict(arbitrary_types_allowed=True)


def _for_every_provider(schema: dict[str, Any]) -> None:
    """Write a schema as all providers take it: ``required`` is there, and a single choice is a list of one."""
    schema.setdefault("required", [])
    for argument in schema.get("properties", {}).values():
        if "const" in argument:
            argument["enum"] = [argument.pop("const")]


class MemoryTool(StructuredTool):
    """A tool that is told the id of the call that it answers; a call without one is a program's, not a model's."""

    @property
    def tool_call_schema(self) -> ArgsSchema:
        """The schema that a model is given."""
        schema = super().tool_call_schema
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            schema.model_config["json_schema_extra"] = _for_every_provider
        return schema

    def invoke(
        self, input: str | dict[str, Any] | ToolCall, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        """Call the tool. A config of one's own leaves the running graph in reach, and with it its store."""
        return super().invoke(input, settle(config), **kwargs)

    async def ainvoke(self, input: Given, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """`invoke`, awaiting."""
        return await super().ainvoke(input, settle(config), **kwargs)

    def run(self, tool_input: str | dict[str, Any], *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        """Run the tool on its arguments."""
        return super().run(self._told(tool_input, tool_call_id), *args, tool_call_id=tool_call_id, **kwargs)

    async def arun(
        self, tool_input: str | dict[str, Any], *args: Any, tool_call_id: str | None = None, **kwargs: Any
    ) -> Any:
        """`run`, awaiting."""
        return await super().arun(self._told(tool_input, tool_call_id), *args, tool_call_id=tool_call_id, **kwargs)

    def _told(self, tool_input: str | dict[str, Any], tool_call_id: str | None) -> dict[str, Any]:
        """The arguments with the call's id, which no model chooses; a bare text is the first argument."""
        given = {next(iter(self.args)): tool_input} if isinstance(tool_input, str) else tool_input
        return {**given, "call_id": tool_call_id}


@dataclass(frozen=True)
class Call:
    """One call of a tool.

    Args:
        services: the settings, the store and the clock.
        scope: whose memory.
        tool: the tool's name.
        id: the id of the model's tool call; None where a program calls.
        speaker: the name of whose message the model answers; empty where nobody is named.
    """

    services: Services
    scope: Scope
    tool: str
    id: str | None = None
    speaker: str = ""


def tool_services(namespace: Namespace, store: BaseStore | None, config: MemoryConfig | None) -> Services:
    """What a tool works with.

    Raises:
        ConfigError: the namespace isn't one, or a setting names something that can't be built.
    """
    # langmem takes one label, too; without a field it would be one room for all users.
    scope = (namespace,) if isinstance(namespace, str) and "{" in namespace else namespace
    if scope is not None and not isinstance(scope, Scope):
        scope = read_template("namespace", scope)
    return make_services(store=store, config=config, scope=scope)


def find_scope(services: Services, config: RunnableConfig) -> Scope:
    """Whose memory a call touches. A namespace that is given without a user names its owner itself.

    Raises:
        MissingIdentityError: nobody is named, or a field of the namespace isn't filled.
    """
    template, configurable = services.scope, config.get("configurable") or {}
    if isinstance(template, tuple) and not any(name in label for label in template for name in _USER_FIELDS):
        values = find_identity(configurable, current_runtime())
        if values["user_id"] is None:
            labels = fill_template(template, {"space": "default", **values})
            owner = labels[1] if labels[0] == "memories" and len(labels) > 1 else labels[-1]
            config = {**config, "configurable": {**configurable, "user_id": decode_label(owner)}}
    scope = services.find_scope(config)
    _ = scope.namespace  # an unfilled field is an error before anything is read
    return scope


def seen_messages(runtime: Any) -> list[BaseMessage]:
    """The messages that the calling model sees, where a `ToolNode` tells: what it was just told needs no memory."""
    state = getattr(runtime, "state", None)
    found = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", state)
    return [each for each in found if isinstance(each, BaseMessage)] if isinstance(found, list) else []


def check_store(services: Services, tool: str) -> BaseStore:
    """The store of this call.

    Raises:
        MissingStoreError: none was given, and the running graph has none.
    """
    try:
        return services.find_store()
    except MissingStoreError:
        raise MissingStoreError(
            f"the tool {tool!r} has no store: pass store=MarkdownStore(...) to the function that makes the tool, or to "
            "create_agent(...) or compile(...) of the graph that calls it, or name one in langgraph.json."
        ) from None


@contextmanager
def answering(services: Services, call_id: str | None) -> Iterator[None]:
    """Turn what goes wrong into an answer for the model, whoever raised it: a store of another package, or an embedder,
    raises errors of its own. Wrong settings, interrupts and cancellation always pass; so does everything where a
    program calls, and what isn't the model's mistake with ``strict`` on.
    """
    try:
        yield
    except (ConfigError, GraphBubbleUp, ToolException):
        raise
    except Exception as error:
        if call_id is None:
            raise
        if isinstance(error, _OF_THE_MODEL):
            raise ToolException(str(error)) from error
        if services.config.strict:
            raise
        logger.error("memory: a tool failed, and the model is told so: %s", error, exc_info=error)
        raise ToolException(_failure(error)) from error


def _failure(error: Exception) -> str:
    """What a model is told. The text of an error that isn't ours may hold addresses and names that are nobody's."""
    if isinstance(error, LangMemPlusError):
        return f"Memory failed, so nothing was done: {error}"
    return (
        f"Memory failed ({type(error).__name__}), so nothing was read, and don't rely on anything being written. Go on "
        "without it, or try again later."
    )


def stepping_tool(
    services: Services,
    steps: Callable[[Call, dict[str, Any]], Steps[str]],
    *,
    name: str,
    description: str,
    arguments: type[BaseModel],
    incognito: str,
) -> MemoryTool:
    """A tool from the steps that it takes.

    Args:
        services: what it works with.
        steps: what it does, given the call and the arguments; gives its answer.
        name: the tool's name.
        description: what a model reads about it.
        arguments: the schema of the arguments.
        incognito: the answer in a session that leaves no trace, where no step is taken.
    """

    def prepare(
        config: RunnableConfig, call_id: str | None, runtime: Any, given: dict[str, Any]
    ) -> tuple[Steps[str], BaseStore]:
        speaker = current_name(seen_messages(runtime))
        call = Call(services, find_scope(services, config), name, call_id, speaker)
        return steps(call, given), check_store(services, name)

    def run(
        config: RunnableConfig,
        call_id: Annotated[str | None, InjectedToolArg] = None,
        runtime: Annotated[Any, InjectedToolArg] = None,
        **given: Any,
    ) -> str:
        if services.is_incognito(config):
            return incognito
        with answering(services, call_id):
            todo, store = prepare(config, call_id, runtime, given)
            return run_steps(todo, services, store)

    async def arun(
        config: RunnableConfig,
        call_id: Annotated[str | None, InjectedToolArg] = None,
        runtime: Annotated[Any, InjectedToolArg] = None,
        **given: Any,
    ) -> str:
        if services.is_incognito(config):
            return incognito
        with answering(services, call_id):
            todo, store = prepare(config, call_id, runtime, given)
            await aprepare(services.config)
            return await arun_steps(todo, services, store)

    return MemoryTool(
        name=name,
        description=description.strip(),
        args_schema=arguments,
        func=run,
        coroutine=arun,
        handle_tool_error=True,
    )
