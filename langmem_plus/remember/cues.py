"""What makes a clause worth remembering: patterns a language, each with the kind of fact that it announces.

English is covered well; German, French, Spanish and Chinese by their commonest forms. A pattern is matched at the start
of a clause without its lead (`sentences.strip_lead`). Which language a clause is in is never asked: the patterns
begin with pronouns and words that tell it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from langmem_plus.prompts import FactKind
from langmem_plus.remember.cues_abroad import CHINESE, FRENCH, GERMAN, SPANISH
from langmem_plus.remember.names import GIVEN_NAME, ORIGINS


@dataclass(frozen=True)
class Cue:
    """A pattern and what it announces.

    Args:
        kind: the kind of fact.
        weight: which cue wins where a turn has more than may be kept; higher wins.
        pattern: matched at the start of a clause.
    """

    kind: FactKind
    weight: int
    pattern: re.Pattern[str]


def _cue(kind: FactKind, weight: int, pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> Cue:
    return Cue(kind, weight, re.compile(pattern, flags))


_ADV = (
    r"(?:(?:really|generally|usually|always|much|strongly|also|still|just|definitely|personally|typically|"
    r"absolutely|do|"
    r"now|actually|truly|particularly|especially|totally|kind of|kinda|normally|mostly|recently|currently|already|"
    r"finally|officially|never|often|sometimes|rarely|only|mainly|regularly|have|both|all) )*"
)
_I = (
    r"(?:now,? |nowadays,? |these days,? )?(?:(?:my [\w'’-]+(?: [A-Z][\w'’-]+)? and )?I|we)(?:['’](?:m|ve|re)|"
    r" am| are| have)? "
)
_NAME = r"(?:[A-Z][\w'’.-]*(?: [A-Z][\w'’.-]*){0,2}|(?:[Mm]y|[Oo]ur|[Tt]he|His|Her|Their) [\w-]+(?: [\w-]+)?)"
# What "I'm" tells of somebody's health, diet or nature; moods aren't among it.
_CONDITIONS = (
    r"(?:(?:not|no|also|an?|type|\d{1,2}|one|two|months?|weeks?|lactose|gluten|fructose|histamine|nut|dairy|"
    r"\w+ly|strict|lifelong|pre) )*"
    r"(?:(?:lactose|gluten|fructose|histamine)-)?(?:allergic|intolerant|vegetarian|vegan|pescatarian|"
    r"flexitarian|omnivore|"
    r"(?:pre-?)?diabetic|pregnant|co?eliac|asthmatic|epileptic|dyslexic|autistic|neurodivergent|"
    r"colou?r[- ]?blind|deaf|"
    r"hard of hearing|left-handed|right-handed|(?:gluten|sugar|alcohol|dairy)[- ]free|teetotal|sober|an[a]?emic|"
    r"bilingual|trilingual|multilingual|adopted|widowed|unemployed|self-employed|(?:short|near|far|long)-?sighted)"
    r"(?=$|[.,;!]| (?:to|and|but|since|now|with|any ?more|after|again|so|because|or|as|in|for|by|at|these|right|"
    r"too)\b)"
)
_HABIT = (
    r"(?!think|thought|find|found|feel|felt|wonder|say|said|see|saw|know|knew|wanted?|needed?|mean|meant|have|"
    r"had|get(?! up)|"
    r"got|been|was|am|forget|assume|try|struggle|end up|ask|hear|heard|believe|hope|hoped|wish|look)\w+ \w"
)
_EVERY = (
    r"(?:every|each) (?:\w+ )?(?:day|morning|afternoon|evening|night|week|weekend|month|year|spring|summer|autumn|"
    r"fall|winter|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)\b"
)
_NOT_IT = (
    r"(?! (?:to (?:know|see|ask|hear|understand|get|be able)|how|your|the (?:idea|sound|look)|these|this|those|"
    r"that)\b)"
)
_DATE = (
    r"\b(?:(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)(?:[a-z]*\.?) \d{1,2}|May \d{1,2}|\d{1,2}(?:st|nd|rd|"
    r"th)? "
    r"(?:of )?(?:January|February|March|April|May|June|July|August|September|October|November|December)|"
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|tomorrow|next (?:week|month|year|spring|summer|fall|autumn|winter)|"
    r"\d{1,2}/\d{1,2}|(?:19|20)\d\d\b)"
)

_DOSE = (
    r"\b(?:\d+(?:[.,]\d+)?\s?(?:mg|milligrams?|mcg|µg|micrograms?|g|grams?|ml|IU)|"
    r"(?:\d+|one|two|three|half an?) (?:units?|drops?|puffs?|tablets?|pills?|capsules?))\b"
)
_MEDICINE = (
    r"(?:medication|medicine|pills?|insulin|antibiotics?|antidepressants?|statins?|blood thinners?|beta[- ]blockers?|"
    r"painkillers?|supplements?|vitamins?|birth control|inhaler|steroids?|chemo(?:therapy)?)"
)

_ENGLISH = (
    _cue(
        "fact",
        6,
        r"(?:I|we) (?:really |just |also |still )?(?:can(?:['’])?t|can ?not) (?:eat|drink|tolerate|digest|"
        r"have (?=(?:any |much )?(?:gluten|dairy|lactose|nuts?|peanuts?|sugar|alcohol|caffeine|shellfish|soy|eggs?|"
        r"milk|wheat|fish|meat|pork)\b)) ?(?!it\b|that\b|this\b|them\b|any ?more\b|anything|enough|at\b|when|now\b|"
        r"today|yet|more|another|until|in\b|here|with|alone)\w+",
    ),
    _cue(
        "fact",
        5,
        r"(?:just|recently|finally) (?:moved|relocated)(?: back| over)? to (?-i:[A-Z])|"
        r"(?:yesterday|(?:last|this) \w+),? (?:I|we) (?:finally )?(?:moved|relocated)(?: back| over)? to (?-i:[A-Z])|"
        r"(?:just |recently |finally )?got (?:married|engaged|divorced)\b(?! (?:is|was|to be))|"
        r"just started (?:a|my) new job (?:at|with|as)\b",
    ),
    _cue(
        "fact",
        5,
        rf"{_I}{_ADV}(?:tak(?:e|es|ing)|on|us(?:e|es|ing)|inject(?:ing)?|need|prescribed|given|put on|swallow) "
        rf"(?:[\w%-]+ ){{0,4}}?(?:{_DOSE}|{_MEDICINE}\b)",
    ),
    _cue("fact", 5, r"(?:(?:my|our|the) (?:doctor|gp|dentist|psychiatrist|cardiologist)|I was) (?:has )?prescribed\b"),
    _cue(
        "instruction",
        7,
        r"(?:please )?(?:always|never) (?!(?:been|met|had|seen|tried|heard|used to|mind|thought|knew|the|a|"
        r"in)\b)[a-z]+",
    ),
    _cue(
        "instruction",
        7,
        r"(?:from now on|going forward|in (?:the )?future,|whenever I (?:ask|say|mention|"
        r"write))\b",
    ),
    _cue(
        "instruction", 7, r"(?:when I (?:ask|say|mention)|please (?:don['’]t|do not) ever|don['’]t ever|do not ever)\b"
    ),
    _cue("instruction", 7, r"(?:please )?(?:don['’]t|do not) .*\b(?:again|anymore|any more)\b"),
    _cue(
        "instruction",
        7,
        r"(?:I(?:['’]d)? (?:want|like|need|expect|prefer) you to|make sure (?:you|to)|be sure to) (?:always|never)\b",
    ),
    _cue("instruction", 7, r"remember to\b"),
    _cue("fact", 6, r"(?:my (?:\w+ )?name(?:['’]s| is)|(?:I(?:['’]m| am) called|I go by))\b"),
    _cue("fact", 6, rf"(?:(?:please |just |you can )*call me|I(?:['’]m| am)) {GIVEN_NAME}"),
    _cue(
        "fact",
        5,
        rf"I(?:['’]m| am) (?:(?:half|originally|also|part)[- ])*(?:{'|'.join(ORIGINS)})(?=$|[.,;!]| (?:and|but|by)\b)",
    ),
    _cue("fact", 5, r"I(?:['’]m| am) (?:originally |actually )?from (?-i:[A-Z])"),
    _cue("preference", 6, rf"I(?:['’]m| am) {_CONDITIONS}"),
    _cue(
        "fact",
        5,
        rf"{_I}{_ADV}(?:getting (?:married|divorced|engaged)|having (?:a baby|twins)|expecting (?:a|our|my|"
        rf"twins)|retiring|moving (?:house|in with|(?:back )?to (?-i:[A-Z])))",
    ),
    _cue("goal", 4, rf"{_I}{_ADV}learning (?!that\b|about\b|more\b|how\b|a lot\b|from\b|so\b|curve|as\b|what\b)\w"),
    _cue(
        "fact",
        3,
        rf"I (?:usually|always|normally|typically|generally|often|regularly|rarely|mostly|sometimes) {_HABIT}",
    ),
    _cue("fact", 3, rf"I {_HABIT}.*\b{_EVERY}"),
    _cue(
        "preference",
        6,
        rf"{_I}{_ADV}(?:prefer|enjoy|adore|hate|dislike|detest|loathe|favou?r|avoid|tend to)\b{_NOT_IT}",
    ),
    _cue("preference", 6, rf"{_I}{_ADV}(?:like|love)\b{_NOT_IT}"),
    _cue("preference", 6, r"(?:I['’]d|I would|we['’]d) (?:much )?(?:rather|prefer)\b"),
    _cue(
        "preference",
        6,
        rf"{_I}(?:can['’]t stand|cannot stand|(?:don['’]t|do not) {_ADV}(?:like|enjoy|eat|drink|want any))\b{_NOT_IT}",
    ),
    _cue(
        "preference",
        6,
        rf"{_I}{_ADV}(?:a (?:big |huge |real )?fan of|allergic|intolerant|into (?!an?\b|some|issues|trouble|"
        rf"problems)|fond of|vegan|vegetarian|partial to)\b",
    ),
    _cue(
        "preference",
        6,
        r"(?:my|our) (?:all-time |absolute |current |new )?favou?rite\b|.{3,60} (?:is|are) (?:now )?"
        r"my (?:all-time )?favou?rite\b",
    ),
    _cue(
        "preference",
        5,
        rf"{_I}{_ADV}(?:value|prioriti[sz]e|lean towards?|drawn to|more comfortable|find .{{3,60}} (?:more|better|"
        rf"easier|best|helpful|relaxing|boring|too))\b",
    ),
    _cue(
        "preference",
        5,
        rf"{_I}.*\b(?:over|rather than|instead of)\b (?!the (?:last|past|next|weekend|holidays|summer|years|"
        rf"course)\b)",
    ),
    _cue("preference", 5, r"my (?:\w+ )?preference\b|.{3,60} works? (?:best|better|well) for me\b"),
    _cue(
        "preference",
        5,
        rf"{_NAME},? (?:who )?{_ADV}(?:prefers|likes|loves|hates|dislikes|enjoys|avoids|can['’]t stand|wants|is "
        rf"allergic)\b",
        re.NOFLAG,
    ),
    _cue(
        "commitment",
        6,
        rf"{_I}{_ADV}(?:decided|committed|committing|promised|agreed|resolved|chosen|chose|opted|prioriti[sz]ed|"
        rf"settled on|pledged|sworn)\b",
    ),
    _cue(
        "commitment",
        5,
        r"(?:just )?(?:decided|promised|agreed|committed|committing|switching|adopting|going with|decision made|we "
        r"talked about it and agreed)\b",
    ),
    _cue(
        "commitment",
        5,
        r"Will (?!you|it|this|that|he|she|they|I|we|there|the|my|an?\b|any|all|our|your|his|her)[a-z]+ ",
        re.NOFLAG,
    ),
    _cue(
        "commitment", 5, rf"{_NAME} (?:has |have )?(?:just )?(?:decided|agreed|chose|promised|committed)\b", re.NOFLAG
    ),
    _cue("commitment", 4, r"(?:we(?:['’]re| are)|I(?:['’]m| am)) going to\b.*"),
    _cue(
        "commitment",
        4,
        rf"{_I}{_ADV}(?:planning (?:to|on|a)|plan to|switched|switching|signed up|enrolled|registered|booked|"
        rf"scheduled|quit|rescheduled)\b",
    ),
    _cue(
        "goal",
        4,
        r"(?:my|our) (?:\w+ ){0,2}(?:goal|aim|target|dream|ambition|deadline|budget|resolution)s? (?:is|are|was)\b",
    ),
    _cue(
        "goal",
        4,
        rf"{_I}{_ADV}(?:aiming|training for|saving (?:up )?for|preparing for|studying for|working towards?)\b",
    ),
    _cue(
        "goal",
        3,
        rf"{_I}{_ADV}trying to (?:lose|quit|learn|save|reduce|keep|eat|stop|cut|become|get (?:fit|better|into|"
        rf"healthier))\b",
    ),
    _cue(
        "fact",
        5,
        rf"{_I}{_ADV}(?:live|living|work|working (?:as|at|for|with|from)|study|studying|based|reside|grew up|was "
        rf"born|moved|relocated|married|divorced|engaged|single|retired|pregnant|from [A-Z])\b",
    ),
    _cue(
        "fact",
        5,
        r"I(?:['’]m| am) (?:(?:an?|the) (?!bit|little|lot|few|couple|huge|big fan|fan)\w+|\d{1,3}(?:\b(?! "
        r"(?:minutes?|hours?|days?|percent|%))))",
    ),
    _cue(
        "fact",
        4,
        rf"{_I}{_ADV}(?:own|drive|speak|play|teach|run|manage|attend|volunteer|coach|belong|raise|collect|"
        rf"practi[sc]e|commute|spend|spending|weigh|earn|earning|pay|paying|owe|use|using|taking|attending|"
        rf"practi[sc]ing|go to)\b(?! (?:it|this|that|these)\b)",
    ),
    _cue(
        "fact",
        4,
        rf"{_I}{_ADV}(?:have|had|got|gotten) (?!to\b|been|any|no idea|heard|some (?:questions?|trouble|issues?|"
        rf"problems?)|an? (?:\w+ )?(?:questions?|problems?|issues?|trouble|idea|doubt|feeling|look|concern|error|"
        rf"hard|good|lot of)|trouble|issues?|problems?|it\b|this|that)",
    ),
    _cue("fact", 4, r"(?:I|we)['’]ve had (?!an? (?:\w+ )?(?:problem|issue|question)|trouble|some)"),
    _cue(
        "fact",
        4,
        rf"(?:I|we)(?:['’]ve| have) {_ADV}(?:been \w+ing .*\b(?:for|since|twice|times|every|weekly|daily)\b|lived|"
        rf"worked|owned|known|completed|finished|reached|increased|improved|moved|bought|adopted|set|allocated|"
        rf"reduced|extended|started|joined|met|tried|added)\b",
    ),
    _cue(
        "fact",
        4,
        rf"{_I}{_ADV}(?:bought|adopted|graduated|joined|started|completed|finished|met|turned|won|lost|stopped|gave "
        rf"up|became|increased|set|allocated)\b",
    ),
    _cue(
        "fact",
        4,
        rf"{_I}{_ADV}no longer\b|(?:I|we) (?:don['’]t|do not|['’]m not|am not) .*\b(?:anymore|any more|any longer)\b",
    ),
    _cue(
        "fact",
        4,
        r"(?:my|our) (?!question|problem|issue|guess|understanding|apolog|code|point|concern|bad\b|mistake|current "
        r"code|only question|pleasure|thoughts?|favou?rite)[\w'’-]+(?: [\w'’-]+){0,4}? (?:is|are|has|have|lives?|"
        r"works?|was born|['’]s name)\b",
    ),
    _cue("fact", 4, r"(?:[Mm]y|[Oo]ur) [\w-]+,? [A-Z][\w-]+,? (?:is|has|lives|works|was)\b", re.NOFLAG),
    _cue("fact", 3, r"(?:just )?confirmed\b"),
    _cue("fact", 3, rf"{_I}{_ADV}never (?!mind\b)\w+|I['’]ve never \w+"),
    _cue("event", 3, rf"(?:I|we)(?:['’](?:m|ve|re|ll|d))? .*{_DATE}"),
    _cue(
        "event",
        2,
        rf"(?:[Mm]y|[Oo]ur) .*{_DATE}|{_NAME}(?: [a-z-]+){{0,3}} (?:is|has|was|are|invited|asked|wants|begins?|"
        rf"starts?|ends?).*{_DATE}",
        re.NOFLAG,
    ),
    _cue(
        "fact",
        3,
        rf"{_I}been (?!thinking|trying|wondering|looking|getting|meaning|considering|hoping|having|told|able|a "
        rf"while)\w+(?:ing|to)\b|I(?:['’]m| am) (?:located |currently )?in [A-Z]|I(?:['’]m| am) (?:leading|running|"
        rf"writing|working on|hosting|teaching)\b",
    ),
    _cue(
        "event",
        2,
        rf"I {_ADV}(?!wanted|needed|noticed|wondered|mentioned|asked|hoped|tried|liked|loved|used|realized|"
        rf"guess)(?:\w{{3,}}ed|went|took|gave|saw|read|ran|made|found|began|spent|wrote|drove|flew|ate|taught|built|"
        rf"sold|paid|broke|left|came)\b(?! (?:it|that|this|out|of|into)\b)",
    ),
    _cue(
        "fact",
        2,
        r"(?:I (?:honestly |really |strongly |still )?(?:think|believe|feel) (?:that )?(?:the|most|all|our|people|"
        r"every)|in my (?:opinion|view)|I(?:['’]m| am) (?:skeptical|sceptical|convinced|certain))\b",
    ),
)

CUES: tuple[Cue, ...] = (
    *_ENGLISH,
    *(_cue(*announcement) for announcement in (*GERMAN, *FRENCH, *SPANISH, *CHINESE)),
)
