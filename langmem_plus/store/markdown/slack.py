"""What Chroma's index of neighbours writes of memory that it hasn't filled: a new one has room for a hundred vectors.

It is written with whatever the process had in that memory before, words that were erased too.
"""

from __future__ import annotations

import logging
import struct
from pathlib import Path

logger = logging.getLogger(__name__)

# A version; where a level begins; the room, and how much of it is taken; the bytes of one vector with its neighbours.
_HEADER = struct.Struct("<iQQQQ")
_VERSION, _LENGTH_BYTES = 1, 4


def clear_slack(folder: Path) -> int:
    """Write zeros where the indexes in a collection's folder have room that isn't taken; how many bytes weren't.

    Nobody may change the indexes meanwhile.

    Raises:
        OSError: a file can't be written.
    """
    return sum(_clear(header) for header in folder.glob("*/header.bin"))


def _clear(header: Path) -> int:
    try:
        version, _, room, taken, size = _HEADER.unpack_from(header.read_bytes())
    except (FileNotFoundError, struct.error):
        return 0
    data = header.with_name("data_level0.bin")
    if version != _VERSION or taken > room:
        logger.debug("the index in %r is of a kind that isn't known", str(header.parent))
        return 0
    return _zero(data, taken * size) + _zero(header.with_name("length.bin"), taken * _LENGTH_BYTES)


def _zero(file: Path, start: int) -> int:
    """Write zeros from a place on."""
    try:
        if file.stat().st_size <= start:
            return 0
        with file.open("r+b") as opened:
            opened.seek(start)
            before = opened.read()
            if rest := before.strip(b"\0"):
                opened.seek(start)
                opened.write(bytes(len(before)))
            return len(rest)
    except FileNotFoundError:
        return 0
