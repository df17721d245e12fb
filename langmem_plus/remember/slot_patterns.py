"""The attributes that have one value at a time, each with the phrases that fill it, a language after another.

The phrases are in the first person, as `slots.canonical` writes statements; verbs may keep the third person's ending.
A group ``value`` is the value; other named groups may stand in the attribute's name. A group ``name_of`` marks phrases
such as "my wife is …", of which only a name is taken. Homes and employers are told in `slot_places`; `slot_kinds`
says what the values must look like.
"""

from __future__ import annotations

import re

from langmem_plus.remember.slot_places import MY, PLACES, PROPER, SELF, WEEKDAY

KIN = (
    r"(?:ex-)?(?:wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|spouse|mother|mom|mum|father|dad|sister|"
    r"brother|son|"
    r"daughter|grandmother|grandma|grandfather|grandpa|boss|manager|landlord|landlady|best friend|roommate|flatmate)"
)
_SINGLE_KIN = (
    r"(?:wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|spouse|mother|mom|mum|father|dad|boss|manager|landlord|"
    r"landlady|supervisor|therapist|best friend)"
)
_PET = r"(?:[a-z]+ )?(?:dog|cat|puppy|kitten|parrot|hamster|rabbit|horse|bird|turtle|pet)"

_PERSON = r"(?P<value>[A-Z][\w'’-]*(?: [A-Z][\w'’.-]*){0,3})(?=$|[.,;!]|\s+(?:and|now|by)\b)"
_REST = r"(?P<value>.+)"
_ONE_OF = (
    r"phone number|mobile number|cell(?:phone)? number|telephone number|phone|e-?mail(?: address)?|address|home "
    r"address|"
    r"postal code|zip code|postcode|birthday|date of birth|age|weight|height|blood type|shoe size|clothing size|"
    r"salary|"
    r"hourly rate|time ?zone|nationality|native language|mother tongue|marital status|user ?name|license plate|"
    r"religion|"
    r"star sign|zodiac sign|rent|target weight|goal weight|commute|middle name|first name|last name|maiden name"
)

_ENGLISH: tuple[tuple[str, str], ...] = (
    (
        "name",
        rf"(?:{MY}(?:full )?name(?:['’]s| is)(?: now)?|{SELF}(?:called|named)) {_PERSON}",
    ),
    ("nickname", rf"(?:(?:[Pp]lease )?[Cc]all me|[Ii] go(?:es)? by) {_PERSON}"),
    ("name", rf"(?P<name_of>[Ii](?:['’]m| am)) (?=[A-Z][a-zß-ÿ]){_PERSON}"),
    (
        "{kin} name",
        rf"{MY}(?P<kin>{_SINGLE_KIN}|{_PET})(?:['’]s name (?:is|['’]s)| is (?:named|called)) (?:now )?{_PERSON}",
    ),
    ("{kin} name", rf"(?P<name_of>{MY})(?P<kin>{_SINGLE_KIN}|{_PET})(?: is|['’]s) {_PERSON}"),
    (
        "job",
        rf"{SELF}(?:work(?:s|ing)? as|employed as|(?:got |was )?promoted to|hired as) (?:an? |the )?"
        r"(?P<value>[\w -]+?)(?=$|[,.;]| (?:at|for|in|with|now)\b)",
    ),
    (
        "job title",
        rf"{MY}(?:job title|profession|occupation) (?:is|has changed to|changed to) (?:now )?(?:an? |the )?{_REST}",
    ),
    (
        "favourite {of}",
        rf"{MY}(?:all-time |absolute )?favou?rite (?P<of>[\w' -]{{2,40}}?)(?: of all time)? "
        rf"(?:is|['’]s|has become|(?<!s )are)(?: now| currently| still)? {_REST}",
    ),
    (
        "favourite {of}",
        r"(?P<value>[^,;]{2,60}?) (?:is|has become|are(?=.*[^s]$))(?: now)? my (?:new |all-time |current )?favou?rite "
        r"(?P<of>[\w' -]{2,40})$",
    ),
    ("{of}", rf"{MY}(?P<of>{_ONE_OF}) (?:is|has changed to|changed to)(?: now| currently)? (?:on )?{_REST}"),
    ("birthday", rf"{SELF}(?:was )?born on {_REST}"),
    ("age", rf"{SELF}(?:turned )?(?P<value>\d{{1,3}})(?: years? old| y/?o)?(?=$|[.,;!]| and\b| now\b)"),
    (
        "marital status",
        rf"{SELF}(?:got |newly )?(?P<value>single|married|divorced|engaged|widowed|separated)"
        r"(?! to (?:my|the) [a-z]*(?:work|job|career|idea|music|sea|game)\b)(?=$|[.,;!]| (?:to|now|and|since)\b)",
    ),
    (
        "diet",
        rf"{SELF}(?:an? |became |went |turned )*(?P<value>vegan|vegetarian|pescatarian|omnivore)(?=$|[.,;!]| (?:now|"
        rf"and|since|for)\b)",
    ),
)

_GERMAN: tuple[tuple[str, str], ...] = (
    ("name", rf"(?:[Ii](?:ch)? (?:heiße|heißt|heisse)|[Mm]ein Name ist) (?:jetzt )?{_PERSON}"),
    (
        "{kin} name",
        rf"[Mm]eine? (?P<kin>Frau|Mann|Partnerin|Partner|Freundin|Mutter|Vater|Hund|Katze|Chefin|Chef) heißt "
        rf"(?:jetzt )?{_PERSON}",
    ),
    (
        "job",
        r"[Ii](?:ch)? arbeitet?e? (?:(?:jetzt|nun|inzwischen|derzeit|wieder) )*als (?P<value>[\w -]+?)"
        r"(?=$|[,.;]| (?:bei|in|für)\b)",
    ),
    ("favourite {of}", rf"[Mm]eine? [Ll]ieblings(?P<of>[\w-]+) ist (?:jetzt |nun |wieder )?{_REST}"),
    (
        "{of}",
        rf"[Mm]eine? (?:neue |neuer |aktuelle )?(?P<of>Telefonnummer|Handynummer|Adresse|E-Mail(?:-Adresse)?|"
        rf"Schuhgröße|Blutgruppe|Geburtstag) (?:ist|lautet) (?:jetzt |nun )?(?:am )?{_REST}",
    ),
    ("age", r"[Ii](?:ch)? (?:bin|ist) (?:jetzt )?(?P<value>\d{1,3})(?: Jahre(?: alt)?)?$"),
)

_FRENCH: tuple[tuple[str, str], ...] = (
    ("name", rf"(?:[Jj]e m['’]appelle|I s['’]appelle|[Mm]on nom est) (?:maintenant )?{_PERSON}"),
    (
        "{kin} name",
        rf"(?:[Mm]on|[Mm]a) (?P<kin>femme|mari|compagne|compagnon|copine|copain|mère|père|chien|chat|chatte) "
        rf"s['’]appelle {_PERSON}",
    ),
    ("job", r"(?:[Jj]e|I) travaille (?:maintenant )?comme (?P<value>[\w -]+?)(?=$|[,.;]| (?:chez|pour|à)\b)"),
    ("favourite {of}", rf"(?:[Mm]on|[Mm]a) (?P<of>[\w -]+?) préférée? est (?:maintenant |désormais )?{_REST}"),
    (
        "{of}",
        rf"(?:[Mm]on|[Mm]a) (?:nouveau |nouvelle |nouvel )?(?P<of>numéro de téléphone|adresse|e-?mail|pointure|"
        rf"anniversaire) est (?:maintenant |désormais )?{_REST}",
    ),
    ("age", r"(?:[Jj]['’]ai|I a) (?:maintenant )?(?P<value>\d{1,3}) ans$"),
)

_SPANISH: tuple[tuple[str, str], ...] = (
    ("name", rf"(?:[Mm]e llamo|I se llama|[Mm]i nombre es) (?:ahora )?{_PERSON}"),
    (
        "{kin} name",
        rf"[Mm]i (?P<kin>esposa|esposo|mujer|marido|pareja|novia|novio|madre|padre|perro|perra|gato|gata|jefe|jefa) "
        rf"se llama {_PERSON}",
    ),
    ("job", r"(?:(?:[Yy]o )?[Tt]rabajo|I trabaja) (?:ahora )?como (?P<value>[\w -]+?)(?=$|[,.;]| (?:en|para)\b)"),
    ("favourite {of}", rf"[Mm]i (?P<of>[\w -]+?) (?:favorit|preferid)[oa] es (?:ahora )?{_REST}"),
    (
        "{of}",
        rf"[Mm]i (?:nuevo |nueva )?(?P<of>número de teléfono|teléfono|dirección|correo(?: electrónico)?|cumpleaños|"
        rf"talla) es (?:ahora )?{_REST}",
    ),
    ("age", r"(?:(?:[Yy]o )?[Tt]engo|I tiene) (?:ahora |ya )?(?P<value>\d{1,3}) años$"),
)

_HAN = r"(?P<value>[^\s，。！？、；,.!?]{1,24})"
_CHINESE: tuple[tuple[str, str], ...] = (
    ("name", rf"我(?:现在)?(?:叫|的名字(?:是|叫)){_HAN}"),
    (
        "{kin} name",
        rf"我的?(?P<kin>妻子|老婆|太太|丈夫|老公|女朋友|男朋友|妈妈|爸爸|狗|猫)(?:的名字)?(?:叫|名叫){_HAN}",
    ),
    ("favourite {of}", rf"我(?:现在)?最(?:喜欢|爱)的(?P<of>[^\s，。是]{{1,12}})(?:现在)?是{_HAN}"),
    (
        "{of}",
        rf"我的(?:新)?(?P<of>电话号码|电话|手机号|手机号码|邮箱|地址|生日|血型|鞋码)(?:现在)?(?:是|改成了?){_HAN}",
    ),
    ("age", r"我(?:今年|现在)*(?P<value>\d{1,3})岁"),
)

SLOT_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (attribute, re.compile(pattern))
    for attribute, pattern in (*PLACES, *_ENGLISH, *_GERMAN, *_FRENCH, *_SPANISH, *_CHINESE)
)
# "I work as a nurse at Acme" tells of a job, and of an employer too.
WORKPLACE = re.compile(rf"{SELF}work(?:s|ing)? as (?:an? |the )?[a-z][a-z -]{{1,40}}? (?:at|for) (?:the )?{PROPER}")

# Whom there is one of; of anybody and anything else there may be several, and a new one needn't replace the old one.
_ONE_KIN_WORDS = """
wife husband partner girlfriend boyfriend fiancé fiance fiancée fiancee spouse mother mom mum father dad frau mann
mutter vater femme mari compagne compagnon copine copain mère père esposa esposo mujer marido pareja novia novio madre
padre 妻子 老婆 太太 丈夫 老公 女朋友 男朋友 妈妈 爸爸
"""
ONE_KIN = frozenset(_ONE_KIN_WORDS.split())
# A new one comes beside the others.
PETS = re.compile(
    r"(?:dog|cat|puppy|kitten|parrot|hamster|rabbit|horse|bird|turtle|pet|hund|katze|chien|chatt?e?|perr[oa]|"
    r"gat[oa]|狗|猫)$",
    re.IGNORECASE,
)
# What one can have several of: only a change ("I now work at …", "I moved to …") retires the one that is known.
SEVERAL = frozenset(
    [
        "home",
        "employer",
        "job",
        "job title",
        "nickname",
        "nationality",
        "religion",
        "native language",
        "mother tongue",
        "license plate",
        "user name",
        "username",
    ]
)
CHANGE = re.compile(
    r"\b(?:now|nowadays|these days|(?-i:new)|moved|relocated|switched|changed|started|starting|hired|promoted|accepted|"
    r"took|"
    r"got (?:a|the|my) (?:new )?(?:job|position)|no longer|any ?more|instead|renamed|became|has become|"
    r"jetzt|nun|inzwischen|mittlerweile|gezogen|umgezogen|neuerdings|maintenant|désormais|déménagé|emménagé|ahora|"
    r"mudé|mudado|mudó)\b|现在|目前|搬|改",
    re.IGNORECASE,
)
# Who says so of what one has went back to it.
AGAIN = re.compile(r"\b(?:again|wieder|de nouveau|otra vez|de nuevo)\b", re.IGNORECASE)
CORRECTION = re.compile(
    r"\W*(?:no\b[,.!]|no wait|nope|sorry|oops|whoops|ups|correction|actually|wait|hang on|hold on|scratch that|"
    r"my (?:mistake|bad)|I meant|I mean|nein|entschuldigung|ich meinte|perdón|pardon|quise decir|不对|抱歉)",
    re.IGNORECASE,
)
# What holds at times only, or besides something else, or was undone, replaces nothing and isn't replaced.
# On one day something changed; "on Mondays" it would hold at times.
ON_A_DAY = re.compile(
    rf"\b(?:on|over|at|in|during) (?:the |last |this |next )*(?:{WEEKDAY}|week-?end|morning|afternoon|evening|spring|"
    r"summer|autumn|fall|winter)(?!s)\b",
    re.IGNORECASE,
)
PARTLY = re.compile(
    r"\b(?:(?:on|at|over|during) (?:the |most |some )?(?:week-?ends?|week-?days?|week ?nights|side|mornings?|nights?|"
    r"evenings?|holidays|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?)|"
    r"in (?:the )?(?:mornings?|evenings?|afternoons?|summers?|winters?|spring|autumn|fall|off-?season)|part[- ]time|"
    r"freelance|volunteer\w*|second (?:job|home)|side (?:job|gig|hustle)|half (?:of )?the|every other|sometimes|"
    r"occasionally|as well|too|(?:and|but) (?:then )?(?:(?:I )?(?:moved|came|went|am) )?(?:back|returned)|both|"
    r"am Wochenende|nebenbei|nebenher|abends|le week-?end|à mi-temps|los fines de semana|周末)\b",
    re.IGNORECASE,
)
