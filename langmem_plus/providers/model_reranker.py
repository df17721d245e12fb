"""A chat model as reranker: it scores numbered passages by a rubric, some at a time.

What it may cost is bounded: candidates (``rerank_batch``), tokens of a passage and of a call, rounds, and seconds
(``rerank_seconds``). What it answers is read tolerantly. Where it gives no answer, it raises, and whoever asked takes
the built-in scoring; where that happens again and again, it isn't asked for a while. What it said of a passage is
remembered, so that the same question isn't paid for twice.

It is sync only: async recalls run it in a thread, because SDKs bind their async clients to the loop that used them
first, and their sync ones work from any thread.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from functools import partial

from langchain_core.language_models import BaseChatModel

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ModelAnswerError, ModelRestingError, ModelTimeoutError
from langmem_plus.fence import escape, fold
from langmem_plus.prompts import Ratings, render_reranking
from langmem_plus.providers.breaker import Breaker
from langmem_plus.providers.chat import structured
from langmem_plus.providers.forks import renewed_in_children
from langmem_plus.providers.recent import Recent
from langmem_plus.providers.spending import spend
from langmem_plus.providers.threads import all_within
from langmem_plus.tokens import TokenCounter, counter

TOP = 10  # the best rating of the prompt's rubric
# A passage is cut for the model: what answers a question mostly takes a sentence or two.
PASSAGE_TOKENS = 200
QUESTION_TOKENS = 400
# What one call holds: few enough that a small model keeps them apart, and fits them into 4,096 tokens with the rest.
CALL_PASSAGES = 20
CALL_TOKENS = 2_000
CALLS_AT_ONCE = 4
# Passages that an answer leaves out are asked about once more.
ROUNDS = 2
# Failures in a row after which the model rests, and the seconds of its first rest.
FAILURES = 2
REST_SECONDS = 30.0
REMEMBERED = 4096  # ratings
# Equal ratings keep the order that the passages came in, within so much of a step between two ratings.
TIE_SHARE = 0.5


class ModelReranker:
    """Scores texts against a question with a chat model, in [0, 1]: its rating from 0 (nothing to do with the question)
    to 10 (answers it) over 10. Of equal ratings, the text that came first is a little better.

    Blank texts score 0 and are never read. Texts after the first ``rerank_batch`` aren't read either: give the
    likeliest first. A text that the model gives no score, asked twice, scores 0 as well: models leave out what doesn't
    help, and a made-up middle would let nonsense through. If none gets a score, that is no answer, and an error.
    Calls from several threads at a time are fine.

    Args:
        model: any chat model; it is asked as it is, with its own temperature and limits.
        config: the bounds.
    """

    refuses = True  # a score of 0 says that a text has nothing to do with the question, so it isn't recalled

    def __init__(self, model: BaseChatModel, config: MemoryConfig | None = None) -> None:
        settings = config or MemoryConfig()
        self.model = model
        self.limit = settings.rerank_batch
        self.seconds = settings.rerank_seconds
        self.breaker = Breaker(FAILURES, REST_SECONDS)
        renewed_in_children(self.breaker)
        self._settings = settings
        self._known: Recent[bytes, float] = Recent(REMEMBERED)

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        """The relevance of each text to the query, in [0, 1]. Without a query all are relevant: nothing tells them
        apart.

        Raises:
            ModelRestingError: it failed again and again, and isn't asked now.
            ModelTimeoutError: it took longer than ``rerank_seconds``.
            ModelAnswerError: its answer can't be read.
            Exception: what the provider raises when the connection, the key or the server fails.
        """
        question = self._prepared(query, QUESTION_TOKENS)
        passages = [self._prepared(text, PASSAGE_TOKENS) for text in texts[: self.limit]]
        if not question:
            return [float(bool(passage)) for passage in passages] + [0.0] * (len(texts) - len(passages))
        ratings = self._ratings(question, list(dict.fromkeys(filter(None, passages))))
        scores = [0.0] * len(texts)
        for place, passage in enumerate(passages):
            if rating := ratings.get(passage, 0.0):
                scores[place] = max(rating - TIE_SHARE * place / len(passages), 0.0) / TOP
        return scores

    @property
    def _counter(self) -> TokenCounter:
        return counter(self._settings)  # loaded at the first use, not where a graph is built

    def _prepared(self, text: str, limit: int) -> str:
        """The text as it is shown: on one line, cut, and unable to leave its fence."""
        return escape(self._counter.clip(fold(text), limit), "question", "passages").strip()

    def _ratings(self, question: str, passages: Sequence[str]) -> dict[str, float]:
        """The rating of each passage, as far as the model gives one: what is known, and what is asked for."""
        keys = {passage: _key(question, passage) for passage in passages}
        known = {passage: rating for passage, key in keys.items() if (rating := self._known.get(key)) is not None}
        missing = [passage for passage in passages if passage not in known]
        if missing:
            found = self._ask(question, missing)
            for passage in missing:
                self._known.put(keys[passage], found.get(passage, 0.0))
            known |= found
        return known

    def _ask(self, question: str, passages: Sequence[str]) -> dict[str, float]:
        """The model's ratings; a failure counts towards its rest."""
        if not self.breaker.allows():
            raise ModelRestingError(
                f"the reranking model failed lately; it is asked again in {self.breaker.resting():.0f} s."
            )
        began = time.monotonic()
        try:
            found = self._ask_in_rounds(question, passages, began + self.seconds)
        except ModelAnswerError:
            self.breaker.failed(0.0)  # it did answer: how long that took tells of no outage
            raise
        except Exception:
            self.breaker.failed(time.monotonic() - began)
            raise
        self.breaker.succeeded()
        return found

    def _ask_in_rounds(self, question: str, passages: Sequence[str], deadline: float) -> dict[str, float]:
        found: dict[str, float] = {}
        missing = list(passages)
        for _ in range(ROUNDS):
            batches = self._batches(missing)
            calls = [partial(self._ask_once, question, batch) for batch in batches]
            try:
                answers = all_within(max(deadline - time.monotonic(), 0.0), calls, CALLS_AT_ONCE)
            except TimeoutError as error:
                if time.monotonic() < deadline:  # the provider's own
                    raise
                raise ModelTimeoutError(self.seconds, "rerank_seconds") from error
            for batch, ratings in zip(batches, answers, strict=True):
                found |= {batch[number]: rating for number, rating in ratings.items()}
            missing = [passage for passage in missing if passage not in found]
            if not missing:
                break
        if not found:
            raise ModelAnswerError(f"the model scored none of {len(passages)} passages, though it was asked twice.")
        return found

    def _batches(self, passages: Sequence[str]) -> list[list[str]]:
        """The passages in calls of at most `CALL_PASSAGES` and `CALL_TOKENS`."""
        batches: list[list[str]] = []
        room = 0
        for passage in passages:
            size = self._counter.count(passage)
            if not batches or len(batches[-1]) == CALL_PASSAGES or size > room:
                batches.append([])
                room = CALL_TOKENS
            batches[-1].append(passage)
            room -= size
        return batches

    def _ask_once(self, question: str, passages: Sequence[str]) -> Mapping[int, float]:
        messages = render_reranking(question, passages)
        spend("rerank_calls")
        spend("rerank_tokens", self._counter.count_messages(messages))
        return read_ratings(structured(self.model, messages, Ratings), len(passages))


def read_ratings(answer: Ratings, count: int) -> dict[int, float]:
    """The rating of each passage by its number, as far as it has a single one: of unknown numbers nothing is known, and
    what is rated twice, differently, isn't rated. Shares (0.9 for a 9) are what some models give for any scale.

    >>> read_ratings(Ratings.model_validate({"scores": [{"id": 0, "score": 7}, {"id": 9, "score": 10}]}), 2)
    {0: 7.0}
    """
    said: dict[int, set[float]] = {}
    for rating in answer.scores:
        if 0 <= rating.id < count:
            said.setdefault(rating.id, set()).add(rating.score)
    found = {number: scores.pop() for number, scores in said.items() if len(scores) == 1}
    are_shares = all(score <= 1 for score in found.values()) and any(0 < score < 1 for score in found.values())
    return {number: score * TOP for number, score in found.items()} if are_shares else found


def _key(question: str, passage: str) -> bytes:
    # Only a hash is kept: what is erased from memory stays nowhere here.
    return hashlib.blake2b(f"{len(question)}:{question}{passage}".encode(), digest_size=16).digest()
