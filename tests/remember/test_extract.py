from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Iterable, Sequence

import pytest
from langchain_core.messages import BaseMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, ModelTimeoutError
from langmem_plus.fence import fence
from langmem_plus.prompts import ExtractedFact, ExtractedFacts, PlacedFacts
from langmem_plus.records import Fact, MemoryRecord, Scope
from langmem_plus.remember.combine import read_answer
from langmem_plus.remember.decide import FORGET
from langmem_plus.remember.extract import aextract, extract, extract_node
from langmem_plus.remember.facts import facts_by_answer, facts_by_rules
from langmem_plus.services import Services
from langmem_plus.testing import ScriptedChatModel

COMBINE = False  # set by `way`
NOW = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
SCOPE = Scope("alice", thread_id="t1")
CONFIG = MemoryConfig()


@pytest.fixture(autouse=True)
def asked(request: pytest.FixtureRequest, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test runs with a model that is asked for facts alone, and with one that is asked for everything."""
    monkeypatch.setattr(request.module, "COMBINE", way == "together")


class ClaimingStore(InMemoryStore):
    """A store in which another process holds some keys."""

    def __init__(self, held: Iterable[str] = ()) -> None:
        super().__init__()
        self.held = set(held)
        self.ours: set[str] = set()
        self.taken: set[str] = set()  # what the other process takes after the first claim

    def claim(self, namespace: tuple[str, ...], keys: Iterable[str], seconds: float, *, owner: str) -> set[str]:
        """All that nobody else holds."""
        assert owner
        self.held |= self.taken if self.ours else set()
        self.ours |= set(keys) - self.held
        return set(keys) - self.held

    def release(self, namespace: tuple[str, ...], keys: Iterable[str], *, owner: str) -> None:
        """They are free again."""
        self.ours -= set(keys)


def turn(text: str, number: int = 1, **fields: object) -> MemoryRecord:
    """A user's turn that waits."""
    usual = {
        "thread_id": "t1",
        "observed_at": NOW + dt.timedelta(minutes=number),
        "metadata": {"turn": number, "position": 0},
    }
    return MemoryRecord(
        id=f"turn {number}", role="user", text=text, user_id="alice", extracted=False, **{**usual, **fields}
    )


def memory(*turns: MemoryRecord, model: ScriptedChatModel | None = None, **settings: object) -> Services:
    """A store that claims, with these turns in it, and something known where a model is to be asked for everything."""
    store = ClaimingStore()
    settings = {"combine": COMBINE, **settings}
    if COMBINE and model is not None:
        settings = {"turns_per_call": 1, **settings}
        known = MemoryRecord(id="known", text="The user likes boats and films.", user_id="alice")
        store.put(SCOPE.namespace, known.id, known.to_value())
    for each in turns:
        store.put(SCOPE.namespace, each.id, each.to_value())
    return Services(config=MemoryConfig(**settings), store=store, model=model, clock=lambda: NOW + dt.timedelta(days=1))


def said(*texts: str, **fields: object) -> ExtractedFacts:
    """What a model answers."""
    return ExtractedFacts(facts=[ExtractedFact(text=text, **fields) for text in texts])


def drawn(text: str, answer: ExtractedFacts, **settings: object) -> list[Fact]:
    """The facts that are left of a model's answer."""
    return kept(turn(text), answer, MemoryConfig(**settings))[0]


def kept(said_in: MemoryRecord, answer: ExtractedFacts, config: MemoryConfig = CONFIG) -> tuple[list[Fact], list[str]]:
    """The facts that are left of a model's answer, and what was dropped."""
    if not COMBINE:
        return facts_by_answer(said_in, answer, config)
    one = PlacedFacts.model_validate(answer.model_dump())
    found, _ = read_answer([said_in], [], one, config)[said_in.id]
    return found.facts, [warning.split(": ", 1)[1][1:-1] for warning in found.warnings]


# by rules


def test_rules_draw_the_users_own_words() -> None:
    """With their importance, tags, time and place."""
    (first, second) = facts_by_rules(turn("I prefer trains with Anne. I live in Lyon."), CONFIG)
    assert (first.text, first.importance, first.tags) == ("I prefer trains with Anne.", 0.3, ["preference", "Anne"])
    assert (second.text, second.importance, second.ordinal) == ("I live in Lyon.", 0.0, 1)
    assert (first.observed_at, first.thread_id, first.source_id) == (NOW + dt.timedelta(minutes=1), "t1", "turn 1")


def test_what_is_asked_to_be_kept_matters_more_and_is_saved_on_purpose() -> None:
    """+0.5, and on top of that what it is."""
    (first,) = facts_by_rules(turn("Remember that I prefer tea."), CONFIG)
    assert (first.importance, first.manually_saved) == (0.8, True)


def test_a_request_to_forget_is_drawn_out_as_one() -> None:
    """With or without a model."""
    (request,) = facts_by_rules(turn("Forget that I work at Acme."), CONFIG)
    assert request.metadata[FORGET] == "I work at Acme."
    (request,) = drawn("Forget that I work at Acme.", said())
    assert request.metadata[FORGET] == "I work at Acme."


def test_the_speakers_name_stays_with_the_fact() -> None:
    """Where messages carry names, "I" is somebody."""
    (found,) = facts_by_rules(turn("I like tea", metadata={"name": "Anne"}), CONFIG)
    assert found.metadata["name"] == "Anne"


# by a model


def test_a_models_facts_are_kept_when_the_turn_supports_them() -> None:
    """In the third person, in the user's language and script."""
    for text, wanted in [
        ("My wife is Anne", "The user's wife is named Anne."),
        ("Ich wohne seit Mai in Köln.", "Der Nutzer wohnt seit Mai in Köln."),
        ("J'habite à Lyon", "L'utilisateur habite à Lyon."),
        ("Mi perro se llama Rex", "El perro del usuario se llama Rex."),
        ("我妻子叫安娜", "用户的妻子叫安娜"),
        ("I have three cats", "The user has 3 cats."),
    ]:
        assert [fact.text for fact in drawn(text, said(wanted))] == [wanted]


def test_facts_without_support_are_dropped_and_reported() -> None:
    """Invented people and numbers, conclusions, translations, and what an example in the prompt said."""
    for text, invented in [
        ("My wife is Anne", "The user's wife is named Bea."),
        ("My wife is Anne", "Bob likes Anne."),
        ("I have three cats", "The user has 4 cats."),
        ("I live in Lyon", "The user is an experienced engineer in Lyon."),
        ("我妻子叫安娜", "The user's wife is named Anna."),
        ("I live in Lyon", "Der Nutzer antwortet auf Mails immer erst am Abend."),
    ]:
        facts, dropped = kept(turn(text), said(invented))
        assert (facts, dropped) == ([], [invented]), invented


def test_a_named_speaker_supports_facts_about_herself() -> None:
    """The prompt asks for the name, so it isn't invented."""
    named = turn("I like tea", metadata={"name": "Caroline"})
    assert len(kept(named, said("Caroline likes tea."))[0]) == 1


def test_a_models_facts_are_few_and_different() -> None:
    """Empty ones, repeats and more than max_facts are left out."""
    texts = ["I like tea", "I like tea", " ", "I like jazz", "I like art", "I like chess"]
    facts = drawn("I like tea, jazz, art and chess", said(*texts))
    assert [(fact.text, fact.ordinal) for fact in facts] == [("I like tea", 0), ("I like jazz", 1), ("I like art", 2)]


def test_importance_follows_kind_certainty_and_the_wish_to_keep() -> None:
    """+0.5 asked, +0.3 lasting, +0.2 certain, −0.1 chit-chat, within [0, 1]; a model can't invent the wish."""
    assert drawn("Remember: I like tea", said("I like tea", kind="preference", confidence=1))[0].importance == 1.0
    assert drawn("I like tea", said("I like tea", kind="goal", confidence=0.2, keep=True))[0].importance == 0.3
    assert drawn("I like tea", said("I like tea", kind="small_talk"))[0].importance == 0.0
    assert drawn("I like tea", said("I like tea", confidence=0.9))[0].importance == 0.2


def test_the_model_reads_only_the_users_new_words() -> None:
    """No recalled block, no code; the date and the name beside it."""
    model = ScriptedChatModel([said("The user likes tea.")])
    text = fence("[memory] likes whisky") + "\n\nI like tea\n```\nsecret code\n```"
    extract(memory(turn(text, metadata={"name": "Anne"}), model=model), SCOPE)
    asked = model.calls[0].messages[-1].text
    assert "I like tea" in asked
    assert "2024-05-01" in asked
    assert "whisky" not in model.calls[0].text
    assert "secret" not in model.calls[0].text
    assert 'by "Anne"' in asked
    assert "Anne" not in model.calls[0].messages[0].text


def test_a_turn_without_words_asks_no_model() -> None:
    """A picture alone holds nothing."""
    model = ScriptedChatModel([])
    found = extract(memory(turn("[image]"), model=model), SCOPE)
    assert (len(found.turns), found.facts, model.calls) == (1, [], [])


# the stage


def test_all_pending_turns_are_read_this_threads_and_leftovers_in_order() -> None:
    """What an earlier process left behind comes first, also where its time is over meanwhile; what is done or deleted
    isn't read.
    """
    services = memory(
        turn("I live in Lyon", 3),
        turn("I like tea", 1, thread_id="another"),
        turn("I like jazz", 2).model_copy(update={"extracted": True}),
        turn("I like art", 4).model_copy(update={"status": "deleted"}),
        turn("I like chess", 5, expires_at=NOW),
    )
    found = extract(services, SCOPE)
    assert [fact.text for fact in found.facts] == ["I like tea", "I live in Lyon", "I like chess"]
    assert found.report.counts == {"turns_read": 3, "facts_found": 3, "turns_left": 0, "turns_elsewhere": 0}


def test_a_run_takes_so_many_turns_and_says_how_many_are_left() -> None:
    """The oldest first."""
    found = extract(memory(*(turn("I like tea", number) for number in range(1, 6)), turn_batch=2), SCOPE)
    assert [each.id for each in found.turns] == ["turn 1", "turn 2"]
    assert found.report.counts["turns_left"] == 3


def test_another_users_turns_are_not_read() -> None:
    """Nor those of a namespace below."""
    services = memory(turn("I like tea"))
    store = services.find_store()
    store.put(("memories", "alice", "default", "below"), "x", turn("I like jazz", 2).to_value())
    store.put(("memories", "bob", "default"), "y", turn("I like art", 3).to_value())
    assert [fact.text for fact in extract(services, SCOPE).facts] == ["I like tea"]


def test_what_another_process_claimed_is_left_to_it() -> None:
    """Two processes don't extract one turn at once."""
    services = memory(turn("I like tea", 1), turn("I like jazz", 2))
    store = services.find_store()
    assert isinstance(store, ClaimingStore)
    store.held = {"turn 1"}
    assert [fact.text for fact in extract(services, SCOPE).facts] == ["I like jazz"]
    assert store.ours == {"turn 2"}


def test_a_model_that_fails_leaves_the_turns_pending_and_free() -> None:
    """An outage never looks like "no facts": it raises, and the next try may claim the turns again."""
    services = memory(turn("I like tea"), model=ScriptedChatModel([], then=ConnectionError("down")))
    with pytest.raises(ConnectionError, match="down"):
        extract(services, SCOPE)
    store = services.find_store()
    assert isinstance(store, ClaimingStore)
    assert store.ours == set()
    assert store.get(SCOPE.namespace, "turn 1").value["extracted"] is False  # type: ignore[union-attr]


def test_a_model_that_fails_later_keeps_what_was_drawn_before() -> None:
    """The rest waits, and the report says so."""
    model = ScriptedChatModel([said("The user likes tea.")], then=ConnectionError("down"))
    found = extract(memory(turn("I like tea", 1), turn("I like jazz", 2), turn("I like art", 3), model=model), SCOPE)
    assert [each.id for each in found.turns] == ["turn 1"]
    assert found.report.counts["turns_left"] == 2
    assert "2 turns still wait" in found.report.warnings[0]


def test_a_turn_that_the_model_refuses_does_not_hold_up_the_others() -> None:
    """The oldest turn stays pending, and free to be tried again; those behind it become memories."""
    model = ScriptedChatModel([ValueError("content filter"), said("The user likes jazz.")], methods=("json_schema",))
    services = memory(turn("I watched a film about a bomb", 1), turn("I like jazz", 2), model=model)
    found = extract(services, SCOPE)
    assert [each.id for each in found.turns] == ["turn 2"]
    assert [fact.text for fact in found.facts] == ["The user likes jazz."]
    assert found.report.counts["turns_left"] == 1
    store = services.find_store()
    assert isinstance(store, ClaimingStore)
    assert "turn 1" not in store.ours


def test_an_outage_is_not_paid_for_by_every_turn() -> None:
    """After a few failures the rest of the batch isn't tried."""
    model = ScriptedChatModel([], then=ConnectionError("down"))
    with pytest.raises(ConnectionError):
        extract(memory(*(turn(f"I like tea {n}", n) for n in range(20)), model=model), SCOPE)
    assert len(model.calls) == 3


def test_a_missing_key_always_raises() -> None:
    """Wrong settings aren't a passing failure."""
    model = ScriptedChatModel([said("The user likes tea.")], then=ConfigError("no key"))
    with pytest.raises(ConfigError):
        extract(memory(turn("I like tea", 1), turn("I like jazz", 2), model=model), SCOPE)


@pytest.mark.parametrize("noise", ["I can't do that.", "", "<think>hm</think>", "{}"])
def test_an_unreadable_answer_gives_way_to_the_rules(noise: str) -> None:
    """Nothing is lost, and it is reported."""
    found = extract(memory(turn("I like tea"), model=ScriptedChatModel([], then=noise)), SCOPE)
    assert [fact.text for fact in found.facts] == ["I like tea"]
    assert "fell back to rules" in found.report.warnings[0]


@pytest.mark.parametrize(
    "answer",
    [
        '```json\n{"facts": [{"text": "The user likes tea."}]}\n```',
        '{"text": "The user likes tea."}',
        '["The user likes tea."]',
        '<think>tea!</think>{"facts": [{"text": "The user likes tea.", "kind": "Preference",}],}',
    ],
)
def test_clumsy_answers_are_read(answer: str) -> None:
    """Fences, one object for a list, trailing commas, thoughts."""
    found = extract(memory(turn("I like tea"), model=ScriptedChatModel([], then=answer)), SCOPE)
    assert [fact.text for fact in found.facts] == ["The user likes tea."]
    assert found.report.warnings == []


async def test_extraction_is_the_same_in_async() -> None:
    """The same steps under another driver, failures included."""
    services = memory(turn("I like tea"), model=ScriptedChatModel([said("The user likes tea.")]))
    assert [fact.text for fact in (await aextract(services, SCOPE)).facts] == ["The user likes tea."]
    services = memory(turn("I like tea"), model=ScriptedChatModel([], then=ConnectionError("down")))
    with pytest.raises(ConnectionError):
        await aextract(services, SCOPE)


async def test_the_node_writes_turns_and_facts_and_nothing_incognito() -> None:
    """The rest of the run finds them in its channels."""
    node = extract_node(memory(turn("I like tea")))
    config = {"configurable": {"user_id": "alice", "thread_id": "t1"}}
    for update in (node.invoke({}, config), await node.ainvoke({}, config)):
        assert [fact.text for fact in update["memory_facts"]] == ["I like tea"]
        assert update["memory_report"]["counts"]["facts_found"] == 1
    config["configurable"]["incognito"] = "true"
    for update in (node.invoke({}, config), await node.ainvoke({}, config)):
        assert update["memory_facts"] == update["memory_turns"] == []


def test_turns_that_a_model_always_refuses_block_none_for_ever() -> None:
    """As many of them as make an outage: the next run begins with the turns that weren't refused."""

    def answer(messages: Sequence[BaseMessage]) -> object:
        if "bomb" in messages[-1].text:
            raise ValueError("content filter")
        return said("The user likes jazz.")

    model = ScriptedChatModel(then=answer, methods=("json_schema",))
    bombs = [turn(f"I watched film {n} about a bomb", n) for n in range(1, 4)]
    services = memory(*bombs, turn("I like jazz", 4), model=model)
    with pytest.raises(ValueError, match="content filter"):
        extract(services, SCOPE)
    assert [each.id for each in extract(services, SCOPE).turns] == ["turn 4"]


def test_a_model_that_hangs_is_given_up_and_asked_no_more_in_this_run() -> None:
    """Each further turn would cost as long again; the error says how long it was waited and which setting that is."""
    never = threading.Event()
    model = ScriptedChatModel(then=lambda _: never.wait(60))
    services = memory(turn("I like tea", 1), turn("I like jazz", 2), model=model, answer_seconds=0.05)
    with pytest.raises(ModelTimeoutError, match=r"within 0\.05 s.*answer_seconds"):
        extract(services, SCOPE)
    never.set()
    assert len(model.calls) == 1


async def test_a_model_that_hangs_is_given_up_in_async_code_too() -> None:
    """The turn stays pending."""
    never = threading.Event()
    model = ScriptedChatModel(then=lambda _: never.wait(60))
    services = memory(turn("I like tea", 1), model=model, answer_seconds=0.05)
    with pytest.raises(ModelTimeoutError):
        await aextract(services, SCOPE)
    never.set()
    assert services.find_store().get(SCOPE.namespace, "turn 1").value["extracted"] is False  # type: ignore[union-attr]


def test_leases_are_renewed_while_a_model_takes_its_time() -> None:
    """A turn that somebody else took over meanwhile is left to them."""
    services = memory(
        turn("I like tea", 1),
        turn("I like jazz", 2),
        turn("I like art", 3),
        model=ScriptedChatModel(then=lambda _: (time.sleep(0.02), said("The user likes tea."))[1]),
        lease_seconds=0.03,
    )
    store = services.find_store()
    assert isinstance(store, ClaimingStore)
    store.taken = {"turn 2"}
    assert [each.id for each in extract(services, SCOPE).turns] == ["turn 1", "turn 3"]


class TooLong(ValueError):
    """A server's refusal, as its client raises it."""

    status_code = 400


def only_short(limit: int) -> ScriptedChatModel:
    """A model whose context takes so many characters of a turn."""

    def answer(messages: Sequence[BaseMessage]) -> object:
        if len(messages[-1].text) > limit:
            raise TooLong("This model's maximum context length is 512 tokens.")
        return said("The user likes tea.")

    return ScriptedChatModel(then=answer, methods=("json_schema",))


LONG = "I like tea. " + "The weather was fine all day long. " * 40 + "I live in Lyon."


def test_a_turn_that_a_model_finds_too_long_is_shortened() -> None:
    """The report says that only its beginning was read."""
    found = extract(memory(turn(LONG), model=only_short(800)), SCOPE)
    assert [fact.text for fact in found.facts] == ["The user likes tea."]
    assert any("beginning of a turn alone" in warning for warning in found.report.warnings)
    assert "turns_by_rules" not in found.report.counts


def test_a_turn_that_no_model_can_read_is_read_by_rules() -> None:
    """It doesn't wait for ever; it is counted, and others are read as always."""
    model = only_short(0)
    services = memory(turn(LONG, 1), turn("I own a boat.", 2), model=model)
    found = extract(services, SCOPE)
    assert [fact.text for fact in found.facts] == ["I like tea.", "I live in Lyon.", "I own a boat."]
    assert found.report.counts["turns_by_rules"] == 2
    assert found.report.counts["turns_left"] == 0
    assert sum("finds the turn too long" in warning for warning in found.report.warnings) == 2
