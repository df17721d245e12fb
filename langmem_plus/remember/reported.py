"""Words that aren't the user's own: "my friend says: I live in Paris", a text to translate, a role that is played."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langmem_plus.remember.asked import ASKED

_SAYS = (
    r"(?:sa(?:ys?|id|ying)|t(?:old|ells)|wr(?:ote|ites|itten)|texted|texts|messaged|emailed|posted|replie[sd]|"
    r"answer(?:s|ed)|asks|asked|claims|claimed|shout(?:s|ed)|joke[sd]|states|stated|added|quoted|complain(?:s|ed)|"
    r"sag(?:t|te|en|ten)|gesagt|mein(?:t|te)|schr(?:ieb|eibt)|geschrieben|erzähl(?:t|te)|dit|écrit|raconte|répond|"
    r"dice|dijo|dicho|escribe|escribió|cuenta)"
)
_TASK = (
    r"(?:translat|rewrit|rephras|paraphras|proof-?read|correct(?!ion\b)|edit|fix|summari[sz]|shorten|simplif|analy[sz]|improv|"
    r"polish|pars|convert|format|writ|compos|draft|classif|continu|complet|transcrib|spell-?check|grammar-?check|explain|"
    r"review|critique|extract|reply to|respond to|answer|repeat|quote|read|übersetz|schreib|korrigier|verbesser|"
    r"fass|tradui|écri|corrig|résum|traduc|traduz|escrib|resum|翻译|改写|润色|总结|写)\w*"
)
_SAY = r"(?:say|express|phrase|put) (?=(?:\w+ ){0,2}(?:in (?-i:[A-Z])|as an? ))[^:：\n]{2,40}"  # "say in German: …"
# A task whose material follows: "Translate to German: …".
_TASKED = re.compile(
    rf"(?:^|(?<=[.!?] ))[ \t]*(?:(?:ok(?:ay)?|now|hi|hello|hey|so|and|then|please|bitte|kindly|"
    rf"(?:can|could|would|will) you(?: please)?|"
    rf"I(?:['’]d| would) like (?:you )?to|help me(?: to)?|I (?:want|need) (?:you )?to|请|帮我)[,!. ]*)*"
    rf"(?:{_TASK}|{_SAY}\b)[^:：\n\"“«`]{{0,120}}(?:[:：]|(?=[\"“«`„]))",
    re.IGNORECASE | re.MULTILINE,
)
# A text that is handed over: "Here is my essay: …", "Text: …", an e-mail with its head.
_TEXT = (
    r"(?:text|essay|article|e-?mail|message|document|story|passage|paragraph|letter|poem|lyrics|transcript|input|quote|"
    r"draft|chapter|bio(?:graphy)?|sentences?|excerpt|dialogue|script|review|post|example|sample|prompt|speech)"
)
_HANDED = re.compile(
    rf"^[ \t]*(?:(?:here(?:['’]s| is| are)|this is|below is|(?:see )?the following(?: is)?|"
    rf"(?:a |the |my |this )?)[ \t]*"
    rf"(?:[\w'’-]+ ){{0,3}}?{_TEXT}\b[^:：\n.]{{0,40}}[:：])",
    re.IGNORECASE | re.MULTILINE,
)
_HEAD = r"(?:From|To|Subject|Cc|Date|Sent|Von|An|Betreff):"
_MAIL = re.compile(
    rf"^[ \t]*(?:{_HEAD} .*\n[ \t]*{_HEAD} |"
    r"-{2,} ?(?:Original|Forwarded) message|On .{5,80} wrote:[ \t]*$|Dear [A-Z][\w. ]{1,30},[ \t]*$)",
    re.MULTILINE,
)
# From here on somebody else is "I", to the end of the turn.
_PLAYED = re.compile(
    r"(?:(?<![^\n])|(?<=[.!?:,] )|(?<=please )|(?<=you )|(?<=you to )|(?<=you are to )|(?<=you will )|(?<=now ))"
    r"(?:act (?:as|like)(?= (?:an?|my|the|if)\b)|"
    r"(?:play|take on|assume) the (?:role|part) of|simulate (?=an?\b|my\b|the\b)|imagine (?:que|qu['’])|"
    r"suppose(?:z)? (?:que|qu['’])|imag[ií]na(?:te)?,? que|sup[oó]n(?:te|gamos|ga)?,? que|finge,? que|finjamos que|"
    r"haz como (?:si|que)|nimm an|nehmen wir an|angenommen,|mal angenommen)(?=\W)|"
    r"(?<!\w)(?:假设|想象(?:一下)?|设想|假装|假如)|"
    r"\b(?:imaginons|supposons|fais comme si|supongamos|imaginemos) |"
    r"\b(?:role-?[- ]?play\w*|pretend\w*|make-believe|in character|imagine (?:that )?(?:I|we|you)(?:['’]\w+)?\b|"
    r"let['’]s (?:play|imagine|say|act)|suppose (?:that )?(?:I|we)\b|"
    r"(?:write|tell|invent|make up|continue) (?:me |us )?(?:an? |the |this |my )?(?:\w+ ){0,2}?(?:story|tale|poem|song|"
    r"joke|novel|fable|dialogue|monologue|scene|limerick|haiku|fan ?fiction)|"
    r"in (?:my|the|this|our|a) (?:\w+ )?(?:story|novel|game|dream|script|screenplay|poem|song|play|role)\b,? "
    r"(?=I|my|we)|"
    r"here(?:['’]s| is) a (?:\w+ )?(?:joke|riddle|story|poem)|rollenspiel|stell dir vor|tu so als|jeu de rôle|"
    r"fais semblant|juego de rol)\b|角色扮演|假装",
    re.IGNORECASE,
)
_KIDDING = re.compile(
    r"(?<!not )(?<!n['’]t )\b(?:just |only )?(?:kidding|joking)\b|\bjk\b|(?<!\S)/s$|\bsarcasm\b", re.IGNORECASE
)
# A sentence in quotation marks or in code, by somebody who says "I".
_QUOTED_SELF = re.compile(
    r"(?:^|(?<=[.!?:;,\n] )|(?<=\n))[\"“„«「『`](?=(?:I|I['’]\w+|my|we|our|ich|mein\w*|wir|je|j['’]\w+|yo|mi|我)\b)"
    r"[^\"“”„«»「」『』`\n]{3,500}[\"“”»」』`](?!,? ?(?:I|ich|we|as I)\b)",
    re.IGNORECASE | re.MULTILINE,
)
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_OPENING = '"“„«「『'
_CLOSING = {'"': '"', "“": "”", "„": "“”", "«": "»", "「": "」", "『": "』"}
_WHO = (
    r"(?:friend|colleague|co-?worker|neighbou?r|boss|manager|teacher|doctor|therapist|client|customer|wife|husband|"
    r"partner|girlfriend|boyfriend|mother|mom|mum|father|dad|sister|brother|son|daughter|cousin|aunt|uncle|roommate|"
    r"flatmate)"
)
_MESSAGE = r"(?:quote|message|e?-?mail|text|letter|review|note|comment|post|reply|answer|lyrics?|line)s?"
# What announces words; they follow a colon, or stand in quotation marks.
_ANNOUNCED = re.compile(
    rf"(?:\b{_SAYS}\b(?: [\w'’]+){{0,4}}?|(?:说|告诉我|写道|回答))\s?(?:[:：]|[,，]?\s?(?=[{_OPENING}]))|"
    rf"\b(?:my|our|a|the) {_WHO}(?: [A-Z][\w-]+)?\s?[:：]|\b{_MESSAGE} (?:from|of|by)(?: [\w'’]+){{1,4}}\s?[:：]",
    re.IGNORECASE,
)
_AFTERWARDS = re.compile(
    rf"(?P<words>[{_OPENING}][^\"“”„«»「」『』\n]{{3,500}}[\"“”»」』]),?\s?"
    rf"(?P<who>(?:[\w'’]+ ){{0,3}}?){_SAYS}\b(?: (?P<also>\w+))?",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"(?:(?:\b(?:I|we|ich|wir|je|nous|yo)|\bj['’]ai)(?:['’](?:ve|d|ll))?"
    r"(?:\s(?:have|had|would|do|did|always|already|just|once|often|also|then|usually|habe|immer|ai))*|我们?|"
    r"\b(?:let me|to|that|I['’]m))\s*$",
    re.IGNORECASE,
)
_LOOK_BACK = 60  # characters in which the speaker is named
_LONGEST_QUOTE = 2000  # characters


def without_reports(text: str) -> str:
    """The text without the words of others: those in quotation marks, or to the line's end after a colon.

    What the user asks to keep ("remember what Anne said: …") stays whole.

    >>> without_reports("I like tea. My friend says: I hate it.")
    'I like tea. \\n'
    """
    kept, start = [], 0
    for first, last in sorted([*_spans(text), *_materials(text)]):
        if first >= start:
            kept.append(text[start:first])
            start = last
    return "\n".join([*kept, text[start:]])


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for match in _ANNOUNCED.finditer(text):
        before = text[max(match.start() - _LOOK_BACK, 0) : match.start()]
        if not _OWN.search(before) and not _is_asked(text, match.start()):
            yield match.start(), _end(text, match.end())
    for match in _AFTERWARDS.finditer(text):
        own = _OWN.search(match["who"]) or (not match["who"] and match["also"] in ("I", "ich", "we", "wir"))
        if not own and not _is_asked(text, match.start()):
            yield match.span("words")


def _materials(text: str) -> Iterator[tuple[int, int]]:
    """What the user hands over or plays: a task's material, a pasted text, quoted sentences, and a role."""
    for match in (*_TASKED.finditer(text), *_HANDED.finditer(text)):
        if not _is_asked(text, match.end()):
            yield match.end(), _end_of_material(text, match.end())
    for match in _QUOTED_SELF.finditer(text):
        if not _is_asked(text, match.start()):
            yield match.span()
    if mail := _MAIL.search(text):
        yield mail.start(), len(text)
    if played := _PLAYED.search(text):
        start = max(text.rfind(mark, 0, played.start()) for mark in (".", "!", "?", "\n"))
        yield start + 1, len(text)


def _end_of_material(text: str, start: int) -> int:
    """Quoted material ends with its quotation mark; on the task's own line, with the paragraph; else with the turn."""
    line = text[start : (text.find("\n", start) + 1 or len(text) + 1) - 1]
    if not line.strip():
        return len(text)
    opening = start + len(line) - len(line.lstrip())
    if text[opening] in '"“„«「『':
        return _end(text, start)
    paragraph = _PARAGRAPH.search(text, start)
    return paragraph.start() if paragraph else len(text)


def without_jokes(sentences: list[str]) -> list[str]:
    """The sentences without those that are meant as a joke; "just kidding" alone means the one before."""
    kept: list[str] = []
    for sentence in sentences:
        joke = _KIDDING.search(sentence)
        if joke is None:
            kept.append(sentence)
        elif len(sentence) - len(joke[0]) < _LOOK_BACK // 4:
            kept = kept[:-1]
    return kept


def _end(text: str, start: int) -> int:
    """Where words that begin there end."""
    while start < len(text) and text[start] in " \t":
        start += 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    if start < len(text) and text[start] in _OPENING:
        closing = _CLOSING[text[start]]
        quote = re.compile(f"[{closing}]").search(text, start + 1, start + _LONGEST_QUOTE)
        return quote.end() if quote else line_end
    return line_end


def _is_asked(text: str, place: int) -> bool:
    line = text[max(text.rfind("\n", 0, place) + 1, place - _LOOK_BACK) : place]
    return bool(ASKED.match(re.split(r"[.!?]\s+", line)[-1].lstrip()))
