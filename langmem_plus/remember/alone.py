"""Whether a clause is a fact of its own: what stands around it may change its truth, its time or its speaker.

"As a child, I moved to Paris" tells no move of today, "He said, I moved to Paris" none of the user's, and "I moved to
Paris, but I'm back in Leeds" one that is over. A clause is cut off from what is surely harmless: a greeting, a
question, a request, a statement of one's own. From anything else it isn't.
"""

from __future__ import annotations

import re

from langmem_plus.remember.fronted import left_out
from langmem_plus.remember.sentences import ends_question, is_condition, opens_question, strip_lead

_GREETING = re.compile(
    r"(?:(?:hi|hello|hey|good (?:morning|evening|afternoon)|dear|thanks?|thank you|thx|great|perfect|awesome|"
    r"cool|nice|"
    r"sure|yes|no|ok|okay|sounds? (?:good|great)|got it|that (?:sounds|makes|is|['’]s)|you['’]re|i see|guess what|"
    r"(?:some |the )?(?:good|great|big|bad|sad|exciting|small|quick)? ?(?:news|update|question|note|reminder|"
    r"heads-?up|"
    r"background|context|info(?:rmation)?|fyi|ps)|correction|about me|a bit about me|unfortunately|luckily|"
    r"fortunately|sadly|finally|apparently not|also|first(?: of all)?|in fact|in addition|besides|moreover|"
    r"furthermore|"
    r"hallo|guten (?:tag|morgen|abend)|moin|danke|salut|bonjour|merci|hola|buenos días|gracias|buenas)\b|"
    r"你好|您好|嗨|大家好|谢谢|好的|对了)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"(?:(?:please|can|could|would) )?(?:you )?(?:please )?(?:help|recommend|suggest|give|show|find|plan|"
    r"explain|list|compare|"
    r"tell me|make|create|generate|provide|remind|look|check|keep|remember|note|be|don['’]t|do not|let|use|answer|"
    r"consider(?!ing)|hilf|empfiehl|gib|aide|donne|recommande|ayúdame|recomienda|dame)\b",
    re.IGNORECASE,
)
# A statement of one's own: its subject, and where that is a thing, a verb.
_OWN = re.compile(
    r"(?:(?:I|we)\b|(?:ich|wir|je|nous|on|yo|nosotr[oa]s)\b|j['’]|"
    r"(?:my|our|mein\w*|unser\w*|mon|ma|mes|notre|nos|mis?|nuestr\w+)\b.*\b(?:is|are|was|were|has|have|had|can|"
    r"will|does|"
    r"do|don['’]t|doesn['’]t|can['’]t|isn['’]t|aren['’]t|lives?|works?|loves?|likes?|hates?|drinks?|eats?|"
    r"prefers?|wants?|"
    r"needs?|plays?|goes|got|came|just|ist|sind|hat|haben|heißt|wohnt|arbeitet|mag|est|sont|a|ont|s['’]appelle|"
    r"habite|"
    r"travaille|es|son|tiene|tienen|se llama|vive|trabaja)\b|(?:my|our) .*['’]s\b|"
    r"(?:soy|estoy|tengo|vivo|trabajo|estudio|prefiero|me (?:llamo|gusta|encanta))\b|我)",
    re.IGNORECASE | re.DOTALL,
)
# Whoever says what follows, but for the user; and what isn't meant, whoever thinks or dreams it.
_ADDRESSED = r"(?: (?:to )?(?:me|us|him|her|them|you|that|this|once|again|always|mir|uns|dass))*$"
_SAYING = re.compile(
    r"(?:^|(?<=\W))(?:sa(?:y|ys|id|ying)|t(?:ell|ells|old)|wr(?:ite|ites|ote)|claim(?:s|ed)?|reads?|asked|"
    r"answered|replied|"
    rf"insist(?:s|ed)?|goes|lyrics?|quote|sag(?:t|te)|meint(?:e)?|dit|disait|dice|dijo){_ADDRESSED}|[说讲]$",
    re.IGNORECASE,
)
_THINKING = re.compile(
    r"\b(?:th(?:ink|inks|ought)|joke[sd]?|lied|dream(?:s|t|ed)?|imagine[sd]?|pretend(?:s|ed)?|believe[sd]?|"
    r"träum(?:e|te)|"
    rf"rêv\w+|soñ\w+){_ADDRESSED}|[梦想]$",
    re.IGNORECASE,
)
_I = re.compile(r"(?:I|we|ich|wir|je|j['’]ai|nous)\b|我", re.IGNORECASE)
_NOW = re.compile(
    r"(?:(?:but|and|aber|und|mais|et|pero|y)\s+)?(?:now|nowadays|these days|currently|jetzt|inzwischen|"
    r"mittlerweile|nun|"
    r"maintenant|désormais|ahora|actualmente)\b|现在|目前|如今",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?:früher|damals|bis(?:her| vor)|vorher|bis vor kurzem|antes|hasta|avant|autrefois|until|before|"
    r"previously)\b|以前|之前|我以前",
    re.IGNORECASE,
)
# What tells that something is over, or was so long ago, of what is told in another clause or sentence.
_UNDONE = re.compile(
    r"\b(?:back|return(?:ed|ing)?|left|quit|resigned|fired|laid off|later|after(?:wards)?|then|until|stayed|lasted|"
    r"gave up|moved|only|for now|for (?:the|an?|one|two|three|\d+) (?:day|week|weekend|month|year|summer|winter|"
    r"semester|term|while)s?|not (?:really|true|yet|for long)|"
    r"temporar\w*|dream\w*|films?|movies?|novels?|stor(?:y|ies)|games?|"
    r"zurück\w*|wieder|später|danach|dann|traum|geträumt|revenue?s?|retour\w*|rentrée?s?|après|puis|plus tard|rêve|"
    r"volv\w+|regres\w+|después|luego|sueño)\b|回|后来|以后|之后|梦|离开|辞",
    re.IGNORECASE,
)
_DOUBTS = re.compile(r"(?:or|oder|ou|o) (?:did|do|am|have|was|not|nicht|doch|pas|no)\b", re.IGNORECASE)
_LONG_AGO = re.compile(
    r"\b(?:used to|ago|ages|when|(?:I|we|that|those) (?:was|were|had)|years?|child\w*|kid|young|teen\w*|"
    r"twenties|student|"
    r"school|college|university|those days|damals|früher|als|jahren?|kind|jung|(?:ich|wir) war\w*|war (?:ich|"
    r"wir)|quand|"
    r"ans|enfant|jeune|étais|cuando|años|niñ[oa]|joven|(?:19|20)\d\d)\b|小时候|当时|那时|年",
    re.IGNORECASE,
)
_LATELY = re.compile(
    r"\b(?:just|recently|now|yesterday|today|these days|(?:this|last) (?:week\w*|month|\w+day)|(?:days?|"
    r"weeks?) ago|tomorrow|"
    r"jetzt|nun|gestern|heute|gerade|kürzlich|inzwischen|hier|récemment|maintenant|désormais|ayer|ahora|"
    r"recientemente)\b|"
    r"现在|昨天|上周|最近|刚",
    re.IGNORECASE,
)


def frames(piece: str, clause: str) -> bool:
    """Whether a piece in front of a clause may say when, where or by whom the clause is said.

    >>> frames("As a child", "I moved to Paris"), frames("Hi", "I moved to Paris")
    (True, False)
    """
    said = left_out(strip_lead(piece)).strip(" ,;:–—-")
    if not re.search(r"\w", said) or opens_question(said) or ends_question(said):
        return False
    if _THINKING.search(said) or (_SAYING.search(said) and not _I.match(said)):
        return True
    if (
        _GREETING.match(piece.strip(" ,;:–—-"))
        or _GREETING.match(said)
        or _REQUEST.match(said)
        or (_BEFORE.match(said) and _NOW.match(clause))
    ):
        return False
    return is_condition(said) or not _OWN.match(said)


def may_undo(beside: str, statement: str) -> bool:
    """Whether what is said beside a statement may tell that it is over, or, where it isn't told as of late, that it was
    so long ago. A question tells nothing but a doubt.

    >>> may_undo("I came back a year later.", "I moved to Paris."), may_undo("It is lovely.", "I moved to Paris.")
    (True, False)
    """
    if ends_question(beside):
        return _DOUBTS.match(beside) is not None  # "I moved to Paris, or did I?"
    return _UNDONE.search(beside) is not None or not (_LATELY.search(statement) or not _LONG_AGO.search(beside))


def tells_now(clause: str) -> bool:
    """Whether a clause says in front that it holds now, whatever was before it."""
    return _NOW.match(clause) is not None


_CONTRAST = re.compile(
    r"(?:but|yet|although|though|except|however|aber|doch|mais|pero|sin embargo)\b[\s,]*|但是?|不过", re.IGNORECASE
)
_NO_SUBJECT = re.compile(
    r"(?:only|not|never|no|just|sometimes|rarely|seldom|when|if|unless|until|since|for|in|on|at|with|without|mostly|nur|"
    r"nicht|nie|kein\w*|wenn|selten|seulement|pas|jamais|si|sauf|solo|sólo|no|nunca|cuando)\b|只|不",
    re.IGNORECASE,
)
_REFERS = re.compile(
    r"\b(?:it|that|this|them|they|he|she|him|her|there|one|es|ihn|sie|das|dort|ils?|elles?|ça|cela)\b|\bl['’]|[他她它]",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:cancel\w*|call(?:ed)? off|fell through|postpone\w*|chang\w+|sold|died|gone|broke\w*|lost|stop\w*|over|"
    r"leaving|any ?more|no longer|quit\w*|abgesagt|storniert|verkauft|gestorben|aufgehört|nicht mehr|annul\w+|vendu\w*|"
    r"arrêt\w+|plus|vend\w+|muri\w+|dej\w+|ya no)\b|取消|不再|卖了|去世",
    re.IGNORECASE,
)
_REPAIR = (
    r"(?:(?:oh |ah )?no,? wait|wait,? no|wait|sorry|scratch that|strike that|i mean(?:t)?|so (?:i|we) thought|or|"
    r"actually,? no|correction|moment|nein|halt|quatsch|ich meine?|besser gesagt|oder|enfin|je veux dire|pardon|ou|"
    r"mejor dicho|perdón|digo|不对|我是说|哦不)"
)
_OPENS_REPAIR = re.compile(rf"{_REPAIR}(?!\w)", re.IGNORECASE)
_ENDS_REPAIR = re.compile(rf"(?:^|[\s,;:–—-]){_REPAIR}\W*$", re.IGNORECASE)


def tells_lately(statement: str) -> bool:
    """Whether a statement says that it holds since lately."""
    return _LATELY.search(statement) is not None


def tells_own(clause: str) -> bool:
    """Whether a clause begins as a statement of one's own does."""
    return _OWN.match(clause) is not None


def takes_back(before: str, piece: str) -> bool:
    """Whether a piece of a sentence may take back, mend or limit what the piece in front of it tells.

    >>> takes_back("I booked a table", "but they cancelled it"), takes_back("I live in Leeds", "but I work in York")
    (True, False)
    >>> takes_back("It is on Monday, sorry", "I meant Tuesday")
    True
    """
    if ends_question(piece):
        return False
    if _ENDS_REPAIR.search(before) or _OPENS_REPAIR.match(strip_lead(piece)) or _OPENS_REPAIR.match(piece):
        return True
    contrast = _CONTRAST.match(piece)
    if contrast is None:
        return False
    told = piece[contrast.end() :]
    return any(sign(told) for sign in (_NO_SUBJECT.match, _REFERS.search, _OVER.search, _UNDONE.search))
