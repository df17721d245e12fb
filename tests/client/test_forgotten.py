"""What a user asks to forget goes, what they say beside it stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig


@pytest.fixture
def client(tmp_path: Path) -> Iterator[MemoryClient]:
    """A client that works off what is added at once."""
    with MemoryClient(tmp_path / "memory", config=MemoryConfig(background=False)) as opened:
        yield opened


def known(client: MemoryClient) -> list[str]:
    """The facts that are known of the user."""
    return sorted(record.text.rstrip(".。") for record in client.list(user_id="u") if record.role == "memory")


def found(client: MemoryClient, query: str) -> str:
    """All that a search gives, facts and messages."""
    return "\n".join(hit.text for hit in client.search(query, user_id="u"))


def say(client: MemoryClient, *texts: str, **fields: Any) -> None:
    """Say something in one thread after another."""
    for place, text in enumerate(texts):
        client.add([{"role": "user", "content": text, **fields}], user_id="u", thread_id=f"t{place} {text}")


@pytest.mark.parametrize(
    ("before", "said", "after"),
    [
        ("My phone number is 555 1234 567.", "Forget my phone number. My new phone number is 555 9999 999.", "9999"),
        ("My PIN is 4711.", "Forget my PIN. My PIN is 4712.", "4712"),
        ("My PIN is 4711.", "Forget my PIN. My PIN is 4711.", "4711"),
        ("My email is ann@x.org.", "Forget my email. My email address is ann@y.org.", "ann@y.org"),
        ("I live in Lyon.", "Forget where I live. I live in Paris.", "Paris"),
        ("Meine Telefonnummer ist 030 1234567.", "Vergiss meine Telefonnummer. Meine neue ist 030 9999999.", "9999999"),
        ("Mi correo es ana@x.org.", "Olvida mi correo. Mi correo es ana@y.org.", "ana@y.org"),
        ("Mon numéro est le 06 12 34.", "Oublie mon numéro. Mon numéro est le 07 99 99.", "07 99 99"),
        ("我的电话是13812345678。", "忘记我的电话号码。我的电话是13899999999。", "13899999999"),
    ],
)
def test_what_is_said_after_a_request_holds(client: MemoryClient, before: str, said: str, after: str) -> None:
    """In the same message as in the next one: what was known goes, and what replaces it is found."""
    say(client, before, said)
    assert "4711" in after or not [text for text in known(client) if text == before.rstrip(".。")]
    assert after in found(client, said.rsplit(". ", 1)[-1])


def test_what_is_said_before_a_request_goes(client: MemoryClient) -> None:
    """With what was known; what stands behind it doesn't."""
    say(client, "My phone number is 555 1234 567.")
    say(client, "My phone number is 555 9999 999. Forget my phone number. I live in Paris.")
    assert known(client) == ["I live in Paris"]
    assert "555" not in found(client, "What is my phone number?")


def test_what_stands_beside_a_request_is_still_recalled(client: MemoryClient) -> None:
    """Though it is in its message alone; where the request tells what goes, the message is withheld."""
    say(client, "My PIN is 4711.", "Forget my PIN. The wifi password is sunflower99.")
    assert "sunflower99" in found(client, "What is the wifi password?")
    say(client, "Forget that my wife left me. The gate code is 8888.")
    assert "left me" not in found(client, "Did my wife leave me?")


def test_only_what_is_meant_is_forgotten(client: MemoryClient) -> None:
    """Not what somebody else has, nor what tells no value; the same number under another name goes, too."""
    kept = ["My wife's phone number is 555 7654 321", "My email is ann@x.org", "I lost my phone number list"]
    say(client, "My phone number is 555 1234 567.", "My mobile number is 555-1234-567.", *kept)
    say(client, "Forget my phone number.", "Forget my birthday.")
    assert known(client) == sorted(kept)
    assert "567" not in found(client, "What is my phone number?")


def test_what_a_message_alone_tells_is_forgotten_in_its_own_words(client: MemoryClient) -> None:
    """It isn't recalled any more; a fact of the same message is."""
    say(client, "The wifi password is sunflower99.", "My daughter Ella is 7. She goes to the Nygård school.")
    say(client, "Forget that the wifi password is sunflower99.", "Forget that Ella goes to the Nygård school.")
    assert "sunflower" not in found(client, "What is the wifi password?")
    assert found(client, "What school does my daughter Ella go to?") in ("", "My daughter Ella is 7.")
    assert known(client) == ["My daughter Ella is 7"]


@pytest.mark.parametrize("again", ["My PIN's 4711.", "My PIN is 4711, don't tell anybody.", "My pin code is 47 11."])
def test_a_secret_does_not_come_back_from_an_older_conversation(client: MemoryClient, again: str) -> None:
    """Neither as a fact nor as a message, however it was worded there; what is known in both wordings goes at once."""
    say(client, "My PIN is 4711.", "Forget my PIN.")
    say(client, again, created_at="2024-02-01T10:00:00Z")
    assert known(client) == []
    assert found(client, "What is my PIN?") == ""
    say(client, "My PIN is 4711.", again)
    say(client, "Forget my PIN, please.")
    assert known(client) == []
    assert "11" not in found(client, "What is my PIN?")


def test_codes_with_and_without_a_remark_go_together(client: MemoryClient) -> None:
    """Of whatever thing they are."""
    say(client, "My gate code is 4711.", "My gate code is 4711, don't tell anybody.", "Forget my gate code.")
    assert known(client) == []


def reply(client: MemoryClient, asked: str, answer: str, **fields: Any) -> None:
    """An exchange in a thread of its own."""
    messages = [{"role": "user", "content": asked, **fields}, {"role": "assistant", "content": answer, **fields}]
    client.add(messages, user_id="u", thread_id=asked + answer)


@pytest.fixture(params=["memory", "markdown"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryClient]:
    """A client over either store."""
    store = InMemoryStore() if request.param == "memory" else tmp_path / "memory"
    with MemoryClient(store, config=MemoryConfig(background=False)) as opened:
        yield opened


@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.parametrize(
    ("told", "request_", "answer"),
    [
        ("My phone number is 415 555 0199.", "Forget my phone number.", "Your phone number is 415 555 0199."),
        ("My phone number is 415 555 0199.", "Forget my phone number.", "Noted: phone 415-555-0199."),
        ("I live in Lyon.", "Forget where I live.", "You live in Lyon."),
        ("Ich wohne in Lyon.", "Vergiss, wo ich wohne.", "Du wohnst in Lyon."),
    ],
)
def test_a_reply_of_an_older_conversation_tells_it_no_more(
    stored: MemoryClient, told: str, request_: str, answer: str, is_before: bool
) -> None:
    """Whether the conversation was added before the request or after it; other replies of it are found."""
    older = {"created_at": "2024-01-02"}
    say(stored, told, created_at="2024-01-01")
    if not is_before:
        say(stored, request_, created_at="2024-01-03")
    reply(stored, "What do you know of me?", answer, **older)
    reply(stored, "Which tea did you recommend?", "I recommended oolong tea.", **older)
    if is_before:
        say(stored, request_, created_at="2024-01-03")
    assert answer.rstrip(".")[-4:] not in found(stored, told)
    assert "oolong" in found(stored, "Which tea did you recommend?")
    reply(stored, "Say it again.", answer, created_at="2024-01-04")
    assert answer in found(stored, answer)


@pytest.mark.parametrize("answer", ["It's 415 555 0199.", "I've noted your number, 4155550199."])
def test_a_reply_that_holds_a_forgotten_number_goes(client: MemoryClient, answer: str) -> None:
    """Whatever it says of it."""
    say(client, "My phone number is 415 555 0199.")
    reply(client, "What is my phone number?", answer)
    say(client, "Forget my phone number.")
    assert "0199" not in found(client, "What is my phone number?")


@pytest.mark.parametrize(
    ("other", "goes"),
    [
        ("Call me on 415 555 0199 any time.", True),
        ("My WhatsApp is 415-555-0199.", True),
        ("My WhatsApp is 415-555-0200.", False),
        ("My fax is 4155550199.", False),
        ("My wife calls me on 415 555 0199 each day.", False),
    ],
)
def test_the_number_by_which_one_is_reached_goes_with_the_phones(client: MemoryClient, other: str, goes: bool) -> None:
    """Where it is the same, of the asker's own; a fax is another thing."""
    say(client, "My phone number is 415 555 0199.", other, "Forget my phone number.")
    assert (other not in found(client, other)) is goes
    assert "My phone number" not in found(client, "What is my phone number?")


@pytest.mark.parametrize(
    ("told", "request_"),
    [
        ("My phone number is 415 555 0199.", "I'd like you to forget my phone number, please."),
        ("My phone number is 415 555 0199.", "Erase my phone number."),
        ("My phone number is 415 555 0199.", "Please forget +1 (415) 555-0199."),
        ("Meine Telefonnummer ist 030 1230199.", "Ich möchte, dass du meine Telefonnummer vergisst."),
        ("Mon numéro est le 06 12 34 0199.", "Oublie le 06 12 34 0199."),
        ("Mi correo es ana0199@x.org.", "Deberías olvidar mi correo."),
        ("我的电话是13812340199。", "我想让你忘记我的电话号码。"),
    ],
)
def test_a_wish_and_a_value_are_requests(stored: MemoryClient, told: str, request_: str) -> None:
    """What they mean goes, and they are no answer themselves; nobody is warned."""
    say(stored, told)
    assert not stored.chat(request_, user_id="u", thread_id="asked").report.warnings
    assert not known(stored)
    assert "0199" not in found(stored, told)
    assert request_ not in found(stored, request_)


def test_a_value_of_several_things_is_not_forgotten(client: MemoryClient) -> None:
    """Its owner is told, and so is one who names a value that nothing known has, or somebody else's."""
    say(client, "My gate code is 4711.", "My PIN is 4711.", "My wife's phone number is 415 555 0199.")
    before = known(client)
    for request_, why in (
        ("Forget the code 4711.", "2 memories"),
        ("Forget 555 9999 999.", "nothing known"),
        ("Forget 415 555 0199.", "says more"),
    ):
        (warning,) = client.chat(request_, user_id="u", thread_id="asked").report.warnings
        assert why in warning
    assert known(client) == before


@pytest.mark.parametrize(
    ("request_", "remedy"),
    [
        ("Forget everything.", "erase"),
        ("Vergiss alles", "erase"),
        ("忘掉一切", "erase"),
        ("Forget what I just said.", "clear_conversation"),
        ("Oublie ce que je viens de dire.", "clear_conversation"),
    ],
)
def test_what_is_too_much_to_forget_is_told(client: MemoryClient, request_: str, remedy: str) -> None:
    """With what does it; the request is no answer, and what stands beside it is one."""
    say(client, "My phone number is 415 555 0199.")
    (warning,) = client.chat(f"{request_.rstrip('.')}. I love oolong tea.", user_id="u", thread_id="t").report.warnings
    assert remedy in warning
    assert known(client) == ["I love oolong tea", "My phone number is 415 555 0199"]
    assert not client.chat("Let's forget everything and go out.", user_id="u", thread_id="t").report.warnings
    client.chat(request_, user_id="u", thread_id="alone")
    assert request_ not in found(client, request_).split("\n")
