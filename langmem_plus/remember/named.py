"""Whom and what a short text names, without a model: people, places, organisations, products.

A name is a run of words with capitals. How sure it is depends on what stands before it ("called", "my sister"), on how
it is written ("PostgreSQL"), and on its language: in German every noun has a capital, so there it needs a sign of its
own. The first word of a sentence is a name only where another follows, or a verb that somebody does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from langmem_plus.remember.chinese import chinese_names, is_chinese, without_chinese
from langmem_plus.remember.function_words import (
    CALENDAR,
    POSSESSIVE,
    TITLES,
    Language,
    Word,
    apart,
    find_language,
    read_words,
)

MOST_READ = 2000  # characters of a text that are read: what it is about stands in its beginning
_MOST = 6
_GIVEN, _CAPITAL, _OPENING = 0.95, 0.85, 0.6

_LINKS = frozenset(("de", "del", "la", "van", "von", "der", "den", "di", "da", "du", "of"))
_NO_NAMES = frozenset(("i", "i'm", "i've", "i'll", "i'd", "ok", "tv", "pc", "ceo", "pdf", "faq", "usb"))
_CALLED = frozenset(("called", "named", "llama", "llamo", "appelle", "heisst", "heisse", "namens", "chez"))
_PLURAL = frozenset(("are", "were", "sind", "waren", "son", "eran", "sont", "étaient"))
_GERMAN_PLACES = frozenset(("in", "nach", "aus", "bei", "von", "mit"))
_GERMAN_ENDINGS = ("ung", "heit", "keit", "schaft", "tion", "tät", "ismus", "chen", "lein", "ment")
# What stands after such a word without an article, and is no name.
_NOUNS = """rente hause zukunft urlaub ordnung arbeit bezug kontakt form ruhe sicht wirklichkeit anfang ende beginn
    bett holz glas metall plastik leder milch zucker kaffee tee wasser freunden kindern familie freude angst liebe spass
    hilfe kopfschmerzen fieber regen schnee sonne gluten fleisch fisch käse"""
_GERMAN_NOUNS = frozenset(_NOUNS.split())


class Found(NamedTuple):
    """A name or a key phrase, and how sure it is, in [0, 1]."""

    text: str
    confidence: float


def once(found: Iterable[Found]) -> list[Found]:
    """Each of them once, as it was found first."""
    kept: dict[str, Found] = {}
    for each in found:
        kept.setdefault(each.text.casefold(), each)
    return list(kept.values())


class Named(NamedTuple):
    """A name: the places of its words, and how sure it is."""

    places: list[int]
    confidence: float


def find_names(text: str) -> list[Found]:
    """The names in a text, in their order, each once, six at most.

    >>> [name.text for name in find_names("My sister Clara moved to Porto.")]
    ['Clara', 'Porto']
    """
    text = text[:MOST_READ]
    if is_chinese(text):
        latin = [word for word in read_words(without_chinese(text)) if word.capital and word.folded not in _NO_NAMES]
        found = [*(Found(*name) for name in chinese_names(text)), *(Found(word.text, _CAPITAL) for word in latin)]
    else:
        words = read_words(text)
        runs = name_runs(words, find_language(words))
        found = [Found(_written(apart(text), words, name.places), name.confidence) for name in runs]
    return once(found)[:_MOST]


def _written(text: str, words: Sequence[Word], places: Sequence[int]) -> str:
    """A name as it stands in the text, without the title before it and the possessive after it."""
    first = next((place for place in places if words[place].folded not in TITLES - {"st"}), places[-1])
    name = " ".join(text[words[first].start : words[places[-1]].end].split())
    return name[:-2] if words[places[-1]].folded.endswith(POSSESSIVE) else name


def name_runs(words: Sequence[Word], language: Language | None) -> Iterator[Named]:
    """The names among words; none where everything is written in capitals."""
    if len(words) > 1 and all(word.text.isupper() for word in words):
        return
    run: list[int] = []
    sure = 0.0
    for place, word in enumerate(words):
        follows = bool(run) and not word.breaks and _stays_open(words, run)
        if follows and word.folded in _LINKS and _has_capital_after(words, place):
            run.append(place)
            continue
        own = _confidence(words, place, language, follows=follows)
        if run and not (follows and own):
            yield Named(run, sure)
            run, sure = [], 0.0
        if own:
            run.append(place)
            sure = max(sure, own)
    if run:
        yield Named(run, sure)


def _stays_open(words: Sequence[Word], run: Sequence[int]) -> bool:
    """Whether the next word may belong to the name: not after "Ann's", but after "St. Mary's"."""
    return not words[run[-1]].folded.endswith(POSSESSIVE) or words[run[0]].folded == "st"


def _has_capital_after(words: Sequence[Word], place: int) -> bool:
    following = words[place + 1 : place + 2]
    return bool(following) and following[0].capital and not following[0].breaks


def _confidence(words: Sequence[Word], place: int, language: Language | None, *, follows: bool) -> float:
    """How sure a word is (a part of) a name; 0 where it isn't."""
    word = words[place]
    if word.folded.removesuffix("s") in CALENDAR or word.folded in _NO_NAMES:
        return 0.0
    if word.shaped:
        return _GIVEN
    if not word.capital or (_is_known(word, language) and not (follows and word.folded not in TITLES)):
        return 0.0
    before = words[place - 1] if place and not word.breaks else None
    if word.folded in TITLES:
        return _GIVEN if _has_capital_after(words, place) else 0.0
    if before is not None and (before.folded in TITLES or _introduces(before, language)):
        return _GIVEN
    if language is not None and language.nouns_are_capitalised:
        return _in_german(words, place, language, before, follows=follows)
    return _first_of_sentence(words, place, language) if word.opens else _CAPITAL


def _is_known(word: Word, language: Language | None) -> bool:
    return language is not None and language.knows(word.folded) and word.folded not in TITLES


def _introduces(before: Word, language: Language | None) -> bool:
    return before.folded in _CALLED or (language is not None and before.folded in language.relations)


def _in_german(words: Sequence[Word], place: int, language: Language, before: Word | None, *, follows: bool) -> float:
    word = words[place]
    if follows:
        return _CAPITAL
    if word.folded in _GERMAN_NOUNS or word.folded.endswith(_GERMAN_ENDINGS):
        return 0.0
    if before is not None and before.folded in _GERMAN_PLACES:
        return _CAPITAL
    return _first_of_sentence(words, place, language) if word.opens else 0.0


def _first_of_sentence(words: Sequence[Word], place: int, language: Language | None) -> float:
    word = words[place]
    if word.folded.endswith(POSSESSIVE):
        return _OPENING
    following = words[place + 1] if place + 1 < len(words) and not words[place + 1].breaks else None
    if language is None or following is None or word.folded in language.relations:
        return 0.0
    if following.capital and not _is_known(following, language) and not language.nouns_are_capitalised:
        return _CAPITAL
    acts = following.folded in language.verbs or following.folded in language.copulas - _PLURAL
    return _OPENING if acts else 0.0
