"""Chat models by name: nothing is loaded before the first use, and what is missing is said plainly."""

from __future__ import annotations

import asyncio
import copy
import subprocess
import sys
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import BaseModel, SecretStr

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, MissingExtraError
from langmem_plus.providers.chat import astructured, make_chat_model, structured
from langmem_plus.providers.lazy import LazyChatModel
from langmem_plus.testing import Failure, LoopbackServer, ScriptedChatModel


class Notes(BaseModel):
    """What there is to note."""

    notes: list[str]


ASK: list[BaseMessage] = [HumanMessage("I like tea.")]
TEA = '{"notes": ["tea"]}'


def test_a_name_is_resolved_at_the_first_use() -> None:
    """Making a model from its name loads no SDK and needs no key."""
    code = (
        "import sys; from langmem_plus.providers.chat import make_chat_model; m = make_chat_model('openai:gpt-5-mini');"
        "assert m.spec; assert not {'langchain_openai', 'openai', 'langchain.chat_models'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_nothing_stays_nothing_and_models_pass() -> None:
    """None and "none" are no model, a model is itself, and what is made from a model passes."""
    model = ScriptedChatModel(["x"])
    assert make_chat_model(None) is None and make_chat_model(" none ") is None
    assert make_chat_model(model) is model
    bound = model.bind(stop=["."])
    assert make_chat_model(bound) is bound  # type: ignore[comparison-overlap]
    with pytest.raises(ConfigError, match="42"):
        make_chat_model(42)  # type: ignore[arg-type]


def test_a_missing_key_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key the first use raises a ConfigError that names the model and the remedy."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    model = make_chat_model("openai:gpt-5-mini")
    assert model is not None
    with pytest.raises(ConfigError, match=r"openai:gpt-5-mini.*key"):
        structured(model, ASK, Notes)
    with pytest.raises(ConfigError, match="key"):
        model.invoke("hi")


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the provider's package the first use names the package, or this project's extra."""
    monkeypatch.setitem(sys.modules, "langchain_anthropic", None)
    with pytest.raises(ConfigError, match="langchain-anthropic"):
        LazyChatModel(spec="anthropic:claude-x").invoke("hi")
    monkeypatch.setitem(sys.modules, "langchain_openai", None)
    from langchain.chat_models import base

    base._get_chat_model_creator.cache_clear()
    with pytest.raises(MissingExtraError, match=r"langmem-plus\[openai\]"):
        LazyChatModel(spec="openai:gpt-5-mini").invoke("hi")


def test_an_unknown_provider_is_an_error() -> None:
    """A name that means nothing is a ConfigError that repeats it."""
    with pytest.raises(ConfigError, match="nobody:nothing"):
        LazyChatModel(spec="nobody:nothing").invoke("hi")


@pytest.mark.parametrize("spec", ["openai:scripted", "scripted", "qwen2.5:7b"])
def test_a_server_of_ones_own_needs_no_key(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With base_url any name goes to that server, with or without a provider, and no key is asked for."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with LoopbackServer(["Hello!", "Hello there!"]) as server:
        model = make_chat_model(spec, MemoryConfig(base_url=server.base_url))
        assert model is not None
        assert model.invoke("hi").text == "Hello!"
        assert "".join(chunk.text for chunk in model.stream("hi")) == "Hello there!"
        assert {body["model"] for body in server.chats} == {spec.removeprefix("openai:")}


async def test_a_lazy_model_is_a_whole_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Invoking, streaming, tools and structured output all reach the provider's model, sync and async."""
    inner = ScriptedChatModel(["one two", "three four", "five six", {"x": 1}, TEA])
    monkeypatch.setattr("langmem_plus.providers.lazy.build_chat_model", lambda *given: inner)
    model = LazyChatModel(spec="any:thing")
    assert (await model.ainvoke("a")).text == "one two"
    assert [chunk.text for chunk in model.stream("b") if chunk.text] == ["three", " four"]
    assert [chunk.text async for chunk in model.astream("c") if chunk.text] == ["five", " six"]
    tool = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}
    assert model.bind_tools([tool]).invoke("d").tool_calls[0]["args"] == {"x": 1}
    assert await astructured(model, ASK, Notes) == Notes(notes=["tea"])
    assert model.model_copy(deep=True).spec == "any:thing"


async def test_a_lazy_model_streams_what_cannot_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider that can't stream gives its answer in one piece."""

    class Whole(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "whole"

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=AIMessage("all at once"))])

    monkeypatch.setattr("langmem_plus.providers.lazy.build_chat_model", lambda *given: Whole())
    assert [chunk.text for chunk in LazyChatModel(spec="w").stream("a") if chunk.text] == ["all at once"]
    assert [chunk.text async for chunk in LazyChatModel(spec="w").astream("a") if chunk.text] == ["all at once"]


def test_one_model_serves_one_loop_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections of a loop that is closed are left behind: whoever calls asyncio.run twice gets two answers."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with LoopbackServer(then=TEA) as server:
        model = LazyChatModel(spec="openai:scripted", base_url=server.base_url)

        async def talk() -> list[str]:
            said = [(await model.ainvoke("hi")).text, "".join([chunk.text async for chunk in model.astream("hi")])]
            assert await astructured(model, ASK, Notes) == Notes(notes=["tea"])
            return said

        assert [asyncio.run(talk()) for _ in range(4)] == [[TEA, TEA]] * 4
        assert len(model._in_loops) == 1
        assert len(server.requests) == 12


def test_a_models_own_client_isnt_bound_to_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Structured answers come in any loop, also from a model object whose async client all models share."""
    from langchain_openai import ChatOpenAI

    with LoopbackServer(then=TEA) as server:
        model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=SecretStr("x"), max_retries=0)
        assert [asyncio.run(astructured(model, ASK, Notes)) for _ in range(4)] == [Notes(notes=["tea"])] * 4


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_request_that_nobody_waits_for_any_more_ends(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is too slow for ``answer_seconds`` gets one request, which ends then, and not the SDK's three of
    ten minutes; what else goes wrong is tried again."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with LoopbackServer([Failure(delay=30.0)], then=TEA) as server:
        model = make_chat_model("openai:any", MemoryConfig(base_url=server.base_url, answer_seconds=0.1))
        assert model is not None
        with pytest.raises(Exception, match="timed out"):
            await astructured(model, ASK, Notes) if kind == "async" else structured(model, ASK, Notes)
        assert len(server.requests) == 1
    with LoopbackServer([Failure(503, headers={"Retry-After-Ms": "1"})], then=TEA) as server:
        model = make_chat_model("openai:any", MemoryConfig(base_url=server.base_url))
        assert model is not None and structured(model, ASK, Notes).notes == ["tea"]


def test_an_agents_own_answers_have_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """``answer_seconds`` is for what memory asks; the same name as an agent's model takes the time that it takes."""
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    model = make_chat_model("openai:any", MemoryConfig(answer_seconds=7))
    assert isinstance(model, LazyChatModel)
    agent: Any = model.resolve()
    memory: Any = copy.deepcopy(model).resolve_bounded()
    assert (agent.request_timeout, memory.request_timeout) == (None, 7)


async def test_a_proxy_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """LangChain refuses HTTP clients beside a proxy of its own: then none is given, and the bound is kept without."""
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("OPENAI_PROXY", "http://127.0.0.1:9")
    model = make_chat_model("openai:any", MemoryConfig(answer_seconds=7))
    assert isinstance(model, LazyChatModel)
    bounded: Any = model.resolve_bounded()
    assert (bounded.request_timeout, bounded.max_retries) == (7, 0)
    assert await model.aresolve() is not None
