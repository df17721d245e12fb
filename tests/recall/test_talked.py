"""Questions about what we said, discussed or decided, in five languages, with words in between."""

from __future__ import annotations

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.recall.plan import plan
from langmem_plus.recall.talked import asks_what_we_said

CONFIG = MemoryConfig()

ASKED = [
    # English
    "What did we say about Lisbon?",
    "What did we decide about the hotel?",
    "what did we decide",
    "Do you remember our conversation about Lisbon?",
    "Hi! Which hotel did we finally agree on?",
    "When did we last talk about the move?",
    "How much did we say the hotel would cost?",
    "What have we already discussed about York?",
    "What had we decided last week?",
    "What did you and I decide?",
    "Did we ever talk about Lisbon?",
    "Before I book: what did we settle on for the hotel?",
    "Can you tell me what we agreed on for Lisbon?",
    "Tell me what we decided about the hotel.",
    "I forgot what we said about the budget.",
    "I don't remember when we talked about Lisbon.",
    "Is the hotel we talked about expensive?",
    "What was our conversation about Lisbon about?",
    "Can you recap our discussion of the budget?",
    # German
    "Worüber haben wir zu Lissabon gesprochen?",
    "Worüber haben wir gestern gesprochen?",
    "Was haben wir zu Lissabon besprochen?",
    "Erinnerst du dich an unser Gespräch über Lissabon?",
    "Über was haben wir neulich geredet?",
    "Welches Hotel hatten wir vereinbart?",
    "Haben wir schon mal über Lissabon gesprochen?",
    "Weißt du noch, was wir zum Hotel beschlossen haben?",
    "Sag mir, was wir zum Hotel gesagt haben.",
    "Ich weiß nicht mehr, was wir zum Budget ausgemacht hatten.",
    "Ist das Hotel teuer, über das wir gesprochen haben?",
    "Was besprachen wir zu Lissabon?",
    "Worum ging es in unserem Gespräch über Lissabon?",
    # French
    "Qu'avons-nous dit sur Lisbonne ?",
    "Qu’est-ce qu’on a décidé pour l’hôtel ?",
    "De quoi a-t-on parlé hier ?",
    "De quoi on a parlé la semaine dernière ?",
    "Qu'avions-nous décidé pour Lisbonne ?",
    "On a dit quoi sur l'hôtel ?",
    "Tu te souviens de notre conversation sur Lisbonne ?",
    "Tu te rappelles ce que nous avions décidé ?",
    "Dis-moi ce qu'on a dit du budget.",
    "Quel hôtel avons-nous finalement choisi ?",
    "L'hôtel dont nous avons parlé est-il cher ?",
    "De quoi parlions-nous ?",
    # Spanish
    "¿Qué dijimos sobre Lisboa?",
    "¿Qué habíamos decidido la semana pasada?",
    "¿Recuerdas lo que hablamos de Lisboa?",
    "¿Sobre qué hablamos ayer?",
    "¿Te acuerdas de nuestra conversación sobre Lisboa?",
    "¿Qué hotel decidimos?",
    "¿En qué quedamos?",
    "¿Hemos hablado ya de Lisboa?",
    "Dime lo que acordamos sobre el hotel.",
    "¿Está lejos el hotel del que hablamos?",
    "¿A qué conclusión llegamos?",
    "¿De qué trató nuestra conversación?",
    # Chinese
    "我们关于里斯本说了什么？",
    "我们昨天聊了什么",
    "我们是怎么决定酒店的？",
    "你还记得我们关于里斯本的对话吗？",
    "我们讨论过预算吗？",
    "我们聊过的那家酒店贵吗？",
    "告诉我我们决定的酒店",
    "我们什么时候讨论过搬家",
]

NOT_ASKED = [
    "What did we eat yesterday?",
    "We decided to move.",
    "We decided to move to Lyon. What should I pack?",
    "We decided to move, what should I pack?",
    "When we decided to move, was it raining?",
    "I told Anne to remember what we decided.",
    "Remember that we decided to move.",
    "We talked to Anne about the wedding.",
    "What language did we speak at school?",
    "How do we say hello in French?",
    "What do we discuss in class?",
    "Did we win?",
    "When is our discussion about the budget?",
    "Was our talk accepted?",
    "What did they decide about the hotel?",
    "What did Anne say about us?",
    "How did we get to Lisbon?",
    "Where do I live?",
    "Was haben wir gegessen?",
    "Wir haben beschlossen umzuziehen.",
    "Gestern haben wir beschlossen, umzuziehen. Was hältst du davon?",
    "Gestern haben wir beschlossen, umzuziehen, was hältst du davon?",
    "Wir haben über Lissabon gesprochen.",
    "Was hat Anne gesagt?",
    "Wann ist unsere Besprechung über das Budget?",
    "Haben wir noch Brot?",
    "Worüber sprechen wir im Kurs?",
    "Qu'avons-nous mangé hier ?",
    "Nous avons décidé de déménager.",
    "Hier on a décidé de déménager, qu'en penses-tu ?",
    "Quand on a décidé de déménager, pleuvait-il ?",
    "Aussi avons-nous décidé de déménager.",
    "Quelle langue parle-t-on en Suisse ?",
    "Tu sais que nous avons décidé de déménager ?",
    "¿Qué comimos ayer?",
    "Decidimos mudarnos a Lyon.",
    "Hemos decidido mudarnos a Lyon.",
    "Decidimos mudarnos, ¿qué opinas?",
    "¿Sabes que decidimos mudarnos?",
    "¿Qué idioma hablamos en casa?",
    "¿A qué hora quedamos?",
    "¿Qué dijo Ana?",
    "我们决定了搬家。",
    "我们决定搬家了，你觉得怎么样？",
    "我们吃了什么？",
    "我们说中文吗？",
    "我们听说了什么新闻？",
    "他说了什么？",
    "",
]


@pytest.mark.parametrize("text", ASKED)
def test_what_we_said_is_asked_of_earlier_conversations(text: str) -> None:
    """Whatever stands between the words; the reason names what was read."""
    found = plan(text, CONFIG)
    assert (found.strategy, "an earlier conversation" in found.reason) == ("archive", True)


@pytest.mark.parametrize("text", NOT_ASKED)
def test_nothing_else_is(text: str) -> None:
    """What we did, what others said, and statements of what we decided."""
    assert asks_what_we_said(text) is None


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("What did we say about Lisbon?", "What did we about Lisbon"),
        ("Weißt du noch, was wir zum Hotel beschlossen haben?", "noch, was wir zum Hotel haben"),
        ("Qu’avons-nous dit sur Lisbonne ?", "Qu’avons-nous sur Lisbonne"),
        ("¿Qué hotel decidimos?", "¿Qué hotel"),
        ("我们讨论过预算吗？", "我们 预算吗"),
        ("What did we decide last week?", ""),
        ("Worüber haben wir gestern gesprochen?", ""),
        ("De quoi on a parlé la semaine dernière ?", ""),
        ("¿Qué habíamos decidido la semana pasada?", ""),
        ("我们昨天聊了什么", ""),
    ],
)
def test_the_words_about_talking_are_no_topic(text: str, topic: str) -> None:
    """The query keeps what is asked about; when it was said is no topic either, and lists the newest."""
    assert plan(text, CONFIG).query == topic


def test_own_triggers_stand_in_place_of_the_forms() -> None:
    """Whoever sets ``search_triggers`` decides alone."""
    config = CONFIG.replace(search_triggers=("as agreed",))
    assert plan("What did we decide about the hotel?", config).strategy == "memory"
    assert plan("As agreed?", config).strategy == "archive"


@pytest.mark.parametrize(
    "unit", ["we ", "what did we ", "was haben wir ", "我们", "do you remember ", "qué ", "¿", "on a "]
)
def test_long_texts_are_no_trouble(unit: str) -> None:
    """However long, and whatever they repeat."""
    assert asks_what_we_said(unit * 20_000) is None
    assert asks_what_we_said(f"{unit * 120}?"[-400:]) is None
