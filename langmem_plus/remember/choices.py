"""What was chosen and agreed in a conversation, by rules, in the words in which it was said; pure, no I/O.

A choice is announced ("let's go with …", "wir nehmen …"). So is a meeting, which counts where a day, a time or a place
is named with it. Questions, conditions and maybes are none.
"""

from __future__ import annotations

import re

from langmem_plus.records import MemoryRecord
from langmem_plus.remember.beside import is_telling
from langmem_plus.remember.function_words import CALENDAR
from langmem_plus.remember.sentences import ends_question, strip_lead
from langmem_plus.remember.statements import wanted_sentences
from langmem_plus.speakers import Voice, name_of
from langmem_plus.text import words

_HYPOTHETICAL = re.compile(
    r"\b(?:if|whether|would|might|maybe|perhaps|n[o']t (?:yet )?decided|wenn|ob|falls|würde|vielleicht|noch nicht|"
    r"si|peut-être|pas encore|quizás?|tal vez|todavía no|aún no)\b|如果|要是|也许|可能|还没",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"\b(?:I|we)(?:['’]ve| have)?(?: (?:now|finally|also|just|both))* (?:decided|chose|chosen|agreed|settled|picked|"
    r"booked|opted)\b|"
    r"\b(?:I|we)(?:['’]ll| will|['’](?:m|re) going to| (?:am|are) going to)(?: \w+ly| just)? (?:go (?:with|for)|take|"
    r"stick (?:with|to)|choose|pick|book|buy|order|use)\b|"
    r"\blet['’]s (?:go (?:with|for|to)|fly|travel|use|take|stick|pick|book|do|keep|make it|say)\b|"
    r"\b(?:it is|that is|that['’]s) (?:decided|settled)\b|"
    r"\b(?:(?:ich habe|wir haben|haben wir|habe ich)\b.*\b(?:entschieden|beschlossen|gewählt|gebucht|geeinigt)|"
    r"ich (?:nehme|entscheide mich|buche)|wir (?:nehmen|machen es|buchen|entscheiden uns)|nehmen wir)\b|"
    r"(?:j['’]ai|nous avons|on a) (?:décidé|choisi|opté|réservé|convenu)|"
    r"\b(?:je (?:prends|choisis|réserve)|on (?:prend|choisit|part sur)|nous (?:prenons|choisissons)|prenons)\b|"
    r"\b(?:(?:he|hemos) (?:decidido|elegido|acordado|optado|reservado)|decid(?:í|imos)|eleg(?:í|imos)|acordamos|"
    r"(?:me quedo|nos quedamos) con|vamos (?:con|a (?:usar|tomar|reservar)))\b|"
    r"决定|选择了|选了|就(?:用|选|去|买|订)|定下来|订了|约好|说好了",
    re.IGNORECASE,
)
_MEETING = re.compile(
    r"\b(?:let['’]s|we(?:['’]ll| will| are going to|['’]re going to| shall)|I(?:['’]ll| will)|shall) (?:all )?"
    r"(?:meet|get together|gather)\b|\bwe(?:['’]re| are) meeting\b|"
    r"\b(?:wir treffen uns|treffen wir uns|lasst? uns (?:\w+ )*treffen|wir sehen uns|sehen wir uns|treffpunkt)\b|"
    r"\b(?:nos (?:vemos|reunimos|encontramos|juntamos)|quedamos|quedemos|nos veremos)\b|"
    r"\b(?:on se (?:voit|retrouve|rejoint|donne rendez-vous)|retrouvons-nous|rendez-vous|nous nous (?:voyons|"
    r"retrouvons))\b|见面|碰面|碰头|集合|不见不散",
    re.IGNORECASE,
)
_NEAR = """tomorrow tonight today noon midnight morgen heute übermorgen mittags mitternacht mañana hoy mediodía lunes
    martes miércoles jueves viernes sábado domingo demain midi lundi mardi mercredi jeudi vendredi samedi dimanche"""
_DAYS = CALENDAR | frozenset(_NEAR.split())
_CHINESE_DAY = re.compile(r"[今明后][天晚早]|周[一二三四五六日天末]|星期|[一二三四五六七八九十]+[月日号点]")


def choices_of(turn: MemoryRecord) -> list[str]:
    """What was decided and agreed in a turn, a sentence each, behind the speaker's name."""
    said = [sentence for sentence in wanted_sentences(turn.text) if _CHOICE.search(sentence) or _is_meeting(sentence)]
    chosen = [strip_lead(each) for each in said if not (ends_question(each) or _HYPOTHETICAL.search(each))]
    return [Voice(each, name_of(turn)).shown for each in chosen]


def _is_meeting(sentence: str) -> bool:
    if not _MEETING.search(sentence):
        return False
    named = is_telling(sentence) or not _DAYS.isdisjoint(words(sentence))
    return named or _CHINESE_DAY.search(sentence) is not None
