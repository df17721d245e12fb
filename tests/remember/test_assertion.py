from __future__ import annotations

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.records import MemoryRecord
from langmem_plus.remember.facts import is_supported
from langmem_plus.remember.support import support

SAID = [
    ("I live in Lyon. Do I need a permit?", "The user lives in Lyon."),
    ("I don't like coffee", "The user dislikes coffee."),
    ("I don't eat meat", "The user does not eat meat."),
    ("I stopped smoking last year", "The user no longer smokes."),
    ("I can't eat gluten", "The user avoids gluten."),
    ("I can't wait to move to Lyon", "The user is moving to Lyon."),
    ("Don't forget that I'm vegan", "The user is vegan."),
    ("I don't live in Paris, I live in Lyon", "The user lives in Lyon."),
    ("I have no kids and I live in Lyon", "The user lives in Lyon."),
    ("I am allergic to nuts, not to cats", "The user is allergic to nuts."),
    ("I drink coffee without sugar", "The user drinks coffee."),
    ("I have two cats plus a dog", "The user has two cats and a dog."),
    ("My brother is a doctor. I am a nurse.", "The user is a nurse."),
    ("My brother is a doctor", "The user's brother is a doctor."),
    ("My brother is a doctor", "The user has a brother who is a doctor."),
    ("My wife and I moved to Rome", "The user moved to Rome."),
    ("My sister visited. She is a vet.", "The user's sister is a vet."),
    ("Can you find a baker near my home in Lyon?", "The user's home is in Lyon."),
    ("Could you help? I work at Acme", "The user works at Acme."),
    ("Anne is my best friend", "Anne is the user's best friend."),
    ("My job is teaching maths", "The user teaches maths."),
    ("Ich esse kein Fleisch", "Der Nutzer isst kein Fleisch."),
    ("Je ne fume pas", "L'utilisateur ne fume pas."),
    ("No como carne", "El usuario no come carne."),
    ("我不喜欢咖啡", "用户不喜欢咖啡"),
    ("我非常喜欢茶", "用户非常喜欢茶"),
    ("Mon anniversaire est le 3 mai", "L'anniversaire de l'utilisateur est le 3 mai."),
]
NOT_SAID = [
    ("I am not allergic to nuts.", "The user is allergic to nuts."),
    ("I never smoke.", "The user smokes."),
    ("I don't avoid nuts", "The user avoids nuts."),
    ("I don't smoke or drink", "The user drinks."),
    ("I smoke", "The user doesn't smoke."),
    ("My brother is a doctor.", "The user is a doctor."),
    ("He is a doctor.", "The user is a doctor."),
    ("Tom lives in Rome.", "The user lives in Rome."),
    ("I am a doctor. My brother visited.", "The user's brother is a doctor."),
    ("Do I live in Paris?", "The user lives in Paris."),
    ("Is my wife allergic to nuts?", "The user's wife is allergic to nuts."),
    ("What is the weather in Paris?", "The user lives in Paris."),
    ("I live in Paris?", "The user lives in Paris."),
    ("Wohne ich in Rom?", "Der Nutzer wohnt in Rom."),
    ("Ich rauche nicht", "Der Nutzer raucht."),
    ("Meine Schwester wohnt in Rom", "Der Nutzer wohnt in Rom."),
    ("Je ne fume pas", "L'utilisateur fume."),
    ("No fumo", "El usuario fuma."),
    ("Mi hermano vive en Roma", "El usuario vive en Roma."),
    ("我不喜欢咖啡", "用户喜欢咖啡"),
    ("我妈妈喜欢茶", "用户喜欢茶"),
    ("我住在北京吗？", "用户住在北京"),
    ("Off the record: I have diabetes.", "The user has diabetes."),
    ("Don't remember this: my code is 77.", "The user's code is 77."),
]


SPEAKERS = ["", "Anne", "Dr. No"]


@pytest.mark.parametrize("speaker", SPEAKERS)
@pytest.mark.parametrize(("turn", "fact"), SAID)
def test_what_is_said_is_supported(turn: str, fact: str, speaker: str) -> None:
    """In the same words or denied in others, whatever stands beside it, and whoever says it."""
    assert support(fact, turn, speaker=speaker) >= 0.5


@pytest.mark.parametrize("speaker", SPEAKERS)
@pytest.mark.parametrize(("turn", "fact"), NOT_SAID)
def test_what_is_asked_denied_or_said_of_others_is_not(turn: str, fact: str, speaker: str) -> None:
    """Although all its words are there, and whoever says it."""
    assert support(fact, turn, speaker=speaker) == 0.0


def test_a_speaker_may_be_called_by_name() -> None:
    """The name is said along with all that its owner says."""
    assert support("Tom likes tea.", "I like tea", speaker="Tom") >= 0.5
    assert support("Tom likes tea.", "Do I like tea?", speaker="Tom") == 0.0
    assert support("Ann likes tea.", "I like tea", speaker="Tom") == 0.0


def test_a_turn_with_a_name_is_read_as_one_without() -> None:
    """What somebody with a name asks, or wants kept off the record, is no fact of the turn."""
    for name in ("", "Anne"):
        for text, fact, wanted in [
            ("Do I owe Leo money? I forgot.", "The user owes Leo money.", False),
            ("Off the record: I owe Leo money.", "The user owes Leo money.", False),
            ("Thanks! I owe Leo money.", "The user owes Leo money.", True),
        ]:
            turn = MemoryRecord(id="turn", role="user", text=text, user_id="u", metadata={"name": name} if name else {})
            assert is_supported(turn, fact, MemoryConfig()) is wanted, (name, text)
