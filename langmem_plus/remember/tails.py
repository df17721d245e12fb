"""What may stand behind a home or an employer without changing that somebody lives or works there from now on.

"I moved to Paris yesterday with my dog" tells today's home; "… in my twenties", "… at 18", "… in a dream", "…, then
back to Leeds" don't, and nobody can list all of these. So the harmless endings are listed; any other retires nothing.
"""

from __future__ import annotations

import re

_DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_RECENTLY = (
    r"(?:just |only |earlier )?(?:yesterday|today|tonight|recently|lately|now|just now|again|finally|at last|already|"
    r"permanently|for good|instead|these days|nowadays|over the weekend|(?:on )?(?:last|this) (?:night|week|"
    r"week-?end|"
    rf"month|morning|afternoon|evening|{_DAY})|on (?:the weekend|{_DAY})|"
    r"(?:an?|one|two|three|four|five|six|a few|a couple of|\d{1,2}) (?:days?|weeks?) ago)"
)
_RELATIVE = (
    r"(?:(?:[a-z]+ )?(?:husband|wife|partner|girlfriend|boyfriend|fianc[ée]e?|spouse|kids?|children|sons?|daughters?|"
    r"family|dogs?|cats?|pets?|baby|twins)(?: (?-i:[A-Z])[\w'’-]+)?|(?-i:[A-Z])[\w'’-]+)"
)
_WITH = rf"(?:together )?with (?:(?:my|our|his|her|their|the|both|two|three) )*{_RELATIVE}"
_COMPANY = rf"{_WITH}(?:(?:,| and|, and) (?:(?:my|our|his|her|their|the|both|two|three) )*{_RELATIVE})*|together"
_REASON = (
    r"(?:because of|for) (?:(?:my|our|his|her|their|an?|the|new) )*"
    r"(?:(?:husband|wife|partner|girlfriend|boyfriend)['’]s )?(?:new )?(?:job|work|love)"
)
_NAME = r"(?-i:[A-Z])[\w'’.-]*(?: (?:of |de |and )?(?-i:[A-Z])[\w'’.-]*)*"
_NOT_THERE = rf"(?:and )?(?:not|instead of)(?: in| at| to)? {_NAME}(?: any ?more)?"
_LIKED = (
    r"and (?:(?:I|we)(?:['’](?:m|re)| am| are)? )?(?:(?:really|just|absolutely|already|both|all|so|am|are) )*"
    r"(?:love|like|enjoy|lov(?:e|ing)|enjoying|liking) it(?: here| there)?(?: so far| a lot)?|"
    r"and it['’]s (?:great|lovely|wonderful|amazing|nice|beautiful)"
)
_DWELLING = (
    r"(?:in|into) (?:an?|our|my) (?:(?:new|small|big|tiny|nice|little|lovely|shared|\w+-bedroom) )*"
    r"(?:flat|apartment|house|home|studio|place|cottage)"
)
_ENGLISH_HOME = f"{_RECENTLY}|{_COMPANY}|{_REASON}|{_NOT_THERE}|{_LIKED}|{_DWELLING}"

# Whom one works as; a teenager and a student aren't.
_NO_TRADE = (
    r"teen\w*|young\w*|student|junior|senior|minor|beginner|newcomer|freelancer|temp\w*|intern|trainee|volunteer|"
    r"customer|member|visitor|outsider|stranger|foreigner|part-?timer|child|kid|man|woman|freshman|helper|summer|"
    r"matter|bachelor|immigrant|debutant|infant|adolescent"
)
_TRADE = (
    rf"as (?:an?|the|their) (?:(?!(?:teen|young|student|summer|holiday|trainee|volunteer|temp)\w*\b)"
    rf"(?!(?:{_NO_TRADE}|boy|girl|in|with|under|for|at|by|of|on|and|to|an?|the|my|who|when)\b(?<!senior)(?<!junior))"
    r"[\w-]+ ){0,3}?"
    rf"(?!(?:{_NO_TRADE})\b)"
    r"(?:\w+(?:er|or|ist|ian|eer|ant|yst|ect|man|woman)|nurse|chef|cook|pilot|coach|vet|clerk|guard|lead|head|"
    r"attorney|"
    r"aide|midwife|agent|executive|representative|associate|nanny|paramedic|mechanic|barista|plumber)(?![\w-])"
)
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_SITE = rf"in (?!{_MONTH}|College|School|Dream|Summer|Spring|Winter|Autumn|Fall){_NAME}"
_SOON = rf"tomorrow|next week|(?:on |next |this )+(?:the )?{_DAY}"
_ENGLISH_JOB = f"{_RECENTLY}|{_TRADE}|{_SITE}|{_SOON}|{_LIKED}|{_NOT_THERE}|full[- ]time"

_GERMAN = (
    r"jetzt|nun|wieder|gestern|heute|endlich|seit (?:gestern|heute|kurzem|dieser Woche)|(?:letzte|"
    r"diese)\w* (?:Woche|Monat|"
    r"Wochenende|\w+tag)|am \w+tag|nächste Woche|morgen|(?:zusammen )?mit (?:mein|unser)\w* (?:Mann|Frau|"
    r"Partner(?:in)?|"
    r"Freund(?:in)?|Familie|Kind(?:ern)?|Hund|Katze|Sohn|Tochter)(?: [A-ZÄÖÜ]\w+)?|wegen (?:der|des|meiner|"
    r"meines|einer|"
    r"eines) (?:neuen )?(?:Arbeit|Jobs?|Stelle)|als (?:\w*(?:ingenieur|entwickler|lehrer|pfleger|manager|berater|"
    r"designer|techniker|verkäufer|fahrer)(?:in)?|Koch|Köchin|Arzt|Ärztin)|und (?:es )?(?:gefällt mir|ist schön)"
)
_FRENCH = (
    r"maintenant|désormais|hier|aujourd['’]hui|récemment|enfin|(?:la semaine|le mois) derni(?:er|ère)|(?:ce|cette) "
    r"(?:semaine|mois|week-?end)|(?:lundi|mardi|mercredi|jeudi|vendredi)(?: dernier)?|demain|la semaine prochaine|"
    r"avec (?:mon|ma|mes|notre|nos) (?:mari|femme|copain|copine|compagnon|compagne|enfants?|famille|chien|chat|fils|"
    r"fille)(?: [A-Z]\w+)?|pour (?:le|mon) (?:nouveau )?(?:travail|boulot)"
)
_SPANISH = (
    r"ahora|ayer|hoy|recientemente|por fin|(?:la semana|el mes) pasad[oa]|est[ea] (?:semana|mes)|mañana|"
    r"el (?:lunes|martes|"
    r"miércoles|jueves|viernes)|la próxima semana|con (?:mi|mis|nuestr[oa]s?) (?:marido|esposo|mujer|esposa|"
    r"novio|novia|"
    r"pareja|hijos?|hijas?|familia|perro|gato)(?: [A-Z]\w+)?|por (?:el |mi )?(?:nuevo )?(?:trabajo|amor)"
)
_CHINESE = r"了|啦|昨天|今天|上周|最近|现在|因为(?:新)?工作|和我?的?(?:妻子|丈夫|老婆|老公|家人|孩子)(?:一起)?"
_ABROAD = f"{_GERMAN}|{_FRENCH}|{_SPANISH}|{_CHINESE}"
_BREAK = r"[\s,;:!.。！，…()\"”’*–—\U0001f300-\U0001faff☀-➿️-]*"


def _ends(harmless: str) -> re.Pattern[str]:
    """A whole tail: any number of harmless parts; behind a comma at its end, the larger place ("York, UK")."""
    return re.compile(
        rf"{_BREAK}(?:(?:{harmless}|{_ABROAD})(?!\w)(?:{_BREAK}))*+(?:(?<=, )(?:the )?{_NAME})?{_BREAK}", re.I
    )


_HARMLESS = {"home": _ends(_ENGLISH_HOME), "employer": _ends(_ENGLISH_JOB)}
_AS_TRADE = re.compile(rf"(?:{_TRADE})\b", re.IGNORECASE)
_SAYING = (
    r"(?:said|says|say|saying|claims|claimed|thinks|thought|wrote|writes|told|tells|believes|believed|joked|jokes|"
    r"lied|insists|insisted|sagte?|meinte?|dit|disait|dijo|dice)"
)
_FRAMED = re.compile(
    rf",\s*(?:(?:as )?(?:[\w'’-]+ ){{0,3}}{_SAYING}\b|according to\b|laut\b|selon\b|según\b)|"
    r"\b(?:in|im|dans|en) (?:a|an|the|my|this|that|his|her|our|one|un|une|mon|mi|einem|"
    r"meinem)?\s?(?:[\w-]+ )?(?:dreams?|"
    r"films?|movies?|novels?|story|stories|games?|play|series|parallel universe|traum|film|spiel|rêve|jeu|sueño|"
    r"película|juego)\b|梦[里中]|电影里|游戏里",
    re.IGNORECASE,
)


def ends_plainly(attribute: str, tail: str) -> bool:
    """Whether nothing behind the place or the employer can change that it is the one of today.

    >>> ends_plainly("home", " with my dog last week!"), ends_plainly("home", " in my twenties")
    (True, False)
    """
    pattern = _HARMLESS.get(attribute)
    return pattern is None or pattern.fullmatch(tail) is not None


def tells_trade(text: str) -> bool:
    """Whether something says as what somebody works: "as a designer"."""
    return _AS_TRADE.search(text) is not None


def is_framed(text: str) -> bool:
    """Whether a statement is said to be somebody else's, or to hold in a dream or a story: "…, said Tom"."""
    return _FRAMED.search(text) is not None
