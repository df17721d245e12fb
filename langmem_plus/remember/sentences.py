"""A user's words cut into clauses, each spelled as it was: without code, quoted lines and what we injected."""

from __future__ import annotations

import itertools
import re

from langmem_plus.fence import strip_context
from langmem_plus.remember.fronted import SINCE, is_adverb

MEDIA = re.compile(r"\[(?:image|audio|video|file)\]")
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|<(pre|script|style)>.*?(?:</\1>|\Z)", re.DOTALL)
_COLUMNS = re.compile(r"[^\S\n]{3,}")  # white space as in tables: what stands on either side is no sentence
LONGEST_SENTENCE = 2000  # characters; what is longer was pasted, not said
LONGEST_STATEMENT = 400  # characters; what is longer isn't one statement about one thing
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*•–]|\d{1,2}[.)]|#{1,6})[ \t]+", re.MULTILINE)
_LINE_END = re.compile(r"[ \t]*\n[ \t]*(?:\n|(?=[^a-zäöüßáéíóúñçàèâêîôûœ]))\s*")

_ABBREVIATED = "Mr Mrs Ms Dr St vs etc e.g i.e z.B ca bzw Jr Sr Prof approx yrs"
_ABBREVIATIONS = "".join(rf"(?<!\b{re.escape(word)}\.)" for word in _ABBREVIATED.split()) + r"(?<!\b[A-Z]\.)"
# "am 12. Dezember", "im 3. Stock": no sentence ends there.
_ORDINAL = (
    r"(?!(?<=\d\.)\s(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Stock|Klasse|"
    r"[a-zäöü]))"
)
_SENTENCE_END = re.compile(
    rf"(?:(?<=[!?…])|{_ABBREVIATIONS}(?<=\.))[\"'”’)\]]*{_ORDINAL}\s+|(?<=[。！？；])[”’」』）]*\s*"
)

# A clause of its own begins after a comma or a conjunction, with a subject of its own or as a question.
_SUBJECT = (
    r"(?:I|I['’](?:m|ve|d|ll)|we|we['’](?:re|ve|d|ll)|my|our|ich|wir|mein|meine|je|j['’]\w+|nous|mon|ma|mes|"
    r"yo|mi|mis)\b"
)
_JOINED = r"(?:and|but|so|or|then|plus|which is why|though|however|und|aber|et|mais|y|pero)"
_QUESTION = (
    r"(?:(?:can|could|would|will|do|did|does|have|are|should) (?:you|I|we|someone|anyone|it|this|that|there|they)\b|"
    r"(?:how|what|why|where|who|which|when)(?:['’]s)? (?:can|could|do|does|did|should|would|will|might|is|are|"
    r"was|were|"
    r"am|to|much|many|long|other|kind|type|steps|strategies|ways|some|else|exactly|key|the|about)\b|"
    r"(?:what|how|where|who)['’]s\b|is (?:it|this|that|there|he|she)\b|are (?:there|these|those|they)\b|what if\b|"
    r"any (?:tips|ideas?|advice|suggestions?|recommendations?|thoughts)\b|which\s+\w+\s+(?:should|would|is|are|do)\b|"
    r"right\?)"
)
_NOW = r"(?:(?:now|today|nowadays|these days|currently|jetzt|inzwischen|mittlerweile|maintenant|désormais|ahora),?\s+)?"
# "… und jetzt wohne ich in Köln", "… y ahora vivo en Sevilla"
_NOW_OWN = (
    r"(?:(?:jetzt|nun|inzwischen|mittlerweile)\s+\w+\s+(?:ich|wir)|"
    r"(?:ahora|actualmente)\s+(?:vivo|trabajo|estudio|soy|tengo|prefiero))\b"
)
# Languages in which a verb tells that "I" is meant: "Ich heiße Anne und wohne in Köln".
_OWN_VERB = r"(?:(?:und|y)\s+(?:wohne|lebe|arbeite|studiere|komme|vivo|trabajo|estudio|soy)\b)"
# What an English "and" joins to what one does for good, without its subject: "I live in Leeds and work as a nurse". A
# wish or a plan holds for both ("I want to live in Leeds and work as a nurse"), and isn't cut.
_OWN_DOING = r"and\s+(?:work\s+(?:as|at|for|in)|live\s+in|study)\b"
_DOES = re.compile(
    r"(?P<who>I|we)(?:['’](?:m|re)| am| are)? (?:(?:now|currently|still) )*"
    r"(?:live|living|work|working|study|studying|based) (?!(?:to|and|or)\b)\S[^,;]*$",
    re.IGNORECASE,
)
_LACKS_SUBJECT = re.compile(r"(?:work (?:as|at|for|in)|live in|study)\b", re.IGNORECASE)
# "… with my husband and our two kids": one more of the company, and no clause.
_COMPANY = re.compile(
    r"and\s+(?:my|our)\s+(?:[\w'’-]+\s+){0,2}?(?:kids?|child(?:ren)?|sons?|daughters?|baby|twins|dogs?|cats?|pets?|"
    r"parents?|mother|mom|mum|father|dad|sisters?|brothers?|wife|husband|partner|family|(?:room|flat|house)-?mates?)\b"
    r"(?=\W*(?:$|\b(?:in|and)\b))",
    re.IGNORECASE,
)
_NOW_JOINED = rf"(?:und|aber|y|pero)\s+{_NOW_OWN}"
_BOUNDARY = re.compile(
    rf"\s*(?:[,;:—]|\s[–-](?=\s))\s*(?=(?:{_JOINED}\s+)*(?:{_NOW}{_SUBJECT}|{_NOW_OWN}|{_QUESTION}|"
    rf"(?:since|because|considering|given|as)\s+(?:that\s+)?{_SUBJECT}|but\s))"
    rf"|\s+(?=(?:and|but|so)\s+(?:{_NOW}{_SUBJECT}|{_QUESTION}))|\s+(?={_OWN_VERB}|{_OWN_DOING}|{_NOW_JOINED})"
    r"|[，,]\s*(?=我|(?:现在|目前|如今)(?:我|住)|住在|来自|今年\d)",
    re.IGNORECASE,
)
_DOING_FIRST = re.compile(_OWN_DOING, re.IGNORECASE)
_VERB_FIRST = re.compile(_OWN_VERB, re.IGNORECASE)
_LACKS_I = re.compile(r"(?:wohne|lebe|arbeite|studiere|komme)\b(?! ich\b)", re.IGNORECASE)
_I_SAID = re.compile(r"\bich\b", re.IGNORECASE)
_SHORTEST_BEFORE = 3  # words: "ich lebe und arbeite in Köln" is one clause
_CONDITION = re.compile(
    r"(?:when|whenever|if|while|although|though|after|before|until|unless|once|wenn|obwohl|als|quand|lorsque|si|"
    r"cuando|"
    r"aunque)\b|如果|假如|要是|虽然|因为|当",
    re.IGNORECASE,
)
# "I'm a vegetarian" of "I'm a vegetarian but I eat fish": what follows limits it.
_LIMITED = re.compile(
    r"I(?:['’]m| am)\b.*\b(?:vegetarian|vegan|pescatarian|allergic|intolerant|diabetic|kosher|halal|sober|"
    r"free)\b[^,;]*$",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"[,;:\s–—-]*but (?:now )?I (?:(?:do|can|still|also|sometimes|will|occasionally|only|"
    r"don['’]t mind) )*(?:eat|eating|"
    r"drink|have|cook|make|allow|tolerate|take|use|like|love|enjoy)\b",
    re.IGNORECASE,
)
# "my sister" of "my sister and I"
_HALF_SUBJECT = re.compile(r"(?:(?:[Mm]y|[Oo]ur) [\w'’-]+(?: [A-Z][\w'’-]+)?|(?!(?:I|We)\b)[A-Z][\w'’-]+)")
# Verbs that "no" denies in Spanish
_DENIED = (
    "soy|como|tengo|vivo|trabajo|me|bebo|fumo|tomo|puedo|quiero|estoy|hablo|uso|le|nos|hay|es|soporto|tolero|"
    "llevo|conduzco|sé|voy|hemos|he|somos|tenemos|vivimos"
)
_LEAD = re.compile(
    rf"(?:(?:{_JOINED}|oh|ah|hey|hi|hello|ok|okay|well|yes|yeah|no(?! (?:{_DENIED})\b)|sure|great|"
    r"thanks|anyway|actually|honestly|basically|"
    r"oops|whoops|ups|sorry|wait|hang on|hold on|correction|my mistake|my bad|pardon|scratch that|I meant(?: to say)?|"
    r"I mean|rather|nein|moment|entschuldigung|ich meinte|perdón|pardon|quise decir|fyi|btw|"
    r"(?:also )?by the way|speaking of which|for context|for the record|as i said|to be honest|"
    rf"since(?! (?:{SINCE})\b)|because|"
    r"considering|given|that|übrigens|na ja|au fait|alors|por cierto|bueno)\b[\s,:;!.–—-]*|"
    r"(?:对了|不对|抱歉|顺便说一下|其实|你好|您好|嗨|大家好)[，,！!。]?|[\s,;:–—\"“'(-]+)",
    re.IGNORECASE,
)
_OPENS_QUESTION = re.compile(
    rf"{_QUESTION}|¿|(?:wie|was|warum|wer|wo|wann|kannst|könntest|soll|sollte|hast|bist|gibt es|comment|pourquoi|"
    rf"est-ce|"
    r"peux-tu|pouvez-vous|quelles?|quels?|cómo|qué|por qué|quién|dónde|cuándo|cuál|puedes|podrías)\b",
    re.IGNORECASE,
)
_CHINESE_QUESTION = re.compile(r"[吗呢么]\s*[?？。]?$|^(?:请问|怎么|为什么|什么|哪|谁|多少|能不能|可以帮)")
_QUESTION_MARK = re.compile(r"[?？]\W*$")


def own_words(text: str) -> str:
    """What the user wrote in sentences: no recalled block, code, quoted line or placeholder of a medium."""
    text = _COLUMNS.sub("\n", MEDIA.sub(" ", strip_context(text)))
    return _QUOTED_LINE.sub("\n", _CODE.sub("\n", text)).strip()


def sentences(text: str) -> list[str]:
    """The sentences of `own_words`, each a piece of the text; line ends and list items end a sentence too."""
    found: list[str] = []
    for line in _LINE_END.split(_BULLET.sub("", own_words(text))):
        found += [sentence.strip() for sentence in _SENTENCE_END.split(line)]
    return [sentence for sentence in found if len(sentence) <= LONGEST_SENTENCE and re.search(r"\w", sentence)]


def clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that can stand alone, each a piece of it; a subordinate clause stays with its main one.

    >>> clauses("I prefer tea, but my wife drinks coffee, so can you find both?")
    ['I prefer tea', 'but my wife drinks coffee', 'so can you find both?']
    """
    cuts = [0]
    for match in _BOUNDARY.finditer(sentence):
        before = sentence[cuts[-1] : match.start()]
        opener = strip_lead(before) if cuts[-1] else before
        waits = (
            _CONDITION.match(opener)
            or _HALF_SUBJECT.fullmatch(strip_lead(before))
            or is_adverb(opener.strip())
            or (_LIMITED.match(opener) and _LIMIT.match(sentence, match.start()))
            or (_DOING_FIRST.match(sentence, match.end()) and not _DOES.match(strip_lead(before)))
            or (_COMPANY.match(sentence, match.end()) and " with " in before)
            or (_VERB_FIRST.match(sentence, match.end()) and len(opener.split()) < _SHORTEST_BEFORE)
        )
        if not waits and match.start() > cuts[-1]:
            cuts.append(match.end())
    cuts.append(len(sentence))
    pieces = [sentence[start:end].strip(" \t,;:–—-") for start, end in itertools.pairwise(cuts)]
    return [piece for piece in pieces if re.search(r"\w", piece)]


def is_condition(clause: str) -> bool:
    """Whether the clause begins as a subordinate one that says when or whether the next one holds."""
    return bool(_CONDITION.match(clause))


def with_subject(clause: str, before: list[str]) -> str:
    """The clause with the subject that it shares with the ones before it, where its language needs one.

    >>> with_subject("arbeite bei Siemens", ["Ich wohne in Berlin"])
    'Ich arbeite bei Siemens'
    >>> with_subject("work as a nurse", ["I live in Leeds"])
    'I work as a nurse'
    """
    if before and _LACKS_SUBJECT.match(clause) and (does := _DOES.match(strip_lead(before[-1]))):
        return f"{does['who']} {clause}"
    return f"Ich {clause}" if _LACKS_I.match(clause) and any(_I_SAID.search(piece) for piece in before) else clause


def strip_lead(clause: str) -> str:
    """The clause without the words that only join it to what came before.

    >>> strip_lead("Oh, and by the way, my wife is Anne")
    'my wife is Anne'
    """
    while match := _LEAD.match(clause):
        if not match.end() or not clause[match.end() :].strip():
            break
        clause = clause[match.end() :]
    return clause


def opens_question(clause: str) -> bool:
    """Whether the clause (without its lead) begins or, in Chinese, ends as a question."""
    return bool(_OPENS_QUESTION.match(clause) or _CHINESE_QUESTION.search(clause))


def ends_question(clause: str) -> bool:
    """Whether the clause carries a question mark."""
    return bool(_QUESTION_MARK.search(clause))
