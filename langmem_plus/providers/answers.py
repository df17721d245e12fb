"""What clumsy models write, read as what was asked for.

Tolerated: code fences, ``<think>`` blocks, prose around the JSON, trailing commas and other small faults, an answer
that was cut off (its last, unfinished item is left out), one object for a list or a list for an object, several objects
in a row, keys and choices in another case, numbers as text and text as numbers, null for a default, extra keys. An item
that can't be made to fit is left out; an answer of which nothing is left is unreadable, never empty.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar, get_args, get_origin

import json_repair
from langchain_core.messages import BaseMessage
from pydantic import BaseModel, RootModel, ValidationError

Answer = TypeVar("Answer", bound=BaseModel)

_ROUNDS = 8  # each round mends one layer of faults; answers are seldom more than three deep
_OPENINGS = 20  # unclosed brackets that are looked into, so that a long broken text is read in linear time
_MENDABLE = 8_000  # characters; answers are far shorter, and mending takes more than linear time
_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_THOUGHT_START = re.compile(r"<think(?:ing)?>.*", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"```[\w-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_DROP = object()
_Mend: TypeAlias = Callable[[Any, dict[str, Any], dict[str, type[BaseModel]]], Any]


def read_message(message: BaseMessage, schema: type[Answer]) -> Answer | None:
    """The answer in a message: in its tool calls, else in its text; None when nothing fits."""
    calls = [call["args"] for call in getattr(message, "tool_calls", [])]
    calls += [call["args"] or "" for call in getattr(message, "invalid_tool_calls", [])]
    read = (read_text(call, schema) if isinstance(call, str) else fit(call, schema) for call in calls)
    found = [answer for answer in read if answer is not None]
    if not found:
        return read_text(message.text, schema)
    name = _list_field(schema)
    if name is not None and len(found) > 1:  # one call an item
        items = [item for answer in found for item in getattr(answer, name)]
        return found[0].model_copy(update={name: items})
    return found[0]


def read_text(text: str, schema: type[Answer]) -> Answer | None:
    """The answer in a text; None when nothing in it fits."""
    spoken = _THOUGHT_START.sub("", _THOUGHT_END.split(_THOUGHT.sub("", text))[-1])
    for piece in (*_FENCED.findall(spoken), spoken):
        for value in _candidates(list(_values(piece)), schema):
            if (answer := fit(value, schema)) is not None:
                return answer
    return None


def _candidates(values: list[Any], schema: type[BaseModel]) -> Iterator[Any]:
    """The values in the order in which they should be tried: what names a field of the answer first, longest first."""
    named = [value for value in values if isinstance(value, dict) and _named(value, schema)]
    objects = [value for value in values if isinstance(value, dict) and not _named(value, schema)]
    yield from sorted(named, key=_length, reverse=True)
    yield from sorted((value for value in values if isinstance(value, list)), key=_length, reverse=True)
    if len(objects) > 1:
        yield objects
    yield from objects


def _length(value: Any) -> int:
    return len(str(value))


def _values(text: str) -> Iterator[Any]:
    """The JSON objects and lists in a text, small faults mended."""
    place, unclosed = 0, 0
    while unclosed < _OPENINGS and (opening := _OPENING.search(text, place)):
        start = opening.start()
        end, brackets = _scan(text, start)
        unclosed += bool(brackets)
        place = start + 1 if brackets else end
        value = _load(text[start:end], brackets) if end > start + 1 else None
        if isinstance(value, dict | list):
            yield value


def _scan(text: str, start: int) -> tuple[int, str]:
    """Where the value that opens at ``start`` ends; if it is cut off, where its last complete part ends, and the
    brackets that are missing there."""
    stack: list[str] = []
    quoted, is_value, whole, depth, place = False, False, start, 0, start
    while place < len(text):
        letter = text[place]
        if quoted:
            if letter == "\\":
                place += 1
            elif letter == '"':
                quoted = False
                if is_value or stack[-1] == "]":  # a key without its value isn't complete
                    whole, depth = place + 1, len(stack)
        elif letter == '"':
            quoted = True
        elif letter == ":":
            is_value = True
        elif letter in "{[":
            stack.append("}" if letter == "{" else "]")
            is_value = False
        elif letter in "}]":
            stack.pop()
            whole, depth = place + 1, len(stack)
            if not stack:
                return whole, ""
        elif letter == ",":
            whole, depth, is_value = place, len(stack), False
        place += 1
    return whole, "".join(reversed(stack[:depth])) or "?"


def _load(text: str, missing: str) -> Any:
    try:
        return json.loads(text + missing, strict=False)
    except (ValueError, RecursionError):
        if len(text) > _MENDABLE:
            return None
    try:
        return json_repair.loads(text)
    except (ValueError, LookupError, RecursionError):
        return None


def fit(value: Any, schema: type[Answer]) -> Answer | None:
    """The value as the schema's type, mended where that is safe; None when it doesn't fit."""
    for shape in _shapes(value, schema):
        answer = _mend(copy.deepcopy(shape), schema)
        if answer is not None and not _is_hollow(shape, answer):
            return answer
    return None


def _shapes(value: Any, schema: type[BaseModel]) -> Iterator[Any]:
    """The value as it is, then as the list or the item that the answer consists of, then what it is wrapped in."""
    name = _list_field(schema)
    if isinstance(value, dict | list) and (issubclass(schema, RootModel) or isinstance(value, dict)):
        yield value
    if isinstance(value, list) and name is not None:
        yield {name: value}
    if isinstance(value, dict) and not _named(value, schema) and "error" not in map(_plain, value):
        inner = [part for part in value.values() if isinstance(part, dict | list)]
        if len(inner) == 1:
            yield from _shapes(inner[0], schema)
        if name is not None or issubclass(schema, RootModel):
            yield {name: [value]} if name is not None else [value]
    if isinstance(value, list) and len(value) == 1 and name is None:
        yield from _shapes(value[0], schema)


def _mend(value: Any, schema: type[Answer]) -> Answer | None:
    models = _models(schema)
    for _ in range(_ROUNDS):
        try:
            return schema.model_validate(value)
        except ValidationError as error:
            mending = _Mending(value, models)
            if not all(mending.mend(dict(fault)) for fault in error.errors(include_url=False)):
                return None
            mending.leave_out()
    return None


class _Mending:
    """One round over the faults that validation named: values are mended in place, hopeless list items left out."""

    def __init__(self, value: Any, models: dict[str, type[BaseModel]]) -> None:
        self.value = value
        self.models = models
        self.removed: set[tuple[int, Any]] = set()  # keys that this round took out of a mapping
        self.hopeless: dict[int, tuple[list[Any], set[int]]] = {}

    def mend(self, fault: dict[str, Any]) -> bool:
        """Mend one fault, or mark the list item that it stands in; False when nothing helps."""
        steps: list[tuple[Any, Any]] = []
        inner = self.value
        for key in fault["loc"]:
            if (id(inner), key) in self.removed:
                return True
            if not _holds(inner, key):
                break
            steps.append((inner, key))
            inner = inner[key]
        if fault["type"] == "missing":
            return self._find_missing(inner, fault["loc"][-1]) or self._mark(steps)
        if not steps:
            return False
        holder, key = steps[-1]
        mend: _Mend = _MENDS.get(fault["type"], _give_up)
        mended = mend(holder[key], fault, self.models)
        if mended is not _DROP:
            holder[key] = mended
            return True
        if not isinstance(holder, dict):
            return self._mark(steps)
        del holder[key]
        self.removed.add((id(holder), key))
        return True

    def leave_out(self) -> None:
        """Take the marked items out of their lists."""
        for items, places in self.hopeless.values():
            items[:] = [item for place, item in enumerate(items) if place not in places]

    def _find_missing(self, holder: Any, wanted: Any) -> bool:
        same = [key for key in holder if _plain(key) == _plain(wanted)] if isinstance(holder, dict) else []
        if same:
            holder[wanted] = holder.pop(same[0])
        return bool(same)

    def _mark(self, steps: list[tuple[Any, Any]]) -> bool:
        """Mark the innermost list item of a place."""
        for holder, key in reversed(steps):
            if isinstance(holder, list):
                self.hopeless.setdefault(id(holder), (holder, set()))[1].add(key)
                return True
        return False


def _holds(value: Any, key: Any) -> bool:
    if isinstance(value, list):
        return isinstance(key, int) and key < len(value)
    return isinstance(value, dict) and key in value


def _as_text(found: Any, fault: dict[str, Any], models: Any) -> Any:
    if isinstance(found, int | float):
        return str(found)
    texts = [part for part in found.values() if isinstance(part, str)] if isinstance(found, dict) else []
    return texts[0] if len(texts) == 1 else _DROP


def _as_number(found: Any, fault: dict[str, Any], models: Any) -> Any:
    number = _NUMBER.search(str(found)) if isinstance(found, str | float) else None
    if number is None:
        return _DROP
    return int(float(number[0])) if fault["type"].startswith("int") else float(number[0])


def _as_choice(found: Any, fault: dict[str, Any], models: Any) -> Any:
    choices = re.findall(r"'([^']*)'", str(fault.get("ctx", {}).get("expected", "")))
    return next((choice for choice in choices if _plain(choice) == _plain(found)), _DROP)


def _as_list(found: Any, fault: dict[str, Any], models: Any) -> Any:
    return [] if found is None else [found]


def _as_object(found: Any, fault: dict[str, Any], models: dict[str, type[BaseModel]]) -> Any:
    model = models.get(str(fault.get("ctx", {}).get("class_name")))
    fields = model.model_fields.items() if model and isinstance(found, str | int | float) else ()
    name = next((name for name, field in fields if field.is_required() and field.annotation is str), None)
    return _DROP if name is None else {name: str(found)}


def _within(found: Any, fault: dict[str, Any], models: Any) -> Any:
    bounds = fault.get("ctx", {})
    if "max_length" in bounds and isinstance(found, str | list):
        return found[: bounds["max_length"]]
    return next((bounds[name] for name in ("ge", "le") if name in bounds), _DROP)


def _give_up(found: Any, fault: dict[str, Any], models: Any) -> Any:
    return _DROP


_MENDS: dict[str, _Mend] = {
    "string_type": _as_text,
    "int_type": _as_number,
    "int_parsing": _as_number,
    "int_from_float": _as_number,
    "float_type": _as_number,
    "float_parsing": _as_number,
    "literal_error": _as_choice,
    "enum": _as_choice,
    "list_type": _as_list,
    "model_type": _as_object,
    "model_attributes_type": _as_object,
    "greater_than_equal": _within,
    "less_than_equal": _within,
    "too_long": _within,
    "string_too_long": _within,
}


def _is_hollow(value: Any, answer: BaseModel) -> bool:
    """Whether an answer says nothing although the value said something: then it was another kind of value."""
    if not value:
        return False
    if isinstance(answer, RootModel):
        return isinstance(value, list) and not answer.root
    name = _list_field(type(answer))
    said = value.get(name) if isinstance(value, dict) and name else None
    return not answer.model_fields_set or bool(name and said and not getattr(answer, name))


def _list_field(schema: type[BaseModel]) -> str | None:
    """The one field that is a list, or of several the one that must be there; None where none is the one."""
    if issubclass(schema, RootModel):
        return None
    lists = {name: field for name, field in schema.model_fields.items() if get_origin(field.annotation) is list}
    needed = [name for name, field in lists.items() if field.is_required()]
    names = list(lists) if len(lists) == 1 else needed
    return names[0] if len(names) == 1 else None


def _models(kind: Any) -> dict[str, type[BaseModel]]:
    """The models that a type consists of, by name."""
    found: dict[str, type[BaseModel]] = {}
    open_ends = [kind]
    while open_ends:
        current = open_ends.pop()
        if isinstance(current, type) and issubclass(current, BaseModel) and current.__name__ not in found:
            found[current.__name__] = current
            open_ends += [field.annotation for field in current.model_fields.values()]
        open_ends += [part for part in get_args(current) if part is not None]
    return found


def _named(value: dict[Any, Any], schema: type[BaseModel]) -> bool:
    fields = {_plain(name) for name in schema.model_fields}
    return any(_plain(key) in fields for key in value)


def _plain(key: Any) -> str:
    return re.sub(r"[\W_]", "", str(key)).casefold()
