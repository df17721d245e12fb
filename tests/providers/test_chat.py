"""Structured answers from clever, clumsy and unreachable models."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.exceptions import ModelAuthenticationError, ModelConnectionError, ModelRateLimitError
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, SecretStr

from langmem_plus.errors import ModelAnswerError
from langmem_plus.prompts import ExtractedFacts, render_extraction
from langmem_plus.providers import chat
from langmem_plus.providers.chat import astructured, structured
from langmem_plus.testing import Failure, LoopbackServer, ScriptedChatModel


class Notes(BaseModel):
    """What there is to note."""

    notes: list[str]


ASK: list[BaseMessage] = [SystemMessage("Take notes."), HumanMessage("I like tea.")]
TEA = '{"notes": ["tea"]}'
Run = Callable[[BaseChatModel, list[BaseMessage]], Any]


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """`structured` and `astructured` behave alike."""
    with asyncio.Runner() as runner:  # one loop a test: HTTP clients outlive no loop

        def call(model: BaseChatModel, messages: list[BaseMessage]) -> Any:
            if request.param == "sync":
                return structured(model, messages, Notes)
            return runner.run(astructured(model, messages, Notes))

        yield call


def openai(server: LoopbackServer) -> BaseChatModel:
    """The OpenAI client, pointed at the loopback server, without retries that wait."""
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model="scripted",
        base_url=server.base_url,
        api_key=SecretStr("x"),
        max_retries=0,
        http_async_client=httpx.AsyncClient(),  # the SDK's own is shared by all models, and bound to its first loop
    )


def ways(server: LoopbackServer) -> list[str]:
    """How each chat that reached the server was asked for its shape."""
    found = []
    for body in server.chats:
        form = (body.get("response_format") or {}).get("type")
        found.append("tools" if body.get("tools") else form or "text")
    return found


# structured, over real HTTP


def test_the_best_method_is_taken_first(run: Run) -> None:
    """A server that knows JSON schemas is asked once, with the schema."""
    with LoopbackServer([TEA]) as server:
        assert run(openai(server), ASK) == Notes(notes=["tea"])
        assert ways(server) == ["json_schema"]


def picky(*refused: str) -> Callable[[dict[str, Any]], Any]:
    """A server's answer that refuses some ways of asking, as local servers do."""

    def answer(body: dict[str, Any]) -> Any:
        form = (body.get("response_format") or {}).get("type")
        way = "tools" if body.get("tools") else form or "text"
        return (
            Failure(400, f"{way} is not supported by this server")
            if way in refused
            else ({"notes": ["tea"]} if way == "tools" else TEA)
        )

    return answer


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        (["json_schema"], "tools"),
        (["json_schema", "tools"], "json_object"),
        (["json_schema", "tools", "json_object"], "text"),
    ],
)
def test_each_refused_method_is_refused_once(refused: list[str], expected: str, run: Run) -> None:
    """What a server refuses is left behind, and later calls go straight to what worked."""
    with LoopbackServer(then=picky(*refused)) as server:
        model = openai(server)
        assert [run(model, ASK) for _ in range(3)] == [Notes(notes=["tea"])] * 3
        assert ways(server) == [*refused, expected, expected, expected]
        if expected in ("json_object", "text"):
            system = server.chats[-1]["messages"][0]
            assert system["role"] == "system" and "JSON schema" in system["content"]
            assert system["content"].startswith("Take notes.")


@pytest.mark.parametrize("status", [422, 501])
def test_other_refusals_are_understood(status: int, run: Run) -> None:
    """Servers that validate strictly, or haven't implemented a method, are asked in another way."""
    with LoopbackServer([Failure(status, "response_format: extra field"), {"notes": ["tea"]}]) as server:
        assert run(openai(server), ASK) == Notes(notes=["tea"])


def test_a_method_that_is_ignored_is_read_tolerantly(run: Run) -> None:
    """A server that ignores the schema and answers in prose with JSON in it is understood at once."""
    with LoopbackServer(['Sure!\n```json\n{"notes": ["tea",]}\n```']) as server:
        assert run(openai(server), ASK) == Notes(notes=["tea"])
        assert len(server.chats) == 1


def test_an_answer_that_was_cut_off(run: Run) -> None:
    """An answer that hit its length limit keeps its whole items, also where the SDK raises."""
    cut = AIMessage('{"notes": ["tea", "half a sent', response_metadata={"finish_reason": "length"})
    with LoopbackServer([cut]) as server:
        assert run(openai(server), ASK) == Notes(notes=["tea"])
        assert len(server.chats) == 1


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (Failure(401, "bad key"), ModelAuthenticationError),
        (Failure(429, "slow down"), ModelRateLimitError),
        (Failure(500, "the disk is full"), Exception),
        (Failure(503, "starting"), Exception),
        (Failure(hang_up=True), ModelConnectionError),
        (Failure(400, "this model's maximum context length is 4096 tokens"), Exception),
        (Failure(400, "API key not valid"), Exception),
        (Failure(404, "the model does not exist"), Exception),
    ],
)
def test_a_failure_is_not_a_bad_answer(failure: Failure, error: type[Exception], run: Run) -> None:
    """Keys, limits, outages and lost connections are raised as they came, after one call, and nothing is learned."""
    with LoopbackServer([failure, TEA]) as server:
        model = openai(server)
        with pytest.raises(error) as caught:
            run(model, ASK)
        assert not isinstance(caught.value, ModelAnswerError)
        assert len(server.requests) == 1
        assert run(model, ASK) == Notes(notes=["tea"])
        assert ways(server)[-1] == "json_schema"


def test_a_server_that_always_refuses_is_raised(run: Run) -> None:
    """When even plain text is refused, the refusal is raised."""
    with LoopbackServer(then=Failure(400, "bad request")) as server, pytest.raises(Exception, match="bad request"):
        run(openai(server), ASK)


def test_an_unreadable_answer_is_asked_for_again(run: Run) -> None:
    """When the method has worked before, one bad answer costs one more call, which shows the model its bad answer."""
    with LoopbackServer([TEA, "I'd rather not.", TEA, TEA]) as server:
        model = openai(server)
        run(model, ASK)
        assert run(model, ASK) == Notes(notes=["tea"])
        again = server.chats[2]["messages"]
        assert [message["role"] for message in again] == ["system", "user", "assistant", "user"]
        assert again[2]["content"] == "I'd rather not."
        run(model, ASK)
        assert ways(server) == ["json_schema", "json_schema", "text", "json_schema"]


def test_nonsense_is_an_error_and_not_an_empty_answer(run: Run) -> None:
    """A model that never answers readably raises, always after two calls; each question is asked in another way, until
    plain text is left.
    """
    with LoopbackServer(then="Nothing comes to mind.") as server:
        model = openai(server)
        for way in ("json_schema", "tools", "json_object", "text", "text"):
            before = len(server.chats)
            with pytest.raises(ModelAnswerError, match=r"Nothing comes to mind.*Notes"):
                run(model, ASK)
            assert ways(server)[before:] == [way, "text"]


@pytest.mark.parametrize("readable", ["tools", "json_object", "text"])
def test_the_way_that_a_model_understands_is_found_at_two_calls_a_question(readable: str, run: Run) -> None:
    """No question costs more than one call besides the first, and once a way works, one is enough."""

    def answer(body: dict[str, Any]) -> Any:
        way = "tools" if body.get("tools") else (body.get("response_format") or {}).get("type") or "text"
        return ({"notes": ["tea"]} if way == "tools" else TEA) if way == readable else "Let me think."

    with LoopbackServer(then=answer) as server:
        model, spent = openai(server), []
        for _ in range(5):
            before = len(server.chats)
            with contextlib.suppress(ModelAnswerError):
                assert run(model, ASK) == Notes(notes=["tea"])
            spent.append(len(server.chats) - before)
        steps = ["json_schema", "tools", "json_object", "text"].index(readable)
        assert spent == [2] * steps + [1] * (5 - steps)
        assert chat._known_method(model) == chat.METHODS[steps]


def test_an_empty_answer_is_an_error(run: Run) -> None:
    """An empty answer isn't taken for 'nothing to note'."""
    with LoopbackServer(then="") as server, pytest.raises(ModelAnswerError, match="nothing"):
        run(openai(server), ASK)


# structured, with models of other kinds


def test_a_model_that_calls_no_tool(run: Run) -> None:
    """A model that only knows tools and answers in text is read all the same."""
    model = ScriptedChatModel([f"My answer: {TEA}"], methods=("function_calling",))
    assert run(model, ASK) == Notes(notes=["tea"])


def test_several_tool_calls_are_one_answer(run: Run) -> None:
    """One tool call an item loses no item."""
    calls: list[Any] = [{"name": "Notes", "args": {"notes": [text]}, "id": text} for text in ("tea", "milk")]
    model = ScriptedChatModel([AIMessage("", tool_calls=calls)], methods=("function_calling",))
    assert run(model, ASK) == Notes(notes=["tea", "milk"])


def test_a_model_that_knows_no_method(run: Run) -> None:
    """A model without tools and without structured output is asked in plain text, at once."""
    model = FakeListChatModel(responses=[f"<think>hm</think>{TEA}"])
    assert run(model, ASK) == Notes(notes=["tea"])
    assert chat._known_method(model) == "text"


def test_a_model_with_one_method_is_not_asked_twice(run: Run) -> None:
    """A model whose with_structured_output takes no method is asked by function call, then in plain text."""

    class OneWay(ScriptedChatModel):
        def with_structured_output(self, schema: Any, *, include_raw: bool = False, **kwargs: Any) -> Any:
            return super().with_structured_output(schema, include_raw=include_raw, method="function_calling")

    assert "method" not in inspect.signature(OneWay([]).with_structured_output).parameters
    model = OneWay(["no idea", TEA])
    assert run(model, ASK) == Notes(notes=["tea"])
    assert len(model.calls) == 2


def test_what_is_made_from_a_model_answers_too(run: Run) -> None:
    """Bound models and models with fallbacks give structured answers."""
    assert run(ScriptedChatModel([TEA]).bind(stop=["#"]), ASK) == Notes(notes=["tea"])  # type: ignore[arg-type]
    broken = ScriptedChatModel([], then=ConnectionError("down"))
    assert run(broken.with_fallbacks([ScriptedChatModel([TEA])]), ASK) == Notes(notes=["tea"])  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [ConnectionError("down"), TimeoutError("slow"), RuntimeError("odd"), KeyError("x")])
def test_any_other_error_passes(error: Exception, run: Run) -> None:
    """An error that nobody knows isn't taken for a bad answer."""
    model = ScriptedChatModel([error])
    with pytest.raises(type(error)):
        run(model, ASK)
    assert len(model.calls) == 1


async def test_a_model_without_a_sync_call_is_awaited() -> None:
    """A model that can only be awaited answers async callers."""

    class AsyncOnly(ScriptedChatModel):
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
            raise NotImplementedError("await me")

    assert await astructured(AsyncOnly([TEA]), ASK, Notes) == Notes(notes=["tea"])


def test_what_worked_is_forgotten_with_the_model() -> None:
    """The memory of methods holds no model alive."""
    model = ScriptedChatModel([TEA])
    structured(model, ASK, Notes)
    place = id(model)
    assert place in chat._working
    del model
    gc.collect()
    assert place not in chat._working


def test_our_own_prompts_are_answered(run: Run) -> None:
    """The package's extraction prompt and a small model's answer fit together."""
    model = ScriptedChatModel(['```\n[{"fact": "The user likes tea.", "kind": "Preference"}]\n```'])
    answer = structured(model, render_extraction("I like tea.", max_facts=3), ExtractedFacts)
    assert [(fact.text, fact.kind) for fact in answer.facts] == [("The user likes tea.", "preference")]


# inside a graph


class Recorder(BaseCallbackHandler):
    """Counts the model calls that a caller's callbacks see."""

    def __init__(self) -> None:
        self.starts = 0

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        """A call began."""
        self.starts += 1


@pytest.mark.parametrize("asynchronous", [False, True])
def test_inner_calls_leak_into_no_stream(asynchronous: bool) -> None:
    """In a graph the tokens of an inner call reach neither stream_mode="messages" nor the caller's callbacks."""
    inner, agent = ScriptedChatModel([TEA]), ScriptedChatModel(["Hello there"])

    def node(state: MessagesState) -> dict[str, Any]:
        assert structured(inner, ASK, Notes) == Notes(notes=["tea"])
        return {"messages": [agent.invoke(state["messages"])]}

    async def anode(state: MessagesState) -> dict[str, Any]:
        assert await astructured(inner, ASK, Notes) == Notes(notes=["tea"])
        return {"messages": [await agent.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("node", RunnableLambda(node, anode))
    builder.add_edge(START, "node")
    graph = builder.compile()
    recorder = Recorder()

    def tokens() -> Iterator[Any]:
        yield from graph.stream({"messages": [HumanMessage("hi")]}, {"callbacks": [recorder]}, stream_mode="messages")

    async def atokens() -> list[Any]:
        return [
            part
            async for part in graph.astream(
                {"messages": [HumanMessage("hi")]}, {"callbacks": [recorder]}, stream_mode="messages"
            )
        ]

    parts = asyncio.run(atokens()) if asynchronous else list(tokens())
    assert "".join(message.text for message, _ in parts) == "Hello there"
    assert recorder.starts == 1
