"""What a slot's value must look like: a number with its unit, a date, a phone number, a person's name, a proper name.

A statement whose value isn't of its slot's kind ("my rent is due on Friday", "my job is stressful") fills no slot, and
two values of different shapes ("80 kg", "176 pounds") don't exclude each other: both may be true.
"""

from __future__ import annotations

import re

from langmem_plus.remember.favourites import favourite_shape, is_favourite
from langmem_plus.remember.names import NOT_NAMES, ORIGINS
from langmem_plus.remember.no_places import is_no_place

_MONTH = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez|janv|févr|avr|juin|juil|août|déc|ene|abr|ago|"
    r"dic)[a-zéû]*\.?"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th|er|\.)?"
_DATE = (
    rf"(?:on )?(?:the |el |le )?(?:{_DAY}(?: of| de)? {_MONTH}|{_MONTH} (?:the )?{_DAY})(?:,? (?:de )?\d{{4}})?|"
    r"\d{1,4}[./-]\d{1,2}(?:[./-](?:\d{1,4})?)?|(?:\d{4}年)?\d{1,2}月\d{1,2}[日号]?"
)
# "too high", "from here": a difference or a distance, not a measure.
_NO_UNIT = (
    r"too|more|less|over|under|off|behind|late|early|above|below|higher|lower|from|away|short|overdue|due|out|down|up|"
    r"ahead|away"
)
_MEASURE = (
    r"(?:(?:about|around|roughly|exactly|nearly|almost|only|approximately) )?(?:[$€£¥]\s?)?\d[\d.,'’]*\s?[%°]?[\"”]?"
    rf"(?:\s?(?!(?:{_NO_UNIT})\b)(?:[^\W\d_]+[²³.]?|[$€£¥/]|\d+[\"”]?)){{0,4}}"
)
_PHONE = r"\+?[\d(][\d\s()./-]*\d"
_NO_ADDRESS = r"(?!\d+ (?:minutes?|hours?|miles?|km|kilomet\w+|blocks?|met\w+|years?|days?)\b)"
_ADDRESS = rf"{_NO_ADDRESS}(?=.*\d).+|[A-ZÀ-Þ]\S*(?: [A-ZÀ-Þ]\S*)+|.*[路街号市区村].*"
_SIZE = r"(?:(?:EU|US|UK)\s?)?\d{1,3}(?:[.,]\d|½)?(?:\s(?:EU|US|UK|narrow|wide))?|X{0,3}[SML]|small|medium|large"
_CODE = r"(?=.*\d)[A-Z0-9][A-Z0-9 -]{1,11}"
_ORIGIN = r"[A-ZÀ-Þ][\w-]+(?: [A-ZÀ-Þ][\w-]+)?"
_ZONE = r"[A-Z]{2,5}|(?:UTC|GMT)\s?[+-]\s?\d{1,2}(?::\d\d)?|[A-Z]\w+/\w+|[A-Z]\w+(?: [A-Z]\w+)* [Tt]ime"
_STATUS = r"single|married|divorced|engaged|widowed|separated"
_LOGIN = r"@?[\w.-]*(?:[\d_@-]|[A-Z])[\w.@-]*"
_BLOOD = r"(?:AB|A|B|O|0)(?:\s?(?:[+-]|positive?|negative?|型))?"

# The words in an attribute's name that tell its kind, the longer before those that they hold.
_KINDS: tuple[tuple[str, str], ...] = (
    (r"e-?mail|correo|邮箱", r"\S+@\S+"),
    (r"phone|nummer|numéro|número|teléfono|电话|手机", _PHONE),
    (r"postal code|zip code|postcode|license plate", _CODE),
    (r"address|adresse|dirección|地址", _ADDRESS),
    (r"birthday|birth|geburtstag|anniversaire|cumpleaños|生日", _DATE),
    (r"\bage\b", r"\d{1,3}(?: years?(?: old)?)?"),
    (r"weight|height|salary|rate|rent|commute", _MEASURE),
    (r"size|größe|pointure|talla|鞋码", _SIZE),
    (r"blood|blutgruppe|血型", _BLOOD),
    (r"time ?zone", _ZONE),
    (r"nationality|language|tongue|religion|sign", _ORIGIN),
    (r"marital", _STATUS),
    (r"user ?name", _LOGIN),
    (r"^(?:first|middle|last|maiden) name", r"[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+){0,2}"),
)
_READ = tuple((re.compile(about, re.I), re.compile(kind)) for about, kind in _KINDS)
_ANY_CASE = re.compile(f"{_DATE}|{_STATUS}|{_SIZE}", re.IGNORECASE)

# "My name is Irish": where it comes from.
_IS_ADJECTIVE = re.compile(
    rf"(?:{'|'.join(ORIGINS)}|gaelic|celtic|latin|hebrew|persian|arabic|slavic|nordic|norse|biblical|"
    r"germanic|foreign|unusual|long|short|hard|rare|unique|common|secret|taken|misspelled|misspelt)",
    re.IGNORECASE,
)
# "I work as hard as I can", "as part of a team"
_NO_JOBS_WORDS = """
much hard usual always intended planned expected if well it they we i you part one fast best long little many quickly
team couple good described needed required normal before
"""
_NO_JOBS = frozenset(_NO_JOBS_WORDS.split())
_AGENT = re.compile(
    r"(?:er|or|ist|ian|eer|ant|man|woman|ect|yst)$|^(?:nurse|chef|cook|pilot|coach|judge|vet|clerk|guard|lead|head|"
    r"attorney|aide|midwife|president|student|intern|agent|executive|representative|associate|fellow)$",
    re.IGNORECASE,
)
_NO_AGENTS_WORDS = """
disaster killer bummer matter bother monster horror error terror barrier longer shorter harder easier better worse
other another closer further farther safer important pleasant unpleasant significant relevant distant constant
brilliant bigger smaller over never forever secure under
"""
_NO_AGENTS = frozenset(_NO_AGENTS_WORDS.split())
_ROLES_WORDS = """
director president manager engineer doctor professor nurse teacher lawyer head chief chair captain queen king boss mom
mum dad mother father god santa vegan senior junior pro online offline everything nothing someone nobody everyone vp
"""
_ROLES = frozenset(_ROLES_WORDS.split())
_STATES_WORDS = """
fear peace hope harmony sin denial pain poverty luxury isolation exile doubt chaos misery style comfort love heaven
hell paradise limbo hause person general home myself yourself free fun money god pleasure
"""
_STATES = frozenset(_STATES_WORDS.split())
_STREET = re.compile(
    r"(?:^|\s)(?:street|st\.?|road|rd\.?|avenue|ave\.?|lane|crescent|boulevard|blvd\.?|drive|\w*straße|\w*strasse)$|"
    r"^(?:rue|avenue|calle|avenida)\b|[路街]$",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d[\d.,'’]*")
_ABOUT_WORDS = """
a an per each every the about around roughly exactly nearly almost only approximately old
"""
_ABOUT = frozenset(_ABOUT_WORDS.split())


def is_of_kind(attribute: str, value: str, *, guessed: bool = False) -> bool:
    """Whether a value is what the attribute can have.

    Args:
        attribute: the attribute, as the statement names it.
        value: the value as it is written.
        guessed: whether the phrase says only "is", not "is called".
    """
    first, last = value.split()[0], value.split()[-1]
    if attribute == "job":
        return first.casefold() not in _NO_JOBS
    if attribute == "job title":
        return last.casefold() not in _NO_AGENTS and bool(_AGENT.search(last))
    if attribute in ("home", "employer"):
        return value.casefold() not in _STATES and not (attribute == "home" and is_no_place(value))
    if attribute.startswith("favourite"):
        return is_favourite(attribute.removeprefix("favourite").strip(), value)
    if attribute == "name" and not guessed and _IS_ADJECTIVE.fullmatch(value):
        return False
    if attribute.endswith("name") and guessed:
        initials = first.isupper() and len(first) > 1
        return not initials and not {first.casefold(), last.casefold()} & (NOT_NAMES | _ROLES)
    for about, kind in _READ:
        if about.search(attribute):
            return bool(kind.fullmatch(value) or (_ANY_CASE.fullmatch(value) and kind.pattern in _ANY_CASE.pattern))
    return True


def shape(attribute: str, value: str) -> str:
    """What two values must have in common to exclude each other: the unit of a number, being a proper name, being a
    street, in which one lives beside a town.
    """
    if attribute.startswith("favourite"):
        return favourite_shape(attribute.removeprefix("favourite").strip(), value)
    if attribute == "home":
        return "street" if _STREET.search(value) else ""
    if re.search(r"weight|height|salary|rate|rent|commute|size|größe|pointure|talla", attribute):
        units = re.findall(r"[^\W\d_]+|[$€£¥%°]", _NUMBERS.sub(" ", value.casefold()))
        return " ".join(sorted(set(units) - _ABOUT))
    return ""
