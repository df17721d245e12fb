"""Questions for all that is known of who asks: "What do you know about me?", "Who am I?", "Was habe ich dir erzählt?".

No word of what was told is in them, so neither words nor vectors find it: what is known is listed, facts first. A
question that asks for more ("What do you know about my dog?") is searched by it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from langmem_plus.config import MemoryConfig
from langmem_plus.recall.candidates import Floats
from langmem_plus.recall.readings import read
from langmem_plus.records import MemoryHit
from langmem_plus.small_talk import normalise
from langmem_plus.speakers import key_of, name_of

_LONGEST = 120  # characters
# Between the words of a question, in any number; none changes what is asked for.
_LITTLE = {
    "en": r"(?:please|so|ok|okay|hey|hi|now|then|already|actually|really|currently|still|even|just|exactly|far|else)",
    "de": r"(?:bitte|so|jetzt|denn|eigentlich|schon|noch|alles|bisher|bis|jetzt|also|genau|mal|mir|dir|du)",
    "fr": r"(?:stp|donc|alors|déjà|encore|tout|maintenant|exactement|vraiment|jusqu|à|présent|ici)",
    "es": r"(?:por|favor|ya|todavía|aún|hasta|ahora|exactamente|realmente|pues|todo)",
}
_ASKED = {
    "en": (
        r"(?:what|how much) (?:do|did|can) you (?:know|remember|recall|store|have|tell|say)(?: me)? (?:about|of|on) me",
        r"(?:what|how much) (?:have|had|did) you (?:learned|learnt|learn|stored|store|saved|save|remembered|noted"
        r"|got|gathered) (?:about|of|on) me",
        r"(?:tell|show|give|list|summari[sz]e|recap)(?: me)?(?: (?:everything|all|anything|what|whatever|a summary of"
        r"|of what|that|the things|the facts)){0,4}(?: that)? you(?: have| ve)? (?:know|known|remember|learned|learnt"
        r"|have|stored|saved|got)(?: stored| saved)?(?: (?:about|of|on) me)?",
        r"(?:tell|describe) (?:me about )?(?:me|myself)(?: to me)?",
        r"(?:do|can) you (?:know|remember) (?:who i am|me|anything about me|something about me)",
        r"(?:do you (?:know|remember) )?who (?:am i|i am)",
        r"what (?:have i|did i|i have|i ve) (?:told|tell|said to|say to|shared with|share with) you"
        r"(?: about (?:me|myself))?",
        r"what (?:is|s|do you have) (?:in|stored in) (?:your|my|the) memory(?: (?:about|of) me)?",
        r"what do you remember",
    ),
    "de": (
        r"(?:was|wie viel) (?:weisst|kennst|erinnerst) (?:über|von) (?:mich|mir)",
        r"was (?:weisst|hast) (?:über|von) (?:mich|mir) (?:gespeichert|gemerkt|gelernt|erfahren|behalten|weisst)?",
        r"was hast über mich (?:gespeichert|gemerkt|gelernt|erfahren|behalten)",
        r"(?:erzähl|erzähle|sag|sage|zeig|zeige|nenn|nenne|liste) (?:was )?über mich (?:weisst|gespeichert hast)",
        r"(?:weisst )?wer (?:bin ich|ich bin)",
        r"(?:kennst|erinnerst) (?:dich )?(?:an )?mich",
        r"was (?:habe|hab) ich (?:über mich )?(?:erzählt|gesagt|verraten|mitgeteilt)",
    ),
    "fr": (
        r"(?:que|qu est ce que|qu) (?:sais tu|tu sais|savez vous|vous savez|as tu retenu|tu as retenu|te rappelles tu"
        r"|retiens tu) (?:de|sur|à propos de) moi",
        r"(?:tu sais|vous savez) quoi (?:de|sur) moi",
        r"(?:(?:dis|dites|raconte|racontez) moi )?(?:ce )?(?:que|qu) (?:tu sais|vous savez) (?:de|sur) moi",
        r"qui (?:suis je|je suis)",
        r"(?:tu sais|sais tu) qui je suis",
        r"(?:te souviens tu|tu te souviens|vous souvenez vous) de moi",
        r"(?:que|qu est ce que) (?:t ai je|je t ai|vous ai je|je vous ai) (?:dit|raconté|appris)",
    ),
    "es": (
        r"qué (?:sabes|recuerdas|conoces|has aprendido|sabe|recuerda|guardaste|has guardado) (?:de|sobre|acerca de) mí",
        r"(?:dime|cuéntame|muéstrame) (?:lo )?que (?:sabes|recuerdas) (?:de|sobre|acerca de) mí",
        r"(?:sabes )?quién soy(?: yo)?",
        r"(?:me conoces|te acuerdas de mí|me recuerdas)",
        r"qué te (?:he dicho|he contado|dije|conté)(?: (?:de|sobre) mí)?",
    ),
}
_CHINESE = re.compile(
    r"(?:请)?(?:你|您)?(?:"
    r"(?:都|还)?(?:知道|记得|了解|记住了?)(?:关于)?我(?:的)?(?:哪些|什么|多少|些什么)?(?:事情?)?(?<!我)(?<!我的)"
    r"|对我(?:都)?(?:了解|知道|记得)(?:多少|什么|些什么|哪些)"
    r"|(?:告诉我|说说|列出|总结(?:一下)?)(?:你|您)?(?:所)?(?:知道|记得|了解)的?(?:关于)?我的?(?:一切|所有|事情|全部|信息|情况)+"
    r"|(?:还)?(?:认识|记得|知道)我(?:是谁)?"
    r")(?:吗|呢)?|我是谁(?:呢)?|我(?:都|曾经)?(?:跟|和|对|向|给)?(?:你|您)(?:都)?(?:说|讲|告诉)过?(?:你)?(?:什么|哪些|些什么)(?:事情?)?"
    r"|我(?:都)?告诉过(?:你|您)(?:什么|哪些|些什么)(?:事情?)?"
)
_PATTERNS = {language: re.compile("|".join(patterns)) for language, patterns in _ASKED.items()}
_WORDS = {language: re.compile(rf"\b{little}\b ?") for language, little in _LITTLE.items()}
# What no fact was drawn of tells less surely what is known.
_TURN = 0.5


def asks_all(question: str) -> bool:
    """Whether a question asks for all that is known of who asks, and nothing else.

    >>> asks_all("So, what do you know about me?"), asks_all("What do you know about my dog?")
    (True, False)
    """
    if len(question) > _LONGEST:
        return False
    flat = normalise(question).replace("'", " ").replace("’", " ")
    if _CHINESE.fullmatch(flat.replace(" ", "")):
        return True
    return any(
        pattern.fullmatch(text)
        for language, pattern in _PATTERNS.items()
        for text in (flat, " ".join(_WORDS[language].sub("", flat).split()))
    )


def split_known(
    hits: Sequence[MemoryHit], asker: str, config: MemoryConfig
) -> tuple[list[MemoryHit], Floats, list[MemoryHit]]:
    """What is known of who asks, how relevant each is, in [0, 1], and the other hits: facts, and what the asker told.

    Args:
        hits: what was listed and found.
        asker: the name of who asks, "" where nobody is named: then all that people told counts.
        config: turns are never below ``score_threshold``.
    """
    known = [hit for hit in hits if _tells_of(hit, asker)]
    others = [hit for hit in hits if not _tells_of(hit, asker)]
    turn = max(_TURN, config.score_threshold or 0.0)
    return known, np.array([1.0 if hit.record.role == "memory" else turn for hit in known], np.float64), others


def _tells_of(hit: MemoryHit, asker: str) -> bool:
    record, name = hit.record, name_of(hit.record)
    if asker and name and key_of(name) != key_of(asker):
        return False
    return record.role == "memory" or (record.role == "user" and read(record.text).tells > 0)
