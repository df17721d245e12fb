"""The lines of a front matter, both ways, pure: each is a field and its JSON, which is YAML too.

Lines that the store wrote come back exactly; what a person wrote in between is read as YAML whose plain words stay
texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import yaml
from yaml.resolver import Resolver

from langmem_plus.errors import LangMemPlusError
from langmem_plus.store.values import to_json

_FIELD = re.compile(r"([A-Za-z_]\w*): (.+)")
_PLAIN = re.compile(r"[a-z][a-z_]*|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_PLAIN_NO = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
# What a YAML reader refuses or folds inside a quoted text: controls, line separators, surrogates, the BOM.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_BARE_EXPONENT = re.compile(r'("(?:[^"\\]|\\.)*")|(?<![\d.])(-?\d+)(e[+-]?\d+)')
_BY_YAML: Any = object()


class UnreadableFileError(LangMemPlusError):
    """A file isn't an entry; the message says why, the caller adds its name."""


def write_fields(fields: Iterable[tuple[str, Any]]) -> str:
    """One line a field."""
    return "".join(f"{name}: {_scalar(value)}\n" for name, value in fields)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value not in _PLAIN_NO:
        return value
    text = _ESCAPED.sub(lambda m: f"\\u{ord(m[0]):04x}", to_json(value))
    # YAML takes a bare 1e16 for a text; with a dot both readers see the number.
    return _BARE_EXPONENT.sub(lambda m: m[1] or f"{m[2]}.0{m[3]}", text)


def read_fields(head: str, line: int = 2) -> dict[str, Any]:
    """The fields of a front matter.

    Args:
        head: its lines.
        line: which line of the file is the first of them.

    Raises:
        UnreadableFileError: it is neither our lines nor YAML.
    """
    fields: dict[str, Any] = {}
    lines = head.split("\n")
    for number, each in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        match = _FIELD.fullmatch(each)
        # An indented line goes on with the value above it, which only YAML understands.
        value = _BY_YAML if match is None or following[:1] in (" ", "\t") else _read_scalar(match[2])
        if match is not None and value is not _BY_YAML:
            fields[match[1]] = value
            lines[number] = ""  # an empty line, so that YAML's errors count the lines as the person does
    if any(each.strip() for each in lines):
        fields.update(_read_yaml("\n".join(lines) + "\n", line))
    return fields


def _read_scalar(text: str) -> Any:
    if _PLAIN.fullmatch(text) and text not in _PLAIN_NO:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _BY_YAML


class _PlainLoader(yaml.SafeLoader):
    """YAML whose plain words stay texts: no times, no yes/no, and numbers as JSON has them."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own name

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Refuse an alias: a few lines of them would stand for gigabytes."""
        if self.check_event(yaml.AliasEvent):
            name = self.peek_event().anchor  # type: ignore[no-untyped-call]  # PyYAML is untyped
            raise UnreadableFileError(f"the front matter says *{name}; write out what that stands for.")
        return super().compose_node(parent, index)


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


def _why(error: Exception, line: int) -> str:
    """What the reader stumbled over, and in which line of the file, whose front matter begins in the given one."""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or error
    open_ended = "<stream end>" in str(problem)  # something was begun, and its end is missing
    mark = (open_ended and getattr(error, "context_mark", None)) or getattr(error, "problem_mark", None)
    where = f"line {mark.line + line}: " if mark is not None else ""
    return where + " ".join(str(problem).replace("'<stream end>'", "the end").split())


def _read_yaml(head: str, line: int) -> dict[str, Any]:
    try:
        fields = yaml.load(head, _PlainLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnreadableFileError(f"the front matter isn't YAML: {_why(error, line)}.") from error
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise UnreadableFileError("the front matter isn't a list of 'field: value' lines.")
    named: dict[str, Any] = _with_text_keys(fields, 0)
    return named


def _with_text_keys(value: Any, depth: int) -> Any:
    """The value with every key as the text that a person sees: ``2024: in Lyon`` has the key "2024"."""
    if depth > 100:
        raise UnreadableFileError("the front matter is nested too deeply.")
    if isinstance(value, dict):
        return {str(name): _with_text_keys(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_text_keys(inner, depth + 1) for inner in value]
    return value
