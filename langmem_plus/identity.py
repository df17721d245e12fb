"""Whose memory a run touches, and whether it leaves a trace, as far as its configuration and its context tell."""

from __future__ import annotations

import contextvars
import dataclasses
from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, var_child_runnable_config
from langgraph.runtime import Runtime, get_runtime

from langmem_plus.errors import ForeignIdentityError
from langmem_plus.messages import last_said
from langmem_plus.shown import shown
from langmem_plus.state import MemoryState

INCOGNITO = "__langmem_plus_incognito"  # where it is settled; a run's context can't say otherwise
_NAMED = "__langmem_plus_named"  # the context of the graph around a call, and what the call names otherwise


def find_identity(configurable: Mapping[str, Any], runtime: Runtime[Any] | None) -> dict[str, Any]:
    """The fields that name somebody, from ``runtime.context``, then ``configurable``, then the server's user; where a
    call within another graph names somebody itself, that comes before the context of the graph around it.
    """
    values = {name: value for name, value in configurable.items() if _is_field(name)}
    own = _named(configurable, runtime) or frozenset()
    fields = _fields(getattr(runtime, "context", None)).items()
    values.update({name: value for name, value in fields if value is not None and _is_field(name) and name not in own})
    if values.get("user_id") is None:
        values["user_id"] = configurable.get("langgraph_user_id") or signed_in(runtime)
    return values


def _is_field(name: Any) -> bool:
    """Whether a name is that of a field: a text, and not LangGraph's own business."""
    return isinstance(name, str) and not name.startswith("__")


def _fields(context: Any) -> Mapping[Any, Any]:
    if context is None:
        return {}
    if isinstance(context, Mapping):
        return context
    if hasattr(context, "model_dump"):
        found: dict[str, Any] = context.model_dump()
        return found
    if dataclasses.is_dataclass(context):
        return {each.name: getattr(context, each.name) for each in dataclasses.fields(context)}
    return vars(context) if hasattr(context, "__dict__") else {}


def _named(configurable: Mapping[str, Any], runtime: Runtime[Any] | None) -> frozenset[str] | None:
    """The fields that a call has named itself, within a graph whose context it has; None where nobody has looked, or
    somebody has named another user, or given another context, since.
    """
    context, user, names = configurable.get(_NAMED) or (None, None, None)
    fits = context is getattr(runtime, "context", None) and user == configurable.get("user_id")
    return names if fits else None


def naming(config: RunnableConfig | None, context: Any = None) -> RunnableConfig | None:
    """The config of a call, with a note of what it names otherwise than the graph around it does, where there is one
    with a context: the nearest word is the call's own. What it only hands on is not.

    Args:
        config: the call's.
        context: the call's, where it gives one; then that is the nearest word.
    """
    runtime = current_runtime()
    if runtime is None or (runtime.context is None and context is None):
        return config
    given: Mapping[str, Any] = (config or {}).get("configurable") or {}
    around = (var_child_runnable_config.get() or {}).get("configurable") or {}
    own = frozenset(name for name in given if _is_field(name) and given[name] != around.get(name))
    if context is None and not own and _named(given or around, runtime) is not None:
        return config  # called with what the graph around it was called with
    user = given.get("user_id", around.get("user_id"))
    note = (runtime.context, user, own) if context is None else (context, user, frozenset[str]())
    return {**(config or {}), "configurable": {**given, _NAMED: note}}


def refuse_two(configurable: Mapping[str, Any], runtime: Runtime[Any] | None) -> None:
    """Refuse a run within another graph's, for which the context names one user and the configuration another, where it
    can't be told which of them the call has named itself, and which it has from the graph around it.

    Raises:
        ForeignIdentityError: they are two.
    """
    if "|" not in str(configurable.get("checkpoint_ns") or "") or _named(configurable, runtime) is not None:
        return
    one, other = _fields(getattr(runtime, "context", None)).get("user_id"), configurable.get("user_id")
    if one is not None and other is not None and str(one) != str(other):
        raise ForeignIdentityError(
            f"a graph that is called within another one is for user_id={shown(other)} by its configuration, and for "
            f"{shown(one)} by its context: give that call the same user_id in both, context= and configurable."
        )


def signed_in(runtime: Runtime[Any] | None) -> str | None:
    """Who is signed in on the server that runs the graph; None where nobody is."""
    user = getattr(getattr(runtime, "server_info", None), "user", None)
    return getattr(user, "identity", None) or None


def refuse_foreign(named: Any, user: str | None) -> None:
    """Refuse a run for another user than the one who is signed in, where somebody is.

    Raises:
        ForeignIdentityError: they are two.
    """
    if user is not None and str(named) != user:
        raise ForeignIdentityError(
            f"the run is for user_id={shown(named)}, but {shown(user)} is signed in on the server: leave user_id "
            "out, or, where callers are backends that speak for their users, set trust_callers."
        )


def marked(config: RunnableConfig, incognito: bool) -> RunnableConfig:
    """The configuration; where the turn is incognito, it says so to whatever is called with it."""
    configurable = config.get("configurable") or {}
    return {**config, "configurable": {**configurable, "incognito": True, INCOGNITO: True}} if incognito else config


def held(state: MemoryState, config: RunnableConfig) -> RunnableConfig:
    """The configuration, incognito where the user's last words were said so: who resumes a turn, or has it answered
    again, needn't say it again.
    """
    said, secret = last_said(state.get("messages") or [])[-1:], state.get("memory_incognito") or []
    return marked(config, bool(said) and said[0].id in secret)


def current_runtime() -> Runtime[Any] | None:
    """The running graph's runtime, or None outside of a graph."""
    try:
        return get_runtime()
    except RuntimeError:
        return None


def alone() -> contextvars.Context:
    """The current context variables without the running graph: nothing of its thread, its user or its callbacks is
    handed on to what runs in them.
    """
    context = contextvars.copy_context()
    context.run(var_child_runnable_config.set, None)
    return context


def settle(config: RunnableConfig | None) -> RunnableConfig:
    """The config with what surrounds it: naming a user must not hide the running graph, and with it the store."""
    settled, around = ensure_config(naming(config)), ensure_config().get("configurable") or {}
    settled["configurable"] = {**around, **(settled.get("configurable") or {})}
    return settled
