"""Long turns, replies, and facts beside the turns that they came from, stored and asked through the client."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from langmem_plus import MarkdownStore, MemoryClient, MemoryConfig
from langmem_plus.providers.token_bits import local_token_encoder

NOW = dt.datetime(2026, 3, 4, 12, tzinfo=dt.UTC)
CONFIG = MemoryConfig(background=False, embed_in_background=False, embed_timeout=600.0)
LONG = (
    "It was a busy Saturday. In the morning the plumber came and mended the tap in the kitchen. Then we carried the "
    "old sofa down to the street. At noon there was soup with leeks. My brother phoned and told me about his exams. "
    "Afterwards I repotted the ferns on the balcony. A parcel with paint arrived. My daughter lost her first tooth. "
    "We looked for the ladder in the shed. In the evening we played cards with the neighbours. The heating made a "
    "strange noise again. I read two chapters and fell asleep on the rug."
)
SHORT = [
    "My daughter likes the playground behind the school.",
    "My dentist moved to another street.",
    "The child next door plays the trumpet.",
    "My daughter's class went to the museum.",
    "I lost my umbrella in the tram.",
    "Our first holiday was in Brittany.",
]
PARTY = "For the school party: gingerbread with {}."


@pytest.fixture
def client(tmp_path: Path) -> Iterator[MemoryClient]:
    """An empty memory with the local model."""
    if local_token_encoder() is None:
        pytest.skip("the packaged model isn't installed")
    with (
        MarkdownStore(tmp_path, config=CONFIG, clock=lambda: NOW) as store,
        MemoryClient(store, config=CONFIG, clock=lambda: NOW) as made,
    ):
        yield made


def talk(client: MemoryClient, thread: str, *said: tuple[str, str]) -> None:
    """Add a thread; each message's id is its text."""
    messages = [{"role": role, "content": text, "id": text} for role, text in said]
    client.add(messages, user_id="ann", thread_id=thread)


def plain(client: MemoryClient) -> MemoryClient:
    """The same memory, ranked by plain fusion."""
    return MemoryClient(client.store, config=CONFIG.replace(reranker="none"), clock=lambda: NOW)


def test_a_long_turn_is_found_by_its_best_sentence(client: MemoryClient) -> None:
    """One of twelve sentences answers; the whole is about something else, and plain fusion puts others first."""
    talk(client, "saturday", ("user", LONG))
    for number, text in enumerate(SHORT):
        talk(client, f"other {number}", ("user", text))
    question = "Which of my child's teeth came out?"
    hits = client.search(question, user_id="ann")
    assert hits[0].text == LONG
    assert hits[0].scores["smax"] == max(hit.scores.get("smax", 0.0) for hit in hits)
    assert hits[0].scores["cosine"] < max(hit.scores["cosine"] for hit in hits)
    with plain(client) as other:
        assert other.search(question, user_id="ann")[0].text != LONG


def test_replies_answer_their_own_questions_and_no_others(client: MemoryClient) -> None:
    """Six turns of a conversation say nearly the same, one of them is the user's: it answers what the user did, and the
    others what the assistant suggested."""
    own = PARTY.format("almonds")
    replies = [PARTY.format(each) for each in ("honey", "pears", "ginger", "oats", "figs")]
    between = [pair for text in replies for pair in (("user", f"And without {len(text)}?"), ("assistant", text))]
    talk(client, "party", ("user", own), ("assistant", "Noted."), *between)
    hits = client.search("What did I bring to the school party?", user_id="ann")
    assert hits[0].text == own
    hits = client.search("What did you suggest for the school party?", user_id="ann")
    assert {hit.text for hit in hits[: len(replies)]} == set(replies)
    with plain(client) as other:
        places = [
            [hit.text for hit in other.search(question, user_id="ann")].index(own)
            for question in ("What did I bring to the school party?", "What did you suggest for the school party?")
        ]
    assert places != [0, len(replies)]


def test_facts_and_turns_are_ranked_together_and_say_a_thing_once(client: MemoryClient) -> None:
    """A fact stands for the turn that it came from; a turn without facts stands beside it, in the order of their
    scores."""
    talk(client, "tea", ("user", "I drink green tea every morning. Where could I find a quiet place nearby?"))
    talk(client, "kettle", ("user", "The kettle for green tea leaks since this morning."))
    talk(client, "walk", ("user", "The path along the river is closed."))
    stored = client.list(user_id="ann")
    assert {record.role for record in stored} == {"memory", "user"}
    hits = client.search("What do I drink every morning, green tea?", user_id="ann")
    assert [hit.record.role for hit in hits[:2]] == ["memory", "user"]
    assert "kettle" in hits[1].text
    assert [hit.scores["total"] for hit in hits] == sorted((hit.scores["total"] for hit in hits), reverse=True)
    shown = {hit.record.id for hit in hits}
    assert all(shown.isdisjoint(hit.record.source_ids) for hit in hits if hit.record.role == "memory")


STATED = (
    ("What is my wife called?", "My wife is called Anne."),
    ("What is my dog called?", "My dog is called Rex."),
    ("What is my dog's name?", "My dog is called Rex."),
    ("Which music do I love?", "I love jazz."),
    ("Where do I work?", "I work at Siemens."),
    ("What am I allergic to?", "I am allergic to kiwis."),
)


@pytest.mark.parametrize("ranking", ["built-in", "words"])
@pytest.mark.parametrize(("question", "answer"), STATED)
def test_a_statement_that_became_no_fact_is_found_in_its_turn(
    client: MemoryClient, ranking: str, question: str, answer: str
) -> None:
    """A message holds more statements than facts are drawn from it: a fact that says something else doesn't stand for
    the turn that answers.
    """
    talk(client, "weather", ("user", "The weather is nice today."))
    talk(client, "me", ("user", " ".join(dict.fromkeys(text for _, text in STATED))))
    found = client if ranking == "built-in" else plain(client)
    assert len(client.list(user_id="ann", role="memory")) == CONFIG.max_facts
    assert answer in found.search(question, user_id="ann")[0].text
