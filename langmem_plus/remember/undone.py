"""Requests to forget by which no known memory goes: what a message alone tells is withheld; of the others their owner
is told, who would else believe it forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from langmem_plus.records import Decision, Fact, MemoryRecord
from langmem_plus.remember.decide import FORGET
from langmem_plus.remember.forgetting import NOTHING, concerns, find_forgotten
from langmem_plus.remember.sentences import sentences
from langmem_plus.remember.steps import Namespace, Steps
from langmem_plus.remember.tombstones import list_returning
from langmem_plus.remember.witnesses import says, tells
from langmem_plus.speakers import Voice, name_of, same_speaker
from langmem_plus.text import tokens, words

_UNDONE = (
    "nothing was forgotten of {request!r} ({reason}): ask in the words in which it was said, or forget the memory by "
    "its id"
)
_PRONOUN = re.compile(r"(?:he|she|it|they|er|sie|es|ils?|elles?|ell[ao]s?|él)\b\s*|[他她它]们?", re.IGNORECASE)
_ENDS = " .!。！"


def find_undone(requests: Sequence[Fact], decisions: Sequence[Decision], seen: Iterable[MemoryRecord]) -> list[Fact]:
    """The requests by which nothing goes: nothing known is meant, several could be, or it is kept.

    Args:
        requests: what was asked to forget.
        decisions: what is done in all namespaces, and why nothing is.
        seen: the records that the decisions are about, new ones too.
    """
    targets = {each.target for each in decisions if each.event == "DELETE" and each.fact is None}
    gone = [record for record in seen if record.id in targets]
    return [each for each in requests if not any(concerns(_asked(each), one, name_of(each)) for one in gone)]


def find_told(
    namespace: Namespace, requests: Sequence[Fact], known: Mapping[str, Sequence[MemoryRecord]]
) -> Steps[dict[str, list[str]]]:
    """The turns of which a whole sentence says what is to be forgotten and no memory does, and the replies that say it
    again: their ids by the request's key.

    Args:
        namespace: whose turns.
        requests: those by which no memory goes.
        known: the memories that each could mean, by its key.
    """
    found: dict[str, list[str]] = {}
    for request in requests:
        if not find_forgotten(_asked(request), known.get(request.key, ()), name_of(request))[1].startswith(NOTHING):
            continue
        turns = yield from list_returning(namespace)
        meant = _meant(request, turns)
        if meant:
            found[request.key] = [turn.id for turn in turns if any(tells(turn, said, says) for said in meant)]
    return found


def _meant(request: Fact, turns: Sequence[MemoryRecord]) -> list[Voice]:
    """The sentences of the asker's earlier turns that a request means."""
    said: list[MemoryRecord] = []
    wanted = set(tokens(_asked(request)))
    for turn in turns:
        is_before = request.observed_at is None or turn.said_at <= request.observed_at
        if turn.role != "user" or not is_before or turn.id == request.source_id or not same_speaker(turn, request):
            continue
        parts = sentences(turn.text)
        for place, part in enumerate(parts):
            text = _resolved(part, parts[:place], _asked(request))
            if wanted & set(tokens(text)):
                said.append(turn.model_copy(update={"id": f"{turn.id} {place}", "text": text}))
    texts = {record.id: record for record in said}
    return [Voice.of(texts[record.id]) for record in find_forgotten(_asked(request), said, name_of(request))[0]]


def _resolved(part: str, before: Sequence[str], request: str) -> str:
    """A sentence with what the request gives for its pronoun, where the sentences before it name that."""
    pronoun = _PRONOUN.match(part)
    if pronoun is None:
        return part
    rest, asked = part[pronoun.end() :].rstrip(_ENDS), request.rstrip(_ENDS)
    named = asked[: -len(rest)] if rest and asked.casefold().endswith(rest.casefold()) else ""
    known = {word for each in before for word in words(each)}
    return named + rest if words(named) and known.issuperset(words(named)) else part


def tell_undone(request: Fact, decisions: Sequence[Decision]) -> str:
    """A warning for a request by which nothing went, and why.

    Args:
        request: the request.
        decisions: what is done in all namespaces, and why nothing is.
    """
    start = f"to forget {request.text!r}: "
    reasons = [each.reason.removeprefix(start) for each in decisions if each.reason.startswith(start)]
    return _UNDONE.format(request=_asked(request), reason="; ".join(dict.fromkeys(reasons)) or NOTHING)


def _asked(request: Fact) -> str:
    return str(request.metadata[FORGET])
