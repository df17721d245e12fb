"""What calls of models cost is counted for whoever asked, in threads and after failures, too."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import BaseModel

from langmem_plus.errors import ModelAnswerError
from langmem_plus.providers.chat import astructured, structured
from langmem_plus.providers.spending import model_uses, named, spend, spending, tokens_of
from langmem_plus.providers.threads import all_within, within
from langmem_plus.testing import ScriptedChatModel
from langmem_plus.tokens import counter

ASKED = [HumanMessage("What is it?")]


class Answer(BaseModel):
    """An answer."""

    word: str


class Silent(BaseChatModel):
    """A model that says nothing of tokens, and whose name breaks."""

    broken: bool = False

    @property
    def _llm_type(self) -> str:
        return "silent"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        if self.broken:
            raise RuntimeError("no name")
        return {"ls_provider": "quiet", "ls_model_name": "whisper-1"}

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage('{"word": "tea"}'))])


class TestModelUses:
    def test_an_answer_is_one_call_with_the_tokens_that_the_model_tells(self) -> None:
        """The usage in the answer is what counts."""
        usage = {"input_tokens": 11, "output_tokens": 3, "total_tokens": 14}
        model = ScriptedChatModel([AIMessage('{"word": "tea"}', usage_metadata=usage)])
        with model_uses() as uses:
            structured(model, ASKED, Answer)
        (use,) = uses
        assert (use.input_tokens, use.output_tokens, use.estimated, use.error) == (11, 3, False, "")
        assert use.ended is not None and use.ended >= use.began

    def test_every_way_of_asking_is_a_call(self) -> None:
        """An answer that can't be read is paid for, and so is the call that asks again."""
        model = ScriptedChatModel(["no idea"] * 5)
        with model_uses() as uses, pytest.raises(ModelAnswerError):
            structured(model, ASKED, Answer)
        assert len(uses) == len(model.calls) > 1

    def test_a_call_that_fails_is_counted_with_its_kind(self) -> None:
        """Its tokens are unknown."""
        model = ScriptedChatModel([ConnectionError("away")])
        with model_uses() as uses, pytest.raises(ConnectionError):
            structured(model, ASKED, Answer)
        assert [(use.error, use.input_tokens) for use in uses] == [("ConnectionError", 0)]

    def test_a_model_that_says_nothing_is_counted_here(self) -> None:
        """The prompt and the answer are counted, and marked as estimated."""
        with model_uses() as uses:
            assert structured(Silent(), ASKED, Answer).word == "tea"
        (use,) = uses
        assert use.estimated and use.input_tokens >= counter().count("What is it?") and use.output_tokens > 0
        assert (use.provider, use.model) == ("quiet", "whisper-1")

    async def test_async_calls_are_counted_alike(self) -> None:
        """The call is made in a thread, and is the caller's all the same."""
        with model_uses() as uses:
            await astructured(ScriptedChatModel([{"word": "tea"}]), ASKED, Answer)
        assert [use.error for use in uses] == [""] and uses[0].input_tokens > 0

    def test_calls_in_threads_are_the_callers(self) -> None:
        """Whoever waits for a thread pays for its calls."""
        with model_uses() as uses:
            within(10, structured, ScriptedChatModel([{"word": "tea"}]), ASKED, Answer)
        assert len(uses) == 1

    def test_outside_of_a_count_nothing_is_kept(self) -> None:
        """A call without anybody who counts works as ever; the inner one of two counts alone."""
        assert structured(ScriptedChatModel([{"word": "tea"}]), ASKED, Answer).word == "tea"
        with model_uses() as outer:
            with model_uses() as inner:
                structured(ScriptedChatModel([{"word": "tea"}]), ASKED, Answer)
            assert (len(outer), len(inner)) == (0, 1)


class TestNames:
    @pytest.mark.parametrize(
        "model",
        [Silent(), Silent().bind(stop=["x"]), Silent().with_retry(), Silent().with_fallbacks([Silent()])],
        ids=["model", "bound", "retry", "fallbacks"],
    )
    def test_a_wrapped_model_is_still_named(self, model: Any) -> None:
        """What is built around a model has its name."""
        assert named(model) == ("quiet", "whisper-1")

    @pytest.mark.parametrize("model", [Silent(broken=True), object()], ids=["raises", "no model"])
    def test_a_model_without_a_name_has_none(self, model: Any) -> None:
        """What a model is called never is a reason to fail."""
        assert named(model) == ("", "")


@given(read=st.integers(1, 10**6), written=st.integers(0, 10**6))
def test_what_the_model_tells_is_taken_as_it_is(read: int, written: int) -> None:
    """Whatever usage an answer has, wrapped or not, is the count."""
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    message = AIMessage("tea", usage_metadata=usage)
    assert tokens_of(message, ASKED) == tokens_of({"raw": message}, ASKED) == (read, written, False)


def test_a_usage_of_nothing_is_no_usage() -> None:
    """Some servers say 0 of everything."""
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    read, _, estimated = tokens_of(AIMessage("tea", usage_metadata=usage), ASKED)
    assert estimated and read > 0


def test_calls_at_a_time_lose_no_count() -> None:
    """Threads that spend at once share the counts."""
    together = threading.Barrier(4)

    def call() -> None:
        together.wait(10)
        for _ in range(500):
            spend("calls")

    with spending() as counts:
        all_within(30, [call] * 4, 4)
    assert counts == {"calls": 2000}
