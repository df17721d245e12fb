"""Old messages leave a long thread once its summary tells them: whole turns, and nothing that isn't told."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.fence import QUOTED_FROM_MEMORY
from langmem_plus.messages import message_text
from langmem_plus.prompts import Summary, SummaryPoint
from langmem_plus.records import MemoryRecord, Scope, summary_key
from langmem_plus.remember.actions import find_actions, is_action
from langmem_plus.remember.compress import Compression, acompress, compress, is_wanted
from langmem_plus.remember.compress_cut import old_stretches, removals, stretches
from langmem_plus.remember.summarize import is_read
from langmem_plus.remember.tombstones import COMPRESSED
from langmem_plus.services import Services
from langmem_plus.store import MarkdownStore
from langmem_plus.testing import ScriptedChatModel

SCOPE = Scope("alice", thread_id="t1")
START = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
SETTINGS: dict[str, Any] = {"embeddings": "none", "threshold_tokens": 1, "recent_messages_to_keep": 2}


# threads and what is stored of them


def human(text: str = "q", **fields: Any) -> HumanMessage:
    """A person's words."""
    return HumanMessage(text, **fields)


def call(*names: str, text: str = "", **fields: Any) -> AIMessage:
    """A message that calls tools."""
    return AIMessage(text, tool_calls=[{"id": name, "name": "look", "args": {}} for name in names], **fields)


def result(name: str, text: Any = "found", **fields: Any) -> ToolMessage:
    """A tool's result."""
    return ToolMessage(text, tool_call_id=name, **fields)


def numbered(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages with ids: their places."""
    return [each.model_copy(update={"id": f"m{place}"}) for place, each in enumerate(messages)]


def talk(turns: int, word: str = "tea") -> list[BaseMessage]:
    """Questions and answers; the last question waits."""
    said: list[BaseMessage] = []
    for number in range(turns):
        said += [human(f"I like {word} number {number}."), AIMessage(f"Fine, {number}.")]
    return numbered([*said, human("And now?")])


def put_turns(services: Services, messages: Sequence[BaseMessage], **fields: Any) -> list[MemoryRecord]:
    """Store the turns of a thread, one a minute, as record does."""
    made: list[MemoryRecord] = []
    for place, message in enumerate(messages):
        text = message_text(message)
        if not isinstance(message, HumanMessage | AIMessage) or not text.strip():
            continue
        metadata = {"message_id": message.id, "turn": place, "position": 0}
        if isinstance(message, AIMessage):
            humans = [n for n, each in enumerate(messages[:place]) if isinstance(each, HumanMessage)]
            metadata.update(find_actions(messages, humans[-1] + 1 if humans else 0, place + 1).metadata)
        made.append(
            MemoryRecord(
                id=f"turn {place}",
                role="user" if isinstance(message, HumanMessage) else "assistant",
                text=text,
                user_id="alice",
                thread_id="t1",
                created_at=START + dt.timedelta(minutes=place),
                extracted=True,
                metadata={name: value for name, value in metadata.items() if value is not None},
                **fields,
            )
        )
    for record in made:
        services.find_store().put(SCOPE.namespace, record.id, record.to_value())
    return made


def put_summary(services: Services, until: int) -> None:
    """Store a summary that has read everything that was written before a minute."""
    record = MemoryRecord(
        id=summary_key(SCOPE),
        role="summary",
        text="- The user likes tea.",
        user_id="alice",
        thread_id="t1",
        covers_until=START + dt.timedelta(minutes=until),
        source_ids=[f"turn {minute}" for minute in range(until)],
    )
    services.find_store().put(SCOPE.namespace, record.id, record.to_value())


def read(services: Services, key: str) -> MemoryRecord | None:
    """A stored record."""
    item = services.find_store().get(SCOPE.namespace, key)
    return MemoryRecord.model_validate(item.value) if item else None


def make(model: Any = None, **fields: Any) -> Services:
    """A fresh store, with settings under which every thread is too long."""
    config = MemoryConfig(**{**SETTINGS, **fields})
    return Services(config=config, store=InMemoryStore(), model=model, clock=lambda: START + dt.timedelta(days=1))


def ids(messages: Sequence[BaseMessage], found: Compression) -> list[str | None]:
    """The ids of what leaves."""
    return [messages[place].id for place in sorted(found.gone)]


# the cut


def test_a_turn_is_what_people_say_and_all_that_follows() -> None:
    """Words in a row are one turn; whoever speaks within a tool round begins none; system messages belong nowhere."""
    messages = [
        SystemMessage("rules"),
        AIMessage("Welcome!"),
        human(),
        human(),
        call("1"),
        human("hurry"),
        result("1"),
        AIMessage("a"),
        SystemMessage("more rules"),
        human(),
        AIMessage("b"),
    ]
    assert stretches(messages) == [(1,), (2, 3, 4, 5, 6, 7), (9, 10)]


def test_the_last_messages_the_last_words_and_open_rounds_stay() -> None:
    """Whole turns are old, and only those before them."""
    messages = talk(4)
    assert old_stretches(messages, 2) == [(0, 1), (2, 3), (4, 5)]
    assert old_stretches(messages, 4) == [(0, 1), (2, 3)]
    assert old_stretches(messages, 9) == []
    opened = [human(), call("1", "2"), result("1"), *talk(2)]
    assert old_stretches(opened, 1) == [(3, 4), (5, 6)]
    long_turn = [*talk(2)[:-1], human(), *(each for n in "abcdef" for each in (call(n), result(n)))]
    assert old_stretches(long_turn, 1) == [(0, 1), (2, 3)]
    assert old_stretches([AIMessage("a"), AIMessage("b"), AIMessage("c")], 1) == []


def test_messages_are_taken_out_by_their_ids() -> None:
    """Where ids are missing, or are those of other messages too, all are taken out and what stays comes back."""
    messages = talk(2)
    assert removals(messages, {0, 1}) == [RemoveMessage(id="m0"), RemoveMessage(id="m1")]
    without = [messages[0].model_copy(update={"id": None}), *messages[1:]]
    assert removals(without, {0, 1}) == [RemoveMessage(id=REMOVE_ALL_MESSAGES), *messages[2:]]
    twice = [*messages[:2], messages[2].model_copy(update={"id": "m0"}), *messages[3:]]
    assert removals(twice, {0}) == [RemoveMessage(id=REMOVE_ALL_MESSAGES), *twice[1:]]


# what may leave


def test_nothing_leaves_a_short_thread_or_one_without_a_summary() -> None:
    """And nothing is asked or written for it."""
    services = make(threshold_tokens=1000)
    put_turns(services, talk(4))
    put_summary(services, 100)
    assert compress(services, SCOPE, talk(4)) == Compression()
    services = make()
    put_turns(services, talk(4))
    found = compress(services, SCOPE, talk(4))
    assert not found.gone
    assert found.report.notes == {"compress": "the summary doesn't tell yet what the oldest messages say"}
    assert found.report.counts == {"compressed_messages": 0, "uncompressed_messages": 6}


async def test_what_the_summary_tells_leaves() -> None:
    """Up to the turn that it hasn't read; the report counts messages and tokens. In async alike."""
    messages = talk(4)
    services = make()
    put_turns(services, messages)
    put_summary(services, 4)
    found = compress(services, SCOPE, messages)
    assert ids(messages, found) == ["m0", "m1", "m2", "m3"]
    assert found.report.counts == {"compressed_messages": 4, "uncompressed_messages": 2}
    assert found.report.tokens["thread"] > found.report.tokens["thread_after"] > 0
    assert await acompress(services, SCOPE, messages) == found


def test_the_kept_tail_alone_may_be_over_the_threshold() -> None:
    """Then nothing is done, and the report says why."""
    services = make(recent_messages_to_keep=100)
    put_turns(services, talk(4))
    put_summary(services, 100)
    found = compress(services, SCOPE, talk(4))
    assert not found.gone
    assert found.report.notes == {"compress": "what always stays is that long"}


def test_what_was_never_stored_stays() -> None:
    """What was said off the record, erased, or in the name of somebody else isn't told by the summary."""
    messages = talk(4)
    services = make()
    put_turns(services, [*messages[:2], *messages[4:]])
    put_summary(services, 100)
    assert ids(messages, compress(services, SCOPE, messages)) == ["m0", "m1", "m4", "m5"]
    named = numbered([human(), ChatMessage("x", role="critic"), *talk(2)])
    put_turns(services, named)
    assert 1 not in compress(services, SCOPE, named).gone


def test_what_says_nothing_leaves_with_its_turn() -> None:
    """Empty messages, and replies that quote memory."""
    quoted = AIMessage("You said tea.", response_metadata={QUOTED_FROM_MEMORY: True})
    messages = numbered([human("I like tea."), quoted, human(""), AIMessage(""), *talk(2)])
    services = make()
    put_turns(services, [*messages[:1], *messages[4:]])
    put_summary(services, 100)
    assert compress(services, SCOPE, messages).gone >= {0, 1, 2, 3}


def test_a_tool_round_leaves_where_its_gist_is_kept() -> None:
    """With a turn that the summary has read; not where no turn keeps it."""
    round_ = [human("Look!"), call("1", "2", text="Well:"), result("2"), result("1"), AIMessage("There it is.")]
    messages = numbered([*round_, human("Again!"), call("3"), result("3"), *talk(2)])
    services = make()
    put_turns(services, messages)
    put_summary(services, 100)
    assert compress(services, SCOPE, messages).gone == frozenset({0, 1, 2, 3, 4, 8, 9})


def test_messages_without_ids_are_told_by_their_words() -> None:
    """All are taken out and what stays comes back."""
    messages = [each.model_copy(update={"id": None}) for each in talk(4)]
    services = make()
    put_turns(services, messages)
    put_summary(services, 4)
    assert compress(services, SCOPE, messages).gone == frozenset({0, 1, 2, 3})


def test_messages_that_share_an_id_stay() -> None:
    """Which of them was stored can't be told."""
    messages = talk(4)
    messages[1] = AIMessage("Never stored.", id="m0")
    services = make()
    put_turns(services, [messages[0], *messages[2:]])
    put_summary(services, 100)
    assert compress(services, SCOPE, messages).gone == frozenset({2, 3, 4, 5})


def test_media_cost_a_fixed_number_of_tokens() -> None:
    """40 kB of base64 don't make a thread long."""
    image = {"type": "image", "base64": "A" * 40_000, "mime_type": "image/png"}
    messages = numbered([HumanMessage([{"type": "text", "text": "Look:"}, image]), *talk(3)])
    services = make(threshold_tokens=1500)
    put_turns(services, messages)
    put_summary(services, 100)
    assert compress(services, SCOPE, messages) == Compression()


def test_the_summary_must_be_recalled() -> None:
    """Where recall is off, or leaves no room for a summary, threads stay as they are."""
    assert is_wanted(MemoryConfig())
    for off in ({"compress": False}, {"enabled": False}, {"strategy": "none"}, {"summary_max_tokens": 0}):
        assert not is_wanted(MemoryConfig(**off))


# the hard limit


def test_over_the_hard_limit_the_summary_is_made_at_once() -> None:
    """By rules or by a model; it tells everything that leaves, tool rounds that no turn keeps among it."""
    image = [{"type": "reasoning", "reasoning": "hm"}, {"type": "image", "base64": "A" * 4000}]
    messages = numbered([human("I own a boat."), call("1"), result("1", image), *talk(3)])
    model = ScriptedChatModel(then=Summary(points=[SummaryPoint(text="The user owns a boat.")]))
    for services in (make(hard_limit_tokens=10), make(model, hard_limit_tokens=10)):
        put_turns(services, messages)
        found = compress(services, SCOPE, messages, now=True)
        assert found.gone == frozenset(range(7))
        assert found.report.warnings == []
        summary = read(services, summary_key(SCOPE))
        assert summary is not None
        assert "boat" in summary.text
        assert "AAAA" not in summary.text
    (asked,) = model.calls
    assert "tool: look() → [image]" in asked.messages[-1].text
    assert "AAAA" not in asked.text
    assert "reasoning" not in asked.messages[-1].text


@pytest.mark.parametrize(
    "line", ["The train to {} leaves.", "Der Zug nach {} fährt.", "El tren a {} sale.", "去{}的火车"]
)
def test_without_a_model_everything_that_leaves_is_told(line: str) -> None:
    """Also where it is no fact, and where there is room for a few turns only: then a few leave at a time."""
    services = make(hard_limit_tokens=1, summary_max_tokens=40)
    said = [part for n in range(14) for part in (human(line.format(f"{n:02}")), AIMessage("Noted."))]
    messages = numbered([*said, human("And now?")])
    put_turns(services, messages)
    for _ in range(8):
        found = compress(services, SCOPE, messages, now=True)
        summary = read(services, summary_key(SCOPE))
        assert summary is not None
        gone = [messages[place].text for place in found.gone if isinstance(messages[place], HumanMessage)]
        assert all(each in summary.text for each in gone)
        messages = [each for place, each in enumerate(messages) if place not in found.gone]
    assert len(messages) <= 4


def test_nothing_is_made_where_the_limit_holds_or_nothing_is_missing() -> None:
    """Below the limit nothing leaves; what the summary tells already leaves without a model."""
    model = ScriptedChatModel()
    services = make(model, hard_limit_tokens=1000)
    put_turns(services, talk(4))
    assert compress(services, SCOPE, talk(4), now=True) == Compression()
    services = make(model, hard_limit_tokens=50)
    put_turns(services, talk(6))
    put_summary(services, 8)
    assert len(compress(services, SCOPE, talk(6), now=True).gone) == 8
    assert compress(make(model), SCOPE, talk(4), now=True) == Compression()
    assert model.calls == []


@pytest.mark.parametrize("failure", [ConnectionError("down"), "no JSON", '{"points": []}'])
def test_a_summary_that_fails_removes_nothing(failure: Any) -> None:
    """The report warns; what an older summary tells may leave all the same."""
    services = make(ScriptedChatModel(then=failure), hard_limit_tokens=1)
    put_turns(services, talk(4))
    found = compress(services, SCOPE, talk(4), now=True)
    assert not found.gone
    assert any("hard_limit_tokens" in warning for warning in found.report.warnings)
    put_summary(services, 2)
    assert compress(services, SCOPE, talk(4), now=True).gone == frozenset({0, 1})


def test_an_unchanged_history_is_not_summarised_twice() -> None:
    """Neither what stays whole, nor what no summary can tell, is tried again and again."""
    model = ScriptedChatModel([Summary(points=[SummaryPoint(text="Tea.")])])
    services = make(model, hard_limit_tokens=1)
    secret = [human("off the record", id="s1"), AIMessage("Psst.", id="s2")]
    messages = [*secret, *talk(4)]
    put_turns(services, talk(4))
    found = compress(services, SCOPE, messages, now=True)
    assert found.gone == frozenset(range(2, 8))
    kept = [each for place, each in enumerate(messages) if place not in found.gone]
    for _ in range(2):
        again = compress(services, SCOPE, kept, now=True)
        assert not again.gone
        assert again.report.warnings == []
    assert len(model.calls) == 1
    assert "off the record" not in model.calls[0].text


def test_summaries_that_are_switched_off_are_not_made() -> None:
    """Then nothing leaves, and the report warns."""
    services = make(hard_limit_tokens=1, summarize=False)
    put_turns(services, talk(4))
    found = compress(services, SCOPE, talk(4), now=True)
    assert not found.gone
    assert found.report.warnings


# the stored turns


@pytest.mark.parametrize("kind", ["memory", "markdown"])
def test_stored_turns_may_be_deleted_with_their_messages(kind: str, tmp_path: Any) -> None:
    """Softly, with the reason; not pinned ones; a turn whose facts aren't drawn out yet keeps its messages."""
    services = make(compress_deletes_turns=True)
    if kind == "markdown":
        services = Services(config=services.config, store=MarkdownStore(tmp_path, config=services.config))
    messages = talk(4)
    turns = put_turns(services, messages)
    for place, change in ((1, {"pinned": True}), (2, {"extracted": False})):
        record = turns[place].model_copy(update=change)
        services.find_store().put(SCOPE.namespace, record.id, record.to_value())
    put_summary(services, 100)
    assert compress(services, SCOPE, messages).gone == frozenset({0, 1, 4, 5})
    status = [record.status for turn in turns if (record := read(services, turn.id))]
    assert status[:6] == ["deleted", "active", "active", "active", "deleted", "deleted"]
    gone = read(services, "turn 0")
    assert gone is not None
    assert gone.metadata["reason"] == COMPRESSED
    # The messages are still there where the run was cut off just then: they leave the next time.
    assert compress(services, SCOPE, messages).gone == frozenset({0, 1, 4, 5})


def test_a_turn_that_waits_is_kept_over_the_hard_limit() -> None:
    """Its message leaves; its facts are drawn out of the stored turn later."""
    services = make(compress_deletes_turns=True, hard_limit_tokens=1)
    turns = put_turns(services, talk(4))
    record = turns[2].model_copy(update={"extracted": False})
    services.find_store().put(SCOPE.namespace, record.id, record.to_value())
    assert compress(services, SCOPE, talk(4), now=True).gone == frozenset(range(6))
    kept, gone = read(services, "turn 2"), read(services, "turn 0")
    assert kept is not None
    assert gone is not None
    assert (kept.status, gone.status) == ("active", "deleted")
    told = make(ScriptedChatModel(), compress_deletes_turns=True, hard_limit_tokens=1)
    put_turns(told, talk(4))
    told.find_store().put(SCOPE.namespace, record.id, record.to_value())
    put_summary(told, 100)
    found = compress(told, SCOPE, talk(4), now=True)
    assert found.gone == frozenset(range(6))
    assert found.report.warnings == []


def test_no_turn_is_deleted_where_the_summary_is_gone_meanwhile() -> None:
    """It was changed or forgotten between the look and the deletion: the turns stay."""

    class Meanwhile(InMemoryStore):
        """A store whose summary is taken away once the turns were listed."""

        def batch(self, ops: Any) -> list[Any]:
            asked = list(ops)
            found = super().batch(asked)
            if any(getattr(op, "filter", None) == {"role": "assistant", "thread_id": "t1"} for op in asked):
                super().delete(SCOPE.namespace, summary_key(SCOPE))
            return found

    services = make(compress_deletes_turns=True)
    services = Services(config=services.config, store=Meanwhile(), clock=services.clock)
    put_turns(services, talk(4))
    put_summary(services, 100)
    compress(services, SCOPE, talk(4))
    gone = read(services, "turn 0")
    assert gone is not None
    assert gone.status == "active"


# every history

_TEXTS = st.sampled_from(["I like tea.", "Which boat?", "", "I live in Lyon with a dog."])
_BLOCKS: list[Any] = [{"type": "text", "text": "Look:"}, {"type": "image", "base64": "A" * 99}]
_NAMES = st.sampled_from(["1", "2", "3"])
_MESSAGES = st.one_of(
    _TEXTS.map(HumanMessage),
    st.just(HumanMessage(_BLOCKS)),
    _TEXTS.map(AIMessage),
    st.just(AIMessage([{"type": "reasoning", "reasoning": "hm"}, "Well."])),
    st.lists(_NAMES, min_size=1, max_size=3, unique=True).map(lambda names: call(*names)),
    _NAMES.map(lambda name: call(name, text="I look.")),
    _NAMES.map(result),
    st.just(SystemMessage("rules")),
)


@st.composite
def histories(draw: st.DrawFn) -> list[BaseMessage]:
    """Threads with parallel calls, missing results, people who speak between, and ids that are missing or double."""
    messages = draw(st.lists(_MESSAGES, max_size=16))
    names = st.one_of(st.none(), st.just("double"), st.just("same"), *[st.just("")] * 12)
    kinds = draw(st.lists(names, min_size=len(messages), max_size=len(messages)))
    return [
        each.model_copy(update={"id": f"m{place}" if kind == "" else kind})
        for place, (each, kind) in enumerate(zip(messages, kinds, strict=True))
    ]


def bonds(messages: Sequence[BaseMessage]) -> set[tuple[int, int]]:
    """The objects of each call and its result: the nearest call with that id before it."""
    callers: dict[str, int] = {}
    found: set[tuple[int, int]] = set()
    for message in messages:
        if isinstance(message, AIMessage):
            callers.update({str(each["id"]): id(message) for each in message.tool_calls})
        elif isinstance(message, ToolMessage) and message.tool_call_id in callers:
            found.add((callers[message.tool_call_id], id(message)))
    return found


@settings(max_examples=150)
@given(histories(), st.integers(1, 8), st.integers(0, 16), st.sets(st.integers(0, 15)), st.booleans(), st.booleans())
def test_whatever_the_history(
    messages: list[BaseMessage], keep: int, until: int, unstored: set[int], now: bool, fails: bool
) -> None:
    """Calls stay with their results; what must stay stays; nothing leaves that isn't told; twice is as once."""
    model = ScriptedChatModel(then=ConnectionError("down")) if fails else None
    services = make(model, recent_messages_to_keep=keep, hard_limit_tokens=1)
    put_turns(services, [each for place, each in enumerate(messages) if place not in unstored])
    if until:
        put_summary(services, until)
    found = compress(services, SCOPE, messages, now=now)
    kept = [each for place, each in enumerate(messages) if place not in found.gone]
    # Each call has its results, and each result its call.
    present = {id(each) for each in kept}
    assert all((caller in present) == (told in present) for caller, told in bonds(messages))
    # What must stay stays.
    spoken = [each for each in messages if not isinstance(each, SystemMessage)]
    assert all(id(each) in present for each in messages if isinstance(each, SystemMessage))
    assert all(id(each) in present for each in spoken[-keep:])
    humans = [each for each in messages if isinstance(each, HumanMessage)]
    assert not humans or id(humans[-1]) in present
    if spoken and isinstance(spoken[0], HumanMessage):
        assert isinstance(next(each for each in kept if not isinstance(each, SystemMessage)), HumanMessage)
    # Nothing leaves without a summary that tells it.
    summary = read(services, summary_key(SCOPE))
    turns = [
        MemoryRecord.model_validate(item.value) for item in services.find_store().search(SCOPE.namespace, limit=99)
    ]
    known = {turn.metadata.get("message_id") for turn in turns if turn.role != "summary" and is_read(turn, summary)}
    by_text = {turn.text for turn in turns if "message_id" not in turn.metadata and is_read(turn, summary)}
    for message in (messages[place] for place in found.gone):
        assert summary is not None
        if message.type != "tool" and message_text(message).strip():
            assert message.id in known or (message.id is None and message_text(message) in by_text)
        if is_action(message):
            done = [turn for turn in turns if message.id in turn.metadata.get("action_ids", ())]
            assert all(is_read(turn, summary) for turn in done)
            assert done or now
    assert not fails or not now or not found.gone or until
    # The channel takes the removal, and a second run finds nothing more.
    if found.gone and all(each.id for each in messages) and len({each.id for each in messages}) == len(messages):
        assert add_messages(list(messages), removals(messages, found.gone)) == kept  # type: ignore[arg-type]
    again = compress(services, SCOPE, kept, now=now)
    assert not again.gone
    assert read(services, summary_key(SCOPE)) == summary


def test_what_is_restored_stays_until_the_summary_has_read_it() -> None:
    """However long ago it was written."""
    services = make()
    turns = put_turns(services, talk(4))
    put_summary(services, 8)
    known = read(services, summary_key(SCOPE))
    assert known is not None
    left = known.model_copy(update={"source_ids": [id for id in known.source_ids if id != turns[2].id]})
    services.find_store().put(SCOPE.namespace, left.id, left.to_value())
    assert compress(services, SCOPE, talk(4)).gone == frozenset({0, 1, 4, 5})


@pytest.mark.parametrize(("noted", "status"), [("waits", "active"), ("rejected", "deleted")])
def test_a_turn_stays_stored_while_it_waits_for_its_owner(noted: str, status: str) -> None:
    """No archive may read it before they have answered."""
    services = make(compress_deletes_turns=True)
    turns = put_turns(services, talk(4))
    put_summary(services, 100)
    record = turns[0].model_copy(update={"metadata": {**turns[0].metadata, "review": {"f": noted}}})
    services.find_store().put(SCOPE.namespace, record.id, record.to_value())
    assert compress(services, SCOPE, talk(4)).gone == frozenset(range(6))
    assert [read(services, turn.id).status for turn in turns[:2]] == [status, "deleted"]  # type: ignore[union-attr]
