"""What a file holds that a person broke by hand, as far as it can be told: so that it can be erased, and for nothing
else.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from langmem_plus.errors import LangMemPlusError
from langmem_plus.store.markdown.entry import RECORD_FIELDS, Entry
from langmem_plus.store.markdown.fields import read_fields
from langmem_plus.store.markdown.frontmatter import parse
from langmem_plus.store.markdown.misplaced import lost_front
from langmem_plus.store.markdown.namespace import OpenNamespace
from langmem_plus.store.markdown.sync import modified_at

_FENCE = "---"
_LARGEST = 16_000_000  # bytes; longer files aren't memories


def guess_entry(room: OpenNamespace, path: str) -> Entry | None:
    """What a broken file holds: its text, and those lines of its front matter that can be read each for itself; the
    name and the folder give the id and the role where these are broken. None where nothing can be told.
    """
    file = room.folder / path
    try:
        status = file.stat()
        content = file.read_bytes() if status.st_size <= _LARGEST else b""
    except OSError:
        return None
    top = content.decode("utf-8", "replace").replace("\r\n", "\n")
    start = lost_front(top)
    fields, body = _apart((top if start is None else f"{_FENCE}\n{top[start:]}").split("\n"))
    time, found = modified_at(status.st_mtime_ns), None
    kept = [] if any(line.strip() for line in body) else ['text: ""']
    for line in ("", *fields):
        text = "\n".join([_FENCE, *kept, *([line] if line else []), _FENCE, *body])
        try:
            found = parse(text, PurePosixPath(path), room.namespace, time)
        except (LangMemPlusError, ValueError):
            continue  # without this line
        kept += [line] if line else []
    return found


def _apart(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines that read like fields, and those of the text: behind the closing fence, or, where there is none, behind
    the last such line.
    """
    if not lines or lines[0].rstrip() != _FENCE:
        return [], list(lines)
    ends = [place for place, line in enumerate(lines) if place and line.rstrip() == _FENCE]
    named = [place for place, line in enumerate(lines) if line.partition(":")[0].strip() in (*RECORD_FIELDS, "stored")]
    end = ends[0] if ends else max(named, default=0)
    fields = [lines[place].strip() for place in named if place <= end and _is_field(lines[place].strip())]
    return fields, list(lines[end + 1 :])


def _is_field(line: str) -> bool:
    try:
        return bool(read_fields(line))
    except (LangMemPlusError, ValueError):
        return False
