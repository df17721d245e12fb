"""Whether a fact stands on what was said, how much it matters, and what it is about."""

from __future__ import annotations

import datetime as dt
import re

from langmem_plus.prompts import FactKind
from langmem_plus.remember.assertion import asserts
from langmem_plus.remember.simhash import names, numbers
from langmem_plus.remember.statements import asks_not_to_keep, wanted_sentences
from langmem_plus.text import STOP_WORDS, tokens, words

LASTING: frozenset[FactKind] = frozenset({"preference", "instruction", "commitment", "goal"})
CONFIDENT = 0.7  # confidence in kind and tags from which they count
_MOST_TAGS = 6

# What a fact says in the third person about a first-person turn; it needs no support.
_NARRATION = """
user users name named call called say says said mention mentioned state stated ask asked want wants he she his her hers
him they their them person people nutzer nutzerin benutzer benutzerin heißt seine seiner seinem seinen ihre ihrer sein
utilisateur utilisatrice appelle son sa ses il elle usuario usuaria llama su sus él ella is has was are does
der die das den dem des ein eine einen einem einer le la les un une du el los las una de al del
"""
_NARRATED = frozenset(tokens(_NARRATION)) | frozenset(_NARRATION.split())
_OPENER = re.compile(
    r"(?:^|[.!?;:]\s+)([A-Z][\w-]*[^\Ws])(?:['’]s\b| (?:is|was|has|had|will|can|and|[a-z]+s|[a-z]+ed)\b)"
)
_CHINESE_NARRATION = re.compile(r"用户|使用者|ユーザー|利用者|사용자|他的|她的|名叫|叫做|名字")
_MONTHS = "january february march april may june july august september october november december"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_CALENDAR = frozenset(f"{_MONTHS} {_DAYS} early mid late week weekend day month year beginning end around on".split())
_CALENDAR_STEMS = frozenset(tokens(" ".join(_CALENDAR)))
_RELATIVE = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|(?:last|next|this|past|coming) \w+|"
    r"in (?:a|an|\w+) (?:days?|weeks?|months?|years?)|"
    r"gestern|heute|morgen|vor \w+ \w+|(?:letzte|nächste|diese)\w* \w+|"
    r"hier|aujourd['’]hui|demain|il y a|dernière?|prochaine?|"
    r"ayer|hoy|mañana|hace|pasad[oa]|próxim[oa])\b|昨天|今天|明天|上周|下周|上个月|下个月|去年|今年|明年|前",
    re.IGNORECASE,
)
_LAST_DAY = 31
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
)
_NUMBER_WORDS = {word: str(value) for value, word in enumerate(_UNITS.split())} | {
    "twice": "2", "once": "1", "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "hundred": "100",
}  # fmt: skip


def support(fact: str, source: str, said_at: dt.datetime | None = None, speaker: str | None = None) -> float:
    """The share of the fact's words, numbers and names that its source holds, in [0, 1].

    A word counts as held in another inflection too. A number or a name that the source doesn't hold makes it 0: nobody
    may be invented. So does a source that only asks it, denies it, says it of somebody else, or in words that the user
    asked not to keep. A fact without words of its own is fully supported.

    Args:
        fact: what is said to have been said.
        source: what was said.
        said_at: when; where the source has a relative time, the fact may have a date near it instead.
        speaker: by whom, empty for somebody without a name, in a turn; None for a text that is a statement itself.
    """
    if speaker is None and fact == source:
        return 1.0
    if asks_not_to_keep(source):
        source = " ".join(wanted_sentences(source))
    told = f"{speaker}: {source}" if speaker else source
    share = 1.0 if fact in told else _share(fact, told, said_at)
    return share if share and asserts(source, fact, _words_held, speaker or "") else 0.0


def _words_held(fact: str, source: str) -> float:
    """The share of the fact's words that a part of its source holds."""
    wanted = [token for token in tokens(_CHINESE_NARRATION.sub(" ", fact)) if token not in _NARRATED]
    said, said_tokens = set(words(source)), set(tokens(source))
    return sum(_held(token, said, said_tokens) for token in wanted) / len(wanted) if wanted else 0.0


def _share(fact: str, source: str, said_at: dt.datetime | None) -> float:
    dated = said_at if said_at is not None and _RELATIVE.search(source) else None
    source_words = set(words(source))
    source_tokens = set(tokens(source))
    source_numbers = {*numbers(source), *(_NUMBER_WORDS[word] for word in source_words if word in _NUMBER_WORDS)}
    if any(number not in source_numbers and not _may_be_date(number, dated) for number in numbers(fact)):
        return 0.0
    wanted = [token for token in tokens(_CHINESE_NARRATION.sub(" ", fact)) if token not in _NARRATED]
    people = {name.casefold() for name in (*names(fact), *_OPENER.findall(fact))} - _NARRATED - STOP_WORDS
    if dated:
        people -= _CALENDAR
        wanted = [token for token in wanted if token not in _CALENDAR_STEMS and not token.isdigit()]
    if any(not _held(name, source_words, source_tokens) for part in people for name in words(part)):
        return 0.0
    if not wanted:
        return 1.0
    return sum(_held(token, source_words, source_tokens) for token in wanted) / len(wanted)


def _may_be_date(number: str, said_at: dt.datetime | None) -> bool:
    """Whether a number can be part of a date near the time at which something was said."""
    if said_at is None:
        return False
    parts = [int(part) for part in re.findall(r"\d+", number)]
    return all(part <= _LAST_DAY or abs(part - said_at.year) <= 1 for part in parts)


def _held(word: str, source_words: set[str], source_tokens: set[str]) -> bool:
    if word in source_words or word in source_tokens or not set(tokens(word)).isdisjoint(source_tokens):
        return True
    length = max(4, len(word) - 3)  # another inflection: wohne and wohnt, préfère and préférer
    return len(word) > 4 and any(other[:length] == word[:length] for other in source_words if len(other) >= length)


def is_relative(text: str) -> bool:
    """Whether a text has a time that is counted from when it is said ("last week"), so that it says another thing each
    time.
    """
    return bool(_RELATIVE.search(text))


def importance(kind: FactKind, *, asked: bool, confidence: float = 0.0) -> float:
    """How much a fact matters, in [0, 1].

    +0.5 if the user asked to keep it, +0.3 for a lasting preference, commitment or goal, +0.2 for metadata that is
    certain, −0.1 for chit-chat.
    """
    value = 0.5 * asked + 0.3 * (kind in LASTING) + 0.2 * (confidence >= CONFIDENT) - 0.1 * (kind == "small_talk")
    return min(max(round(value, 3), 0.0), 1.0)


def entities(text: str) -> list[str]:
    """The names in a text, in their order: runs of capitalised words that don't open a sentence."""
    single = names(text)
    runs = re.findall(r"[^\W\d_][\w'’-]*(?:\s+[^\W\d_][\w'’-]*)*", text)
    found: list[str] = []
    for run in runs:
        name: list[str] = []
        for word in [*re.findall(r"[^\W\d_](?:[\w-]|['’](?=\w\w\w))*", run), ""]:
            if word in single:
                name.append(word)
            elif name:
                found.append(" ".join(name))
                name = []
    return list(dict.fromkeys(found))


def find_tags(kind: FactKind, text: str) -> list[str]:
    """Simple tags: the kind, where it says something, and the names."""
    return [*([kind] if kind not in ("fact", "small_talk") else []), *entities(text)][:_MOST_TAGS]
