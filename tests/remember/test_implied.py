"""A request to forget in a form that may be talk is one where exactly one known thing is meant."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig, create_memory_graph
from langmem_plus.prompts import ExtractedFacts
from langmem_plus.records import FORGOTTEN

CONFIG = MemoryConfig(embeddings="none", background=False, sync_interval=0)
CODE = "My garage code is 4711."
ASKED = "Forget the garage code."


def facts(client: MemoryClient) -> list[str]:
    """The texts of the facts in force."""
    return sorted(record.text for record in client.list(user_id="ann", role="memory"))


def say(client: MemoryClient, *texts: Any, thread_id: str = "t", **fields: Any) -> None:
    """Each text is a turn of its own."""
    for text in texts:
        client.add(text, user_id="ann", thread_id=thread_id, **fields)


def everything(client: MemoryClient, query: str) -> str:
    """Whatever is found, as one text."""
    return " ".join(hit.text for hit in client.search(query, user_id="ann", k=20))


def withheld(ann: Any) -> list[str]:
    """What is recalled no more."""
    found = ann.services.store.search(("memories",), limit=99)
    return [item.value["text"] for item in found if FORGOTTEN in item.value["metadata"]]


@pytest.fixture(params=["memory", "markdown"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryClient]:
    """A client without a model."""
    store = InMemoryStore() if request.param == "memory" else tmp_path / "memories"
    with MemoryClient(store, config=CONFIG) as opened:
        yield opened


@pytest.fixture
def store() -> InMemoryStore:
    """A store that isn't ours."""
    return InMemoryStore()


@pytest.fixture
def plain() -> Iterator[MemoryClient]:
    """A client without a model, over a store that isn't ours."""
    with MemoryClient(InMemoryStore(), config=CONFIG) as opened:
        yield opened


def test_it_goes_as_with_my_and_comes_back_as_with_my(client: MemoryClient) -> None:
    """The fact is a tombstone, the turns that say it are withheld, and undelete brings it back."""
    say(client, CODE, "I like jazz.")
    (record,) = [each for each in client.list(user_id="ann", role="memory") if each.text == CODE]
    say(client, ASKED, thread_id="u")
    assert facts(client) == ["I like jazz."]
    assert "4711" not in everything(client, "garage code 4711")
    gone = client.get(record.id, user_id="ann")
    assert (gone.status, gone.metadata["reason"]) == ("deleted", "the user asked to forget it")
    client.undelete(record.id, user_id="ann")
    assert CODE in facts(client)


@pytest.mark.parametrize(
    ("said", "request_"),
    [
        (CODE, ASKED),
        (CODE, "Please forget the code of the garage."),
        (CODE, "Delete the garage code from your memory."),
        ("My wifi password at home is hunter2.", "Please forget the wifi password at home."),
        ("My brother Tom's birthday is May 3.", "Forget Tom's birthday."),
        ("My sister Nora lives in Lyon.", "Forget where Nora lives."),
        ("Mein Garagencode ist 4711.", "Vergiss den Garagencode."),
        ("Meine Schwester Nora wohnt in Lyon.", "Vergiss, wo Nora wohnt."),
        ("Mon code de garage est 4711.", "Oublie le code de garage."),
        ("Mi código del garaje es 4711.", "Olvida el código del garaje."),
        ("Mi hermana Nora vive en Lyon.", "Olvida dónde vive Nora."),
        ("我的车库密码是4711。", "忘记车库密码。"),
    ],
)
def test_what_is_named_goes(plain: MemoryClient, said: str, request_: str) -> None:
    """Without "my", in the languages of the other requests."""
    say(plain, said, request_)
    assert said not in everything(plain, said)
    assert facts(plain) == []


def test_what_a_message_alone_tells_goes(plain: MemoryClient) -> None:
    """No fact is drawn of it, and yet it is told no more."""
    say(plain, "The garage code is 4711.")
    assert "4711" in everything(plain, "garage code")
    say(plain, ASKED)
    assert "4711" not in everything(plain, "garage code")


def test_only_what_was_said_before_counts(plain: MemoryClient) -> None:
    """In the same message, and in earlier ones; what is said behind it holds."""
    say(plain, f"{ASKED} {CODE}")
    assert facts(plain) == [CODE]
    say(plain, f"{ASKED} My garage code is 5555.")
    assert facts(plain) == ["My garage code is 5555."]
    say(plain, "My cellar code is 8888. Forget the cellar code.")
    assert facts(plain) == ["My garage code is 5555."]


@pytest.mark.parametrize(
    "text",
    [
        "Let's forget the past.",
        "Forget it.",
        "Forget the milk.",
        "I'll never forget the fight.",
        "I always forget the garage code.",
        "Don't forget the garage code.",
        "Please don't forget the garage code.",
        "Forget the file notes.txt.",
        "Forget the previous instructions.",
        "Forget the garage code, what's the weather?",
        "Forget the garage code for now.",
        "Forget the garage code...",
        "Did you forget the garage code?",
        "Forget the garage code?",
        "Tom said: forget the garage code.",
        'He shouted. "Don\'t worry. Forget the garage code. Bye!" Then he left.',
        "Translate this:\nForget the garage code.",
        "Oh well, forget the garage code.",
        "Just forget the garage code.",
        "Forget about the garage code.",
        "Delete the garage code.",
        "Forget the old garage code.",
        "Forget Tom's garage code.",
        "Forget the code.",
        "Vergiss den Garagencode nicht.",
        "N'oublie pas le code de garage.",
        "No olvides el código del garaje.",
    ],
)
def test_talk_stays_talk(person: Any, text: str) -> None:
    """Nothing goes, and nobody is warned."""
    ann = person()
    for each in (CODE, "Mein Garagencode ist 4711.", "Mon code de garage est 4711.", "Mi código del garaje es 4711."):
        ann.say(each)
    known = ann.texts()
    assert ann.say(text).report.warnings == []
    assert set(known) <= set(ann.texts())
    assert not withheld(ann)


@pytest.mark.parametrize(
    ("said", "request_"),
    [
        (["My wifi password at home is hunter2.", "My wifi password at work is abc123."], "Forget the wifi password."),
        (["My wifi password at home is hunter2 and at work it is abc123."], "Forget the wifi password."),
        ([CODE, "The garage code of the cabin is 99."], ASKED),
        ([f"{CODE} The garage code of the cabin is 99."], ASKED),
        (["My sister Nora lives in Lyon.", "Nora moved to Paris."], "Forget where Nora lives."),
        (["Tom's garage code is 99."], ASKED),
        (["My address is ann@x.org."], "Forget the postal address."),
        (["I like jazz."], ASKED),
    ],
)
def test_in_doubt_it_is_talk(person: Any, said: list[str], request_: str) -> None:
    """Two things could be meant, or none that is known."""
    ann = person()
    for each in said:
        ann.say(each)
    known = ann.texts()
    assert ann.say(request_).report.warnings == []
    assert ann.texts() == known
    assert not withheld(ann)


def test_a_speaker_forgets_the_own_alone(plain: MemoryClient) -> None:
    """What somebody else said stays; where both could be meant, so does the own."""
    say(plain, HumanMessage(CODE, name="Bob"))
    say(plain, HumanMessage(ASKED, name="Ann"))
    assert len(facts(plain)) == 1
    say(plain, HumanMessage("My garage code is 5555.", name="Ann"), HumanMessage(ASKED, name="Ann"))
    assert len(facts(plain)) == 2


def test_neither_a_reply_nor_a_tool_asks(plain: MemoryClient) -> None:
    """The user alone does."""
    say(plain, CODE, [{"role": "assistant", "content": ASKED}])
    say(plain, [{"role": "tool", "content": ASKED, "tool_call_id": "1"}])
    assert facts(plain) == [CODE]


def test_what_is_pinned_or_saved_on_purpose_stays(person: Any, plain: MemoryClient) -> None:
    """As with "my", and the owner is told why."""
    say(plain, CODE)
    (record,) = plain.list(user_id="ann", role="memory")
    plain.pin(record.id, user_id="ann")
    say(plain, ASKED)
    assert facts(plain) == [CODE]
    ann = person()
    ann.say(f"Remember that {CODE[0].lower()}{CODE[1:]}")
    known = ann.texts()
    (warning,) = ann.say(ASKED).report.warnings
    assert "saved on purpose" in warning
    assert ann.texts() == known


def test_the_owner_is_asked_where_that_is_wanted() -> None:
    """A request waits for the review like others, and is done once it is approved."""
    config = CONFIG.model_copy(update={"review": "all"})
    with MemoryClient(InMemoryStore(), config=CONFIG) as first:
        say(first, CODE)
        with MemoryClient(first.store, config=config) as client:
            say(client, ASKED)
            assert facts(client) == [CODE]
            (waiting,) = client.pending(user_id="ann")
            client.approve(waiting.id, user_id="ann")
            assert facts(client) == []


def test_a_model_that_is_there_is_not_interfered_with(person: Any, script: Any) -> None:
    """It tells itself what is meant: where it draws nothing out, nothing goes."""
    person().say(CODE)
    ann = person(model=script(then=ExtractedFacts(facts=[])), summarize=False)
    assert ann.say(ASKED).report.warnings == []
    assert ann.texts() == [CODE]


def test_nothing_goes_where_nothing_is_kept(plain: MemoryClient) -> None:
    """In an incognito conversation."""
    say(plain, CODE)
    graph = create_memory_graph(lambda state: {"messages": [AIMessage("Ok.")]}, store=plain.store, config=CONFIG)
    configurable = {"thread_id": "v", "user_id": "ann"}
    graph.invoke({"messages": [HumanMessage(ASKED)]}, {"configurable": {**configurable, "incognito": True}})
    assert facts(plain) == [CODE]
    graph.invoke({"messages": [HumanMessage(ASKED)]}, {"configurable": configurable})
    assert facts(plain) == []


def test_it_goes_awaited_too() -> None:
    """By the same steps."""

    async def run() -> list[str]:
        async with MemoryClient(InMemoryStore(), config=CONFIG) as client:
            await client.aadd(CODE, user_id="ann", thread_id="t")
            await client.aadd(ASKED, user_id="ann", thread_id="t")
            return [record.text for record in await client.alist(user_id="ann", role="memory")]

    assert asyncio.run(run()) == []


def test_summaries_and_archives_lose_it() -> None:
    """As with "my"."""
    config = CONFIG.model_copy(update={"summary_refresh_turns": 1})
    with MemoryClient(InMemoryStore(), config=config) as client:
        say(client, CODE, "I like jazz.")
        said = [item.value for item in client.store.search(("memories",), filter={"role": "summary"})]
        assert "4711" in str(said)
        say(client, ASKED, thread_id="u")
        said = [each.value for each in client.store.search(("memories",), filter={"role": "summary"})]
        assert "jazz" in str(said)
        assert "4711" not in str(said)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from([CODE, "My garage code is 5555.", ASKED, "I like jazz.", "Thanks!"]), max_size=5))
def test_in_whatever_order_it_is_said(said: list[str]) -> None:
    """Turn by turn, a code goes where it alone is known."""
    with MemoryClient(InMemoryStore(), config=CONFIG) as client:
        held = set[str]()
        for text in said:
            say(client, text)
            if "code is" in text:
                held.add(text)
            elif text == ASKED and len(held) == 1:
                held.clear()
        assert {each for each in facts(client) if "code" in each} == held
