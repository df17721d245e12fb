"""JSON lines of one's own: messages, and questions that name the messages which answer them.

A key that nobody reads is an error: ``evidense`` would make a question one without an answer, ``time`` would leave a
message without a date, and the numbers would be those of another file.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langmem_plus.evals.questions import Question, read_own_question
from langmem_plus.importers import Conversation
from langmem_plus.importers.beam import is_chat
from langmem_plus.importers.locomo import is_sample
from langmem_plus.importers.longmemeval import is_entry
from langmem_plus.importers.parts import ImportedMessage, Place, read_label
from langmem_plus.importers.reading import is_question, read_lines
from langmem_plus.shown import shown

FORM = (
    'Messages: {"role": "user", "content": "I moved to Lyon.", "id": "m1"}; if you like with name, created_at, '
    "thread_id, and sample_id where the file holds several people's memories.",
    'Questions: {"question": "Where do I live?", "evidence": ["m1"]}, the ids of the messages that answer it; if you '
    "like with type, asked_at (else an hour after the last message), sample_id, answer (not read), and older: ids of "
    "outdated messages that the evidence should come before. A question without evidence is one that no message "
    "answers.",
)
_MESSAGE = ("role", "content", "id", "name", "created_at", "timestamp", "thread_id", "sample_id")
_PASSED_OVER = ("metadata", "tool_calls", "tool_call_id", "refusal")  # what other programs write of a message
_QUESTION = ("question", "evidence", "type", "asked_at", "sample_id", "older", "answer")
_CONVERSATION = ("messages", "thread_id", "conversation_id", "id", "metadata")
# What people call a key, where its letters don't tell.
_OTHERWISE = {
    "time": ("created_at", "asked_at"),
    "date": ("created_at", "asked_at"),
    "datetime": ("created_at", "asked_at"),
    "timestamp": ("asked_at",),
    "created_at": ("asked_at",),
    "said_at": ("created_at",),
    "text": ("content", "question"),
    "content": ("text",),
    "message": ("content", "text"),
    "query": ("question",),
    "speaker": ("name",),
    "user": ("name", "sample_id"),
    "user_id": ("sample_id",),
    "session": ("thread_id",),
    "session_id": ("thread_id",),
    "conversation_id": ("thread_id",),
    "message_id": ("id",),
    "answers": ("evidence",),
    "sources": ("evidence",),
    "gold": ("evidence",),
    "kind": ("type",),
    "category": ("type",),
    "stale": ("older",),
    "newer": ("evidence",),
}


def check_keys(text: str, place: Place) -> None:
    """Whether every key of a file is one that is read.

    Raises:
        ImportFileError: the file is empty, a line isn't JSON, is of no kind, or has an unknown key.
    """
    if not text.strip():
        raise place.error("the file is empty: it needs messages and questions, see `langmem-plus eval recall --help`")
    for data, here, _ in read_lines(text, place):
        if isinstance(data, Mapping) and not any(fits(data) for fits in (is_sample, is_entry, is_chat)):
            _check_line(data, here)


def _check_line(data: Mapping[str, Any], here: Place) -> None:
    if is_question(data):
        check_known(data, _QUESTION, (), here, "a question")
    elif "role" in data:
        check_known(data, _MESSAGE, _PASSED_OVER, here, "a message")
    elif isinstance(data.get("messages"), list):
        check_known(data, _CONVERSATION, (), here, "a conversation")
        for number, message in enumerate(data["messages"]):
            if isinstance(message, Mapping):
                inner = [key for key in _MESSAGE if key not in ("thread_id", "sample_id")]
                check_known(message, inner, _PASSED_OVER, here / f"messages[{number}]", "a message of a conversation")
    elif not {"results", "conversation"} & data.keys():
        near = [(key, like) for key in data if (like := _nearest(key, ("role", "question")))]
        guess = "did you mean {1!r} by {0!r}? ".format(*near[0]) if near else ""
        raise here.error(f"{guess}It is no message, which has 'role', and no question, which has 'question'")


def check_known(data: Mapping[str, Any], known: Sequence[str], also: Sequence[str], here: Place, what: str) -> None:
    """Whether every key is known.

    Args:
        data: what has the keys.
        known: those that are read.
        also: those that are passed over.
        here: where it stands.
        what: what it is called.

    Raises:
        ImportFileError: a key is neither.
    """
    for key in data:
        if key not in known and key not in also:
            near = _nearest(key, [name for name in known if name not in data])
            guess = f"did you mean {near!r}? It" if near else "it"
            raise here.error(f"{what} has no key {shown(key)}; {guess} may have {', '.join(known)}")


def _nearest(key: str, known: Sequence[str]) -> str | None:
    plain = key.strip().lower().replace("-", "_").replace(" ", "_")
    otherwise = [name for name in _OTHERWISE.get(plain, ()) if name in known]
    return next(iter([*otherwise, *difflib.get_close_matches(plain, known, 1)]), None)


def read_questions(text: str, conversations: Sequence[Conversation], place: Place) -> dict[str, list[Question]]:
    """The questions of each sample.

    Raises:
        ImportFileError: there is none with evidence, or one asks for a sample or a message that isn't there.
    """
    asked: dict[str, list[Question]] = {}
    for data, here, _ in read_lines(text, place):
        if is_question(data):
            asked.setdefault(read_label(data, "sample_id", here) or "", []).append(read_own_question(data, here))
    if not asked:
        raise place.error(
            'there is no question: add lines such as {"question": "Where do I live?", "evidence": ["m1"]}'
        )
    if not conversations:
        raise place.error('there is no message, only questions: add lines such as {"role": "user", "content": "…"}')
    for name in asked:
        _check_evidence(name, asked[name], conversations, text, place)
    if not any(question.evidence for questions in asked.values() for question in questions):
        raise place.error(
            "no question has evidence: give those that a message answers the ids of these messages, as in "
            '{"question": "Where do I live?", "evidence": ["m1"]}'
        )
    return asked


def _check_evidence(
    sample: str, questions: Sequence[Question], conversations: Sequence[Conversation], text: str, place: Place
) -> None:
    """Whether a sample's questions name messages of their own sample, each id meaning one message that is stored."""
    if sample not in {conversation.sample_id or "" for conversation in conversations}:
        named = f"question {questions[0].text!r}"
        if sample:
            raise place.error(f"the {named} is of the sample {sample!r}, but no message has that sample_id")
        raise place.error(f"the {named} has no sample_id, but every message has one: name whose messages answer it")
    messages = list(_messages(sample, conversations))
    ids = Counter(message["id"] for message in messages)
    silent = {message["id"] for message in messages if not _is_stored(message)}
    for question in questions:
        for id in sorted(question.evidence | question.older):
            if id in silent:
                raise (place / _line_of(id, sample, text, place)).error(
                    f"the question {question.text!r} names the message {id!r}, but it is none that memory keeps: "
                    "give it words, and the role user or assistant"
                )
            if id not in ids:
                of = f" of the sample {sample!r}" if sample else ""
                raise place.error(f"the question {question.text!r} names {id!r}, but no message{of} has that id")
            if ids[id] > 1:
                raise place.error(f"the question {question.text!r} names {id!r}, but several messages have that id")


def _messages(sample: str, conversations: Sequence[Conversation]) -> Iterator[ImportedMessage]:
    for conversation in conversations:
        if (conversation.sample_id or "") == sample:
            yield from conversation.messages


def _is_stored(message: ImportedMessage) -> bool:
    return message["role"] in ("user", "assistant") and bool(message["content"].strip())


def _line_of(id: str, sample: str, text: str, place: Place) -> str:
    """The line of a message, which may stand in a conversation."""
    for data, _, number in read_lines(text, place):
        if not isinstance(data, Mapping) or is_question(data):
            continue
        listed = data.get("messages")
        said = listed if isinstance(listed, list) else [data]
        ids = [str(each.get("id")) for each in said if isinstance(each, Mapping)]
        if id in ids and str(data.get("sample_id") or "") == sample:
            return f"line {number}"
    return ""
