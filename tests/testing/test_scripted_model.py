"""The scripted chat model: what LangChain and LangGraph expect of a real one."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, ValidationError

from langmem_plus.testing import ScriptedChatModel, ScriptEndedError


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int = 0


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_answers_come_in_order_sync_and_async() -> None:
    """Every way of calling takes the next answer of one script."""
    model = ScriptedChatModel(["one", AIMessage("two"), "three", "four"])
    assert model.invoke("a").content == "one"
    assert (await model.ainvoke("b")).content == "two"
    assert "".join(chunk.text for chunk in model.stream("c")) == "three"
    assert "".join([chunk.text async for chunk in model.astream("d")]) == "four"
    assert [call.text for call in model.calls] == ["a", "b", "c", "d"]
    assert model.remaining == 0


async def test_the_end_of_the_script_is_a_clear_error() -> None:
    """The call that has no answer is recorded, and the error says what it asked."""
    model = ScriptedChatModel([])
    with pytest.raises(ScriptEndedError, match="what now"):
        model.invoke("what now")
    with pytest.raises(ScriptEndedError, match="and now"):
        await model.ainvoke("and now")
    with pytest.raises(ScriptEndedError):
        list(model.stream("x"))
    assert len(model.calls) == 3


def test_then_answers_the_rest() -> None:
    """``then`` may be a rule that looks at the messages."""
    model = ScriptedChatModel(["first"], then=lambda messages: messages[-1].text.upper())
    assert [model.invoke(text).content for text in ("a", "b", "c")] == ["first", "B", "C"]


@pytest.mark.parametrize("error", [ConnectionError("down"), TimeoutError], ids=["instance", "class"])
async def test_an_exception_in_the_script_is_raised(error: Any) -> None:
    """Once, in any way of calling, and the next call goes on."""
    kind = error if isinstance(error, type) else type(error)
    model = ScriptedChatModel([error, error, error, error, "up"])
    with pytest.raises(kind):
        model.invoke("a")
    with pytest.raises(kind):
        await model.ainvoke("a")
    with pytest.raises(kind):
        list(model.stream("a"))
    with pytest.raises(kind):
        [chunk async for chunk in model.astream("a")]
    assert model.invoke("a").content == "up"


async def test_a_callable_is_given_the_messages() -> None:
    """It returns any kind of answer; a coroutine function works in async calls, and says so in others."""

    async def later(messages: list[Any]) -> str:
        return f"later {messages[-1].text}"

    def fails(messages: list[Any]) -> Any:
        return ConnectionError("down")

    model = ScriptedChatModel([lambda messages: AIMessage(str(len(messages))), later, fails, later])
    assert model.invoke([SystemMessage("s"), HumanMessage("h")]).content == "2"
    assert (await model.ainvoke("x")).content == "later x"
    with pytest.raises(ConnectionError):
        model.invoke("x")
    with pytest.warns(RuntimeWarning, match="never awaited"), pytest.raises(TypeError, match="ainvoke"):
        model.invoke("x")


def test_calls_record_messages_and_kwargs() -> None:
    """What was asked is kept as it was, with what was bound, passed and offered."""
    model = ScriptedChatModel(["a"])
    messages = [SystemMessage("be brief"), HumanMessage("hi")]
    model.bind_tools([add], tool_choice="any").invoke(messages, stop=["\n"], temperature=0.5)
    messages[1].content = "changed later"
    (call,) = model.calls
    assert call.text == "be brief\nhi"
    assert call.tools == ["add"]
    assert (call.kwargs["tool_choice"], call.kwargs["stop"], call.kwargs["temperature"]) == ("any", ["\n"], 0.5)


def test_ids_are_fixed_and_never_repeat_in_a_thread() -> None:
    """Answers are numbered; a number that the conversation holds already is passed over; a given id stays."""
    model = ScriptedChatModel(["a", "b", AIMessage("c", id="mine"), "d"])
    assert [model.invoke("x").id for _ in range(4)] == ["scripted-1", "scripted-2", "mine", "scripted-4"]
    history = [HumanMessage("x"), AIMessage("a", id="scripted-1"), HumanMessage("y")]
    assert ScriptedChatModel(["b"]).invoke(history).id == "scripted-2"
    assert ScriptedChatModel(["b"], id_prefix="other").invoke(history).id == "other-1"


def test_usage_counts_words() -> None:
    """Every answer has a usage, unless the script gives one."""
    model = ScriptedChatModel(["one two three"])
    assert model.invoke("four words are asked").usage_metadata == {
        "input_tokens": 5,
        "output_tokens": 4,
        "total_tokens": 9,
    }


async def test_streaming_goes_word_by_word() -> None:
    """The chunks are words that join to the text, with one id, ending with the usage."""
    text = "Hello  big\nworld! "
    model = ScriptedChatModel([text, text, ""])
    streamed = list(model.stream("x")), [chunk async for chunk in model.astream("x")]
    for number, chunks in enumerate(streamed, start=1):
        assert [chunk.text for chunk in chunks if chunk.text] == ["Hello", "  big", "\nworld!", " "]
        assert {chunk.id for chunk in chunks} == {f"scripted-{number}"}
        whole = _joined(chunks)
        assert whole.text == text
        assert whole.usage_metadata is not None
        assert chunks[-1].chunk_position == "last"
    assert _joined(list(model.stream("x"))).text == ""


def test_tool_calls_stream_in_pieces() -> None:
    """The arguments come in halves and join to the same calls."""
    call = {"name": "add", "args": {"a": 1, "b": 2}, "id": "c1", "type": "tool_call"}
    chunks = list(ScriptedChatModel([AIMessage("adding", tool_calls=[call, {**call, "id": "c2"}])]).stream("x"))
    whole = _joined(chunks)
    assert whole.text == "adding"
    assert whole.tool_calls == [call, {**call, "id": "c2"}]
    assert len([chunk for chunk in chunks if chunk.tool_call_chunks]) == 4


def test_callbacks_see_every_token() -> None:
    """A streaming callback gets the words, as with a real model."""
    tokens: list[str] = []

    class Listener(BaseCallbackHandler):
        def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
            tokens.append(token)

    list(ScriptedChatModel(["a b c"]).stream("x", {"callbacks": [Listener()]}))
    assert [token for token in tokens if token] == ["a", " b", " c"]


@pytest.mark.parametrize("method", ["function_calling", "json_schema", "json_mode"])
@pytest.mark.parametrize("answer", [Person(name="Anne", age=3), {"name": "Anne", "age": 3}], ids=["object", "mapping"])
async def test_structured_output(method: Any, answer: Any) -> None:
    """Each method gives the object, sync and async, and asks the model in its own way."""
    model = ScriptedChatModel([answer, answer])
    structured = model.with_structured_output(Person, method=method)
    assert structured.invoke("who?") == Person(name="Anne", age=3)
    assert await structured.ainvoke("who?") == Person(name="Anne", age=3)
    kwargs = model.calls[0].kwargs
    if method == "function_calling":
        assert (model.calls[0].tools, kwargs["tool_choice"]) == (["Person"], "any")
    else:
        assert kwargs["response_format"]["type"] == {"json_schema": "json_schema", "json_mode": "json_object"}[method]


@pytest.mark.parametrize("method", ["function_calling", "json_schema", "json_mode"])
def test_structured_output_as_a_dict(method: Any) -> None:
    """A JSON schema instead of a class gives a dict."""
    schema = Person.model_json_schema()
    model = ScriptedChatModel([{"name": "Anne"}])
    assert model.with_structured_output(schema, method=method).invoke("who?") == {"name": "Anne"}


def test_structured_output_of_clumsy_answers() -> None:
    """A model that makes no call gives None; one that answers nonsense raises, or hands the raw answer over."""
    model = ScriptedChatModel(["no call", "no json", "no json", {"age": "old"}])
    assert model.with_structured_output(Person).invoke("who?") is None
    with pytest.raises(Exception, match="no json"):
        model.with_structured_output(Person, method="json_mode").invoke("who?")
    kept: Any = model.with_structured_output(Person, method="json_mode", include_raw=True).invoke("who?")
    assert (kept["raw"].text, kept["parsed"]) == ("no json", None)
    assert kept["parsing_error"] is not None
    with pytest.raises(ValidationError):
        model.with_structured_output(Person).invoke("who?")


def test_a_method_can_be_missing() -> None:
    """A model that knows only some methods refuses the others."""
    model = ScriptedChatModel([{"name": "Anne"}], methods=("json_mode",))
    for method in ("function_calling", "json_schema"):
        with pytest.raises(NotImplementedError, match="json_mode"):
            model.with_structured_output(Person, method=method)  # type: ignore[arg-type]
    assert model.with_structured_output(Person, method="json_mode").invoke("who?") == Person(name="Anne")


async def test_an_agent_calls_its_tools() -> None:
    """LangChain's agent runs on it: a tool call, its result, the answer, and the next turn with fresh ids."""
    call = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1, "b": 2}, "id": None}])
    model = ScriptedChatModel([call, lambda messages: f"it is {messages[-1].text}", "again"])
    agent = create_agent(model, [add], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    done = await agent.ainvoke({"messages": [HumanMessage("1 + 2?")]}, config)
    assert [message.text for message in done["messages"]] == ["1 + 2?", "", "3", "it is 3"]
    assert model.calls[0].tools == ["add"]
    done = agent.invoke({"messages": [HumanMessage("and?")]}, config)
    assert len({message.id for message in done["messages"]}) == 6


def test_a_second_model_in_the_same_thread_overwrites_nothing() -> None:
    """A new model on an old thread, as after a restart, starts its ids where the thread's end."""
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "t"}}
    for text in ("first", "second"):
        agent = create_agent(ScriptedChatModel([text]), [], checkpointer=saver)
        done = agent.invoke({"messages": [HumanMessage("hi")]}, config)  # type: ignore[call-overload]
    assert [message.text for message in done["messages"]] == ["hi", "first", "hi", "second"]


def _joined(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk
    return whole
