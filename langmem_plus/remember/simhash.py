"""Near-identical texts: a 64-bit fingerprint that says "almost the same letters", and guards that say "the same facts".

Fingerprints alone aren't enough: long texts that differ in one number or in a "not" differ by no more than two bits.
So two texts are near-duplicates only if what they name, count and deny is the same too.

Source: Charikar (2002), "Similarity Estimation Techniques from Rounding Algorithms".
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata

import numpy as np

from langmem_plus.text import STOP_WORDS, stem, words

BITS = 64
_GRAM = 3  # letters a feature

_DENYING = """
not no never none nothing nobody neither nor without cannot don doesn didn won wouldn can couldn shouldn isn aren wasn
weren hasn haven hadn ain mustn nicht kein keine keinen keinem keiner nie niemals nichts ohne ne pas jamais rien sans
aucun aucune plus nunca nada sin tampoco ningún ninguna non mai não нет не ни никогда
"""
_FILLING = """
actually anyway basically btw certainly definitely generally honestly just kinda literally maybe okay please pretty
quite really simply so sort truly very well yeah yes halt eben ja doch mal wirklich vraiment bien muy pues bueno
"""
LOCATING = frozenset(("to", "from", "before", "after", "above", "below", "over", "under", "up", "down"))
NEGATIONS = frozenset(_DENYING.split())
# Words that may come and go without changing what a sentence says.
_NEUTRAL = (STOP_WORDS | frozenset(_FILLING.split())) - NEGATIONS - LOCATING

_ADDRESS = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,99}@[\w-]+\.[\w.]+|https?://\S+|www\.\S+|(?<!\w)[@#]\w+|"
    r"(?<![\w./-])/?(?:[\w.-]{1,255}/)+[\w.-]*"
)
_NUMBER = re.compile(r"(?:(?<![\w.])[-−])?\d+(?:[.,:/-]\d+)*")
_SYMBOL = re.compile(r"[$€£¥₹%‰°±<>=≤≥≠+]")
_PUNCTUATION = ".,;:!?…。，、；：！？()[]{}\"'“”‘’„«»「」『』`*_-–—~"
_SIGN = re.compile(r"[^\w\s'’.,:;/–—-]|(?<=\w)[.,:;/](?=\w)|(?<=\w)_|_(?=\w)")
_WORD = re.compile(r"(?<!\w)[^\W\d_](?:[\w-]|['’](?=\w\w\w))*")
_THOUSANDS = re.compile(r"(?<=\d)[,'’\u202f](?=\d{3}(?!\d))")


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


def numbers(text: str) -> list[str]:
    """The numbers in their order, without separators of thousands.

    >>> numbers("from 1,000 to -5.5")
    ['1000', '-5.5']
    """
    return [found.replace("−", "-") for found in _NUMBER.findall(_THOUSANDS.sub("", text))]


def symbols(text: str) -> frozenset[str]:
    """The words that a sign other than a sentence's belongs to: "c#", "c++", "a!b", "$5".

    >>> sorted(symbols("Is it C# or a!b, Anne's?"))
    ['a!b', 'c#']
    """
    found = (word.strip(_PUNCTUATION) for word in unicodedata.normalize("NFKC", text).casefold().split())
    return frozenset(word for word in found if _SIGN.search(word) and re.search(r"\w", word))


def names(text: str) -> frozenset[str]:
    """The capitalised words that don't open a sentence."""
    inner = re.sub(r"(?:^|(?<=[.!?:;。！？\n]))\s{0,9}[\"'“”‘’(\[]*\w+", " ", text)
    return frozenset(word for word in _WORD.findall(inner) if word[0].isupper() and word != "I")


def negations(text: str) -> list[str]:
    """The words that deny, in their order."""
    return [word for word in words(text) if word in NEGATIONS]


@functools.lru_cache(maxsize=16_384)
def particulars(text: str) -> tuple[object, ...]:
    """What a text names, counts and denies: equal for two texts that can stand for each other."""
    content = tuple(stem(word) for word in words(text) if word not in _NEUTRAL)
    return (
        tuple(numbers(text)),
        tuple(_SYMBOL.findall(text)),
        symbols(text),
        tuple(address.rstrip(".,;:!?)").casefold() for address in _ADDRESS.findall(text)),
        tuple(negations(text)),
        names(text),
        content,
    )


def near_duplicate(a: str, b: str, limit: int) -> bool:
    """Whether the texts say the same in almost the same letters; signs alone (🎉) are the same only as they stand.

    Args:
        a: a text.
        b: another one.
        limit: bits in which the fingerprints may differ.
    """
    if particulars(a) != particulars(b) or distance(simhash(a), simhash(b)) > limit:
        return False
    return bool(normalise(a)) or a.strip() == b.strip()
