"""Numbers and dates that moved on: "three bikes" and then "now four", "on Tuesday" and then "moved to Friday".

Most statements with different numbers are different events, and both stay. Only a statement that itself says that
something changed, or how things stand now, replaces an older one about the same thing.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from langmem_plus.remember.sentences import LONGEST_STATEMENT
from langmem_plus.remember.simhash import names
from langmem_plus.remember.slots import canonical
from langmem_plus.text import tokens

_MONTHS = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_WHEN = re.compile(
    rf"\b{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTHS}(?:,? "
    rf"\d{{4}})?|"
    r"\b\d{1,2}/\d{1,2}(?:/\d{2,4})?|\b\d{4}-\d\d-\d\d|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b|"
    r"\b\d{1,2}(?::\d\d)? ?(?:[ap]\.?m\.?\b|o['’]clock)|\b(?:19|20)\d\d\b",
    re.IGNORECASE,
)
_VERSION = re.compile(r"\bv?\d+(?:\.\d+){2,}|(?<=[a-z] )v\d[\d.]*|\b[A-Z]\w+ \d+(?:\.\d+)+", re.IGNORECASE)
_WORDS = "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty hundred"
_NUMBER = re.compile(
    rf"(?P<sign>[$€£¥]\s?)?(?P<value>\d[\d,]*(?:\.\d+)?|\b(?:{'|'.join(_WORDS.split())})\b)(?P<unit>\s?%|"
    rf"\s?°?[CF]\b)?(?:[\s-]+(?P<noun>[^\W\d_]+))?",
    re.IGNORECASE,
)
_STANDS = re.compile(
    r"\b(?:now|currently|so far|in total|total of|these days|at the moment|no longer|anymore)\b", re.IGNORECASE
)
_CHANGED = re.compile(
    r"\b(?:increased|raised|extended|expanded|reduced|lowered|decreased|dropped|cut|adjusted|updated|changed|grew|"
    r"grown|"
    r"gone (?:up|down)|went (?:up|down)|fell|fallen|risen|rose|improved|reached)\b(?!.*\bfrom\b).*\b(?:to|"
    r"reached)\b|\breached\b",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"^I(?:['’]m| am|['’]ve| have)? (?:(?:now|currently|usually|normally|typically|generally|still|already) )*"
    r"(?:own|owns|have|has|got|spend|spends|spending|pay|pays|paying|earn|earns|earning|weigh|weighs|save|saves|"
    r"saving|owe|"
    r"owes|sleep|sleeps|commute|commutes)\b|^(?:my|our) [^,;]{2,60}? (?:is|are|costs?|lasts?|takes?) (?:(?:now|"
    r"about|around) )*[$€£\d]",
    re.IGNORECASE,
)
_MOVED = re.compile(
    r"\b(?:rescheduled|postponed|moved|pushed(?: back)?|brought forward|shifted|changed|delayed|adjusted|"
    r"extended)\b.{0,60}?"
    r"\b(?:to|until|till)\b",
    re.IGNORECASE,
)
_LASTS = re.compile(
    r"\b(?:['’]ve|have|has|it['’]s|been)\b.*\b(?:for|been)\b.*\b(?:days?|weeks?|months?|years?)\b", re.IGNORECASE
)
_ONCE = re.compile(
    r"\b(?:today|yesterday|tonight|this (?:morning|afternoon|evening|week|weekend|month|year)|last \w+|next \w+|ago)\b",
    re.I,
)
# Words of change and of standing say nothing about what changed.
_CUE_STEMS = frozenset(
    tokens(
        "now currently so far total increased raised extended reduced decreased dropped adjusted updated grew grown "
        "gone went "
        "reached changed about around nearly almost roughly new recent recently just actually already current have got "
        "rescheduled postponed moved pushed shifted delayed kept keep like really also at per need want plan try "
        "aim set go make"
    )
)
_ASIDE = re.compile(r",? (?:which|so|because|since|considering|where|who)\b.*$", re.IGNORECASE)
_UNNAMED = re.compile(r"\b(?:ones|them|these|those|it)\b", re.IGNORECASE)
_DIFFERENCE = re.compile(r"\d\S*(?: \w+)? (?:more|less|fewer|too|older|younger|taller|over|under)\b", re.IGNORECASE)
_OWNS = re.compile(r"\b(?:own|owns|have|has|got)\b", re.IGNORECASE)
_CIRCUMSTANCES = re.compile(
    r"\b(?:at|on|in|with|before|after|during|while|when|than|per|each|every|from) ((?:[^\W\d_]+ ?){1,3})", re.IGNORECASE
)
_SHARED = 2  # content words that two statements about one thing have in common, its unit among them


@dataclass(frozen=True)
class Quantity:
    """A number or a date of something.

    Args:
        subject: whose it is, as in `slots.Slot`.
        value: the number or date as it is written.
        unit: what is counted; ``when`` for dates.
        frame: stems of the other words, which say of what.
        names: the names in the statement, casefolded.
        changed: whether the statement tells that it changed.
        stands: whether it tells how things stand now.
        lasts: whether it holds until it changes: how long something has lasted, what one owns, pays or weighs.
        once: whether it belongs to one occasion, such as last week.
        circumstances: stems of what follows "at", "on", "in", "before" and the like: where, when, with whom.
    """

    subject: str
    value: str
    unit: str
    frame: frozenset[str]
    names: frozenset[str]
    changed: bool
    stands: bool
    lasts: bool
    once: bool
    circumstances: frozenset[str] = frozenset()

    def follows(self, older: Quantity) -> bool:
        """Whether this statement tells what became of the older one's number or date."""
        if (self.subject, self.unit) != (older.subject, older.unit) or self.value == older.value:
            return False
        if self.once or (older.once and not self.changed):
            return False
        if not (self.changed or self.stands or (self.lasts and older.lasts)):
            return False
        smaller, larger = sorted((self.frame, older.frame), key=len)
        shared = len(smaller & larger) + (self.unit != "when")
        if shared < _SHARED or not self._is_of(older, smaller, larger):
            return False
        return self.names <= older.names or older.names <= self.names

    def _is_of(self, older: Quantity, smaller: frozenset[str], larger: frozenset[str]) -> bool:
        """Whether both speak of one thing: a change may be told in other words; else all words are the same, or one
        statement says more of what both call by its name.
        """
        if self.changed:
            return len(smaller - larger) * 3 <= len(smaller)
        if self.circumstances != older.circumstances:
            return False
        return smaller == larger or (smaller <= larger and bool(self.names & older.names))


@functools.lru_cache(maxsize=16_384)
def find_quantity(text: str) -> Quantity | None:
    """The one number or date of a statement; None where there is none, or several."""
    if len(text) > LONGEST_STATEMENT:
        return None
    subject, rest = canonical(_ASIDE.sub("", text))
    undated = _VERSION.sub(" ", _WHEN.sub(" ", rest))
    dates = [match[0].casefold() for match in _WHEN.finditer(rest)]
    found = list(_NUMBER.finditer(undated))
    who = frozenset(name.casefold() for name in names(text) if not _WHEN.search(name) and not re.match(_MONTHS, name))
    if len(dates) == 1 and not found:
        frame = frozenset(tokens(undated)) - _CUE_STEMS
        moved = bool(_MOVED.search(rest))
        return Quantity(subject, dates[0], "when", frame, who, moved, stands=False, lasts=False, once=False)
    if len(found) != 1 or _UNNAMED.search(rest) or _DIFFERENCE.search(rest):
        return None
    number = found[0]
    unit = (number["sign"] or number["unit"] or number["noun"] or "").strip()
    unit_stems = tokens(unit)
    if not unit_stems and not re.fullmatch(r"[$€£¥%°]", unit):
        return None  # "at 9", "boat 7": a time or a name, nothing that is counted
    unit_stems = unit_stems or [unit]
    frame = frozenset(tokens(undated.replace(number["value"], " "))) - _CUE_STEMS - frozenset(unit_stems)
    if not frame and _OWNS.search(rest):
        frame = frozenset({"own"})
    changed, stands = bool(_CHANGED.search(rest)), bool(_STANDS.search(rest))
    once = bool(_ONCE.search(rest)) or (bool(dates) and not changed and not stands)
    return Quantity(
        subject,
        number["value"].casefold(),
        unit_stems[0],
        frame,
        who,
        changed,
        stands,
        lasts=bool(_LASTS.search(rest) or _STATE.match(rest)),
        once=once,
        circumstances=frozenset(tokens(" ".join(_CIRCUMSTANCES.findall(undated)))) - _CUE_STEMS,
    )
