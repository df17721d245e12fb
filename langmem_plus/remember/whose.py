"""Whose a line of an archive or a summary is: what one person wants to be forgotten takes away no line of another.

A line begins with the name of who says it ("Ann: I live in Lyon."), or tells of somebody by name ("Ann moved."). One
without is the user's, or a model's, who tells of whoever it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from langmem_plus.records import FORGOTTEN, MemoryRecord
from langmem_plus.remember.beside import bare
from langmem_plus.remember.by_name import tells_of
from langmem_plus.speakers import Voice, key_of, name_of, shown_name
from langmem_plus.text import words

Says = Callable[[str, str], bool]


class Speakers:
    """Who speaks in a memory.

    Args:
        records: what is remembered, whatever its status; facts and what users said count.
    """

    def __init__(self, records: Iterable[MemoryRecord] = ()) -> None:
        said = [record for record in records if record.role in ("memory", "user")]
        self._names = {key_of(name): name for record in said if (name := name_of(record))}
        self._of_nobody = [each.text for each in said if not name_of(each) and not each.metadata.get(FORGOTTEN)]

    def tells(self, line: str, said: Voice, says: Says) -> bool:
        """Whether a line says a statement of the one who made it; somebody else's line does only where it names that
        one, or the statement is about its speaker.

        Args:
            line: a line of an archive, or a point of a summary.
            said: the statement and its speaker.
            says: whether a text says a statement.
        """
        text = bare(line)
        other = self._other(text, said.name)
        if other is not None:
            if tells_of(Voice(text, other).own, said):
                return True
            is_about = _is_named(said.name, text, but=other) or _is_named(other, said.text)
            return is_about and (says(text, said.text) or says(text, said.own))
        if tells_of(text, said):
            return True
        own = Voice(text, said.name).own
        if not (says(own, said.text) or says(own, said.own)):
            return False
        # Where the user said the same, a line without a name is theirs.
        return own != text or not said.name or not any(says(each, said.own) for each in self._of_nobody)

    def heard(self, line: str, name: str) -> str | None:
        """What a line tells of one speaker, from their own view; None where it is somebody else's."""
        text = bare(line)
        if self._other(text, name) is not None:
            return None
        own = Voice(text, name).own
        return own if own != text or not name else None

    def _other(self, text: str, name: str) -> str | None:
        """The name of whose line it is, where that is somebody else."""
        before, colon, _ = text.partition(": ")
        for each in (name, *self._names.values()) if colon else ():
            if each and before.casefold() == shown_name(each).casefold():
                return each if key_of(each) != key_of(name) else None
        if name and Voice(text, name).own != text:
            return None
        others = (each for key, each in self._names.items() if key != key_of(name))
        return next((each for each in others if Voice(text, each).own != text), None)


def _is_named(name: str, text: str, *, but: str = "") -> bool:
    wanted = set(words(name))
    return bool(wanted) and wanted <= set(words(text)) - set(words(but))
