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
    "unit", ["says ", 'said "', "told me a b c d ", '"', '"ab', "my friend ", "说", "message from a "]
)
def test_hostile_reports_are_read_in_linear_time(unit: str) -> None:
    """However often somebody says something."""
    assert isinstance(without_reports(unit * (50_000 // len(unit))), str)
