"""What remembering costs: model calls and prompt tokens of the same twenty turns, asked apart and asked in one.

The turns are recorded and go through the remember graph. Its questions go over the wire to a server on the loopback
interface, which answers as a model would that makes no mistakes. Every text of a request is counted, and beside it the
schema that the answer has to fit, which providers count as prompt tokens, too.
"""

from __future__ import annotations

import json
import re
import tempfile
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from langmem_plus.config import MemoryConfig
from langmem_plus.graph import create_remember_graph, make_services
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.remember.record import record
from langmem_plus.store import MarkdownStore
from langmem_plus.testing import LoopbackServer
from langmem_plus.tokens import TokenCounter, counter

FILE = "data/turns.toml"
CALLS, TOKENS = 1.0, 1000  # what a turn may cost on average
APART, TOGETHER, WAITING = "asked apart", "combine", "combine, by fours"
STAGES = {
    "ExtractedFacts": "extract",
    "Changes": "reconcile",
    "Summary": "summarize",
    "PlacedFacts": "combine",
    "FactsAndSummary": "combine",
}
_SCOPE = Scope("nora", thread_id="t1")
_TURN = re.compile(r"(?:^(\w+)[^\n]*:\n)?<turn>\n(.*?)\n</turn>", re.DOTALL | re.MULTILINE)
_NUMBERED = re.compile(r"^(\w+): (.*)$", re.MULTILINE)
_POINT = re.compile(r"^- (.*)$", re.MULTILINE)
_SPOKEN = re.compile(r"^user: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Turn:
    """What is said and answered, and the facts in it, each with its kind and with what it replaces."""

    user: str
    assistant: str
    facts: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True)
class Stage:
    """The calls of one stage: how many, and what they cost in all.

    Attributes:
        calls: model calls.
        prompt: tokens of the messages' texts.
        schema: tokens of the schemas.
        characters: characters of the messages' texts.
    """

    calls: int = 0
    prompt: int = 0
    schema: int = 0
    characters: int = 0

    def __add__(self, other: Stage) -> Stage:
        return Stage(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))


@dataclass(frozen=True)
class Cost:
    """What a way of asking costs.

    Attributes:
        way: how it is asked.
        turns: how many turns there were.
        stages: the cost by stage.
        known: the facts that are known in the end, out of those that should be.
        expected: how many should be.
        wrong: facts that are known and shouldn't be.
        points: the points of the summary.
    """

    way: str
    turns: int
    stages: dict[str, Stage]
    known: int
    expected: int
    wrong: int
    points: int

    @property
    def total(self) -> Stage:
        """All stages together."""
        return sum(self.stages.values(), Stage())

    @property
    def reached(self) -> bool:
        """Whether a turn costs no more than it may, schemas counted."""
        total = self.total
        return total.calls <= CALLS * self.turns and total.prompt + total.schema <= TOKENS * self.turns

    def to_json(self) -> dict[str, Any]:
        """Everything as plain JSON."""
        return {**asdict(self), "total": asdict(self.total), "reached": self.reached}


def read_turns() -> list[Turn]:
    """The scripted turns."""
    data = tomllib.loads(files("langmem_plus.evals").joinpath(FILE).read_text(encoding="utf-8"))
    return [Turn(each["user"], each["assistant"], tuple(each.get("facts", ()))) for each in data["turns"]]


class Understanding:
    """Answers the questions of remembering without a mistake, for turns that are known.

    Args:
        turns: the turns.
    """

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._facts = {turn.user: turn.facts for turn in turns}
        self._replaces = {
            fact["text"]: fact["replaces"] for turn in turns for fact in turn.facts if fact.get("replaces")
        }

    def __call__(self, body: Mapping[str, Any]) -> Any:
        """The answer to a chat request."""
        asked = str(body["messages"][-1]["content"])
        schema = _schema(body).get("name")
        if schema == "ExtractedFacts":
            return {"facts": [self._fact(fact) for _, text in _TURN.findall(asked) for fact in self._facts[text]]}
        if schema == "Changes":
            known = self._memories(asked)
            new = _NUMBERED.findall(_part(asked, "new_facts"))
            return {"changes": [{"fact": label, **self._change(text, known)} for label, text in new]}
        if schema == "Summary":
            return {"points": self._points(asked, "turns")}
        answer: dict[str, Any] = {"facts": self._placed(asked)}
        if schema == "FactsAndSummary":
            answer["summary"] = self._points(asked, "conversation")
        return answer

    def _placed(self, asked: str) -> list[dict[str, Any]]:
        known = self._memories(asked)
        return [
            {"turn": label, **self._fact(fact), **self._change(fact["text"], known)}
            for label, text in _TURN.findall(asked)
            for fact in self._facts[text]
        ]

    def _fact(self, fact: Mapping[str, str]) -> dict[str, Any]:
        return {"text": fact["text"], "kind": fact.get("kind", "fact"), "tags": [], "confidence": 0.9}

    def _memories(self, asked: str) -> dict[str, int]:
        return {text: int(number) for number, text in _NUMBERED.findall(_part(asked, "memories"))}

    def _change(self, text: str, known: Mapping[str, int]) -> dict[str, Any]:
        if text in known:
            return {"event": "NONE", "id": known[text]}
        replaced = known.get(self._replaces.get(text, ""))
        return {"event": "ADD", "id": None} if replaced is None else {"event": "UPDATE", "id": replaced}

    def _points(self, asked: str, lines: str) -> list[dict[str, str]]:
        """The points so far and the facts in the new lines, without what these replace: the newest."""
        points = _POINT.findall(_part(asked, "summary"))
        for text in _SPOKEN.findall(_part(asked, lines)):
            for fact in self._facts.get(text, ()):
                points = [point for point in points if point not in (fact["text"], fact.get("replaces"))]
                points.append(fact["text"])
        return [{"text": point, "kind": "fact"} for point in points[-7:]]


def _part(text: str, tag: str) -> str:
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", text, re.DOTALL)
    return found[1] if found else ""


def _schema(body: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the answer that a request asks for, with its name."""
    found: dict[str, Any] = (body.get("response_format") or {}).get("json_schema") or {}
    return found


def price(bodies: Sequence[Mapping[str, Any]], tokens: TokenCounter) -> dict[str, Stage]:
    """What the requests cost, by stage."""
    found: dict[str, Stage] = {}
    for body in bodies:
        schema = _schema(body)
        texts = [str(message["content"]) for message in body["messages"]]
        stage = STAGES[schema["name"]]
        cost = Stage(
            calls=1,
            prompt=sum(tokens.count(text) for text in texts),
            schema=tokens.count(json.dumps(schema.get("schema", {}), ensure_ascii=False, separators=(",", ":"))),
            characters=sum(map(len, texts)),
        )
        found[stage] = found.get(stage, Stage()) + cost
    return found


def measure(way: str, turns: Sequence[Turn], folder: Path, **settings: Any) -> Cost:
    """Say the turns, one thread, and count what was asked for each.

    Args:
        way: how it is asked: `APART`, `TOGETHER`, or `WAITING` (four turns wait each time for whoever remembers).
        turns: what is said.
        folder: where the memory is kept.
        settings: further settings.
    """
    with LoopbackServer(then=Understanding(turns)) as server:
        config = MemoryConfig(
            memory_path=folder,
            model="openai:scripted",
            base_url=server.base_url,
            background=False,
            combine=way != APART,
            **settings,
        )
        with MarkdownStore(folder, config=config) as store:
            _say(turns, store, config, together=4 if way == WAITING else 1)
            found = {role: _stored(store, role) for role in ("memory", "summary")}
        chats = server.chats
    known = Counter(record.text for record in found["memory"])
    wanted = expected(turns)
    return Cost(
        way=way,
        turns=len(turns),
        stages=price(chats, counter(config)),
        known=sum(known[text] > 0 for text in wanted),
        expected=len(wanted),
        wrong=sum((known - Counter(wanted)).values()),
        points=sum(len(record.text.splitlines()) for record in found["summary"]),
    )


def _stored(store: MarkdownStore, role: str) -> list[MemoryRecord]:
    items = store.search(_SCOPE.namespace, filter={"role": role, "status": "active"}, limit=100)
    return [MemoryRecord.model_validate(item.value) for item in items]


def expected(turns: Sequence[Turn]) -> set[str]:
    """The facts that should be known in the end."""
    facts = [fact for turn in turns for fact in turn.facts]
    return {fact["text"] for fact in facts} - {fact.get("replaces", "") for fact in facts}


def _say(turns: Sequence[Turn], store: MarkdownStore, config: MemoryConfig, *, together: int) -> None:
    """Say everything; facts are drawn out after every so many turns, and until then the turns wait."""
    services = make_services(store=store, config=config, scope=_SCOPE)
    graph = create_remember_graph(store=store, config=config, scope=_SCOPE)
    for number, turn in enumerate(turns, 1):
        record(services, _SCOPE, [HumanMessage(turn.user)], "user", number)
        record(services, _SCOPE, [AIMessage(turn.assistant)], "assistant", number, 1)
        if number % together == 0 or number == len(turns):
            graph.invoke({})


def compare(**settings: Any) -> list[Cost]:
    """Each way of asking, over the same turns and each in a new memory."""
    turns = read_turns()
    found = []
    for way in (APART, TOGETHER, WAITING):
        with tempfile.TemporaryDirectory(prefix="langmem-plus-bench-") as name:
            found.append(measure(way, turns, Path(name), **settings))
    return found
