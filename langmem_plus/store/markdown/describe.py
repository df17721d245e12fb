"""What the index keeps about an entry beside its JSON, pure: its texts, its words, its place in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import get_text_at_path

from langmem_plus.records import TURN_ROLES
from langmem_plus.store.markdown.entry import Entry
from langmem_plus.text import find_text, index_tokens, said_by

_OWN_FIELDS = ("text", "content")


@dataclass(frozen=True)
class Description:
    """What can be searched and filtered fast.

    Attributes:
        texts: what is embedded, one vector each; empty when the entry isn't ranked.
        words: the search tokens of the texts and tags, space-separated.
        place: sorts the turns of a thread by when they were said, then by their number; None outside of a thread.
        pending: a user's turn whose facts haven't been drawn out.
    """

    texts: tuple[str, ...]
    words: str
    role: str | None
    status: str | None
    thread_id: str | None
    place: str | None
    pending: bool


def describe(entry: Entry, fields: Sequence[str] | None) -> Description:
    """Describe an entry; ``fields`` are the paths of the store's index, None for its default (see `own_texts`)."""
    value, texts = entry.value, searched_texts(entry.value, entry.index, fields)
    role, status, thread_id = (_text(value.get(name)) for name in ("role", "status", "thread_id"))
    is_turn = role in TURN_ROLES and thread_id is not None and status == "active"
    tags = value.get("tags")
    tag_text = " ".join(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) and texts else ""
    return Description(
        texts=texts,
        words=" ".join(index_tokens("\n".join((*texts, tag_text)))),
        role=role,
        status=status,
        thread_id=thread_id,
        place=_place(value, entry.created_at) if is_turn else None,
        pending=role == "user" and status == "active" and value.get("extracted") is False,
    )


def searched_texts(
    value: dict[str, Any], index: list[str] | bool | None, fields: Sequence[str] | None
) -> tuple[str, ...]:
    """The texts of a value that are searched: at the put's own paths, else at the store's; none for False."""
    if index is False:
        return ()
    if isinstance(index, list):
        return texts_at(value, index)
    return own_texts(value) if fields is None else texts_at(value, fields)


def own_texts(value: dict[str, Any]) -> tuple[str, ...]:
    """The default: the fields ``text`` and ``content``, after the speaker's name, else the whole value; word for word
    what a recall compares and shows, so that vectors and token bits are those of these words.
    """
    nested = find_text({**value, "text": None}) if isinstance(value.get("content"), dict) else None
    fields = _OWN_FIELDS[:1] if nested else _OWN_FIELDS
    texts = texts_at(value, [name for name in fields if value.get(name)]) + ((nested,) if nested else ())
    if not texts:
        return texts_at(value, ["$"])
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return tuple(said_by(name, text) for text in texts)


def texts_at(value: dict[str, Any], paths: Sequence[str]) -> tuple[str, ...]:
    """The texts at LangGraph's paths, blank ones left out."""
    found = (text for path in paths for text in get_text_at_path(value, path))
    return tuple(text for text in found if text.strip())


def _place(value: dict[str, Any], created_at: str) -> str:
    said_at = _text(value.get("observed_at")) or _text(value.get("created_at")) or created_at
    metadata = value.get("metadata")
    numbers = [metadata.get(name) if isinstance(metadata, dict) else None for name in ("turn", "position")]
    turn, position = (number if isinstance(number, int) else 0 for number in numbers)
    return f"{said_at}|{turn:09d}|{position:06d}"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
