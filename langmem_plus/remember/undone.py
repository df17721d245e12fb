"""Requests to forget that came to nothing, as warnings: who asked in vain would else believe it forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langmem_plus.records import Decision, Fact, MemoryRecord
from langmem_plus.remember.decide import FORGET
from langmem_plus.remember.forgetting import concerns
from langmem_plus.speakers import name_of

_UNDONE = (
    "nothing was forgotten of {request!r} ({reason}): ask in the words in which it was said, or forget the memory by "
    "its id"
)


def tell_undone(requests: Sequence[Fact], decisions: Sequence[Decision], seen: Iterable[MemoryRecord]) -> list[str]:
    """A warning for each request by which nothing goes: nothing known is meant, several could be, or it is kept.

    Args:
        requests: what was asked to forget.
        decisions: what is done in all namespaces, and why nothing is.
        seen: the records that the decisions are about, new ones too.
    """
    targets = {each.target for each in decisions if each.event == "DELETE" and each.fact is None}
    gone = [record for record in seen if record.id in targets]
    told = []
    for request in requests:
        text, asker = str(request.metadata[FORGET]), name_of(request)
        if any(concerns(text, record, asker) for record in gone):
            continue
        start = f"to forget {request.text!r}: "
        reasons = [each.reason.removeprefix(start) for each in decisions if each.reason.startswith(start)]
        told.append(_UNDONE.format(request=text, reason="; ".join(dict.fromkeys(reasons)) or "nothing known is meant"))
    return told
