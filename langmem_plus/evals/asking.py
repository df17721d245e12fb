"""One question, asked of one memory: what `search` finds, what `explain` would tell a model, and how that compares with
the evidence.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from langgraph.store.base import SearchItem, SearchOp

from langmem_plus.client import Explanation, MemoryClient
from langmem_plus.evals.building import SCOPE, USER
from langmem_plus.evals.metrics import ndcg_at, recall_at, reciprocal_rank
from langmem_plus.evals.questions import Question, Sample
from langmem_plus.evals.setups import Setup
from langmem_plus.providers.embeddings import find_local
from langmem_plus.providers.rerank import named_chat_model
from langmem_plus.recall import read_item
from langmem_plus.records import TURN_ROLES, MemoryHit, unique

ANSWERED_AT = 5  # a question counts as answered where some of its evidence is among so many hits
TOLD = 10  # hits that an answer names
_PLAIN_POOL = 200  # what the keyword ranking is asked for, so that enough turns are left of it
_NOT_COUNTED = "What was it that I told you about the very first of all these things?"


@dataclass(frozen=True)
class Answer:
    """What one question came to.

    Attributes:
        kind: the question's type.
        probe: why it should get no answer; empty where it has one.
        sample: the name of the memory that was asked; empty where the file names none.
        question: its text.
        evidence: the ids of the messages that hold the answer.
        hits: what the first `TOLD` hits show: ids of messages, else of records.
        measures: each in [0, 1]; those of turns are missing where no turn is evidence.
        newer_first: whether the newer of two versions came before the older; None where neither was found, or there
            is one alone.
        score: the best hit's relevance, 0 without hits.
        found: how many hits a search gives.
        injected: how many memories a model call would get.
        tokens: of the text that it would get.
        milliseconds: by stage; ``recall`` is all of it, ``again`` a search whose query was embedded before.
    """

    kind: str
    probe: str = ""
    sample: str = ""
    question: str = ""
    evidence: list[str] = field(default_factory=list)
    hits: list[str] = field(default_factory=list)
    measures: dict[str, float] = field(default_factory=dict)
    newer_first: bool | None = None
    score: float = 0.0
    found: int = 0
    injected: int = 0
    tokens: int = 0
    milliseconds: dict[str, float] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        """Whether some evidence is among the first `ANSWERED_AT` hits."""
        return self.measures.get("recall@5", 0.0) > 0

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return asdict(self)


def warm_up(client: MemoryClient, setup: Setup) -> None:
    """Ask something that isn't timed, so that models are loaded and the store's index is read before what is; and have
    the questions read anew, which another row may have asked before.

    A chat model that reranks isn't asked: the store alone is.
    """
    if setup.plain or named_chat_model(setup.config.reranker.strip()) is not None:
        _plain(client, setup, _NOT_COUNTED)
    else:
        client.explain(_NOT_COUNTED, user_id=USER)
    local, _ = find_local()  # one a process: it knows its last questions, whoever asked them
    if local is not None:
        local.forget_queries()


def ask(
    client: MemoryClient, setup: Setup, question: Question, probe: str = "", sample: Sample | None = None
) -> Answer:
    """Ask a question as an agent's turn would, and as a search."""
    started = time.perf_counter()
    told = Explanation() if setup.plain else client.explain(question.text, user_id=USER)
    between = time.perf_counter()
    hits = _plain(client, setup, question.text) if setup.plain else _searched(client, setup, question.text)
    ended = time.perf_counter()
    times = {**told.report.milliseconds, "again": (ended - between) * 1000}
    if not setup.plain:
        times["recall"] = (between - started) * 1000
    return Answer(
        kind=question.kind,
        sample=sample.id if sample else "",
        question=question.text,
        evidence=sorted(question.evidence),
        hits=told_ids(hits[:TOLD], question.evidence, sample.sessions if sample else ()),
        probe=probe,
        measures={} if probe else measures(question, hits, sample.sessions if sample else {}),
        newer_first=None if probe else newer_first(question, hits),
        score=max((hit.scores.get("relevance", hit.scores.get("store", 0.0)) for hit in hits), default=0.0),
        found=len(hits),
        injected=told.report.counts.get("injected", 0),
        tokens=told.report.tokens.get("context", 0),
        milliseconds=times,
    )


def _searched(client: MemoryClient, setup: Setup, text: str) -> list[MemoryHit]:
    # As deep as the settings fetch: more would be another candidate set, less would hide how far down the evidence is.
    return client.search(text, user_id=USER, k=setup.config.fetch_k)


def _plain(client: MemoryClient, setup: Setup, text: str) -> list[MemoryHit]:
    """Turns alone, as the store ranks them by words."""
    (items,) = client.store.batch([SearchOp(SCOPE.namespace, query=text, limit=_PLAIN_POOL)])
    hits = []
    for item in (each for each in items if isinstance(each, SearchItem)) if isinstance(items, list) else ():
        record = read_item(item, SCOPE)
        if record is not None and record.role in TURN_ROLES and record.status == "active":
            hits.append(MemoryHit(record=record, scores={"store": item.score or 0.0}))
    return hits[: setup.config.fetch_k]


def measures(
    question: Question, hits: Sequence[MemoryHit], session_of: Mapping[str, str] | None = None
) -> dict[str, float]:
    """How much of the evidence was found, and where; by turns, and by sessions, those of messages by their ids."""
    found: dict[str, float] = {}
    if gold := question.evidence:
        ranking = evidence_ranking(hits, gold)
        found = {
            "recall@1": recall_at(gold, ranking, 1),
            "recall@5": recall_at(gold, ranking, 5),
            "recall@10": recall_at(gold, ranking, 10),
            "ndcg@10": ndcg_at(gold, ranking, 10),
            "mrr": reciprocal_rank(gold, ranking),
        }
    if sessions := question.sessions:
        share = recall_at(sessions, unique(session_ranking(hits, sessions, session_of or {})), 5)
        found |= {"session recall@5": share, "session any@5": float(share > 0), "session all@5": float(share == 1)}
    return found


def evidence_ranking(hits: Sequence[MemoryHit], gold: Collection[str]) -> list[str]:
    """One id a hit, best first: the evidence that it shows for the first time, else its own id.

    A fact counts as the message that it was drawn from.
    """
    ranking: list[str] = []
    for hit in hits:
        shown = [source for source in hit.record.source_ids if source in gold and source not in ranking]
        ranking.append(shown[0] if shown else hit.record.id)
    return ranking


def session_ranking(hits: Sequence[MemoryHit], sessions: Collection[str], session_of: Mapping[str, str]) -> list[str]:
    """One session a hit, best first: of those that are sought the one that it shows for the first time, else its own. A
    fact that was told in several conversations shows each of them.
    """
    ranking: list[str] = []
    for hit in hits:
        told = (session_of[id] for id in hit.record.source_ids if id in session_of)
        shown = next((session for session in told if session in sessions and session not in ranking), None)
        ranking.append(hit.record.thread_id or "" if shown is None else shown)
    return ranking


def told_ids(hits: Sequence[MemoryHit], gold: Collection[str], messages: Collection[str]) -> list[str]:
    """The id of a message that each hit shows: evidence first, and what no hit before it shows; else its own id."""
    found: list[str] = []
    for hit in hits:
        shown = [id for id in hit.record.source_ids if id in messages]
        found.append(min(shown or [hit.record.id], key=lambda id: (id not in gold, id in found)))
    return found


def newer_first(question: Question, hits: Sequence[MemoryHit]) -> bool | None:
    """Whether the newer version came first; None where neither was found, or the question isn't about two."""
    if not question.newer or not question.older:
        return None
    for hit in hits:
        sources = set(hit.record.source_ids)
        if sources & question.newer:
            return True
        if sources & question.older:
            return False
    return None
