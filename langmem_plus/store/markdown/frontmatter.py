"""One entry as a Markdown file, both ways, exactly: front matter, then the text as the body.

Each front-matter line is a field and its JSON, which is YAML too, so the file can be edited as YAML and any JSON value
comes back as it was. A record's fields that have their default are left out; a foreign value stands whole in ``value``,
its ``text`` or ``content`` as the body. ``stored`` holds what the store itself needs to know.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml
from pydantic import ValidationError
from yaml.resolver import Resolver

from langmem_plus.errors import InvalidValueError, LangMemPlusError
from langmem_plus.records import MemoryRecord, decode_label, format_time, parse_time, record_id
from langmem_plus.store.markdown.layout import DELETED, FOLDER_ROLES, ITEMS, decode_name

_FENCE = "---\n"
_BODY_FIELDS = ("text", "content")
_FIELD = re.compile(r"([A-Za-z_]\w*): (.+)")
_PLAIN = re.compile(r"[a-z][a-z_]*|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_PLAIN_NO = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
# What a YAML reader refuses or folds inside a quoted text: controls, line separators, surrogates, the BOM.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")

_FIELDS = tuple(MemoryRecord.model_fields)
_DEFAULTS: dict[str, str] = {
    name: json.dumps(value)
    for name, value in MemoryRecord(id="", text="", user_id="").model_dump(mode="json").items()
    if name not in ("id", "role", "text", "user_id", "space", "created_at", "updated_at")
}


class UnreadableFileError(LangMemPlusError):
    """A file isn't an entry; the message says why, the caller adds its name."""


@dataclass(frozen=True)
class Entry:
    """One item of the store as a file holds it.

    Attributes:
        key: the item's key in its namespace.
        value: the item's value, plain JSON.
        created_at, updated_at: the item's own times, fixed-width ISO in UTC.
        index: None for the store's own fields, False for no ranking, or the paths that a put asked for.
        removed_at: when the item was deleted; such a file is a tombstone and no item.
    """

    key: str
    value: dict[str, Any]
    created_at: str
    updated_at: str
    index: list[str] | bool | None = None
    removed_at: str | None = None

    @property
    def role(self) -> str | None:
        """The record's role, or None for a foreign value."""
        return str(self.value["role"]) if is_record(self.key, self.value) else None

    @property
    def is_tombstone(self) -> bool:
        """Whether the file belongs under ``deleted/``."""
        return self.removed_at is not None or (
            self.role is not None and self.value["status"] in ("superseded", "deleted")
        )


def is_record(key: str, value: dict[str, Any]) -> bool:
    """Whether a value is the exact dump of a `MemoryRecord` with this key, and not just something alike."""
    if value.keys() != set(_FIELDS) or value["id"] != key:
        return False
    try:
        dump = MemoryRecord.model_validate(value).to_value()
    except ValidationError:
        return False
    return json.dumps(dump, sort_keys=True) == json.dumps(value, sort_keys=True)


def to_json(value: Any) -> str:
    """JSON text of a value, exact and on one line.

    Raises:
        InvalidValueError: the value isn't plain JSON.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValueError(f"the value can't be stored, since it isn't plain JSON: {error}.") from error


def check_value(value: Any) -> str:
    """The JSON of a value that may be stored: an object whose keys are all texts.

    Raises:
        InvalidValueError: it isn't an object, or isn't plain JSON.
    """
    if not isinstance(value, dict):
        raise InvalidValueError(f"a value must be a dict, not {type(value).__name__}.")
    text = to_json(value)
    _check_keys(value)
    return text


def _check_keys(value: Any) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise InvalidValueError(f"the key {key!r} in a value isn't a text, so it would change on reading.")
            _check_keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_keys(inner)


def render(entry: Entry) -> str:
    """The file of an entry."""
    fields: list[tuple[str, Any]] = []
    stored: dict[str, Any] = {}
    body = ""
    if entry.role is not None:
        for name in _FIELDS:
            value = entry.value[name]
            if name == "last_scores" or json.dumps(value) == _DEFAULTS.get(name):
                continue
            if name == "text" and not _UNPRINTABLE.search(value):
                body = value
                continue
            fields.append((name, value))
    else:
        stored["key"] = entry.key
        rest = dict(entry.value)
        for name in _BODY_FIELDS:
            if isinstance(rest.get(name), str) and not _UNPRINTABLE.search(rest[name]):
                body = rest.pop(name)
                stored["body"] = name
                break
        fields.append(("value", rest))
    stored.update(created_at=entry.created_at, updated_at=entry.updated_at)
    if entry.index is not None:
        stored["index"] = entry.index
    if entry.removed_at is not None:
        stored["removed_at"] = entry.removed_at
    fields.append(("stored", stored))
    lines = "".join(f"{name}: {_scalar(value)}\n" for name, value in fields)
    return f"{_FENCE}{lines}{_FENCE}{body}\n"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value not in _PLAIN_NO:
        return value
    text = _ESCAPED.sub(lambda m: f"\\u{ord(m[0]):04x}", to_json(value))
    # YAML takes a bare 1e16 for a text; with a dot both readers see the number.
    return re.sub(r'("(?:[^"\\]|\\.)*")|(?<![\d.])(-?\d+)(e[+-]?\d+)', lambda m: m[1] or f"{m[2]}.0{m[3]}", text)


def parse(text: str, path: PurePosixPath, namespace: tuple[str, ...], modified_at: str) -> Entry:
    """Read a file, ours or hand-made.

    Args:
        text: the file's content.
        path: its place below the namespace's folder; the folder gives the role, the name the id, where the front
            matter is silent.
        namespace: gives user and space likewise.
        modified_at: the file's own time, for entries without one.

    Raises:
        UnreadableFileError: the front matter is broken, or contradicts itself.
    """
    text = text.removeprefix("\ufeff")
    if text.startswith("---\r\n"):
        text = text.replace("\r\n", "\n")
    fields, body = _split(text)
    stored = fields.pop("stored", None) or {}
    if not isinstance(stored, dict):
        raise UnreadableFileError(f"'stored' is {stored!r}; it is the store's own line, so restore it or delete it.")
    folder = str(path.parent).removeprefix(f"{DELETED}/")
    if folder == ITEMS or folder not in FOLDER_ROLES:
        key, value = _foreign(fields, body, stored, path)
    else:
        key, value = _record(fields, body, folder, path, namespace, modified_at)
    index = stored.get("index")
    return Entry(
        key,
        value,
        created_at=_time(stored.get("created_at"), value.get("created_at"), modified_at),
        updated_at=_time(stored.get("updated_at"), modified_at),
        index=index if isinstance(index, list | bool) else None,
        removed_at=stored.get("removed_at"),
    )


def _split(text: str) -> tuple[dict[str, Any], str]:
    if not text.startswith(_FENCE):
        return {}, text.removesuffix("\n")
    head, fence, body = text.removeprefix(_FENCE).partition("\n---\n")
    if not fence:
        head, fence, body = text.removeprefix(_FENCE).partition("\n---")
        if not fence or body:
            raise UnreadableFileError("the front matter has no closing line '---'.")
    return _read_fields(head), body.removesuffix("\n")


def _read_fields(head: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for line in head.split("\n"):
        match = _FIELD.fullmatch(line)
        if match is None:
            return _read_yaml(head)
        name, value = match.groups()
        if _PLAIN.fullmatch(value) and value not in _PLAIN_NO:
            fields[name] = value
            continue
        try:
            fields[name] = json.loads(value)
        except ValueError:
            return _read_yaml(head)
    return fields


class _PlainLoader(yaml.SafeLoader):
    """YAML whose plain words stay texts: no times, no yes/no, and numbers as JSON has them."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own name


for _first, _resolvers in Resolver.yaml_implicit_resolvers.items():
    _kept = [resolver for resolver in _resolvers if resolver[0] == "tag:yaml.org,2002:null"]
    if _kept:
        _PlainLoader.yaml_implicit_resolvers[_first] = _kept
_PlainLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false|True|False)$"), list("tfTF"))
_PlainLoader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^-?(?:0|[1-9]\d*)$"), list("-0123456789"))
_PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^-?(?:0|[1-9]\d*)(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)$"),
    list("-0123456789"),
)


def _read_yaml(head: str) -> dict[str, Any]:
    try:
        fields = yaml.load(head, _PlainLoader)
    except yaml.YAMLError as error:
        raise UnreadableFileError(f"the front matter isn't YAML: {' '.join(str(error).split())}.") from error
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise UnreadableFileError("the front matter isn't a list of 'field: value' lines.")
    return {str(name): value for name, value in fields.items()}


def _foreign(
    fields: dict[str, Any], body: str, stored: dict[str, Any], path: PurePosixPath
) -> tuple[str, dict[str, Any]]:
    value = fields.get("value", fields)
    if not isinstance(value, dict):
        raise UnreadableFileError(f"'value' is {value!r}; it must be an object such as {{\"a\": 1}}.")
    value = dict(value)
    body_field = stored.get("body") or (None if stored else "text")
    if body_field:
        value[str(body_field)] = body
    key = stored.get("key")
    if not isinstance(key, str):
        key = decode_name(path.stem) or path.stem
    try:
        check_value(value)
    except InvalidValueError as error:
        raise UnreadableFileError(str(error)) from error
    return key, value


def _record(
    fields: dict[str, Any],
    body: str,
    folder: str,
    path: PurePosixPath,
    namespace: tuple[str, ...],
    modified_at: str,
) -> tuple[str, dict[str, Any]]:
    fields = dict(fields)
    fields.setdefault("text", body)
    fields.setdefault("role", FOLDER_ROLES[folder])
    fields.setdefault("user_id", decode_label(namespace[1]) if len(namespace) > 1 else decode_label(namespace[0]))
    if len(namespace) > 2:
        fields.setdefault("space", decode_label(namespace[2]))
    fields.setdefault("created_at", modified_at)
    fields.setdefault("updated_at", modified_at)
    if fields.get("id") is None:
        _, mark, name = path.stem.rpartition("__")
        fields["id"] = (decode_name(name) if mark else None) or record_id("file", *namespace, path)
    try:
        record = MemoryRecord.model_validate(fields)
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(map(str, problem["loc"]))
        raise UnreadableFileError(f"{name} is {problem['input']!r}: {problem['msg']}.") from error
    return record.id, record.to_value()


def _time(*candidates: Any) -> str:
    for candidate in candidates:
        time = parse_time(candidate)
        if isinstance(time, dt.datetime):
            return format_time(time)
    raise UnreadableFileError("no time can be read.")
