"""What the user reports of somebody else's words: "my friend says: I live in Paris" is nothing that the user says."""

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
    for first, last in sorted(_spans(text)):
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
