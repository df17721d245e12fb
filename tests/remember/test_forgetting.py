from __future__ import annotations

import pytest

from langmem_plus.records import MemoryRecord
from langmem_plus.remember.forgetting import TOO_MUCH, find_forgotten
from langmem_plus.remember.statements import find_statements, forget_requests


def known(*texts: str) -> list[MemoryRecord]:
    """Records with these texts."""
    return [MemoryRecord(id=text, text=text, user_id="u") for text in texts]


MEANT = [
    ("I live in Lyon", "I live in Lyon."),
    ("I live in Lyon", "I moved to Lyon"),
    ("ich in Lyon wohne.", "Ich wohne in Lyon."),
    ("我住在北京", "我住在北京。"),
    ("my phone number", "My phone number is 555"),
    ("where I live", "I live in Lyon"),
    ("my job", "I work at Acme"),
    ("my wife", "My wife is Anne"),
    ("how old I am", "I'm 30 years old."),
    ("Lyon", "I live in Lyon"),
    ("I'm allergic to nuts", "I am allergic to nuts."),
]
NOT_MEANT = [
    ("I live in Lyon", "I live in Lyon with my wife Anne"),
    ("I live in Lyon", "I live in Paris"),
    ("I live in Lyon", "My sister lives in Lyon"),
    ("I live in Lyon", "She lives in Lyon"),
    ("I like tea", "I don't like tea"),
    ("I prefer tea over coffee", "I prefer coffee over tea"),
    ("nuts", "I am allergic to nuts"),
    ("my umbrella", "My umbrella is red"),
    ("my keys", "I left my keys at Anne's"),
    ("my preferences", "I prefer short answers"),
    ("coming", "I am coming to the party in May"),
    ("everything about my home", "I live in Lyon"),
    ("it", "I live in Lyon"),
]


MEANT += [
    ("my PIN", "My PIN is 9876."),
    ("my PIN please", "my PIN is 9876"),
    ("our wifi password", "Our wifi password is hunter two"),
    ("my sister's number", "My sister's number is 0123 456"),
]
NOT_MEANT += [
    ("my wife", "My wife is allergic to nuts"),
    ("my oven", "My oven is broken"),
    ("my PIN", "My PIN is 9876 and I keep it in my wallet"),
    ("my code", "My door code is 1234"),
]


@pytest.mark.parametrize(("request_", "text"), MEANT)
def test_a_request_means_the_record_that_says_just_that(request_: str, text: str) -> None:
    """The whole statement, or the slot that the record fills and nothing else."""
    records = known(text, "I like jazz")
    assert find_forgotten(request_, records)[0] == records[:1]


@pytest.mark.parametrize(("request_", "text"), NOT_MEANT)
def test_one_word_in_common_means_nothing(request_: str, text: str) -> None:
    """Nor does a record that says more, says it of somebody else, or says the opposite."""
    found, reason = find_forgotten(request_, known(text))
    assert found == []
    assert reason


def test_where_several_could_be_meant_none_is() -> None:
    """The reason tells how many."""
    records = known("My dog is Rex", "My dog Rex likes the sea")
    assert find_forgotten("my dog", records) == ([], "2 memories could be meant")


def test_everything_is_more_than_rules_forget() -> None:
    """The request is read, undone, and told."""
    (request_,) = forget_requests("Please forget everything about my job.")
    assert find_forgotten(request_, known("My job"))[1] == TOO_MUCH
    assert forget_requests("Delete everything you know about me.") == ["everything you know about me."]


@pytest.mark.parametrize(
    "turn",
    [
        *("Forget the nuts.", "Forget the milk", "forget about it", "Forget it.", "Forget that!", "Forget that noise."),
        *("I always forget my umbrella.", "Did you forget that I live in Lyon?", "I forgot my keys."),
        *("Forget my wife for a moment.", "Forget my diet, let's order pizza.", "Forget the garden for now."),
        *("Forget all that, what about the kitchen?", "Don't forget my birthday.", "Delete my last commit."),
        *("Remove my name from the list.", "All my friends like tea.", "Forget the boat, I have a car."),
        *("Forget that I live in Lyon for a second.", "Never forget that I love you."),
    ],
)
def test_figures_of_speech_ask_for_nothing(turn: str) -> None:
    """What is no statement, is for now, or is about something else than memory."""
    assert forget_requests(turn) == []


@pytest.mark.parametrize(
    ("turn", "asked"),
    [
        ("Please forget that I live in Lyon.", ["I live in Lyon."]),
        ("Forget that I live in Lyon and that I work at Acme.", ["I live in Lyon", "I work at Acme."]),
        ("Forget the fact that my wife is Anne, please.", ["my wife is Anne"]),
        ("Forget what I said about my job.", ["my job."]),
        ("Delete from memory that I like tea.", ["I like tea."]),
        ("Can you forget where I live?", ["where I live"]),
        ("Stop remembering my phone number.", ["my phone number."]),
    ],
)
def test_requests_are_read_one_statement_after_another(turn: str, asked: list[str]) -> None:
    """In the user's words; nothing of them is stored as a fact."""
    assert forget_requests(turn) == asked
    assert find_statements(turn, 5) == []


@pytest.mark.parametrize(
    ("turn", "text"),
    [
        ("Forget my SSN.", "My SSN is 123-45-6789."),
        ("Please forget my credit card number.", "My credit card number is 4111 1111."),
        ("Forget my diagnosis.", "My diagnosis is lupus."),
        ("Vergiss mein Passwort.", "Mein Passwort ist geheim1."),
        ("Vergiss meinen Wohnort.", "Ich wohne in Berlin."),
        ("Olvida mi contraseña.", "Mi contraseña es abc1."),
        ("Oublie mon mot de passe.", "Mon mot de passe est abc1."),
        ("忘记我的密码。", "我的密码是abc1。"),
        ("忘记我的名字。", "我叫王伟。"),
        ("Bitte vergiss meine Telefonnummer.", "Meine Telefonnummer ist 0123 456."),
        ("Vergiss bitte wieder meine Telefonnummer.", "Meine Telefonnummer ist 0123 456."),
        ("Kannst du bitte meine Telefonnummer vergessen?", "Meine Telefonnummer ist 0123 456."),
        ("Könnten Sie meine Telefonnummer löschen?", "Meine Telefonnummer ist 0123 456."),
        ("Bitte meine Telefonnummer vergessen!", "Meine Telefonnummer ist 0123 456."),
        ("Kannst du vergessen, dass ich in Bonn wohne?", "Ich wohne in Bonn."),
        ("Vergiss bitte, wo ich wohne.", "Ich wohne in Bonn."),
        ("Vergiss, wie alt ich bin.", "Ich bin 30 Jahre alt."),
        ("S'il te plaît, oublie mon numéro de téléphone.", "Mon numéro de téléphone est le 01 23."),
        ("Oublie mon numéro de téléphone, s’il te plaît.", "Mon numéro de téléphone est le 01 23."),
        ("Peux-tu oublier mon numéro de téléphone ?", "Mon numéro de téléphone est le 01 23."),
        ("Veuillez supprimer mon mot de passe.", "Mon mot de passe est abc1."),
        ("S'il vous plaît, oubliez que j'habite à Lyon.", "J'habite à Lyon."),
        ("Oublie où j'habite.", "J'habite à Lyon."),
        ("Por favor, olvida mi número de teléfono.", "Mi número de teléfono es 123 456."),
        ("Borra mi número de teléfono, por favor.", "Mi número de teléfono es 123 456."),
        ("¿Puedes olvidar mi número de teléfono?", "Mi número de teléfono es 123 456."),
        ("Por favor, olvídate de que vivo en Madrid.", "Vivo en Madrid."),
        ("Olvida dónde vivo.", "Vivo en Madrid."),
        ("请你忘掉我的密码。", "我的密码是abc1。"),
        ("你能忘记我的密码吗？", "我的密码是abc1。"),
        ("麻烦你忘记我的密码", "我的密码是abc1。"),
        ("请把我的密码忘掉吧。", "我的密码是abc1。"),
        ("忘记我住在哪里。", "我住在北京。"),
    ],
)
def test_data_are_named_in_five_languages(turn: str, text: str) -> None:
    """The record that tells the datum, and nothing else, is meant."""
    (request_,) = forget_requests(turn)
    records = known(text, "I like jazz", "Meine Frau mag Tee", "我喜欢茶")
    assert find_forgotten(request_, records)[0] == records[:1]


@pytest.mark.parametrize(
    "turn",
    [
        "Vergiss meine Telefonnummer nicht.",
        "Bitte vergiss meine Telefonnummer nicht!",
        "Bitte meine Telefonnummer nicht vergessen.",
        "Kannst du meine Telefonnummer nicht vergessen?",
        "Ich habe meine Telefonnummer vergessen.",
        "Hast du meine Telefonnummer vergessen?",
        "No olvides mi cumpleaños.",
        "No olvide mi cumpleaños.",
        "No borre mi número.",
        "Olvidé mi contraseña.",
        "N'oublie pas mon anniversaire.",
        "Peux-tu ne pas oublier mon anniversaire ?",
        "J'ai oublié mon mot de passe.",
        "别忘了我的生日。",
        "请不要忘记我的生日",
        "你忘了我的名字吗？",
        "我忘了我的密码",
    ],
)
def test_nothing_is_forgotten_that_is_to_be_kept(turn: str) -> None:
    """Requests to keep something, and what somebody forgot, are none."""
    assert forget_requests(turn) == []


def test_a_fact_of_a_joined_clause_is_forgotten() -> None:
    """It was kept with its subject."""
    records = known(*(each.text for each in find_statements("Ich wohne in Berlin und arbeite bei Siemens.", 3)))
    (request_,) = forget_requests("Vergiss bitte, dass ich bei Siemens arbeite.")
    assert find_forgotten(request_, records)[0] == records[1:]


def test_all_records_that_say_the_same_go() -> None:
    """In whichever words each of them does."""
    records = known("My wife is called Anne.", "My wife is Anne.", "My sister is called Anne.")
    assert find_forgotten("my wife is called Anne", records)[0] == records[:2]
    assert find_forgotten("my wife's name", records)[0] == records[:2]
