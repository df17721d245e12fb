"""langmem's memories, out of any LangGraph store: ``{"content": "…"}`` and ``{"kind": "…", "content": {…}}``.

A template says where they are, as langmem's tools and managers were given it: ``("memories", "{user_id}")``. What
stands in a field's place is that user, space or thread: a store can hold many users, and what is one's becomes theirs.

Source: langmem 0.0.30, ``knowledge/tools.py`` (``create_manage_memory_tool`` writes ``{"content": …}``) and
``knowledge/extraction.py`` (``MemoryStoreManager`` writes ``{"kind": …, "content": …}``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import Item, ListNamespacesOp, MatchCondition, SearchOp

from langmem_plus.errors import ConfigError, MissingIdentityError
from langmem_plus.importers.foreign import Foreign, Found
from langmem_plus.importers.report import Remark
from langmem_plus.labels import decode_label, encode_label, read_user
from langmem_plus.records import Scope, parse_time
from langmem_plus.remember.steps import Batch, Namespace, Steps, read_record
from langmem_plus.shown import shown
from langmem_plus.text import find_text

NAMESPACE = ("memories", "{user_id}")
PAGE = 10_000  # items that are asked for at a time: a store may have to count up to each page anew
_USER_FIELDS = ("user_id", "langgraph_user_id", "langgraph_auth_user_id")
_FIELD = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Template:
    """Where a store's memories are: labels, with fields in braces.

    Raises:
        ConfigError: it has no labels, or one that is no text.
    """

    labels: tuple[str, ...]

    @classmethod
    def of(cls, namespace: str | Sequence[str]) -> Template:
        """The template that somebody wrote; a text alone is one label, as in langmem."""
        listed = namespace if isinstance(namespace, Sequence) else ()
        labels = (namespace,) if isinstance(namespace, str) else tuple(listed)
        if not labels or not all(isinstance(label, str) and label for label in labels):
            raise ConfigError(f'the namespace is {shown(namespace)}: give labels such as ("memories", "{{user_id}}").')
        return cls(labels)

    @property
    def fields(self) -> list[str]:
        """The names of its fields."""
        return [name for label in self.labels for name in _FIELD.findall(label)]

    @property
    def prefix(self) -> tuple[str, ...]:
        """What a store can look for: the labels, with a wildcard for each that has a field."""
        return tuple("*" if _FIELD.search(label) else label for label in self.labels)

    def match(self, namespace: Sequence[str]) -> dict[str, str] | None:
        """What the fields are in a namespace; None where it doesn't fit, label by label."""
        if len(namespace) != len(self.labels):
            return None
        found: dict[str, str] = {}
        for pattern, label in zip(self.labels, namespace, strict=True):
            parts = _FIELD.split(pattern)  # text, name, text, name, …, text
            literal = "(.+)".join(re.escape(part) for part in parts[::2])
            match = re.fullmatch(literal, label, re.DOTALL)
            if match is None:
                return None
            for name, value in zip(parts[1::2], match.groups(), strict=True):
                if found.setdefault(name, value) != value:
                    return None
        return {name: _decoded(value) for name, value in found.items()}


def _decoded(label: str) -> str:
    """A label as it was meant: ours are encoded, and what encoding can't have made is left alone."""
    plain = decode_label(label)
    return plain if encode_label(plain) == label else label


def read_steps(template: Template, user_id: str | None, space: str | None, *, here: bool = False) -> Steps[Found]:
    """Read the memories of all namespaces that fit, whatever the store, without prolonging their lives in it.

    Args:
        template: where they are.
        user_id: whose: only theirs where the template has a user, and all where it has none; None takes every user
            of the template.
        space: where they go; None takes the template's ``{space}``, else ``default``.
        here: the source is the store where they go; what stands in its place already isn't doubled.

    Raises:
        MissingIdentityError: neither the template nor the caller says whose they are.
    """
    found, named = Found(), next((name for name in _USER_FIELDS if name in template.fields), None)
    if user_id is None and not named:
        raise MissingIdentityError(
            f"the template {template.labels!r} has no {{user_id}}, so it doesn't say whose memory it is: write the "
            'field where the user stands, e.g. ("memories", "{user_id}"), or pass user_id=….'
        )
    user_id = None if user_id is None else read_user(user_id)
    owners: set[str] = set()
    others: list[Namespace] = []
    for namespace in (yield from _list_namespaces(template)):
        values = template.match(namespace)
        if values is None:
            others.append(namespace)
            continue
        owner = values.pop(named) if named else user_id
        if owner is None or not owner.strip():
            raise MissingIdentityError(f"the namespace {namespace!r} names nobody: pass user_id=….")
        owners.add(owner)
        room = values.pop("space", None)
        if user_id is None or owner == user_id:
            items = yield from _list_items(namespace)
            for item in items:
                _read(item, Scope(owner, space or room or "default"), values, found, here=here)
    if not owners:
        found.report.warnings.append(f"the store has no namespace that fits {template.labels!r}: nothing was read.")
    elif user_id is not None and user_id not in owners:
        found.report.warnings.append(
            f"the store has no namespace of {user_id!r} that fits {template.labels!r}, but {len(owners)} of other "
            "users: see how the source spells this one."
        )
    if others:
        found.report.warnings.append(
            f"{len(others)} namespaces below don't fit {template.labels!r} and weren't read, e.g. {others[0]!r}: "
            "import them with a template of their own, if they hold memories."
        )
    return found


def _list_namespaces(template: Template) -> Steps[list[Namespace]]:
    found: list[Namespace] = []
    where = (MatchCondition("prefix", template.prefix),)
    while True:
        (page,) = yield Batch([ListNamespacesOp(where, limit=PAGE, offset=len(found))])
        found += [tuple(namespace) for namespace in page]
        if len(page) < PAGE:
            return list(dict.fromkeys(found))


def _list_items(namespace: Namespace) -> Steps[list[Item]]:
    """The items of a namespace, not of those below it; all are read before anything is written."""
    found: dict[str, Item] = {}
    offset = 0
    while True:
        (page,) = yield Batch([SearchOp(namespace, limit=PAGE, offset=offset, refresh_ttl=False)])
        found |= {item.key: item for item in page if tuple(item.namespace) == namespace}
        offset += PAGE
        if len(page) < PAGE:
            return list(found.values())


def _read(item: Item, scope: Scope, labels: Mapping[str, str], found: Found, *, here: bool) -> None:
    namespace, place = tuple(item.namespace), " / ".join((*item.namespace, item.key))
    found.report.read += 1
    said = "it is a record of this package: export_user and import_user bring it over" if read_record(item) else None
    if here and namespace == scope.namespace:
        said = said or "it stands where it would go, and is recalled from there"
    try:
        text, fields = read_value(item.value)
    except (TypeError, ValueError, RecursionError) as error:
        text, fields, said = None, {}, said or f"its content isn't plain JSON: {error}"
    if said or text is None:
        reason = said or f"there is no text in it: {shown(item.value)}"
        found.report.skipped.append(Remark(place=place, id=item.key, reason=reason))
        return
    others = {name: value for name, value in labels.items() if name not in ("thread_id", "agent_id")}
    memory = Foreign(
        system="langmem",
        id=item.key,
        parts=(*namespace, item.key),
        place=place,
        user_id=scope.user_id,
        space=scope.space,
        text=text,
        thread_id=labels.get("thread_id"),
        agent_id=labels.get("agent_id"),
        created_at=parse_time(item.created_at),
        updated_at=parse_time(item.updated_at),
        metadata=fields,
        origin={"namespace": list(namespace), **({"labels": others} if others else {})},
    )
    found.memories.append(memory)


def read_value(value: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The text of a value, and all of its other fields; no text where there is nothing to recall.

    A value's own fields keep their names; the fields of ``content`` stand beside them, or, where a name is in both,
    below ``content``. A content of fields is told as JSON, as recall reads it, and so is a list.

    >>> read_value({"kind": "Memory", "content": {"content": "likes tea", "source": "chat"}})
    ('likes tea', {'source': 'chat', 'kind': 'Memory'})
    """
    text, content = find_text(value), value.get("content")
    if text is None and isinstance(content, list) and content:
        text = json.dumps(content, ensure_ascii=False, default=str)
    if text is None:
        return None, {}
    own = {name: each for name, each in value.items() if each != text or name not in ("text", "content")}
    if not isinstance(content, Mapping) or "content" not in own:
        return text, own
    del own["content"]
    inner = {name: each for name, each in content.items() if name != "content" or each != text}
    return text, {**own, "content": inner} if inner.keys() & own.keys() else {**inner, **own}
