"""Whether a server refused a request because of its length, in the words of the servers."""

from __future__ import annotations

import re

from langchain_core.exceptions import ContextOverflowError

# llama.cpp's server calls a text that is longer than its batch an error of its own.
_STATUS = (400, 413, 422, 500)
_WORDS = re.compile(
    r"\btoo (large|long|many tokens)\b|\bexceeds? the .{0,40}\b(context|tokens)\b|"
    r"\b(maximum|max|available) context (length|size|window)\b",
    re.IGNORECASE,
)


def http_status(error: BaseException) -> int | None:
    """The HTTP status that the clients of most providers carry in their errors."""
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def is_too_long(error: BaseException) -> bool:
    """Whether a server says that it got more text than it can read at a time: a shorter one would do."""
    told = http_status(error) in _STATUS and bool(_WORDS.search(str(error)))
    return told or isinstance(error, ContextOverflowError)
