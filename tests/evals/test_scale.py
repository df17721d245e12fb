"""The scale corpus: the same everywhere, however much of it is made."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.evals.scale import HashEmbeddings, memories, memory, questions


def test_a_smaller_corpus_is_the_beginning_of_a_larger_one() -> None:
    """Each memory depends on its number alone."""
    assert list(memories(50, 20)) == list(memories(200, 20))[:50]
    assert list(memories(50, 20, seed=1)) != list(memories(50, 20))


@given(st.integers(0, 10**7), st.integers(1, 5000))
def test_every_memory_says_something_whole(number: int, users: int) -> None:
    """Every part of a sentence is filled, and its user is one of those there are."""
    found = memory(number, users)
    assert not set("{}|") & set(found.text + found.question)
    assert "  " not in found.text
    assert found.answer in found.text
    assert 0 <= int(found.user[1:]) < users


def test_a_few_users_own_many_memories() -> None:
    """As in life; and hardly a text is there twice."""
    found = list(memories(5000, 20))
    counts = sorted((sum(each.user == f"u{n}" for each in found) for n in range(20)), reverse=True)
    assert counts[0] > 5 * counts[-1] > 0
    assert len({each.text for each in found}) > 4950


def test_a_question_is_answered_by_the_newest_memory_of_its_slot() -> None:
    """The older ones are stale, and all are the same user's."""
    corpus = list(memories(3000, 5))
    asked = questions(3000, 5, 200)
    assert len(asked) == 200
    assert any(each.stale for each in asked)
    for each in asked:
        gold = corpus[each.gold]
        assert (gold.user, gold.question) == (each.user, each.text)
        assert all(corpus[old].slot == gold.slot and old < each.gold for old in each.stale)


def test_hashed_vectors_keep_likeness_in_words() -> None:
    """Unit length; what shares words is nearer; a query is hashed once."""
    embed = HashEmbeddings()
    tea, more, cat = (embed.vector(text) for text in ("I like green tea", "I like black tea", "my cat is ill"))
    assert np.isclose(np.linalg.norm(tea), 1.0)
    assert tea @ more > 0.3 > tea @ cat
    assert embed.embed_query("tea") is embed.embed_query("tea")
    assert embed.embed_documents(["a", "b"])[0] == embed.embed_query("a")
    assert embed.embedded == 2
    assert not embed.vector("").any()
