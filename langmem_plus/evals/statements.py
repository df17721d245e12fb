"""Files that the write path is measured on: statements to extract, and pairs whose newer one may retire the older one.

A key that nobody reads is an error, as in `own`: ``roel`` would make an assistant's message one of the user's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langmem_plus.evals.own import check_known
from langmem_plus.importers.parts import Place
from langmem_plus.shown import shown

EXTRACT_FORM = (
    'For extract: a JSON list of {"messages": [{"text": "…"}, …], "gold": "what they say", "kind": "…"}, or of '
    '{"text": "…", "memories": [{"content": "…", "type": "…"}, …]}; kind, type and a message\'s role can be left out.'
)
RECONCILE_FORM = (
    'For reconcile: a JSON list of {"id": "…", "kind": "update", "old": {"text": "…"}, "new": {"text": "…"}}; old and '
    "new can be lists, id can be left out; of any other kind than update nothing should be retired, of contradiction "
    "it is only counted. With a question, eval recall reads it, too."
)
_EXPECTED = (
    'expected a JSON list: for extract of {"messages": [{"text": "…"}], "gold": "…"} or {"text": "…", "memories": '
    '[{"content": "…"}]}, for reconcile of {"kind": "update", "old": {"text": "…"}, "new": {"text": "…"}}; see '
    "`langmem-plus eval write --help`. Messages with questions are for `langmem-plus eval recall`"
)
_PASSED_OVER = ("id", "part", "src", "question", "answer")
_MESSAGE = ("text", "role")
_MESSAGE_PASSED_OVER = ("id", "name", "date", "created_at")


@dataclass(frozen=True)
class Pair:
    """An older and a newer statement.

    Attributes:
        place: its number in the file, from 0.
        kind: ``update`` where the newer one replaces the older one.
        story: the conversation that it was made of.
        old: the older messages.
        new: the newer messages.
    """

    place: int
    kind: str
    story: str
    old: tuple[str, ...]
    new: tuple[str, ...]

    def same_story(self, other: Pair) -> bool:
        """Whether two entries may speak of the same thing: one conversation, or a message in common."""
        shared = {*self.old, *self.new} & {*other.old, *other.new}
        return self.story == other.story or bool(shared)


@dataclass(frozen=True)
class Statements:
    """What the user's turns of an entry say.

    Attributes:
        turns: the messages.
        expected: the statements that should be extracted, each with its kind.
    """

    turns: Sequence[str]
    expected: Sequence[tuple[str, str]]


def read_entries(path: str | Path) -> list[dict[str, Any]]:
    """The entries of a file of either kind.

    Raises:
        ImportFileError: it isn't a JSON list of objects, or there is none in it.
    """
    place = Place(Path(path))
    try:
        text = place.path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise place.error(f"can't be read: {error}") from error
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise place.error(f"not JSON: {error}; {_EXPECTED}") from error
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        raise place.error(f"it isn't a list of entries; {_EXPECTED}")
    if not data:
        raise place.error(f"the list is empty; {_EXPECTED}")
    return data


def is_pair(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is one for reconciliation."""
    return {"old", "new"} <= entry.keys()


def read_pairs(path: str | Path) -> list[Pair]:
    """The entries of a file for reconciliation.

    Raises:
        ImportFileError: the file is no such list.
    """
    found = []
    for number, entry in enumerate(read_entries(path)):
        here = Place(Path(path)) / f"[{number}]"
        if not is_pair(entry):
            raise here.error(f"it has no {_missing(entry, ('old', 'new'))}; {_EXPECTED}")
        check_known(entry, ("kind", "old", "new"), _PASSED_OVER, here, "an entry for reconcile")
        old, new = (_messages(entry, side, here) for side in ("old", "new"))
        story = _story(str(entry.get("id", number)))
        found.append(Pair(number, _text(entry, "kind", here), story, tuple(old), tuple(new)))
    return found


def read_statements(path: str | Path) -> list[Statements]:
    """The entries of a file for extraction.

    Raises:
        ImportFileError: the file is no such list.
    """
    return [_statements(entry, Place(Path(path)) / f"[{number}]") for number, entry in enumerate(read_entries(path))]


def _statements(entry: dict[str, Any], here: Place) -> Statements:
    if "gold" in entry or "messages" in entry:
        known = ("messages", "gold", "kind")
        check_known(entry, known, _PASSED_OVER, here, "an entry for extract with messages")
        turns = _messages(entry, "messages", here)
        return Statements(turns, [(_kind(entry, "kind", here), _text(entry, "gold", here))])
    if missing := _missing(entry, ("text", "memories")):
        raise here.error(f"it has no {missing}; {_EXPECTED}")
    check_known(entry, ("text", "memories"), (*_PASSED_OVER, "kind"), here, "an entry for extract with memories")
    expected = []
    for number, memory in enumerate(_listed(entry, "memories", here)):
        spot = here / f"memories[{number}]"
        if not isinstance(memory, Mapping):
            raise spot.error(f'expected {{"content": "…"}}, found {shown(memory)}')
        check_known(memory, ("content", "type"), ("id",), spot, "a memory")
        expected.append((_kind(memory, "type", spot), _text(memory, "content", spot)))
    return Statements([_text(entry, "text", here)], expected)


def _messages(entry: Mapping[str, Any], name: str, here: Place) -> list[str]:
    """The texts of the user's messages; a pair's sides are the user's, whatever their role, and may be one message."""
    is_side = name != "messages"
    value = entry.get(name)
    listed = [value] if is_side and isinstance(value, Mapping) else _listed(entry, name, here)
    found = []
    for number, message in enumerate(listed):
        spot = here / (f"{name}[{number}]" if isinstance(value, list) else name)
        if not isinstance(message, Mapping):
            raise spot.error(f'expected a message such as {{"text": "…"}}, found {shown(message)}')
        check_known(message, _MESSAGE, _MESSAGE_PASSED_OVER, spot, "a message")
        text = _text(message, "text", spot)
        if is_side or message.get("role", "user") == "user":
            found.append(text)
    if not found:
        raise (here / name).error("there is no message of the user's in it")
    return found


def _missing(entry: Mapping[str, Any], names: Sequence[str]) -> str:
    return " and no ".join(repr(name) for name in names if name not in entry)


def _listed(entry: Mapping[str, Any], name: str, here: Place) -> list[Any]:
    value = entry.get(name)
    if not isinstance(value, list):
        raise (here / name).error(f"expected a list, found {shown(value)}")
    return value


def _text(entry: Mapping[str, Any], name: str, here: Place) -> str:
    if name not in entry:
        raise here.error(f"it has no {name!r}; {_EXPECTED}")
    value = entry[name]
    if not isinstance(value, str):
        raise (here / name).error(f"expected a text, found {shown(value)}")
    return value


def _kind(entry: Mapping[str, Any], name: str, here: Place) -> str:
    return _text(entry, name, here) if entry.get(name) is not None else "statement"


def _story(entry_id: str) -> str:
    """The conversation that an entry was made of: ids such as 100K-1-… name it by their first two parts."""
    parts = entry_id.split("-")
    return "-".join(parts[:2]) if len(parts) > 2 else entry_id
