"""Words for keyword search: the same tokens on both sides, in any script.

Latin and other spaced scripts give stemmed words without stop words; runs of scripts that are written without spaces
(Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) give overlapping pairs of characters.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator

from snowballstemmer.english_stemmer import EnglishStemmer

# Han, kana, Hangul, Bopomofo and the South-East Asian scripts that put no space between words.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U0001b000-\U0001b2ff\U00020000-\U0003ffff"
)
_RUNS = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<word>[^\W_{_UNSPACED}]+(?:['’][^\W_{_UNSPACED}]+)*)")
_APOSTROPHES = re.compile("['’]")

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn d did didn do does doesn doing don down during each few for from further
    had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just ll m me more most mustn my myself no nor not now o of off on once only or other our ours ourselves out over own
    re s same shan she should shouldn so some such t than that the their theirs them themselves then there these they
    this those through to too under until up us ve very was wasn we were weren what when where which while who whom why
    will with won would wouldn y you your yours yourself yourselves""".split()
)

_stemmer = EnglishStemmer()


@functools.lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of one casefolded word (Snowball's English stemmer; words of other languages mostly pass unchanged)."""
    return str(_stemmer.stemWord(word))


def _runs(text: str) -> Iterator[tuple[bool, str]]:
    for match in _RUNS.finditer(unicodedata.normalize("NFKC", text).casefold()):
        yield match.lastgroup == "unspaced", match.group()


def words(text: str) -> list[str]:
    """The casefolded words, unstemmed and with stop words; unspaced runs as character pairs (a lone character as is).

    >>> words("Ann's tea, 北京大学")
    ['ann', 's', 'tea', '北京', '京大', '大学']
    """
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
    """The search tokens of a text: stems without stop words, and character pairs.

    >>> tokens("The running dogs of 東京")
    ['run', 'dog', '東京']
    """
    return [stem(word) for word in words(text) if word not in STOP_WORDS]
