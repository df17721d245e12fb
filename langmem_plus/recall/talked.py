"""Questions about what was said earlier between the two of us: "What did we decide about the hotel?", "Erinnerst du
dich an unser Gespräch über Lissabon?".

What counts is the form of a sentence: it asks (by a question mark, a question word or a request such as "tell me"),
and it is about what *we* said, discussed or decided. "We decided to move" tells, and "What did we eat?" asks of
something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from langmem_plus.small_talk import is_question, normalise
from langmem_plus.text import SENTENCE

_LONGEST = 400  # characters of a sentence; what is longer was pasted

# Each language: what asks in itself; what asks after a request or in a question; what asks for "our conversation".

_WHEN_EN = r"yesterday|last (?:week|month|year|night)|this (?:week|morning)|back then"
_OFTEN_EN = (
    r"(?:(?:already|ever|even|just|actually|finally|again|last|all|both|really|then|originally|previously|recently|"
    rf"earlier|once|also|first|been|not|{_WHEN_EN}) ){{0,2}}"
)
_WE_EN = r"(?:we|you and i|you and me|the two of us|we two|we both)"
_SAY_EN = r"say|discuss|talk|chat|mention|decide|agree|conclude|settle on|arrange|plan|go over|come up with|land on"
_SAID_EN = (
    r"said|discussed|talked|talking|chatted|chatting|mentioned|decided|agreed|concluded|settled on|arranged|planned|"
    r"went over|gone over|came up with|come up with|landed on|discussing|saying|spoken about|spoke about|"
    r"speaking about|spoken of|spoke of|speaking of"
)
_DID_EN = (
    rf"(?:(?:did|didn't) {_WE_EN} {_OFTEN_EN}(?:{_SAY_EN}|speak (?:about|of|last))"
    rf"|(?:had|have|hadn't|haven't|were) {_WE_EN} {_OFTEN_EN}(?:{_SAID_EN})|did {_WE_EN} last speak)\b"
)
_ENGLISH = (
    rf"\b(?:what|when|where|which|who|whom|how|why)(?: [\w'-]+){{0,3}}? {_DID_EN}"
    rf"|^(?:(?:and|but|so|hi|hey|hello|ok|okay|well|wait) )*{_DID_EN}",
    rf"(?:what|how|whether|everything|anything|all|(?:which|how|what) [\w'-]+)(?: it was)?(?: that)? {_WE_EN}"
    rf"(?:'ve|'d| had| have| were)? {_OFTEN_EN}(?:{_SAID_EN})\b"
    rf"|(?:the|that|those|this|these) (?:[\w'-]+ ){{1,3}}(?:that |which )?{_WE_EN}(?:'ve|'d| had| have| were)? "
    rf"{_OFTEN_EN}(?:discussed|talked about|spoke about|spoken about|spoke of|mentioned|agreed on|settled on)\b",
    rf"(?:when|where|why|who|whom) {_WE_EN}(?:'ve|'d| had| have)? {_OFTEN_EN}(?:{_SAID_EN})\b"
    r"|our talks? (?:about|on)\b",
    r"our (?:[\w'-]+ ){0,2}?(?:conversation|discussion|chat)s?\b",
    r"remember|recall|remind me|tell me|summari[sz]e|recap|repeat|look up|find|i (?:have |'ve )?(?:forgot|forgotten)|"
    r"i'd like to know|i wonder|list|refresh my memory",
    r"was|were|did",
)

_PP_DE = (
    r"gesprochen|geredet|besprochen|gesagt|diskutiert|entschieden|beschlossen|ausgemacht|vereinbart|abgemacht|"
    r"festgelegt|festgehalten|unterhalten|erwähnt|verabredet|geeinigt|abgesprochen|geplant|überlegt"
)
_SPOKE_DE = r"sprachen|redeten|besprachen|sagten|diskutierten|beschlossen|vereinbarten|einigten|unterhielten"
_W_DE = (
    r"(?:wor\w+|was|wann|wo|wie|warum|wieso|weshalb|welche\w{0,2}|wofür|wovon|wogegen|wozu|womit|"
    r"(?:über|von|auf|zu|mit|für|bei) (?:was|wen|wem|welche\w{0,2}))"
)
_GERMAN = (
    rf"\b{_W_DE} (?:\w+ ){{0,2}}?(?:(?:haben|hatten) wir (?:[\w'-]+ ){{0,7}}?(?:{_PP_DE})|(?:{_SPOKE_DE}) wir)\b"
    rf"|^(?:(?:und|aber|also|hallo|hi|hey|sag mal|ok|okay) )*(?:haben|hatten) wir (?:[\w'-]+ ){{0,7}}?(?:{_PP_DE})\b",
    rf"(?:\b{_W_DE}|\b(?:über|von|auf|zu|für) (?:das|den|die|dem|der)|alles was|ob|wie viel\w?) "
    rf"(?:\w+ )?wir (?:[\w'-]+ ){{0,7}}?(?:(?:{_PP_DE}) (?:haben|hatten)|(?:{_SPOKE_DE}))\b",
    r"(?!)",
    r"unser\w{0,2} (?:\w+ ){0,2}?(?:gespräch\w{0,2}|unterhaltung\w{0,2}|diskussion\w{0,2}|chats?)\b",
    r"erinner\w+|ich kann mich nicht (?:mehr )?erinnern|weisst du|wissen sie|sag mir|sage mir|sag mal|fass|fasse|"
    r"weiss nicht mehr|vergessen|zeig mir|wiederhol\w*|sagen|such\w?",
    r"war|waren|ging|kam",
)

_PP_FR = (
    r"dit|parlé|discuté|décidé|convenu|conclu|évoqué|abordé|mentionné|retenu|débattu|échangé|planifié|choisi|"
    r"mis d'accord"
)
_OFTEN_FR = r"(?:(?:déjà|donc|finalement|encore|bien|tous|hier|aussi|jamais) ){0,2}"
_WE_FR = (
    r"(?:nous (?:en )?(?:avons|avions)|nous nous (?:sommes|étions)|on (?:en )?(?:a|avait)|on s'(?:est|était)) "
    rf"{_OFTEN_FR}(?:{_PP_FR})|(?:nous )?(?:parlions|disions|discutions)"
)
_FRENCH = (
    r"(?:\bqu'|\bque |\bquoi |\boù |\bquand |\bcomment |\bpourquoi |\bcombien |\bquel\w* (?:\w+ )?)"
    rf"(?:(?:en )?(?:avons|avions) nous|(?:en )?(?:a t|avait) on|s'(?:est|était) on) {_OFTEN_FR}(?:{_PP_FR})\b"
    r"|\b(?:quoi|que|comment) (?:parlions|disions|discutions) nous\b"
    rf"|\bon (?:en )?(?:a|avait|s'est|s'était) {_OFTEN_FR}(?:{_PP_FR}) (?:\w+ )?quoi\b"
    rf"|^(?:(?:et|mais|alors|bonjour|salut) )*(?:avons|avions|a t|avait) (?:nous|on) {_OFTEN_FR}(?:{_PP_FR})\b",
    rf"(?:\bqu'est ce (?:que |qu'|dont )|^est ce (?:que |qu')|\bce (?:que |qu'|dont )|\bquoi |\boù |\bcomment |"
    rf"\bpourquoi |\bcombien |\bquel\w* \w+ |\b(?:dont|duquel|de laquelle) )(?:{_WE_FR})\b",
    rf"\b(?:quand |si )(?:{_WE_FR})\b",
    r"\bno(?:tre|s) (?:[\w']+ ){0,2}?(?:conversation|discussion|échange|entretien)s?\b",
    r"souviens|souvenez|rappelles?|rappelez|rappeler|dis moi|dites moi|me dire|me redire|sais plus|oublié|"
    r"résum\w+",
    r"était|étaient|portait|avons|a",
)

_DONE_ES = (
    r"(?:hemos|habíamos|estuvimos|estábamos) (?:(?:ya|antes|al final|todos|también|ayer) )?(?:dicho|hablado|discutido|"
    r"comentado|acordado|conversado|mencionado|decidido|quedado|concluido|platicado|charlado|planeado|hablando|"
    r"discutiendo|comentando|conversando|charlando|platicando)"
)
_SAID_ES = (
    r"(?:(?:nos|lo) )?(?:dijimos|discutimos|comentamos|acordamos|conversamos|decidimos|concluimos|"
    r"charlamos|platicamos|planeamos|hablábamos|decíamos|discutíamos|comentábamos|" + _DONE_ES + r")"
)
_TALK_ES = r"(?:hablamos|quedamos|" + _SAID_ES + r")"
_ASKS_ES = r"\b(?:qué|que|cuál|cuáles|cuándo|dónde|cómo|cuánto|cuánta|cuántos|quién|por qué)"
_SPANISH = (
    rf"^(?:(?:y|pero|entonces|hola|oye|bueno) )*(?:(?:de|a|en|con|sobre|para|acerca de) )?{_ASKS_ES} "
    rf"(?:fue lo que |era lo que |es lo que |(?:\w+ )(?!que\b))?{_SAID_ES}\b"
    rf"|\b(?:de|sobre|acerca de) qué (?:\w+ )?{_TALK_ES}\b|\ben qué (?:\w+ )?{_TALK_ES}\b"
    r"|\ba qué (?:acuerdo|conclusión|conclusiones) (?:llegamos|habíamos llegado|hemos llegado)\b",
    rf"^(?:(?:y|pero|entonces|hola|oye|ya|no|nosotros) )*{_DONE_ES}\b"
    rf"|\b(?:lo|el|la|los|las|del|al) (?:que|cual) {_TALK_ES}\b",
    rf"{_ASKS_ES} (?:\w+ )?{_TALK_ES}\b|\bsi {_SAID_ES}\b",
    r"nuestr[ao]s? (?:\w+ ){0,2}?(?:conversaci(?:ón|ones)|charlas?|discusi(?:ón|ones)|plática)\b",
    r"recuerdas?|recordar|recordás|acuerdas?|acordás|acuerdo|recuerdo|dime|dígame|decirme|olvidé|olvidado|olvidó|"
    r"resum\w+|resúme\w+|recuérd\w+",
    r"fue|era|fueron|trató|trataba|terminó|quedó",
)

_SAY_ZH = r"(?:(?<![听小据传])说|聊|谈|讨论|商量|决定|约定|商定|提)"
_DONE_ZH = r"(?:过|了|到|好|定)"
_ASKS_ZH = r"(?:什么|哪|怎么(?!样)|多少|谁|几|吗|呢|没有|啥)"
_CHINESE = (
    rf"(?:我们|咱们)[^ 你您]{{0,14}}?{_SAY_ZH}{_DONE_ZH}[^ 你您]{{0,14}}?{_ASKS_ZH}"
    rf"|(?:我们|咱们)[^ 你您]{{0,8}}?{_ASKS_ZH}[^ 你您]{{0,10}}?{_SAY_ZH}(?:{_DONE_ZH}|[^ 你您]{{0,8}}的$)",
    r"(?!)",
    rf"(?:我们|咱们)[^ 你您]{{0,14}}?{_SAY_ZH}(?:{_DONE_ZH}|的)",
    r"(?:我们|咱们)[^ 你您]{0,14}?(?:对话|谈话|聊天|讨论|交谈)",
    r"记得|告诉我|忘了|忘记|总结",
    r"(?!)",
)


@dataclass(frozen=True)
class _Form:
    """How a language asks.

    Attributes:
        asks: asks in itself.
        requested: asks behind a request that a sentence begins with.
        in_question: what only asks in a question.
    """

    asks: re.Pattern[str]
    requested: re.Pattern[str]
    in_question: tuple[re.Pattern[str], ...]


def _form(
    asks: str, asked: str, told: str, conversation: str, request: str, past: str, *, spaced: bool = True
) -> _Form:
    edge = r"\b" if spaced else ""
    lead = r"(?:[\w'-]+ ){0,3}?" if spaced else "[^ ]{0,6}?"
    return _Form(
        re.compile(asks),
        re.compile(rf"^{lead}{edge}(?:{request}){edge}.{{0,80}}?{edge}(?:{asked}|{told}|{conversation})"),
        (
            re.compile(rf"{edge}(?:{asked})"),
            re.compile(rf"{edge}(?:{request}){edge}.{{0,80}}?{edge}(?:{told}|{conversation})"),
            re.compile(rf"{edge}(?:{past}) (?:[\w'-]+ ){{0,3}}?{conversation}"),
            re.compile(rf"^.{{0,40}}?{edge}{conversation}.{{0,40}}?{edge}(?:{past}){edge}"),
        ),
    )


_FORMS = (_form(*_ENGLISH), _form(*_GERMAN), _form(*_FRENCH), _form(*_SPANISH), _form(*_CHINESE, spaced=False))


def asks_what_we_said(text: str) -> str | None:
    """The words that ask what we said, discussed or decided earlier; None where nothing does.

    >>> asks_what_we_said("Hi! What did we decide about the hotel?")
    'what did we decide'
    >>> asks_what_we_said("We decided to move. What did we forget?") is None
    True
    """
    return next(_found(text), None)


def _found(text: str) -> Iterator[str]:
    for sentence in SENTENCE.findall(text):
        if len(sentence) > _LONGEST:
            continue
        said = normalise(sentence)
        question = normalise(sentence.rpartition("¿")[2]) if is_question(sentence) else ""
        for form in _FORMS:
            for pattern in (form.asks, form.requested):
                if match := pattern.search(said):
                    yield match[0]
            for pattern in form.in_question if question else ():
                if match := pattern.search(question):
                    yield match[0]
