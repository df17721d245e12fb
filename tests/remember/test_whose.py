"""A line of an archive belongs to who says it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.traces import says_it
from langmem_plus.remember.whose import Speakers
from langmem_plus.remember.witnesses import says
from langmem_plus.speakers import Voice, key_of

HOMES = [
    "I live in Lyon.",
    "Ich wohne in Bonn.",
    "J'habite à Nantes.",
    "Vivo en Sevilla.",
    "我住在杭州。",
    "Меня зовут Катя.",
]


@pytest.fixture
def client() -> Any:
    """A client over a fresh store."""
    config = MemoryConfig(embeddings="none", background=False, archive_conversations=True)
    with MemoryClient(InMemoryStore(), config=config) as opened:
        yield opened


def fact(text: str, name: str = "", role: Any = "memory") -> MemoryRecord:
    """What somebody said."""
    return MemoryRecord(id=f"{name}:{text}", role=role, text=text, user_id="u", metadata={"name": name} if name else {})


@pytest.mark.parametrize("other", ["Ann*", "(Ann)", "Ann\u200b"])
@pytest.mark.parametrize("way", ["forget", "request", "erase"])
def test_names_that_look_alike(client: MemoryClient, other: str, way: str) -> None:
    """What one says, forgets and has erased is nothing of the other's, whoever is first."""
    home = "I live in Lyon."
    client.add([HumanMessage(home, name="Ann"), HumanMessage(home, name=other)], user_id="u", thread_id="t")
    client.archive("t", user_id="u")
    lines = [Voice(home, "Ann").shown, Voice(home, other).shown]
    assert lines == archived(client)[:2]
    for gone, name in ((0, "Ann"), (1, other)):
        if way == "forget":
            client.forget(known(client, name).id, user_id="u")
        elif way == "erase":
            client.erase(id=known(client, name).id, user_id="u")
        else:
            client.add([HumanMessage("Please forget that I live in Lyon.", name=name)], user_id="u", thread_id="o")
        assert [line for line in archived(client) if line in lines] == lines[gone + 1 :]


@pytest.mark.parametrize("way", ["forget", "erase"])
def test_what_others_tell_of_somebody_by_name(client: MemoryClient, way: str) -> None:
    """It goes with what the one who is named said: out of turns, facts and archives; the rest of it stays."""
    said = [("Ann", "My gate code is 4711."), ("Bob", "Ann's gate code is 4711."), ("Bob", "Ann's boat is called Wim.")]
    client.add([HumanMessage(text, name=name) for name, text in said], user_id="u", thread_id="t")
    client.archive("t", user_id="u")
    if way == "forget":
        client.forget(known(client, "Ann").id, user_id="u")
    else:
        client.erase(id=known(client, "Ann").id, user_id="u")
        assert not [each for each in client.list(user_id="u", limit=99) if "4711" in each.text]
    assert not [line for line in archived(client) if "4711" in line]
    assert [line for line in archived(client) if "Wim" in line]
    found = client.search("What is the gate code?", user_id="u")
    assert not [hit.text for hit in found if "4711" in hit.text]


def archived(client: MemoryClient) -> list[str]:
    """The lines of all archives."""
    return [line for each in client.list(user_id="u", role="archive") for line in each.text.splitlines()]


def known(client: MemoryClient, name: str | None) -> MemoryRecord:
    """What is known of somebody."""
    return next(each for each in client.list(user_id="u", role="memory") if each.metadata.get("name") == name)


@pytest.mark.parametrize("home", ["I live in Lyon.", "Ich wohne in Bonn.", "J'habite à Nantes.", "我住在杭州。"])
@pytest.mark.parametrize(("forgets", "stays"), [("Bob", "Ann"), ("Ann", "Bob"), ("Bob", None), (None, "Ann")])
@pytest.mark.parametrize("way", ["forget", "request", "erase"])
def test_only_the_line_of_who_said_it_goes(
    client: MemoryClient, home: str, forgets: str | None, stays: str | None, way: str
) -> None:
    """Two people live in one place; whoever has no name is the user."""
    client.add([HumanMessage(home, name=forgets), HumanMessage(home, name=stays)], user_id="u", thread_id="t")
    client.archive("t", user_id="u")
    both = [f"{each}: {home}" if each else home for each in (stays, forgets)]
    assert set(both) <= set(archived(client))
    if way == "forget":
        client.forget(known(client, forgets).id, user_id="u")
    elif way == "erase":
        client.erase(id=known(client, forgets).id, user_id="u")
    else:
        client.add([HumanMessage(f"Please forget that {home}", name=forgets)], user_id="u", thread_id="o")
        assert both[0] in archived(client)
        return  # what rules take for a request in which language, other tests say
    assert both[1] not in archived(client)
    assert both[0] in archived(client)


@given(
    st.sampled_from(HOMES),
    st.text("abcdefgЖ你 .'-", min_size=1, max_size=8),
    st.text("abcdefgЖ你 .'-", min_size=1, max_size=8),
)
@settings(max_examples=40, deadline=None)
def test_whatever_they_are_called(text: str, one: str, other: str) -> None:
    """Each one's line tells what they said, and nobody else's does."""
    if not key_of(one) or not key_of(other):
        return
    speakers = Speakers([fact(text, one), fact(text, other)])
    said, line = Voice(text, one), Voice(text, other).shown
    assert speakers.tells(Voice(text, one).shown, said, says_it)
    if Voice("x", one).shown.casefold() != Voice("x", other).shown.casefold():
        assert not speakers.tells(line, said, says_it)
        assert not speakers.tells(line, Voice(text), says_it)


@pytest.mark.parametrize(
    ("line", "said", "told"),
    [
        ("Bob: I live in Lyon.", Voice("I live in Lyon.", "Bob"), True),
        ("Ann: I live in Lyon.", Voice("I live in Lyon.", "Bob"), False),
        ("Ann: Bob lives in Lyon.", Voice("I live in Lyon.", "Bob"), True),  # hers, and about him
        ("Ann lives in Lyon.", Voice("I live in Lyon.", "Bob"), False),
        ("Bob lives in Lyon.", Voice("I live in Lyon.", "Bob"), True),
        ("They live in Lyon, it was said.", Voice("I live in Lyon.", "Bob"), True),  # a model's: nobody else said so
        ("I live in Oslo.", Voice("I live in Oslo.", "Bob"), False),  # the user's, who said so as well
        ("Ann: I live in Oslo.", Voice("I live in Oslo."), False),
        ("Ann lives in Oslo.", Voice("Ann lives in Oslo."), True),  # what the user said of her
        ("Note: I live in Oslo.", Voice("I live in Oslo."), True),  # nobody is called so
    ],
)
def test_whose_a_line_is(line: str, said: Voice, told: bool) -> None:
    """By the name before the colon, or by whom it tells of."""
    speakers = Speakers([fact("I like tea.", "Ann"), fact("I live in Lyon.", "Bob"), fact("I live in Oslo.")])
    assert speakers.tells(line, said, lambda text, statement: says_it(text, statement) or says(text, statement)) == told


@pytest.mark.parametrize("name", ["Open", "decided", "Topics", "OPEN", "Also said", "Actions taken"])
def test_whoever_is_named_like_a_mark_keeps_the_name(client: MemoryClient, name: str) -> None:
    """Their lines are no lines of another kind."""
    client.add([HumanMessage("My favourite colour is teal.", name=name)], user_id="u", thread_id="t")
    client.archive("t", user_id="u")
    (line,) = [each for each in archived(client) if "teal." in each]
    assert line == f"somebody named {name}: My favourite colour is teal."
    (archive,) = client.list(user_id="u", role="archive")
    assert (archive.metadata["open_questions"], archive.metadata["decisions"]) == ([], [])
    client.forget(known(client, name).id, user_id="u")
    assert not archived(client)
