"""What a fact is about where nobody said it: by detectors and neighbours, kept apart from what people said."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig, create_memory_graph, create_remember_graph
from langmem_plus.prompts import ExtractedFact, ExtractedFacts, PlacedFact, PlacedFacts
from langmem_plus.recall.inject import build_context
from langmem_plus.records import PROPOSED, Fact, MemoryHit, MemoryRecord, Scope, record_id
from langmem_plus.remember.enrich import NEAR, NEAREST, Neighbour, aenrich, enrich, enrich_fact, enrich_node, is_sparse
from langmem_plus.remember.found import ENTITIES, FOUND
from langmem_plus.remember.traces import Traces
from langmem_plus.services import Services
from langmem_plus.testing import ScriptedChatModel

PLAIN = MemoryConfig(embeddings="none", background=False, strict=True)
ALICE = Scope("alice", thread_id="t1")
RUN: Any = {"configurable": {"user_id": "alice", "thread_id": "t1"}}


def fact(text: str, **fields: Any) -> Fact:
    """A fact of a turn."""
    return Fact(**{"text": text, "source_id": record_id(text), "ordinal": 0, **fields})


def near(text: str, *tags: str, likeness: float | None = None, id: str = "", names: tuple[str, ...] = ()) -> Neighbour:
    """A known fact."""
    return Neighbour(id or text, text, tags, likeness, frozenset(names))


def services(store: BaseStore | None = None, **settings: Any) -> Services:
    """Over a store that ranks nothing."""
    return Services(config=PLAIN.replace(**settings), store=store or InMemoryStore())


def stored(store: BaseStore, status: str = "active") -> dict[str, MemoryRecord]:
    """The facts of alice by their texts."""
    items = store.search(ALICE.namespace, filter={"role": "memory", "status": status}, limit=100)
    return {item.value["text"]: MemoryRecord.model_validate(item.value) for item in items}


# one fact


def test_a_sparse_fact_says_what_it_is_about() -> None:
    """Topics first, then names, then its kind; entities and the confidence beside them."""
    found = enrich_fact(
        fact("I play the cello with Anne.", tags=["preference", "Anne"], metadata={"kind": "preference"})
    )
    assert found.tags == ["cello", "Anne", "preference"]
    assert found.metadata == {"kind": "preference", ENTITIES: ["Anne"], FOUND: ["cello", "Anne"]}
    assert found.metadata_confidence == pytest.approx((0.9 + 0.85) / 2)


def test_confidence_is_the_mean_of_the_detectors() -> None:
    """Of those that found something, and of the model's own; confident metadata counts for importance, once."""
    alone = enrich_fact(fact("My dog is ill."))
    assert (alone.metadata_confidence, alone.importance) == (0.8, 0.2)
    asked = enrich_fact(fact("My dog is ill.", metadata_confidence=0.9, importance=0.2))
    assert (asked.metadata_confidence, asked.importance) == (0.85, 0.2)
    unsure = enrich_fact(fact("My dog is ill.", metadata_confidence=0.2))
    assert (unsure.metadata_confidence, unsure.importance) == (0.5, 0.0)
    told = enrich_fact(fact("My dog is ill."), [near("The dog barks.", "dog", likeness=0.6)])
    assert told.metadata_confidence == pytest.approx(0.7)
    assert enrich_fact(fact("OK")).metadata_confidence == 0


def test_what_somebody_gave_stays() -> None:
    """Tags of a model or a caller, entities of a caller; requests to forget are no facts."""
    given = fact("I play the cello with Anne.", tags=["music"], metadata_confidence=0.4)
    found = enrich_fact(given, [near("I love the cello.", "cello")])
    assert (found.tags, found.metadata_confidence, found.importance) == (["music"], 0.4, 0.0)
    assert found.metadata == {ENTITIES: ["Anne"]}
    told = enrich_fact(fact("I play the cello with Anne.", metadata={ENTITIES: ["A."]}))
    assert told.metadata[ENTITIES] == ["A."]
    request = fact("my address", metadata={"forget": "my address"})
    assert enrich_fact(request) == request
    assert not is_sparse(request)


def test_one_topic_has_one_name() -> None:
    """A tag of a neighbour that the fact's own words say comes first, as it is written there."""
    found = enrich_fact(fact("My Peanut allergy got worse."), [near("I can't eat peanuts.", "peanuts", "preference")])
    assert found.tags[0] == "peanuts"
    assert not any(tag in found.tags for tag in ("preference", "Peanut"))
    both = [near("a", "dogs"), near("b", "cats"), near("c", "cats")]
    assert enrich_fact(fact("I have a dog and a cat."), both).tags[:2] == ["cats", "dogs"]


def test_the_speaker_is_no_topic() -> None:
    """Everything that somebody says would be about them."""
    found = enrich_fact(fact("Nora plays the cello.", metadata={"name": "Nora"}))
    assert (found.tags, found.metadata[ENTITIES]) == (["cello"], ["Nora"])


def test_what_neighbours_agree_on_is_proposed() -> None:
    """Beside the tags, with whom it comes from: of two that are near, or one that is very near; never a name."""
    text = "I carry an EpiPen."
    two = [near("a", "allergy", likeness=NEAR), near("b", "allergy", "Anne", likeness=NEAR, names=("Anne",))]
    found = enrich_fact(fact(text), two)
    assert found.metadata[PROPOSED] == {"allergy": ["a", "b"]}
    assert "allergy" not in found.tags
    assert PROPOSED not in enrich_fact(fact(text), two[:1]).metadata
    assert PROPOSED not in enrich_fact(fact(text), [near("a", "allergy"), near("b", "allergy")]).metadata
    one = enrich_fact(fact(text), [near("a", "allergy", likeness=NEAREST)])
    assert one.metadata[PROPOSED] == {"allergy": ["a"]}


SAID = "I my dog Anne the peanuts in Rome ich Hund 我 猫 . , ’s"
WORDS = st.lists(st.sampled_from(SAID.split()), max_size=8)
TAGS = st.lists(
    st.sampled_from(["dog", "Anne", "preference", "", " ", "♥", "a" * 500]) | st.text(max_size=4), max_size=4
)


@settings(max_examples=40, deadline=None)
@given(
    text=WORDS.map(" ".join),
    tags=TAGS,
    around=st.lists(st.tuples(WORDS.map(" ".join), TAGS, st.none() | st.floats(0, 1)), max_size=4),
)
def test_any_fact_and_any_neighbours(text: str, tags: list[str], around: list[Any]) -> None:
    """Tags are few and say different things, given ones stay, confidence is a share, the text is untouched, and doing
    it again changes nothing more.
    """
    made = fact(text, tags=tags)
    neighbours = [near(*(said, *own), likeness=likeness) for said, own, likeness in around]
    found = enrich_fact(made, neighbours)
    assert (found.text, found.key) == (made.text, made.key)
    assert 0 <= found.metadata_confidence <= 1
    assert 0 <= found.importance <= 1
    if is_sparse(made):
        assert len(found.tags) <= 6
        assert len({tag.casefold() for tag in found.tags}) == len(found.tags)
    else:
        assert found.tags == tags
    assert set(found.metadata.get(PROPOSED, ())).isdisjoint(found.tags)


# the stage


async def test_facts_of_one_run_share_their_topics() -> None:
    """Those before count as neighbours; sync and async say the same."""
    facts = [fact("I love the Cello."), fact("My cellos are old."), fact("I like it.")]
    found = enrich(services(), ALICE, facts)
    assert [each.tags for each in found.facts] == [["Cello"], ["Cello"], []]
    assert found.report.counts == {"facts_enriched": 2}
    assert (await aenrich(services(), ALICE, facts)).facts == found.facts


def test_switched_off_or_without_neighbours() -> None:
    """`enrich = false` leaves facts as they are; without a neighbourhood nothing is looked up."""

    class Untouched(InMemoryStore):
        """A store that nobody may ask."""

        def batch(self, ops: Any) -> Any:
            """Fail."""
            raise AssertionError(ops)

    facts = [fact("I love the cello.")]
    assert enrich(services(Untouched(), enrich=False), ALICE, facts).facts == facts
    assert enrich(services(Untouched(), neighbourhood=0), ALICE, facts).facts[0].tags == ["cello"]
    assert enrich(services(Untouched()), ALICE, [fact("I love the cello.", tags=["music"])]).facts[0].tags == ["music"]


def test_a_failure_costs_the_tags_alone() -> None:
    """The facts go on as they are."""

    class Broken(InMemoryStore):
        """A store that is away while neighbours are looked for."""

        def batch(self, ops: Any) -> Any:
            """Fail."""
            raise ConnectionError("away")

    node = enrich_node(Services(config=PLAIN.replace(strict=False), store=Broken(), scope=ALICE))
    update = node.invoke({"memory_facts": [fact("I love the cello.")]}, RUN)
    assert "memory_facts" not in update
    assert update["memory_report"]["counts"] == {"enrich_failed": 1}


def test_it_asks_no_model() -> None:
    """Neither with one answer for everything nor with two; what that answer says of tags and names stays."""
    told = {"text": "The user plays the cello.", "tags": ["music"], "confidence": 0.9}
    silent = {"text": "The user lives in Porto."}
    apart = [ExtractedFacts(facts=[ExtractedFact(**told), ExtractedFact(**silent)])]
    together = [PlacedFacts(facts=[PlacedFact(turn="A", **told), PlacedFact(turn="A", **silent)])]
    for combine, answers in ((False, apart), (True, together)):
        store, model = InMemoryStore(), ScriptedChatModel(answers)
        graph = create_remember_graph(store=store, model=model, config=PLAIN.replace(combine=combine, summarize=False))
        report = graph.invoke({"messages": [HumanMessage("I play the cello and live in Porto.")]}, RUN)["memory_report"]
        found = stored(store)
        assert found["The user plays the cello."].tags == ["music"]
        assert found["The user plays the cello."].metadata_confidence == 0.9
        assert (found["The user lives in Porto."].tags, found["The user lives in Porto."].metadata[ENTITIES]) == (
            ["Porto"],
            ["Porto"],
        )
        assert report["counts"]["facts_enriched"] == 0  # its name was a tag already
        assert "enrich_calls" not in report["counts"]
        assert "enrich" in report["milliseconds"]


async def test_every_door_enriches(tmp_path: Any) -> None:
    """The memory graph and the client, in both ways; what waits is enriched by whoever works it off."""
    for how in ("invoke", "ainvoke"):
        store = InMemoryStore()
        graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=PLAIN)
        said: Any = {"messages": [HumanMessage("I love playing the cello.")]}
        _ = graph.invoke(said, RUN) if how == "invoke" else await graph.ainvoke(said, RUN)
        assert stored(store)["I love playing the cello."].tags == ["cello", "preference"]
    with MemoryClient(tmp_path, config=PLAIN) as client:
        client.add("I love playing the cello.", user_id="alice")
        (found,) = client.search("cello", user_id="alice", filter={"tags": {"in": ["cello"]}})
        assert found.record.metadata[FOUND] == ["cello"]


# what people do to it


def say(store: BaseStore, text: str) -> None:
    """Let alice say something, and have it worked off."""
    create_remember_graph(store=store, config=PLAIN).invoke({"messages": [HumanMessage(text)]}, RUN)


@pytest.mark.parametrize("tags", [["Music"], []])
def test_tags_that_a_person_set_come_back_as_they_are(tags: list[str]) -> None:
    """Said again, the fact is counted; its tags aren't filled up with what was taken out."""
    store = InMemoryStore()
    say(store, "I love playing the cello with Anne.")
    (record,) = stored(store).values()
    mine = record.model_copy(update={"tags": tags, "metadata": {**record.metadata, ENTITIES: ["Anne B."]}})
    store.put(ALICE.namespace, mine.id, mine.to_value())
    say(store, "I love playing the cello with Anne!")
    (again,) = stored(store).values()
    assert (again.tags, again.metadata[ENTITIES], again.repeat_count) == (tags, ["Anne B."], 1)


def test_a_record_from_before_is_filled_when_it_is_said_again() -> None:
    """Which has no tags, and never was enriched."""
    store = InMemoryStore()
    say(store, "I love playing the cello.")
    (record,) = stored(store).values()
    bare = record.model_copy(update={"tags": [], "metadata": {"kind": "preference"}})
    store.put(ALICE.namespace, bare.id, bare.to_value())
    say(store, "I love playing the cello!")
    assert next(iter(stored(store).values())).tags == ["cello", "preference"]


def test_what_is_erased_is_proposed_no_more(clock: Callable[[], Any]) -> None:
    """A proposal goes with the last fact that it came from; the record that has it stays."""
    made = [
        MemoryRecord(id=id, text=text, user_id="alice", metadata=metadata)
        for id, text, metadata in (
            ("a", "I'm pregnant.", {}),
            ("b", "My pregnancy goes well.", {}),
            ("c", "I see Dr. Lee on Friday.", {PROPOSED: {"pregnancy": ["a", "b"], "health": ["a"]}}),
            ("d", "I like tea.", {PROPOSED: "nonsense"}),
        )
    ]
    erasure = Traces(made, PLAIN, clock()).of_record("a")
    assert erasure.keys == {"a"}
    assert {id: value["metadata"] for id, value in erasure.rewritten.items()} == {"c": {PROPOSED: {"pregnancy": ["b"]}}}


# injection


def hit(text: str, *tags: str, **fields: Any) -> MemoryHit:
    """A recalled fact."""
    return MemoryHit(record=MemoryRecord(id=text, text=text, user_id="alice", tags=list(tags), **fields))


def headings(hits: list[MemoryHit]) -> list[str]:
    """The topics, and what stands under them, by its first word."""
    text, _ = build_context(hits, None, PLAIN)
    lines = [line for line in text.splitlines() if line.startswith(("## ", "[memory]"))]
    return [line if line.startswith("#") else line.split()[1] for line in lines]


def test_enriched_facts_stand_by_topic() -> None:
    """From what was said to the prompt: what shares a topic stands together, and what stands alone needs no heading."""
    store = InMemoryStore()
    for text in ("I love playing the cello.", "My wife is Anne.", "My cello teacher is called Mr Okafor."):
        say(store, text)
    found = list(stored(store).values())
    text, report = build_context([MemoryHit(record=each) for each in found], None, PLAIN)
    lines = [line.split(" (")[0] for line in text.splitlines()]
    at = lines.index("## cello")
    assert lines[at - 1] == "[memory] My wife is Anne."
    assert sorted(lines[at + 1 : at + 3]) == [
        "[memory] I love playing the cello.",
        "[memory] My cello teacher is called Mr Okafor.",
    ]
    assert report.counts["injected"] == 3


def test_a_proposal_joins_a_topic_and_never_makes_one() -> None:
    """It is shown only beside a fact that says it: what was forgotten since isn't told by a heading."""
    asks = hit("epipen", "EpiPen", metadata={PROPOSED: {"allergy": ["nuts"]}})
    assert headings([asks, hit("nuts", "allergy")]) == ["## allergy", "epipen", "nuts"]
    other = hit("doctor", metadata={PROPOSED: {"allergy": ["nuts"]}})
    assert sorted(headings([asks, other])) == ["doctor", "epipen"]


GROUPED = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.lists(st.sampled_from(["x", "X", "y", "z", "w", " "]), max_size=3)),
    max_size=9,
    unique_by=lambda pair: pair[0],
)


@settings(max_examples=25, deadline=None)
@given(pairs=GROUPED, order=st.randoms(use_true_random=False), budget=st.integers(0, 160))
def test_any_topics_and_any_budget(pairs: list[Any], order: Any, budget: int) -> None:
    """The order of the hits doesn't show; each heading has two lines or more; with a budget the best ones stay, in
    their order, whatever they are about.
    """
    hits = [hit(id * 3, *tags) for id, tags in pairs]
    shuffled = order.sample(hits, len(hits))
    text, _ = build_context(hits, None, PLAIN)
    assert build_context(shuffled, None, PLAIN)[0] == text
    lines = headings(hits)
    counts = [place for place, line in enumerate([*lines, "## end"]) if line.startswith("## ")]
    assert all(after - before > 2 for before, after in itertools.pairwise(counts))
    assert len({line.casefold() for line in lines if line.startswith("#")}) == len(counts) - 1
    tight, report = build_context(hits, None, PLAIN.replace(memories_max_tokens=budget))
    kept = [each for each in hits if f"[memory] {each.text} " in tight]
    assert kept == hits[: len(kept)]
    assert report.tokens.get("memories", 0) <= budget
