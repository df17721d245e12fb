"""What is said of somebody by name: "Ann's gate code is 4711" tells what Ann said, "My gate code is 4711"."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator
from itertools import takewhile

from langmem_plus.remember.sentences import sentences
from langmem_plus.speakers import Voice, shown_name
from langmem_plus.text import stem, tokens

_FIRST_WORDS = "ich mein meine meinen meinem meiner je j mon ma mes yo mi mis me"
FIRST_PERSON = frozenset(_FIRST_WORDS.split())
_RUSSIAN = "я мой моя мое мои меня мне у нас мы"
_OWN = frozenset(map(stem, FIRST_PERSON)) | {"user", "i", "s", "m", "d", "a", *_RUSSIAN.split()}
_CHINESE_OWN = "我"
_SHORTEST_ROOT, _LONGEST_ENDING = 3, 2  # letters that forms of one word share, and don't
_LETTER = "[^\\W\\d_\u0e00-\u0eff\u1000-\u109f\u3040-\u9fff\uac00-\ud7ff]"  # of words that stand apart


def tells_of(text: str, said: Voice) -> bool:
    """Whether a text tells by name what somebody said: behind the name, in the same sentence, stand the words of the
    statement, and fewer others among them.

    >>> tells_of("I know that Ann's gate code is 4711.", Voice("My gate code is 4711.", "Ann"))
    True
    >>> tells_of("Ann and I saw Lyon, where my parents live.", Voice("I live in Lyon.", "Ann"))
    False
    """
    mention = _mention(said.name)
    if mention is None or not mention.search(text):
        return False
    wanted = {word for word in tokens(said.own) if word not in _OWN and not word.startswith(_CHINESE_OWN)}
    wanted -= set(tokens(said.name))
    return bool(wanted) and any(_holds(behind, wanted) for behind in _behind(text, mention))


@functools.lru_cache(maxsize=4096)
def _mention(name: str) -> re.Pattern[str] | None:
    """Finds somebody's name, as it was given or is shown, or the first part of it."""
    known = dict.fromkeys(filter(None, (name, shown_name(name), name.partition(" ")[0])))
    names = "|".join(map(re.escape, known))
    return re.compile(rf"(?<!{_LETTER})(?:{names})(['’]?s)?(?!{_LETTER})", re.IGNORECASE) if names else None


def _behind(text: str, mention: re.Pattern[str]) -> Iterator[str]:
    """What stands behind each mention of a name, to the end of the sentence; "Ann Roux" and "Ann #12ab" are others."""
    for sentence in sentences(text):
        for found in mention.finditer(sentence):
            rest = sentence[found.end() :].lstrip()
            if found[1] or not (rest[:1].isupper() or rest.startswith("#")):
                yield rest


def _holds(behind: str, wanted: Collection[str]) -> bool:
    """Whether the words of a text are those that are wanted, in whatever form, and fewer others: up to the last that is
    wanted, or, where that is one alone, to the end.
    """
    said = [word for word in tokens(behind) if word not in _OWN]
    places = [next((place for place, each in enumerate(said) if _is_form(word, each)), None) for word in wanted]
    found = [place for place in places if place is not None]
    if len(found) < len(wanted):
        return False
    near = said[: max(found) + 1] if len(wanted) > 1 else said
    return len({each for each in near if not any(_is_form(word, each) for word in wanted)}) < len(wanted)


def _is_form(one: str, other: str) -> bool:
    """Whether two words are one, but for its ending: "wohn" and "wohnt", "vivo" and "vive"."""
    if one == other or not (one + other).isalpha():
        return one == other
    root = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return root >= _SHORTEST_ROOT and max(len(one), len(other)) - root <= _LONGEST_ENDING
