"""Letters as a reader takes them: what looks like a tag of ours is told by its shape, not by its bytes.

A reader, also a language model, takes ``‹/ｍеmory—context›`` for ``</memory_context>``. `find_tags` folds a text as a
reader would (entities and escapes decoded, compatibility forms and look-alikes made plain, joints and invisible
characters left out), and compares what follows each angle-like bracket with the words of the tags.
"""

from __future__ import annotations

import functools
import html
import re
import unicodedata
from collections.abc import Iterator, Sequence

_AMPERSAND = r"&(?:(?:amp|#0*+38|#[xX]0*+26);?)*+"
_ENTITY = (
    rf"{_AMPERSAND}(?:#0{{0,999}}\d{{1,7}};?|#[xX]0{{0,999}}[0-9a-fA-F]{{1,6}};?|[A-Za-z]{{2,31}};|[lLgG][tT]|[lr]aquo)"
)
_ESCAPE = r"\\u\{?0{0,99}([0-9a-fA-F]{2,6})\}?|\\x([0-9a-fA-F]{2})|%([0-9a-fA-F]{2})|\\0?(7[46])"
# The blocks in which angle brackets, angle quotation marks and signs of order stand; their names tell which are which.
_SIGNS = (
    "<>\u00ab\u00bb\u02c2\u02c3\u1433\u1438\u16b2\u16b7\u2039\u203a\u2264-\u2275\u22d6-\u22dd\u22e6\u22e7\u2329\u232a"
    "\u2343\u2344\u276c-\u2771\u27e8-\u27eb\u2976-\u2978\u2991-\u2994\u29c0\u29c1\u29fc\u29fd\u2a79-\u2aa9\u2af7-\u2afa"
    "\u3008-\u300b\ufe3d-\ufe40\ufe64\ufe65\uff1c\uff1e\U000e003c\U000e003e"
)
_MAYBE_ANGLE = re.compile(rf"[{_SIGNS}]|{_ENTITY}|{_ESCAPE}")
_ENTITIES = re.compile(_ENTITY)
_AMPERSANDS = re.compile(_AMPERSAND)
_ESCAPES = re.compile(_ESCAPE)
_ENCODED = re.compile(r"[&\\%]")
_OPENING_NAME = re.compile(
    r"LESS-THAN|\bLEFT\b.*\bANGLE|LEFT-POINTING|LEFT ARROWHEAD|LEFT ARC|CANADIAN SYLLABICS PA\b|KAUN"
)
_TAG_LETTERS = re.compile("[\U000e0020-\U000e007e]")  # not drawn, but they spell ASCII

# Letters of other scripts, digits and signs that are drawn as one of the letters of our tags, in either case.
_DRAWN_ALIKE = {
    letter: plain
    for plain, letters in {
        "c": "сСϲϹⲥⲤᏟꓚↄ¢ᄃ",
        "e": "еЕєЄεΕєҽ℮ЭэᎬꓰ3ҿ",
        "h": "һҺНнΗհҺᎻᏂꓧⲎⲏ",
        "i": "іІїЇιΙⅰӏӀᎥᏆꓲⲒⲓ1lLⳑıǀ",
        "m": "мМΜμᎷꓟⲘⲙϺ",
        "n": "пПиИηΝνոռղꓠⲚⲛᴨᏁ",
        "o": "оОοΟσօՕоⲟⲞꓳ0०০੦૦௦౦೦൦๐໐ဝ၀〇Ѳѳθⵔס",
        "p": "рРρΡϱքᏢꓑⲢⲣ",
        "r": "гГяЯᴦΓГⲅⲄꓣᏒᖇրґ",
        "s": "ѕЅςΣꓢᏚՏտ5ꜱ$",
        "t": "тТτΤ7ᎢꓔⲦⲧեէ†",
        "x": "хХχΧ×ⲭⲬꓫӿҳ᙮",
        "y": "уУүҮγΥυყꓬⲨⲩყᎩУ¥ў",
    }.items()
    for letter in letters
}
_LATIN = re.compile(r"\b(?:LATIN|SYMBOL|SQUARED|CIRCLED|INDICATOR)\b.*\bLETTER (?:[A-Z-]+ )*?([A-Z])(?: WITH\b.*)?$")


@functools.lru_cache(maxsize=8192)
def plain(char: str) -> str:
    """The letters that a reader takes a character for, in small ASCII where they can be; empty where it is none.

    ``m`` is ``rn``, which is drawn alike.

    >>> [plain(char) for char in ("Е", "ｔ", "ᴍ", "_", "x\\u0335"[1])]
    ['e', 't', 'rn', '', '']
    """
    if (drawn := _DRAWN_ALIKE.get(char)) is None and not char.isascii():
        parts = unicodedata.normalize("NFKD", char)
        if parts != char:
            return "".join(map(plain, parts))
        if unicodedata.category(char)[0] == "M":
            return ""
        named = _LATIN.search(unicodedata.name(char, ""))
        drawn = named[1].lower() if named else char.casefold() if char.isalnum() else ""
    elif drawn is None:
        drawn = char.lower() if char.isalnum() else ""
    drawn = _DRAWN_ALIKE.get(drawn, drawn)
    return drawn.replace("m", "rn")


@functools.lru_cache(maxsize=64)
def _skeleton(word: str) -> str:
    return "".join(map(plain, word))


def find_tags(text: str, tags: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The places of the opening brackets, from the left, that a reader takes for the beginning of one of the tags."""
    signs = [(match.start(), match.end(), kind) for match in _MAYBE_ANGLE.finditer(text) if (kind := _angle(match[0]))]
    words = [_skeleton(tag) for tag in tags]
    for number, (start, end, kind) in enumerate(signs):
        until = signs[number + 1][0] if number + 1 < len(signs) else len(text)
        if kind == "opening" and _begins_with(text, end, until, words):
            yield start, end


def _angle(found: str) -> str:
    char = found if len(found) == 1 else _decoded(found)[:1]
    if not char or not _MAYBE_ANGLE.fullmatch(char):
        return ""
    name = unicodedata.name(char, "")
    return "opening" if _OPENING_NAME.search(name) else "closing"


def _begins_with(text: str, start: int, stop: int, words: Sequence[str]) -> bool:
    """Whether a stretch of the text reads as one of the words, whatever stands between their letters."""
    raw = text[start:stop]
    stretches = [raw, _decoded(raw)] if _ENCODED.search(raw) else [raw]
    if _TAG_LETTERS.search(raw):
        stretches += [_TAG_LETTERS.sub("", stretch) for stretch in stretches]
    return any(_reads_as(stretch, words) for stretch in stretches)


def _reads_as(text: str, words: Sequence[str]) -> bool:
    read = ""
    for char in text:
        letters = plain(chr(ord(char) - 0xE0000) if "\U000e0020" <= char <= "\U000e007e" else char)
        if not letters:
            continue
        read += letters
        if any(read.startswith(word) for word in words):
            return True
        if not any(word.startswith(read) for word in words):
            return False
    return False


def _decoded(text: str) -> str:
    """The text with its entities and escapes as the characters that they stand for, also where they are nested."""
    for _ in range(4):
        before = text
        text = _ENTITIES.sub(lambda match: html.unescape(_AMPERSANDS.sub("&", match[0], count=1)), text)
        text = _ESCAPES.sub(lambda match: _char(next(filter(None, match.groups())), match), text)
        if text == before:
            break
    return text


def _char(digits: str, match: re.Match[str]) -> str:
    number = int(digits, 8 if match[4] else 16)
    return chr(number) if number <= 0x10FFFF else match[0]
