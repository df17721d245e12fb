"""Values that tell by themselves what they are: a reply that holds the phone's number, the address, the code that was
forgotten brings it back, whatever it says of it ("It's 415 555 0199.").

A long number or an e-mail address is told by itself. A short number, a day or a word stands in many texts by chance: it
is told where the reply, or what it replies to, names its thing.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from langmem_plus.remember.data_names import (
    ADDRESS,
    BEHIND,
    BIRTHDAY,
    CHINESE_OWNER,
    CODED,
    OWNERS,
    SECRET,
    TELLS,
    find_datum,
    names_it,
    tells_value,
)
from langmem_plus.remember.sentences import LONGEST_STATEMENT
from langmem_plus.remember.slots import canonical
from langmem_plus.text import tokens, words

_LONG = 7  # digits of a number that is told by itself, as in `data_names`
_FEWEST_WORDS = 3  # of an address that is told by itself
_APART, _ENDS = r"(?<![0-9A-Za-z_@.+-])", r"(?![0-9A-Za-z_@])"  # Chinese characters may stand beside
_LONG_NUMBER = re.compile(rf"{_APART}\+?\d(?:[ \t()./-]{{0,3}}\d){{6,}}{_ENDS}")
_EMAIL = re.compile(r"[A-Za-z0-9À-ɏ_.+-]+@[A-Za-z0-9À-ɏ_-]+(?:\.[A-Za-z0-9À-ɏ_-]+)+")
_SPELLED = re.compile(r"(?:[A-Z]{2}(?=\d))?[+(\d][\dA-Z\s()./-]*\d")  # a number in groups, an IBAN
_BETWEEN = r"[\s()./-]{0,3}"
_COUNTRY = rf"(?:(?:\+|00)\d{{1,3}}{_BETWEEN})?(?:\(?0\)?{_BETWEEN})?"
_ABROAD = re.compile(r"^(?:\+|00)")
_MIXED = re.compile(r"(?=\S*\d)(?=\S*[^\W\d_])\S{5,}")  # "sunflower99"
_LEAD = re.compile(r"^(?:(?:on|le|el|la|am|at) )+", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th|er)$")
_CHINESE = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True)
class Value:
    """The value that a statement tells of a thing.

    Args:
        found: finds it in another text, however it is spelled there.
        thing: what its thing is called; empty where nothing is named.
        alone: whether it is told by itself.
    """

    found: re.Pattern[str]
    thing: str = ""
    alone: bool = False

    def is_told(self, reply: str, asked: str) -> bool:
        """Whether a reply tells it; ``asked`` is what it replies to, empty where that isn't known."""
        return bool(self.found.search(reply)) and (self.alone or self._is_named(reply) or self._is_named(asked))

    def _is_named(self, text: str) -> bool:
        called = {word for word in words(CHINESE_OWNER.sub("", self.thing)) if not OWNERS.fullmatch(word)}
        if called and set(tokens(" ".join(called))) <= set(tokens(text)):
            return True
        datum = find_datum(self.thing)
        return datum is not None and names_it(text, datum)


@functools.lru_cache(maxsize=4096)
def find_values(statement: str) -> tuple[Value, ...]:
    """The values that a statement tells and that another text may tell, too.

    >>> [value.is_told("It's 415-555-0199.", "") for value in find_values("My phone number is +1 415 555 0199.")]
    [True]
    >>> (pin,) = find_values("My PIN is 4711.")
    >>> pin.is_told("It's 4711.", "What is my PIN?"), pin.is_told("It's 4711.", "What is the price?")
    (True, False)
    """
    said = statement[:LONGEST_STATEMENT]
    told = TELLS.fullmatch(canonical(said)[1])
    if told is not None:
        thing, value = told["thing"] or told["chinese"], told["value"] or told["told"]
        value = _LEAD.sub("", BEHIND.split(value.strip(), maxsplit=1)[0]).rstrip(".!?。！？ ")
        found = _of_thing(thing, value) if value and tells_value(thing, value) else None
        if found is not None:
            return (found,)
    numbers = [Value(_number(match[0]), alone=True) for match in _LONG_NUMBER.finditer(said)]
    return (*numbers, *(Value(_email(match[0]), alone=True) for match in _EMAIL.finditer(said)))


def _of_thing(thing: str, value: str) -> Value | None:
    """The value of a thing that is named; None where it is no number, address, code or secret."""
    if match := _EMAIL.search(value):
        return Value(_email(match[0]), thing, alone=True)
    if _SPELLED.fullmatch(value):
        return Value(_number(value), thing, alone=len(re.sub(r"\D", "", value)) >= _LONG)
    said, datum = words(value), find_datum(thing)
    kind = datum.kind if datum else ""
    if not said or not (CODED.search(value) or SECRET.search(thing)):
        return None
    if kind == BIRTHDAY:
        return Value(_day(said), thing)
    is_code = bool(_MIXED.fullmatch(value) and SECRET.search(thing))
    is_address = kind == ADDRESS and len(said) >= _FEWEST_WORDS and bool(CODED.search(value))
    is_whole = is_code or _CHINESE.search(value)
    spelled = re.escape(value) if is_whole else r"[^\w\n]{1,3}".join(map(re.escape, said))
    found = re.compile(rf"(?<![0-9A-Za-z_]){spelled}(?![0-9A-Za-z_])", re.IGNORECASE)
    return Value(found, thing, alone=is_code or is_address)


def _number(value: str) -> re.Pattern[str]:
    """Finds a number in whatever groups, a long one with the country's code or without, and never in a longer one."""
    plain = re.sub(r"[^\dA-Z]", "", value)
    if len(plain) < _LONG:
        return re.compile(rf"{_APART}(?<!\d[,:/]){_BETWEEN.join(plain)}{_ENDS}(?![.,:/-]\d)")
    national = [plain.lstrip("0")]
    if _ABROAD.match(value):
        national += [national[0][code:].lstrip("0") for code in (1, 2, 3)]
    roots = [root for root in national if len(root) >= _LONG] or [plain]
    spelled = "|".join(_BETWEEN.join(root) for root in dict.fromkeys(roots))
    return re.compile(rf"(?<!\d){_COUNTRY}(?:{spelled})(?!\d)")


def _email(value: str) -> re.Pattern[str]:
    return re.compile(rf"{_APART}{re.escape(value)}(?![0-9A-Za-z_-]|\.\w)", re.IGNORECASE)


def _day(said: Sequence[str]) -> re.Pattern[str]:
    """Finds a day by its words in whatever order, with its year or without."""
    parts = [_ORDINAL.sub("", word) for word in said if not _YEAR.fullmatch(word)] or list(said)
    ahead = (rf"(?=[^!?\n]*(?<!\w){re.escape(part)}(?:st|nd|rd|th|er)?(?!\w))" for part in parts)
    return re.compile(rf"(?:^|(?<=[!?\n])){''.join(ahead)}", re.IGNORECASE)
