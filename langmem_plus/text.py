"""What a stored value says, in words, and words for keyword search: the same tokens on both sides, in any script.

Latin and other spaced scripts give stemmed words without stop words; runs of scripts that are written without spaces
(Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) give overlapping pairs of characters. What is searched also holds
the single characters of such runs, so that a question of one character (茶) finds them.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from snowballstemmer.english_stemmer import EnglishStemmer

# The South-East Asian scripts that put no space between words; one character of theirs is no word.
_SYLLABIC = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
# Those, Han, kana, Hangul and Bopomofo.
_UNSPACED = _SYLLABIC + (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30fa\u30fc-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U0001b000-\U0001b2ff\U00020000-\U0003ffff"
)
# Vowel signs of the Indic scripts: parts of words that Python's \w leaves out.
_SIGNS = "".join(char for char in map(chr, range(0x900, 0xE00)) if unicodedata.category(char) in ("Mn", "Mc"))
_WORD = rf"[^\W_{_UNSPACED}]+(?:[{_SIGNS}]+[^\W_{_UNSPACED}]*)*"
_RUNS = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<word>{_WORD}(?:['’]{_WORD})*)")
_SINGLE = re.compile(rf"[^{_SYLLABIC}]")
_PLAIN_WORD = re.compile("[0-9a-z]+")
_APOSTROPHES = re.compile("['’]")
# What may be written or not: accents that no letter takes up, points of Hebrew and Arabic, invisible characters.
_OPTIONAL = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u00ad\u200b-\u200d\u2060\ufe00-\ufe0f]"
)

_STOP = """a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn d did didn do does doesn doing don down during each few for from further
    had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just ll m me more most mustn my myself no nor not now o of off on once only or other our ours ourselves out over own
    re s same shan she should shouldn so some such t than that the their theirs them themselves then there these they
    this those through to too under until up us ve very was wasn we were weren what when where which while who whom why
    will with won would wouldn y you your yours yourself yourselves"""
STOP_WORDS = frozenset(_STOP.split())

# A sentence with the marks that end it. A full stop ends one before a space alone: "3.5", "e.g.".
SENTENCE = re.compile(r".+?(?:[!?！？؟⁇。…]+|\.(?=\s|$)|\n|$)", re.DOTALL)

_stemmer = EnglishStemmer()


@functools.lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of one casefolded word (Snowball's English stemmer; words of other languages mostly pass unchanged)."""
    return str(_stemmer.stemWord(word))


def _runs(text: str) -> Iterator[tuple[bool, str]]:
    folded = text.casefold() if text.isascii() else _OPTIONAL.sub("", unicodedata.normalize("NFKC", text).casefold())
    for match in _RUNS.finditer(folded):
        yield match.lastgroup == "unspaced", match.group()


def words(text: str) -> list[str]:
    """The casefolded words, unstemmed and with stop words; unspaced runs as character pairs (a lone character as is).

    >>> words("Ann's tea, 北京大学")
    ['ann', 's', 'tea', '北京', '京大', '大学']
    """
    if text.isascii():
        return _PLAIN_WORD.findall(text.lower())  # the same in a tenth of the time
    found: list[str] = []
    for unspaced, run in _runs(text):
        if not unspaced:
            found.extend(_APOSTROPHES.split(run))
        elif len(run) == 1:
            found.append(run)
        else:
            found.extend(run[i : i + 2] for i in range(len(run) - 1))
    return found


def tokens(text: str) -> list[str]:
    """The search tokens of a text: stems without stop words and without accents on Latin letters, character pairs.

    >>> tokens("The running dogs of the café in 東京")
    ['run', 'dog', 'cafe', '東京']
    """
    return tokens_of(words(text))


def tokens_of(said: Iterable[str]) -> list[str]:
    """The search tokens of a text whose `words` are known."""
    return [stem(_without_accents(word)) for word in said if word not in STOP_WORDS]


def _without_accents(word: str) -> str:
    """The word as it is typed on a plain keyboard: accents are dropped where nothing but Latin letters remains."""
    if word.isascii():
        return word
    bare = _OPTIONAL.sub("", unicodedata.normalize("NFD", word))
    return bare if bare.isascii() else word


def index_tokens(text: str) -> list[str]:
    """The tokens under which a text is found: its search tokens, and each character of its unspaced runs once.

    >>> index_tokens("The dogs of 東京")
    ['dog', '東京', '東', '京']
    """
    found = tokens(text)
    if not text.isascii():
        longer = (run for unspaced, run in _runs(text) if unspaced and len(run) > 1)
        found.extend(dict.fromkeys(char for run in longer for char in _SINGLE.findall(run)))
    return found


def find_text(value: Mapping[str, Any]) -> str | None:
    """The text of a stored value: ``text``, ``content``, or langmem's ``{"kind", "content": {"content": …}}``."""
    for found in (value.get("text"), value.get("content")):
        if isinstance(found, str) and found.strip():
            return found
    content = value.get("content")
    if not isinstance(content, Mapping) or not content:
        return None
    inner = content.get("content")
    if isinstance(inner, str):
        return inner if inner.strip() else None
    kind = value.get("kind")
    body = json.dumps(content, ensure_ascii=False, sort_keys=True, default=str)
    return f"{kind}: {body}" if isinstance(kind, str) and kind else body


def said_by(name: object, text: str) -> str:
    """A text with its speaker's name before it, once, where there is a name: names are what people ask by.

    >>> said_by(" Anne ", "I moved"), said_by("Anne", "Anne: I moved"), said_by(None, "I moved")
    ('Anne: I moved', 'Anne: I moved', 'I moved')
    """
    named = name.strip() if isinstance(name, str) else ""
    return f"{named}: {text}" if named and not text.startswith(f"{named}:") else text


def fingerprint(text: str) -> str:
    """What tells one text from another, without holding it."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]
