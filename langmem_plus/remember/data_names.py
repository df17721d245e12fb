"""What people call their data: "my email", "my e-mail address" and "my mail address" are one, "my address" is another.

A datum is read from its name alone ("my work phone number"), or from a statement that tells it ("My work phone is …").
What stands beside the name tells whose or which it is, and has to be the same: a work phone isn't the phone.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from langmem_plus.remember.sentences import LONGEST_STATEMENT
from langmem_plus.remember.slot_kinds import is_of_kind
from langmem_plus.remember.slots import JOINS_MORE, USER, canonical
from langmem_plus.text import STOP_WORDS, stem, tokens, words

OWNER = r"(?:my|our|mein\w{0,2}|unser\w{0,2}|mon|ma|mes|notre|nos|mis?|nuestr\w{1,2})"
TELLS = re.compile(
    rf"(?P<thing>{OWNER} [\w' -]{{1,60}}?) (?:is|are|=|ist|sind|lautet|est|sont|es|son) (?P<value>.+)|"
    r"(?P<chinese>我们?的?\w{1,20}?)(?:是|为|[:：])\s*(?P<told>.+)",
    re.IGNORECASE | re.DOTALL,
)
OWNERS = re.compile(OWNER, re.IGNORECASE)
CHINESE_OWNER = re.compile(r"^我们?的?")
# What people keep to themselves: it can be named like a datum. "Forget my umbrella" is about an umbrella.
SECRET = re.compile(
    r"\b(?:pass ?(?:word|phrase|code)|pin|code|key|secret|safe ?word|e-?mail|address|birthday|salary|income|diagnosis|"
    r"medication|weight|budget|nickname|handle|username|login|illness|disease|condition|ssn|iban|"
    r"(?:account|card|phone|security|insurance|passport|licen[cs]e|tax|id) (?:number|id)|"
    r"\w*(?:passwort|kennwort|pin|schlüssel|geheimnis|adresse|geburtstag|gehalt|diagnose|gewicht)|wohnort|krankheit|"
    r"mot de passe|code|anniversaire|salaire|diagnostic|poids|maladie|numéro|"
    r"contraseña|clave|secreto|correo|dirección|cumpleaños|sueldo|salario|diagnóstico|peso|enfermedad|número)s?$|"
    r"(?:密码|口令|秘密|邮箱|地址|住址|生日|工资|薪水|诊断|体重|病|号码|账号|卡号)$",
    re.IGNORECASE,
)
_EMAIL, _PHONE, _MOBILE, _LANDLINE = "email", "phone", "mobile phone", "landline phone"
ADDRESS, BIRTHDAY, _PIN = "address", "birthday", "pin"
_MESSENGER = "messenger"  # its number is a phone's, and may be another than "my phone"
_MAILING = "mailing address"  # or the one of e-mail, by the "mail address" that it shares its stem with
_NAMES = {
    _EMAIL: (
        "email, e-mail, mail, email address, e-mail address, emailadresse, mailadresse, e-mail adresse, mail adresse, "
        "adresse email, courriel, correo, correo electrónico, dirección de correo, "
        "dirección de correo electrónico, dirección de email, 邮箱, 邮箱地址, 电子邮箱, 电子邮件, 邮件地址"
    ),
    _PHONE: (
        "phone, phone number, telephone, telephone number, number, telefon, telefonnummer, nummer, téléphone, "
        "numéro de téléphone, numéro, teléfono, número de teléfono, número, 电话, 电话号码, 号码"
    ),
    _MOBILE: (
        "mobile, mobile number, mobile phone, mobile phone number, cell, cell number, cell phone, cell phone number, "
        "cellphone, cellphone number, handy, handynummer, mobilnummer, portable, numéro de portable, móvil, "
        "número de móvil, celular, número de celular, 手机, 手机号, 手机号码"
    ),
    _LANDLINE: (
        "landline, landline number, landline phone, landline phone number, landline telephone number, festnetz, "
        "festnetznummer, festnetztelefon, festnetzanschluss, fixe, numéro fixe, téléphone fixe, numéro de fixe, "
        "numéro de téléphone fixe, fijo, número fijo, teléfono fijo, número de fijo, número de teléfono fijo, "
        "固定电话, 座机, 座机号, 座机号码, 固话"
    ),
    ADDRESS: (
        "address, home address, postal address, street address, adresse, anschrift, wohnadresse, "
        "heimadresse, adresse postale, dirección, dirección postal, domicilio, 地址, 住址, 家庭地址"
    ),
    _MAILING: "mailing address, mail address",
    _MESSENGER: "whatsapp, whatsapp number, whatsapp-nummer, whatsappnummer, numéro whatsapp, número de whatsapp",
    BIRTHDAY: (
        "birthday, birthdate, birth date, date of birth, geburtstag, geburtsdatum, anniversaire, date de naissance, "
        "cumpleaños, fecha de nacimiento, 生日, 出生日期"
    ),
    _PIN: (
        "pin, pin number, pin code, pincode, pin-nummer, pinnummer, geheimzahl, code pin, numéro pin, código pin, "
        "número pin, pin码, PIN码"
    ),
}
# A mobile phone is a phone, and another phone is no mobile one.
_COVERS = {_PHONE: (_PHONE, _MOBILE, _LANDLINE)}
_ALONE = {frozenset(tokens(word)) for word in ("number", "nummer", "numéro", "número")}  # "card number" is no phone's
# Small words that tell which of several is meant, or whose.
_WHICH_WORDS = """
other others another same both few no not above below before after over under off out up down between he him his she her
hers they them their theirs its your yours
"""
_WHICH = frozenset(_WHICH_WORDS.split())
_BESIDE = (STOP_WORDS - _WHICH) | {
    "now", "really", "please", "user", "users", "de", "d", "la", "le", "el", "l"
}  # fmt: skip
_PHONES = (_PHONE, _MOBILE, _LANDLINE, _MESSENGER)
_VALUES = {_EMAIL: re.compile(r"\S@\S"), **dict.fromkeys(_PHONES, re.compile(r"\d[\d\s()./-]{3,}\d"))}
_CODES = (*_PHONES, _PIN)  # values that are told by their digits
# "Call me on 415 555 0199": by that number one reaches who says so.
_REACH = re.compile(
    r"(?:please |just )?(?:(?:you|they|people) can )?(?:(?:always|also) )?(?:call|phone|ring|text|reach|contact|"
    r"message|whatsapp) me (?:back |up )?(?:(?:on|at|under|via|using) )?(?:{value})"
    r"(?: (?:any ?time|please|back|for now))?|"
    r"(?:bitte )?(?:ruf|rufen Sie) mich (?:bitte )?(?:unter|auf) (?:der )?(?:{value})(?: (?:zurück|an))?|"
    r"(?:du erreichst|Sie erreichen|man erreicht) mich unter (?:der )?(?:{value})|"
    r"(?:s['’]il te plaît )?(?:appelle|appelez|rappelle|rappelez|joins|joignez)-moi (?:au|sur le) (?:{value})|"
    r"(?:llámame|llámeme) (?:al|en el) (?:{value})|(?:请)?(?:打|拨)(?:我的?)?(?:电话)?(?:{value})(?:找我|联系我)|"
    r"(?:请)?打(?:{value})给我".replace("{value}", r"\+?\d[\d\s()./-]{5,}\d"),
    re.IGNORECASE,
)
_REACHED_BY = re.compile(r"\+?\d[\d\s()./-]{5,}\d")
_SHORTEST_NUMBER = 7  # digits of a phone's number that are the same with and without the country's
_PIN_VALUE = re.compile(r"\d(?:[\d .-]*\d)?")
_CODE = re.compile(r"\S*[\d@]\S*(?: [\d()./-]+)*")
BEHIND = re.compile(r"\s*[,;(]|\s[–—-]\s")  # what is said beside a value: "4711, don't tell anybody"
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th|er)\b", re.IGNORECASE)
# What is said of a datum that tells no value of it: what it isn't, what is like it, how it stands.
_NO_VALUE = re.compile(
    r"(?:not|no longer|never|none|(?:exactly |almost )?the same|same|like|similar|different|equal|too|so|very|quite|"
    r"pretty|always|often|getting|going|being|becoming|changing|hard|easy|tight|stable|weak|short|long|broken|lost|gone|"
    r"wrong|full|out of|nicht|nie|kein\w*|de[rm]selbe|dieselbe|dasselbe|gleich|ähnlich|anders|zu|sehr|immer|stabil|"
    r"pas|plus|jamais|l[ea] même|pareille?|trop|très|toujours|stable|no|ya no|nunca|el mismo|la misma|igual|muy|"
    r"demasiado|siempre|estable)\b|[不没]|和|跟|与|太|很|一样",
    re.IGNORECASE,
)
_LEAD = re.compile(r"(?:(?:on|am|le|el|now|currently|jetzt|ahora|maintenant) )+", re.IGNORECASE)
CODED = re.compile(r"\d|@")
_CAPITALS = re.compile(r"(?<![\w'’])(?!MY|IS|NO)[A-Z]{2}(?![\w'’])")
_SMALL = re.compile(r"[a-z]")
_CURRENT = frozenset(tokens("new current present neu aktuell nouveau nouvelle nuevo nueva"))  # of a name told
_CHINESE_NAME = re.compile(r"[\u4e00-\u9fff]")
_BY_WORDS = {
    frozenset(stem(word) for word in words(name) if word not in _BESIDE): kind
    for kind, names in _NAMES.items()
    for name in names.split(", ")
    if not _CHINESE_NAME.match(name)
}
_BY_TEXT = {name: kind for kind, names in _NAMES.items() for name in names.split(", ") if _CHINESE_NAME.match(name)}


@dataclass(frozen=True)
class Datum:
    """A datum that is named, and where it is told, its value.

    Args:
        subject: whose, as in `slots.Slot`.
        kind: what it is.
        beside: the words beside its name: which of several.
        value: as it is told; empty where it is only named.
    """

    subject: str
    kind: str
    beside: frozenset[str]
    value: str = ""

    def covers(self, told: Datum) -> bool:
        """Whether the other one is what is named by this one; it has to be the same where both tell a value."""
        known = told.beside in (self.beside, self.beside | (told.beside & _CURRENT))
        same = not (self.value and told.value) or _is_same_value(told.kind, self.value, told.value)
        return self.subject == told.subject and known and same and self._is_kind_of(told)

    def _is_kind_of(self, told: Datum) -> bool:
        if told.kind == _MAILING and told.value:
            return self.kind in (_MAILING, _EMAIL if "@" in told.value else ADDRESS)
        is_phone = {self.kind, told.kind} <= set(_PHONES) and _MESSENGER in (self.kind, told.kind)
        return told.kind in self.kinds or (is_phone and bool(self.value and told.value))

    @property
    def kinds(self) -> tuple[str, ...]:
        """What is of this kind: a mobile phone is a phone, too."""
        return _COVERS.get(self.kind, (self.kind,))


@functools.lru_cache(maxsize=4096)
def find_datum(text: str) -> Datum | None:
    """The datum that a text names or tells, if it does nothing else.

    >>> find_datum("my work email address")
    Datum(subject='user', kind='email', beside=frozenset({'work'}), value='')
    >>> find_datum("My phone is broken.") is None
    True
    """
    if len(text) > LONGEST_STATEMENT:
        return None
    subject, rest = canonical(text)
    if _REACH.fullmatch(rest) and (number := _REACHED_BY.search(rest)):
        return Datum(subject, _PHONE, frozenset(), number[0])
    told = TELLS.fullmatch(rest)
    if told is None:
        return _named(subject, rest, "")
    said = _LEAD.sub("", (told["value"] or told["told"]).strip())
    found = _named(subject, told["thing"] or told["chinese"], "")
    if found is None or JOINS_MORE.search(said):
        return None
    kind = _EMAIL if found.kind == ADDRESS and _value(_EMAIL, said) else found.kind
    value = _value(kind, said)
    return Datum(subject, kind, found.beside, value) if value else None


def tells_value(thing: str, told: str) -> bool:
    """Whether what is told of a thing that can be named like a datum is a value of it.

    >>> tells_value("my phone", "555 1234"), tells_value("my phone", "4 years old")
    (True, False)
    """
    said = _LEAD.sub("", told.strip())
    named = _named(USER, thing, "")
    if named is not None:
        return bool(_value(named.kind, said) or (named.kind == ADDRESS and _value(_EMAIL, said)))
    return not _NO_VALUE.match(said) and bool(CODED.search(said) or SECRET.search(thing))


def tells_the_same(one: str, other: str) -> bool:
    """Whether two statements tell the same value of one datum, or the same number or address of one thing; what is said
    behind the value may differ.

    >>> tells_the_same("My gate code is 4711.", "My gate code is 4711 since May, never share it.")
    True
    """
    mine, theirs = find_datum(one), find_datum(other)
    if mine and theirs and mine.value and theirs.value:
        return mine.covers(theirs) or theirs.covers(mine)
    (subject, said), (whose, heard) = (canonical(text[:LONGEST_STATEMENT]) for text in (one, other))
    a, b = TELLS.fullmatch(said), TELLS.fullmatch(heard)
    if subject != whose or a is None or b is None:
        return False
    parts = ((match["thing"] or match["chinese"], match["value"] or match["told"]) for match in (a, b))
    (first, few), (second, many) = sorted(parts, key=lambda part: len(words(part[1])))
    is_same = words(first)[1:] == words(second)[1:] and capitals(first) == capitals(second)
    is_code = _CODE.fullmatch(few) and not JOINS_MORE.search(many)
    return is_same and bool(is_code) and words(many)[: len(words(few))] == words(few)


def _value(kind: str, said: str) -> str:
    """The value of a datum at the beginning of what is told of it; empty where that is none."""
    parts = (said, BEHIND.split(said, maxsplit=1)[0])
    values = (part.strip().rstrip(".!?。！？") for part in parts)
    return next((value for value in values if value and _is_value(kind, value)), "")


def _is_value(kind: str, value: str) -> bool:
    if kind == _MAILING:
        return _is_value(_EMAIL, value) or _is_value(ADDRESS, value)
    if kind == _PIN:
        return bool(_PIN_VALUE.fullmatch(value))
    return is_of_kind(_PHONE if kind == _MESSENGER else kind, value) and ("@" in value) == (kind == _EMAIL)


def _is_same_value(kind: str, one: str, other: str) -> bool:
    """Whether two values are one: numbers by their digits, with the country's or without; a day with its year or
    without.
    """
    if kind in _CODES:
        short, long = sorted((re.sub(r"\D", "", value) for value in (one, other)), key=len)
        root = short.lstrip("0")
        return short == long or (kind != _PIN and len(root) >= _SHORTEST_NUMBER and long.endswith(root))
    if kind == BIRTHDAY:
        few, many = sorted((_content(_ORDINAL.sub("", value)) for value in (one, other)), key=len)
        return bool(few) and few <= many
    return one.casefold() == other.casefold() if kind == _EMAIL else words(one) == words(other)


def _named(subject: str, name: str, value: str) -> Datum | None:
    owned = CHINESE_OWNER.sub("", name)
    if owned in _BY_TEXT:
        return Datum(subject, _BY_TEXT[owned], frozenset(), value)
    said = _content(name)
    names = [name for name in _BY_WORDS if name <= said]
    if not names:
        return None
    places = {stem(word): place for place, word in enumerate(words(name))}
    called = max(names, key=lambda each: (len(each), max(places.get(word, 0) for word in each)))
    beside = said - called
    # "My email password" is no e-mail address, "my card number" no phone's.
    is_other = called in _ALONE or any(map(SECRET.search, beside))
    return None if beside and is_other else Datum(subject, _BY_WORDS[called], beside, value)


def capitals(text: str) -> frozenset[str]:
    """The small words that are names by their capitals: "LA", "US", "IT"; none where all of the text is in capitals.

    >>> sorted(capitals("my IT address in LA"))
    ['it', 'la']
    """
    found = map(str.casefold, _CAPITALS.findall(text)) if _SMALL.search(text) else ()
    return frozenset(word for word in found if word in _BESIDE or word in STOP_WORDS)


def is_another(name: str, text: str) -> bool:
    """Whether a small word tells that a statement is about another one than is named: "my other address", "my IT
    password".
    """
    told = TELLS.fullmatch(canonical(text[:LONGEST_STATEMENT])[1])
    asked = _which(name)
    return not (asked <= set(words(text)) and (told is None or _which(told["thing"] or "") <= asked))


def _which(text: str) -> frozenset[str]:
    return _WHICH.intersection(words(text)) | capitals(text)


def _content(text: str) -> frozenset[str]:
    """The stems of the words that name a datum, or tell which one."""
    small = (word for word in words(text) if word not in _BESIDE and not OWNERS.fullmatch(word))
    return frozenset(map(stem, small)) | capitals(text)


def may_tell(text: str, wanted: Datum) -> bool:
    """Whether a text, which may say more, holds a name of a datum, what stands beside it, and what may be its value."""
    return names_it(text, wanted) and bool(_VALUES.get(wanted.kind, CODED).search(text))


def names_it(text: str, wanted: Datum) -> bool:
    """Whether a text, which may say more, holds a name of a datum and what stands beside it."""
    said = _content(text)
    named = any(kind in wanted.kinds and name <= said and name not in _ALONE for name, kind in _BY_WORDS.items())
    told = any(kind in wanted.kinds and name in text for name, kind in _BY_TEXT.items())
    return (named or told) and wanted.beside <= said
