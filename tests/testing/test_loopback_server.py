"""The loopback server, spoken to by LangChain's OpenAI client over real HTTP."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

from langmem_plus.testing import BagOfWordsEmbeddings, Failure, LoopbackServer


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    """A running server whose script the test fills."""
    with LoopbackServer() as running:
        yield running


def chat(server: LoopbackServer, *script: Any, **settings: Any) -> ChatOpenAI:
    """A client of the server, and the script that it will hear."""
    server.script.extend(script)
    settings = {"max_retries": 0, **settings}
    return ChatOpenAI(base_url=server.base_url, api_key="none", model="scripted", **settings)


async def test_chat(server: LoopbackServer) -> None:
    """A question is answered, sync and async, with a usage; what was asked is recorded."""
    model = chat(server, "Hello Änne!", "Hello again!")
    answer = model.invoke([HumanMessage("hi there")])
    assert answer.content == "Hello Änne!"
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["input_tokens"] == 3
    assert (await model.ainvoke("hi")).content == "Hello again!"
    assert [body["messages"][-1]["content"] for body in server.chats] == ["hi there", "hi"]
    assert server.requests[0].method == "POST"
    assert server.requests[0].headers["authorization"] == "Bearer none"


async def test_streaming(server: LoopbackServer) -> None:
    """The words come one by one, sync and async, and the usage at the end where it is asked for."""
    model = chat(server, "one two  three", "four five", stream_usage=True)
    chunks = list(model.stream("count"))
    assert [chunk.text for chunk in chunks if chunk.text] == ["one", " two", "  three"]
    usage = [chunk.usage_metadata for chunk in chunks if isinstance(chunk, AIMessageChunk) and chunk.usage_metadata]
    assert [each["output_tokens"] for each in usage] == [4]
    assert "".join([chunk.text async for chunk in model.astream("count")]) == "four five"
    assert server.chats[0]["stream"] is True


def test_tool_calls(server: LoopbackServer) -> None:
    """Tools reach the server, and its calls come back, whole and streamed."""
    calls = [{"name": "add", "args": {"a": 1, "b": n}, "id": None} for n in (2, 3)]
    model = chat(server, AIMessage("", tool_calls=calls), AIMessage("", tool_calls=calls)).bind_tools([add])
    answer = model.invoke("add")
    streamed = None
    for chunk in model.stream("add"):
        streamed = chunk if streamed is None else streamed + chunk
    for message in (answer, streamed):
        assert isinstance(message, AIMessage)
        assert [(call["name"], call["args"]) for call in message.tool_calls] == [
            ("add", {"a": 1, "b": 2}),
            ("add", {"a": 1, "b": 3}),
        ]
        assert len({call["id"] for call in message.tool_calls}) == 2
        assert message.response_metadata["finish_reason"] == "tool_calls"
    assert server.chats[0]["tools"][0]["function"]["name"] == "add"


@pytest.mark.parametrize(
    ("method", "sent"), [("json_schema", "json_schema"), ("json_mode", "json_object"), ("function_calling", None)]
)
async def test_structured_output(server: LoopbackServer, method: Any, sent: str | None) -> None:
    """Each method of structured output works, from an object, a mapping and plain JSON."""
    anne = Person(name="Anne", age=3)
    script = [anne, anne.model_dump()] if method == "function_calling" else [anne, anne.model_dump_json()]
    model = chat(server, *script).with_structured_output(Person, method=method)
    assert model.invoke("who? answer in JSON") == anne
    assert await model.ainvoke("who? answer in JSON") == anne
    body = server.chats[0]
    assert (body.get("response_format") or {}).get("type") == sent
    assert ("tools" in body) == (method == "function_calling")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
    ],
)
async def test_scripted_failures(server: LoopbackServer, status: int, error: type[Exception]) -> None:
    """A status code is the error that the client makes of it, and the next answer comes as usual."""
    model = chat(server, Failure(status, "too bad"), Failure(status, "too bad"), Failure(status, "too bad"), "fine")
    with pytest.raises(error, match="too bad"):
        model.invoke("x")
    with pytest.raises(error, match="too bad"):
        await model.ainvoke("x")
    with pytest.raises(error, match="too bad"):
        list(model.stream("x"))
    assert model.invoke("x").content == "fine"


def test_a_client_that_retries(server: LoopbackServer) -> None:
    """Failures may carry headers, and a client that tries again gets the next answer."""
    soon = {"Retry-After-Ms": "1"}
    model = chat(server, Failure(429, headers=soon), Failure(503, headers=soon), "fine", max_retries=3)
    assert model.invoke("x").content == "fine"
    assert len(server.chats) == 3


def test_a_hang_up(server: LoopbackServer) -> None:
    """The line goes dead before the answer, or in the middle of a stream after its first words."""
    model = chat(server, Failure(hang_up=True), Failure(hang_up=True, answer="one two three four five six"), "fine")
    with pytest.raises(openai.APIConnectionError):
        model.invoke("x")
    words: list[str] = []
    with pytest.raises(Exception, match=r"(?i)connection|peer|incomplete|chunk"):
        _collect(model.stream("x"), words)
    assert "".join(words).startswith("one two")
    assert "six" not in "".join(words)
    assert model.invoke("x").content == "fine"


def test_a_slow_answer(server: LoopbackServer) -> None:
    """A client's time-out strikes, and the server's end doesn't wait for the delay."""
    model = chat(server, Failure(delay=60), timeout=0.05)
    with pytest.raises(openai.APITimeoutError):
        model.invoke("x")


def test_a_callable_sees_the_request(server: LoopbackServer) -> None:
    """An answer may be made from the request's body, and may be a failure."""
    model = chat(
        server, lambda body: f"{body['model']}: {body['messages'][-1]['content']}", lambda body: Failure(400, "no")
    )
    assert model.invoke("hello").content == "scripted: hello"
    with pytest.raises(openai.BadRequestError, match="no"):
        model.invoke("hello")


def test_the_end_of_the_script_is_told_to_the_client(server: LoopbackServer) -> None:
    """A request without an answer fails with the script's own message."""
    with pytest.raises(openai.InternalServerError, match=r"ScriptEndedError.*'hello'"):
        chat(server).invoke("hello")


def test_then_answers_the_rest() -> None:
    """A server may answer everything by one rule."""
    with LoopbackServer(then=lambda body: body["messages"][-1]["content"].upper()) as server:
        assert [chat(server).invoke(text).content for text in ("a", "b")] == ["A", "B"]


async def test_embeddings(server: LoopbackServer) -> None:
    """Texts become the vectors of the bag of words, in 32-bit floats, documents and queries, sync and async."""
    client = _embeddings(server)
    expected = BagOfWordsEmbeddings().embed_documents(["green tea", "red wine"])
    found = client.embed_documents(["green tea", "red wine"])
    assert await client.aembed_documents(["green tea", "red wine"]) == found
    assert found == [pytest.approx(vector, abs=1e-6) for vector in expected]
    assert client.embed_query("green tea") == pytest.approx(expected[0], abs=1e-6)
    assert server.embeddings.documents[0] == ["green tea", "red wine"]


def test_embeddings_as_plain_numbers(server: LoopbackServer) -> None:
    """A client that doesn't ask for base64 gets JSON numbers."""
    client = openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0)
    answer = client.embeddings.create(model="scripted", input="green tea", encoding_format="float")
    assert answer.data[0].embedding == pytest.approx(BagOfWordsEmbeddings().embed_query("green tea"))


def test_embedding_failures(server: LoopbackServer) -> None:
    """A failing embedder is an error of the server; token numbers are refused, as local servers do."""
    client = _embeddings(server)
    server.embeddings.fail = ConnectionError("no model")
    with pytest.raises(openai.InternalServerError, match="no model"):
        client.embed_query("x")
    server.embeddings.fail = None
    raw = openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0)
    with pytest.raises(openai.BadRequestError, match="token numbers"):
        raw.embeddings.create(model="scripted", input=[[1, 2, 3]])


def test_models_and_unknown_paths(server: LoopbackServer) -> None:
    """The models are listed; other paths and broken bodies are told what is wrong."""
    client = openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0)
    assert [model.id for model in client.models.list()] == ["scripted"]
    with pytest.raises(openai.NotFoundError, match="/v1/completions"):
        client.completions.create(model="scripted", prompt="x")
    host = server.base_url.removeprefix("http://").removesuffix("/v1")
    connection = http.client.HTTPConnection(host)
    for path, body, status in (
        ("/v1/chat/completions", "{", 400),
        ("/v1/chat/completions", "[]", 400),
        ("/x", "{}", 404),
    ):
        connection.request("POST", path, body)
        response = connection.getresponse()
        assert response.status == status
        assert json.loads(response.read())["error"]["message"]
    connection.request("GET", "/x")
    assert connection.getresponse().status == 404
    connection.close()


def test_many_clients_at_once() -> None:
    """Each of several clients gets its own answer."""
    with LoopbackServer(then=lambda body: body["messages"][-1]["content"]) as server:
        model = chat(server)
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda n: model.invoke(f"number {n}").content, range(24)))
        assert answers == [f"number {n}" for n in range(24)]
        assert len(server.chats) == 24


def test_a_server_that_does_not_run_has_no_address() -> None:
    """Before and after its context, asking for the address is an error that says how to start it."""
    server = LoopbackServer()
    with pytest.raises(RuntimeError, match="with LoopbackServer"):
        _ = server.base_url
    with server:
        address = server.base_url
    with pytest.raises(RuntimeError):
        _ = server.base_url
    with pytest.raises(openai.APIConnectionError):
        openai.OpenAI(base_url=address, api_key="none", max_retries=0).models.list()


def _embeddings(server: LoopbackServer) -> OpenAIEmbeddings:
    return OpenAIEmbeddings(
        base_url=server.base_url, api_key="none", model="scripted", check_embedding_ctx_length=False, max_retries=0
    )


def _collect(chunks: Iterator[Any], words: list[str]) -> None:
    """Keep each chunk's text before the next one is asked for."""
    for chunk in chunks:
        words += [chunk.text]
