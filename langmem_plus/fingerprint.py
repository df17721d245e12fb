"""A 64-bit fingerprint of a text's letters: texts of almost the same letters have almost the same one.

Source: Charikar (2002), "Similarity Estimation Techniques from Rounding Algorithms".
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata

import numpy as np

BITS = 64
_GRAM = 3  # letters a feature


def normalise(text: str) -> str:
    """The text's words alone: compatibility forms, case, punctuation and white space don't count.

    >>> normalise("  My wife is Anne. ")
    'my wife is anne'
    """
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


@functools.lru_cache(maxsize=65_536)
def _bits(feature: str) -> bytes:
    return hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=BITS // 8).digest()


def simhash(text: str) -> str:
    """The fingerprint of the normalised text, as 16 hexadecimal digits; a text without words has none but zeros."""
    letters = f" {normalise(text)} "
    if not letters.strip():
        return "0" * (BITS // 4)
    features = [letters[i : i + _GRAM] for i in range(max(len(letters) - _GRAM + 1, 1))]
    votes = np.unpackbits(np.frombuffer(b"".join(map(_bits, features)), dtype=np.uint8).reshape(-1, BITS // 8), axis=1)
    ones = votes.sum(axis=0, dtype=np.int64) * 2 > len(features)
    return bytes(np.packbits(ones)).hex()


def distance(a: str, b: str) -> int:
    """How many bits two fingerprints differ in, 0 to 64."""
    return (int(a, 16) ^ int(b, 16)).bit_count()


def digest(text: str) -> str:
    """What tells a text from any other one, be it by a comma, as 16 hexadecimal digits."""
    return _bits(text).hex()
