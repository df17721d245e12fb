"""What is missing degrades by one named step, and says so once."""

from __future__ import annotations

import functools
import logging

logger = logging.getLogger("langmem_plus.providers")


@functools.cache
def step_down(part: str, missing: str, instead: str, remedy: str) -> None:
    """Log one warning, once a process: which part steps down, why, to what, and how to get the rest."""
    logger.warning("%s: %s; %s instead. %s", part, missing, instead, remedy)
