from __future__ import annotations

import pytest

from langmem_plus.remember.reported import without_reports
from langmem_plus.remember.statements import find_statements


def texts(turn: str) -> list[str]:
    """The texts of a turn's statements."""
    return [statement.text for statement in find_statements(turn, 5)]


@pytest.mark.parametrize(
    "turn",
    [
        "My friend says: I live in Paris and I hate dogs.",
        'She told me: "I love jazz and I work at Acme."',
        "Anna said \u201cI live in Rome. I hate cats\u201d",
        "My boss always says, \u201cI prefer calls over mails\u201d.",
        "He wrote: I work at Acme. I live in Bern.",
        'A quote from a book: "I was born in Paris."',
        "My sister told me: my dog is called Rex and I live in Rome",
        "My neighbour: I have two cats and I hate rain.",
        "A message from Tom: I live in Oslo",
        '"I hate dogs and I live in Oslo", said my friend.',
        "Mein Freund sagt: Ich wohne in Paris.",
        "Mon ami dit : j'habite à Paris",
        "Mi amiga dijo: vivo en Madrid",
        "我朋友说：我住在巴黎。",
        "我朋友说:“我喜欢咖啡。我住在巴黎。”",
    ],
)
def test_the_words_of_others_are_no_facts_about_the_user(turn: str) -> None:
    """After a colon or in quotation marks, somebody else is "I"."""
    assert texts(turn) == []


@pytest.mark.parametrize(
    ("turn", "kept"),
    [
        ("I told her: I live in Paris", ["I live in Paris"]),
        ("As I said: I live in Paris.", ["I live in Paris."]),
        ("About me: I live in Paris.", ["I live in Paris."]),
        ('"I hate dogs", I said.', ['I hate dogs"']),
        ('My favourite film is "My Life as a Dog".', ['My favourite film is "My Life as a Dog".']),
        ('I live in Rome. Anna says: "I like tea." I work at Acme.', ["I live in Rome.", "I work at Acme."]),
        ("Tom says: I hate tea.\nI live in Rome.", ["I live in Rome."]),
        ("Remember that Anna said: I hate olives.", ["Anna said: I hate olives."]),
    ],
)
def test_what_the_user_says_besides_is_kept(turn: str, kept: list[str]) -> None:
    """Own words that are repeated, what stands around a quotation, and what was asked for."""
    assert texts(turn) == kept


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "unit",
    [
        "says ",
        'said "',
        "told me a b c d ",
        '"',
        '"ab',
        "my friend ",
        "说",
        "message from a ",
        "translate ",
        "Text: ",
        "please ",
        "From: a\n",
        "write me ",
    ],
)
def test_hostile_reports_are_read_in_linear_time(unit: str) -> None:
    """However often somebody says something."""
    assert isinstance(without_reports(unit * (50_000 // len(unit))), str)


@pytest.mark.parametrize(
    "turn",
    [
        *(
            "Translate: I love pizza.",
            "Please translate this to German: I live in Rome. I hate dogs.",
            "翻译：我住在北京。",
        ),
        *(
            "Translate 'to French' \"I live in Rome, and I hate dogs\"",
            "Proofread this:\n\nI work at Acme.\n\nI love jazz.",
        ),
        *(
            "Can you rewrite the following sentence: I am allergic to nuts",
            "Summarize:\nMy wife is Anne. I live in Rome.",
        ),
        *(
            "Write a story: I was born on Mars.",
            "Write me a poem about a sailor. I live on a ship.",
            "Fix: I has two cats",
        ),
        *(
            "Pretend I'm a pirate: I live on a ship.",
            "In this role play I am a pirate. I live on a ship. My name is Jack.",
        ),
        *("Let's play a game. I am a wizard and I live in a tower.", "Imagine I'm a king. I own a castle."),
        *("Here is my friend's essay:\nI grew up in Oslo. I love snow.", "Text: I prefer tea over coffee."),
        *("From: Bob\nSubject: Hello\n\nI live in Oslo and I love it.", "Dear Anne,\nI live in Rome.\nBest, Bob"),
        *("On Monday, 3 May, Bob wrote:\nI work at Acme.", "----- Forwarded message\nI live in Oslo."),
        *('"I hate dogs and I live in Oslo"', "I live on the moon, just kidding.", "I live on the moon. Just kidding!"),
        *("```\nI live in Rome\n```", "> I live in Rome", "`I live in Rome`"),
    ],
)
def test_what_is_handed_over_or_played_is_nobodys_fact(turn: str) -> None:
    """Material of a task, pasted texts, quotations, code, roles and jokes."""
    assert texts(turn) == []


@pytest.mark.parametrize(
    ("turn", "kept"),
    [
        ("I live in Lyon. Translate: I love pizza.", ["I live in Lyon."]),
        ("Translate: I love pizza.\n\nI live in Lyon.", ["I live in Lyon."]),
        ("I work at Acme. Pretend I'm a pirate: I live on a ship.", ["I work at Acme."]),
        ("Write a cover letter for me. I work at Acme.", ["I work at Acme."]),
        ("I'm not kidding, I live on a boat.", ["I live on a boat."]),
        ("I translate books for a living, and I live in Rome.", ["I live in Rome."]),
    ],
)
def test_own_words_beside_material_are_kept(turn: str, kept: list[str]) -> None:
    """Before it, and after its paragraph; a task alone makes nothing a quotation."""
    assert texts(turn)[-1:] == kept


@pytest.mark.parametrize(
    "turn",
    [
        *("I take 5 mg of aspirin.", "I'm on 20 mg of ramipril.", "I take two tablets of ibuprofen every morning."),
        *("I take insulin before meals.", "I take vitamin D supplements.", "My doctor prescribed 10 mg of ramipril."),
        *("I was prescribed 50 mg of sertraline.", "Ich nehme 5 mg Ramipril.", "Je prends 10 mg de ramipril."),
        *("I inject 12 units of insulin.", "I'm taking antibiotics for a week."),
    ],
)
def test_medication_and_its_dose_are_facts(turn: str) -> None:
    """However it is taken."""
    assert texts(turn) == [turn]
