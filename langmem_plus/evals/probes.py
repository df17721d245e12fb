"""Questions that should get no answer: nonsense, and what no diary tells; the same for everybody."""

from __future__ import annotations

import functools
import random
import re
import tomllib
from importlib.resources import files
from typing import Any

from langmem_plus.evals.metrics import SEED

NONSENSE, UNRELATED, REMOVED, OWN = "nonsense", "unrelated", "evidence removed", "the set's own"
SESSIONS = "sessions removed"
PROBES = (NONSENSE, UNRELATED, REMOVED, SESSIONS, OWN)


@functools.cache
def _words() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("data/unanswerable.toml").read_text(encoding="utf-8"))


def unrelated_questions() -> list[str]:
    """Questions of general knowledge."""
    return list(_words()["unrelated"])


def nonsense_questions(count: int, seed: int = SEED) -> list[str]:
    """Questions of words that don't exist.

    Args:
        count: how many; more of them begin with the same ones.
        seed: which.
    """
    draw = random.Random(f"{seed}:nonsense")
    found = []
    for _ in range(count):
        frame = draw.choice(_words()["frames"])
        found.append(re.sub(r"\{\}", lambda _: _word(draw), frame))
    return found


def _word(draw: random.Random) -> str:
    return "".join(draw.choice(_words()["syllables"]) for _ in range(draw.choice((2, 2, 3))))
