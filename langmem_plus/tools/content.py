"""What a model hands over to remember, as a text that can be searched and as the fields that it was given."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter

from langmem_plus.errors import InvalidValueError
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.simhash import near_duplicate, normalise

_JSON: TypeAdapter[Any] = TypeAdapter(Any)


@dataclass(frozen=True)
class Content:
    """One memory's content.

    Args:
        text: in words.
        fields: as JSON, where it is more than a text.
        kind: the name of its model, where it has one.
    """

    text: str
    fields: Any = None
    kind: str | None = None

    @property
    def digest(self) -> str:
        """The same for the same content, whatever its case and punctuation."""
        told = json.dumps([normalise(self.text), self.fields, self.kind], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def metadata(self) -> dict[str, Any]:
        """What of it stands in a record's metadata."""
        found = {"content": self.fields, "kind": self.kind}
        return {name: value for name, value in found.items() if value is not None}

    def is_said_by(self, record: MemoryRecord, limit: int) -> bool:
        """Whether an active record says the same.

        Args:
            record: the record.
            limit: bits in which the fingerprints of near-duplicates may differ.
        """
        if record.status != "active" or record.metadata.get("content") != self.fields:
            return False
        return record.text == self.text or near_duplicate(record.text, self.text, limit)


def read_content(value: Any) -> Content:
    """Take over a text, a pydantic model, a list of them, or other JSON.

    Raises:
        InvalidValueError: it says nothing, or isn't JSON.
    """
    if isinstance(value, str):
        found = Content(value)
    else:
        try:
            fields = _JSON.dump_python(value, mode="json")
            json.dumps(fields, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InvalidValueError(f"the content can't be stored as JSON ({error}): give a text.") from error
        found = Content(readable(fields), fields, type(value).__name__ if isinstance(value, BaseModel) else None)
    if not found.text.strip():
        raise InvalidValueError("the content is empty: say in one sentence what is to be remembered.")
    return found


def readable(value: Any) -> str:
    """JSON in words: ``name: Anne; likes: tea, cats``. What is empty is left out.

    >>> readable({"name": "Anne", "age": None, "likes": ["tea", "cats"]})
    'name: Anne; likes: tea, cats'
    """
    if isinstance(value, Mapping):
        told = {str(name): readable(inner) for name, inner in value.items()}
        if told.keys() == {"content"}:
            return told["content"]
        return "; ".join(f"{name.replace('_', ' ')}: {text}" for name, text in told.items() if text)
    if isinstance(value, Sequence) and not isinstance(value, str):
        texts = [readable(inner) for inner in value]
        nested = any(isinstance(inner, Mapping | list) for inner in value)
        return ("\n" if nested else ", ").join(text for text in texts if text)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
