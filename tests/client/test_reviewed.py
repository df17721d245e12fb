"""What waits for the owner, through the client: listed, approved, rejected, and inert at every other door."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus import MarkdownStore, MemoryClient, MemoryConfig
from langmem_plus.errors import ConflictError, InvalidValueError, NotFoundError
from langmem_plus.records import FORGOTTEN, REVIEW, MemoryRecord

CONFIG = MemoryConfig(embeddings="none", background=False, review="conflicts", sync_interval=0, summarize=False)


@pytest.fixture(params=["memory", "markdown"])
def client(request, tmp_path):
    """A client of somebody who lives in Paris, and for whom Lyon waits."""
    store = InMemoryStore() if request.param == "memory" else tmp_path / "memories"
    with MemoryClient(store, config=CONFIG) as opened:
        opened.add("I live in Paris.", user_id="ann", thread_id="t")
        opened.add("I live in Lyon now.", user_id="ann", thread_id="t")
        yield opened


def facts(client: MemoryClient, space: str = "default") -> list[str]:
    """The texts of the facts in force."""
    return sorted(record.text for record in client.list(user_id="ann", space=space, role="memory"))


def one(client: MemoryClient) -> MemoryRecord:
    """The one thing that waits."""
    (record,) = client.pending(user_id="ann")
    return record


def test_what_waits_is_seen_where_an_owner_looks_and_nowhere_else(client):
    """By `pending` and by its id; not in lists, searches, or as something to pin."""
    waiting = one(client)
    assert (waiting.status, waiting.text) == ("pending", "I live in Lyon now.")
    assert [record.text for record in client.contested(waiting)] == ["I live in Paris."]
    assert client.get(waiting.id, user_id="ann").status == "pending"
    assert facts(client) == ["I live in Paris."]
    assert all(record.status == "active" for record in client.list(user_id="ann"))
    assert not any("Lyon" in hit.text for hit in client.search("where do I live", user_id="ann"))
    assert not any("Lyon" in hit.text for hit in client.search("Lyon", user_id="ann", filter={"role": "memory"}))
    with pytest.raises(NotFoundError, match="approve it first"):
        client.pin(waiting.id, user_id="ann")


def test_the_conversation_still_has_its_words(client):
    """What was said, was said; only memories of it wait."""
    assert [message.text for message in client.load("t", user_id="ann")][-1] == "I live in Lyon now."


def test_approve_and_reject_by_the_beginning_of_an_id(client):
    """Each of them twice is the same as once."""
    waiting = one(client)
    assert client.approve(waiting.id[:10], user_id="ann").status == "active"
    assert client.approve(waiting.id, user_id="ann").status == "active"
    assert facts(client) == ["I live in Lyon now."]
    client.add("I live in Rome now.", user_id="ann", thread_id="t")
    rome = one(client)
    assert client.reject(rome.id[:10], user_id="ann") == client.reject(rome.id, user_id="ann")
    assert facts(client) == ["I live in Lyon now."]
    with pytest.raises(InvalidValueError):
        client.approve(None, user_id="ann")  # type: ignore[arg-type]


async def test_what_would_be_replaced_is_found_by_the_id_too(client):
    """As approve and reject take it; whose it is has to be said, and what is neither is told so."""
    waiting = one(client)
    for id in (waiting.id, waiting.id[:10]):
        assert [record.text for record in client.contested(id, user_id="ann")] == ["I live in Paris."]
        assert [record.text for record in await client.acontested(id, user_id="ann", space="default")]
    for wrong, why in ((waiting.id, "needs user_id"), (None, "pass one of `pending`"), ([waiting], "or its id")):
        with pytest.raises(InvalidValueError, match=why):
            client.contested(wrong)
    for user_id, id in (("ann", "nothing"), ("bob", waiting.id)):
        with pytest.raises(NotFoundError, match="`pending` lists it"):
            client.contested(id, user_id=user_id)


async def test_the_async_twins_do_the_same(client):
    """Over the same core."""
    (waiting,) = await client.apending(user_id="ann", space="default")
    assert [record.text for record in await client.acontested(waiting)] == ["I live in Paris."]
    assert (await client.aapprove(waiting.id, user_id="ann")).status == "active"
    await client.aadd("I live in Rome now.", user_id="ann", thread_id="t")
    (rome,) = await client.apending(user_id="ann")
    assert (await client.areject(rome.id, user_id="ann")).status == "deleted"


def test_every_space_is_looked_in_and_nobody_elses(client):
    """Without a space, all of the user's; a user of a name that begins alike has their own."""
    for user, space in (("ann", "work"), ("anna", "default")):
        client.add("I work at Acme.", user_id=user, space=space)
        client.add("I work at Initech now.", user_id=user, space=space)
    assert {record.space for record in client.pending(user_id="ann")} == {"default", "work"}
    assert [record.space for record in client.pending(user_id="ann", space="work")] == ["work"]
    (job,) = client.pending(user_id="ann", space="work")
    with pytest.raises(NotFoundError):
        client.approve(job.id, user_id="anna")
    with pytest.raises(NotFoundError):
        client.approve(job.id, user_id="ann", space="default")
    assert client.approve(job.id, user_id="ann").text == "I work at Initech now."
    assert facts(client, "work") == ["I work at Initech now."]


def test_forget_and_erase_reach_what_waits(client):
    """Forgetting is another way to say no; erasing leaves no word of it."""
    assert client.forget(one(client).id, user_id="ann").status == "deleted"
    assert client.pending(user_id="ann") == []
    client.add("I live in Rome now.", user_id="ann", thread_id="t")
    client.erase(user_id="ann", id=one(client).id)
    assert client.pending(user_id="ann") == []
    assert facts(client) == ["I live in Paris."]


def test_a_function_decides_what_waits():
    """In place of the setting."""
    with MemoryClient(InMemoryStore(), config=CONFIG, review=lambda made, target: "tea" in made.fact.text) as client:
        client.add("I live in Paris.", user_id="ann")
        client.add("I live in Lyon now.", user_id="ann")
        client.add("I like green tea.", user_id="ann")
        assert one(client).text == "I like green tea."
        assert facts(client) == ["I live in Lyon now."]


def status_by_hand(client: MemoryClient, record: MemoryRecord, status: str) -> None:
    """Change the status in a record's file, as a person does."""
    file = client.path_of(record)
    assert file is not None
    text = file.read_text()
    assert "status: pending" in text
    file.write_text(text.replace("status: pending", f"status: {status}"))


def test_a_file_that_a_person_sets_active_is_an_approval(tmp_path: Path):
    """The new fact is recalled at once and its target isn't; the target's tombstone follows."""
    with MemoryClient(tmp_path / "memories", config=CONFIG) as client:
        client.add("I live in Paris.", user_id="ann", thread_id="t")
        client.add("I live in Lyon now.", user_id="ann", thread_id="t")
        waiting = one(client)
        status_by_hand(client, waiting, "active")
        hits = client.search("where do I live", user_id="ann", filter={"role": "memory"})
        assert [hit.text for hit in hits] == ["I live in Lyon now."]
        assert client.pending(user_id="ann") == []
        assert facts(client) == ["I live in Lyon now."]
        assert client.approve(waiting.id, user_id="ann").status == "active"
        (paris,) = client.get(waiting.id, user_id="ann").replaces
        assert client.get(paris, user_id="ann").replaced_by == waiting.id


def test_what_a_person_emptied_replaces_nothing(tmp_path: Path):
    """Neither by an approval nor by a status that is set by hand: a file without a text is no memory."""
    with MemoryClient(tmp_path / "memories", config=CONFIG) as client:
        client.add("I live in Paris.", user_id="ann", thread_id="t")
        client.add("I live in Lyon now.", user_id="ann", thread_id="t")
        waiting = one(client)
        file = client.path_of(waiting)
        file.write_text(file.read_text().replace("I live in Lyon now.", " "))
        assert client.pending(user_id="ann") == []
        with pytest.raises(NotFoundError):
            client.approve(waiting.id, user_id="ann", beside=True)
        file.write_text(file.read_text().replace("status: pending", "status: active"))
        assert client.pending(user_id="ann") == []
        assert "I live in Paris." in facts(client)
        assert any("Paris" in hit.text for hit in client.search("where do I live", user_id="ann"))


@pytest.mark.parametrize("how", ["deleted", "removed"])
def test_a_file_that_a_person_deletes_is_a_rejection(tmp_path: Path, how: str):
    """By its status, or with its file; the target stays, and the turn isn't recalled for it."""
    with MemoryClient(tmp_path / "memories", config=CONFIG) as client:
        client.add("I live in Paris.", user_id="ann", thread_id="t")
        client.add("I live in Lyon now.", user_id="ann", thread_id="t")
        waiting = one(client)
        if how == "removed":
            client.path_of(waiting).unlink()
        else:
            status_by_hand(client, waiting, "deleted")
        assert client.pending(user_id="ann") == []
        assert facts(client) == ["I live in Paris."]
        assert not any("Lyon" in hit.text for hit in client.search("where do I live", user_id="ann"))
        with pytest.raises((ConflictError, NotFoundError)):
            client.approve(waiting.id, user_id="ann")


def test_a_record_that_a_person_lets_wait_by_hand_can_be_answered(tmp_path: Path):
    """It has no word of what it waits for."""
    with MemoryClient(tmp_path / "memories", config=CONFIG) as client:
        client.add("I live in Paris.", user_id="ann")
        (fact,) = client.list(user_id="ann", role="memory")
        file = client.path_of(fact)
        file.write_text(file.read_text().replace("---\n", "---\nstatus: pending\n", 1))
        waiting = one(client)
        assert facts(client) == []
        assert client.contested(waiting) == []
        assert client.approve(waiting.id, user_id="ann").status == "active"
        assert facts(client) == ["I live in Paris."]


async def test_two_stores_over_one_folder_come_to_one_result(tmp_path: Path):
    """Of two owners who answer otherwise at the same time, one is told that the other was faster."""
    folder = tmp_path / "memories"
    with MemoryClient(folder, config=CONFIG) as client, MarkdownStore(folder, config=CONFIG) as store:
        client.add("I live in Paris.", user_id="ann")
        client.add("I live in Lyon now.", user_id="ann")
        waiting, other = one(client), MemoryClient(store, config=CONFIG)
        answers = await asyncio.gather(
            client.aapprove(waiting.id, user_id="ann"),
            other.areject(waiting.id, user_id="ann"),
            client.aapprove(waiting.id, user_id="ann"),
            return_exceptions=True,
        )
        failed = [answer for answer in answers if isinstance(answer, Exception)]
        assert failed
        assert all(isinstance(error, ConflictError) for error in failed)
        assert facts(client) in (["I live in Lyon now."], ["I live in Paris."])
        assert client.get(waiting.id, user_id="ann").status == ("active" if len(failed) == 1 else "deleted")


NUMBER, ASKED = "My phone number is 555 0199.", "Please forget my phone number."


@pytest.mark.parametrize(
    "said", [[[NUMBER], [ASKED]], [[NUMBER], ["My phone number is 555 0177."], [ASKED]], [[NUMBER, ASKED]]]
)
def test_a_request_to_forget_takes_back_what_waits(said):
    """All of it that is meant, in the same run too, with everything reviewed: nobody can approve it any more, and no
    turn tells it. Brought back, it waits again.
    """
    with MemoryClient(InMemoryStore(), config=CONFIG.replace(review="all")) as client:
        client.add("I like green tea.", user_id="ann", space="global")
        client.add("My phone number is 555 0188.", user_id="ann", space="global")
        for texts in said:
            client.add([HumanMessage(text) for text in texts], user_id="ann", thread_id="t")
        assert [each.text for each in client.pending(user_id="ann")] == ["I like green tea."]
        turns = client.list(user_id="ann", role="user")
        assert all(FORGOTTEN in turn.metadata for turn in turns)
        (key,) = turns[-1].metadata[REVIEW]
        with pytest.raises(ConflictError, match="forgotten"):
            client.approve(key, user_id="ann")
        assert client.undelete(key, user_id="ann").status == "pending"


def test_whoever_reviews_deletions_is_asked_about_what_waits_too():
    """What is in force by then is forgotten with the approval."""
    with MemoryClient(InMemoryStore(), config=CONFIG, review=lambda made, target: True) as client:
        client.add(NUMBER, user_id="ann", thread_id="t")
        client.add(ASKED, user_id="ann", thread_id="t")
        fact, request = client.pending(user_id="ann")
        assert (fact.text, request.metadata[REVIEW]["event"]) == (NUMBER, "DELETE")
        for each in (fact, request):
            client.approve(each.id, user_id="ann")
        assert facts(client) == []


@pytest.mark.parametrize("answer", ["approve", "reject"])
def test_an_archive_and_a_summary_lose_what_is_asked_to_be_forgotten_once_that_is_approved(answer):
    """While the request waits, and where it was rejected, they tell it."""
    config = CONFIG.replace(summarize=True, summary_refresh_turns=1)
    with MemoryClient(InMemoryStore(), config=config, review=lambda made, target: made.event == "DELETE") as client:
        client.add(NUMBER, user_id="ann", thread_id="t")
        client.archive("t", user_id="ann")

        def told() -> list[bool]:
            return [
                "0199" in each.text for role in ("archive", "summary") for each in client.list(user_id="ann", role=role)
            ]

        client.add(ASKED, user_id="ann", thread_id="u")
        assert told() == [True, True]
        getattr(client, answer)(one(client).id, user_id="ann")
        assert any(told()) == (answer == "reject")


@pytest.mark.parametrize("asked", [ASKED, "Please forget that my phone number is 555 0199."])
@pytest.mark.parametrize("review", ["conflicts", "all"])
def test_a_request_to_forget_reaches_what_a_change_of_the_same_run_would_replace(asked, review):
    """The change waits, so it is still in force."""
    with MemoryClient(InMemoryStore(), config=CONFIG.replace(review=review)) as client:
        client.add(NUMBER, user_id="ann", thread_id="t")
        for each in client.pending(user_id="ann"):
            client.approve(each.id, user_id="ann")
        said = [HumanMessage(f"My phone number is 555 01{end}.") for end in (88, 77)] + [HumanMessage(asked)]
        client.add(said, user_id="ann", thread_id="t")
        requests = [each for each in client.pending(user_id="ann") if each.metadata[REVIEW]["event"] == "DELETE"]
        assert len(requests) == (review == "all")
        for each in requests:
            client.approve(each.id, user_id="ann")
        assert facts(client) == []
        assert len(client.pending(user_id="ann")) == (0 if asked == ASKED else 2)
