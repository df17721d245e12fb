"""mem0's memories, out of the JSON that its calls give.

Forms that are read: ``{"results": [...]}``, as ``get_all`` gives it, whole or a page, with ``relations`` of the graph
or without; a bare list of memories; a list of pages; JSON lines, each a memory or a page; ``{"memories": [...]}``, also
with the ``user`` and the ``categories`` of OpenMemory's backup. An export by a schema of one's own
(``create_memory_export``) holds what a model made of the memories, not the memories: it is refused.

Source: mem0ai/mem0, ``mem0/memory/main.py``, ``_get_all_from_vector_store`` (fields of a memory: id, memory, hash,
metadata, created_at, updated_at, user_id, agent_id, run_id, actor_id, role); docs.mem0.ai/api-reference/memory
(get-memories: count, next, previous, results, categories, immutable, structured_attributes; create-memory-export);
docs.mem0.ai/platform/features/memory-expiration (``expiration_date`` is a day in UTC, the day itself included);
``openmemory/api/app/routers/backup.py`` (user, categories, memories with content, state and category_ids).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from langmem_plus.errors import ImportFileError
from langmem_plus.importers.foreign import Foreign, Found
from langmem_plus.importers.parts import Place, read_label, read_time
from langmem_plus.importers.report import ImportReport, Remark
from langmem_plus.labels import read_user
from langmem_plus.shown import shown

_TEXTS = ("memory", "text", "content", "data")
_UNMEANT = ("relations", "entities")  # of the graph: no memories by themselves
_OF_A_SEARCH = ("score", "score_details")  # say how near it was to some query
_CONVERSATIONS = frozenset(("messages", "conversation", "haystack_sessions"))  # of other forms of a file
_DAY = 10  # letters of YYYY-MM-DD


@dataclass
class Export:
    """A file of memories, not yet somebody's.

    Args:
        place: the file.
        entries: the memories as they stand there, each with its place.
        ignored: what else stands there, by kind.
        warnings: what to know about the whole.
        users: names of users by the ids that the memories have.
        categories: names of categories by their ids.
    """

    place: Place
    entries: list[tuple[Any, Place]] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    users: dict[str, str] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)


def is_export(data: Any) -> bool:
    """Whether a document, or one line of a file, is mem0's."""
    if isinstance(data, list):
        return any(_is_memory(item) or _is_page(item) for item in data)
    return _is_memory(data) or _is_page(data)


def _is_memory(data: Any) -> bool:
    return isinstance(data, Mapping) and "memory" in data and not {"role", "content"} <= data.keys()


def _is_page(data: Any) -> bool:
    pages = isinstance(data, Mapping) and ("results" in data or "memories" in data)
    return pages and _CONVERSATIONS.isdisjoint(data)


def is_talk(data: Any) -> bool:
    """Whether something is a message or a conversation."""
    if not isinstance(data, Mapping) or is_export(data):
        return False
    return {"role", "content"} <= data.keys() or not _CONVERSATIONS.isdisjoint(data)


def read_export(documents: Iterator[tuple[Any, Place]], place: Place) -> Export:
    """The memories of a file.

    Raises:
        ImportFileError: a page holds no list, or a conversation stands among the memories.
    """
    export = Export(place)
    for data, spot in documents:
        items = enumerate(data) if isinstance(data, list) else ((None, data),)
        for number, item in items:
            here = spot if number is None else spot / f"[{number}]"
            if is_talk(item):
                raise here.error("here stands a conversation among memories: import each in a file of its own")
            if _is_page(item):
                _read_page(item, here, export)
            else:
                export.entries.append((item, here))
    return export


def _read_page(page: Mapping[str, Any], place: Place, export: Export) -> None:
    name = "results" if "results" in page else "memories"
    listed = page[name]
    if not isinstance(listed, list):
        raise (place / name).error(f"expected a list of memories, found {shown(listed)}")
    export.entries += [(item, place / f"{name}[{number}]") for number, item in enumerate(listed)]
    for kind in _UNMEANT:
        _ignore(export.ignored, kind, page.get(kind))
    if page.get("next"):
        export.warnings.append(
            f"{place.path}: this is a page with {len(listed)} memories, and more follow it: export all pages, and "
            "import each."
        )
    user = page.get("user")
    if isinstance(user, Mapping) and isinstance(user.get("user_id"), str) and isinstance(user.get("id"), str):
        export.users[user["id"]] = user["user_id"]
    categories = page.get("categories")
    for each in categories if isinstance(categories, list) else []:
        if isinstance(each, Mapping) and isinstance(each.get("id"), str) and isinstance(each.get("name"), str):
            export.categories[each["id"]] = each["name"]


def _ignore(counts: dict[str, int], kind: str, value: Any) -> None:
    if isinstance(value, list) and value:
        counts[kind] = counts.get(kind, 0) + len(value)


class _LeftOut(Exception):
    """An entry isn't taken over; its text says why."""


@dataclass(frozen=True)
class Whose:
    """To whom the entries of a file go.

    Args:
        user_id: who takes them: what the file says is theirs, and what names nobody; None gives each to whom it names.
        from_user: their name in the file, where it is another there.
        space: where they go.
        now: what expired by then is left out.
    """

    user_id: str | None
    from_user: str | None
    space: str
    now: dt.datetime

    def owner(self, named: str | None) -> str:
        """Whose an entry becomes that names somebody, or nobody."""
        wanted = self.user_id if self.from_user is None else self.from_user
        if named is None and self.user_id is None:
            raise _LeftOut("it names no user: say whose it is with user_id=…, or --user")
        if named is None or (wanted is not None and named == wanted):
            return read_user(self.user_id if self.user_id is not None else named)
        if wanted is None:
            return read_user(named)
        raise _LeftOut(f"it belongs to {named!r}, not to {wanted!r}")


def read_memories(export: Export, whose: Whose) -> Found:
    """The memories of a file that are somebody's; what is left out or changed, and why, stands in the report."""
    found = Found(report=ImportReport(ignored=dict(export.ignored), warnings=list(export.warnings)))
    for data, place in export.entries:
        report, spot = found.report, place.spot or str(place.path.name)
        report.read += 1
        try:
            found.memories.append(_read(data, place, export, whose, report))
        except _LeftOut as reason:
            named = data.get("id") if isinstance(data, Mapping) else None
            report.skipped.append(Remark(place=spot, id=None if named is None else str(named), reason=str(reason)))
    others = {each.reason for each in found.report.skipped if each.reason.startswith("it belongs to")}
    if others and not found.memories:
        raise export.place.error(
            f"nothing in it is for {(whose.from_user or whose.user_id)!r}, e.g. {min(others)}. Take the user's name in "
            "the file (from_user=…, --from-user), or take all (user_id=None, --all-users)"
        )
    return found


class _Fields:
    """The fields of an entry, taken out one by one; what is left is metadata."""

    def __init__(self, data: Mapping[str, Any], place: Place, report: ImportReport) -> None:
        self.left = {str(name): value for name, value in data.items() if value is not None}
        self.id = data.get("id") if isinstance(data.get("id"), str | int) else None
        self._place, self._report = place, report

    def note(self, reason: str) -> None:
        """Say what differs from the source."""
        own = None if self.id is None else str(self.id)
        self._report.noted.append(Remark(place=self._place.spot or self._place.path.name, id=own, reason=reason))

    def label(self, name: str) -> str | None:
        """A name or an id; something else stays metadata."""
        try:
            value = read_label(self.left, name, self._place)
        except ImportFileError:
            self.note(f"{name} is {shown(self.left[name])}, no text or number; kept in the metadata")
            return None
        self.left.pop(name, None)
        return value if value and value.strip() else None

    def time(self, name: str) -> dt.datetime | None:
        """A time; what isn't one stays metadata."""
        value = self.left.get(name)
        if value is None:
            return None
        try:
            time = read_time(value, self._place)
        except ImportFileError:
            self.note(f"{name} is {shown(value)}, no time; kept in the metadata")
            return None
        del self.left[name]
        return time

    def end(self) -> dt.datetime | None:
        """When it is no longer true: a day is included; what isn't a time never ends it, as in mem0."""
        held = self.left.get("metadata")
        inner = held.get("expiration_date") if isinstance(held, Mapping) else None
        value = self.left.setdefault("expiration_date", inner)
        if value is None:
            del self.left["expiration_date"]
            return None
        time = self.time("expiration_date")
        is_day = isinstance(value, str) and len(value.strip()) == _DAY
        try:
            return time + dt.timedelta(days=1) if time is not None and is_day else time
        except OverflowError:
            return None  # the last day that there is: it never ends


def _read(data: Any, place: Place, export: Export, whose: Whose, report: ImportReport) -> Foreign:
    if not isinstance(data, Mapping):
        raise _LeftOut(f"expected a memory with id and memory, found {shown(data)}")
    text_name = next((name for name in _TEXTS if data.get(name) is not None), None)
    text = data[text_name] if text_name else None
    if not isinstance(text, str) or not text.strip():
        raise _LeftOut("its memory is empty" if text in (None, "") or isinstance(text, str) else _no_text(text))
    fields = _Fields(data, place, report)
    if data.get("state", "active") != "active":
        raise _LeftOut(f"its state is {shown(data['state'])}")
    named = fields.label("user_id")
    if "user_id" in fields.left:
        raise _LeftOut(f"its user_id is {shown(data['user_id'])}, no text or number")
    owner = whose.owner(export.users.get(named, named) if named else None)
    ends = fields.end()
    if ends is not None and ends <= whose.now:
        raise _LeftOut(f"it expired: its expiration_date is {shown(data.get('expiration_date') or ends.isoformat())}")
    for name in _UNMEANT:
        _ignore(report.ignored, name, fields.left.get(name))
    for done in (str(text_name), *_UNMEANT, *_OF_A_SEARCH, "state"):
        fields.left.pop(done, None)
    created = fields.time("created_at")
    id = fields.label("id")
    if id is None:
        fields.note("it has no id: it is told by its text and its time")
    return Foreign(
        system="mem0",
        id=id or "",
        parts=(id,) if id else ("", text, created.isoformat() if created else ""),
        place=place.spot or place.path.name,
        user_id=owner,
        space=whose.space,
        text=text,
        thread_id=fields.label("run_id"),
        agent_id=fields.label("agent_id"),
        tags=_tags(fields, export),
        pinned=fields.left.get("immutable") is True,
        created_at=created,
        updated_at=fields.time("updated_at"),
        expires_at=ends,
        metadata=_metadata(fields),
    )


def _no_text(value: Any) -> str:
    return f"its memory is {shown(value)}, no text"


def _tags(fields: _Fields, export: Export) -> tuple[str, ...]:
    """The categories; those of a backup stand there by their ids. What is no name stays metadata."""
    ids = fields.left.pop("category_ids", None)
    named = [export.categories.get(str(each), str(each)) for each in ids] if isinstance(ids, list) else []
    listed = fields.left.get("categories")
    if isinstance(listed, list) and all(isinstance(each, str) for each in listed):
        named += fields.left.pop("categories")
    return tuple(dict.fromkeys(each for each in named if each.strip()))


def _metadata(fields: _Fields) -> dict[str, Any]:
    """The metadata's own names first; a field of the memory that has one of them stands below ``memory``."""
    held = fields.left.pop("metadata", None)
    if not isinstance(held, Mapping):
        return {**fields.left, **({} if held is None else {"metadata": held})}
    clashing = {name: value for name, value in fields.left.items() if name in held and held[name] != value}
    own = {name: value for name, value in fields.left.items() if name not in held}
    if clashing:
        own["memory" if "memory" not in held else "mem0"] = clashing
    return {**own, **held}
