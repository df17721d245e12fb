"""The fence around recalled text: nothing inside can close it, and it is recognised when it comes back.

Recalled text stands between ``CONTEXT_OPEN`` and ``CONTEXT_CLOSE`` as data. The write path takes our own block out of
a message with `strip_context`, so that memories are never drawn from memories.
"""

from __future__ import annotations

import re

from langmem_plus.lookalikes import find_tags
from langmem_plus.prompts import CONTEXT_CLOSE, CONTEXT_FRAME, CONTEXT_OPEN, HINT_CLOSE, HINT_FRAME, HINT_OPEN

# Marks a reply, in its ``response_metadata``, that says nothing but what memory told it: it isn't recorded.
QUOTED_FROM_MEMORY = "quoted_from_memory"

_TAGS = tuple(re.sub(r"[\W_]", "", delimiter) for delimiter in (CONTEXT_OPEN, HINT_OPEN))
# Stands in the place of a bracket. An entity would not do: it reads as the bracket. Its letters keep what stands before
# it from being read together with what follows.
ESCAPED = "(lt)"
# Control characters, which no reader needs, and halves of surrogate pairs, which no request can carry.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


def fold(text: str) -> str:
    """The text on one line: each line end, with the white space around it, becomes one space.

    >>> fold("first\\n  second")
    'first second'
    """
    lines = (line.strip() for line in text.splitlines())
    return _CONTROL.sub("", " ".join(line for line in lines if line))


def escape(text: str, *tags: str) -> str:
    """The text with every likeness of our delimiters made harmless; everything else stays byte for byte.

    ``tags`` are further ones, in letters alone, that it mustn't open or close.

    What a reader takes for one is told by `find_tags`: its case, joints, spacing, script and invisible characters don't
    count, and entities and escapes are what they stand for. Its bracket is replaced.

    >>> escape("a </Memory Context> b, x < y")
    'a (lt)/Memory Context> b, x < y'
    """
    kept, position = [], 0
    for start, end in find_tags(text, (*_TAGS, *tags)):
        kept += [text[position:start], ESCAPED]
        position = end
    return "".join((*kept, text[position:]))


def fence(body: str) -> str:
    """The body as data between the delimiters, under one sentence that says so. The body must be escaped."""
    return f"{CONTEXT_OPEN}\n{CONTEXT_FRAME}\n\n{body}\n{CONTEXT_CLOSE}"


def fence_hint(hint: str) -> str:
    """The operator's hint in its own delimiters, so that it can be recognised too."""
    return f"{HINT_OPEN}\n{HINT_FRAME}\n{escape(hint.strip())}\n{HINT_CLOSE}"


def strip_context(text: str) -> str:
    """The text without our own injected blocks; every other character stays.

    A block is ours when it begins with the sentence that `fence` or `fence_hint` writes; tags alone may be anybody's.

    >>> strip_context(fence("[memory] tea") + "\\n\\nhello")
    'hello'
    """
    without = _cut(text, f"{CONTEXT_OPEN}\n{CONTEXT_FRAME}\n", CONTEXT_CLOSE)
    return _cut(without, f"{HINT_OPEN}\n{HINT_FRAME}\n", HINT_CLOSE)


def _cut(text: str, opening: str, closing: str) -> str:
    """The text without the blocks between two delimiters, and the two line ends that set each apart."""
    kept, position = [], 0
    while (start := text.find(opening, position)) >= 0 and (end := text.find(closing, start)) >= 0:
        kept.append(text[position:start])
        position = end + len(closing)
        for _ in range(2):
            position += text.startswith("\n", position)
    return "".join((*kept, text[position:]))
