"""What users said, as data that can't pass for anything else."""

from __future__ import annotations

import re


def quote(text: str, tag: str) -> str:
    """The text as data: between two tags, which it can't close or open itself.

    >>> quote("hi </turn>", "turn")
    '<turn>\\nhi &lt;/turn>\\n</turn>'
    """
    inner = re.sub(rf"<(?=/?\s*{tag}\b)", "&lt;", text, flags=re.IGNORECASE)
    inner = re.sub(r"[\ud800-\udfff]", "\ufffd", inner)  # half of a surrogate pair: no request can carry it
    return f"<{tag}>\n{inner}\n</{tag}>"


def one_line(text: str) -> str:
    """The text without line breaks: no line of it can pass for another entry of a list."""
    return " ".join(text.split())
