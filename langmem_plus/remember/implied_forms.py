"""How a request to forget is put in the form that may be talk, and how what it names is told."""

from __future__ import annotations

import re
from dataclasses import dataclass

from langmem_plus.remember.asked import ASKED, FORGET_IDIOM, FROM_MEMORY, POLITE
from langmem_plus.remember.data_names import CODED, OWNER, find_datum, tells_value
from langmem_plus.remember.sentences import LONGEST_STATEMENT, ends_question, opens_question, sentences, strip_lead
from langmem_plus.remember.slots import JOINS_MORE
from langmem_plus.remember.statements import POLITE_END, forget_requests
from langmem_plus.text import stem, words

# In Chinese no "my" is needed: those requests are told by `asked.FORGET`. "Forget about …" and "just forget …" mostly
# end a talk. "Don't remember the code :(" says that oneself doesn't; with "please" it is said to memory.
_FORGET = (
    r"(?:forget|stop remembering|(?<=please )(?:don['’]t|do not) remember|vergiss|vergessen Sie|oublie|oubliez|olvida)"
)
_ERASE = r"(?:delete|erase|lösche?|löschen Sie|efface|effacez|supprime|supprimez|borra|elimina)"
_ASKS = re.compile(
    rf"(?P<polite>{POLITE})(?:{_FORGET}|(?P<erases>{_ERASE}))(?P<kindly> (?:bitte|wieder))?,?\s+(?P<object>.+)",
    re.IGNORECASE,
)
_ASKS_YOU = re.compile(r"(?:please |also )?(?:can|could|would) you\b", re.IGNORECASE)
_ADDS = re.compile(r"(?:also |and |und |auch |y |et )*", re.IGNORECASE)  # of what is polite, what isn't
_TRAILS_OFF = re.compile(r"(?:\.\.|…)\W*$")
_QUOTES = re.compile(r"[\"“”„«»「」『』]")
_NAME = r"(?-i:[A-ZÀ-Þ][\w-]+)"
_ARTICLE = r"(?:(?:the|den|die|das|der|le|la|les|el|los|las) |l['’])"
_NAMES_THING = re.compile(rf"(?P<thing>(?:{_ARTICLE}|{_NAME}['’]s |(?-i:[A-ZÀ-Þ][\w-]+s) ).+)", re.I)
_TELLS_THING = re.compile(
    rf"(?P<thing>(?:{_ARTICLE}|{OWNER} |the user['’]s |{_NAME}['’]s |(?-i:[A-ZÀ-Þ][\w-]+s) )[\w '’-]{{1,60}}?)"
    r"(?: (?:is|are|=|ist|sind|lautet|est|sont|es|son) |: | ?= ?)(?P<value>.+)",
    re.IGNORECASE | re.DOTALL,
)
# What people keep, and wouldn't say of a meeting or the milk.
_DATUM = (
    r"(?:pass ?(?:word|phrase|code)|pin|(?:\w+ )+code|address|birthday|birthdate|date of birth|username|login|iban|ssn|"
    r"salary|(?:\w+ )+(?:number|e-?mail)|\w*(?:passwort|kennwort|pin|adresse|geburtstag|gehalt|nummer|\Bcode)|"
    r"mot de passe|code (?:\w+ )*\w+|adresse|anniversaire|salaire|numéro de \w+|date de naissance|"
    r"contraseña|código (?:\w+ )*\w+|dirección|cumpleaños|sueldo|número de \w+|fecha de nacimiento)"
)
_IS_DATUM = re.compile(rf"(?:[\w-]+ )*?{_DATUM}", re.IGNORECASE)
# The code of the garage, the birthday of Tom: what stands behind is no part of the name itself.
_OF = re.compile(
    r" (?:of|at|for|in|to|on|from|von|vom|für|im|zum|zur|du|des|à|au|aux|pour|del|para|en|de)(?: | ?l['’])|\s+d['’]",
    re.IGNORECASE,
)
_COMPOUND = re.compile(
    r"(?:mot de passe|date de naissance|numéro de \w+|número de \w+|fecha de nacimiento|date of birth)", re.IGNORECASE
)
_SMALL_WORDS = """
the a an of at for in to on from my our s user mein meine meinen meiner unser unsere der die das den dem des von vom für
im zum zur le la les l du de d à au aux pour mon ma mes notre nos el los las del para en mi mis nuestro nuestra
"""
_SMALL = frozenset(_SMALL_WORDS.split())
_KIN_BEFORE_NAME = re.compile(rf"(?:{OWNER}|the user['’]s) [\w-]+ (?={_NAME}['’]s )", re.IGNORECASE)
_NO_CODE = re.compile(
    r"(?:on|in|under|at|near|with|from|by|behind|about|an?|the|my|our|your|im|am|auf|unter|bei|ein\w*|sur|sous|dans|"
    r"chez|un|une|en|bajo|una)\b",
    re.IGNORECASE,
)
_GERMAN_COMPOUND = re.compile(r"\w{3,}(?:passwort|kennwort|pin|adresse|geburtstag|gehalt|nummer|code)", re.IGNORECASE)
_DAY = re.compile(r"^(?:der|the) (?=\d)", re.IGNORECASE)
_LONGEST_VALUE = 5  # words of a password that has no number
_MOST_WORDS = 8  # of what is named

_LIVES = r"(?:lives|wohnt|lebt|habite|vit|vive)"
_WORKS = r"(?:works|arbeitet|travaille|trabaja)"
_BORN = r"was born"
_ASKS_WHERE = re.compile(
    rf"(?:where|wo|où) (?P<name>{_NAME}) (?P<verb>{_LIVES}|{_WORKS}|{_BORN})|when (?P<whose>{_NAME}) (?P<born>{_BORN})|"
    rf"(?:dónde|où) (?P<does>{_LIVES}|{_WORKS}) (?P<who>{_NAME})",
    re.IGNORECASE,
)
_TELLS_WHERE = re.compile(
    rf"(?:(?:{OWNER}|the user['’]s) (?:[\w-]+ ){{1,2}})?(?P<name>{_NAME}),? (?:now |jetzt |ahora )?"
    rf"(?P<verb>{_LIVES}|{_WORKS}|{_BORN}) (?:in|at|near|on|for|bei|im|an|auf|à|en|au|chez|dans) .+",
    re.IGNORECASE,
)
# Whoever moved doesn't live there: it may be meant as well.
_STAYS = (
    r"(?:liv(?:e|es|ed|ing)\b|mov(?:e|es|ed|ing)\b|relocat|resid|wohn|leb|gezogen|zieht|umgezogen|habit|vit\b|déménag|"
    r"viv|mud[óa])"
)
_KINDS = {"live": re.compile(_LIVES, re.I), "work": re.compile(_WORKS, re.I), "born": re.compile(_BORN, re.I)}
_AKIN = {
    "live": re.compile(rf"\b{_STAYS}", re.I),
    "work": re.compile(r"\b(?:work|job|employ|hired|arbeit|travail|trabaj)", re.I),
    "born": re.compile(r"\bborn\b|\bbirth", re.I),
}


@dataclass(frozen=True)
class Asked:
    """What a sentence names, if it is a request: a thing by its words, or what somebody does.

    Args:
        object: as it is named.
        said: the words that name it.
        head: the one that tells what it is.
        verb: what is asked of a person ("live"); empty for a thing.
    """

    object: str
    said: frozenset[str]
    head: str
    verb: str = ""


def read_request(sentence: str) -> Asked | None:
    """What a whole sentence asks to forget, if it is meant so; None where it can't be.

    >>> read_request("Please forget the garage code.").object, read_request("Forget the meeting.")
    ('the garage code', None)
    """
    clause = strip_lead(sentence)
    match = _ASKS.match(clause) if len(clause) <= LONGEST_STATEMENT else None
    if match is None or _TRAILS_OFF.search(clause) or (ends_question(clause) and not _ASKS_YOU.match(clause)):
        return None
    said = POLITE_END.sub("", match["object"]).strip(" .!?")
    plain = FROM_MEMORY.sub("", said)
    if FORGET_IDIOM.search(plain):
        return None
    is_polite = bool(_ADDS.sub("", match["polite"], count=1) or match["kindly"] or POLITE_END.search(match["object"]))
    # "Delete the email address" may be said of a form, "oh well, forget the password" of what is talked of.
    is_to_memory = plain != said or (is_polite and not match["erases"])
    if not is_to_memory and (match["erases"] or clause != sentence):
        return None
    if where := _ASKS_WHERE.fullmatch(plain):
        name = where["name"] or where["whose"] or where["who"]
        verb = _kind_of(where["verb"] or where["born"] or where["does"])
        return Asked(plain, frozenset([name.casefold()]), name.casefold(), verb)
    thing = _NAMES_THING.fullmatch(plain)
    name = _Name.of(plain) if thing else None
    if name is None or not name.is_datum or len(words(plain)) > _MOST_WORDS:
        return None
    is_told_apart = len(name.said) > 1 or _GERMAN_COMPOUND.fullmatch(name.text)
    return Asked(plain, name.said, name.head) if is_told_apart or is_to_memory else None


def find_requests(text: str) -> list[tuple[int, Asked]]:
    """What a turn's sentences ask to forget in the form that may be talk, each with the place of its sentence; none
    where somebody may be quoted.
    """
    parts = [] if _QUOTES.search(text) else sentences(text)
    open_parts = [
        (place, part)
        for place, part in enumerate(parts)
        if not (forget_requests(part) or (place and parts[place - 1].endswith((":", "："))))
    ]
    return [(place, asked) for place, part in open_parts if (asked := read_request(part))]


def _kind_of(verb: str) -> str:
    return next(kind for kind, pattern in _KINDS.items() if pattern.fullmatch(verb))


@dataclass(frozen=True)
class _Name:
    """The words that name a thing."""

    text: str
    said: frozenset[str]
    core: frozenset[str]
    head: str
    is_datum: bool

    @classmethod
    def of(cls, name: str) -> _Name | None:
        name = _KIN_BEFORE_NAME.sub("", name)
        bare = re.sub(rf"^(?:{_ARTICLE}|{OWNER} |the user['’]s )", "", name, flags=re.IGNORECASE).strip()
        compound = _COMPOUND.match(bare)
        core = compound[0] if compound else _OF.split(bare, maxsplit=1)[0]
        said, inner = _content(bare), _content(core)
        if not inner:
            return None
        datum = re.sub(r"['’]s\b", "", core)
        is_datum = bool(_IS_DATUM.fullmatch(datum) or _IS_DATUM.fullmatch(re.sub(r"['’]s\b", "", bare)))
        return cls(bare, frozenset(said), frozenset(inner), "" if compound else inner[-1], is_datum)


def _content(text: str) -> list[str]:
    return [stem(word) for word in words(text) if word not in _SMALL]


@dataclass(frozen=True)
class Told:
    """How a statement stands to a request.

    Args:
        is_meant: whether it tells what is named, and nothing else.
        value: what is told of it.
        is_rival: whether it may be meant, too, in other words or with more.
    """

    is_meant: bool = False
    value: tuple[str, ...] = ()
    is_rival: bool = False


def read_told(asked: Asked, statement: str) -> Told:
    """Whether a statement tells what is named."""
    plain = strip_lead(statement)
    if (kept := ASKED.match(plain)) is not None:
        plain = strip_lead(plain[kept.end() :])
    plain = plain.rstrip(" .!。！")
    if len(plain) > LONGEST_STATEMENT or opens_question(plain) or ends_question(statement):
        return Told()
    if asked.verb:
        return _told_of_person(asked, plain)
    match = _TELLS_THING.fullmatch(plain)
    if match is None:
        return Told(is_rival=asked.said <= set(_content(plain)) and bool(CODED.search(plain)))
    name, value = _Name.of(match["thing"]), match["value"]
    if name is None:
        return Told()
    is_near = asked.said <= name.said | (set(words(value)) if CODED.search(value) else set())
    is_same = asked.said <= name.said and name.core <= asked.said and asked.head == name.head
    if is_same and _tells(name, value):
        return Told(is_meant=True, value=tuple(words(value)))
    return Told(is_rival=is_near and not _is_other_datum(asked, name) and (is_same or name.is_datum))


def _tells(name: _Name, value: str) -> bool:
    if JOINS_MORE.search(value) or not tells_value(f"my {name.text}", _DAY.sub("", value)):
        return False
    return bool(CODED.search(value)) or (len(words(value)) <= _LONGEST_VALUE and not _NO_CODE.match(value))


def _is_other_datum(asked: Asked, name: _Name) -> bool:
    """Whether a datum of another kind is told: an e-mail address is no address."""
    bare = re.sub(rf"^{_ARTICLE}", "", asked.object, flags=re.IGNORECASE)
    mine, theirs = find_datum(f"my {bare}"), find_datum(f"my {name.text}")
    return mine is not None and theirs is not None and mine.kind != theirs.kind


def _told_of_person(asked: Asked, plain: str) -> Told:
    match = _TELLS_WHERE.fullmatch(plain)
    is_named = match is not None and match["name"].casefold() == asked.head
    if match is not None and is_named and _kind_of(match["verb"]) == asked.verb and not JOINS_MORE.search(plain):
        return Told(is_meant=True, value=tuple(words(plain[match.start("verb") :])))
    return Told(is_rival=asked.head in words(plain) and bool(_AKIN[asked.verb].search(plain)))
