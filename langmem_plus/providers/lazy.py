"""A chat model that is only a name until its first use: until then no SDK is loaded and no key is needed."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.base import LangSmithParams
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import BaseModel, PrivateAttr

from langmem_plus.errors import ConfigError, MissingExtraError
from langmem_plus.providers.onnx_runtime import load
from langmem_plus.providers.threads import in_thread


class LazyChatModel(BaseChatModel):
    """Any model that LangChain's ``init_chat_model`` can build, built at the first use and then kept.

    Args:
        spec: ``provider:model``, or a model's name alone where its provider can be told from it or ``base_url`` is set.
        base_url: the address of an OpenAI-compatible server.
        answer_seconds: how long an OpenAI-compatible server works on an answer for memory; None sets no bound.

    Raises:
        ConfigError: at the first use: the provider, its package or its key is missing; the message says what to do.
    """

    spec: str
    base_url: str | None = None
    answer_seconds: float | None = None
    _model: BaseChatModel | None = PrivateAttr(None)
    _bounded: BaseChatModel | None = PrivateAttr(None)
    _in_loops: dict[asyncio.AbstractEventLoop, BaseChatModel] = PrivateAttr(default_factory=dict)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> LazyChatModel:
        """The same name; connections aren't copied."""
        return LazyChatModel(spec=self.spec, base_url=self.base_url, answer_seconds=self.answer_seconds)

    @property
    def _llm_type(self) -> str:
        return "lazy"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"spec": self.spec, "base_url": self.base_url}

    def resolve(self) -> BaseChatModel:
        """The provider's own model. Two threads at a time may build it twice, which does no harm."""
        if self._model is None:
            self._model = build_chat_model(self.spec, self.base_url)
        return self._model

    def resolve_bounded(self) -> BaseChatModel:
        """The same for memory's own questions, which nobody waits for longer than ``answer_seconds``: then the request
        ends, too, so that the server doesn't work on for nobody while the next try queues behind it.
        """
        if self.answer_seconds is None:
            return self.resolve()
        if self._bounded is None:
            self._bounded = build_chat_model(self.spec, self.base_url, answer_seconds=self.answer_seconds)
        return self._bounded

    async def aresolve(self) -> BaseChatModel:
        """The provider's own model for the running loop: its connections can't be used in another one."""
        loop = asyncio.get_running_loop()
        for other in [other for other in self._in_loops if other.is_closed()]:
            self._in_loops.pop(other, None)
        if loop not in self._in_loops:
            self._in_loops[loop] = await in_thread(build_chat_model, self.spec, self.base_url, True)
        return self._in_loops[loop]

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | Any],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The provider's model with these tools."""
        return self.resolve().bind_tools(tools, tool_choice=tool_choice, **kwargs)

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, dict[str, Any] | BaseModel]:
        """The provider's model, made to answer in this shape."""
        return self.resolve().with_structured_output(schema, include_raw=include_raw, **kwargs)

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return self.resolve()._get_ls_params(stop=stop, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self.resolve()._generate(messages, stop=stop, run_manager=run_manager, **kwargs)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        model = await self.aresolve()
        return await model._agenerate(messages, stop=stop, run_manager=run_manager, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        model = self.resolve()
        if type(model)._stream is BaseChatModel._stream:
            yield _one_chunk(model._generate(messages, stop=stop, run_manager=run_manager, **kwargs))
        else:
            yield from model._stream(messages, stop=stop, run_manager=run_manager, **kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        model = await self.aresolve()
        kind = type(model)
        if kind._stream is BaseChatModel._stream and kind._astream is BaseChatModel._astream:
            yield _one_chunk(await model._agenerate(messages, stop=stop, run_manager=run_manager, **kwargs))
            return
        async for chunk in model._astream(messages, stop=stop, run_manager=run_manager, **kwargs):
            yield chunk


def build_chat_model(
    spec: str, base_url: str | None = None, own_async_client: bool = False, answer_seconds: float | None = None
) -> BaseChatModel:
    """Build the model that a name means, now.

    Args:
        spec: ``provider:model``, or a model's name alone.
        base_url: the address of an OpenAI-compatible server.
        own_async_client: give an OpenAI model an async HTTP client of its own instead of the one that all share.
        answer_seconds: end an OpenAI model's request after so many seconds, for good.

    Raises:
        ConfigError: the provider, its package or its key is missing; the message says what to do.
    """
    init = load("langchain.chat_models").init_chat_model
    try:
        model: BaseChatModel = _init(init, spec, base_url)
        settings: dict[str, Any] = {}
        if type(model).__module__.startswith("langchain_openai."):
            proxied = bool(
                getattr(model, "openai_proxy", None)
            )  # then it makes clients of its own, and takes no others
            if own_async_client and not proxied:
                settings["http_async_client"] = importlib.import_module("openai").DefaultAsyncHttpxClient()
            if answer_seconds is not None:
                settings |= {
                    "timeout": answer_seconds,
                    **({"max_retries": 0} if proxied else {"http_client": _make_client()}),
                }
        model = _init(init, spec, base_url, **settings) if settings else model
    except ImportError as error:
        if "langchain-openai" in str(error):
            raise MissingExtraError(f"model={spec!r}", "openai") from error
        raise ConfigError(f"model={spec!r}: {error}") from error
    except Exception as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ConfigError(
            f"model={spec!r} can't be built: {said}. Set the provider's key in the environment, or base_url for an "
            "OpenAI-compatible server of your own, or leave the model out: rules take its place."
        ) from error
    return model


def _init(init: Callable[..., BaseChatModel], spec: str, base_url: str | None, **settings: Any) -> BaseChatModel:
    if base_url is None:
        return init(spec, **settings)
    # A server of one's own mostly wants no key, but the SDK insists on one.
    openai = {"base_url": base_url, "api_key": os.environ.get("OPENAI_API_KEY") or "none", **settings}
    provider, _, name = spec.partition(":")
    if not name:
        return init(spec, model_provider="openai", **openai)
    if provider == "openai":
        return init(spec, **openai)
    try:
        return init(spec, base_url=base_url, **settings)
    except ValueError as error:
        if "provider" not in str(error):
            raise
        return init(spec, model_provider="openai", **openai)  # the colon belongs to the name, as in qwen2.5:7b


def _make_client() -> Any:
    """An HTTP client for OpenAI's SDK, which would repeat a request that took too long: this one's time-out is final.
    What else goes wrong on the way is tried again, as the SDK does.
    """
    openai = importlib.import_module("openai")

    class Client(openai.DefaultHttpxClient):  # type: ignore[misc, name-defined] # the SDK is loaded lazily
        def send(self, request: Any, **options: Any) -> Any:
            try:
                return super().send(request, **options)
            except Exception as error:
                # The SDK is built on httpx or on its successor, whose errors share their names alone.
                if any(kind.__name__ == "TimeoutException" for kind in type(error).__mro__):
                    raise openai.APITimeoutError(request=request) from error
                raise

    return Client()


def _one_chunk(result: ChatResult) -> ChatGenerationChunk:
    """A whole answer as a stream of one piece."""
    message = result.generations[0].message
    return ChatGenerationChunk(message=AIMessageChunk(**message.model_dump(exclude={"type"})))
