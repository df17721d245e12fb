from __future__ import annotations

import pytest

from langmem_plus.fence import fence
from langmem_plus.remember.statements import find_statements, forget_requests


def texts(turn: str, limit: int = 3) -> list[str]:
    """The texts of a turn's statements."""
    return [statement.text for statement in find_statements(turn, limit)]


@pytest.mark.parametrize(
    ("turn", "kept"),
    [
        ("My wife is Anne.", ["My wife is Anne."]),
        ("hi, i live in lyon and i work at acme", ["i live in lyon", "i work at acme"]),
        ("I prefer tea, so can you find me a shop?", ["I prefer tea"]),
        ("By the way, I've decided to learn the oboe. Any tips?", ["I've decided to learn the oboe."]),
        ("Always answer in metric units when I ask about distances.", None),
        ("From now on, call me Bob.", None),
        ("We're going to Norway on May 12.", None),
        ("My goal is to run a marathon.", None),
        ("I'm allergic to peanuts!", None),
        ("My sister and I own a bakery.", None),
        ("I no longer eat meat.", None),
        ("Anne prefers mild food.", None),
        ("My brother's name is Tom.", None),
    ],
)
def test_first_person_statements_are_kept_in_the_users_own_words(turn: str, kept: list[str] | None) -> None:
    """Facts, preferences, standing instructions, decisions, plans with dates; nothing is rephrased."""
    assert texts(turn) == (kept if kept is not None else [turn]) or texts(turn) == [turn.rstrip(".")]
    assert all(text in turn for text in texts(turn))


@pytest.mark.parametrize(
    "turn",
    [
        "Do I like tea?",
        "What is my wife called?",
        "Can you tell me whether I live in Paris?",
        "If I lived in Paris I would like it.",
        "Suppose I have two cats.",
        "Maybe I like jazz.",
        "Thanks, that was great!",
        "Got it, sounds good.",
        "I'm not sure how to implement this.",
        "I'd like to know more about Rome.",
        "I have a question about Rome.",
        "I need help with my code.",
        "Never mind.",
        "She has a dog.",
        "```python\nI like = 'tea'\n```",
        "> I like tea",
        "[image]",
        "",
        "Wie heißt meine Frau?",
        "¿Cómo se llama mi esposa?",
        "我住在哪里?",
        "如果我住在巴黎，我会很开心。",
    ],
)
def test_questions_hypothetical_cases_hedges_and_thanks_hold_no_facts(turn: str) -> None:
    """What isn't stated isn't remembered."""
    assert texts(turn) == []


@pytest.mark.parametrize(
    "turn",
    [
        "Ich wohne in Köln.",
        "Meine Frau heißt Anne.",
        "Ich esse am liebsten Pizza.",
        "Ich habe mich für das blaue Sofa entschieden.",
        "Wir sind nach Berlin gezogen.",
        "Ich habe bei Bosch angefangen.",
        "Ich fange am Montag bei Bosch an.",
        "J'habite à Lyon.",
        "Ma femme s'appelle Anne.",
        "Je préfère le thé.",
        "Nous avons déménagé à Paris.",
        "Je me suis installée à Paris.",
        "Je commence chez Airbus lundi.",
        "Vivo en Madrid.",
        "Me gusta el té verde.",
        "Nos mudamos a Sevilla.",
        "Empecé a trabajar en Repsol.",
        "Mi perro se llama Rex.",
        "我住在上海。",
        "我妻子叫安娜。",
        "我入职了腾讯。",
        "我不喜欢咖啡。",
        "我对花生过敏。",
    ],
)
def test_statements_in_other_languages_are_kept_byte_for_byte(turn: str) -> None:
    """German, French, Spanish and Chinese, by their commonest forms."""
    assert texts(turn) == [turn]


def test_recalled_memories_are_not_extracted_again() -> None:
    """Only what the user newly said is read."""
    assert texts(fence("[memory] I like whisky.\n[memory] My wife is Bea.") + "\n\nI like tea.") == ["I like tea."]


def test_a_clause_that_says_it_keeps_the_clause_that_names_it() -> None:
    """A statement must be understood without its neighbours; where nothing names what "it" is, it is left out."""
    turn = "I'm using Bootstrap and I prefer it over Foundation, can you help?"
    assert texts(turn) == ["I'm using Bootstrap and I prefer it over Foundation"]
    assert texts("I love it!") == []


def test_a_relative_clause_in_a_question_tells_of_somebody() -> None:
    """What a question takes for granted is said, too."""
    assert texts("What can I cook for Crystal, who prefers mild flavors, tonight?") == [
        "Crystal, who prefers mild flavors"
    ]


def test_at_most_so_many_the_weightiest_in_their_order() -> None:
    """A preference outweighs an event; the order of the turn is kept."""
    turn = "I visited Rome in May 2020. I prefer trains to planes. I live in Lyon. I never eat meat."
    assert texts(turn, 2) == ["I prefer trains to planes.", "I live in Lyon."]
    assert texts(turn, 0) == []


@pytest.mark.parametrize(
    ("turn", "kept"),
    [
        ("Please remember that my dog is Rex.", "my dog is Rex."),
        ("Remember: the door code is 4411.", "the door code is 4411."),
        ("Can you remember that I hate olives?", "I hate olives"),
        ("Don't forget that my flight leaves at nine.", "my flight leaves at nine."),
        ("My dog is Rex, please remember that.", "My dog is Rex"),
        ("Merk dir bitte, dass ich Vegetarier bin.", "ich Vegetarier bin."),
        ("N'oublie pas que j'habite à Lyon.", "j'habite à Lyon."),
        ("Recuerda que vivo en Madrid.", "vivo en Madrid."),
        ("记住，我住在上海。", "我住在上海。"),
    ],
)
def test_what_the_user_asks_to_keep_is_marked(turn: str, kept: str) -> None:
    """ "Remember that …" marks what it names, whatever that is."""
    (statement,) = find_statements(turn, 3)
    assert statement.asked
    assert statement.text.endswith(kept)


@pytest.mark.parametrize(
    ("turn", "kept"),
    [
        ("Don't remember this: I like jazz", []),
        ("Don't remember this:\nI like jazz", []),
        ("Don't save this. I like jazz.", []),
        ("Please don't save that I live in Bern.", []),
        ("Don't store that my cat is called Pixie.", []),
        ("I don't want you to remember that I like jazz and I live in Bern", []),
        ("You don't need to remember this: I like jazz", []),
        ("Never note that I am vegan.", []),
        ("Don't save: my phone number is 123", []),
        ("I like jazz, but don't remember that.", []),
        ("I live in Bern. I like jazz. Don't save that. I own a boat.", ["I live in Bern.", "I own a boat."]),
        ("Off the record: I hate my job.", []),
        ("Merk dir nicht, dass ich in Bern wohne: ich wohne in Bern.", []),
        ("Ne retiens pas ça : j'habite à Lyon", []),
        ("No recuerdes esto: vivo en Madrid", []),
        ("别记住我喜欢爵士。", []),
        ("Don't remember this: I like jazz. I live in Bern.", ["I live in Bern."]),
        ("Don't forget that I like jazz", ["I like jazz"]),
        ("I don't save money but I own a boat", ["I own a boat"]),
    ],
)
def test_what_the_user_asks_not_to_keep_is_no_fact(turn: str, kept: list[str]) -> None:
    """A negated wish to remember drops its sentence, nothing else."""
    assert [text.removeprefix("but ") for text in texts(turn)] == kept


@pytest.mark.parametrize(
    ("turn", "kept"),
    [
        ("I'm Marta.", ["I'm Marta."]),
        ("Hi, I am Marta!", ["I am Marta!"]),
        ("Please call me Max.", ["Please call me Max."]),
        ("I'm Tomas, a product designer from Ghent.", ["I'm Tomas, a product designer from Ghent."]),
        ("I'm from Ghent", ["I'm from Ghent"]),
        ("I'm Dutch", ["I'm Dutch"]),
        ("I'm lactose intolerant", ["I'm lactose intolerant"]),
        ("I'm a type 1 diabetic.", ["I'm a type 1 diabetic."]),
        ("I'm coeliac", ["I'm coeliac"]),
        ("I'm gluten-free", ["I'm gluten-free"]),
        ("I'm learning to sail", ["I'm learning to sail"]),
        ("I usually cycle to work", ["I usually cycle to work"]),
        ("I go running every morning", ["I go running every morning"]),
        ("I'm getting married next June!", ["I'm getting married next June!"]),
        ("I used to live in Rome, now I live in Bern", ["now I live in Bern"]),
        ("I'm a vegetarian but I eat fish", ["I'm a vegetarian but I eat fish"]),
        ("I'm vegan, but I still eat honey.", ["I'm vegan, but I still eat honey."]),
        ("I'm not vegetarian anymore", ["I'm not vegetarian anymore"]),
        ("Ich bin Lehrerin.", ["Ich bin Lehrerin."]),
        ("Ich heiße Katrin und wohne in Leipzig", ["Ich heiße Katrin", "Ich wohne in Leipzig"]),
        ("你好，我叫李明，住在上海。", ["我叫李明", "住在上海。"]),
        ("I live in Leeds and work as a nurse.", ["I live in Leeds", "I work as a nurse."]),
        ("Hi, I work at Acme and live in Leeds", ["I work at Acme", "I live in Leeds"]),
        ("I live and work in Leeds", ["I live and work in Leeds"]),
        ("I live to eat and work for money", ["I live to eat and work for money"]),
        ("I live in Leeds with my husband Tom and our two kids", None),
        ("Yesterday we moved to York.", None),
        ("Noma is now my favourite restaurant", None),
    ],
)
def test_what_a_newcomer_tells_of_herself_is_kept(turn: str, kept: list[str] | None) -> None:
    """Names, origins, health, habits and plans in their commonest forms; what limits a claim stays with it."""
    assert [text.removeprefix("und ") for text in texts(turn)] == (kept or [turn])


@pytest.mark.parametrize(
    "turn",
    [
        *("I'm fine", "I'm tired", "I'm back", "I'm sorry", "I'm Ok", "I'm OK.", "I'm not sure", "I'm Done."),
        *("I'm Good, thanks", "I'm Happy to help", "I'm looking for vegan recipes", "I'm getting tired"),
        *("Call me back", "Call me Tomorrow.", "I usually think so too", "I'm learning about that", "Ich bin müde."),
    ],
)
def test_moods_and_small_talk_are_no_facts(turn: str) -> None:
    """What passes isn't remembered, however it is capitalised."""
    assert texts(turn) == []


@pytest.mark.parametrize("turn", ["Do you remember my dog?", "I remember when we met.", "Remember when I got lost?"])
def test_reminiscence_asks_for_nothing(turn: str) -> None:
    """Remembering aloud isn't a wish to keep something."""
    assert not any(statement.asked for statement in find_statements(turn, 3))


@pytest.mark.parametrize(
    ("turn", "forgotten"),
    [
        ("Please forget that I work at Acme.", ["I work at Acme."]),
        ("Forget my phone number", ["my phone number"]),
        ("Forget what I told you about Anne and the boat.", ["Anne and the boat."]),
        ("Vergiss, dass ich in Köln wohne.", ["ich in Köln wohne."]),
        ("Oublie que j'habite à Lyon.", ["j'habite à Lyon."]),
        ("Olvida que vivo en Madrid.", ["vivo en Madrid."]),
        ("忘记我住在上海", ["我住在上海"]),
        ("Forget it.", []),
        ("Forget about it", []),
        ("Don't forget that I work at Acme.", []),
        ("I forget my keys all the time.", []),
        ("I forgot that you exist", []),
        ("Vergiss nicht, dass ich in Köln wohne.", []),
    ],
)
def test_what_the_user_asks_to_forget_is_told_apart(turn: str, forgotten: list[str]) -> None:
    """A request names what is meant; "forget it" names nothing, "don't forget" asks for the opposite."""
    assert forget_requests(turn) == forgotten
    if forgotten:
        assert texts(turn) == []


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "unit", [".", " ", ", ", "now ", "?!", "\n", "- ", "<pre>", "I really ", "a@", "0-", "。", "and I "]
)
def test_hostile_texts_are_read_in_linear_time(unit: str) -> None:
    """However long, and whatever they repeat."""
    for start in ("", "I like ", "My dog "):
        turn = start + unit * (100_000 // len(unit)) + "x"
        assert len(texts(turn)) <= 3
        assert len(forget_requests(turn)) == 0


def test_what_was_pasted_is_not_what_was_said() -> None:
    """A sentence of pages and a clause of a paragraph are left out; the rest of the turn is read."""
    turn = "I live in " + "very " * 500 + "far away. I like tea."
    assert texts(turn) == ["I like tea."]
    assert texts("I prefer " + "tea and " * 60 + "jam.") == []
