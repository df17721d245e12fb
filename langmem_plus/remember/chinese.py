"""What a short Chinese text is about, and whom it names: cut where function words are, names where they are given."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langmem_plus.remember.function_words import CHINESE_SPLIT

_HAN = re.compile(r"[\u4e00-\u9fff]+")
_KANA_OR_HANGUL = re.compile(r"[\u3041-\u30ff\uac00-\ud7a3]")
_OTHER_WORD = re.compile(r"[^\W\d_\u4e00-\u9fff]+")
_LONGEST = 6  # characters of a phrase
_MEASURE = re.compile("^[一二三四五六七八九十两几半]+[个只杯位台部条辆本张件家份种次套间块瓶双名]")
_AMOUNT = re.compile("[一二三四五六七八九十百千万两]+[分年月日岁点次]?")

_GIVEN, _PLACED = 0.95, 0.85
_SURE, _ONE_CHARACTER = 0.7, 0.35
_END = r"(?=[，。！？、；\s]|[在是的和做读]|工作|上班|旅游|出差|玩|上学|$)"
_X = "\u4e00-\u9fff"
_NAMES = (
    (re.compile(rf"(?:名叫|叫做|叫)(?P<name>[{_X}]{{2,4}}?){_END}"), _GIVEN),
    (re.compile(rf"姓(?P<name>[{_X}]{{1,2}}?){_END}"), _GIVEN),
    (re.compile(rf"(?:住在|搬到|搬去|来自|飞往|前往|去)(?P<name>[{_X}]{{2,5}}?){_END}"), _PLACED),
    (re.compile(rf"在(?P<name>[{_X}]{{2,6}}?)(?=做|工作|上班|读|上学|任职|当)"), _PLACED),
    (
        re.compile(
            rf"(?P<name>(?:(?![是在的去到从给和跟对我你他她])[{_X}]){{2,6}}?(?:大学|公司|医院|银行|集团|中学|市|省))"
        ),
        _PLACED,
    ),
)
_NO_NAME = re.compile(r"学习|上班|公司里|医院里|学校|超市|家$|^(?:大学|公司|医院|银行|集团|中学|城市|[我你他她那这一])")


def is_chinese(text: str) -> bool:
    """Whether most of a text is Chinese."""
    characters = sum(map(len, _HAN.findall(text)))
    return characters > len(_OTHER_WORD.findall(text)) and not _KANA_OR_HANGUL.search(text)


def without_chinese(text: str) -> str:
    """The rest of a text, such as names in Latin letters, in its place."""
    return _HAN.sub(lambda run: "，" * len(run.group()), text)


def chinese_names(text: str) -> list[tuple[str, float]]:
    """Each name, in the order of the text, and how sure it is."""
    placed = [
        (match.start("name"), match["name"], sure)
        for pattern, sure in _NAMES
        for match in pattern.finditer(text)
        if not _NO_NAME.search(match["name"])
    ]
    return [(name, sure) for _, name, sure in sorted(placed)]


def chinese_phrases(text: str) -> Iterator[tuple[str, float]]:
    """What stands between function words and names, and how sure it is."""
    for name, _ in chinese_names(text):
        text = text.replace(name, "，")
    for run in _HAN.findall(text):
        for part in (_MEASURE.sub("", part) for part in CHINESE_SPLIT.split(run)):
            if 0 < len(part) <= _LONGEST and not _AMOUNT.fullmatch(part):
                yield part, _SURE if len(part) > 1 else _ONE_CHARACTER
