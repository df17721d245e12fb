"""What calls of models cost, counted for whoever asked for them, however deep below they are made."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from langmem_plus.tokens import counter

logger = logging.getLogger(__name__)

_COUNTS: ContextVar[dict[str, int] | None] = ContextVar("langmem_plus_spending", default=None)
_USES: ContextVar[list[ModelUse] | None] = ContextVar("langmem_plus_model_uses", default=None)
_counting = threading.Lock()  # calls that are made at a time share the counts


@contextmanager
def spending() -> Iterator[dict[str, int]]:
    """Count what is spent within the block, also in threads that take its context along.

    >>> with spending() as counts:
    ...     spend("calls")
    ...     spend("calls", 2)
    >>> counts
    {'calls': 3}
    """
    counts: dict[str, int] = {}
    token = _COUNTS.set(counts)
    try:
        yield counts
    finally:
        _COUNTS.reset(token)


def spend(name: str, amount: int = 1) -> None:
    """Add to a count of the innermost `spending`; without one, nothing is counted."""
    counts = _COUNTS.get()
    if counts is not None:
        with _counting:
            counts[name] = counts.get(name, 0) + amount


@dataclass
class ModelUse:
    """One call of a chat model.

    Attributes:
        provider: as LangChain names it, such as ``openai``; empty where the model doesn't say.
        model: its name; empty where it doesn't say.
        began: when the call began, in nanoseconds since 1970.
        ended: when it ended; None while it goes on, or once nobody waits for it any more.
        input_tokens: tokens of the prompt.
        output_tokens: tokens of the answer.
        estimated: the model said nothing of tokens, so they were counted here.
        error: the kind of the failure; empty for a call that was answered.
    """

    provider: str
    model: str
    began: int
    ended: int | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
    error: str = ""


@contextmanager
def model_uses() -> Iterator[list[ModelUse]]:
    """Collect the calls of chat models within the block, also in threads that take its context along."""
    uses: list[ModelUse] = []
    token = _USES.set(uses)
    try:
        yield uses
    finally:
        _USES.reset(token)


@contextmanager
def using(model: Any, messages: Sequence[BaseMessage]) -> Iterator[Callable[[Any], None]]:
    """Note one call of a model, for the innermost `model_uses`; what is given is told the answer. Tokens of a call that
    fails are unknown, and counted as none.

    Args:
        model: who is asked.
        messages: what is asked.
    """
    uses = _USES.get()
    if uses is None:
        yield _nothing
        return
    use = ModelUse(*named(model), began=time.time_ns())
    uses.append(use)

    def answered(output: Any) -> None:
        use.input_tokens, use.output_tokens, use.estimated = tokens_of(output, messages)

    try:
        yield answered
    except BaseException as error:
        use.error = type(error).__name__
        raise
    finally:
        use.ended = time.time_ns()


def _nothing(output: Any) -> None:
    """Nobody counts."""


def named(model: Any) -> tuple[str, str]:
    """A chat model's provider and name, as it tells LangChain's tracers; both empty where it doesn't."""
    inner = model
    while not callable(getattr(inner, "_get_ls_params", None)):  # bind, with_retry, with_fallbacks, a sequence
        inner = next((getattr(inner, name) for name in ("bound", "runnable", "first") if hasattr(inner, name)), None)
        if inner is None:
            return "", ""
    try:
        known = inner._get_ls_params()
    except Exception as error:  # noqa: BLE001 - what a model is called is no reason not to ask it
        logger.debug("a model doesn't tell its name: %s", error)
        return "", ""
    return str(known.get("ls_provider") or ""), str(known.get("ls_model_name") or "")


def tokens_of(output: Any, messages: Sequence[BaseMessage]) -> tuple[int, int, bool]:
    """The tokens of a prompt and of its answer, and whether they had to be counted here, because the model doesn't say.

    Args:
        output: an answer, or the mapping of a structured one, whose ``raw`` message is the answer.
        messages: the prompt.
    """
    raw = output.get("raw") if isinstance(output, dict) else output
    usage = raw.usage_metadata if isinstance(raw, AIMessage) else None
    if usage and usage.get("input_tokens"):  # some servers say 0 of everything
        return usage["input_tokens"], usage.get("output_tokens", 0), False
    measure = counter()
    return measure.count_messages(messages), measure.count_messages([raw]) if isinstance(raw, BaseMessage) else 0, True
