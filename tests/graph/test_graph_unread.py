"""Warnings of the background: who is told, and how often."""

import gc
import os

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient
from langmem_plus.errors import ModelCallError
from langmem_plus.graph import create_memory_graph, flush, unread
from langmem_plus.graph.unread import Person
from langmem_plus.records import Scope
from langmem_plus.testing import ScriptedChatModel

FORGET = "Forget my blood type."


def is_told(report) -> bool:
    """Whether a report tells that nothing was forgotten."""
    return any("my blood type" in warning for warning in report.warnings)


def warned(config, store=None, **settings) -> MemoryClient:
    """A client for which the background has warned Ann's user of the thread ``t``."""
    client = MemoryClient(store or InMemoryStore(), config=config.replace(**settings))
    client.add(FORGET, user_id="ann", thread_id="t")
    assert client.flush()
    return client


@pytest.mark.parametrize("background", [True, False])
def test_what_was_added_is_told_by_the_next_reply_once(config, background):
    """In whichever thread of that user's; a reply that is streamed has no report, and one that fails tells nothing."""
    client = warned(config, background=background)
    assert not is_told(client.chat("I like tea", user_id="bob", thread_id="t").report)
    assert list(client.chat("I like tea", user_id="ann", thread_id="t", stream=True))
    down = MemoryClient(client.store, chat_model=ScriptedChatModel([ConnectionError("down")]), config=client.config)
    with pytest.raises(ModelCallError):
        down.chat("Hello", user_id="ann")
    told = [is_told(client.chat(text, user_id="ann").report) for text in ("I like jam", "I like rye")]
    assert told == [True, False]


async def test_another_client_of_the_store_tells_it(config):
    """Once, of both."""
    client = warned(config)
    other = MemoryClient(client.store, config=client.config)
    assert is_told((await other.achat("I like tea", user_id="ann")).report)
    assert not is_told(client.chat("I like jam", user_id="ann").report)


def test_nobody_is_told_what_somebody_else_said(config):
    """People of one memory are told apart by name, though their words are read in one run."""
    client = MemoryClient(InMemoryStore(), config=config)
    said = [("Ann", FORGET), ("Bob", "Forget my shoe size.")]
    client.add([HumanMessage(text, name=name) for name, text in said], user_id="us", thread_id="t")
    assert client.flush()
    for name, thing in ((None, None), ("Bob", "my shoe size"), (" ANN ", "my blood type")):
        report = client.chat(HumanMessage("I like tea", name=name), user_id="us").report
        assert [thing in warning for warning in report.warnings] == ([True] if thing else [])


def test_where_all_have_one_scope_the_thread_tells_who_it_is(config):
    """Of people without names."""
    store = InMemoryStore()
    graph = create_memory_graph(ScriptedChatModel(then="ok"), store=store, config=config, scope=Scope("team"))

    def say(text, thread_id):
        given = {"messages": [HumanMessage(text)]}
        return graph.invoke(given, {"configurable": {"thread_id": thread_id}})["memory_report"]["warnings"]

    say(FORGET, "ann's")
    assert flush(store, 30)
    assert [bool(say("I like tea", thread)) for thread in ("bob's", "ann's", "ann's")] == [False, True, False]


def test_what_waits_is_bounded_and_ends_with_its_store(monkeypatch):
    """Whoever was warned last is remembered, of each the newest warnings; the store isn't kept alive."""
    monkeypatch.setattr(unread, "_PEOPLE", 4)
    monkeypatch.setattr(unread, "_EACH", 2)
    store = InMemoryStore()
    waiting = unread.unread(store)
    for number in (1, 2, 3, 4, 1, 5):
        waiting.put(Person.of(Scope(f"u{number}"), ""), None, [f"{number} {each}" for each in "abc"])
    found = [waiting.take(Scope(f"u{number}"), None, of_thread=False) for number in (1, 2, 3, 4, 5)]
    assert found == [["1 b", "1 c"], [], ["3 b", "3 c"], ["4 b", "4 c"], ["5 b", "5 c"]]
    key = id(store)
    del store
    gc.collect()
    assert key not in unread._unread


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_forked_process_begins_with_nothing():
    """Its parent tells what it knows."""
    store, ann = InMemoryStore(), Scope("ann")
    unread.unread(store).put(Person.anyone(ann), None, ["a warning"])
    child = os.fork()
    if child == 0:
        os._exit(len(unread.unread(store).take(ann, None, of_thread=False)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert unread.unread(store).take(ann, None, of_thread=False) == ["a warning"]
