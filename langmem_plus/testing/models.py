"""A chat model that answers from a script: tools, structured output, streaming, sync and async."""

from __future__ import annotations

import inspect
import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.output_parsers import BaseOutputParser, JsonOutputParser, PydanticOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableMap, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_json_schema
from pydantic import BaseModel, Field, PrivateAttr

from langmem_plus.testing.script import Script, answer_message, openai_tools

Method = Literal["json_schema", "function_calling", "json_mode"]


@dataclass(frozen=True)
class ModelCall:
    """One call of a `ScriptedChatModel`: its messages, and everything bound or passed beside them."""

    messages: list[BaseMessage]
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """All that the model read, message after message."""
        return "\n".join(message.text for message in self.messages)

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the model could have called."""
        return [tool["function"]["name"] for tool in self.kwargs.get("tools") or []]


class ScriptedChatModel(BaseChatModel):
    """Answers from a script, in order, and records every call.

    An answer is a text, an ``AIMessage``, a pydantic object, mapping or list (a structured answer: a tool call where
    tools are bound, else JSON), an exception to raise, or a callable that is given the messages and returns one of
    these (a coroutine function in async calls). Messages get the ids ``scripted-1``, ``scripted-2``, …, skipping those
    that the conversation already holds, and a usage that counts words.

    Args:
        script: the answers, in order.
        then: the answer to every call after the last one; None makes such a call a `ScriptEndedError`.
        id_prefix: what the ids of the answers begin with.
        methods: the ways of structured output that this model offers; another one raises NotImplementedError, as with
            servers that know only some.

    Example:
        >>> model = ScriptedChatModel(["Hello!"])
        >>> model.invoke("Hi").text, model.calls[0].text
        ('Hello!', 'Hi')
    """

    script: list[Any] = Field(default_factory=list)
    then: Any = None
    id_prefix: str = "scripted"
    methods: tuple[Method, ...] = ("json_schema", "function_calling", "json_mode")
    calls: list[ModelCall] = Field(default_factory=list, exclude=True)
    _script: Script = PrivateAttr()
    _numbers: Iterator[int] = PrivateAttr(default_factory=lambda: itertools.count(1))

    def __init__(self, script: Sequence[Any] = (), **fields: Any) -> None:
        super().__init__(script=list(script), **fields)

    def model_post_init(self, context: Any, /) -> None:
        """Start the script at its first answer."""
        super().model_post_init(context)
        self._script = Script(self.script, self.then)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def remaining(self) -> int:
        """How many answers of the script haven't been given yet."""
        return self._script.remaining

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | Any],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer tools to the model, as the JSON that OpenAI's protocol sends."""
        return self.bind(tools=openai_tools(tools), tool_choice=tool_choice, **kwargs)

    def with_structured_output(
        self,
        schema: dict[str, Any] | type,
        *,
        include_raw: bool = False,
        method: Method = "function_calling",
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, dict[str, Any] | BaseModel]:
        """Read the answers as ``schema``: from a tool call, or from JSON text.

        Raises:
            NotImplementedError: the method isn't among this model's ``methods``.
        """
        if method not in self.methods:
            raise NotImplementedError(f"this model offers {', '.join(self.methods)}, not {method!r}.")
        if method == "function_calling":
            return super().with_structured_output(schema, include_raw=include_raw, **kwargs)
        parser: BaseOutputParser[Any] = JsonOutputParser()
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            parser = PydanticOutputParser(pydantic_object=schema)
        response_format: dict[str, Any] = {"type": "json_object"}
        if method == "json_schema":
            response_format = {"type": "json_schema", "json_schema": convert_to_json_schema(schema)}
        model = self.bind(response_format=response_format)
        if not include_raw:
            return model | parser
        parsed = RunnablePassthrough.assign(parsed=_raw | parser, parsing_error=lambda _: None)
        failed = RunnablePassthrough.assign(parsed=lambda _: None)
        return RunnableMap(raw=model) | parsed.with_fallbacks([failed], exception_key="parsing_error")

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _result(self._finish(messages, self._answer(messages, stop, kwargs), kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _result(self._finish(messages, await _awaited(self._answer(messages, stop, kwargs)), kwargs))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        yield from _chunks(self._finish(messages, self._answer(messages, stop, kwargs), kwargs))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        answer = await _awaited(self._answer(messages, stop, kwargs))
        for chunk in _chunks(self._finish(messages, answer, kwargs)):
            yield chunk

    def _answer(self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]) -> Any:
        """Record the call and take the script's next answer; an exception in the script is raised by `_finish`."""
        extra = {"stop": stop} if stop else {}
        self.calls.append(ModelCall([message.model_copy(deep=True) for message in messages], {**kwargs, **extra}))
        answer = self._script.take(messages[-1].text if messages else "")
        is_class = isinstance(answer, type)
        return answer(messages) if callable(answer) and not is_class and not isinstance(answer, BaseModel) else answer

    def _finish(self, messages: list[BaseMessage], answer: Any, kwargs: dict[str, Any]) -> AIMessage:
        """The answer as a message with its ids and its usage.

        Raises:
            Exception: the one that stands in the script.
        """
        number = next(self._numbers)  # taken for failures too, so that ids are the calls' numbers
        if isinstance(answer, BaseException) or (isinstance(answer, type) and issubclass(answer, BaseException)):
            raise answer
        if inspect.isawaitable(answer):
            raise TypeError("the script's callable is a coroutine function: it works in ainvoke and astream alone.")
        message = answer_message(answer, kwargs.get("tools") or [], kwargs.get("tool_choice"))
        message.id = message.id or self._free_id(number, messages)
        for position, call in enumerate(message.tool_calls):
            call["id"] = call["id"] or f"call-{message.id}-{position + 1}"
        message.usage_metadata = message.usage_metadata or _usage(messages, message)
        return message

    def _free_id(self, number: int, messages: list[BaseMessage]) -> str:
        """The call's number, or the next one that the conversation doesn't hold: ids must not repeat in a thread."""
        taken = {message.id for message in messages}
        while f"{self.id_prefix}-{number}" in taken:
            number += 1
        return f"{self.id_prefix}-{number}"


def _raw(output: dict[str, Any]) -> Any:
    return output["raw"]


async def _awaited(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


def _usage(messages: list[BaseMessage], answer: AIMessage) -> UsageMetadata:
    """A usage that counts words: deterministic, and never zero."""
    read = sum(len(message.text.split()) for message in messages) + 1
    written = len(answer.text.split()) + len(json.dumps(answer.tool_calls).split())
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)


def _chunks(message: AIMessage) -> Iterator[ChatGenerationChunk]:
    """The message word by word, then its tool calls with their arguments in pieces, then its usage."""
    for piece in re.findall(r"\s*\S+|\s+$", message.text):
        yield ChatGenerationChunk(message=AIMessageChunk(content=piece, id=message.id))
    for index, call in enumerate(message.tool_calls):
        arguments = json.dumps(call["args"], ensure_ascii=False)
        half = len(arguments) // 2
        first = tool_call_chunk(name=call["name"], args=arguments[:half], id=call["id"], index=index)
        second = tool_call_chunk(name=None, args=arguments[half:], id=None, index=index)
        for piece_of_call in (first, second):
            chunk = AIMessageChunk(content="", id=message.id, tool_call_chunks=[piece_of_call])
            yield ChatGenerationChunk(message=chunk)
    last = AIMessageChunk(
        content="",
        id=message.id,
        usage_metadata=message.usage_metadata,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        chunk_position="last",
    )
    yield ChatGenerationChunk(message=last)
