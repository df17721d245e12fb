"""OpenAI's protocol as JSON: chat completions, whole and in pieces, embeddings, and the list of models.

Source: https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage

_CREATED = 1_760_000_000  # a fixed second, so that answers are the same in every run


def chat_completion(message: AIMessage, body: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A whole answer.

    Args:
        message: what is answered.
        body: the request.
        number: which chat this is; ids are made from it.
    """
    calls = _tool_calls(message, number)
    answer: dict[str, Any] = {"role": "assistant", "content": message.text or None, "refusal": None}
    if calls:
        answer["tool_calls"] = calls
    choice = {"index": 0, "message": answer, "finish_reason": _finish_reason(message), "logprobs": None}
    return {**_head("chat.completion", body, number), "choices": [choice], "usage": _usage(message, body)}


def chat_chunks(message: AIMessage, body: Mapping[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """The same answer as the events of a stream: the role, the words, the tool calls in halves, the end, the usage."""
    head = _head("chat.completion.chunk", body, number)

    def event(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]}

    yield event({"role": "assistant", "content": ""})
    for piece in re.findall(r"\s*\S+|\s+$", message.text):
        yield event({"content": piece})
    for index, call in enumerate(_tool_calls(message, number)):
        arguments = call["function"]["arguments"]
        half = len(arguments) // 2
        started = {**call, "index": index, "function": {**call["function"], "arguments": arguments[:half]}}
        yield event({"tool_calls": [started]})
        yield event({"tool_calls": [{"index": index, "function": {"arguments": arguments[half:]}}]})
    yield event({}, _finish_reason(message))
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": _usage(message, body)}


def embedding_list(vectors: Sequence[Sequence[float]], body: Mapping[str, Any]) -> dict[str, Any]:
    """Embeddings as numbers, or as base64 of 32-bit floats where the request asks for it, as OpenAI's SDK does."""

    def encoded(vector: Sequence[float]) -> list[float] | str:
        if body.get("encoding_format") != "base64":
            return list(vector)
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()

    return {
        "object": "list",
        "model": body.get("model"),
        "data": [{"object": "embedding", "index": i, "embedding": encoded(v)} for i, v in enumerate(vectors)],
        "usage": {"prompt_tokens": len(vectors), "total_tokens": len(vectors)},
    }


def model_list(names: Sequence[str]) -> dict[str, Any]:
    """The models that there are."""
    data = [{"id": name, "object": "model", "created": _CREATED, "owned_by": "loopback"} for name in names]
    return {"object": "list", "data": data}


def _head(kind: str, body: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": _CREATED, "model": body.get("model") or "scripted"}


def _tool_calls(message: AIMessage, number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": call["id"] or f"call-{number}-{position}",
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["args"], ensure_ascii=False)},
        }
        for position, call in enumerate(message.tool_calls, start=1)
    ]


def _finish_reason(message: AIMessage) -> str:
    """What the message's own metadata says, else why a model would stop here."""
    given = message.response_metadata.get("finish_reason")
    return str(given) if given else "tool_calls" if message.tool_calls else "stop"


def _usage(message: AIMessage, body: Mapping[str, Any]) -> dict[str, int]:
    """Words for tokens: deterministic, and never zero."""
    read = sum(len(str(each.get("content") or "").split()) for each in body.get("messages") or []) + 1
    written = len(message.text.split()) + len(json.dumps(message.tool_calls).split())
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
