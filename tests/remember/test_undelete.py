"""What was deleted softly is brought back, for a while."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.errors import ConflictError, NotFoundError
from langmem_plus.records import FORGOTTEN, REVIEW, MemoryRecord, Scope
from langmem_plus.remember.review import REJECTED, WAITS

START = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> dt.datetime:
        """The time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock at a fixed time."""
    return Clock()


@pytest.fixture(params=["memory", "markdown"])
def client(request: pytest.FixtureRequest, tmp_path: Any, clock: Clock) -> Any:
    """A client that knows where Ann lives and what she likes."""
    store: Any = InMemoryStore() if request.param == "memory" else tmp_path / "memories"
    config = MemoryConfig(embeddings="none", background=False, sync_interval=0)
    with MemoryClient(store, config=config, clock=clock) as opened:
        opened.add("I live in Reykjavik.", user_id="ann", thread_id="t")
        opened.add("I like green tea.", user_id="ann", thread_id="t")
        yield opened


def fact(client: MemoryClient, word: str) -> MemoryRecord:
    """The fact with a word."""
    return next(record for record in client.list(user_id="ann", role="memory") if word in record.text)


def turns(client: MemoryClient) -> dict[str, bool]:
    """What was said, and whether it is withheld."""
    return {record.text: FORGOTTEN in record.metadata for record in client.list(user_id="ann", role="user")}


def test_a_forgotten_fact_comes_back_with_its_turns(client: MemoryClient, clock: Clock) -> None:
    """Recall finds it again, and the turn that it was drawn from; doing it twice changes nothing."""
    home = fact(client, "Reykjavik")
    client.forget(home.id, user_id="ann")
    assert turns(client) == {"I live in Reykjavik.": True, "I like green tea.": False}
    clock.now += dt.timedelta(hours=23)
    back = client.undelete(home.id, user_id="ann")
    assert (back.status, "reason" in back.metadata) == ("active", False)
    assert fact(client, "Reykjavik") == back == client.undelete(home.id, user_id="ann")
    assert not any(turns(client).values())
    assert client.search("Reykjavik", user_id="ann")


def test_a_turn_that_says_something_else_that_is_forgotten_stays_withheld(client: MemoryClient) -> None:
    """Two facts of one turn were forgotten, and one comes back."""
    client.add("I live in Reykjavik. I like green tea.", user_id="ann", thread_id="u")
    home, tea = fact(client, "Reykjavik"), fact(client, "tea")
    client.forget(home.id, user_id="ann")
    client.forget(tea.id, user_id="ann")
    client.undelete(home.id, user_id="ann")
    assert turns(client) == {
        "I live in Reykjavik.": False,
        "I like green tea.": True,
        "I live in Reykjavik. I like green tea.": True,
    }


def test_after_a_while_it_is_gone(client: MemoryClient, clock: Clock) -> None:
    """``tombstone_hours``; the error says when it was deleted, and what the limit is."""
    home = fact(client, "Reykjavik")
    client.forget(home.id, user_id="ann")
    clock.now += dt.timedelta(hours=25)
    with pytest.raises(NotFoundError, match=r"2026-05-01 12:00 UTC.*24 hours \(tombstone_hours\)"):
        client.undelete(home.id, user_id="ann")


def test_what_was_replaced_or_never_was(client: MemoryClient) -> None:
    """The error says what to do."""
    home = fact(client, "Reykjavik")
    client.add("I live in Oslo now.", user_id="ann", thread_id="t")
    with pytest.raises(NotFoundError, match="was replaced by"):
        client.undelete(home.id, user_id="ann")
    with pytest.raises(NotFoundError, match="there is no record"):
        client.undelete("nothing", user_id="ann")
    client.store.put(Scope("ann").namespace, "foreign", {"content": "x"})
    with pytest.raises(NotFoundError, match="isn't a record of this package"):
        client.undelete("foreign", user_id="ann")


def test_what_has_ended_meanwhile_does_not_come_back(clock: Clock) -> None:
    """Nor is it counted; where nothing else was cleared, the error says so."""
    config = MemoryConfig(embeddings="none", background=False, turn_ttl_days=2, tombstone_hours=99, summarize=False)
    with MemoryClient(InMemoryStore(), config=config, clock=clock) as client:
        (old,) = client.add("We sold the boat.", user_id="ann", thread_id="t")
        clock.now += dt.timedelta(days=1)
        client.add("I like green tea.", user_id="ann", thread_id="t")
        client.clear_conversation("t", user_id="ann")
        clock.now += dt.timedelta(days=1)
        with pytest.raises(NotFoundError, match="its time was over at 2026-05-03 12:00 UTC"):
            client.undelete(old.id, user_id="ann")
        assert client.restore_conversation("t", user_id="ann") == 1
        client.clear_conversation("t", user_id="ann")
        clock.now += dt.timedelta(days=1)
        with pytest.raises(NotFoundError, match="its time is over"):
            client.restore_conversation("t", user_id="ann")


def test_a_cleared_conversation_comes_back(client: MemoryClient, clock: Clock) -> None:
    """What was forgotten in it before stays forgotten; too late, nothing comes back."""
    turn = client.list(user_id="ann", role="user")[0]
    client.forget(turn.id, user_id="ann")
    assert client.clear_conversation("t", user_id="ann") == 1
    assert client.restore_conversation("t", user_id="ann") == 1
    assert len(client.list(user_id="ann", role="user")) == 1
    assert client.restore_conversation("t", user_id="ann") == 0
    client.clear_conversation("t", user_id="ann")
    clock.now += dt.timedelta(hours=25)
    with pytest.raises(NotFoundError, match=r"was cleared at 2026-05-01 12:00 UTC; .* 24 hours"):
        client.restore_conversation("t", user_id="ann")


@pytest.mark.parametrize(
    ("thread", "user", "space"), [("nope", "ann", "default"), ("t", "bob", "default"), ("t", "ann", "x")]
)
async def test_what_is_no_conversation_is_told(client: MemoryClient, thread: str, user: str, space: str) -> None:
    """Of that user, in that space; one of which nothing was cleared is there, and stays."""
    with pytest.raises(NotFoundError, match="there is no conversation"):
        await client.arestore_conversation(thread, user_id=user, space=space)
    assert await client.arestore_conversation("t", user_id="ann") == 0


# What was forgotten meanwhile.

SAID = {
    "en": ("My cat is called Mimi.", "Mimi is lovely.", "What is my cat called?", "Mimi"),
    "de": ("Ich wohne in Reutlingen.", "Du wohnst in Reutlingen, schön!", "Wo wohne ich?", "Reutlingen"),
    "es": ("Vivo en Sevilla.", "Vives en Sevilla, qué bien.", "¿Dónde vivo?", "Sevilla"),
    "zh": ("我住在杭州。", "你住在杭州,真好。", "我住在哪里?", "杭州"),
}


@pytest.fixture(params=["memory", "markdown"])
def talk(request: pytest.FixtureRequest, tmp_path: Any, clock: Clock) -> Any:
    """A client without memories, that summarises each turn."""
    store: Any = InMemoryStore() if request.param == "memory" else tmp_path / "memories"
    config = MemoryConfig(embeddings="none", background=False, sync_interval=0, summary_refresh_turns=1)
    with MemoryClient(store, config=config, clock=clock) as opened:
        yield opened


def say(client: MemoryClient, *texts: str, thread_id: str = "t") -> None:
    """A conversation, the user first."""
    roles = ("user", "assistant")
    said = [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]
    client.add(said, user_id="ann", thread_id=thread_id)


def told(client: MemoryClient, question: str) -> str:
    """All that another conversation is told, and the summaries."""
    context = client.chat(question, user_id="ann", thread_id="other").context
    return "\n".join([context, *(each.text for each in client.list(user_id="ann", role="summary"))])


@pytest.mark.parametrize("language", SAID)
def test_what_was_forgotten_meanwhile_doesnt_come_back_with_its_conversation(talk: MemoryClient, language: str) -> None:
    """Neither through what was said, nor through the reply, nor through the summary; undelete brings all of it back."""
    statement, reply, question, word = SAID[language]
    say(talk, statement, reply)
    (known,) = talk.list(user_id="ann", role="memory")
    talk.clear_conversation("t", user_id="ann")
    talk.forget(known.id, user_id="ann")
    assert talk.restore_conversation("t", user_id="ann") >= 2
    assert all(FORGOTTEN in turn.metadata for turn in talk.list(user_id="ann") if turn.thread_id == "t")
    assert word not in told(talk, question).replace(question, "")
    talk.undelete(known.id, user_id="ann")
    assert word in talk.chat(question, user_id="ann", thread_id="third").context


def test_what_is_undeleted_before_its_conversation_is_restored_comes_back_with_it(talk: MemoryClient) -> None:
    """The cleared turns aren't withheld any more."""
    say(talk, *SAID["en"][:2])
    (known,) = talk.list(user_id="ann", role="memory")
    talk.clear_conversation("t", user_id="ann")
    talk.forget(known.id, user_id="ann")
    talk.undelete(known.id, user_id="ann")
    talk.restore_conversation("t", user_id="ann")
    assert not any(turns(talk).values())


def test_a_request_in_a_conversation_reaches_what_was_cleared(talk: MemoryClient) -> None:
    """As `forget` does."""
    say(talk, "My phone number is 555 0199.", "Noted: your phone number is 555 0199.")
    talk.clear_conversation("t", user_id="ann")
    say(talk, "Please forget my phone number.", thread_id="u")
    talk.restore_conversation("t", user_id="ann")
    assert "0199" not in told(talk, "What is my phone number?")


def test_a_cleared_turn_can_be_forgotten(talk: MemoryClient) -> None:
    """Then it doesn't come back with its conversation; it does by its id."""
    say(talk, *SAID["en"][:2])
    (turn,) = talk.list(user_id="ann", role="user")
    talk.clear_conversation("t", user_id="ann")
    assert talk.forget(turn.id, user_id="ann").metadata["reason"] == "its owner asked to forget it"
    talk.restore_conversation("t", user_id="ann")
    assert [each.role for each in talk.list(user_id="ann") if each.role != "memory"].count("user") == 0
    assert talk.undelete(turn.id, user_id="ann").status == "active"


def test_a_deleted_archive_loses_what_is_forgotten(talk: MemoryClient) -> None:
    """It comes back without; one that told nothing else doesn't come back."""
    say(talk, "My cat is called Mimi. I like green tea.")
    say(talk, "My cat is called Mimi.", thread_id="u")
    both, cat = (talk.archive(each, user_id="ann") for each in "tu")
    assert both is not None and cat is not None
    for each in (both, cat):
        talk.forget(each.id, user_id="ann")
    talk.forget(fact(talk, "Mimi").id, user_id="ann")
    back = talk.undelete(both.id, user_id="ann")
    assert ("Mimi" in back.text, "green tea" in back.text) == (False, True)
    with pytest.raises(NotFoundError, match="undelete the memories that it told of"):
        talk.undelete(cat.id, user_id="ann")


def test_archives_tell_again_of_a_fact_that_comes_back(talk: MemoryClient) -> None:
    """Those of the conversations in which it was said, once; what else is forgotten stays out of them."""
    say(talk, "My cat is called Mimi. I like green tea. I own a boat.")
    say(talk, "I play chess.", thread_id="u")
    for each in "tu":
        talk.archive(each, user_id="ann")
    cat, tea = fact(talk, "Mimi"), fact(talk, "tea")
    for gone in (cat, tea):
        talk.forget(gone.id, user_id="ann")
    for _ in range(2):
        talk.undelete(cat.id, user_id="ann")
        told = {record.thread_id: record for record in talk.list(user_id="ann", role="archive")}
        assert told["t"].text.count("Mimi") == 1
        assert "Mimi" in told["t"].metadata["summary"]
        assert "tea" not in told["t"].text
        assert "Mimi" not in told["u"].text
    talk.forget(cat.id, user_id="ann")
    assert not any("Mimi" in record.text for record in talk.list(user_id="ann", role="archive"))


def test_an_older_twin_of_what_was_forgotten_later_stays_deleted(talk: MemoryClient, clock: Clock) -> None:
    """The error names the one that was forgotten; after that, nothing is added."""
    say(talk, "I like green tea.")
    first = fact(talk, "tea")
    talk.forget(first.id, user_id="ann")
    clock.now += dt.timedelta(minutes=1)
    say(talk, "I like green tea.", thread_id="u")
    second = fact(talk, "tea")
    clock.now += dt.timedelta(minutes=1)
    talk.forget(second.id, user_id="ann")
    with pytest.raises(
        ConflictError, match=rf"{second.id}, which says the same, was forgotten later.*undelete that one"
    ):
        talk.undelete(first.id, user_id="ann")
    assert talk.undelete(second.id, user_id="ann").id == second.id == talk.undelete(first.id, user_id="ann").id
    assert [each.id for each in talk.list(user_id="ann", role="memory")] == [second.id]


def test_beside_a_twin_nothing_is_added(client: MemoryClient) -> None:
    """The fact in force is given, and stays as it is; the turns that were withheld are recalled again."""
    home = fact(client, "Reykjavik")
    client.forget(home.id, user_id="ann")
    client.add("I live in Reykjavik.", user_id="ann", thread_id="u")
    now = fact(client, "Reykjavik")
    assert client.undelete(home.id, user_id="ann") == now
    assert [each.id for each in client.list(user_id="ann", role="memory") if "Reykjavik" in each.text] == [now.id]
    assert not any(turns(client).values())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Paris.", "I live in Lyon now."),
        ("Ich wohne in Bonn.", "Ich wohne jetzt in Köln."),
        ("我住在北京。", "我现在住在杭州。"),
    ],
)
def test_beside_a_successor_it_is_refused(talk: MemoryClient, old: str, new: str) -> None:
    """The error names what is in force, and what to do; having done so, it comes back."""
    say(talk, old)
    (before,) = talk.list(user_id="ann", role="memory")
    talk.forget(before.id, user_id="ann")
    say(talk, new, thread_id="u")
    (now,) = talk.list(user_id="ann", role="memory")
    with pytest.raises(ConflictError, match=rf"{now.id} \(.*`forget` that one first"):
        talk.undelete(before.id, user_id="ann")
    talk.forget(now.id, user_id="ann")
    assert talk.undelete(before.id, user_id="ann").status == "active"


def test_what_somebody_else_said_is_in_nobodys_place(talk: MemoryClient) -> None:
    """Ann's home comes back beside Bob's."""
    talk.add([HumanMessage("I live in Paris.", name="Ann")], user_id="ann", thread_id="t")
    (home,) = talk.list(user_id="ann", role="memory")
    talk.forget(home.id, user_id="ann")
    talk.add([HumanMessage("I live in Lyon.", name="Bob")], user_id="ann", thread_id="t")
    talk.add([HumanMessage("I live in Paris.", name="Bob")], user_id="ann", thread_id="u")
    assert talk.undelete(home.id, user_id="ann").id == home.id


def test_a_request_that_was_carried_out_isnt_brought_back(tmp_path: Any) -> None:
    """The error names the memory that it was about, which can be."""
    config = MemoryConfig(embeddings="none", background=False)
    with MemoryClient(InMemoryStore(), config=config, review=lambda each, known: each.event == "DELETE") as client:
        client.add("My phone number is 555 0199.", user_id="ann", thread_id="t")
        number = fact(client, "0199")
        client.add("Please forget my phone number.", user_id="ann", thread_id="t")
        (request,) = client.pending(user_id="ann")
        client.approve(request.id, user_id="ann")
        with pytest.raises(NotFoundError, match=rf"{number.id}.*that was done: undelete that memory"):
            client.undelete(request.id, user_id="ann")
        assert client.undelete(number.id, user_id="ann").status == "active"


def test_what_was_rejected_waits_again_with_its_turn() -> None:
    """The turn notes that, too."""
    with MemoryClient(
        InMemoryStore(), config=MemoryConfig(embeddings="none", background=False, review="all")
    ) as client:
        client.add("I live in Lyon.", user_id="ann", thread_id="t")
        (waiting,) = client.pending(user_id="ann")
        for change, state in ((client.reject, REJECTED), (client.undelete, WAITS)):
            change(waiting.id, user_id="ann")
            assert [each.metadata[REVIEW] for each in client.list(user_id="ann", role="user")] == [{waiting.id: state}]
        client.approve(waiting.id, user_id="ann")
        assert not any(REVIEW in each.metadata for each in client.list(user_id="ann", role="user"))


@pytest.mark.parametrize("answer", ["approve", "reject"])
def test_an_answer_reaches_what_was_cleared(tmp_path: Any, answer: str) -> None:
    """What was approved to be forgotten, or was rejected, doesn't come back with its conversation."""
    config = MemoryConfig(embeddings="none", background=False, summary_refresh_turns=1)
    event = "DELETE" if answer == "approve" else "ADD"
    with MemoryClient(InMemoryStore(), config=config, review=lambda each, known: each.event == event) as client:
        say(client, "My phone number is 555 0199.", "Noted: your phone number is 555 0199.")
        if answer == "approve":
            say(client, "Please forget my phone number.", thread_id="u")
        (waiting,) = client.pending(user_id="ann")
        client.clear_conversation("t", user_id="ann")
        (client.approve if answer == "approve" else client.reject)(waiting.id, user_id="ann")
        assert client.restore_conversation("t", user_id="ann")
        assert "0199" not in told(client, "What is my phone number?")
