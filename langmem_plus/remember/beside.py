"""What was said beside the statements that make points of a summary by rules: all of it in one more point.

Such a point reads ``Also said: … · …``. As long as it is worked with, each of its lines is a point of its own, behind
the same mark, so that one may go and the others stay. What has no room is told shorter; then the oldest goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from langmem_plus.config import MemoryConfig
from langmem_plus.fence import strip_context
from langmem_plus.records import TURN_ROLES, MemoryRecord
from langmem_plus.remember.named import find_names
from langmem_plus.remember.sentences import clauses, sentences, strip_lead
from langmem_plus.remember.statements import forget_requests, wanted_sentences
from langmem_plus.small_talk import find_small_talk
from langmem_plus.speakers import Voice, name_of
from langmem_plus.text import words
from langmem_plus.tokens import counter

MARK, BETWEEN = "Also said: ", " · "
_MOST = 5  # sentences of one turn
_FEWEST_WORDS = 3  # of what is left of a sentence beside a statement
_LENGTHS = (240, 120, 60)  # characters of a line, the first at which all lines have room
_CUT = " …"
_DIGIT = re.compile(r"\d")

Fits = Callable[[str], bool]


def has_room(config: MemoryConfig) -> Fits:
    """Whether a summary may be as long as a text."""
    count = counter(config).count
    return lambda text: count(text) <= config.summary_max_tokens


def is_beside(point: str) -> bool:
    """Whether a point is a line of what was said beside."""
    return point.startswith(MARK)


def bare(point: str) -> str:
    """A point without the mark."""
    return point.removeprefix(MARK)


def unpacked(point: str) -> list[str]:
    """A point as it stands in a summary: its lines, each a point, where it tells what was said beside."""
    if not is_beside(point):
        return [point]
    return [MARK + line for each in bare(point).split(BETWEEN.strip()) if (line := each.strip())]


def packed(points: Iterable[str]) -> list[str]:
    """The points as they stand in a summary: what was said beside is one, where the first of it was."""
    found: list[str] = []
    lines: list[str] = []
    for point in points:
        if is_beside(point):
            if not lines:
                found.append(MARK)
            lines.append(bare(point))
        else:
            found.append(point)
    return [MARK + BETWEEN.join(lines) if point == MARK else point for point in found]


def lines_of(turn: MemoryRecord, stated: Sequence[str], *, whatever: bool = False) -> list[str]:
    """What a turn of the user's says beside some statements: sentences, behind the mark and the speaker's name. What
    the user wants to be forgotten, or not to be kept, is none, and small talk only where it is told ``whatever`` it is.
    """
    said = wanted_sentences(turn.text)
    if not sentences(turn.text):  # code alone, say: a word of it stands for that
        said = [" ".join(strip_context(turn.text).replace("`", " ").split())]
    found = [each for each in said if words(each) and not forget_requests(each)]
    told = [each for each in found if whatever or not find_small_talk(each)]
    left = [strip_lead(each) for sentence in told for each in _unstated(sentence, stated)]
    best = sorted(range(len(left)), key=lambda place: (bool(place) and not is_telling(left[place]), place))[:_MOST]
    name = name_of(turn)
    return [MARK + Voice(_on_one_line(left[place]), name).shown for place in sorted(best)]


def _unstated(sentence: str, stated: Sequence[str]) -> list[str]:
    """A sentence, or, where statements are in it, the clauses without one."""
    if not any(each in sentence for each in stated):
        return [sentence]
    left = [clause for clause in clauses(sentence) if not any(each in clause or clause in each for each in stated)]
    return [clause for clause in left if len(words(strip_lead(clause))) >= _FEWEST_WORDS]


def is_telling(sentence: str) -> bool:
    """Whether a sentence has a figure or a name."""
    return bool(_DIGIT.search(sentence) or find_names(sentence))


def _on_one_line(text: str) -> str:
    return " ".join(text.replace(BETWEEN.strip(), "-").split())


def is_of(line: str, turn: MemoryRecord) -> bool:
    """Whether a line, cut short or not, is a part of what was said in a turn."""
    own = Voice(bare(line), name_of(turn)).own.removesuffix(_CUT).strip()
    return turn.role in TURN_ROLES and bool(own) and own in _on_one_line(turn.text)


def fitted(lines: Sequence[str], fits: Fits) -> list[str]:
    """The lines, each as long as all have room; where they have none however short, without the oldest."""
    short = list(lines)
    for length in _LENGTHS:
        short = [_cut(line, length) for line in lines]
        if _has_room(short, fits):
            return short
    low, high = 0, len(short)  # how many go
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _has_room(short[middle:], fits) else (middle + 1, high)
    return short[low:]


def _has_room(lines: Sequence[str], fits: Fits) -> bool:
    return not lines or fits(packed(lines)[0])


def _cut(line: str, length: int) -> str:
    text = bare(line)
    if len(text) <= length:
        return line
    start = text[:length]
    return f"{MARK}{start[: start.rfind(' ')].rstrip() if ' ' in start[length // 2 :] else start}{_CUT}"
