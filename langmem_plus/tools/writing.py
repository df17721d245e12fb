"""What a tool call does to memory: create, update and delete, each once for each call, however often it is executed.

Pinned memories stay; what is replaced or deleted leaves its tombstone; an id that isn't the user's is unknown. Where
messages carry names, a memory is by whoever the model answers, and nobody changes what somebody else said.
"""

from __future__ import annotations

import uuid
from dataclasses import replace

from langgraph.store.base import GetOp, Item, PutOp

from langmem_plus.controls import forget_steps, pin_steps
from langmem_plus.errors import ConflictError, InvalidValueError, NotFoundError, PinnedError
from langmem_plus.recall import read_item
from langmem_plus.records import Fact, MemoryRecord, record_id
from langmem_plus.remember.decide import find_repeats
from langmem_plus.remember.enrich import enrich_fact
from langmem_plus.remember.fact_records import make_record, retire, strengthen
from langmem_plus.remember.found import given_alone
from langmem_plus.remember.neighbours import find_neighbours
from langmem_plus.remember.rewrite import rewrite
from langmem_plus.remember.steps import Batch, Exchange, Namespace, Steps, put, read_record, write
from langmem_plus.remember.support import find_tags, importance
from langmem_plus.shown import shown
from langmem_plus.speakers import key_of, name_of, shown_name
from langmem_plus.tools.content import Content
from langmem_plus.tools.memory_tool import Call

CALL = "tool_call_id"  # in the metadata of a record that a tool call made
UPDATE = "updated_by"  # in that of a tombstone that an update left: which one
_SEARCH_FIRST = "Take the id from the search's results, where it is called key."


# create


def create_steps(call: Call, content: Content) -> Steps[str]:
    """Store a new memory, unless it is known already; the answer has its id.

    Its key is made of what it says, so that two calls at once store it once; where that key is taken, by a tombstone or
    by what only looks alike, of the call too, and where a call of that id made it before, of nothing else.
    """
    namespace, limit = call.scope.namespace, call.services.config.simhash_distance
    whose = (*namespace, f"by {key_of(call.speaker)}") if call.speaker else namespace
    keys = [record_id("tool", *whose, *told, content.digest) for told in ((), _event(call), (uuid.uuid4().hex,))]
    repeated = yield from _repeated(call, namespace, content, call.speaker)
    answer = ""

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        nonlocal answer
        own = next((current[key] for key in keys if key in current and _made_by(call, current[key])), None)
        if own is not None:
            answer = _created(own)
            return []
        there = [current[key] for key in [*keys, *repeated] if key in current]
        known = next((record for record in there if content.is_said_by(record, limit)), None)
        if known is not None:
            answer = f"Nothing new was created: memory {known.id} says so already."
            return _strengthened(call, namespace, known, content)
        new = _record(call, next(key for key in keys if key not in current), content)
        answer = _created(new)
        return [put(namespace, new)]

    yield from rewrite(namespace, [*keys, *repeated], change)
    return answer


def _event(call: Call) -> tuple[str, str]:
    """What tells this call from others: some servers count their calls anew in each conversation."""
    return call.scope.thread_id or "", call.id or uuid.uuid4().hex


def _made_by(call: Call, record: MemoryRecord) -> bool:
    """Whether this very call made the record. Without a thread nothing is replayed: there a call whose memory is gone
    is another one, from a server that counts its calls anew.
    """
    thread_id = call.scope.thread_id
    replayed = record.thread_id == thread_id and (thread_id is not None or record.status == "active")
    return call.id is not None and replayed and record.metadata.get(CALL) == call.id


def _created(record: MemoryRecord) -> str:
    """The same answer each time, and the truth about what came after it."""
    since = {"superseded": f"; it was replaced by memory {record.replaced_by}", "deleted": "; it was deleted since"}
    return f"created memory {record.id}{since.get(record.status, '')}"


def _repeated(call: Call, namespace: Namespace, content: Content, speaker: str) -> Steps[list[str]]:
    """The known record that says the same, by the rule that holds for all facts."""
    named, limit = ({"name": speaker} if speaker else {}), call.services.config.simhash_distance
    fact = Fact(text=content.text, source_id=call.id or "", ordinal=0, metadata=named)
    known = (yield from find_neighbours(namespace, [fact], call.services)).get(fact.key, [])
    repeats, _ = find_repeats([fact], [record for record in known if content.is_said_by(record, limit)], limit)
    return [decision.target for decision in repeats if decision.target]


def _strengthened(call: Call, namespace: Namespace, known: MemoryRecord, content: Content) -> list[PutOp]:
    """The write that counts a repetition, once a call."""
    if call.id is not None and call.id in known.source_ids:
        return []
    repeat = given_alone(_record(call, known.id, content), known).model_copy(update={"metadata": {}})
    return [put(namespace, strengthen(known, repeat, call.services.clock(), by="model"))]


def _record(call: Call, key: str, content: Content) -> MemoryRecord:
    scope, now = call.scope, call.services.clock()
    told = {CALL: call.id, "tool": call.tool} if call.id else {"tool": call.tool}
    told |= {"name": call.speaker} if call.speaker else {}
    metadata = {**content.metadata, **told}
    fact = Fact(text=content.text, source_id=key, ordinal=0, tags=find_tags("fact", content.text), metadata=metadata)
    about = enrich_fact(fact) if call.services.config.enrich else fact
    return make_record(
        key,
        content.text,
        scope,
        now,
        observed_at=now,
        importance=importance("fact", asked=True),
        manually_saved=True,
        tags=about.tags,
        source_ids=[call.id] if call.id else [],
        metadata_confidence=about.metadata_confidence,
        metadata=about.metadata,
    )


# update


def update_steps(call: Call, id: str, content: Content) -> Steps[str]:
    """Replace a memory by a new one; the old one leaves a tombstone that names it.

    Raises:
        NotFoundError: there is no such memory, or it was replaced or deleted before.
        PinnedError: it is pinned.
        InvalidValueError: it isn't a fact, but words that were said, or a summary of them; or somebody else said it.
    """
    namespace, old = yield from _find(call, id)
    if old.role != "memory":
        raise InvalidValueError(
            f"memory {id} is no fact, but of the role {old.role!r}, which is kept as it was said: create a new memory."
        )
    key, answer = record_id("tool", *namespace, "update", id, *_event(call), content.digest), ""
    if _was_updated(old, key):
        return _updated(id, str(old.replaced_by))
    repeated = [key for key in (yield from _repeated(call, namespace, content, _heir_of(old, call))) if key != id]
    limit = call.services.config.simhash_distance

    def change(current: dict[str, MemoryRecord]) -> list[PutOp]:
        nonlocal answer
        if id in current and _was_updated(current[id], key):  # executed twice at once
            answer = _updated(id, str(current[id].replaced_by))
            return []
        found, now = _check(current.get(id), id, call.speaker), call.services.clock()
        if (found.text, found.metadata.get("content")) == (content.text, content.fields):
            answer = f"Nothing was changed: memory {id} says so already."
            return []
        there = [current[each] for each in repeated if each in current]
        known = next((record for record in there if content.is_said_by(record, limit)), None)
        if known is not None:
            answer = _updated(id, known.id)
            heir = _strengthened(call, namespace, known, content)
        else:
            answer = _updated(id, key)
            new = _record(replace(call, speaker=_heir_of(found, call)), key, content)
            inherited = {"replaces": [id], "space": found.space, "importance": max(found.importance, new.importance)}
            heir = [put(namespace, new.model_copy(update=inherited))]
        reason = f"updated by the tool {call.tool!r}"
        gone = retire(found, now, reason, known.id if known else key)
        gone = gone.model_copy(update={"metadata": {**gone.metadata, UPDATE: key}})
        return [put(namespace, gone), *heir]

    yield from rewrite(namespace, [id, key, *repeated], change)
    return answer


def _heir_of(old: MemoryRecord, call: Call) -> str:
    """Whose a memory is that replaces another one."""
    return name_of(old) or call.speaker


def _was_updated(old: MemoryRecord, key: str) -> bool:
    """Whether the update of that key, which tells the call, its thread and its words, was done already."""
    return key in (old.replaced_by, old.metadata.get(UPDATE))


def _updated(id: str, heir: str) -> str:
    return f"updated memory {id}: from now on it is memory {heir}"


# delete, pin


def delete_steps(call: Call, id: str) -> Steps[str]:
    """Delete a memory softly, as its owner's forgetting does: what it was drawn from is withheld from recall, too.

    Raises:
        NotFoundError: there is no such memory, or it was replaced or deleted before.
        PinnedError: it is pinned.
        InvalidValueError: somebody else said it.
    """
    _, record = yield from _find(call, id)
    reason = f"deleted by the tool {call.tool!r}" + (f", call {call.id}" if call.id else "")
    repeated = call.id is not None and record.status == "deleted" and record.metadata.get("reason") == reason
    if not repeated:
        _check(record, id, call.speaker)
        yield from forget_steps(call.services, call.scope, id, reason, spare_pinned=True, by=call.tool)
    return f"deleted memory {id}"


def pin_or_unpin_steps(call: Call, id: str, *, pinned: bool) -> Steps[str]:
    """Pin a memory, or let it go again.

    Raises:
        NotFoundError: there is no such memory, or it was replaced or deleted before.
    """
    _, record = yield from _find(call, id)
    _check(record, id, is_changed=False)
    yield from pin_steps(call.services, call.scope, id, pinned, by=call.tool)
    return f"{'pinned' if pinned else 'unpinned'} memory {id}"


def _check(record: MemoryRecord | None, id: str, speaker: str = "", *, is_changed: bool = True) -> MemoryRecord:
    """The record, if a tool may change it for that speaker."""
    if record is None or record.status == "deleted":
        raise _unknown(id)
    if record.status != "active":
        heir = f"it was replaced by memory {record.replaced_by}: use that id." if record.replaced_by else _SEARCH_FIRST
        raise NotFoundError(f"memory {id} isn't in force, so nothing was done: {heir}")
    if record.pinned and is_changed:
        raise PinnedError(
            f"memory {id} is pinned, so it was neither changed nor deleted: its owner has to unpin it first. Tell the "
            "user, or create a new memory beside it."
        )
    if is_changed and speaker and name_of(record) and key_of(speaker) != key_of(name_of(record)):
        raise InvalidValueError(
            f"memory {id} is what {shown_name(name_of(record))} said, and {shown_name(speaker)} doesn't change it, so "
            "nothing was done: create a new memory beside it."
        )
    return record


def _unknown(id: str) -> NotFoundError:
    return NotFoundError(f"there is no memory {shown(id)}, so nothing was done. {_SEARCH_FIRST}")


def _find(call: Call, id: str) -> Steps[tuple[Namespace, MemoryRecord]]:
    """The record under exactly this id, in the space or in ``global``. Another program's value, such as langmem's, is
    rewritten as a record first, with all that it holds.
    """
    items: list[Item | None] = yield Batch([GetOp(namespace, id) for namespace in call.scope.namespaces])
    item = next((each for each in items if each is not None), None)
    record = None if item is None else read_record(item) or (yield from _adopt(call, item))
    if item is None or record is None:
        raise _unknown(id)
    return tuple(item.namespace), record


def _adopt(call: Call, item: Item) -> Steps[MemoryRecord | None]:
    record = read_item(item, call.scope)
    if record is None:
        return None
    fields = MemoryRecord.model_fields.keys()
    kept = {name: value for name, value in item.value.items() if name not in fields and value != record.text}
    record = record.model_copy(update={"metadata": {**record.metadata, **kept}})
    namespace = tuple(item.namespace)
    written: bool | None = yield Exchange(namespace, {item.key: item.value}, [put(namespace, record)])
    if written is None:
        yield from write([put(namespace, record)])
    elif not written:
        raise ConflictError(f"somebody else changed memory {item.key} just now; nothing was done: try again.")
    return record
