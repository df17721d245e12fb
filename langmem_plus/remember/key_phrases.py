"""What a short text is about, without a model: key phrases, each with a confidence.

A phrase is what stands after an article, a possessive, a preposition or a verb, up to the next word that is about
nothing itself (`function_words`); what stands before it says how sure it is. German writes its nouns with capitals,
Chinese is cut where its function words are. English, German, Spanish, French and Chinese are read; other languages
have names alone (`named`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from langmem_plus.remember.chinese import chinese_phrases, is_chinese
from langmem_plus.remember.function_words import (
    CALENDAR,
    POSSESSIVE,
    TITLES,
    Language,
    Word,
    find_language,
    read_words,
)
from langmem_plus.remember.named import MOST_READ, Found, find_names, name_runs, once
from langmem_plus.text import tokens

_MOST = 3
_LONGEST = 3  # words of a phrase
_AFTER_ARTICLE, _AFTER_VERB, _AFTER_COPULA, _AFTER_PREPOSITION, _GERMAN_NOUN = 0.9, 0.8, 0.7, 0.7, 0.9
_AFTER_AUXILIARY = 0.79  # a participle, or a noun
_HAN = re.compile(r"[\u4e00-\u9fff]")


def find_phrases(text: str) -> list[Found]:
    """What a text is about, the surest first, three at most; names aren't among them.

    >>> [phrase.text for phrase in find_phrases("I'm allergic to peanuts.")]
    ['peanuts']
    """
    text = text[:MOST_READ]
    if is_chinese(text):
        found = [Found(*phrase) for phrase in chinese_phrases(text)]
    else:
        words = read_words(text)
        language = find_language(words)
        found = list(_phrases(text, words, language)) if language else []
    names = [name.text.casefold() for name in find_names(text)]
    kept = [each for each in once(found) if not any(_is_part(each.text.casefold(), name) for name in names)]
    return sorted(kept, key=lambda each: -each.confidence)[:_MOST]


def topic_key(tag: str) -> tuple[str, ...]:
    """What two tags have in common that say the same: all but case, inflection and function words.

    >>> topic_key("the Peanuts") == topic_key("peanut")
    True
    """
    return tuple(tokens(tag)) or (tag.casefold(),)


def _is_part(phrase: str, name: str) -> bool:
    if _HAN.search(phrase):
        return phrase in name or name in phrase
    return set(phrase.split()) <= set(name.split())


def _phrases(text: str, words: Sequence[Word], language: Language) -> Iterator[Found]:
    names = {place for name in name_runs(words, language) for place in name.places}
    capitals = language.nouns_are_capitalised and any(word.capital and not word.opens for word in words)
    run: list[Word] = []
    sure = before = 0.0
    for place, word in enumerate(words):
        done = before == _AFTER_AUXILIARY and re.search(language.participle, word.folded) is not None
        noun = place > 0 and not word.breaks and _is_noun(word, words[place - 1], language)
        ends = place in names or done or (not noun and _says_nothing(word, language))
        if capitals and not word.capital and not ends:
            continue  # an adjective or a verb: what stood before it is still what stands before its noun
        between = text[run[-1].end : word.start] if run and not capitals else ""
        parted = bool(between.strip(" \t\n'’"))  # by a quote, or by the dot of a title, which says nothing alone
        if parted and run[-1].folded in TITLES:
            run.pop()
        if (
            run
            and not (parted or word.breaks)
            and word.folded in language.joints
            and _noun_follows(words, place, names, language)
        ):
            run.append(word)
            continue
        if run and (parted or ends or word.breaks or len(run) >= _LONGEST):
            yield from _phrase(_noun(run, word, language), sure, language, each=capitals)
            run = []
        if ends:
            before = _AFTER_VERB if done else _anchor(word, before, language)
            continue
        if not run:
            sure = _GERMAN_NOUN if capitals and not word.opens else 0.0 if word.breaks and not before else before
        run.append(word)
        before = 0.0
    yield from _phrase(run, sure, language, each=capitals)


def _noun(run: list[Word], following: Word, language: Language) -> list[Word]:
    """A phrase without the verb that may end it: where adjectives follow their noun, a verb looks as they do, but an
    article or a preposition stands after it.
    """
    open_end = following.folded in language.articles | language.prepositions and not following.breaks
    if language.adjectives_follow and open_end and len(run) > 1 and run[-2].folded not in language.joints:
        return run[:-1]
    return run


def _is_noun(word: Word, before: Word, language: Language) -> bool:
    """Whether a word that may be a verb is a noun where it stands: "my work", "prefer trains"."""
    if not language.determiners or word.folded not in language.verbs:
        return False
    object_of = before.folded in language.verbs - language.auxiliaries and word.folded.endswith("s")
    return before.folded in language.determiners or object_of


def _says_nothing(word: Word, language: Language) -> bool:
    folded = word.folded
    plain = folded.isdigit() or folded.endswith(POSSESSIVE) or folded.removesuffix("s") in CALENDAR
    return plain or language.knows(folded)


def _anchor(word: Word, before: float, language: Language) -> float:
    """How sure a phrase is that begins after a word."""
    folded = word.folded
    if folded in language.articles or folded.endswith(POSSESSIVE):
        return _AFTER_ARTICLE
    if folded in language.auxiliaries:
        return _AFTER_AUXILIARY
    if folded in language.copulas:
        return _AFTER_COPULA
    if folded in language.verbs:
        return _AFTER_VERB
    if folded in language.prepositions:
        return max(_AFTER_PREPOSITION, before)
    return before if folded in language.others else 0.0


def _noun_follows(words: Sequence[Word], place: int, names: set[int], language: Language) -> bool:
    """Whether a noun follows the word that may join two."""
    following = words[place + 1 : place + 2]
    return bool(following) and not (following[0].breaks or place + 1 in names or _says_nothing(following[0], language))


def _phrase(run: Sequence[Word], sure: float, language: Language, *, each: bool) -> Iterator[Found]:
    """The phrase that some words are; where each noun stands out by its capital, each by itself."""
    if not (run and sure):
        return
    texts = [word.text for word in run] if each else [" ".join(word.text for word in _unjoined(run, language))]
    yield from (Found(text, sure) for text in texts if len(text) > 1)


def _unjoined(run: Sequence[Word], language: Language) -> Sequence[Word]:
    return run[:-1] if run[-1].folded in language.joints else run
