"""The fence around recalled text: nothing inside can close it, and it is recognised when it comes back.

Recalled text stands between ``CONTEXT_OPEN`` and ``CONTEXT_CLOSE`` as data. The write path takes our own block out of
a message with `strip_context`, so that memories are never drawn from memories.
"""

from __future__ import annotations

import re

from langmem_plus.prompts import CONTEXT_CLOSE, CONTEXT_FRAME, CONTEXT_OPEN, HINT_CLOSE, HINT_OPEN

# What may stand between two letters of a delimiter without changing how a reader takes it: white space, joints, and
# characters that aren't drawn.
_GAP = r"[\s_\-\u00ad\u034f\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff]*+"
_OPENING = "[<＜﹤]"


def _lookalikes(delimiter: str) -> str:
    return _GAP.join(re.escape(letter) for letter in re.sub(r"[\W_]", "", delimiter))


# Marks a reply, in its ``response_metadata``, that says nothing but what memory told it: it isn't recorded.
QUOTED_FROM_MEMORY = "quoted_from_memory"

_DELIMITER = re.compile(
    rf"{_OPENING}(?={_GAP}(?:[/／]{_GAP})?(?:{_lookalikes(CONTEXT_OPEN)}|{_lookalikes(HINT_OPEN)}))", re.IGNORECASE
)
# Control characters, which no reader needs, and halves of surrogate pairs, which no request can carry.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


def fold(text: str) -> str:
    """The text on one line: each line end, with the white space around it, becomes one space.

    >>> fold("first\\n  second")
    'first second'
    """
    lines = (line.strip() for line in text.splitlines())
    return _CONTROL.sub("", " ".join(line for line in lines if line))


def escape(text: str) -> str:
    """The text with every likeness of our delimiters made harmless: any case, spacing, joint or invisible character.

    >>> escape("a </Memory Context> b")
    'a &lt;/Memory Context> b'
    """
    return _DELIMITER.sub("&lt;", text)


def fence(body: str) -> str:
    """The body as data between the delimiters, under one sentence that says so. The body must be escaped."""
    return f"{CONTEXT_OPEN}\n{CONTEXT_FRAME}\n\n{body}\n{CONTEXT_CLOSE}"


def fence_hint(hint: str) -> str:
    """The operator's hint in its own delimiters, so that it can be recognised too."""
    return f"{HINT_OPEN}\n{escape(hint.strip())}\n{HINT_CLOSE}"


def strip_context(text: str) -> str:
    """The text without our own injected blocks; every other character stays.

    >>> strip_context(fence("[memory] tea") + "\\n\\nhello")
    'hello'
    """
    return _cut(_cut(text, CONTEXT_OPEN, CONTEXT_CLOSE), HINT_OPEN, HINT_CLOSE)


def _cut(text: str, opening: str, closing: str) -> str:
    """The text without the blocks between two delimiters, and the two line ends that set each apart."""
    kept, position = [], 0
    while (start := text.find(opening, position)) >= 0 and (end := text.find(closing, start)) >= 0:
        kept.append(text[position:start])
        position = end + len(closing)
        for _ in range(2):
            position += text.startswith("\n", position)
    return "".join((*kept, text[position:]))
