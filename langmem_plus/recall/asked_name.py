"""Questions for the name of who asks: "What's my name?", "Wie heiße ich?". By words alone "My cat's name is Olive" is
the best answer, and "I'm Priya, nice to meet you" is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from langmem_plus.records import MemoryHit
from langmem_plus.small_talk import normalise
from langmem_plus.speakers import key_of, name_of

_LONGEST = 80  # characters
_ASKED = re.compile(
    r"(?:(?:so|and|hey|hi|ok|please|do you|can you|could you|still|even|tell me|remind me|know|remember|recall) )*"
    r"(?:what(?: is|'s| was) my (?:own |real |full |first |last |sur ?)?name(?: again)?|my name"
    r"|what (?:am i|i am|i'm) called|what my (?:full |first |last )?name is)"
    r"|(?:(?:sag mir|weisst du|kennst du|noch|nochmal|denn) )*"
    r"(?:wie (?:heisse ich|ich heisse|ist mein name)(?: nochmal)?"
    r"|(?:was ist )?mein(?:en)? (?:vor|nach)?namen?(?: noch)?)"
    r"|(?:(?:dis moi|tu sais|sais tu|et) )*"
    r"(?:comment (?:je m'appelle|est ce que je m'appelle|m'appelle je|m'appelé je)|(?:quel est )?mon (?:pré)?nom)"
    r"|(?:(?:dime|sabes|recuerdas|y) )*(?:cómo me llamo(?: yo)?|cuál es mi (?:nombre|apellido)|mi nombre)"
    r"|(?:你?(?:还?记得|知道|告诉我))?(?:我叫什么(?:名字)?|我的(?:名字|姓名)(?:是什么|叫什么)?)(?:吗|呢)?"
)
_NAME = r"(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b)[^\W\d_a-zß-ÿ][\w'’-]*(?=$|[\s.,;!?])"
_FULL = rf"{_NAME}(?:(?: (?:de|van|von|der|la|al))* {_NAME}){{0,3}}"
# A name, and then the end, or what has nothing to do with it: "I'm Irish and tired" tells none.
_ALONE = r"\s*(?:$|[.!;,]|(?:and|und|et|y) (?:I|my|ich|mein|je|j['’]|mon|ma|mi|yo|tengo|vivo)\b)"
_HELLO = r"(?:(?:hi|hello|hey|well|and|so|by the way|oh|hallo|bonjour|salut|hola)\W+)*"
_TOLD = re.compile(
    rf"(?:^|(?<=[.!?;,] ))(?:(?i:{_HELLO}(?:"
    r"my (?:full |first |last |sur|real |own )?name(?: is|['’]s)(?: now)?"
    r"|(?:everybody |everyone |people |friends |they |you can |please |just )?calls? me|(?:I am|I['’]m) called"
    r"|the user(?: is (?:named|called)|['’]s name is)"
    r"|ich hei(?:ß|ss)e|mein (?:vor|nach)?name ist|nenn mich"
    r"|je m['’]appelle|mon (?:pré)?nom est|appelle-moi"
    rf"|me llamo|mi nombre es|llámame)) {_NAME}"
    rf"|(?i:{_HELLO}(?:I['’]m|I am|this is|it['’]s|ich bin(?: der| die)?)) {_FULL}{_ALONE}"
    r"|(?:你好[，,!！]?)?(?:我叫(?!什么)|我的(?:名字|姓名)(?:是|叫)(?!什么)))"
)
# After "I'm", capitals that are no names.
_NO_NAME = re.compile(
    r"\b(?:I['’]m|I am|[Ii]ch bin) (?:(?:I|OK|A|An|The|In|On|At|From|Not|So|German|Deutsch\w*|[A-Z]{2,})\b"
    r"|[A-Z][\w'’-]*(?:ish|ese|ian|ean|ch|can|man|gan|ist|tarian|ic|im|ant|eek|iss|ite)\b)"
)
# What tells no name comes after what does, however well it compares.
BESIDE = 0.9


def asks_name(question: str) -> bool:
    """Whether a question asks for the name of who asks, and nothing else.

    >>> asks_name("So what's my name?"), asks_name("What's my cat's name?")
    (True, False)
    """
    flat = normalise(question).replace("-", " ")
    return len(question) <= _LONGEST and _ASKED.fullmatch(flat) is not None


def tells_name(text: str) -> bool:
    """Whether somebody tells their own name in a text.

    >>> tells_name("I'm Priya, nice to meet you."), tells_name("My cat's name is Olive."), tells_name("I'm Irish.")
    (True, False, False)
    """
    return _TOLD.search(text) is not None and not _NO_NAME.search(text)


def names_asked(question: str, hits: Sequence[MemoryHit], asker: str) -> npt.NDArray[np.bool_]:
    """Which hits tell the name that a question asks for: none where it doesn't ask for the name of who asks.

    Args:
        question: what was asked.
        hits: the candidates.
        asker: the name of who asks, "" where nobody is named: others' names are no answer.
    """
    if not asks_name(question):
        return np.zeros(len(hits), bool)
    return np.array([_is_of(hit, asker) and tells_name(hit.record.text) for hit in hits], bool)


def _is_of(hit: MemoryHit, asker: str) -> bool:
    name = name_of(hit.record)
    return hit.record.role in ("user", "memory") and (not asker or not name or key_of(name) == key_of(asker))
