"""Which memory a message needs: decided by its words alone, the same every time, with the cue in the reason."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError
from langmem_plus.recall.plan import plan, plan_messages, plan_node
from langmem_plus.records import Plan, Scope
from langmem_plus.services import Services

CONFIG = MemoryConfig()

SMALL_TALK = [
    "hi",
    "Hi there!!",
    "Hello everyone",
    "good morning",
    "thanks so much for your help 🙏",
    "Ok great, thanks",
    "got it",
    "👍",
    "Danke schön!",
    "Guten Morgen",
    "Vielen Dank für die Hilfe",
    "alles klar",
    "Merci beaucoup pour votre aide",
    "Bonjour !",
    "d’accord",
    "¡Muchas gracias!",
    "buenas noches",
    "vale",
    "你好！",
    "谢谢你的帮助",
    "好的，谢谢",
    "早上好",
]

NOT_SMALL_TALK = [
    "hi, I'm Bob",
    "Hi! My wife Anne and I moved to Lyon last week, and I'd like to find a pottery class there.",
    "ok?",
    "Thanks?",
    "你好吗？",
    "How are you?",
    "yes",
    "no thanks",
    "thank you Anne",
    "Danke, ich wohne jetzt in Berlin",
    "salut, je m'appelle Anne",
    "谢谢，我叫安妮",
    "hi " * 50,
    "hiking",
]

TAIL = [
    "continue",
    "Go on, please.",
    "please continue",
    "what did you just say?",
    "Could you repeat that please?",
    "continue from where we left off",
    "shorter",
    "weiter",
    "Was hast du gerade gesagt?",
    "continuez",
    "Qu'est-ce que tu viens de dire ?",
    "sigue por favor",
    "¿Qué acabas de decir?",
    "继续",
    "你刚才说什么？",
    "再说一遍好吗？",
]

NOT_TAIL = [
    "What did you just say about Lyon?",
    "I want to continue my Spanish lessons",
    "继续学习中文",
    "go on holiday",
]

DOCUMENTS = [
    "which file has the prices?",
    "see notes.md",
    "open src/app/main.py",
    "look at ./docs/setup",
    "what does our refund policy say?",
    "Was steht in der Datei?",
    "résume le document",
    "¿qué dice el archivo?",
    "文档里写了什么？",
    "what does acme.com charge?",
    "https://example.org/b.md",
    "what does the README say",
    "¿cuáles son los precios?",
    "定价是多少",
]

MEMORY = ["where do I live?", "he/him/his", "12/05/2023", "mail ann@x.org", "mail ann.b@mail.x.org", "?", "e.g. tea"]

ARCHIVE = [
    "What did we discuss about Lyon last time?",
    "remind me what I said",
    "Earlier you said that it was fine",
    "LAST   TIME, we spoke of tea",
    "Worüber haben wir gesprochen?",
    "Was war beim letzten Mal offen?",
    "De quoi avons-nous parlé ?",
    "Rappelle-moi le nom du café",
    "¿De qué hablamos?",
    "¿Qué dije la última vez?",
    "我们上次聊了什么",
    "你之前说可以",
]


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        *(("none", text) for text in SMALL_TALK),
        *(("memory", text) for text in [*NOT_SMALL_TALK, *NOT_TAIL, *MEMORY]),
        *(("tail", text) for text in TAIL),
        *(("documents", text) for text in DOCUMENTS),
        *(("archive", text) for text in ARCHIVE),
    ],
)
def test_the_words_decide(strategy: str, text: str) -> None:
    """Small talk needs nothing, continuity the thread, anchors documents, triggers archives, all else memory."""
    found = plan(text, CONFIG)
    assert (found.strategy, found == plan(text, CONFIG)) == (strategy, True)


@pytest.mark.parametrize(
    ("text", "cue"),
    [("Thanks!", "thanks"), ("go on", "go on"), ("in notes.md", "notes.md"), ("as last time", "last time")],
)
def test_the_reason_names_the_cue(text: str, cue: str) -> None:
    """Somebody who reads the report sees which words decided."""
    assert repr(cue) in plan(text, CONFIG).reason


def test_memory_that_is_off_recalls_nothing() -> None:
    """``enabled = false`` wins over everything else."""
    found = plan("where do I live?", CONFIG.replace(enabled=False, strategy="memory"))
    assert (found.strategy, "off" in found.reason) == ("none", True)


def test_an_incognito_session_recalls_nothing() -> None:
    """Also where a strategy is set."""
    found = plan("where do I live?", CONFIG.replace(strategy="memory"), incognito=True)
    assert (found.strategy, "incognito" in found.reason) == ("none", True)


@pytest.mark.parametrize("strategy", ["none", "tail", "memory", "documents", "archive"])
def test_a_strategy_that_is_set_is_taken(strategy: str) -> None:
    """Cues are for ``auto``."""
    found = plan("thanks", CONFIG.replace(strategy=strategy))
    assert (found.strategy, strategy in found.reason) == (strategy, True)


def test_nothing_stored_needs_no_search() -> None:
    """Where it is known that nothing is remembered, nothing is searched; the thread itself is still there."""
    assert plan("where do I live?", CONFIG, has_memory=False).strategy == "none"
    assert plan("go on", CONFIG, has_memory=False).strategy == "tail"


def test_triggers_are_settings() -> None:
    """``search_triggers`` replaces the built-in phrases, in any script."""
    config = CONFIG.replace(search_triggers=("letztes Mal", "上次"))
    assert plan("Was war letztes  mal?", config).strategy == "archive"
    assert plan("我们上次聊了什么", config).strategy == "archive"
    assert plan("last time", config).strategy == "memory"
    assert plan("what about the fast times?", CONFIG).strategy == "memory"


def test_cues_are_settings() -> None:
    """One's own phrases stand beside the built-in ones; with a minus they take one out, or all."""
    config = CONFIG.replace(
        small_talk_cues=["Ahoi!", "-morning"], continuity_cues=["noch was", "-*"], document_cues=["Lastenheft", "-file"]
    )
    found = [plan(text, config).strategy for text in ("ahoi", "hi", "morning", "noch was?", "go on")]
    assert found == ["none", "none", "memory", "tail", "memory"]
    found = [plan(text, config).strategy for text in ("im Lastenheft?", "which file?", "which folder?", "a.md")]
    assert found == ["documents", "memory", "documents", "documents"]
    asked: list[BaseMessage] = [HumanMessage("Book it"), AIMessage("For two?"), HumanMessage("ahoi")]
    assert plan_messages(asked, config).strategy == "memory"


@pytest.mark.parametrize(
    ("knob", "cue", "remedy"),
    [
        ("small_talk_cues", "-mornin", "'-morning'"),
        ("continuity_cues", "-xyzzy", r"'-\*'"),
        ("document_cues", "-Foldr", "'-folder'"),
    ],
)
def test_a_cue_that_takes_nothing_out_is_an_error(knob: str, cue: str, remedy: str) -> None:
    """It names the setting, the cue, and what was meant; what is built in may be spelled freely, and taken out."""
    built = Services(config=CONFIG.replace(**{knob: ["-*", "- Folder" if knob == "document_cues" else "x"]}))
    plan_node(built)
    with pytest.raises(ConfigError, match=f"{knob}: '{cue}'.*{remedy}"):
        plan_node(Services(config=CONFIG.replace(**{knob: [cue]})))


def test_a_trigger_is_taken_out_of_scripts_without_spaces() -> None:
    """Wherever it stands in the sentence."""
    assert plan("我们上次在里昂聊了什么", CONFIG).query == "我们 在里昂 什么"


def test_a_trigger_is_no_word_to_search_by() -> None:
    """The query keeps what the message asks about, without the cue; a bare cue leaves none."""
    assert plan("What did we discuss about Lyon last time?", CONFIG).query == "about Lyon"
    assert plan("What did we discuss last time?", CONFIG).query == ""


def test_an_acknowledgement_answers_a_question() -> None:
    """ "ok" after the assistant's question is an answer, which may need what the question was about."""
    question: list[BaseMessage] = [
        HumanMessage("Book the table"),
        AIMessage("For your anniversary?"),
        HumanMessage("ok"),
    ]
    statement: list[BaseMessage] = [*question[:1], AIMessage("Done."), HumanMessage("ok")]
    assert plan_messages(question, CONFIG).strategy == "memory"
    assert plan_messages(question, CONFIG).query == "Book the table\nok"
    assert plan_messages(statement, CONFIG).strategy == "none"


def test_a_picture_alone_has_no_words() -> None:
    """Media aren't searched by, nor by their ``repr``."""
    picture = HumanMessage([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}])
    assert plan_messages([picture], CONFIG) == Plan(strategy="none", reason="the message has no words")


@pytest.mark.parametrize(
    ("value", "expected"), [(True, True), (False, False), ("true", True), ("False", False), ("0", False), (None, False)]
)
def test_incognito_is_read_from_the_run(value: object, expected: bool) -> None:
    """A server may pass the flag on as text."""
    assert Services(config=CONFIG).is_incognito({"configurable": {"incognito": value}}) is expected


def test_incognito_may_be_the_default() -> None:
    """A run says otherwise with False."""
    config = CONFIG.replace(incognito_default=True)
    assert Services(config=config).is_incognito({})
    assert not Services(config=config).is_incognito({"configurable": {"incognito": False}})


async def test_the_node_writes_the_plan_and_its_reason() -> None:
    """Sync and async alike."""
    node = plan_node(Services(store=InMemoryStore(), scope=Scope("alice")))
    state = {"messages": [HumanMessage("where do I live?")]}
    update = node.invoke(state)
    assert update["memory_plan"].strategy == update["memory_report"]["strategy"] == "memory"
    assert update["memory_report"]["reason"] == update["memory_plan"].reason
    assert (await node.ainvoke(state))["memory_plan"] == update["memory_plan"]
    assert node.invoke(state, {"configurable": {"incognito": True}})["memory_plan"].strategy == "none"
    assert node.invoke({})["memory_plan"].strategy == "none"
