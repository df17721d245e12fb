"""How likely an answer is, on an absolute scale."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.providers.token_bits import local_token_encoder
from langmem_plus.recall.answerable import INJECTED, SEARCHED, WEIGHTS, probability
from langmem_plus.recall.built_in import judge
from langmem_plus.recall.readings import asks_likely
from langmem_plus.recall.rerank import rerank, rerank_with
from langmem_plus.records import MemoryHit
from langmem_plus.services import Services

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
SAID = ["My dog is called Rex.", "I moved to Lyon in May.", "I drink green tea every morning.", "Bob likes to hike."]


@given(st.dictionaries(st.sampled_from(sorted(WEIGHTS)), st.floats(-1, 1), min_size=len(WEIGHTS)))
def test_probabilities_are_in_bounds(signs: dict[str, float]) -> None:
    """Whatever was found."""
    assert 0 <= probability(signs) <= 1


@pytest.mark.parametrize("size", [1, 2, 4])
def test_an_answer_is_likelier_than_none(hit: Callable[..., MemoryHit], size: int) -> None:
    """In rooms of any size; the best hit's relevance is the probability."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    hits = [hit(text, {"store": 0.5, "cosine": 0.6, "coverage": 0.3}) for text in SAID[:size]]
    known = judge("What is my dog called?", hits, NOW, encoder, 10).probability
    other = judge("Which port does the proxy listen on?", hits, NOW, encoder, 10).probability
    nonsense = judge("flurbin zorblax quux", hits, NOW, encoder, 10).probability
    assert known is not None and other is not None and nonsense is not None
    assert known > 0.6 > INJECTED > max(other, nonsense)
    kept, _ = rerank("What is my dog called?", hits, MemoryConfig(), NOW, encoder=encoder)
    assert kept[0].record.text == SAID[0]
    assert kept[0].scores["relevance"] == pytest.approx(known)


def test_a_prompt_gets_less_than_a_search(hit: Callable[..., MemoryHit]) -> None:
    """An unlikely answer is shown to who searches and kept out of prompts; the report says why, and a setting opens."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    hits = [hit(text, {"store": 0.5, "cosine": 0.6, "coverage": 0.3}) for text in SAID]
    question = "Is there a cat?"
    sure = judge(question, hits, NOW, encoder, 10).probability
    assert sure is not None
    assert SEARCHED < sure < INJECTED
    services = Services(token_encoder=encoder, store=InMemoryStore(), clock=lambda: NOW)
    kept, report = rerank_with(services, question, hits)
    assert (kept, len(report.choices)) == ([], len(hits))
    assert f"probability is {sure:.2f}, below {INJECTED}" in report.choices[0].reason
    assert rerank_with(services, question, hits, least=SEARCHED)[0]
    opened = dataclasses.replace(services, config=MemoryConfig(score_threshold=0.0))
    assert rerank_with(opened, question, hits)[0]


def test_what_is_asked_for_by_its_kind_is_shown(hit: Callable[..., MemoryHit]) -> None:
    """An archive that the message names is recalled whatever it says."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    far = {"store": 0.5, "cosine": 0.1, "coverage": 0.0}
    hits = [hit("Rex is a dog.", far), hit("We talked about boats.", far, role="archive")]
    services = Services(token_encoder=encoder, store=InMemoryStore(), clock=lambda: NOW)
    kept, _ = rerank_with(services, "flurbin zorblax quux", hits, frozenset({"archive"}))
    assert [each.record.role for each in kept] == ["archive"]


def test_who_asks_about_themselves_is_answered_sooner(hit: Callable[..., MemoryHit]) -> None:
    """Where one lives is told by where one moved to, though hardly a word says so."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    hits = [hit(text, {"store": 0.5, "cosine": 0.2, "coverage": 0.0}) for text in SAID]
    own, other = (judge(f"Where {who} live?", hits, NOW, encoder, 10).probability for who in ("do I", "does she"))
    assert own is not None and other is not None
    assert own > INJECTED
    assert own > other


def test_a_room_of_other_things_adds_nothing(hit: Callable[..., MemoryHit]) -> None:
    """Beside the answer nothing is shown that has nothing to do with the question, as likely as the answer is."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    hits = [hit(text, {"store": 0.5, "cosine": 0.1, "coverage": 0.0}) for text in SAID]
    kept, dropped = rerank("What is the name of my puppy?", hits, MemoryConfig(), NOW, encoder=encoder)
    assert kept[0].record.text == SAID[0]
    assert len(dropped) >= 2


def test_a_language_that_the_model_does_not_know_is_judged_alike(hit: Callable[..., MemoryHit]) -> None:
    """What was said in other words is found; nonsense, whose words the model doesn't know either, and what has to do
    with nothing that was told, are refused.
    """
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    services = Services(token_encoder=encoder, store=InMemoryStore(), clock=lambda: NOW)
    told = ["Ich arbeite in einer Bäckerei am Hafen.", "Meine Katze ist grau.", "Gestern hat es geregnet."]
    vectors = np.array(encoder.embed_documents(told))

    def found(question: str) -> list[str]:
        near = vectors @ np.array(encoder.embed_query(question))
        scores = [{"store": cosine, "cosine": cosine, "coverage": 0.1} for cosine in near.tolist()]
        hits = [hit(text, dict(each), vector) for text, each, vector in zip(told, scores, vectors, strict=True)]
        assert judge(question, hits, NOW, encoder, 10).foreign
        return [each.record.text for each in rerank_with(services, question, hits)[0]]

    assert told[1] in found("Welche Farbe hat meine Katze?")
    assert told[0] in found("Wo bin ich angestellt?")
    assert found("flurbin zorblax quux") == found("Wer hat Guernica gemalt?") == found("水的沸点是多少？") == []


@pytest.mark.parametrize("dims", [3, 384])
def test_vectors_of_another_model_are_believed_in_every_language(hit: Callable[..., MemoryHit], dims: int) -> None:
    """A multilingual embedder knows what the local model doesn't."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    services = Services(token_encoder=encoder, store=InMemoryStore(), clock=lambda: NOW)
    told = {"Meine Katze ist grau.": 0.7, "Ich arbeite am Hafen.": 0.1}
    hits = [
        hit(text, {"store": near, "cosine": near, "coverage": 0.0}, np.eye(1, dims)[0]) for text, near in told.items()
    ]
    judged = judge("Welche Farbe hat eigentlich unser Kater?", hits, NOW, encoder, 10)
    assert (judged.foreign, judged.probability) == (False, None)
    kept, _ = rerank_with(services, "Welche Farbe hat eigentlich unser Kater?", hits)
    assert [each.record.text for each in kept] == ["Meine Katze ist grau."]


def test_who_is_asked_about_must_have_said_it(hit: Callable[..., MemoryHit]) -> None:
    """What another speaker said of themselves makes an answer less likely, not likelier."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    said = [("Ann", "I adopted a puppy in the spring."), ("Bob", "I painted my kitchen."), ("Ann", "It rained a lot.")]
    hits = [hit(text, {"store": 0.5, "cosine": 0.4, "coverage": 0.3}, metadata={"name": name}) for name, text in said]
    hers, his = (
        judge(f"Which animal did {name} adopt?", hits, NOW, encoder, 10).probability for name in ("Ann", "Bob")
    )
    assert hers is not None and his is not None
    assert hers > his + 0.1


def test_a_date_that_is_asked_for_speaks_for_an_answer(hit: Callable[..., MemoryHit]) -> None:
    """Where something was said on that day."""
    encoder = local_token_encoder()
    if encoder is None:
        pytest.skip("the packaged model isn't installed")
    hits = [hit("We went sailing.", {"store": 0.5, "cosine": 0.4, "coverage": 0.3})]
    day = hits[0].record.said_at
    then, other = (
        judge(f"What did we do on {when:%d %B %Y}?", hits, NOW, encoder, 10).probability
        for when in (day, day - dt.timedelta(days=200))
    )
    assert then is not None and other is not None
    assert then > other


@pytest.mark.parametrize(
    ("question", "likely"),
    [
        ("Would Ann like a concert?", True),
        ("What might Bob study?", True),
        ("Would you write me a poem?", False),
        ("Könnten Sie mir helfen?", False),
        ("Würde Ann das mögen?", True),
        ("¿Qué regalo le gustaría a Ann?", True),
        ("Where does Ann live?", False),
    ],
)
def test_what_may_be_is_told_from_what_is(question: str, likely: bool) -> None:
    """A favour that is asked for is neither."""
    assert asks_likely(question) == likely


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Welche Allergie hat Lena?", "Lena verträgt keine Nüsse."),
        ("¿Qué alergia tiene Lucía?", "Lucía no come nueces."),
        ("Jakie mam auto?", "Moje auto to czerwony Fiat."),
    ],
)
def test_a_shared_name_speaks_for_a_memory_in_any_language(tmp_path: Path, question: str, text: str) -> None:
    """Among few memories it is no rare word; nothing is shared by a function word alone."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False)) as client:
        client.add(text, user_id="ann")
        assert [hit.text for hit in client.explain(question, user_id="ann").hits] == [text]
        assert client.explain("Wer hat Guernica gemalt?", user_id="ann").hits == []


def test_what_compares_best_needs_no_shared_word(tmp_path: Path) -> None:
    """Where an answer is likely enough; a search asks for less than a prompt does."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False)) as client:
        client.add("My twins are in third grade.", user_id="ann")
        client.add("We moved from Leeds to Hebden Bridge last week.", user_id="bob")
        assert client.explain("Do I have children?", user_id="ann").hits
        assert client.search("Where do I live?", user_id="bob")
        for user in ("ann", "bob"):
            assert client.explain("What is the boiling point of water?", user_id=user).hits == []
