"""What a message says, in one way for all: what is stored, what is searched by, and what is still in the window."""

from __future__ import annotations

from langchain_core.messages import BaseMessage

from langmem_plus.fence import strip_context

_MEDIA = {"image": "image", "audio": "audio", "video": "video", "file": "file", "document": "file"}


def message_text(message: BaseMessage) -> str:
    """What a message says, word for word: its text without our own injected block, and a placeholder for each medium;
    thoughts and tool calls say nothing.

    >>> from langchain_core.messages import HumanMessage
    >>> message_text(HumanMessage([{"type": "text", "text": "Look:"}, {"type": "image", "url": "…"}]))
    'Look:\\n[image]'
    """
    return "\n".join(text for text, _ in _parts(message) if text)


def message_words(message: BaseMessage) -> str:
    """The words of a message, to search by: `message_text` without the placeholders and the white space around."""
    return "\n".join(text for text in (text.strip() for text, medium in _parts(message) if not medium) if text)


def _parts(message: BaseMessage) -> list[tuple[str, bool]]:
    """The texts of a message in order, and whether each only stands for a medium."""
    if isinstance(message.content, str):
        return [(strip_context(message.content), False)]
    found: list[tuple[str, bool]] = []
    for block in message.content:
        kind = "text" if isinstance(block, str) else str(block.get("type", ""))
        text = block if isinstance(block, str) else block.get("text")
        if kind == "text" and isinstance(text, str):
            found.append((strip_context(text), False))
        elif medium := next((name for part, name in _MEDIA.items() if part in kind), None):
            found.append((f"[{medium}]", True))
    return found
