"""What speaks for a hit that shares no word with the question: its place among the others, and who says it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.messages import HumanMessage

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.recall.built_in import Judged
from langmem_plus.recall.relevance import relevance_of
from langmem_plus.records import MemoryHit

MakeHit = Callable[..., MemoryHit]
CONFIG = MemoryConfig()
SCORES = {"store": 0.5, "cosine": 0.1, "coverage": 0.0}


def supported(hits: list[MemoryHit], order: list[float], query: str, **options: Any) -> list[str]:
    """The ids of the hits that something speaks for, where the best ones stand in this order."""
    foreign = bool(options.pop("foreign", False))
    judged = Judged(np.array(order), probability=options.pop("probability", 0.5), foreign=foreign)
    found = relevance_of(query, hits, CONFIG, judged, strict=foreign, **options)[1]
    return [hit.record.id for hit, speaks in zip(hits, found, strict=True) if speaks]


def said_by(hit: MakeHit, name: str, text: str, id: str, **fields: Any) -> MemoryHit:
    """A fact of a named speaker's."""
    return hit(text, dict(SCORES), id=id, metadata={"name": name} if name else {}, **fields)


@pytest.mark.parametrize(
    ("query", "asker", "probability", "found"),
    [
        ("Where do I live?", "Ann", 0.5, ["bob", "ann"]),
        ("Where do I live?", "ann", 0.5, ["bob", "ann"]),
        ("Where do I live?", "", 0.5, ["bob"]),
        ("Where do I live?", "Eve", 0.5, ["bob"]),
        ("Where does Bob live?", "Ann", 0.5, ["bob"]),
        ("Did I visit Bob?", "Ann", 0.5, ["bob"]),
        ("Where do I live?", "Ann", None, []),
    ],
)
def test_the_best_of_what_the_asker_said_answers_too(
    hit: MakeHit, query: str, asker: str, probability: float | None, found: list[str]
) -> None:
    """Who asks of oneself isn't told another one's home alone; nobody else's best hit is lifted so, nor the worse ones
    of one's own, nor where it isn't known how likely an answer is."""
    hits = [
        said_by(hit, "Bob", "I own a flat in Paris.", "bob"),
        said_by(hit, "Ann", "I relocated to Oslo.", "ann"),
        said_by(hit, "Ann", "I drink tea.", "tea"),
        said_by(hit, "Bob", "I drink milk.", "milk"),
    ]
    assert supported(hits, [1.0, 0.4, 0.1, 0.3], query, asker=asker, probability=probability) == found


@pytest.mark.parametrize(
    "query", ["Wo wohne ich?", "Où est-ce que j'habite ?", "¿Dónde vivo yo?", "¿Dónde vivo?", "我住在哪里？"]
)
def test_abroad_a_fact_and_its_turn_are_one_of_the_best(hit: MakeHit, query: str) -> None:
    """What was said in other words is among the best two statements as often as not."""

    def told(id: str) -> list[MemoryHit]:
        turn = hit(f"{id}!", dict(SCORES), id=f"turn-{id}", role="user", source_ids=[f"m-{id}"])
        return [hit(id, dict(SCORES), id=id, source_ids=[f"turn-{id}", f"m-{id}"]), turn]

    hits = [*told("a"), *told("b"), *told("c")]
    both = ["a", "turn-a", "b", "turn-b"]
    assert supported(hits, [1.0, 0.9, 0.8, 0.7, 0.6, 0.5], query, foreign=True) == both
    assert supported(hits, [0.9, 1.0, 0.7, 0.8, 0.5, 0.6], query, foreign=True) == both
    assert supported(hits, [1.0, 0.5, 0.9, 0.4, 0.8, 0.3], query, foreign=True) == both


def test_abroad_two_facts_of_a_turn_are_two(hit: MakeHit) -> None:
    """A long turn lets no more through than two short ones; who doesn't ask of oneself is told none of them."""
    turn = hit("turn", dict(SCORES), id="turn", role="user", source_ids=["m"])
    facts = [hit(id, dict(SCORES), id=id, source_ids=["turn"]) for id in ("a", "b", "c")]
    assert supported([*facts, turn], [1.0, 0.9, 0.8, 0.7], "Wo wohne ich?", foreign=True) == ["a", "b", "turn"]
    assert supported([*facts, turn], [1.0, 0.9, 0.8, 0.7], "Wo wohnt Bob?", foreign=True) == []


@pytest.mark.parametrize("said", ["I relocated to Nice.", "I've moved to Nice.", "My new home is in Nice."])
def test_another_ones_home_is_not_shown_without_the_askers(tmp_path: Path, said: str) -> None:
    """Though only the other one's shares a word with the question. The other one is told their own first."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False)) as client:
        for thread, (name, text) in enumerate((("Ann", said), ("Bob", "I live in Paris."))):
            client.add([{"role": "user", "content": text, "name": name}], user_id="u", thread_id=f"t{thread}")
        asked = client.explain(HumanMessage("Where do I live?", name="Ann"), user_id="u")
        assert any("Nice" in hit.text for hit in asked.hits)
        asked = client.explain(HumanMessage("Where do I live?", name="Bob"), user_id="u")
        assert "Paris" in asked.hits[0].text


@pytest.mark.parametrize(
    ("said", "question", "answer"),
    [
        (("Ich bin nach Bonn gezogen.", "Ich bin Krankenpfleger."), "Wo wohne ich?", "Bonn"),
        (("J'ai déménagé à Paris.", "Ma sœur habite à Lyon."), "Où est-ce que j'habite ?", "Paris"),
        (("我搬到上海了。", "我妹妹住在南京。"), "我住在哪里？", "上海"),
    ],
)
def test_abroad_a_move_is_found_beside_another_statement(
    tmp_path: Path, said: tuple[str, str], question: str, answer: str
) -> None:
    """The better one, which shares a word with the question, doesn't take both places."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False)) as client:
        for thread, text in enumerate(said):
            client.add(text, user_id="u", thread_id=f"t{thread}")
        assert answer in client.explain(question, user_id="u").context
