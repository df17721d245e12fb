"""What users ask of memory itself, in the forms of several languages."""

from __future__ import annotations

import pytest

from langmem_plus.remember.statements import find_statements, forget_requests


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("I want you to forget my phone number.", "my phone number"),
        ("I'd like you to forget my phone number, please.", "my phone number"),
        ("You should forget where I live.", "where I live"),
        ("Ich möchte, dass du meine Telefonnummer vergisst.", "meine Telefonnummer"),
        ("Du sollst meine Adresse vergessen.", "meine Adresse"),
        ("J'aimerais que tu oublies mon numéro.", "mon numéro"),
        ("Tu dois oublier mon adresse.", "mon adresse"),
        ("Me gustaría que olvidaras mi dirección.", "mi dirección"),
        ("Deberías olvidar mi correo.", "mi correo"),
        ("我想让你忘记我的电话号码。", "我的电话号码"),
        ("你应该忘记我的电话。", "我的电话"),
    ],
)
def test_a_wish_that_is_said_to_memory_is_a_request(said: str, meant: str) -> None:
    """As well as the bare imperative."""
    assert [text.rstrip(".。") for text in forget_requests(said)] == [meant]


@pytest.mark.parametrize("verb", ["Erase", "Please delete", "Remove", "Could you wipe"])
def test_other_verbs_take_what_people_keep_to_themselves(verb: str) -> None:
    """A file, a mail or somebody's tears may be meant by anything else."""
    assert forget_requests(f"{verb} my phone number.") == ["my phone number"]
    for other in ("my email", "my code", "my doubts", "my phone number from the letter"):
        assert forget_requests(f"{verb} {other}.") == []


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("Please forget 555 0199.", "555 0199"),
        ("Forget the number +1 415 555 0199", "+1 415 555 0199"),
        ("Forget ann@x.org.", "ann@x.org"),
        ("Forget the code 4711.", "4711"),
        ("Vergiss die Nummer 030 1234567.", "030 1234567"),
        ("Oublie le 06 12 34 56 78.", "06 12 34 56 78"),
        ("Olvida el número 612345678.", "612345678"),
        ("忘掉号码13812345678。", "13812345678"),
    ],
)
def test_a_value_alone_is_named(said: str, value: str) -> None:
    """Where it is told by itself, or is called a code."""
    assert forget_requests(said) == [value]
    assert not find_statements(said, 9)


@pytest.mark.parametrize(
    "said",
    [
        "Forget everything", "I want you to forget everything.", "Vergiss alles!", "Oublie tout.", "Olvida todo.",
        "忘掉一切", "Forget what I just said.", "Vergiss, was ich gerade gesagt habe.",
        "Oublie ce que je viens de dire.", "Olvida lo que acabo de decir.", "忘掉我刚才说的话。",
    ],
)  # fmt: skip
def test_what_is_more_than_rules_forget_is_a_request(said: str) -> None:
    """So that its owner is told."""
    assert len(forget_requests(said)) == 1


@pytest.mark.parametrize(
    "said",
    [
        "Let's forget everything and go out.", "I want to forget my past.", "I'd like to forget him.",
        "Don't forget my birthday.", "You should never forget my birthday.", "You should forget about it.",
        "Did you forget everything?", "Should I forget my past?", 'He told me: "Forget everything"',
        '"Forget my phone number" is a song.', "Forget everything, let's go.", "I forget everything.",
        "Forget 2020.", "Forget 5 minutes.", "Forget the number 13.", "Forget it all.",
        "Vergiss nicht alles.", "Ich will alles vergessen.", "Ich möchte meine Vergangenheit vergessen.",
        "Ich möchte, dass du meinen Geburtstag nicht vergisst.", "N'oublie pas tout.", "Je veux oublier mon passé.",
        "Je ne veux pas que tu oublies mon anniversaire.", "Quiero olvidar mi pasado.",
        "No quiero que olvides mi cumpleaños.", "我想忘记我的过去。", "我想忘掉一切。", "不要忘掉一切。",
    ],
)  # fmt: skip
def test_talk_of_forgetting_is_no_request(said: str) -> None:
    """What oneself forgets, denials, questions and quotes."""
    assert forget_requests(said) == []
