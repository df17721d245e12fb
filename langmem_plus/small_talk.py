"""Small talk: greetings, thanks and acknowledgements, by language; nothing is to be recalled for it, or remembered.

Lists are casefolded (ß is ss) and without punctuation. Scripts without spaces are matched character by character.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping, Sequence

from langmem_plus.text import words

# A longer message says something of its own, whatever it begins with.
CUE_CHARACTERS = 120
LESS = "-"  # begins a cue of one's own that takes a built-in one out


def phrases_of(text: str) -> tuple[str, ...]:
    """The phrases of a comma-separated list, longest first, so that the longest match wins."""
    found = {" ".join(phrase.split()) for phrase in text.split(",")} - {""}
    return tuple(sorted(found, key=lambda phrase: (-len(phrase), phrase)))


GREETINGS_AND_THANKS = phrases_of(
    """
    hi, hello, hey, hiya, howdy, greetings, yo, hi there, hello there, hey there, good morning, good afternoon,
    good evening, good night, morning, evening, goodnight, welcome back, nice to meet you, bye, goodbye, bye bye,
    see you, see you later, see you soon, see you tomorrow, see ya, later, talk to you later, take care, cheers,
    have a nice day, have a good day, have a great day, have a good one, thanks, thank you, thx, ty, tysm,
    thanks a lot, thanks a bunch, many thanks, thank you so much, thank you very much, thanks so much,
    much appreciated, i appreciate it, appreciate it, you are welcome, you're welcome, no problem, no worries,
    never mind, nevermind, sorry,
    hallo, guten morgen, guten tag, guten abend, gute nacht, moin, servus, grüss gott, gruezi, grüezi, tschüss,
    auf wiedersehen, bis später, bis bald, bis dann, bis morgen, ciao, danke, danke schön, dankeschön, danke dir,
    vielen dank, herzlichen dank, besten dank, danke sehr, tausend dank, bitte schön, gern geschehen,
    schönen tag noch,
    bonjour, bonsoir, bonne nuit, salut, coucou, au revoir, à bientôt, à plus, à plus tard, à demain, bonne journée,
    bonne soirée, merci, merci beaucoup, merci bien, un grand merci, mille mercis, de rien,
    hola, buenos días, buenos dias, buenas, buenas tardes, buenas noches, buen día, qué tal, adiós, adios,
    hasta luego, hasta mañana, hasta pronto, chao, chau, gracias, muchas gracias, mil gracias, muchísimas gracias,
    de nada,
    你好, 您好, 你们好, 大家好, 嗨, 哈喽, 早, 早安, 早上好, 上午好, 中午好, 下午好, 晚上好, 晚安, 再见, 拜拜, 回头见,
    明天见, 谢谢, 谢谢你, 谢谢您, 多谢, 非常感谢, 感谢, 十分感谢, 不客气, 辛苦了,
    こんにちは, こんばんは, おはよう, おはようございます, ありがとう, ありがとうございます, さようなら, 안녕하세요,
    안녕, 감사합니다, 고마워요,
    olá, oi, bom dia, boa tarde, boa noite, obrigado, obrigada, tchau, buongiorno, buonasera, grazie, grazie mille,
    arrivederci, привет, здравствуйте, спасибо, большое спасибо, до свидания, مرحبا, السلام عليكم, شكرا
    """
)

ACKNOWLEDGEMENTS = phrases_of(
    """
    ok, okay, okey, k, kk, okey dokey, alright, all right, right, got it, i see, understood, makes sense,
    that makes sense, fair enough, noted, sounds good, that sounds good, looks good, perfect, great, awesome, nice,
    cool, excellent, wonderful, fantastic, amazing, brilliant, lovely, super, sweet, very good, good, fine,
    that's great, that's perfect, that's fine, that helps, that was helpful, very helpful, good to know, good job,
    well done, great job, nice one, will do, wow, haha, hahaha, lol, hmm, hm, ah, aha, oh, i understand,
    alles klar, verstanden, in ordnung, prima, klasse, toll, gut, sehr gut, perfekt, wunderbar, ausgezeichnet, genau,
    passt, das passt, das hilft, gut zu wissen, einverstanden,
    d'accord, entendu, compris, je vois, parfait, super, génial, très bien, c'est bon, ça marche, excellent, bien,
    bon,
    vale, de acuerdo, entendido, ya veo, perfecto, genial, estupendo, muy bien, está bien, bien, excelente, bueno,
    claro,
    好, 好的, 好吧, 好呀, 好啊, 行, 可以, 明白, 明白了, 知道了, 了解, 收到, 没问题, 没关系, 太好了, 很好, 不错, 哈哈,
    哈哈哈, 嗯, 嗯嗯, 哦,
    なるほど, わかりました, 了解です, 알겠습니다, 네 알겠습니다,
    certo, va bene, perfetto, perfeito, entendi, хорошо, понятно, ясно
    """
)

# Words that may stand beside small talk without making it more than that.
FILLERS = phrases_of(
    """
    so, very, much, a lot, again, everyone, all, there, then, well, and, for that, for your help, for the help,
    for everything, for now, for the info, for the information, for your time, my friend, buddy, mate, man, dude,
    really, just, indeed, dear, to you, you too, too, today,
    und, sehr, dir, ihnen, nochmal, noch mal, dann, für alles, für deine hilfe, für ihre hilfe, für die hilfe, auch,
    zusammen, alle,
    et, très, pour tout, pour votre aide, pour ton aide, à tous, à toi, à vous, alors, encore, aussi,
    y, muy, mucho, por todo, por tu ayuda, por su ayuda, a todos, entonces, también, 啊, 呀, 哦, 啦, 了, 吧, 你, 您,
    的, 帮助
    """
)


_QUESTION_MARKS = frozenset("?？¿؟⁇")


def normalise(text: str) -> str:
    """Casefolded words, one space apart, without punctuation; apostrophes inside of words stay.

    >>> normalise("  Hi  THERE!! It’s me…")
    "hi there it's me"
    """
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return " ".join(re.findall(r"\w+(?:'\w+)*", folded))


def is_question(text: str) -> bool:
    """Whether a question mark of any script stands in the text."""
    return "?" in text or not (text.isascii() or _QUESTION_MARKS.isdisjoint(text))


def unspaced(character: str) -> bool:
    """Whether the character is of a script that is written without spaces."""
    return not character.isascii() and len(words(character * 3)) == 2


@functools.lru_cache(maxsize=64)
def _by_first_letter(cues: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for cue in cues:
        found.setdefault(cue[0], []).append(cue)
    return found


def find_cues(text: str, cues: Sequence[str]) -> tuple[list[str], str]:
    """The cues in a normalised text, each taken out once at its place, and what is left.

    >>> find_cues("ok thanks anne", ("thanks", "ok"))
    (['ok', 'thanks'], 'anne')
    """
    found: list[str] = []
    left, position, apart, begins = "", 0, False, _by_first_letter(tuple(cues))
    while position < len(text):
        near = begins.get(text[position], ())
        cue = next((cue for cue in near if text.startswith(cue, position) and _ends(text, position + len(cue))), None)
        if cue:
            found.append(cue)
            position += len(cue)
            apart = True
        elif text[position] == " ":
            position += 1
            apart = True
        else:
            end = position + 1
            while not unspaced(text[position]) and end < len(text) and text[end] != " " and not unspaced(text[end]):
                end += 1
            left += " " * (apart and bool(left)) + text[position:end]
            position, apart = end, False
    return found, left


def _ends(text: str, end: int) -> bool:
    return end >= len(text) or text[end] == " " or unspaced(text[end - 1]) or unspaced(text[end])


def find_small_talk(text: str, *, asked: bool = False, cues: tuple[str, ...] = ()) -> str | None:
    """The first cue, if a text asks nothing and is made of greetings, thanks and acknowledgements alone.

    Args:
        text: the user's words.
        asked: True after a question, which an acknowledgement answers.
        cues: what is small talk, too, or isn't, as `amended` reads it; after a question, what is added is an answer.

    >>> find_small_talk("Great, thanks a lot!"), find_small_talk("Thanks, I live in Lyon")
    ('great', None)
    """
    flat = normalise(text)
    if len(flat) > CUE_CHARACTERS or is_question(text):
        return None
    known = _GREETINGS if asked else SMALL_TALK
    if cues:
        known = amended(known, tuple(cue for cue in cues if cue.startswith(LESS)) if asked else cues)
    found, rest = find_cues(flat, known)
    if not found or (rest and find_cues(rest, FILLERS)[1]):
        return None
    return found[0]


def longest_first(cues: Sequence[str]) -> tuple[str, ...]:
    """The cues in the order in which the longest match wins."""
    return tuple(sorted(cues, key=lambda cue: (-len(cue), cue)))


@functools.lru_cache(maxsize=64)
def amended(built_in: tuple[str, ...], cues: tuple[str, ...]) -> tuple[str, ...]:
    """A built-in list with one's own cues, longest first: each is added, ``-cue`` taken out, and ``-*`` takes out all
    that is built in.

    >>> amended(("good morning", "hi"), ("Ahoi!", "-Hi"))
    ('good morning', 'ahoi')
    """
    less = {normalise(cue) for cue in cues if cue.startswith(LESS)}
    kept = () if f"{LESS}*" in {cue.strip() for cue in cues} else tuple(cue for cue in built_in if cue not in less)
    added = (normalise(cue) for cue in cues if not cue.startswith(LESS))
    return longest_first(tuple(dict.fromkeys((*kept, *filter(None, added)))))


_GREETINGS = longest_first(GREETINGS_AND_THANKS)
SMALL_TALK = longest_first(GREETINGS_AND_THANKS + ACKNOWLEDGEMENTS)
_WITH_FILLERS = longest_first(tuple({*SMALL_TALK, *FILLERS}))


def is_small_talk(text: str) -> bool:
    """Whether nothing of a text is left without greetings, thanks, acknowledgements, and the words beside these.

    >>> is_small_talk("Thanks a lot!"), is_small_talk("Thanks, I live in Lyon.")
    (True, False)
    """
    return not find_cues(normalise(text), _WITH_FILLERS)[1]
