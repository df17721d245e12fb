"""Talking to an agent that remembers: the demo and the interactive chat, through the real memory graph."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from langmem_plus.cli.output import console, record_table, report_lines
from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.errors import LangMemPlusError, ModelCallError
from langmem_plus.graph import create_memory_graph
from langmem_plus.providers import QuotingChatModel, make_chat_model
from langmem_plus.records import MemoryReport
from langmem_plus.remember.statements import forget_requests

HELP = "/why shows what was recalled and why (/why all: everything), /memories all facts, /quit ends."
FORGET_BY_HAND = (
    "Nothing was forgotten: say what to forget as it was said (“forget that I live in Lyon”), or name it by its id: "
    "/memories, then `langmem-plus forget ID`."
)
_SHOWN = 1000  # facts that are compared, to show what a message changed
DEMO_USER = "sam"
DEMO: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "monday",
        (
            "Hi! My name is Sam and I live in Lyon.",
            "My wife is Anne, and I'm allergic to peanuts.",
            "Please remember that I prefer short answers.",
        ),
    ),
    (
        "friday",
        (
            "What is my wife called?",
            "Good news: I live in Grenoble now.",
            "Which city do I live in?",
            "Can I eat a peanut cookie?",
        ),
    ),
)


@dataclass
class Conversation:
    """One thread with an agent over a memory graph.

    Args:
        client: the memory; its store is the graph's.
        config: the settings; the agent's model is theirs, or one that quotes memory.
        user_id, space, thread_id: whose memory, and which conversation.
    """

    client: MemoryClient
    config: MemoryConfig
    user_id: str
    space: str
    thread_id: str
    model: BaseChatModel = field(init=False)

    def __post_init__(self) -> None:
        self.model = make_chat_model(self.config.model, self.config) or QuotingChatModel()
        self._graph = create_memory_graph(
            self.model,
            store=self.client.store,
            model=self.config.model,
            config=self.config,
            checkpointer=InMemorySaver(),
        )

    @property
    def quotes_only(self) -> bool:
        """Whether the agent is the one that quotes memory and is no language model."""
        return isinstance(self.model, QuotingChatModel)

    def say(self, text: str) -> MemoryReport:
        """Send a message, print the reply as it comes, and return the report of its recall and of what followed."""
        run: RunnableConfig = {
            "configurable": {"thread_id": self.thread_id, "user_id": self.user_id, "space": self.space}
        }
        report = MemoryReport()
        console.print(Text("agent  ", style="bold magenta"), end="")
        stream = self._graph.stream({"messages": [HumanMessage(text)]}, run, stream_mode=["messages", "custom"])
        try:
            for mode, data in stream:
                if mode == "messages" and isinstance(data, tuple) and isinstance(data[0], AIMessageChunk):
                    console.print(data[0].text, end="")
                elif mode == "custom" and isinstance(data, dict) and "memory" in data:
                    report = report.merge(MemoryReport.model_validate(data["memory"]))
        except LangMemPlusError:
            raise
        except Exception as error:
            raise ModelCallError(
                f"the model {self.config.model} gave no answer ({type(error).__name__}: {error}). What you said is "
                "stored. Check the model's name, key and address with `langmem-plus doctor`."
            ) from error
        console.print()
        return report


def demo(path: Path, config: MemoryConfig) -> None:
    """Two threads with one user: the first teaches, the second is answered from memory."""
    with MemoryClient(path, config=config) as client:
        space = _free_space(client)
        for number, (thread, messages) in enumerate(DEMO):
            talk = Conversation(client, config, DEMO_USER, space, thread)
            if number == 0:
                _introduce(talk, path)
            console.print(Rule(f"thread {thread!r}", align="left", style="bold"))
            known = _facts(client, space)
            for message in messages:
                console.print(Text.assemble(("you    ", "bold cyan"), message))
                for line in report_lines(talk.say(message), brief=True):
                    console.print(Padding(line, (0, 0, 0, 7)))
                client.flush()
                known = _show_changes(known, _facts(client, space))
        records = client.list(user_id=DEMO_USER, space=space, role="memory")
        console.print(Rule("what is known now", align="left", style="bold"))
        console.print(record_table(records))
        if records:
            file = client.path_of(records[0])
            console.print(f"\nEach memory is a file, e.g. {file}", soft_wrap=True)
            console.print(
                "Edit it in any editor, then ask:\n"
                f'  langmem-plus search "where do I live?" --user {DEMO_USER} --space {space} --path {path}\n'
                f"  langmem-plus chat --user {DEMO_USER} --space {space} --path {path}",
                soft_wrap=True,
            )


def chat(path: Path, config: MemoryConfig, user: str, space: str, thread: str) -> None:
    """An interactive conversation; it ends with /quit or the end of the input."""
    with MemoryClient(path, config=config) as client:
        talk = Conversation(client, config, user, space, thread)
        _introduce(talk, path)
        report, known = MemoryReport(), _facts(client, space, user)
        while (message := _read()) is not None:
            if message in ("/why", "/why all"):
                for line in report_lines(report, everything=message.endswith("all")):
                    console.print(line)
            elif message == "/memories":
                console.print(record_table(client.list(user_id=user, space=space, role="memory")))
            elif message.startswith("/"):
                console.print(f"There is no {message.split()[0]}. {HELP}", style="dim")
            elif message:
                report = talk.say(message)
                if config.model is None or not console.is_interactive:
                    client.flush()  # rules take no time, and who pipes lines in doesn't wait between them
                before, known = known, _facts(client, space, user)
                _show_changes(before, known)
                if forget_requests(message) and before.keys() <= known.keys():
                    console.print(Padding(Text(FORGET_BY_HAND, style="dim"), (0, 0, 0, 7)))


def _read() -> str | None:
    try:
        line = console.input(Text("you    ", style="bold cyan")).strip()
        if not sys.stdin.isatty():  # nothing shows what a program typed
            console.print(line)
    except (EOFError, KeyboardInterrupt):
        console.print()
        return None
    return None if line in ("/quit", "/exit") else line


def _introduce(talk: Conversation, path: Path) -> None:
    if talk.quotes_only:
        console.print(
            "No chat model is set, so the agent only quotes what it remembers. For a real one: --model, or "
            "LANGMEM_PLUS_MODEL=provider:model.",
            style="dim",
        )
    console.print(f"Memory of {talk.user_id!r}, space {talk.space!r}, in {path}", style="dim")


def _free_space(client: MemoryClient) -> str:
    """A space that nothing was said in yet, so that the demo shows the same when it is run again."""
    names = itertools.chain(["demo"], (f"demo-{number}" for number in itertools.count(2)))
    return next(name for name in names if not client.list(user_id=DEMO_USER, space=name, limit=1))


def _facts(client: MemoryClient, space: str, user: str = DEMO_USER) -> dict[str, str]:
    records = client.list(user_id=user, space=space, role="memory", limit=_SHOWN)
    return {record.id: record.text for record in records}


def _show_changes(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    changes: Sequence[tuple[str, str, str]] = (
        *(("remembered", "green", text) for key, text in after.items() if key not in before),
        *(("retired", "yellow", text) for key, text in before.items() if key not in after),
    )
    for what, style, text in changes:
        console.print(Padding(Text.assemble((f"{what:<11}", style), text), (0, 0, 0, 7)))
    return after
