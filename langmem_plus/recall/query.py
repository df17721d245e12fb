"""What a message is searched by: the current user's words, and those of the message before where they lean on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from langmem_plus.messages import last_human, message_words
from langmem_plus.recall.cues import CONNECTIVES, CONNECTIVES_UNSPACED, FIRST_PERSON, PRONOUNS, PRONOUNS_UNSPACED
from langmem_plus.text import tokens, words

# Up to so many words, a message that goes on from the one before can't be understood alone.
LEANING_WORDS = 6
# A search reads the beginning and the end of a long message: the question stands in one of them.
QUERY_CHARACTERS = 2000
CONTEXT_CHARACTERS = 300


def current_text(messages: Sequence[BaseMessage]) -> str:
    """The words of the current user's message; empty where there is none."""
    place = last_human(messages)
    return "" if place is None else message_words(messages[place])


def current_name(messages: Sequence[BaseMessage]) -> str:
    """The name of who says the current user's message; empty where nobody is named."""
    place = last_human(messages)
    return (messages[place].name or "").strip() if place is not None else ""


def search_query(messages: Sequence[BaseMessage]) -> str:
    """The current user's words, cut to a bounded length.

    Where they lean on what was said before (`leans`), the previous user's message stands before them, so that
    "and her sister?" is searched with the question that it continues.
    """
    place = last_human(messages)
    own = bounded(current_text(messages))
    if place is None or not leans(own):
        return own
    earlier: Iterable[BaseMessage] = reversed(messages[:place])
    before = next((message_words(message) for message in earlier if isinstance(message, HumanMessage)), "")
    return f"{bounded(before, CONTEXT_CHARACTERS)}\n{own}".strip()


def bounded(text: str, limit: int = QUERY_CHARACTERS) -> str:
    """The text, or its beginning and its end where it is longer than the limit."""
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]}\n{text[-half:]}"


def leans(text: str) -> bool:
    """Whether the words can't be understood alone: one word, or a short message that begins with a connective ("and
    Anne?"), has a third person in it ("where does she live?"), or has nothing to search by ("why not?").

    What is said in the first person stands alone: "who am I?".
    """
    found = words(text)
    if len(found) <= 1:
        return True
    if len(found) > LEANING_WORDS:
        return False
    if not CONNECTIVES.isdisjoint((found[0], " ".join(found[:2]))) or text.rstrip(" ?？").endswith(
        CONNECTIVES_UNSPACED
    ):
        return True
    if not PRONOUNS.isdisjoint(found) or any(pronoun in text for pronoun in PRONOUNS_UNSPACED):
        return True
    return not tokens(text) and FIRST_PERSON.isdisjoint(found)
