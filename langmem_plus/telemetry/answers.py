"""Whether an answer used what was recalled for it: an estimate from the words alone, for a rate over many turns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from langchain_core.messages import BaseMessage

from langmem_plus.messages import last_human, message_words
from langmem_plus.telemetry.exporting import instruments
from langmem_plus.text import tokens

SHARE = 0.5  # of a memory's own words, or of the answer's, that have to be the same

_LINE = re.compile(r"^\[[a-z]+\] (.*?)(?: \([^()]*\))?$", re.MULTILINE)
# A name, since it is capitalised within a sentence, or what holds a digit.
_TELLING = re.compile(r"(?<=[^\W\d_],\s)[^\W\d_]+|(?<=[^\W_]\s)[^\W\d_]+|\w*\d\w*")


def uses_memory(answer: str, question: str, memories: Iterable[str]) -> bool:
    """Whether an answer says what a memory tells and the question doesn't: a name or a number of it, or half of the
    words that either of the two has beyond the question.

    >>> uses_memory("Rex is a lovely name.", "What is my dog called?", ["My dog is called Rex."])
    True
    >>> uses_memory("I don't know what your dog is called.", "What is my dog called?", ["My dog is called Rex."])
    False
    """
    asked = set(tokens(question))
    said = set(tokens(answer)) - asked
    return any(_tells(memory, asked, said) for memory in memories) if said else False


def _tells(memory: str, asked: set[str], said: set[str]) -> bool:
    own = set(tokens(memory)) - asked
    shared = own & said
    if not shared:
        return False
    return bool(shared & telling(memory)) or len(shared) >= SHARE * min(len(own), len(said))


def telling(text: str) -> set[str]:
    """The tokens of a text that hardly come up by chance: names, and what holds a digit.

    >>> sorted(telling("On Monday I moved to Berlin, flat 12b."))
    ['12b', 'berlin', 'monday']
    """
    found = (match.group() for match in _TELLING.finditer(text))
    return {token for word in found if word[:1].isupper() or not word.isalpha() for token in tokens(word)}


def injected_memories(context: str) -> list[str]:
    """The texts of the memories in an injected context.

    >>> injected_memories("<memory>\\n[memory] I drink tea. (2025-01-02; 1a2b3c4d)\\n</memory>")
    ['I drink tea.']
    """
    return _LINE.findall(context)


def measure_answer(reply: Sequence[BaseMessage], messages: Sequence[BaseMessage], context: str) -> None:
    """Count a reply for which memories were injected, by whether it used one; nothing where nobody measures.

    Args:
        reply: what the assistant said.
        messages: the thread, in which the user's last words are the question.
        context: what was injected.
    """
    found = instruments()
    if found is None or not context or not found.is_measuring:
        return
    memories, place = injected_memories(context), last_human(messages)
    answer = "\n".join(map(message_words, reply))
    if memories and answer:
        question = "" if place is None else message_words(messages[place])
        found.add("langmem_plus.answers", 1, {"langmem_plus.used": uses_memory(answer, question, memories)})
