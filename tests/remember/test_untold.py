"""A turn tells more than its facts where one of its statements is in none of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.records import DRAWN, SAYS_MORE
from langmem_plus.remember.untold import says_beside, says_more
from langmem_plus.text import fingerprint

STATEMENTS = ["I live in Lyon.", "The flat is in the Rue Mercière.", "Parsley is fine.", "She plays the viola."]
NOTHING = ["Hi!", "Thanks a lot!", "Where is the pool?", "Ok.", "Wie geht es dir?", "Forget my old address."]


@pytest.mark.parametrize(
    ("text", "facts", "more"),
    [
        ("I hate coriander. Parsley is fine.", ["I hate coriander."], True),
        ("I hate coriander. Parsley is fine.", ["I hate coriander.", "Parsley is fine."], False),
        ("I moved to Lyon in May for a job at Hexa.", ["The user lives in Lyon."], True),
        ("I moved to Lyon in May.", ["The user moved to Lyon in May."], False),
        ("Ich wohne in Kiel. Die Wohnung liegt am Hafen.", ["Ich wohne in Kiel."], True),
        ("我住在里昂。房子在河边。", ["我住在里昂"], True),
        ("Off the record: I hate my boss. I live in Lyon.", ["I live in Lyon."], False),
        ("", ["I live in Lyon."], False),
    ],
)
def test_what_no_fact_tells(text: str, facts: list[str], more: bool) -> None:
    """In sentences, by their words; in any language."""
    assert says_more(text, facts) is more


@pytest.mark.parametrize(
    ("text", "beside"),
    [
        ("Forget my phone number. The door code is 4711.", True),
        ("Vergiss, wo ich wohne. Das WLAN-Passwort ist Sonne99.", True),
        ("忘记我的电话号码。我的电话是13899999999。", True),
        ("Forget my PIN, thanks! Where is the pool?", False),
        ("Forget that my wife left me. The door code is 4711.", False),
        ("Forget my PIN and that I live in Lyon. The door code is 4711.", False),
    ],
)
def test_what_a_request_stands_beside(text: str, beside: bool) -> None:
    """It counts where the request tells nothing itself."""
    assert says_beside(text) is beside


@given(st.lists(st.sampled_from([*STATEMENTS, *NOTHING]), max_size=6), st.sets(st.sampled_from(STATEMENTS)))
def test_only_statements_count(said: list[str], facts: set[str]) -> None:
    """Whatever stands around them."""
    assert says_more(" ".join(said), facts) is any(each in STATEMENTS and each not in facts for each in said)


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("My daughter Ella is 7. She goes to the Nygård school.", "Which school does Ella go to?", "Nygård"),
        (
            "I'm allergic to birch pollen. The pills are called Zyrtec.",
            "What pills do I take for my allergy?",
            "Zyrtec",
        ),
        ("I hate coriander. Parsley is fine.", "What can you use instead of coriander?", "Parsley"),
        ("I quit my job at the bank. From Monday I'll drive a tram.", "What is my new job?", "tram"),
    ],
)
def test_the_other_half_of_a_message_is_told(tmp_path: Path, text: str, question: str, answer: str) -> None:
    """The turn is shown in place of a fact that holds half of it."""
    said = [{"role": "user", "content": text}, {"role": "assistant", "content": "Good to know."}]
    with MemoryClient(tmp_path, config=MemoryConfig(background=False)) as client:
        client.add(said, user_id="ann", thread_id="t")
        (turn,) = client.list(user_id="ann", role="user")
        facts = client.list(user_id="ann", role="memory")
        assert turn.metadata[SAYS_MORE] == {fact.id: fingerprint(fact.text) for fact in facts}
        assert answer in client.explain(question, user_id="ann").context
        assert any(answer in hit.text for hit in client.search(question, user_id="ann"))


def test_a_turn_that_its_facts_tell_is_marked_as_such(tmp_path: Path) -> None:
    """Then the fact is shown, which is shorter, and may be corrected in its file; what it was is known all the same."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False)) as client:
        client.add([{"role": "user", "content": "Hi! My wife is called Anne."}], user_id="ann", thread_id="t")
        (turn,) = client.list(user_id="ann", role="user")
        (fact,) = client.list(user_id="ann", role="memory")
        assert SAYS_MORE not in turn.metadata
        assert turn.metadata[DRAWN] == {fact.id: fingerprint(fact.text)}
        assert [hit.record.role for hit in client.search("What is my wife called?", user_id="ann")] == ["memory"]


def test_what_a_person_corrected_in_a_fact_is_shown(tmp_path: Path) -> None:
    """The turn tells more than the fact did, but also what is wrong by now."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False, sync_interval=0)) as client:
        text = "My daughter Ella is 7. She goes to the Nygård school."
        client.add([{"role": "user", "content": text}], user_id="ann", thread_id="t")
        (fact,) = client.list(user_id="ann", role="memory")
        path = client.path_of(fact)
        assert path is not None
        path.write_text(path.read_text().replace("Ella is 7", "Ella is 8"))
        assert "Ella is 8" in client.explain("How old is Ella?", user_id="ann").context


def test_a_turn_that_says_what_is_known_names_what_says_it(tmp_path: Path) -> None:
    """The fact that stands, in its own words; a turn that no fact is drawn from names none."""
    with MemoryClient(tmp_path, config=MemoryConfig(background=False)) as client:
        for thread, text in enumerate(("My wife is called Anne.", "Hi! My wife is called Anne!", "Where is the pool?")):
            client.add([{"role": "user", "content": text}], user_id="ann", thread_id=f"t{thread}")
        (fact,) = client.list(user_id="ann", role="memory")
        marks = {turn.text: turn.metadata.get(DRAWN) for turn in client.list(user_id="ann", role="user")}
        known = {fact.id: fingerprint(fact.text)}
        assert marks == {
            "My wife is called Anne.": known,
            "Hi! My wife is called Anne!": known,
            "Where is the pool?": None,
        }
