"""Whether a turn asserts a fact: the words of "I never smoke", "do I smoke?" and "my brother smokes" are there as well.

A fact is compared with the clauses that hold most of it. One of them must say it: not as a question, not denied, and
of whom the fact is about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from langmem_plus.remember.sentences import clauses, opens_question, sentences, strip_lead
from langmem_plus.remember.simhash import NEGATIONS
from langmem_plus.remember.slots import USER, canonical
from langmem_plus.text import tokens, words

_OWNERS = r"(?:my|our|mein\w{0,2}|unser\w{0,2}|mon|ma|mes|notre|nos|mis?|nuestr\w{1,2}|his|her|their)"
_PEOPLE = (
    r"wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|spouse|mother|mom|mum|father|dad|parents?|sister|brother|"
    r"siblings?|sons?|daughters?|kids?|child(?:ren)?|grand\w+|boss|manager|landlord|landlady|friends?|room-?mates?|"
    r"flat-?mates?|colleagues?|co-?workers?|neighbou?rs?|uncle|aunt|cousin|nephew|niece|teacher|client|"
    r"frau|mann|mutter|vater|eltern|schwester|bruder|sohn|tochter|kinder|freund\w*|chef\w*|kolleg\w*|nachbar\w*|"
    r"femme|mari|mère|père|parents|sœur|soeur|frère|fils|fille|enfants?|ami\w*|copain|copine|patron|collègue|voisin\w*|"
    r"esposa|esposo|mujer|marido|madre|padre|padres|hermanas?|hermanos?|hij[oa]s?|amig[oa]s?|jef[ea]|vecin[oa]"
)
_CHINESE_PEOPLE = (
    r"(?:妻子|老婆|太太|丈夫|老公|先生|女儿|儿子|孩子|爸爸|妈妈|父亲|母亲|哥哥|弟弟|姐姐|妹妹|女朋友|男朋友|老板|"
    r"同事|朋友|邻居)"
)
# "my older sister …", "she …": somebody else is spoken of.
_OTHER = re.compile(
    rf"{_OWNERS} (?:[\w-]+ )??(?P<who>{_PEOPLE})\b|(?:he|she|they|er|sie|il|elle|ils|elles|él|ella|ellos|ellas)\b|"
    rf"我的?(?P<chinese>{_CHINESE_PEOPLE})|[他她]",
    re.IGNORECASE,
)
_OF_OTHER = re.compile(rf"(?:{_OWNERS} (?:[\w-]+ )??(?:{_PEOPLE})|我的?{_CHINESE_PEOPLE})(?:['’]s)?\b", re.IGNORECASE)
_SELF = re.compile(
    r"\b(?:I|we|me|us|both|ich|wir|mir|mich|uns|je|nous|moi|yo|nosotros|conmigo)\b|\bj['’]|我们|"
    rf"我(?!的|{_CHINESE_PEOPLE})",
    re.IGNORECASE,
)
# "do I …?", "where is my …?": what follows is what the user doesn't know.
_ASKS_OWN = re.compile(
    r"(?:(?:what|where|when|who|how|which|why)\b.{0,20}?)?\b(?:do|did|am|was|were|have|had|will|shall|should|can|could|"
    r"would|may|might|must|is|are|does|has)(?:n['’]t)? (?:I|we|my|our)\b|"
    r"我[^，,。]*[吗呢么]\W*$|(?!kann|soll)\w+(?:e|n|bin|muss)? (?:ich|wir)\b|\w+-(?:je|nous)\b|est-ce (?:que|qu['’])",
    re.IGNORECASE,
)
_PRESUPPOSES = re.compile(rf"(?!^)\b(?:{_OWNERS}|I|I['’]m|we|ich|je|yo|me)\b|我", re.IGNORECASE)
_QUESTION = re.compile(r"[?？]\W*$")

_CANNOT = re.compile(r"\bca(?:n['’]t| not|n not)\b", re.IGNORECASE)
_NOT = re.compile(r"n['’]t\b", re.IGNORECASE)
# "I can't wait to move", "don't forget that I'm vegan": nothing is denied.
_IDIOMS = re.compile(
    r"\b(?:cannot|could not|can not) (?:wait|help|stress|say enough)\b|"
    r"\b(?:do not|never) (?:forget|worry|hesitate)\b|"
    r"\bwhy (?:do )?not\b|\bnot (?:only|just|to mention)\b|\bno (?:doubt|problem|worries|wonder|matter)\b|"
    r"\bdo not (?:mind|get me wrong)\b|^no[,.!]|"
    r"不(?:错|过|仅|但|只是|断|久|得不)|非常|特别|别[的人]|没(?:关系|问题|事)|无论",
    re.IGNORECASE,
)
_SCOPE_END = re.compile(
    r"[,;:，；、。]|\b(?:and|but|because|since|so|though|although|while|und|aber|sondern|weil|et|mais|car|parce|y|pero|"
    r"sino|porque)\b|但|而",
    re.IGNORECASE,
)
_CHINESE_DENIAL = re.compile(r"[不没未别无]")
_DENYING = NEGATIONS - {"can", "won", "don"}  # halves of "can't", "won't", "don't", which `_plain` writes out
_AMBIGUOUS = frozenset(("plus", "mai", "non"))  # "two cats plus a dog", "le 3 mai"
_FRENCH_DENIAL = re.compile(r"\bn(?:e\b|['’])|\bnon\b", re.IGNORECASE)
# What denies without a "not".
_DENYING_WORDS = re.compile(
    r"\b(?:dislik|avoid|hat(?:e|ing)|detest|loath|refus|lack|stop|quit|gave up|given? up|former|used to|unable|"
    r"intoleran|allerg|abstain|abstin|against|reject|declin|free|without|except|missing|unemploy|un\w{4}|vegan|vegetar|"
    r"sober|teetotal|single|no longer|away|cannot|can['’]t|vermeid|hass|ohne|verzicht|aufgehört|évit|détest|déteste|"
    r"sans|arrêt|evit|odi|detest|dej[aéóo]|alérg|intoler)\w*|讨厌|避免|戒|过敏|素食|停止|拒绝",
    re.IGNORECASE,
)


def asserts(source: str, fact: str, share: Callable[[str, str], float], speaker: str = "") -> bool:
    """Whether a source says a fact, going by the clauses that hold most of it.

    Args:
        source: what was said.
        fact: what is said to have been said.
        share: how much of the first text's words the second one holds, in [0, 1].
        speaker: the name of who said it, where there is one.
    """
    speaker = speaker.casefold()
    subject, rest = canonical(fact)
    about = _OF_OTHER.match(rest)
    own = subject in (USER, speaker) and about is None
    told = rest[about.end() :] if about else fact
    rated = [(share(told, piece), piece, asked) for piece, asked in _pieces(source)]
    best = max((rate for rate, _, _ in rated), default=0.0)
    if not best:
        return True
    return any(
        rate == best
        and not asked
        and not _denies_otherwise(piece, fact)
        and not (own and _is_of_another(piece, fact, speaker))
        and not (about and not _OTHER.search(piece) and not _shared(about[0], piece))
        for rate, piece, asked in rated
    )


def people_in(text: str) -> frozenset[str]:
    """Whom of the speaker's people a text names, by what they are to the speaker.

    >>> sorted(people_in("My wife's number is the same as mine; my boss calls there."))
    ['boss', 'wife']
    """
    found = (match["who"] or match["chinese"] for match in _OTHER.finditer(text))
    return frozenset(who.casefold() for who in found if who)


def _pieces(source: str) -> Iterator[tuple[str, bool]]:
    """The clauses, and whether each asks."""
    for sentence in sentences(source):
        parts = clauses(sentence)
        for part in parts:
            piece = strip_lead(part)
            marked = bool(_QUESTION.search(piece)) and len(parts) == 1
            asks = opens_question(piece) or marked or (_QUESTION.search(piece) and _ASKS_OWN.match(piece))
            yield part, bool(asks and (_ASKS_OWN.match(piece) or not _PRESUPPOSES.search(piece)))


def _shared(a: str, b: str) -> bool:
    return bool(set(tokens(a)) & set(tokens(b)))


def _is_of_another(piece: str, fact: str, speaker: str) -> bool:
    """Whether a clause speaks of somebody whom a fact about the user doesn't name."""
    subject, rest = canonical(piece)
    if _SELF.search(strip_lead(piece)):
        return False
    if subject not in (USER, speaker) and not subject.startswith(f"{USER}'s"):
        return subject not in fact.casefold()
    other = _OTHER.match(strip_lead(piece)) or _OTHER.match(rest)
    if other is None:
        return False
    who = other["who"] or other["chinese"]
    return not (who and (who.casefold() in fact.casefold() or _shared(who, fact)))


def _denies_otherwise(piece: str, fact: str) -> bool:
    """Whether one of the two denies what the other says; "dislikes" and "doesn't like" deny alike."""
    piece, fact = (_IDIOMS.sub(" ", _plain(text)) for text in (piece, fact))
    said, told = _denied(piece), _denied(fact)
    if told and not said:
        return not _DENYING_WORDS.search(piece)
    if not said or told:
        return False
    opposites = [match[0].casefold() for match in _DENYING_WORDS.finditer(fact)]
    if any(word not in piece.casefold() and not _shared(word, piece) for word in opposites):
        return False
    wanted = set(tokens(fact))
    return any(wanted & set(tokens(part)) or not tokens(part) for part in said)


def _plain(text: str) -> str:
    """The text from its first word on, with "not" written out."""
    return _NOT.sub(" not", _CANNOT.sub("cannot", re.sub(r"^\W+", "", text)))


def _denied(text: str) -> list[str]:
    """What the text denies: from each word that denies to the end of its part of the sentence."""
    found = [text[match.end() :] for match in _CHINESE_DENIAL.finditer(text)]
    french = _FRENCH_DENIAL.search(text)
    for match in re.finditer(r"[^\W\d_]+", text):
        word = match[0].casefold()
        if word in _DENYING and (word not in _AMBIGUOUS or french):
            found.append(text[match.end() :])
    parts = [_SCOPE_END.split(part, maxsplit=1)[0] for part in found]
    return [part for part in parts if words(part)] or (["" for _ in found])
