"""Chat models by name, and structured answers from any of them.

A structured answer is asked for in the best way that the model knows, and read tolerantly in every way: the provider's
JSON schema, a function call, JSON mode with the schema in the prompt, plain text with the schema in the prompt. Which
way works is remembered for each model. An answer that can't be read is asked for once more, in plain text; as long as
no way has worked, the next question is asked in the next one. A failure of the connection, the key or the server is
never taken for a bad answer: it is raised as it came.
"""

from __future__ import annotations

import inspect
import json
import logging
import re
import weakref
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelInvalidRequestError,
    ModelRefusalError,
    OutputParserException,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableParallel, RunnableSequence
from langgraph.constants import TAG_NOSTREAM
from pydantic import BaseModel, ValidationError

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, ModelAnswerError
from langmem_plus.prompts import ask_again, ask_for_json
from langmem_plus.providers.answers import read_message, read_text
from langmem_plus.providers.known import check_chat_model
from langmem_plus.providers.lazy import LazyChatModel
from langmem_plus.providers.spending import using
from langmem_plus.providers.threads import in_thread

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer", bound=BaseModel)

METHODS = ("json_schema", "function_calling", "json_mode", "text")  # the best first
# What a rejection says when it is about the way of asking; a server error that says none of it is an outage.
_ABOUT_THE_METHOD = re.compile(
    r"response_format|json|schema|tool|function|grammar|template|jinja|unsupported|not support", re.IGNORECASE
)
# What a status 400 says when it is about something else: no other way of asking would help.
_ABOUT_SOMETHING_ELSE = re.compile(
    r"api.?key|credential|unauthori[sz]ed|quota|billing|context.{0,20}(length|window|size)|too (long|many tokens)",
    re.IGNORECASE,
)
_EXCERPT = 120  # characters of an unreadable answer that its error shows

# model → the method that worked, or else the first one that still may, and whether it did; kept by identity, because
# models aren't hashable, and dropped with the model
_working: dict[int, tuple[weakref.ref[Any], str, bool]] = {}


def make_chat_model(
    model: str | BaseChatModel | Runnable[Any, Any] | None, config: MemoryConfig | None = None
) -> BaseChatModel | None:
    """The chat model that ``model`` means; None where there is none, and rules take its place.

    Args:
        model: ``"provider:model"`` as LangChain's ``init_chat_model`` takes it (built at the first use), a chat model,
            or a runnable made from one (``bind``, ``with_retry``, ``with_fallbacks``); ``"none"`` or None.
        config: gives ``base_url`` and ``answer_seconds`` for OpenAI-compatible servers.

    Raises:
        ConfigError: it is none of these; there is no such provider, or its package isn't installed.
    """
    if model is None or isinstance(model, BaseChatModel):
        return model
    if isinstance(model, str):
        spec = model.strip()
        if spec.lower() in ("", "none"):
            return None
        settings = config or MemoryConfig()
        check_chat_model(spec, settings.base_url)
        return LazyChatModel(spec=spec, base_url=settings.base_url, answer_seconds=settings.answer_seconds)
    if isinstance(model, Runnable):
        return cast(BaseChatModel, model)
    raise ConfigError(f"model={model!r} is a {type(model).__name__}; give a chat model or a name such as openai:gpt-5.")


def structured(model: BaseChatModel, messages: Sequence[BaseMessage], schema: type[Answer]) -> Answer:
    """The model's answer as ``schema``. Its tokens stream to nobody, and no caller's callbacks see the call.

    Raises:
        ModelAnswerError: no answer could be read, not even after asking again.
        ConfigError: the model's package or key is missing.
        Exception: what the provider raises when the connection, the key or the server fails.
    """
    asking = _ask(_resolved(model), messages, schema)
    call = next(asking)
    while True:
        try:
            try:
                output = _invoke(call)
            except Exception as error:  # noqa: BLE001 - _ask decides what it means, and raises it again if it is no answer
                call = asking.throw(error)
            else:
                call = asking.send(output)
        except StopIteration as finished:
            return cast(Answer, finished.value)


async def astructured(model: BaseChatModel, messages: Sequence[BaseMessage], schema: type[Answer]) -> Answer:
    """The async twin of `structured`, for any loop: the model's sync client is asked, in a thread; a model that has no
    sync call is awaited."""
    asking = _ask(await in_thread(_resolved, model), messages, schema)
    call = next(asking)
    while True:
        try:
            try:
                output = await _ainvoke(call)
            except Exception as error:  # noqa: BLE001 - as in structured
                call = asking.throw(error)
            else:
                call = asking.send(output)
        except StopIteration as finished:
            return cast(Answer, finished.value)


@dataclass(frozen=True)
class _Call:
    model: Runnable[Any, Any]
    messages: list[BaseMessage]


def _invoke(call: _Call) -> Any:
    with using(call.model, call.messages) as answered:
        output = call.model.invoke(call.messages, config=_config())
        answered(output)
    return output


async def _ainvoke(call: _Call) -> Any:
    with using(call.model, call.messages) as answered:
        try:
            output = await in_thread(call.model.invoke, call.messages, _config())
        except NotImplementedError:
            output = await call.model.ainvoke(call.messages, _config())
        answered(output)
    return output


_Asking: TypeAlias = Generator[_Call, Any, Answer]


def _ask(model: BaseChatModel, messages: Sequence[BaseMessage], schema: type[Answer]) -> _Asking[Answer]:
    """The pure core: yields calls, is sent their outputs or their errors, and returns the answer."""
    said = ""
    for method in _methods(model):
        call = _prepare(model, method, messages, schema)
        if call is None:
            continue
        try:
            output = yield call
        except Exception as error:
            if not _is_unreadable(error):
                if method == "text" or not _rejects_method(error):
                    raise
                logger.debug("the model doesn't answer by %s: %s", method, error)
                continue
            said = _text_in(error)
            answer = read_text(said, schema)
        else:
            said, answer = _read(output, schema)
        if answer is not None:
            _remember_method(model, method)
            return answer
        if _known_method(model) is None:
            _pass_over(model, method)
        break  # one more call is worth a try; walking on would cost several for one question
    answer = yield from _ask_again(model, messages, said, schema)
    return answer


def _ask_again(
    model: BaseChatModel, messages: Sequence[BaseMessage], said: str, schema: type[Answer]
) -> _Asking[Answer]:
    text, answer = _read((yield _Call(model, ask_again(messages, said, schema))), schema)
    if answer is None:
        shown = repr(text[:_EXCERPT]) if text.strip() else "nothing"
        raise ModelAnswerError(
            f"the model answered {shown}, which can't be read as {schema.__name__}, and so was its answer before. "
            "A larger model, or one that supports structured output, helps."
        )
    return answer


def _prepare(model: BaseChatModel, method: str, messages: Sequence[BaseMessage], schema: type[Answer]) -> _Call | None:
    """The call for one method; None when the model doesn't offer it, which costs nothing."""
    if method == "text":
        return _Call(model, ask_for_json(messages, schema))
    shape = getattr(model, "with_structured_output", None)
    if shape is None:
        return None
    # Models that know one way only take no ``method``, and that way is the function call.
    options = {"method": method} if "method" in inspect.signature(shape).parameters else {}
    if not options and method != "function_calling":
        return None
    try:
        runnable = shape(schema, include_raw=True, **options)
    except (NotImplementedError, ValueError, TypeError, AttributeError) as error:
        logger.debug("the model doesn't offer %s: %s", method, error)
        return None
    asked = ask_for_json(messages, schema) if method == "json_mode" else list(messages)
    return _Call(_without_parsing(runnable), asked)


def _without_parsing(runnable: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """The model's part of a chain for structured output, whose raw message is all that is read.

    LangChain calls the model in a thread of a pool, which the process's exit would wait for without any bound.
    """
    first = runnable.first if isinstance(runnable, RunnableSequence) else None
    steps = first.steps__ if isinstance(first, RunnableParallel) else {}
    # A binding would let inherited callbacks in again, beside those of a call's own config.
    return steps["raw"].with_config(_config()) if list(steps) == ["raw"] else runnable


def _read(output: Any, schema: type[Answer]) -> tuple[str, Answer | None]:
    """The text of an output, and the answer in it. The raw message is read, because what LangChain parsed may lack all
    but the first of several tool calls, and may end in half a sentence where the answer was cut off.

    Raises:
        ModelAnswerError: the model refused.
    """
    raw, parsed = (output.get("raw"), output.get("parsed")) if isinstance(output, dict) else (output, None)
    if isinstance(output, dict) and isinstance(output.get("parsing_error"), ModelRefusalError):
        raise ModelAnswerError(f"the model refused to answer: {output['parsing_error']}")
    if not isinstance(raw, BaseMessage):
        return "", parsed if isinstance(parsed, schema) else None
    if refusal := _refusal(raw):
        raise ModelAnswerError(f"the model refused to answer: {refusal}")
    arguments = [call["args"] for call in getattr(raw, "tool_calls", ())]
    text = raw.text or (json.dumps(arguments) if arguments else "")
    if not text and isinstance(parsed, schema):
        return "", parsed
    return text, read_message(raw, schema)


def _refusal(message: BaseMessage) -> str | None:
    """What OpenAI's protocol says in place of an answer: beside the content, or as a part of it."""
    parts = [part for part in message.content if isinstance(part, dict) and part.get("type") == "refusal"]
    said = message.additional_kwargs.get("refusal") or next((part.get("refusal") for part in parts), None)
    return str(said) if said else None


def _resolved(model: BaseChatModel) -> BaseChatModel:
    return model.resolve_bounded() if isinstance(model, LazyChatModel) else model


def _config() -> RunnableConfig:
    # Without the tag the tokens would stream to the graph's reader, and inherited callbacks would see the call.
    return {"tags": [TAG_NOSTREAM], "callbacks": [], "run_name": "memory"}


def _methods(model: Any) -> list[str]:
    """The methods by which a model is asked: the one that worked, then the others; else those that still may work."""
    method, worked = _remembered(model)
    if worked:
        return sorted(METHODS, key=lambda name: name != method)
    return list(METHODS[METHODS.index(method) :])


def _known_method(model: Any) -> str | None:
    method, worked = _remembered(model)
    return method if worked else None


def _remembered(model: Any) -> tuple[str, bool]:
    reference, method, worked = _working.get(id(model), (None, METHODS[0], False))
    return (method, worked) if reference is not None and reference() is model else (METHODS[0], False)


def _remember_method(model: Any, method: str, *, worked: bool = True) -> None:
    place = id(model)
    _working[place] = (weakref.ref(model, lambda _: _working.pop(place, None)), method, worked)


def _pass_over(model: Any, method: str) -> None:
    """Begin with the next method from now on; nothing comes after plain text."""
    following = METHODS[METHODS.index(method) + 1 :]
    _remember_method(model, following[0] if following else method, worked=False)


def _is_unreadable(error: Exception) -> bool:
    """Whether the model did answer, and the SDK couldn't make sense of it."""
    if isinstance(error, ModelRefusalError):
        return False
    return isinstance(error, ValidationError | OutputParserException | json.JSONDecodeError) or (
        type(error).__name__ == "LengthFinishReasonError"  # OpenAI's SDK raises it, with the answer that was cut off
    )


def _rejects_method(error: Exception) -> bool:
    """Whether a failure is about the way of asking, so that another one may work."""
    if isinstance(error, ContextOverflowError | ConfigError):
        return False
    status, text = _status(error), str(error)
    if status in (400, 415, 422, 501) or (status is None and isinstance(error, ModelInvalidRequestError)):
        return not _ABOUT_SOMETHING_ELSE.search(text)
    if status in (404, 405, 500):
        return bool(_ABOUT_THE_METHOD.search(text))
    return isinstance(error, NotImplementedError)


def _status(error: Exception) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "http_status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None


def _text_in(error: Exception) -> str:
    """The answer that an error carries; empty where it carries none."""
    if isinstance(error, OutputParserException) and error.llm_output:
        return str(error.llm_output)
    try:
        completion = getattr(error, "completion", None)
        if completion is not None:
            return str(completion.choices[0].message.content or "")
        response = getattr(error, "response", None)
        if response is not None:
            return str(response.json()["choices"][0]["message"]["content"] or "")
        if isinstance(error, ValidationError):
            return str(error.errors()[0]["input"])
    except (AttributeError, LookupError, TypeError, ValueError) as odd:
        logger.debug("no answer in %r: %s", error, odd)
    return ""
