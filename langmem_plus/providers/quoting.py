"""A chat model that is none: it quotes the memories that it is given, for demonstrations and for life without a key."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable

from langmem_plus.fence import QUOTED_FROM_MEMORY, strip_context
from langmem_plus.prompts import CONTEXT_CLOSE, CONTEXT_OPEN
from langmem_plus.text import tokens

INTRODUCTION = "I'm no language model: I can only quote what memory holds."
FOUND = "For this message it holds:"
EMPTY = "For this message it holds nothing."
QUOTES = 3  # lines that an answer quotes: what answers a question is among the first, more would bury it

_BLOCK = re.compile(rf"{re.escape(CONTEXT_OPEN)}(.*?){re.escape(CONTEXT_CLOSE)}", re.DOTALL)
# A recalled line: [role] text (when it was said; where it comes from)
_LINE = re.compile(r"^\[(?P<role>\w+)\] (?P<text>.*?)(?: \((?P<day>\d{4}-\d{2}-\d{2})[^()]*\))?$", re.MULTILINE)


_MARK = {QUOTED_FROM_MEMORY: True}


class QuotingChatModel(BaseChatModel):
    """Answers with the recalled memories that share most words with the message, and says that it is no language model.

    Its replies are marked as quotes, so that they aren't recorded as something new. It streams word by word. Tools may
    be bound to it; it never calls one.

    Example:
        >>> QuotingChatModel().invoke("Hello").text
        "I'm no language model: I can only quote what memory holds. For this message it holds nothing."
    """

    @property
    def _llm_type(self) -> str:
        return "quoting"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | Any],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The same model: it has no use for tools."""
        return self.bind()

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(
            generations=[ChatGeneration(message=AIMessage(quote_memories(messages), response_metadata=dict(_MARK)))]
        )

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for piece in re.findall(r"\s*\S+", quote_memories(messages)):
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
        yield ChatGenerationChunk(
            message=AIMessageChunk(content="", response_metadata=dict(_MARK), chunk_position="last")
        )

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, stop, None, **kwargs):
            yield chunk


def quote_memories(messages: Sequence[BaseMessage]) -> str:
    """The answer to a model call: the recalled lines that are nearest to the current message, each with its day."""
    said = next((message.text for message in reversed(messages) if isinstance(message, HumanMessage)), "")
    question = strip_context(said).strip()
    block = "\n".join(inner for message in messages for inner in _BLOCK.findall(message.text))
    lines = [match for match in _LINE.finditer(block) if match["text"].strip() not in ("", question)]
    if not lines:
        return f"{INTRODUCTION} {EMPTY}"
    asked = set(tokens(question))

    def nearness(line: re.Match[str]) -> tuple[int, bool]:
        return len(asked & set(tokens(line["text"]))), line["role"] == "memory"

    nearest = sorted(lines, key=nearness, reverse=True)[:QUOTES]
    if nearness(nearest[0])[0]:
        nearest = [line for line in nearest if nearness(line)[0]]
    quotes = [f"- “{line['text']}”" + (f" ({line['day']})" if line["day"] else "") for line in nearest]
    return "\n".join((f"{INTRODUCTION} {FOUND}", *dict.fromkeys(quotes)))
