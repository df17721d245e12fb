"""Questions that were asked before: nothing is nearer to a question than itself, and it answers nothing."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping, Sequence

from langmem_plus.recall.readings import asserts, read
from langmem_plus.recall.repeats import NOTHING, Place, left_out, place_of
from langmem_plus.records import TURN_ROLES, Choice, MemoryHit
from langmem_plus.small_talk import is_question, is_small_talk
from langmem_plus.speakers import name_of
from langmem_plus.text import SENTENCE, tokens, words

# From this cosine on a question is another one in other words.
PARAPHRASE = 0.75
_ONESELF = re.compile(r"\b(?:I|my|mine|ich|mein\w{0,2}|je|mon|ma|mes|yo|mis?)\b|\bj['’]|我(?!们)", re.IGNORECASE)
_FORMULA = re.compile(r"\best-ce qu(?:e\b|['’])", re.IGNORECASE)
# Shorter words say little of what is asked ("wo", "le"); verbs of the first and the third person differ in so many
# letters at their end.
_SAYS, _ENDING = 3, 2
# "My favourite show is Who Wants to Be a Millionaire?" says what it is, whatever mark stands at the end.
_SAYING = re.compile(
    r"(?<=\w)(?: ?(?P<mark>[:=])|\s(?:(?:is|are)(?: called)?|ist|sind|heißt|heißen|lautet|est|sont|s['’]appelle|es|son"
    r"|se llama)\b)\s",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"(\w+)\W*$")
_ASKING = re.compile(
    r"\b(?:what|which|who|whose|where|when|why|how|if|whether|do|does|did|is|are|am|can|could|will|would|should|have|has"
    r"|wer|was|wo|wie|wann|warum|ob|welche\w*|kennst|weißt|qui|quoi|où|quand|comment|pourquoi|(?:l[ae]s?)?quel\w*|si|qu"
    r"|qué|quién|dónde|cuándo|cómo|cuál)\b"
)


def only_asks(text: str) -> bool:
    """Whether every sentence of a text is a question or small talk beside one, so that it states nothing.

    >>> only_asks("Hi! Where do I live?"), only_asks("I moved. Where do I live?")
    (True, False)
    """
    asked = False
    for sentence in SENTENCE.findall(text):
        if is_question(sentence):
            if asserts(sentence):
                return False
            asked = True
        elif not is_small_talk(sentence):
            return False
    return asked


def without_questions(
    query: str, hits: Sequence[MemoryHit], near: Mapping[Place, float] = NOTHING, asker: str = ""
) -> tuple[list[MemoryHit], list[Choice]]:
    """The hits without the turns that only ask what the query asks, and why those were dropped.

    A question holds its own words, so search by words and vectors finds it before its answer. Dropped are turns that
    are nothing but questions (`only_asks`) and that hold every content word of the query, and at most as many others,
    or whose best sentence is as near to it as a paraphrase; another question may still tell something ("Do you like
    my new bike?"), and so does what names it ("my bike is a Brompton?"). Ann's "where do I live?" asks what "where does
    Ann live?" asks.

    Args:
        query: what was asked.
        hits: what was found.
        near: how near the best sentence of each is to the query, as cosines, where that is known.
        asker: the name of who asks, "" where nobody is named.
    """
    wanted = set(tokens(query))
    kept: list[MemoryHit] = []
    dropped: list[Choice] = []
    for hit in hits:
        asks = bool(wanted) and hit.record.role in TURN_ROLES and is_question(hit.record.text)
        if asks and _same(query, asker, hit, near.get(place_of(hit), 0.0)) and only_asks(hit.record.text):
            dropped.append(left_out(hit, "it only asks the same"))
        else:
            kept.append(hit)
    return kept, dropped


def _tells(text: str, query: str) -> bool:
    """Whether a text with a question mark says what something is, in a word that the question doesn't hold: "my band is
    Who's There?" It asks where a small letter begins a question word: "my band is what?"
    """
    found = _SAYING.search(text)
    if found is None:
        return False
    what, said = SENTENCE.findall(text[: found.start()])[-1].lower(), text[found.end() :]
    ends = _LAST_WORD.search(said)
    asks = _ASKING.search(what) or _ASKING.match(said.lstrip()) or (ends and _ASKING.fullmatch(ends[1]))
    if found["mark"]:  # "Quick one: any idea who my dentist is?"
        asks = asks or _ASKING.search(said) or _ASKING.match(said.lower().lstrip())
    return not asks and bool(tokens(what)) and not set(words(said)) <= set(words(query))


def _same(query: str, asker: str, hit: MemoryHit, near: float) -> bool:
    wanted, held = set(tokens(query)), read(hit.record.text).words.keys()
    if _tells(hit.record.text, query):
        return False
    if near >= PARAPHRASE or (wanted <= held and len(held) <= 2 * len(wanted)):
        return True
    text, speaker = hit.record.text, name_of(hit.record)
    if not (asker and read(query).own) and not (speaker and read(text).own):
        return False
    wanted, told = set(_by_name(query, asker)), set(_by_name(text, speaker))
    says = [word for word in wanted if len(word) >= _SAYS or not word.isascii()]
    if not set(says) - set(tokens(f"{asker} {speaker}")):  # a name alone asks nothing
        return False
    return len(told) <= 2 * len(wanted) and all(any(_alike(word, other) for other in told) for word in says)


@functools.lru_cache(maxsize=1024)
def _by_name(text: str, name: str) -> tuple[str, ...]:
    """The words of a text in which who speaks of oneself does so by name."""
    text = _FORMULA.sub(" ", text)
    if not name or not read(text).own:
        return tuple(read(text).words)
    told, count = _ONESELF.subn(lambda _: f" {name} ", text)
    return tuple(tokens(told if count else f"{told} {name}"))


def _alike(word: str, other: str) -> bool:
    """Whether two words differ in their endings at most: "wohne", "wohnt"; "vivo", "vive"."""
    stem = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
    return word == other or (stem >= _SAYS and max(len(word), len(other)) - stem <= _ENDING)
