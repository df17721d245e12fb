"""Pairs of statements that went through remember with a model that decides rightly: is the newer one found first, and
is the older one gone?

The model is scripted from the file: of each statement it draws out the clause that has most of the question's words,
as one fact, no question if it can be helped; and where it is shown the older fact beside the newer one of a pair, it
says UPDATE; anything else is ADD. What it is shown, and whether it is believed, is up to remember itself: extraction
and reconciliation are the real ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langmem_plus.client import MemoryClient
from langmem_plus.evals.asking import newer_first
from langmem_plus.evals.building import USER, Moment
from langmem_plus.evals.metrics import bootstrap
from langmem_plus.evals.questions import Question, Sample, last_time
from langmem_plus.evals.setups import Setup
from langmem_plus.prompts import fact_label
from langmem_plus.records import MemoryHit
from langmem_plus.remember.sentences import clauses, opens_question, own_words, sentences, strip_lead
from langmem_plus.store import MarkdownStore
from langmem_plus.text import tokens

NAME = "a model that decides rightly"
PROTOCOL = (
    f"through remember, {NAME}: each statement is added with a scripted model, which draws out its clause with most of "
    "the question's words as one fact, one that asks only where no other has any of them, and says UPDATE where it is "
    "shown the older fact of the newer one's pair, else ADD; replaced: the newer fact took the older one's place; "
    "first: of all; older shown: among the first top_k hits"
)
_BEGINNING = 200  # characters that tell statements apart: the end of a long one isn't read
_BETWEEN = re.compile(r"<(turn|new_facts|memories)>\n(.*?)\n</\1>", re.DOTALL)


@dataclass(frozen=True)
class Outcome:
    """What became of one pair.

    Attributes:
        kind: the pair's kind.
        replaced: whether the newer fact took the older one's place.
        first: whether the newer statement was found, and before the older one.
        older_shown: whether a search shows the older statement.
    """

    kind: str
    replaced: bool
    first: bool
    older_shown: bool


@dataclass
class Answers:
    """What the model knows: the facts of each statement, and which fact replaces which.

    Args:
        sample: the statements, and the questions that name the older and the newer ones.
        offered: how often it was shown an older fact beside the newer one.
    """

    sample: Sample
    offered: int = 0
    _facts: dict[str, list[str]] = field(default_factory=dict)
    _older: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        texts = {str(each["id"]): each["content"] for thread in self.sample.threads for each in thread.messages}
        for question in self.sample.questions:
            drawn = {id: fact_of(texts[id], question.text) for id in question.older | question.newer}
            for id, fact in drawn.items():
                known = self._facts.setdefault(_key(own_words(texts[id])), [])
                known += [fact] if fact not in known else []
            for id in question.newer:
                self._older.setdefault(drawn[id], set()).update(drawn[old] for old in question.older - question.newer)

    def facts(self, turn: str) -> dict[str, Any]:
        """The answer to a request for the facts in a turn."""
        return {"facts": [{"text": text} for text in self._facts.get(_key(turn), ())]}

    def changes(self, facts: Sequence[str], memories: Sequence[str]) -> dict[str, Any]:
        """The answer to a request for what happens to new facts."""
        changes: list[dict[str, Any]] = []
        taken: set[int] = set()
        for line in facts:
            label, _, text = line.partition(": ")
            older = self._older.get(text, set()) - {text}
            numbers = (n for n, memory in enumerate(memories) if memory.partition(": ")[2] in older and n not in taken)
            number = next(numbers, None)
            changes.append({"event": "ADD" if number is None else "UPDATE", "fact": label, "id": number})
            if number is not None:
                taken.add(number)
        self.offered += len(taken)
        return {"changes": changes}

    def placed(self, turns: Sequence[str], memories: Sequence[str]) -> dict[str, Any]:
        """The answer to a request for everything at once."""
        facts = [
            {"turn": fact_label(place), **fact}
            for place, turn in enumerate(turns)
            for fact in self.facts(turn)["facts"]
        ]
        lines = [f"{fact_label(place)}: {fact['text']}" for place, fact in enumerate(facts)]
        changes = self.changes(lines, memories)["changes"]
        events = [{"event": change["event"], "id": change["id"]} for change in changes]
        return {"facts": [{**fact, **event} for fact, event in zip(facts, events, strict=True)]}

    def answer(self, asked: str) -> dict[str, Any]:
        """The answer to any request."""
        found: list[tuple[str, str]] = _BETWEEN.findall(asked)
        blocks, turns = dict(found), [text for tag, text in found if tag == "turn"]
        if "memories" in blocks and turns:
            return self.placed(turns, blocks["memories"].split("\n"))
        if turns:
            return self.facts(turns[0])
        if "new_facts" in blocks:
            return self.changes(blocks["new_facts"].split("\n"), blocks["memories"].split("\n"))
        return {"points": []}


class RightModel(BaseChatModel):
    """A chat model that answers as it is told, in JSON."""

    answer: Callable[[str], Mapping[str, Any]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        said = json.dumps(self.answer(messages[-1].text), ensure_ascii=False)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


def fact_of(text: str, question: str) -> str:
    """The clause of a statement that has most of the question's words; of several, the first. What asks something is no
    fact: such a clause is it only where no other one has any of the words.
    """
    wanted = set(tokens(question))
    pieces = [piece for sentence in sentences(text) for piece in clauses(sentence)] or [text]

    def fits(piece: str) -> tuple[bool, int]:
        shared = len(wanted.intersection(tokens(piece)))
        return shared > 0 and not opens_question(strip_lead(piece)), shared

    return " ".join(max(pieces, key=fits).split())


def _key(text: str) -> str:
    return "".join(text.split())[:_BEGINNING]


def outcomes(sample: Sample, setup: Setup, root: Path, step: Callable[[int], None]) -> tuple[list[Outcome], int]:
    """What became of each pair of a sample, and how often the model was shown both facts of one.

    Args:
        sample: the pairs.
        setup: the settings that they are written and asked with.
        root: a folder for the store.
        step: called with the number of messages added and questions asked.
    """
    answers, moment, found = Answers(sample), Moment(), list[Outcome]()
    model = RightModel(answer=answers.answer)
    with (
        MarkdownStore(root, config=setup.config, clock=moment) as store,
        MemoryClient(store, model=model, config=setup.config, clock=moment) as client,
    ):
        for thread in sample.threads:
            moment.now = last_time([thread])
            messages: list[Any] = list(thread.messages)
            client.add(messages, user_id=USER, thread_id=thread.thread_id)
            step(len(messages))
        facts = client.list(user_id=USER, role="memory")
        replacing = {source for fact in facts if fact.replaces for source in fact.source_ids}
        for question in sample.questions:
            moment.now = question.asked_at
            hits = client.search(question.text, user_id=USER, k=setup.config.fetch_k)
            found.append(_outcome(question, hits, replacing, setup.config.top_k))
            step(1)
    return found, answers.offered


def _outcome(question: Question, hits: Sequence[MemoryHit], replacing: set[str], shown: int) -> Outcome:
    return Outcome(
        kind=question.kind,
        replaced=bool(question.newer & replacing),
        first=newer_first(question, hits) is True,
        older_shown=any(question.older & set(hit.record.source_ids) for hit in hits[:shown]),
    )


def measured(sample: Sample, setup: Setup, root: Path, step: Callable[[int], None]) -> dict[str, Any]:
    """What became of the pairs, as plain JSON: shares with their intervals, by kind and over all."""
    found, offered = outcomes(sample, setup, root, step)
    kinds = {kind: [each for each in found if each.kind == kind] for kind in sorted({each.kind for each in found})}
    return {
        "name": NAME,
        "offered": offered,
        "by_kind": {kind: _shares(those) for kind, those in {**kinds, "all": found}.items()},
    }


def _shares(found: Sequence[Outcome]) -> dict[str, Any]:
    replaced = [each for each in found if each.replaced]
    return {
        "replaced": bootstrap([float(each.replaced) for each in found]).to_json(),
        "first": bootstrap([float(each.first) for each in found]).to_json(),
        "first_where_replaced": bootstrap([float(each.first) for each in replaced]).to_json(),
        "older_shown": bootstrap([float(each.older_shown) for each in found]).to_json(),
        "older_shown_where_replaced": bootstrap([float(each.older_shown) for each in replaced]).to_json(),
    }
