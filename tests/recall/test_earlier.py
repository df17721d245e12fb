"""What a message asks of an earlier conversation, and whether the archive that is found is the one that is meant."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.graph import create_recall_graph
from langmem_plus.recall.earlier import asked_topic
from langmem_plus.recall.inject import build_context
from langmem_plus.recall.relevance import relevance_of
from langmem_plus.records import MemoryHit, MemoryRecord, Scope
from langmem_plus.testing import BagOfWordsEmbeddings

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
CONFIG = MemoryConfig(embeddings="none", rerank_bits="none")
TALKS = {
    "kyoto": "The user plans a trip to Kyoto.\nDecided: Let's go with the Kyoto Garden.\nTopics: trip, ryokan",
    "tax": "I have to file my tax return by July.\nOpen: What about commuting costs?\nTopics: tax return, taxes",
    "dog": "We adopted a dog called Flux.\nHe barks at the mailman.\nTopics: dog, barking, mailman",
    "wohnung": "Wir suchen eine neue Wohnung in Leipzig.\nTopics: wohnung, leipzig",
    "电脑": "我想买一台笔记本电脑。\nTopics: 笔记本电脑, 预算",
}


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("What did we talk about last time?", ""),
        ("What did we discuss last time?", ""),
        ("Remind me what I said", ""),
        ("Was haben wir letztes Mal besprochen?", ""),
        ("Worüber haben wir beim letzten Mal gesprochen?", ""),
        ("De quoi avons-nous parlé la dernière fois ?", ""),
        ("¿De qué hablamos la última vez?", ""),
        ("我们上次聊了什么", ""),
        ("What did we discuss about Lyon last time?", "about Lyon"),
        ("Last time you helped me with my taxes", "you me with my taxes"),
        ("La última vez hablamos de mi boda", "de mi boda"),
        ("我们上次聊的京都旅行", "我们 京都旅行"),
        ("", ""),
    ],
)
def test_words_about_having_talked_are_no_topic(text: str, topic: str) -> None:
    """Where nothing else is asked, there is nothing to search by."""
    assert asked_topic(text, MemoryConfig().search_triggers) == topic


@pytest.fixture(params=["words", "vectors"])
def recall(request: pytest.FixtureRequest) -> Any:
    """Recalls in a new thread over five archives and a fact; gives the context."""
    embed = BagOfWordsEmbeddings()
    index: Any = {"dims": len(embed.embed_query("x")), "embed": embed, "fields": ["text"]}
    store = InMemoryStore(index=index if request.param == "vectors" else None)
    scope = Scope("ann")
    for place, (name, text) in enumerate(TALKS.items()):
        time = NOW + dt.timedelta(days=place)
        known = {"created_at": time, "updated_at": time, "user_id": "ann", "thread_id": name}
        archive = MemoryRecord(id=name, role="archive", text=text, **known)
        store.put(scope.namespace, name, archive.to_value())
    other = MemoryRecord(id="other", role="archive", text=TALKS["kyoto"], user_id="bob", thread_id="x")
    store.put(Scope("bob").namespace, "other", other.to_value())
    fact = MemoryRecord(id="fact", text="The user has a dog.", user_id="ann", thread_id="dog")
    store.put(scope.namespace, "fact", fact.to_value())

    def ask(text: str, thread_id: str = "new", **settings: Any) -> str:
        graph = create_recall_graph(store=store, config=CONFIG.replace(**settings))
        run: Any = {"configurable": {"user_id": "ann", "thread_id": thread_id}}
        found: str = graph.invoke({"messages": [HumanMessage(text)]}, run)["memory_context"]
        return found

    return ask


@pytest.mark.parametrize("scope", ["space", "thread"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What did we discuss about my trip to Kyoto?", "Kyoto Garden"),
        ("Last time you helped me with my taxes", "tax return"),
        ("Letztes Mal ging es um die Wohnung in Leipzig", "Wohnung"),
        ("上次我们聊的笔记本电脑", "笔记本电脑"),
        ("What did we decide about my trip to Kyoto?", "Kyoto Garden"),
        ("Do you remember our conversation about my taxes?", "tax return"),
        ("Was haben wir zur Wohnung in Leipzig besprochen?", "Wohnung"),
        ("我们关于笔记本电脑说了什么？", "笔记本电脑"),
    ],
)
def test_a_trigger_recalls_the_conversation_that_is_meant(recall: Any, text: str, found: str, scope: str) -> None:
    """In a section of its own, ahead of memories; strict sessions, too."""
    context = recall(text, recall_scope=scope)
    assert context.count("[archive]") == 1
    assert found in context.split("# Earlier conversations")[1].split("\n# ")[0]


@pytest.mark.parametrize(
    "text",
    [
        "What did we discuss about quantum physics?",
        "Last time you recommended a novel",
        "La última vez hablamos de fútbol",
        "What did we say about quantum physics?",
        "Worüber haben wir zu Lissabon gesprochen?",
    ],
)
def test_none_is_recalled_where_none_is_meant(recall: Any, text: str) -> None:
    """``relevance_threshold`` is on an absolute scale."""
    assert "[archive]" not in recall(text)


def test_without_a_trigger_archives_stay_out(recall: Any) -> None:
    """However relevant they are."""
    assert "[archive]" not in recall("My trip to Kyoto with Anne: which ryokan?")
    assert "The user has a dog." in recall("What is my dog called?")


def test_a_bare_trigger_lists_the_newest_first(recall: Any) -> None:
    """Nothing is asked but the conversation; never the own thread's archive, which its summary tells."""
    context = recall("What did we talk about last time?", thread_id="电脑", top_k=2)
    lines = [line for line in context.splitlines() if line.startswith("[archive]")]
    assert [name for name in ("Leipzig", "dog called Flux") if any(name in line for line in lines)] == [
        "Leipzig",
        "dog called Flux",
    ]
    assert len(lines) == 2
    assert "笔记本电脑" not in context


def hit(role: str, coverage: float) -> MemoryHit:
    """A hit of that role that holds such a share of the words."""
    record = MemoryRecord.model_validate({"id": f"{role} {coverage}", "role": role, "text": "x", "user_id": "u"})
    return MemoryHit(record=record, scores={"coverage": coverage, "store": coverage})


def test_an_archives_relevance_is_a_probability() -> None:
    """It grows with what speaks for it, nothing is 0, and memories keep their scale."""
    shares = (0.0, 0.2, 0.4, 0.6, 1.0)
    hits = [hit("archive", share) for share in shares]
    found = relevance_of("some words", hits, CONFIG)[0]
    assert found[0] == 0
    assert sorted(found) == list(found)
    assert found[1] < 0.5 < 0.7 < found[3] < 1
    facts = relevance_of("some words", [hit("memory", share) for share in shares], CONFIG)[0]
    assert facts[-1] == 1


def test_archives_and_memories_share_a_budget() -> None:
    """Archives take half of it at most where there are both, all of it alone."""
    long = "Many words were said about it. " * 200
    archives = [hit("archive", 1.0), hit("archive", 0.9)]
    for each in archives:
        each.record.text = long
    facts = [hit("memory", 1.0)]
    facts[0].record.text = long
    config = CONFIG.replace(memories_max_tokens=400)
    both = build_context([*archives, *facts], None, config)[1].tokens
    alone = build_context(archives, None, config)[1].tokens
    assert both["archives"] <= 200
    assert both["archives"] + both["memories"] <= 400
    assert 200 < alone["archives"] <= 400
