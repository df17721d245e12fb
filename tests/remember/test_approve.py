"""Answers to what waits: once, whoever comes first, and never over a memory that has changed since."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from langmem_plus.errors import ConflictError, NotFoundError
from langmem_plus.recall import recall
from langmem_plus.records import REVIEW, MemoryRecord
from langmem_plus.remember.approve import approve_steps, pending_steps, reject_steps, targets_steps
from langmem_plus.remember.gist import Gist
from langmem_plus.remember.review import TURNED_DOWN, make_policy, review_of
from langmem_plus.remember.steps import Batch, get_records, put, run_steps
from langmem_plus.remember.summarize import summarize
from langmem_plus.remember.undelete import undelete_steps


class Desk:
    """Answers for a person."""

    def __init__(self, person: Any) -> None:
        self.person = person

    def run(self, steps: Any) -> Any:
        """Run steps over the person's store."""
        return run_steps(steps, self.person.services, self.person.store)

    @property
    def pending(self) -> list[MemoryRecord]:
        """What waits."""
        return self.run(pending_steps(self.person.services, self.person.scope))

    def approve(self, id: str, **options: Any) -> MemoryRecord:
        """Approve."""
        return self.run(approve_steps(self.person.services, self.person.scope, id, **options))

    def contested(self, record: MemoryRecord) -> list[str]:
        """The texts of what would be replaced."""
        found = self.run(targets_steps(self.person.services, self.person.scope, record))
        return [each.text for each in found]

    def reject(self, id: str) -> MemoryRecord:
        """Reject."""
        return self.run(reject_steps(self.person.services, self.person.scope, id))

    def get(self, id: str) -> MemoryRecord:
        """A record, whatever its status."""
        return self.run(get_records(self.person.scope.namespace, [id]))[id]

    def edit(self, record: MemoryRecord, **changes: Any) -> MemoryRecord:
        """Change a record behind everybody's back."""
        edited = record.model_copy(update=changes)
        self.person.store.batch([put(self.person.scope.namespace, edited)])
        return edited


@pytest.fixture
def desk(person: Any) -> Desk:
    """A person who lives in Paris, and for whom Lyon waits."""
    ann = person()
    ann.say("I live in Paris.")
    ann.services = dataclasses.replace(ann.services, review=make_policy("conflicts", None))
    ann.say("I live in Lyon now.")
    return Desk(ann)


def test_an_approval_replaces_what_it_said_it_would(desk: Desk) -> None:
    """As the decision would have; the turns are recalled again."""
    (waiting,) = desk.pending
    approved = desk.approve(waiting.id[:8])
    (paris,) = desk.person.records(status="superseded")
    assert (approved.status, approved.replaces, paris.replaced_by) == ("active", [paris.id], approved.id)
    assert desk.person.texts() == ["I live in Lyon now."]
    assert REVIEW not in approved.metadata
    assert not any(REVIEW in turn.metadata for role in ("user", "assistant") for turn in desk.person.records(role))
    assert desk.pending == []


def test_a_rejection_leaves_what_is_known(desk: Desk) -> None:
    """A tombstone stays; the turn that says it isn't recalled, and summaries lose it."""
    summarize(desk.person.services, desk.person.scope)
    (waiting,) = desk.pending
    left = desk.reject(waiting.id)
    assert (left.status, left.metadata["reason"]) == ("deleted", TURNED_DOWN)
    assert desk.person.texts() == ["I live in Paris."]
    assert not any("Lyon" in text for text in desk.person.texts("summary"))
    found = recall(desk.person.services, desk.person.scope, "where do I live")[0]
    assert found
    assert not any("Lyon" in hit.text for hit in found)


def test_the_first_answer_holds(desk: Desk) -> None:
    """The same again changes nothing, the other one is refused with a way out."""
    (waiting,) = desk.pending
    approved = desk.approve(waiting.id)
    assert desk.approve(waiting.id) == approved == desk.get(waiting.id)
    with pytest.raises(ConflictError, match="`forget`"):
        desk.reject(waiting.id)


def test_only_what_waits_or_waited_is_answered(desk: Desk) -> None:
    """Of anything else nobody is told that it was approved or rejected."""
    (paris,), (turn, *_) = desk.person.records(), desk.person.records("user")
    for id in (paris.id, turn.id):
        with pytest.raises(ConflictError, match="waits for no answer: `pending`"):
            desk.approve(id)
        with pytest.raises(ConflictError, match="`forget` retires it"):
            desk.reject(id)
    desk.edit(paris, status="deleted")
    with pytest.raises(ConflictError, match="forgotten already"):
        desk.reject(paris.id)
    desk.edit(paris, status="superseded", replaced_by="another")
    with pytest.raises(ConflictError, match="replaced by another"):
        desk.reject(paris.id)


def test_what_was_rejected_cant_be_approved(desk: Desk) -> None:
    """It has to be said anew."""
    (waiting,) = desk.pending
    left = desk.reject(waiting.id)
    assert desk.reject(waiting.id) == left
    with pytest.raises(ConflictError, match="anew"):
        desk.approve(waiting.id)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"text": "I live in Paris, France."}, "was edited"),
        ({"pinned": True}, "is pinned"),
        ({"status": "deleted"}, "forgotten or erased"),
        ({"status": "superseded", "replaced_by": "another"}, "replaced by another"),
    ],
)
def test_a_target_that_changed_is_named_and_nothing_is_written(desk: Desk, change: dict[str, Any], why: str) -> None:
    """Both can be kept; then the changed one stays as it is."""
    (paris,), (waiting,) = desk.person.records(), desk.pending
    changed = desk.edit(paris, **change)
    with pytest.raises(ConflictError, match=rf"{why}.*beside=True"):
        desk.approve(waiting.id)
    assert desk.get(waiting.id) == waiting
    assert desk.approve(waiting.id, beside=True).status == "active"
    assert desk.get(paris.id) == changed


def test_a_target_that_was_erased_is_named(desk: Desk) -> None:
    """There is nothing left to replace."""
    (paris,), (waiting,) = desk.person.records(), desk.pending
    desk.person.store.delete(desk.person.scope.namespace, paris.id)
    with pytest.raises(ConflictError, match="forgotten or erased"):
        desk.approve(waiting.id)
    assert desk.approve(waiting.id, beside=True).replaces == []


def test_other_changes_of_the_target_dont_matter(desk: Desk) -> None:
    """A repetition, a tag."""
    (paris,), (waiting,) = desk.person.records(), desk.pending
    desk.edit(paris, repeat_count=3, tags=["home"], manually_saved=True)
    assert desk.approve(waiting.id).manually_saved
    assert desk.get(paris.id).status == "superseded"


def test_what_is_known_by_now_is_strengthened(desk: Desk) -> None:
    """Said twice while it waited: one record, and both approvals are quiet."""
    desk.person.say("I live in Lyon now!")
    first, second = desk.pending
    kept = desk.approve(first.id)
    assert desk.approve(second.id).id == kept.id
    assert desk.person.texts() == [kept.text]
    assert desk.get(kept.id).repeat_count == 1
    assert desk.approve(second.id).status == "superseded"
    assert desk.pending == []


@pytest.mark.parametrize(
    ("home", "first", "second"),
    [
        ("I live in Paris.", "I live in Lyon now.", "I live in Rome now."),
        ("Ich wohne in Berlin.", "Ich wohne jetzt in Hamburg.", "Ich wohne jetzt in Wien."),
        ("Vivo en Madrid.", "Vivo en Sevilla ahora.", "Vivo en Cádiz ahora."),
    ],
)
def test_of_two_changes_of_one_memory_the_second_replaces_the_first(
    person: Any, home: str, first: str, second: str
) -> None:
    """Both waited against what was known before; approved in turn, the last one alone is left, and it is shown so."""
    ann = person()
    ann.say(home)
    ann.services = dataclasses.replace(ann.services, review=make_policy("conflicts", None))
    ann.say(first)
    ann.say(second)
    desk = Desk(ann)
    one, two = desk.pending
    assert desk.contested(two) == [home]
    desk.approve(one.id)
    assert desk.contested(two) == [first]
    approved = desk.approve(two.id)
    assert (ann.texts(), approved.replaces) == ([second], [one.id])
    assert desk.get(one.id).replaced_by == two.id
    assert desk.pending == []


def test_what_was_said_before_doesnt_replace_what_was_said_later(desk: Desk) -> None:
    """The later change was approved first; the earlier one is named with what stands in its way."""
    desk.person.say("I live in Rome now.")
    lyon, rome = desk.pending
    desk.approve(rome.id)
    with pytest.raises(ConflictError, match=r"'I live in Rome now\.'\), which was said later.*beside=True"):
        desk.approve(lyon.id)
    assert desk.get(lyon.id) == lyon
    assert desk.approve(lyon.id, beside=True).replaces == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pinned": True}, "which is pinned"),
        ({"status": "deleted"}, "was replaced by"),
        ({"status": "superseded", "replaced_by": "another"}, "was replaced by"),
    ],
)
def test_what_stands_there_now_is_as_well_kept(desk: Desk, change: dict[str, Any], why: str) -> None:
    """Pinned, forgotten or replaced by nobody knows what: nothing is written."""
    desk.person.say("I live in Rome now.")
    lyon, rome = desk.pending
    changed = desk.edit(desk.approve(lyon.id), **change)
    with pytest.raises(ConflictError, match=rf"{why}.*beside=True"):
        desk.approve(rome.id)
    assert (desk.get(rome.id), desk.get(lyon.id)) == (rome, changed)


def test_an_approval_by_hand_replaces_what_stands_there_now(desk: Desk) -> None:
    """As one by a call."""
    desk.person.say("I live in Rome now.")
    lyon, rome = desk.pending
    desk.approve(lyon.id)
    desk.edit(rome, status="active")
    assert desk.pending == []
    assert desk.person.texts() == ["I live in Rome now."]


def test_records_that_replace_each_other_end_no_answer(desk: Desk) -> None:
    """Files are edited by people."""
    (paris,), (waiting,) = desk.person.records(), desk.pending
    other = desk.edit(paris, id="other", status="superseded", replaced_by=paris.id)
    desk.edit(paris, status="superseded", replaced_by=other.id)
    with pytest.raises(ConflictError, match="was replaced by other"):
        desk.approve(waiting.id)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_last_words_of_those_that_were_approved_hold(person: Any, order: tuple[int, ...]) -> None:
    """In whichever order changes of one memory are answered: one of them is left, the last that was said."""
    ann = person()
    ann.say("I live in Paris.")
    ann.services = dataclasses.replace(ann.services, review=make_policy("conflicts", None))
    for place in ("Lyon", "Rome", "Oslo"):
        ann.say(f"I live in {place} now.")
    desk = Desk(ann)
    waiting, latest = desk.pending, -1
    for each in order:
        if each > latest:
            desk.approve(waiting[each].id)
            latest = each
        else:
            with pytest.raises(ConflictError, match="said later"):
                desk.approve(waiting[each].id)
        assert ann.texts() == [waiting[latest].text]


def test_a_chain_is_approved_from_its_end(desk: Desk) -> None:
    """The last move replaces all before it, those that wait too; they have nothing to say any more."""
    desk.person.tell("I live in Rome now.")
    desk.person.tell("I live in Oslo now.")
    desk.person.work()
    by_text = {record.text: record for record in desk.pending}
    rome, oslo = by_text["I live in Rome now."], by_text["I live in Oslo now."]
    desk.approve(oslo.id)
    assert desk.person.texts() == ["I live in Oslo now."]
    assert desk.get(rome.id).replaced_by == oslo.id
    with pytest.raises(ConflictError, match="nothing to approve"):
        desk.approve(rome.id)
    assert [record.text for record in desk.pending] == ["I live in Lyon now."]


def test_a_chain_is_approved_from_its_beginning(desk: Desk) -> None:
    """One after the other, or the first one rejected."""
    desk.person.tell("I live in Rome now.")
    desk.person.tell("I live in Oslo now.")
    desk.person.work()
    by_text = {record.text: record for record in desk.pending}
    desk.reject(by_text["I live in Rome now."].id)
    desk.approve(by_text["I live in Oslo now."].id)
    assert desk.person.texts() == ["I live in Oslo now."]


def test_a_request_to_forget_is_carried_out_once_it_is_approved(person: Any) -> None:
    """Its target is forgotten, with the turns that say it; rejected, everything stays."""
    ann = person()
    ann.say("I own a boat.")
    ann.say("I own a car.")
    ann.services = dataclasses.replace(ann.services, review=make_policy("all", None))
    ann.say("Forget that I own a boat.")
    ann.say("Forget that I own a car.")
    desk = Desk(ann)
    boat, car = desk.pending
    assert desk.approve(boat.id).status == "deleted"
    assert desk.approve(boat.id).status == "deleted"
    desk.reject(car.id)
    assert ann.texts() == ["I own a car."]
    found = [hit.text for hit in recall(ann.services, ann.scope, "do I own a boat or a car")[0]]
    assert not any("boat" in text for text in found)
    assert any("car" in text for text in found)


def test_an_approved_request_to_forget_reaches_archives_in_other_words(person: Any) -> None:
    """Those of the conversation in which it was said; a rejected one leaves them."""
    ann = person()
    ann.say("My gate code is 4711.")
    (turn,) = ann.records("user")
    gist = Gist(("The home's entrance opens with 4711.", "The user bakes."))
    known = {"role": "archive", "user_id": "ann", "thread_id": turn.thread_id, "metadata": gist.metadata}
    archive = MemoryRecord(id="archive", text=gist.text, **known)
    ann.store.put(ann.scope.namespace, archive.id, archive.to_value())
    ann.services = dataclasses.replace(ann.services, review=make_policy("all", None))
    ann.say("Forget my gate code.")
    desk = Desk(ann)
    assert ann.texts("archive") == [gist.text]
    desk.approve(desk.pending[0].id)
    assert ann.texts("archive") == ["The user bakes."]


def test_a_request_to_forget_what_changed_says_how(person: Any) -> None:
    """Pinned or edited since; what is gone already is no obstacle."""
    ann = person()
    ann.say("I own a boat.")
    ann.services = dataclasses.replace(ann.services, review=make_policy("all", None))
    ann.say("Forget that I own a boat.")
    desk = Desk(ann)
    (waiting,), (boat,) = desk.pending, ann.records()
    desk.edit(boat, pinned=True)
    with pytest.raises(ConflictError, match="unpin it first"):
        desk.approve(waiting.id)
    desk.edit(boat, status="deleted")
    assert desk.approve(waiting.id).status == "deleted"


def test_an_approval_by_hand_counts_and_loses_no_replacement(desk: Desk) -> None:
    """The record is set active: recall has it instead of its target at once, and the next look finishes the rest."""
    (waiting,) = desk.pending
    desk.edit(waiting, status="active")
    hits = recall(desk.person.services, desk.person.scope, "where do I live")[0]
    assert [hit.text for hit in hits if hit.record.role == "memory"] == ["I live in Lyon now."]
    assert desk.pending == []
    assert desk.person.texts() == ["I live in Lyon now."]
    assert desk.person.texts(status="superseded") == ["I live in Paris."]
    assert not any(REVIEW in turn.metadata for turn in desk.person.records("user"))


def test_an_approval_by_hand_is_finished_when_something_like_it_is_said(desk: Desk) -> None:
    """A conversation is enough; what was pinned meanwhile stays."""
    (waiting,) = desk.pending
    desk.edit(waiting, status="active")
    desk.person.say("I live in Lyon now!")
    assert desk.person.texts() == ["I live in Lyon now."]
    assert desk.get(waiting.id).repeat_count == 1


def test_a_request_to_forget_that_is_set_active_is_carried_out(person: Any) -> None:
    """It is never a memory."""
    ann = person()
    ann.say("I own a boat.")
    ann.services = dataclasses.replace(ann.services, review=make_policy("all", None))
    ann.say("Forget that I own a boat.")
    desk = Desk(ann)
    desk.edit(desk.pending[0], status="active")
    hits = recall(ann.services, ann.scope, "forget the memory of a boat")[0]
    assert not [hit for hit in hits if hit.record.role == "memory"]
    assert desk.pending == []
    assert ann.texts() == []


def test_what_was_never_there_or_begins_alike_is_refused(desk: Desk) -> None:
    """By its name, with the way to find the right one."""
    for id in ("nothing", ""):
        with pytest.raises(NotFoundError, match="`pending` lists it"):
            desk.approve(id)
    desk.person.say("I live in Rome now.")
    ids = [record.id for record in desk.pending]
    if ids[0][0] == ids[1][0]:
        with pytest.raises(NotFoundError, match="give more"):
            desk.reject(ids[0][0])


def test_two_who_answer_at_once_come_to_one_result(desk: Desk) -> None:
    """The second one's batch isn't written: it is read again, and finds the answer."""
    (waiting,) = desk.pending
    slow = approve_steps(desk.person.services, desk.person.scope, waiting.id)
    request, answered = next(slow), False
    store = desk.person.store
    with pytest.raises((StopIteration, ConflictError)) as end:
        while True:
            if not isinstance(request, Batch) and not answered:  # the write
                answered = True
                desk.reject(waiting.id)
            if isinstance(request, Batch):
                result: Any = store.batch(request.ops)
            else:
                exchange = getattr(store, "exchange", None)
                result = exchange(request.namespace, request.expected, request.ops) if exchange else None
            request = slow.send(result)
    assert answered
    assert isinstance(end.value, ConflictError)
    assert desk.person.texts() == ["I live in Paris."]


def test_what_was_rejected_waits_again_once_it_is_brought_back(desk: Desk) -> None:
    """Who changes their mind in time answers anew."""
    (waiting,) = desk.pending
    desk.reject(waiting.id)
    back = desk.run(undelete_steps(desk.person.services, desk.person.scope, waiting.id))
    assert back.status == "pending"
    assert desk.approve(waiting.id).status == "active"
    assert desk.person.texts() == ["I live in Lyon now."]
    assert not any(REVIEW in turn.metadata for turn in desk.person.records("user"))


_PLACES = ("Paris", "Lyon", "Rome")
_ACTIONS = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(_PLACES)),
    st.tuples(st.just("forget"), st.sampled_from(_PLACES)),
    st.tuples(st.sampled_from(["approve", "beside", "reject", "by hand"]), st.integers(0, 3)),
    st.tuples(st.sampled_from(["pin", "edit", "delete"]), st.integers(0, 3)),
)


@pytest.mark.parametrize("store", ["memory"], indirect=True)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(policy=st.sampled_from(["conflicts", "all"]), actions=st.lists(_ACTIONS, max_size=9))
def test_whatever_happens_meanwhile_an_answer_is_given_once(
    person: Any, policy: Any, actions: list[tuple[str, Any]]
) -> None:
    """No answer fails but with the reason; nothing that was pinned or edited is retired by it; what is active has no
    note left once somebody looked; the answer again changes nothing.
    """
    desk = Desk(person())
    desk.person.services = dataclasses.replace(
        desk.person.services, store=InMemoryStore(), review=make_policy(policy, None)
    )
    for action, value in actions:
        if action in ("say", "forget"):
            desk.person.say(f"I live in {value} now." if action == "say" else f"Forget that I live in {value} now.")
            continue
        waiting, known = desk.pending, desk.person.records()
        if action in ("pin", "edit", "delete"):
            change = {"pin": {"pinned": True}, "edit": {"text": "I live on a boat."}, "delete": {"status": "deleted"}}
            for record in known[value : value + 1]:
                desk.edit(record, **change[action])
            continue
        kept = {record.id: record.text for record in known if record.pinned or record.text == "I live on a boat."}
        for record in waiting[value : value + 1]:
            if action == "by hand":
                desk.edit(record, status="active")
            else:
                answer(desk, record.id, action)
        assert not any(review_of(record) for record in (desk.pending and desk.person.records()))
        assert kept.items() <= {record.id: record.text for record in desk.person.records()}.items()


def answer(desk: Desk, id: str, action: str) -> None:
    """Answer twice; a refusal leaves it waiting."""
    try:
        first = desk.reject(id) if action == "reject" else desk.approve(id, beside=action == "beside")
    except ConflictError:
        assert desk.get(id).status == "pending"
        return
    left = {record.id: record for record in desk.person.records(status=None)}
    again = desk.reject(id) if action == "reject" else desk.approve(id, beside=action == "beside")
    assert {record.id: record for record in desk.person.records(status=None)} == left
    assert again.status in (first.status, "superseded")
    assert desk.get(id).status != "pending"
