"""A question that was asked before isn't an answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langgraph.store.base import BaseStore

from langmem_plus.config import MemoryConfig
from langmem_plus.recall import recall
from langmem_plus.recall.questions import only_asks, without_questions
from langmem_plus.recall.repeats import place_of
from langmem_plus.records import MemoryHit, MemoryRecord, Scope
from langmem_plus.services import Services

MakeHit = Callable[..., MemoryHit]
Put = Callable[..., MemoryRecord]
QUERY = "what city do I live in"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Which city do I live in?", True),
        ("Hi! Which city do I live in? And since when?", True),
        ("我住在哪里？", True),
        ("I live in Lyon. Which city is it?", False),
        ("Which city do I live in? I think it is Lyon", False),
        ("I live in Lyon.", False),
        ("I live in Lyon, don't I?", False),
        ("It was Lyon, right?", False),
        ("Ich wohne in Lyon, oder?", False),
        ("Vivo en Lyon, ¿verdad?", False),
        ("我住在里昂，对吧？", False),
        ("Hi!", False),
        ("", False),
    ],
)
def test_a_text_only_asks_when_every_sentence_does(text: str, expected: bool) -> None:
    """Small talk beside a question states nothing; any other sentence does."""
    assert only_asks(text) is expected


def test_a_turn_that_asks_the_same_is_no_answer(hit: MakeHit) -> None:
    """Whether something else is there or not: a question that is asked again states nothing."""
    asked = hit("Which city do I live in?", {"total": 0.9}, role="user")
    said = hit("I live in Grenoble now.", {"total": 0.4})
    found, dropped = without_questions(QUERY, [asked, said])
    assert (found, [choice.reason for choice in dropped]) == ([said], ["it only asks the same"])
    assert without_questions(QUERY, [asked])[0] == []


def test_a_paraphrase_is_told_by_its_sentence(hit: MakeHit) -> None:
    """The same question in other words is near to it; a statement that is as near answers it."""
    asked = hit("Where's my home?", {"total": 0.9}, role="user")
    said = hit("I live in Grenoble now.", {"total": 0.4}, role="user", id="said")
    near = {place_of(asked): 0.8, place_of(said): 0.8}
    assert without_questions(QUERY, [asked, said], near)[0] == [said]
    assert without_questions(QUERY, [asked, said], {place_of(asked): 0.6})[0] == [asked, said]


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Grenoble. Which city do I live in?",
        "Do you like my new bike?",
        "Since I left Lyon for a job at the Grenoble lab in May, which city do I live in?",
    ],
)
def test_other_turns_keep_their_place(hit: MakeHit, text: str) -> None:
    """A statement beside the question, another question, and one that tells much by itself."""
    turn, said = hit(text, {"total": 0.9}, role="user"), hit("I like tea.", {"total": 0.4})
    assert without_questions(QUERY, [turn, said]) == ([turn, said], [])


@pytest.mark.parametrize(
    ("asked", "text", "tells"),
    [
        ("which quiz show is my favourite?", "My favourite quiz show is Who Wants to Be a Millionaire?", True),
        ("what is the wifi password?", "The wifi password is Hunter?2?", True),
        ("what is the wifi password?", "wifi password: Hunter?2?", True),
        ("wie lautet das Passwort?", "Das Passwort lautet Hunter?2?", True),
        ("what is my band called?", "My band is called Who's There?", True),
        ("what is my band called?", "My band is called what?", False),
        ("what is the wifi password?", "The wifi password is what?", False),
        ("what is the wifi password?", "Do you know what the wifi password is today?", False),
        ("what is the wifi password?", "Question: What is the wifi password here?", False),
        ("what is the wifi password?", "The wifi password is the wifi password?", False),
        ("wo ist mein Hund?", "Wo ist mein Hund?", False),
        ("wie heißt meine Frau?", "Meine Frau heißt nochmal wie?", False),
        ("comment s'appelle ma femme ?", "Ma femme s'appelle déjà comment ?", False),
        ("what is my dentist called?", "My dentist is called again what?", False),
        ("quel est mon code wifi ?", "Mon code wifi est déjà lequel ?", False),
        ("who is my dentist?", "Quick one: any idea who my dentist is?", False),
    ],
)
def test_what_names_the_answer_is_no_question(hit: MakeHit, asked: str, text: str, tells: bool) -> None:
    """A title or a password may end in a question mark; what asks with a question word states nothing."""
    turn = hit(text, {"total": 0.9}, role="user")
    assert without_questions(asked, [turn], {place_of(turn): 0.9})[0] == ([turn] if tells else [])


def test_the_current_fact_comes_before_an_old_question_and_its_outdated_answer(
    store: BaseStore, put: Put, scope: Scope
) -> None:
    """Over every store: the fact that holds first, the reply that it outdates not at all."""
    put("Hi! My name is Sam and I live in Lyon.", id="turn", role="user", thread_id="old")
    put("I live in Lyon.", id="lyon", status="superseded", replaced_by="home", source_ids=["turn"])
    put("Which city do I live in?", id="asked", role="user", thread_id="old")
    put("You live in Lyon.", id="reply", role="assistant", thread_id="old")
    put("I live in Grenoble now.", id="home", replaces=["lyon"])
    services = Services(config=MemoryConfig(), store=store)
    hits, _ = recall(services, scope, QUERY)
    assert [hit.record.id for hit in hits] == ["home"]


@pytest.mark.parametrize(
    ("query", "earlier"),
    [
        ("where does Ann live?", "where do I live?"),
        ("What is Ann's dog called?", "What is my dog called?"),
        ("Wo wohnt Ann?", "Wo wohne ich?"),
        ("Wie heißt Anns Hund?", "Wie heißt mein Hund?"),
        ("Où habite Ann ?", "Où est-ce que j'habite ?"),
        ("Comment s'appelle le chien d'Ann ?", "Comment s'appelle mon chien ?"),
        ("¿Dónde vive Ann?", "¿Dónde vivo?"),
        ("Ann住在哪里？", "我住在哪里？"),
    ],
)
def test_first_and_third_person_ask_the_same(hit: MakeHit, query: str, earlier: str) -> None:
    """Who asks of oneself asks by name what others ask of them; another one's question, and a statement, stay."""

    def kept(query: str, text: str, name: str, asker: str = "") -> bool:
        return bool(without_questions(query, [hit(text, role="user", metadata={"name": name})], asker=asker)[0])

    assert not kept(query, earlier, "Ann")
    assert not kept(query, earlier, "Ann", "Bob")
    assert not kept(earlier, query, "Bob", "Ann")
    assert kept(query.replace("Ann", "Eve"), earlier, "Ann")
    assert kept(query, "I live in Lyon, my dog is Rex.", "Ann")
