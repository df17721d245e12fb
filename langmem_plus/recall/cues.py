"""The words that `plan` looks for, by language, beside small talk: whole words, whatever the case and punctuation.

Lists are casefolded (ß is ss) and without punctuation. Scripts without spaces are matched character by character.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from langmem_plus.small_talk import normalise, phrases_of, unspaced

CONTINUITY = phrases_of(
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
CONTINUITY_FILLERS = phrases_of(
    """
    please, could you, can you, would you, will you, from where you left off, from where we left off,
    where you left off, where we left off, with, that, this, it, me, now, ok, okay, yes, yeah, sure, thanks, of, on,
    in, to, and, the, a, what, was, did, is, do, you, i, say, said, mean, about, for, again, just, your, my,
    bitte, kannst du, könntest du, das, es, mir, ja, und, jetzt,
    s'il te plaît, s'il vous plaît, peux tu, oui, et,
    por favor, puedes, podrías, sí, si, y, eso, 请, 吧, 你, 能, 可以, 一下, 是, 了, 的, 吗, 好
    """
)

DOCUMENTS = phrases_of(
    """
    document, documents, docs, file, files, folder, folders, directory, workspace, repository, repo, codebase, readme,
    spreadsheet, pdf, attachment, attachments, wiki, handbook, knowledge base, manual, policy, policies, pricing,
    richtlinie, richtlinien, preisliste, liesmich, wissensdatenbank,
    dokument, dokumente, dokumenten, dokumentation, datei, dateien, ordner, verzeichnis, handbuch, anhang,
    fichier, fichiers, dossier, dossiers, pièce jointe, documentation, manuel, tarifs, tarification, lisez moi,
    base de connaissances,
    documento, documentos, archivo, archivos, carpeta, carpetas, directorio, adjunto, documentación, política,
    políticas, precios, tarifas, léeme, base de conocimientos,
    文件, 文档, 文件夹, 资料库, 附件, 手册, 知识库, 政策, 定价, 价格表, 说明书
    """
)

# A file's name, a path or a domain: not an address of mail, not a number, not an abbreviation such as "e.g.".
_SUFFIXES = (
    "md|mdx|txt|rst|adoc|pdf|docx?|odt|rtf|tex|xlsx?|ods|csv|tsv|pptx?|odp|jsonl?|ya?ml|toml|ini|cfg|conf|xml|html?|css|"
    "sql|sqlite|db|log|ipynb|py|pyi|js|jsx|mjs|ts|tsx|go|rs|java|kt|cc|cpp|hpp|cs|rb|php|swift|sh|bash|zsh|ps1|"
    "dockerfile|lock|env|png|jpe?g|svg"
)
_DOMAINS = "com|org|net|edu|gov|info|io|dev|ai|app|cloud|tech|co|eu|de|fr|es|ch|nl|uk|cn|jp"
ANCHOR = re.compile(
    rf"(?<![\w@/.:-])(?:@?(?:[\w.-]+/)*[\w-][\w.-]*\.(?:{_SUFFIXES})|(?:\.{{1,2}}|~|/[\w.-]+)/[\w./-]+)(?![\w@/])"
    rf"|(?<![\w@.:-])(?:https?://)?(?:[a-z0-9-]+\.)+(?:{_DOMAINS})(?![\w@-]|\.\w)",
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


def first_phrase(text: str, phrases: Iterable[str]) -> str | None:
    """The first of the phrases that the normalised text holds, on the boundaries of words."""
    padded = f" {text} "
    for phrase in phrases:
        wanted, begins_anywhere = _sought(phrase)
        if wanted and (wanted in padded or (begins_anywhere and wanted.strip() in text)):
            return phrase
    return None


@functools.lru_cache(maxsize=4096)
def _sought(phrase: str) -> tuple[str, bool]:
    """A phrase between blanks, as a normalised text holds it, and whether it needs none; "" where it has no words."""
    wanted = normalise(phrase)
    return (f" {wanted} ", unspaced(wanted[-1])) if wanted else ("", False)


def without_phrases(text: str, phrases: Iterable[str]) -> str:
    """The text as it was written, less the phrases: whatever case, spacing and punctuation they have in it."""
    for phrase in phrases:
        parts = [_spelled(word) for word in normalise(phrase).split()]
        if parts:
            pattern = r"[\W_]+".join(parts)
            if not unspaced(parts[-1][-1]):
                pattern = rf"(?<!\w){pattern}(?!\w)"
            text = re.sub(pattern, " ", text, flags=re.IGNORECASE)
    return " ".join(text.split())


def _spelled(word: str) -> str:
    """A pattern for the spellings that `normalise` makes one."""
    return re.escape(word).replace("ss", "(?:ss|ß)").replace("'", "['’]")
