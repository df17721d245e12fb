"""Questions for all that is known of who asks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.recall.asked_all import asks_all, split_known
from langmem_plus.records import MemoryHit
from langmem_plus.store import MarkdownStore

CONFIG = MemoryConfig(background=False, embeddings="none")
MakeHit = Callable[..., MemoryHit]
TOLD = ["I live in Leeds.", "My dog is called Biscuit.", "I play the cello."]
ASKED = [
    "What do you know about me?",
    "Hey, what else do you actually know about me so far?",
    "what do you remember about me",
    "What have you learned about me?",
    "Tell me everything you know about me.",
    "Please summarize what you know about me",
    "List all the facts you have stored about me",
    "Tell me about myself",
    "Who am I?",
    "Do you know who I am?",
    "Do you still remember me?",
    "What have I told you so far?",
    "What's in your memory?",
    "Was weißt du (alles) über mich?",
    "Was hast du dir über mich gemerkt?",
    "Erzähl mir alles, was du über mich weißt.",
    "Wer bin ich?",
    "Was habe ich dir bisher erzählt?",
    "Erinnerst du dich noch an mich?",
    "Que sais-tu de moi ?",
    "Qu'est-ce que tu sais sur moi ?",
    "Dis-moi tout ce que tu sais de moi.",
    "Qui suis-je ?",
    "Qu'est-ce que je t'ai dit ?",
    "Tu te souviens de moi ?",
    "¿Qué sabes de mí?",
    "Dime todo lo que sabes sobre mí.",
    "¿Quién soy yo?",
    "¿Qué te he contado?",
    "你知道我什么？",
    "你还记得我的哪些事情？",
    "你对我了解多少？",
    "我是谁？",
    "我跟你说过什么？",
    "告诉我你知道的关于我的一切",
]
OTHERS = [
    "What do you know about my dog?",
    "What do you know about me and Tom?",
    "What do you know about music?",
    "Who am I meeting tomorrow?",
    "What have I told you about Tom?",
    "Do you remember me telling you about the trip?",
    "Tell me about it",
    "What did I tell you yesterday?",
    "Describe my house",
    "Who is Ann?",
    "Was weißt du über meinen Hund?",
    "Wer bin ich für dich?",
    "Que sais-tu de mon chien ?",
    "¿Qué sabes de mi perro?",
    "你知道我的狗叫什么吗？",
    "我是谁的儿子？",
    "I know who I am.",
    "",
]


@pytest.mark.parametrize("question", ASKED)
def test_a_question_for_everything(question: str) -> None:
    """Whatever little words it has, and in whatever case."""
    assert asks_all(question)
    assert asks_all(question.upper()) or "ß" in question


@pytest.mark.parametrize("question", OTHERS)
def test_a_question_for_something(question: str) -> None:
    """What asks for anything besides is searched by it."""
    assert not asks_all(question)


@given(st.text(min_size=3, max_size=200), st.sampled_from(ASKED))
def test_whatever_stands_beside_it_is_read(text: str, question: str) -> None:
    """No text fails; a long one is never such a question."""
    asks_all(text)
    assert not asks_all(f"{question} {'x' * 120}")


@pytest.mark.parametrize("kind", ["files", "memory"])
@pytest.mark.parametrize("question", ["What do you know about me?", "Wer bin ich?", "我是谁？"])
def test_what_is_known_is_listed(tmp_path: Path, kind: str, question: str) -> None:
    """Facts, and what no fact was drawn of, but no question, no reply, nothing forgotten and nobody else's."""
    store: BaseStore = MarkdownStore(tmp_path, index=None) if kind == "files" else InMemoryStore()
    with MemoryClient(store, config=CONFIG) as client:
        for place, text in enumerate([*TOLD, "What is the weather like?", "I'm fond of owls."]):
            said = [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted, thanks."}]
            client.add(said, user_id="ann", thread_id=f"t{place}")
        client.add("I live in Rome.", user_id="bob", thread_id="t")
        gone = next(each for each in client.list(user_id="ann", role="memory") if "owls" in each.text)
        client.forget(gone.id, user_id="ann")
        hits = client.search(question, user_id="ann")
        context = client.explain(question, user_id="ann").context
    assert sorted(hit.text.rstrip(".") for hit in hits) == sorted(text.rstrip(".") for text in TOLD)
    assert all(text.rstrip(".") in context for text in TOLD)
    assert "owls" not in context


def test_a_named_asker_is_told_their_own(hit: MakeHit) -> None:
    """Where several people speak; what nobody is named for is everybody's."""
    hits = [
        hit("I sing", role="memory", metadata={"name": "Ann"}),
        hit("I row", role="user", metadata={"name": "Bob"}),
        hit("The cat is old", role="memory"),
        hit("I paint", role="user", metadata={"name": "ann"}),
        hit("Lovely!", role="assistant"),
    ]
    known, relevance, others = split_known(hits, "Ann", CONFIG)
    assert [each.text for each in known] == ["I sing", "The cat is old", "I paint"]
    assert relevance.tolist() == [1.0, 1.0, 0.5]
    assert [each.text for each in others] == ["I row", "Lovely!"]
    assert len(split_known(hits, "", CONFIG)[0]) == 4


def test_what_was_pinned_is_among_it_however_old(tmp_path: Path) -> None:
    """Where more is known than is fetched."""
    with MemoryClient(tmp_path, config=CONFIG.replace(fetch_k=3, top_k=3)) as client:
        old = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
        client.add(
            [{"role": "user", "content": "I have one kidney.", "created_at": old}], user_id="ann", thread_id="old"
        )
        (fact,) = client.list(user_id="ann", role="memory")
        client.pin(fact.id, user_id="ann")
        for place in range(6):
            client.add(f"I own {place + 2} boats.", user_id="ann", thread_id=f"t{place}")
        assert fact.id in [each.id for each in client.explain("Who am I?", user_id="ann").hits]
