"""The words that `plan` looks for, by language, and how they are found: whole words, whatever the case and punctuation.

Lists are casefolded (ß is ss) and without punctuation. Scripts without spaces are matched character by character.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from langmem_plus.text import words

# A longer message says something of its own, whatever it begins with.
CUE_CHARACTERS = 120


def _phrases(text: str) -> tuple[str, ...]:
    """The phrases of a comma-separated list, longest first, so that the longest match wins."""
    found = {" ".join(phrase.split()) for phrase in text.split(",")} - {""}
    return tuple(sorted(found, key=lambda phrase: (-len(phrase), phrase)))


GREETINGS_AND_THANKS = _phrases(
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

ACKNOWLEDGEMENTS = _phrases(
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
FILLERS = _phrases(
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

CONTINUITY = _phrases(
    """
    continue, please continue, go on, please go on, keep going, carry on, go ahead, proceed, next, and then, more,
    tell me more, more please, say more, elaborate, please elaborate, expand on that, finish that, finish your answer,
    you stopped, you got cut off, what did you just say, what you just said, you just said, i just said,
    what did i just say, what was that, repeat, repeat that, say that again, say it again, come again, once more,
    one more time, try again, again, rephrase, rephrase that, reword that, say it differently, shorter,
    make it shorter, longer, make it longer, simpler, make it simpler, in simpler words, summarize this,
    summarise this, summarize that, summarise that, summarize the above, summarise the above,
    summarize this conversation, summarise this conversation, summarize our conversation, summarise our conversation,
    your last answer, your last message, your last reply, your previous answer, your previous message,
    your answer above, my last message, my last question, my previous message, my previous question, the last message,
    the previous message, the above, mentioned above, as above, earlier in this conversation, earlier in this chat,
    earlier in this thread, in this conversation, in this chat, in this thread, translate that, translate it,
    explain that again, why did you say that, what do you mean, what do you mean by that,
    weiter, mach weiter, bitte weiter, fortfahren, bitte fortfahren, fahre fort, fahr fort, mehr davon,
    wiederhole das, wiederhol das, bitte wiederholen, nochmal, noch einmal, kürzer, länger, einfacher,
    was hast du gerade gesagt, was meinst du, was meinst du damit, deine letzte antwort, fasse das zusammen,
    das obige,
    continue s'il te plaît, continuez, poursuis, vas y, la suite, répète, répétez, redis le, encore une fois,
    plus court, plus long, plus simple, qu'est ce que tu viens de dire, que viens tu de dire, que veux tu dire,
    ta dernière réponse, résume cela, ci dessus,
    continúa, continua, sigue, sigue por favor, adelante, prosigue, repite, repite eso, repítelo, otra vez,
    una vez más, más corto, más largo, más simple, qué acabas de decir, que acabas de decir, qué quieres decir,
    tu última respuesta, tu respuesta anterior, resume esto,
    继续, 请继续, 接着说, 继续说, 往下说, 再说一遍, 再说一次, 重复一遍, 你刚才说什么, 你刚才说了什么, 你刚刚说什么,
    刚才说的, 简短一点, 详细一点, 什么意思, 你的意思是, 总结一下上面, 上面的内容, 続けて, 続けてください, もう一度,
    계속, 계속해 줘
    """
)

# Words that may stand beside a continuity cue.
CONTINUITY_FILLERS = _phrases(
    """
    please, could you, can you, would you, will you, from where you left off, from where we left off,
    where you left off, where we left off, with, that, this, it, me, now, ok, okay, yes, yeah, sure, thanks, of, on,
    in, to, and, the, a, what, was, did, is, do, you, i, say, said, mean, about, for, again, just, your, my,
    bitte, kannst du, könntest du, das, es, mir, ja, und, jetzt,
    s'il te plaît, s'il vous plaît, peux tu, oui, et,
    por favor, puedes, podrías, sí, si, y, eso, 请, 吧, 你, 能, 可以, 一下, 是, 了, 的, 吗, 好
    """
)

DOCUMENTS = _phrases(
    """
    document, documents, docs, file, files, folder, folders, directory, workspace, repository, repo, codebase, readme,
    spreadsheet, pdf, attachment, attachments, wiki, handbook, knowledge base, manual, policy, policies, pricing,
    dokument, dokumente, dokumenten, dokumentation, datei, dateien, ordner, verzeichnis, handbuch, anhang,
    fichier, fichiers, dossier, dossiers, pièce jointe, documentation, manuel,
    documento, documentos, archivo, archivos, carpeta, carpetas, directorio, adjunto, documentación,
    文件, 文档, 文件夹, 资料库, 附件, 手册, 知识库
    """
)

# A file's name or a path: not a web address, not a number, not an abbreviation such as "e.g.".
_SUFFIXES = (
    "md|mdx|txt|rst|adoc|pdf|docx?|odt|rtf|tex|xlsx?|ods|csv|tsv|pptx?|odp|jsonl?|ya?ml|toml|ini|cfg|conf|xml|html?|css|"
    "sql|sqlite|db|log|ipynb|py|pyi|js|jsx|mjs|ts|tsx|go|rs|java|kt|cc|cpp|hpp|cs|rb|php|swift|sh|bash|zsh|ps1|"
    "dockerfile|lock|env|png|jpe?g|svg"
)
ANCHOR = re.compile(
    rf"(?<![\w@/.:-])(?:@?(?:[\w.-]+/)*[\w-][\w.-]*\.(?:{_SUFFIXES})|(?:\.{{1,2}}|~|/[\w.-]+)/[\w./-]+)(?![\w@/])",
    re.IGNORECASE,
)

# Third persons and demonstratives: they name what an earlier message said.
PRONOUNS = frozenset(
    """
    he him his she her hers it its they them their theirs this that these those there one ones former latter same
    er sie es ihn ihm ihr ihnen sein seine dies diese dieser dieses das dort damit davon
    il elle ils elles lui leur eux cela ça ceci celui celle
    él ella ellos ellas eso esto esa ese esos esas aquello lo ello
    """.split()  # noqa: SIM905 - a list of words reads better than their quotes
)
PRONOUNS_UNSPACED = ("他", "她", "它", "这个", "那个", "这里", "那里", "这些", "那些")

# Words that a message begins with when it goes on from the one before.
CONNECTIVES = frozenset(
    """
    and but or also then so yes no ok okay sure
    und aber oder auch dann ja nein doch
    et mais ou aussi alors puis oui non
    y pero o también entonces sí no
    """.split()  # noqa: SIM905 - as above
) | {"what about", "how about"}
CONNECTIVES_UNSPACED = ("呢", "は", "는", "은")
FIRST_PERSON = frozenset({"i", "me", "my", "mine", "we", "us", "our", "ours"})


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


def first_phrase(text: str, phrases: Iterable[str]) -> str | None:
    """The first of the phrases that the normalised text holds, on the boundaries of words."""
    padded = f" {text} "
    for phrase in phrases:
        wanted = normalise(phrase)
        if wanted and (f" {wanted} " in padded or (unspaced(wanted[-1]) and wanted in text)):
            return phrase
    return None


def without_phrases(text: str, phrases: Iterable[str]) -> str:
    """The text as it was written, less the phrases: whatever case, spacing and punctuation they have in it."""
    for phrase in phrases:
        parts = [re.escape(word) for word in normalise(phrase).split()]
        if parts:
            pattern = r"[\W_]+".join(parts)
            text = re.sub(rf"(?<!\w){pattern}(?!\w)", " ", text, flags=re.IGNORECASE)
    return " ".join(text.split())


def _ends(text: str, end: int) -> bool:
    return end >= len(text) or text[end] == " " or unspaced(text[end - 1]) or unspaced(text[end])
