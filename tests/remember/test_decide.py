from __future__ import annotations

import datetime as dt
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.prompts import Change, Changes, fact_label
from langmem_plus.records import NEWER_THAN, Decision, Fact, MemoryRecord
from langmem_plus.remember.decide import (
    FORGET,
    Verdict,
    add_all,
    decide_by_answer,
    decide_by_rules,
    find_repeats,
)
from langmem_plus.remember.draft import Proposal, Proposed, decide_by_proposal
from langmem_plus.remember.fact_records import retire, strengthen, to_record
from langmem_plus.remember.simhash import simhash

NOW = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)


def fact(text: str, ordinal: int = 0, **fields: object) -> Fact:
    """A new fact of one turn."""
    return Fact(text=text, source_id="turn", ordinal=ordinal, observed_at=NOW, **fields)


def facts(*texts: str) -> list[Fact]:
    """The new facts of one turn."""
    return [fact(text, ordinal) for ordinal, text in enumerate(texts)]


def known(*texts: str, **fields: object) -> list[MemoryRecord]:
    """Known records, an hour old, their texts as ids."""
    said = NOW - dt.timedelta(hours=1)
    return [MemoryRecord(id=text, text=text, user_id="u", observed_at=said, **fields) for text in texts]


def answer(*changes: Change) -> Changes:
    """What a model says."""
    return Changes(changes=list(changes))


def by_answer(new: list[Fact], old: list[MemoryRecord], *changes: Change) -> Verdict:
    """The verdict over a model's answer."""
    return decide_by_answer(new, old, answer(*changes))


def events(decisions: list[Decision]) -> list[tuple[str, str | None]]:
    """What happens, to what."""
    return [(decision.event, decision.target) for decision in decisions]


# by rules


def test_a_repeat_of_a_known_record_or_of_an_earlier_fact_is_none() -> None:
    """It names what it repeats; nothing is asked, nothing is stored."""
    repeats, rest = find_repeats(facts("I like tea.", "I live in Lyon", "i live in Lyon!"), known("I like tea"), 3)
    assert [decision.target for decision in repeats] == ["I like tea", fact("", 1).key]
    assert [found.text for found in rest] == ["I live in Lyon"]


def test_what_two_speakers_say_of_themselves_is_no_repeat() -> None:
    """Anne's "I like tea" isn't Bob's."""
    mine = fact("I like tea", metadata={"name": "Anne"})
    assert find_repeats([mine], known("I like tea", metadata={"name": "Bob"}), 3) == ([], [mine])


def test_another_value_of_a_slot_updates_the_record_that_had_one() -> None:
    """If several had one, all of them are superseded by the fact."""
    decisions = decide_by_rules(facts("I moved to Lyon"), known("I live in Paris", "I like tea", "I live in Rome"))
    assert [decision.event for decision in decisions] == ["UPDATE", "DELETE"]
    assert {decision.target for decision in decisions} == {"I live in Paris", "I live in Rome"}
    assert all(decision.fact and decision.fact.text == "I moved to Lyon" for decision in decisions)


def test_pinned_records_stay_whatever_is_said() -> None:
    """Rules don't touch them either."""
    assert events(decide_by_rules(facts("I moved to Lyon"), known("I live in Paris", pinned=True))) == [("ADD", None)]


def test_an_older_statement_does_not_replace_a_newer_one() -> None:
    """When an old conversation is imported after a new one, it is stored as history."""
    late = fact("I live in Paris").model_copy(update={"observed_at": NOW - dt.timedelta(days=900)})
    (decision,) = decide_by_rules([late], known("I moved to Lyon"))
    assert (decision.event, decision.target) == ("ADD", "I moved to Lyon")


def test_a_request_to_forget_deletes_the_one_record_it_means() -> None:
    """It is never stored; where several could be meant, or a pinned one, nothing happens."""
    request = fact("my dog", metadata={FORGET: "my dog"})
    assert events(decide_by_rules([request], known("My dog is Rex", "I like tea"))) == [("DELETE", "My dog is Rex")]
    for records in (known("My dog is Rex", "My dog is old"), known("My dog is Rex", pinned=True), known("I like tea")):
        (decision,) = decide_by_rules([request], records)
        assert (decision.event, decision.fact, decision.target) == ("NONE", None, None)


# by a model


def test_an_update_names_the_fact_and_the_record() -> None:
    """The ordinary case."""
    verdict = by_answer(facts("I work at Globex"), known("I work at Acme"), Change(event="UPDATE", fact="A", id=0))
    assert events(verdict.decisions) == [("UPDATE", "I work at Acme")]
    assert verdict.warnings == []


def test_an_unknown_id_makes_an_update_an_add_and_a_delete_a_none() -> None:
    """Ids that don't exist are refused and reported."""
    verdict = by_answer(
        facts("I work at Globex"),
        known("I work at Acme"),
        Change(event="UPDATE", fact="A", id=7),
        Change(event="DELETE", id=-1),
    )
    assert events(verdict.decisions) == [("ADD", None), ("NONE", None)]
    assert len(verdict.warnings) == 2


def test_pinned_and_manually_saved_records_are_never_changed_by_a_model() -> None:
    """The new fact is added beside them."""
    for flag in ("pinned", "manually_saved"):
        for change in (Change(event="UPDATE", fact="A", id=0), Change(event="DELETE", fact="A", id=0)):
            verdict = by_answer(facts("I work at Globex"), known("I work at Acme", **{flag: True}), change)
            assert events(verdict.decisions) == [("ADD", None)]
            assert verdict.warnings


def test_where_only_deletions_come_back_the_new_facts_are_added_too() -> None:
    """A deletion takes the new fact that has to do with it as its replacement; one without is refused."""
    verdict = by_answer(facts("I work at Globex"), known("I work at Acme"), Change(event="DELETE", id=0))
    assert events(verdict.decisions) == [("UPDATE", "I work at Acme")]
    verdict = by_answer(facts("I like tea"), known("I work at Acme"), Change(event="DELETE", id=0))
    assert events(verdict.decisions) == [("ADD", None), ("NONE", None)]
    assert verdict.decisions[0].fact is not None


def test_a_fact_that_the_model_forgot_is_added() -> None:
    """However short its answer was."""
    verdict = by_answer(facts("I like tea", "I like jazz"), known("I like art"), Change(event="ADD", fact="B"))
    assert events(verdict.decisions) == [("ADD", None), ("ADD", None)]
    assert events(by_answer(facts("I like tea"), known("I like art")).decisions) == [("ADD", None)]


def test_at_most_one_decision_a_fact() -> None:
    """The first one holds."""
    verdict = by_answer(
        facts("I work at Globex"),
        known("I work at Acme", "I worked at Hooli"),
        Change(event="UPDATE", fact="A", id=0),
        Change(event="UPDATE", fact="A", id=1),
        Change(event="ADD", fact="A"),
    )
    assert events(verdict.decisions) == [("UPDATE", "I work at Acme")]
    assert len(verdict.warnings) == 2


def test_a_record_is_replaced_by_one_fact_only() -> None:
    """A second replacement is added."""
    verdict = by_answer(
        facts("I work at Globex", "I work at Hooli"),
        known("I work at Acme"),
        Change(event="UPDATE", fact="A", id=0),
        Change(event="UPDATE", fact="B", id=0),
    )
    assert events(verdict.decisions) == [("UPDATE", "I work at Acme"), ("ADD", None)]


def test_additive_facts_and_other_subjects_replace_nothing() -> None:
    """Whatever the model says: "also likes tea", and a sister's home."""
    for text, record in [("I also like tea", "I like coffee"), ("My sister lives in Rome", "My brother lives in Rome")]:
        verdict = by_answer(facts(text), known(record), Change(event="UPDATE", fact="A", id=0))
        assert events(verdict.decisions) == [("ADD", None)]


def test_what_is_called_known_must_be_held_by_the_record() -> None:
    """Else it would be lost: another number, a denial, a name, or no record at all."""
    for text, record in [
        ("I have 3 cats", "I have 2 cats"),
        ("I don't like tea", "I like tea"),
        ("My wife is Anne", "I have a wife"),
        ("I like jazz", "I like tea and art and chess"),
    ]:
        verdict = by_answer(facts(text), known(record), Change(event="NONE", fact="A", id=0))
        assert events(verdict.decisions) == [("ADD", None)], text
    assert events(by_answer(facts("I like tea"), known("I like art"), Change(event="NONE", fact="A")).decisions) == [
        ("ADD", None)
    ]
    for text, record in [("The user resides in Lyon", "I live in Lyon"), ("I own a red bike", "I own an old red bike")]:
        verdict = by_answer(facts(text), known(record), Change(event="NONE", fact="A", id=0))
        assert events(verdict.decisions) == [("NONE", record)]


def test_labels_are_read_as_clumsy_models_write_them() -> None:
    """A letter in brackets, a number, the text itself, or nothing where there is one fact."""
    for label in ("a", "(A)", "0", "I work at Globex", None):
        verdict = by_answer(
            facts("I work at Globex"), known("I work at Acme"), Change(event="UPDATE", fact=label, id=0)
        )
        assert events(verdict.decisions) == [("UPDATE", "I work at Acme")]


def test_a_model_may_resolve_a_request_to_forget() -> None:
    """But never by retiring what is pinned or was saved on purpose, and the request isn't stored."""
    request = fact("about my job", metadata={FORGET: "about my job"})
    delete = Change(event="DELETE", fact="A", id=0)
    assert events(by_answer([request], known("I work at Acme"), delete).decisions) == [("DELETE", "I work at Acme")]
    assert events(by_answer([request], known("I work at Acme", manually_saved=True), delete).decisions) == [
        ("NONE", None)
    ]
    assert events(by_answer([request], known("I work at Acme")).decisions) == [("NONE", None)]
    assert events(add_all([request], "the model failed")) == [("NONE", None)]


TEXTS = st.sampled_from(
    [
        "I live in Lyon",
        "I moved to Rome",
        "The user lives in Paris.",
        "I like tea",
        "I also like tea",
        "I hate tea",
        "I no longer like tea",
        "I no longer live in Lyon",
        "My wife is Anne",
        "I have 3 cats",
        "I have 4 cats now",
        "我住在上海",
        "Ich wohne in Köln",
        "",
        "?",
    ]
)
RECORDS = st.lists(
    st.builds(
        MemoryRecord,
        id=st.uuids().map(str),
        text=TEXTS | st.text(max_size=30),
        user_id=st.just("u"),
        pinned=st.booleans(),
        manually_saved=st.booleans(),
        observed_at=st.sampled_from([None, NOW - dt.timedelta(days=1), NOW + dt.timedelta(days=1)]),
    ),
    max_size=6,
    unique_by=lambda record: record.id,
)
FACTS = st.lists(TEXTS | st.text(max_size=30), max_size=5).map(lambda texts: facts(*texts))
CHANGES = st.lists(
    st.builds(
        Change,
        event=st.sampled_from(["ADD", "UPDATE", "DELETE", "NONE"]),
        fact=st.sampled_from([None, "A", "B", "C", "D", "Z", "0", "9", "I like tea"]),
        id=st.none() | st.integers(-2, 9),
    ),
    max_size=8,
).map(lambda changes: Changes(changes=changes))


def check(decisions: list[Decision], new: list[Fact], old: list[MemoryRecord], *, by_model: bool) -> None:
    """What holds for every decision, whatever was said."""
    ids = {record.id for record in old}
    keys = {found.key for found in new}
    fates = Counter(
        decision.fact.key for decision in decisions if decision.fact and decision.event in ("ADD", "UPDATE", "NONE")
    )
    assert fates == Counter(keys)  # every fact is stored, or is a repeat, exactly once
    for decision in decisions:
        assert decision.target is None or decision.target in ids | keys
        if decision.event == "NONE" and decision.fact:
            assert decision.target is not None  # nothing is known without saying what says it
        if decision.event in ("UPDATE", "DELETE"):
            assert decision.fact is not None  # no request to forget was made, so every retirement has a replacement
            target = next(record for record in old if record.id == decision.target)
            assert not target.pinned
            assert not (by_model and target.manually_saved)


@st.composite
def proposals(draw: st.DrawFn) -> tuple[list[Fact], Proposal]:
    """New facts, and what a model proposes for them beside what it was shown."""
    new = draw(FACTS)
    keys = st.sampled_from([None, "no fact", *(found.key for found in new)])
    events_ = st.sampled_from(["ADD", "UPDATE", "DELETE", "NONE"])
    changes = draw(st.lists(st.builds(Proposed, events_, keys, st.none() | st.integers(-2, 9)), max_size=8))
    return new, Proposal(draw(RECORDS), changes, draw(st.sampled_from(["", "", "it failed"])))


@given(proposals(), RECORDS, st.sets(st.integers(0, 5)))
def test_a_proposal_loses_no_fact_and_retires_nothing_without_a_replacement(
    proposed: tuple[list[Fact], Proposal], others: list[MemoryRecord], gone: set[int]
) -> None:
    """Whatever is proposed, and whatever of what was shown was retired meanwhile."""
    new, proposal = proposed
    active = [record for place, record in enumerate(proposal.shown) if place not in gone]
    verdict = decide_by_proposal(new, proposal, active, others)
    check(verdict.decisions, new, [*active, *others], by_model=True)


@given(proposals())
def test_a_proposal_is_judged_as_an_answer_of_its_own_is(proposed: tuple[list[Fact], Proposal]) -> None:
    """The same changes, over the same memories."""
    new, proposal = proposed
    if proposal.failure or not proposal.shown:
        return
    labels = {found.key: fact_label(place) for place, found in enumerate(new)}
    said = [
        Change(event=each.event, fact=labels.get(each.fact or ""), id=each.number)
        for each in proposal.changes
        if each.fact is None or each.fact in labels
    ]
    verdict = decide_by_proposal(new, proposal, proposal.shown, [])
    assert events(verdict.decisions) == events(by_answer(new, proposal.shown, *said).decisions)


def test_what_a_model_was_not_shown_is_compared_by_rules() -> None:
    """A newer value of the same slot replaces it there, too, unless it was saved on purpose."""
    new = facts("I moved to Lyon")
    proposal = Proposal(known("I like tea"), [Proposed("ADD", new[0].key)])
    for others, wanted in [
        (known("I live in Paris"), [("UPDATE", "I live in Paris")]),
        (known("I live in Paris", manually_saved=True), [("ADD", None)]),
        (known("I own a boat"), [("ADD", None)]),
    ]:
        assert events(decide_by_proposal(new, proposal, proposal.shown, others).decisions) == wanted


@given(FACTS, RECORDS)
def test_rules_lose_no_fact(new: list[Fact], old: list[MemoryRecord]) -> None:
    """Every new fact is added, updates something, or is a repeat of something that is there."""
    repeats, rest = find_repeats(new, old, 3)
    check([*repeats, *decide_by_rules(rest, old)], new, old, by_model=False)


@given(FACTS, RECORDS, CHANGES)
def test_a_model_loses_no_fact_and_retires_nothing_that_it_was_not_shown(
    new: list[Fact], old: list[MemoryRecord], said: Changes
) -> None:
    """Whatever it answers: unknown labels, unknown ids, decisions twice, deletions alone."""
    repeats, rest = find_repeats(new, old, 3)
    verdict = decide_by_answer(rest, old, said)
    check([*repeats, *verdict.decisions], new, old, by_model=True)
    targets = Counter(decision.target for decision in verdict.decisions if decision.event == "UPDATE")
    assert all(count == 1 for count in targets.values())


# records


def turn() -> MemoryRecord:
    """The turn that facts come from."""
    return MemoryRecord(id="turn", role="user", text="…", user_id="u", source_ids=["m1"], thread_id="t")


def test_a_fact_becomes_a_record_that_knows_its_source() -> None:
    """Turn and message ids, the time of the words, the fingerprint."""
    record = to_record(fact("I like tea", importance=0.3, tags=["tea"]), turn(), NOW)
    assert (record.id, record.source_ids) == (fact("").key, ["turn", "m1"])
    assert (record.observed_at, record.importance, record.simhash) == (NOW, 0.3, simhash("I like tea"))


def test_a_repetition_strengthens_once_a_turn() -> None:
    """Count and importance rise, the rest is merged, a wish to save stays; a retry changes nothing."""
    (old,) = known("I like tea", importance=0.3, tags=["a"], source_ids=["t0"], manually_saved=True, metadata={"k": 1})
    repeat = to_record(fact("I like tea", tags=["b"], metadata={"k": 2, "l": 3}), turn(), NOW)
    once = strengthen(old, repeat, NOW)
    assert (once.repeat_count, once.tags, once.source_ids) == (1, ["a", "b"], ["t0", "turn", "m1"])
    assert once.importance > old.importance
    assert once.manually_saved
    assert once.metadata == {"k": 1, "l": 3}
    twice = strengthen(once, repeat, NOW)
    assert (twice.repeat_count, twice.importance) == (once.repeat_count, once.importance)
    assert strengthen(old.model_copy(update={"importance": 1.0}), repeat, NOW).importance == 1.0


def test_a_tombstone_says_why() -> None:
    """Superseded with a replacement, deleted without; the text stays readable."""
    (old,) = known("I live in Paris")
    assert retire(old, NOW, "moved", "new").model_dump()["status"] == "superseded"
    gone = retire(old, NOW, "asked")
    assert (gone.status, gone.replaced_by, gone.metadata["reason"], gone.text) == ("deleted", None, "asked", old.text)


def test_rules_keep_what_tells_more_below_the_newer_fact() -> None:
    """A move retires the home that was told alone; with a husband told beside it, it stays, and comes second."""
    for old in ("I live in Leeds", "I live in a small flat in Leeds"):
        (decision,) = decide_by_rules(facts("We moved to York yesterday!"), known(old))
        assert (decision.event, decision.target) == ("UPDATE", old)
    old = "I live in Leeds with my husband Tom and our two kids"
    (decision,) = decide_by_rules(facts("We moved to York yesterday!"), known(old))
    assert (decision.event, decision.target) == ("ADD", None)
    assert decision.fact is not None and decision.fact.metadata[NEWER_THAN] == [old]


def test_a_model_replaces_only_what_is_about_the_same_thing() -> None:
    """One common word is chance: both stay, and the report says so."""
    for text, record in [
        ("I bought a book about nuts", "I am allergic to nuts"),
        ("My wife is a doctor", "I live in Lyon"),
        ("I work at Acme", "I live in Lyon"),
        ("I like jazz", "I like tea"),
        ("My boat is 8 years old", "My boat is blue"),
    ]:
        for change in (Change(event="UPDATE", fact="A", id=0), Change(event="DELETE", fact="A", id=0)):
            verdict = by_answer(facts(text), known(record), change)
            assert [(d.event, d.target) for d in verdict.decisions if d.fact] == [("ADD", None)], text
            assert verdict.warnings
            if change.event == "UPDATE":  # recalled before it, no more
                assert [d.fact.metadata[NEWER_THAN] for d in verdict.decisions if d.fact] == [[record]]
    for text, record in [
        ("I live in France", "I live in Paris"),
        ("My boat is now red", "My boat is blue"),
        ("I stopped eating meat", "I eat meat every day"),
    ]:
        verdict = by_answer(facts(text), known(record), Change(event="UPDATE", fact="A", id=0))
        assert events(verdict.decisions) == [("UPDATE", record)], text


def test_what_was_saved_on_purpose_goes_only_by_its_whole_statement() -> None:
    """Pinned records never do."""
    named = fact("my dog", metadata={FORGET: "my dog"})
    stated = fact("my dog is Rex", metadata={FORGET: "my dog is Rex"})
    saved = known("My dog is Rex", manually_saved=True)
    assert events(decide_by_rules([named], saved)) == [("NONE", None)]
    assert events(decide_by_rules([stated], saved)) == [("DELETE", "My dog is Rex")]
    assert events(decide_by_rules([stated], known("My dog is Rex", pinned=True))) == [("NONE", None)]
    everything = fact("everything about my dog", metadata={FORGET: "everything about my dog"})
    (decision,) = decide_by_rules([everything], known("My dog is Rex"))
    assert decision.event == "NONE"
    assert "everything" in decision.reason
