"""What a text holds that a question may ask for, read once a text: its words and names, and whether it has a number, a
time, a question, tells of the past, or speaks in the first person. In English, German, French, Spanish and, where it is
a word, Chinese.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from langmem_plus.recall.announced import announces, assumes
from langmem_plus.recall.times import MONTHS
from langmem_plus.small_talk import is_question
from langmem_plus.text import SENTENCE, STOP_WORDS, tokens_of, words

_KEPT = 50_000
_MARKS = ("?", "？", "؟", "⁇")
# A sentence that ends so states what stands before it.
TAG = re.compile(
    r"[,，;–-]\s*(?:(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)n['’]?t \w+"
    r"|(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should) (?:it|he|she|they|we|you|I|there)"
    r"|right|correct|no|yes|eh|huh|you know|oder(?: nicht)?|nicht(?: wahr)?|gell|stimmt['’]?s"
    r"|n['’]est[- ]ce pas|non|hein|verdad|cierto|¿?(?:no|verdad)|对吧|是吧|不是吗|对不对|是不是)\s*(?:[?？]+\s*)?$",
    re.IGNORECASE,
)


class _Held:
    """Some words, and what else counts as one, to look for in texts: much faster than one pattern of all words.

    Args:
        words: separated by spaces.
        pattern: what else counts.
        abroad: what counts in texts that aren't ASCII alone.
    """

    def __init__(self, words: str, pattern: str, abroad: str) -> None:
        self._words = frozenset(words.split())
        self._pattern, self._abroad = re.compile(pattern, re.IGNORECASE), re.compile(abroad)

    def by(self, text: str, said: Collection[str]) -> bool:
        """Whether a text with these words holds one."""
        if not self._words.isdisjoint(said) or self._pattern.search(text):
            return True
        return not text.isascii() and bool(self._abroad.search(text))


_NUMBER = _Held(
    """one two three four five six seven eight nine ten eleven twelve dozen hundred thousand couple twice once half
    zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dutzend hundert tausend zweimal einmal paar halbe
    deux trois quatre cinq sept huit neuf dix onze douze douzaine cent mille moitié
    dos tres cuatro cinco seis siete ocho nueve diez once doce docena cien mil mitad""",
    r"\d",
    "[二两三四五六七八九十百千万]",  # 一 is an article as well, and a part of many words
)
_TIME = _Held(
    """yesterday today tonight tomorrow last next ago week weekend month year years days weeks months recently morning
    monday tuesday wednesday thursday friday saturday sunday
    gestern heute morgen letzte letzten letztes nächste nächsten woche wochen wochenende monat jahr jahre tagen kürzlich
    montag dienstag mittwoch donnerstag freitag samstag sonntag
    hier aujourd demain dernier dernière prochain prochaine semaine mois année ans jours récemment matin
    lundi mardi mercredi jeudi vendredi samedi dimanche
    ayer hoy mañana pasado pasada próximo próxima semana mes año años días recientemente
    lunes martes miércoles jueves viernes sábado domingo """
    + " ".join(MONTHS),
    r"\b(?:19|20)\d\d\b",
    r"[昨今明前后]天|[上下这本]个?(?:周|月|星期|礼拜)|周末|星期|礼拜|最近|[去今明前]年|[\d一二三四五六七八九十]个?(?:年|月|日|号|天|周|点)",
)
_FIRST_PERSON = _Held(
    """i me my mine we us our ours ich mich mir mein meine meinen meinem meiner wir uns unser unsere
    je moi mon ma mes nous notre nos yo mí mi mis nosotros nuestro nuestra me""",
    r"\bj['’]\w",
    "[我咱]",
)
# Who says so speaks of oneself. An object ("tell me where the hotel is") doesn't tell whom the rest is about; Spanish
# needs no pronoun, and "el mes" and "el trabajo" are things.
_SINGULAR = _Held(
    """i my mine myself ich mein meine meinen meinem meiner meines je mon ma mes yo mi mis mío mía míos mías
    vivo trabajo estudio soy estoy tengo nací hablo bebo quiero necesito debo puedo voy fui hice dije compré""",
    r"\bj['’]\w|\b(?:about me|über mich|(?:sur|de) moi|(?:sobre|de) mí|me llamo)\b",
    "我(?!们)",
)
_THINGS = re.compile(
    r"\b(?:el|este|ese|al|del|un|cada|próximo|último|su|tu)\s+(?:mes|trabajo|estudio)\b", re.IGNORECASE
)
_MAY_BE_THINGS = frozenset({"mes", "trabajo", "estudio"})
_RELAYED = re.compile("(?:告诉|跟|给|帮|提醒|对|和)我")
_PLURAL = _Held(
    """we us our ours ourselves wir uns unser unsere unseren unserem unserer nous notre nos nosotros nosotras nuestro
    nuestra nuestros nuestras""",
    "$^",
    "我们|咱",
)
# Participles stand at the end of a German clause; "gegen" and "Gericht" don't. What repeats is bounded, here and below:
# texts of a million characters are read, whatever is in them.
_PARTICIPLE = r"\w{0,12}(?:ge\w{1,20}|(?:ver|be|er|ent|zer|miss)\w{2,20})(?:t|en)|\w{2,20}iert"
# "compré", "viví", "llegó"; not "qué", "aquí", "café".
_PRETERITE = r"\b(?!(?:qu|s|t|m|as|ah|aqu|all|caf|beb|porqu)[éí]\b)\w{1,20}(?:[éóí]|aron|ieron)\b"
_OF_SPANISH = "yo el los las una con por para mi y ayer del al año días"
_SPANISH = frozenset(_OF_SPANISH.split())
_SPANISH_PAST = re.compile(_PRETERITE, re.IGNORECASE)
_PAST = _Held(
    """was were did had been gone done went got took made saw met bought found felt gave came began won lost left told
    said thought read wrote ate drank drove flew sold sent spent taught chose grew slept kept wore ran knew became
    waren hatte hatten wurde wurden ging gingen kam kamen wohnte arbeitete machte
    étais était étaient avais avait avaient
    fue fui fueron éramos eran hice hizo tuve tuvo estuve estuvo""",
    r"\w[^\We](?<!hundr)ed\b|\b(?:ich|er|sie|es|das|wo)\s+war\b|\bwar\s+(?:ich|er|sie|es|das|wir)\b"
    rf"|\b(?:habe?|hast|hat|haben|bin|bist|ist|sind)\s(?:\S+\s){{0,12}}(?:{_PARTICIPLE})(?=\s*(?:[.,;!?)]|$))",
    r"(?i)\b(?:ai|as|a|avons|avez|ont|suis|est|sommes|sont)\s+\w+ée?s?\b"
    r"|(?<![为除])了(?!解)|(?<![通超经])过(?![敏去程来年])",
)
_ASKS_PAST = re.compile(
    r"\b(?:did|were|had|hatten?|hattest|warst?|waren|wurden?|était|étaient|étais|avait|avais|fue|fui|fueron|eran|hizo"
    r"|hice|hiciste|tuvo|tuve)\b|(?<=\w)\s+was\b"
    r"|\b(?:has|have)\s(?:\S+\s){1,4}?(?:\w+ed|been|gone|done|seen|made|met|read|won|bought|taken|given|written|found)\b"
    rf"|\b(?:habe|hast|hat|haben|habt|bin|bist|ist|sind)\s(?:\S+\s){{0,12}}(?:{_PARTICIPLE})(?=\s*(?:[.,;!?)]|$))"
    r"|\b(?:ai|as|a|avons|avez|ont|est|es|suis)(?:-(?:je|tu|il|elle|on|nous|vous|ils|elles|t-\w+))?\s(?:\S+\s)?\w+é"
    rf"|¿[^¿?]{{0,200}}?(?:{_PRETERITE}|\b(?!(?:ex|ins|cons|res|as|tr|ch|b|g)[ai]ste\b)\w{{1,20}}[ai]ste\b"
    r"|\bh(?:e|as|a|emos|an)\s(?:\w{1,20}[ai]do|puesto|hecho|dicho|visto)\b)"
    r"|(?<![为除])了(?!解)|(?<![通超经])过(?![敏去程来年])",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"\W{0,9}(?:(?:and|but|so|or|then|und|aber|oder|et|mais|y|pero)\s{1,9})?(?:what|which|who|whom|whose|where|when|why"
    r"|how|do|does|did|is|are|am|was|were|can|could|will|would|shall"
    r"|should|may|might|must|have|has|had|don|doesn|didn|isn|aren|wasn|won|couldn|wouldn|haven|hasn|any"
    r"|was|welche\w*|wer|wen|wem|wo|wohin|woher|wann|warum|wieso|wie|hast|hat|habt|bist|ist|sind|seid|kannst|willst"
    r"|magst|möchtest|darf|soll|sollte|kennst|weißt|gibt|geht|qui|que|quoi|quel\w*|où|quand|comment|pourquoi|combien"
    r"|est|es|as|avez|peux|pouvez|qu)\b",
    re.IGNORECASE,
)
_CLAUSES = re.compile(r"[,;:–—]\s")
_ASKS_NUMBER = re.compile(
    r"\bhow\s+(?:many|much|long|old|often|far|tall|big|large)\b|\bwhat\s+(?:time|percentage|number)\b"
    r"|\bwie\s*(?:viele?|lange?|alt|oft|weit|groß|hoch)\b|\bcombien\b|\bquel\s+âge\b"
    r"|\bcu[aá]nt[oa]s?\b|多少|几(?![乎率])|多[久大长远高重]",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(
    r"\bwhen\b|\b(?:what|which)\s+(?:date|day|month|year)\b|\bhow\s+(?:long|recent)"
    r"|\bwann\b|\bwelche[mnrs]?\s+(?:tag|datum|monat|jahr)|\bwie\s+lange\b|\bquand\b|\bquel(?:le)?\s+(?:jour|date|mois|année)\b"
    r"|\bcu[aá]ndo\b|\bqué\s+(?:día|fecha|mes|año)\b|什么时候|何时|哪[天年月]|多久",
    re.IGNORECASE,
)
# Whoever asks for a person, a place or a title is answered by a name. "Which came first?" asks for an order.
_NAMED = (
    "city|cities|country|countries|states?|towns?|places?|location|restaurants?|schools?|college|university|company"
    "|companies|stores?|shops?|museum|books?|movies?|films?|songs?|albums?|games?|series|novels?|bands?|artists?"
    "|musicians?|authors?|podcasts?|brands?|teams?|pets?|shows?"
)
_ASKS_NAME = re.compile(
    rf"\b(?:where|who|whose|whom|names?|called|named)\b|\bwhich\b(?!.*\b(?:first|last|earlier|later)\b)"
    rf"|\bwhat\s(?:\w+\s)?(?:{_NAMED})\b"
    r"|\b(?:wo|wohin|woher|wer|wen|wem|wessen|welche[mnrs]?|hei(?:ß|ss)(?:t|en)|genannt)\b|\w*name[ns]?\b"
    r"|\boù\b|(?:^|\b(?:à|avec|chez|de|pour|par)\s)qui\b|\bquel(?:le)?s?\b|\bs['’]appelle|\bnoms?\b"
    r"|\b(?:a?dónde|quién(?:es)?|cuál(?:es)?|nombres?)\b|\bse\s+llama|谁|哪[里儿个家本部位些座]|叫什么|名字",
    re.IGNORECASE,
)
# A word with a capital within a sentence, and what stands in quotation marks. In German each noun counts; there all
# texts have some, and none is preferred.
_NAME = re.compile(r"(?<=[^\W\d_])[,;:]?\s{1,3}['(]?([^\W\d_a-zß-ÿ]\w+)|[\"“„«]\s?([^\W\d_a-zß-ÿ]\w*)|《(\w+)")
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
_NO_NAMES = frozenset({*MONTHS, *_WEEKDAYS.split(), *STOP_WORDS})
# What would be, or may be: nobody said so, it follows from what was said. "Would you …?" asks for a favour.
_ASKS_LIKELY = re.compile(
    r"\b(?:would|might|likely|probably)\b(?!\s+you\b)"
    r"|\b(?:(?:würde|könnte)n?\b(?!\s+(?:du|ihr|(?-i:Sie))\b)|wahrscheinlich\b|vermutlich\b)"
    r"|\b(?:serait|aurait|pourrait|voudrait|aimerait|probablement)\b"
    r"|\b(?:sería|tendría|podría|querría|gustaría|probablemente)\b",
    re.IGNORECASE,
)
# The assistant is spoken to about what it said itself.
_ASKS_ASSISTANT = re.compile(
    r"\b(?:you|your)\b.{0,40}\b(?:told|tell|said|say|suggest\w*|recommend\w*|mention\w*|advise\w*|gave|provided?|list\w*|explain\w*|wrote|answer\w*|repl\w+)\b"
    r"|\b(?:du|sie|dein\w*)\b.{0,40}\b(?:gesagt|empfohlen|vorgeschlagen|erwähnt|geraten|erklärt|geschrieben)\b"
    r"|\b(?:tu|vous|as-tu|avez-vous)\b.{0,40}\b(?:dit|recommandé|suggéré|proposé|conseillé|mentionné|expliqué)\b"
    r"|\b(?:me\s+)?(?:dijiste|recomendaste|sugeriste|mencionaste|aconsejaste|explicaste)\b"
    r"|你.{0,10}(?:说过|推荐|建议|提到|告诉|解释)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Reading:
    """A text's search tokens with their counts, its pairs of neighbouring tokens, and what it holds. What few questions
    ask for is looked for when one does, since that takes longer than all the rest.

    Attributes:
        tells: the share of it that isn't a question, in [0, 1].
    """

    text: str
    words: Mapping[str, int]
    length: int
    pairs: frozenset[tuple[str, str]]
    first_person: bool
    asks: bool
    tells: float

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """What is written like a name in it, small."""
        return _names_in(self.text)

    @functools.cached_property
    def has_number(self) -> bool:
        """Whether it holds a number."""
        return _NUMBER.by(self.text, words(self.text))

    @functools.cached_property
    def has_time(self) -> bool:
        """Whether it tells a time."""
        return _TIME.by(self.text, words(self.text))

    @functools.cached_property
    def own(self) -> bool:
        """Whether who says it speaks of oneself, and not of "us"."""
        return _of_oneself(self.text, words(self.text))

    @functools.cached_property
    def past(self) -> bool:
        """Whether it tells of the past."""
        said = words(self.text)
        return _PAST.by(self.text, said) or _past_in_spanish(self.text, said)


@functools.lru_cache(maxsize=_KEPT)
def read(text: str) -> Reading:
    """What a text holds."""
    said = words(text)
    found = tokens_of(said)
    asks = is_question(text)
    return Reading(
        text=text,
        words=Counter(found),
        length=len(found),
        pairs=frozenset(itertools.pairwise(found)),
        first_person=_FIRST_PERSON.by(text, said),
        asks=asks,
        tells=_told(text) if asks else 1.0,
    )


def _names_in(text: str) -> frozenset[str]:
    return frozenset(name.lower() for found in _NAME.findall(text) for name in found if name) - _NO_NAMES


def _past_in_spanish(text: str, said: Collection[str]) -> bool:
    """Accents at the end of a word are French, too, so a Spanish word must stand beside it."""
    return not text.isascii() and not _SPANISH.isdisjoint(said) and bool(_SPANISH_PAST.search(text))


def _told(text: str) -> float:
    """The share of a text's characters that stand in no question. Of "I live in Kiel, do you?" the end asks; what asks
    for agreement alone tells, and so does the mark within an address.
    """
    asked = sum(
        _asked(found[0]) for found in SENTENCE.finditer(text) if not text[found.end() : found.end() + 1].isalnum()
    )
    return 1 - asked / len(text)


def asserts(sentence: str) -> bool:
    """Whether a sentence with a question mark states something all the same: what asks for agreement alone ("…, isn't
    it?", "…, remember?"), and what asks whether one knows it ("did you know that …?").
    """
    if TAG.search(sentence) or announces(sentence):
        return True
    return assumes(sentence) and not _ASKING.match(sentence)


def _asked(sentence: str) -> int:
    """How many of a sentence's characters ask."""
    if not sentence.rstrip().endswith(_MARKS) or asserts(sentence):
        return 0
    if "¿" in sentence:
        return len(sentence) - sentence.rindex("¿")
    begins = [0, *(found.end() for found in _CLAUSES.finditer(sentence))]
    return len(sentence) - next((begin for begin in begins if _ASKING.match(sentence, begin)), begins[-1])


def _of_oneself(text: str, said: Collection[str]) -> bool:
    if _PLURAL.by(text, said):
        return False
    plain = text if _MAY_BE_THINGS.isdisjoint(said) else _THINGS.sub(" ", text)
    plain = _RELAYED.sub(" ", plain) if "我" in plain else plain
    return _SINGULAR.by(plain, said if plain is text else words(plain))


def asks_number(question: str) -> bool:
    """Whether a number would answer: "how many", "wie alt", "combien", "cuántos", "多少"."""
    return bool(_ASKS_NUMBER.search(question))


def asks_time(question: str) -> bool:
    """Whether a date would answer: "when", "wann", "quand", "cuándo", "什么时候"."""
    return bool(_ASKS_TIME.search(question))


def asks_name(question: str) -> bool:
    """Whether a name would answer: "who", "where", "what book", "welcher", "où", "quién", "哪里"; "which year" and "how
    many who …" ask for something else.
    """
    return bool(_ASKS_NAME.search(question)) and not asks_time(question) and not asks_number(question)


def asks_past(question: str) -> bool:
    """Whether it asks for what was, or has been: "did", "hat", "était", "fue", "了"."""
    return bool(_ASKS_PAST.search(question))


def asks_likely(question: str) -> bool:
    """Whether it asks for what would be or may be: "would Ann like …?", "wahrscheinlich", "serait", "podría"."""
    return bool(_ASKS_LIKELY.search(question))


def asks_assistant(question: str) -> bool:
    """Whether it asks for what the assistant said: "what did you recommend?"."""
    return bool(_ASKS_ASSISTANT.search(question))
