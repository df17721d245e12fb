"""A plan by somebody else than the cues: a function's, or a chat model's, asked within bounds.

The cues stay the floor: what memory is allowed to do is decided before (`plan`), and where a planner fails or has no
answer, the message gets the strategy that the cues give it.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, cast, get_args

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import Runnable

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, ModelAnswerError, ModelRestingError, ModelTimeoutError
from langmem_plus.fence import escape
from langmem_plus.messages import last_human, message_words
from langmem_plus.prompts import Planned, render_planning
from langmem_plus.providers import make_chat_model, structured
from langmem_plus.providers.breaker import Breaker
from langmem_plus.providers.forks import renewed_in_children
from langmem_plus.providers.threads import in_thread, within
from langmem_plus.records import Plan
from langmem_plus.shown import shown

Planner: TypeAlias = Callable[[str, Sequence[BaseMessage], MemoryConfig], Any]
PlanSpec: TypeAlias = str | BaseChatModel | Runnable[Any, Any] | Planner | None

STRATEGIES = get_args(Plan.model_fields["strategy"].annotation)
SAME_MODEL = "model"
# What a model is shown: the question stands at the beginning or the end, and what came before says what it leans on.
MESSAGE_CHARACTERS = 2000
EARLIER_MESSAGES, EARLIER_CHARACTERS = 2, 300
REASON_CHARACTERS = 120
# Failures in a row after which the model rests, and the seconds of its first rest.
FAILURES, REST_SECONDS = 2, 30.0


class ModelPlanner:
    """Asks a chat model which memory a message needs.

    Args:
        model: any chat model; it is asked as it is.
        config: bounds the time (``plan_seconds``).
    """

    def __init__(self, model: BaseChatModel, config: MemoryConfig) -> None:
        self.model = model
        self.seconds = config.plan_seconds
        self.breaker = Breaker(FAILURES, REST_SECONDS)
        renewed_in_children(self.breaker)

    def __call__(self, text: str, messages: Sequence[BaseMessage], config: MemoryConfig) -> Plan:
        """The model's plan.

        Raises:
            ModelRestingError: it failed again and again, and isn't asked now.
            ModelTimeoutError: it took longer than ``plan_seconds``.
            ModelAnswerError: its answer can't be read.
            Exception: what the provider raises when the connection, the key or the server fails.
        """
        if not self.breaker.allows():
            raise ModelRestingError(
                f"the planning model failed lately; it is asked again in {self.breaker.resting():.0f} s."
            )
        began = time.monotonic()
        request = render_planning(_shown(text, MESSAGE_CHARACTERS), _earlier(messages))
        try:
            answer = within(self.seconds, structured, self.model, request, Planned)
        except ModelAnswerError:
            self.breaker.failed(0.0)  # it did answer: how long that took tells of no outage
            raise
        except TimeoutError as error:
            spent = time.monotonic() - began
            self.breaker.failed(spent)
            if spent < self.seconds:  # the provider's own
                raise
            raise ModelTimeoutError(self.seconds, "plan_seconds") from error
        except Exception:
            self.breaker.failed(time.monotonic() - began)
            raise
        self.breaker.succeeded()
        reason = " ".join(answer.reason.split())[:REASON_CHARACTERS]
        return Plan(strategy=answer.strategy, reason=f"the model: {reason}" if reason else "the model chose it")


def make_planner(spec: PlanSpec, config: MemoryConfig, model: BaseChatModel | None) -> Planner | None:
    """The planner that ``spec`` means; None leaves it to the cues.

    Args:
        spec: a function of the user's words, the messages and the settings; a chat model, or its name as
            ``provider:model``; or ``"model"``, the chat model that extracts and decides.
        config: the settings.
        model: the chat model that ``"model"`` means.

    Raises:
        ConfigError: it is none of these, or names a model that there isn't.
    """
    if spec is None:
        return None
    if isinstance(spec, str):
        if spec in STRATEGIES:
            raise ConfigError(f"plan={spec!r} is a strategy: set MemoryConfig(strategy={spec!r}).")
        # Its requests end when nobody waits for them any more.
        bounded = config.replace(answer_seconds=config.plan_seconds)
        found = model if spec == SAME_MODEL else make_chat_model(spec, bounded)
        if found is None:
            raise ConfigError("plan='model' means the chat model that model names, and none is named: set model.")
        return ModelPlanner(found, config)
    if isinstance(spec, Runnable):
        return ModelPlanner(cast(BaseChatModel, spec), config)
    if callable(spec):
        return spec
    raise ConfigError(
        f"plan is {shown(spec)}: pass a function of (text, messages, config), a chat model or its name, or None."
    )


def ask(planner: Planner, text: str, messages: Sequence[BaseMessage], config: MemoryConfig) -> Any:
    """What the planner answers.

    Raises:
        ConfigError: it is a coroutine function, and this is a sync run.
    """
    answer = planner(text, messages, config)
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise ConfigError(f"plan={shown(planner)} is async: call the graph with ainvoke or astream.")
    return answer


async def aask(planner: Planner, text: str, messages: Sequence[BaseMessage], config: MemoryConfig) -> Any:
    """As `ask`: a coroutine function is awaited, anything else runs in a thread."""
    if inspect.iscoroutinefunction(planner) or inspect.iscoroutinefunction(getattr(planner, "__call__", None)):  # noqa: B004
        return await planner(text, messages, config)
    answer = await in_thread(planner, text, messages, config)
    return await answer if isinstance(answer, Awaitable) else answer


def read_answer(answer: Any, by_cues: Plan, query: str) -> Plan:
    """The plan that an answer means: a `Plan`, the name of a strategy, or None, which leaves it to the cues.

    Args:
        answer: what a planner gave.
        by_cues: the plan by the cues.
        query: what is searched by where the answer doesn't say.

    Raises:
        ConfigError: it is none of these.
    """
    if answer is None:
        return by_cues
    if isinstance(answer, str) and answer in STRATEGIES:
        answer = Plan.model_validate({"strategy": answer, "reason": "the function given as plan chose it"})
    if not isinstance(answer, Plan):
        raise ConfigError(
            f"plan gave {shown(answer)}: give a Plan, one of {', '.join(STRATEGIES)}, or None for the cues."
        )
    if answer.strategy == by_cues.strategy == "archive":
        query = by_cues.query  # without the words that asked for it
    return answer if answer.query or answer.strategy == "none" else answer.model_copy(update={"query": query})


def _shown(text: str, limit: int) -> str:
    half = limit // 2
    cut = text if len(text) <= limit else f"{text[:half]} […] {text[-half:]}"
    return escape(cut, "message", "conversation")


def _earlier(messages: Sequence[BaseMessage]) -> list[str]:
    place = last_human(messages) or 0
    spoken = [each for each in messages[:place] if each.type in ("human", "ai") and message_words(each)]
    return [
        f"{'user' if isinstance(each, HumanMessage) else 'assistant'}: "
        f"{_shown(message_words(each), EARLIER_CHARACTERS)}"
        for each in spoken[-EARLIER_MESSAGES:]
    ]
