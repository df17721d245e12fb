"""What answers are made of, and how they are asked for as plain text where a model knows no other way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ConfigDict


def _untitled(schema: dict[str, Any]) -> None:
    for field in schema.get("properties", {}).values():
        field.pop("title", None)


class Answer(BaseModel):
    """A part of an answer. Its schema goes to the model with each request, without titles that only repeat names."""

    model_config = ConfigDict(json_schema_extra=_untitled)


_JSON_ALONE = "Answer with JSON alone: no other words, no code fence. It must fit this JSON schema:\n{schema}"
_AGAIN = "This can't be read as the JSON that was asked for. Answer again, with JSON alone that fits the schema."


def ask_for_json(messages: Sequence[BaseMessage], schema: type[BaseModel]) -> list[BaseMessage]:
    """The same request, with the answer's JSON schema at the end of its system message."""
    wanted = _JSON_ALONE.format(schema=json.dumps(schema.model_json_schema(), ensure_ascii=False))
    if messages and isinstance(messages[0], SystemMessage):
        return [SystemMessage(f"{messages[0].text}\n\n{wanted}"), *messages[1:]]
    return [SystemMessage(wanted), *messages]


def ask_again(messages: Sequence[BaseMessage], answer: str, schema: type[BaseModel]) -> list[BaseMessage]:
    """The request once more, after an answer that can't be read (an empty one is left out: servers refuse it)."""
    said = [AIMessage(answer)] if answer.strip() else []
    return [*ask_for_json(messages, schema), *said, HumanMessage(_AGAIN)]
