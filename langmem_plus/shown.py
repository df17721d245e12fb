"""Values in error messages: named, but never so long that nobody finds the remedy behind them."""

from __future__ import annotations

LIMIT = 80


def shown(value: object, limit: int = LIMIT) -> str:
    """The value as Python writes it, cut to a bounded length; whatever the value, this fails never.

    >>> shown("a" * 200, 12)
    "'aaaaaaaaaa…"
    """
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 4 * limit:
        return f"a number of {value.bit_length()} bits"
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - an error about a value mustn't be lost because it can't be written
        text = f"<{type(value).__name__} that can't be shown: {type(error).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
