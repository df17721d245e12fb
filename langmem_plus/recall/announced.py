"""Statements in the form of a question: who asks "did you know that I'm allergic to nuts?" says so."""

from __future__ import annotations

import re

# What is asked is whether one heard of it, or was told; what follows is said.
# What repeats is bounded: texts of any length are read.
_FRAME = re.compile(
    r"""\b(?:
      (?:do|did|didn['’]?t|don['’]?t)\ you\ (?:already\ )?know
      |(?:did|didn['’]?t)\ I\ (?:ever\ |already\ |not\ )?(?:tell\ you|mention|say)
      |(?:have|haven['’]?t)\ I\ (?:ever\ |already\ |not\ )?(?:told\ you|mentioned|said)
      |(?:wusstest|weißt)\ du(?:\ (?:schon|eigentlich|überhaupt)){0,2}
      |hab(?:e)?\ ich(?:\ dir)?(?:\ (?:schon|eigentlich|mal|je)){0,3}\ (?:gesagt|erzählt|erwähnt)
      |(?:tu\ (?:le\ )?savais|vous\ (?:le\ )?saviez|tu\ sais|vous\ savez|savais-tu|saviez-vous|sais-tu|savez-vous)
      |(?:(?:je|j['’])\ ?(?:t['’]|vous\ )ai|t['’]ai-je|vous\ ai-je)(?:\ déjà)?\ dit
      |(?:sab[ií]as|sabes|sab[ií]a\ usted)(?:\ ya)?
      |(?:ya\ )?te\ (?:he\ (?:dicho|contado|mencionado)|dije|conté|mencioné)(?:\ ya)?
    )\b(?:\ (?:yet|before|already))?[,:]?\s{1,9}""",
    re.IGNORECASE | re.VERBOSE,
)
_THAT = re.compile(r"(?:(?:that|dass|daß|que)\b|qu['’])\s*", re.IGNORECASE)
# Without "that", a statement is where its subject stands first, and a verb after it; "my dog's name" isn't.
_SUBJECT = re.compile(
    r"(?:I|we|he|she|it|they|there)(?:['’]\w{1,2})?\s\w"
    r"|(?:my|our|his|her|their|the)\s(?:\w+\s){1,3}(?:is|are|was|were|has|have|had|can|can['’]t|will|isn['’]t|aren['’]t"
    r"|lives?|works?|likes?|loves?|hates?|plays?|speaks?|moved|died|got|left|bought|married)\s\w",
    re.IGNORECASE,
)
_CLAUSE = 500  # characters in which it is said at most
_ALTERNATIVE = re.compile(r"\b(?:or|oder|ou)\b|还是", re.IGNORECASE)
_WORDS = re.compile(r"\S+\s+\w")
_CHINESE = re.compile(
    r"[你您](?:知道|知不知道|听说过)(?P<what>[^?？]{2,60}?)[吗么]?\s{0,9}[?？]"
    r"|我(?:跟你|和你|对你)?(?:说过|提过|告诉过你)(?P<told>[^?？]{2,60}?)[吗么]\s{0,9}[?？]"
)
_ASKS_CHINESE = re.compile("什么|谁|哪|怎|几|多少|多[久大长远高]|为何|是否|是不是|有没有|会不会|能不能")
_ASSUMING = re.compile(
    r"(?:[?？]{1,9}[!！]{1,9}|[!！]{1,9}[?？]{1,9})\s{0,9}$"
    r"|[,，;–-]\s{0,9}(?:(?:do you )?remember|ok|okay|alright|all right|got it|understood|weißt du(?: noch)?"
    r"|erinnerst du dich|verstanden|alles klar|d['’]accord|tu te souviens|tu sais|compris|vale|de acuerdo|recuerdas"
    r"|¿?(?:sabes|recuerdas|vale)|记得吗|知道吗|明白吗)\s{0,9}[?？]{1,9}\s{0,9}$",
    re.IGNORECASE,
)
_INVERTED = re.compile(
    r"\W{0,9}\w{1,40}[\s-](?:I|you|we|he|she|it|they|ich|du|wir|ihr|er|sie|es|man|je|tu|nous|vous|il|elle|on)\b",
    re.IGNORECASE,
)


def announces(sentence: str) -> bool:
    """Whether a question says something by asking whether one knows it, or was told: "did I mention that …?", "wusstest
    du, dass …?", "tu savais que …?", "¿sabías que …?", "你知道…吗？"

    >>> announces("Did you know I'm allergic to nuts?"), announces("Did you know where I live?")
    (True, False)
    """
    for found in _FRAME.finditer(sentence):
        what = sentence[found.end() : found.end() + _CLAUSE]
        that = _THAT.match(what)
        says = _WORDS.match(what, that.end()) if that else _SUBJECT.match(what)
        if says and not _ALTERNATIVE.search(what):
            return True
    chinese = _CHINESE.search(sentence)
    said = (chinese["what"] or chinese["told"]) if chinese else ""
    return bool(said) and not _ASKS_CHINESE.search(said) and not _ALTERNATIVE.search(said)


def assumes(sentence: str) -> bool:
    """Whether a sentence takes for granted what it says, by its end and by the order of its words: "I live in Lyon,
    remember?", "I live in Lyon?!" A question word at its beginning is left to the caller.
    """
    if not _ASSUMING.search(sentence) or sentence.lstrip().startswith("¿"):
        return False
    return not _INVERTED.match(sentence) and not _ASKS_CHINESE.search(sentence)
