"""Vectors for a store: unit length, checked, each query embedded once; an embedder that fails is not an error.

The value comes first: what has no vector is stored and found by its words, and waits. One text that the embedder
refuses takes no other with it (`Refused`), and an embedder that is down is left alone for a while (`Breaker`).
"""

from __future__ import annotations

import collections
import logging
import threading
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from langchain_core.embeddings import Embeddings

from langmem_plus.errors import EmbeddingError
from langmem_plus.providers import TokenEncoder
from langmem_plus.providers.breaker import SLOW_SECONDS, Breaker
from langmem_plus.store.faults import as_failure, is_outage, is_refusal
from langmem_plus.store.refused import Refused
from langmem_plus.store.search import Floats

logger = logging.getLogger(__name__)

_REMEMBERED_QUERIES = 256

Place = tuple[tuple[str, ...], str]
"""An item's namespace and key."""
T = TypeVar("T")


@dataclass(frozen=True)
class Needs:
    """What a batch wants embedded.

    Attributes:
        texts: what is being written.
        backlog: what has waited.
        queries: the questions.
        places: an item for each text, to name it by.
    """

    texts: Sequence[str] = ()
    backlog: Sequence[str] = ()
    queries: Sequence[str] = ()
    places: Mapping[str, Place] = field(default_factory=dict)


@dataclass(frozen=True)
class Vectors:
    """What came back; what is missing goes by words."""

    texts: Mapping[str, Floats] = field(default_factory=dict)
    queries: Mapping[str, Floats] = field(default_factory=dict)


@dataclass(frozen=True)
class _Call:
    """A question to the embedder: texts of items, or one query."""

    texts: list[str]
    is_query: bool = False


_Steps = Generator[_Call, Any, T]


class _DownError(Exception):
    """The embedder is down, or is left alone because it was."""


class _RefusedError(Exception):
    """The embedder gave no vector for each text.

    Attributes:
        sure: whether that is because of the texts; else nobody can tell.
    """

    def __init__(self, reason: str, *, sure: bool) -> None:
        super().__init__(reason)
        self.sure = sure


class TextEmbedder:
    """An embedder as a store uses it.

    Args:
        embeddings: the embedder.
        model: what tells its vectors from another embedder's.
        dims: the size that its vectors must have; None takes what comes.
        strict: wrong vectors for what is being written are an error.
        failures: calls that fail in a row before the embedder is left alone; a slow failure is enough by itself.
        pause: seconds that it, or a text that it refuses, is left alone at first.
        defers: whether the texts of a write are left to the background now.
        encoder: makes token bits of the texts; None where none are kept.

    Attributes:
        size: the size of its vectors, None until it is known.
        breaker: whether it is left alone now.
        refused: the texts for which it gave no vector.
    """

    def __init__(
        self,
        embeddings: Embeddings,
        model: str,
        dims: int | None,
        *,
        strict: bool = False,
        failures: int = 3,
        pause: float = 30.0,
        defers: Callable[[], bool] = bool,
        encoder: TokenEncoder | None = None,
    ) -> None:
        self._defers, self.encoder = defers, encoder
        self._embeddings, self.model, self._dims, self._strict = embeddings, model, dims, strict
        self.breaker, self.refused, self._refused_queries = Breaker(failures, pause), Refused(pause), Refused(pause)
        self.size, self._doubted = dims, 0
        self._queries: collections.OrderedDict[str, Floats] = collections.OrderedDict()
        self._lock = threading.Lock()
        self._told = False

    def forked(self) -> None:
        """In a forked child: a thread of the parent may have held the lock."""
        self._lock = threading.Lock()
        for part in (self.breaker, self.refused, self._refused_queries):
            part.forked()

    def fulfil(self, needs: Needs) -> Vectors:
        """Embed what a batch needs; for what can't be embedded now, nothing comes back.

        Raises:
            EmbeddingError: the wrong number or size of vectors came back for the texts of a write, to a strict one.
        """
        steps = self._fulfil(needs)
        try:
            call = next(steps)
            while True:
                try:
                    answer = self._embeddings.embed_query(*call.texts) if call.is_query else self._embed(call.texts)
                except BaseException as error:  # noqa: BLE001 - whatever it raises, the steps tell what it means
                    call = steps.throw(as_failure(error))
                else:
                    call = steps.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    async def afulfil(self, needs: Needs) -> Vectors:
        """As `fulfil`."""
        steps = self._fulfil(needs)
        try:
            call = next(steps)
            while True:
                try:
                    if call.is_query:
                        answer: Any = await self._embeddings.aembed_query(*call.texts)
                    else:
                        answer = list(await self._embeddings.aembed_documents(call.texts))
                except BaseException as error:  # noqa: BLE001 - as above
                    call = steps.throw(as_failure(error))
                else:
                    call = steps.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    def _embed(self, texts: list[str]) -> Any:
        return list(self._embeddings.embed_documents(texts))

    # what to ask, in order; asking is for the two above

    def _fulfil(self, needs: Needs) -> _Steps[Vectors]:
        queries = self._known(needs.queries)
        texts: dict[str, Floats] = {}
        try:
            if not self._defers():
                yield from self._documents(needs.texts, needs.places, texts, strict=self._strict)
            for text in needs.queries:
                if text not in queries:
                    yield from self._query(text, queries)
            # What waits is tried when the rest shows that the embedder is up.
            yield from self._documents(needs.backlog, needs.places, texts)
        except _DownError:  # it was told, and what is missing waits; nothing more is asked of it now
            return Vectors(texts, queries)
        return Vectors(texts, queries)

    def _ask(self, call: _Call) -> _Steps[Any]:
        """One call.

        Raises:
            _DownError: it wasn't let through, or it failed for reasons of the embedder's own.
            _RefusedError: it failed because of its texts, as far as anybody can tell.
        """
        if not self.breaker.allows():
            raise _DownError
        began = time.monotonic()
        try:
            return (yield _Call(list(map(_sendable, call.texts)), call.is_query))
        except Exception as error:
            took, reason, sure = time.monotonic() - began, f"{type(error).__name__}: {error}", is_refusal(error)
            if is_outage(error) or (took >= SLOW_SECONDS and not sure):
                self._down(reason, took)
                raise _DownError from error
            raise _RefusedError(reason, sure=sure) from error

    def _documents(
        self, texts: Sequence[str], places: Mapping[str, Place], found: dict[str, Floats], *, strict: bool = False
    ) -> _Steps[None]:
        """Embed texts in one call. Where it fails because of some of them, its halves are tried, and theirs, so that
        the others have their vectors; with so many failures before anything works, the embedder itself is taken to be
        down.
        """
        todo, refused, doubtful = [list(texts)] if texts else [], dict[str, str](), dict[str, str]()
        patience, left, works, reason = 2 * len(texts).bit_length(), 6 * len(texts).bit_length(), False, ""
        try:
            while todo and left and (works or patience):
                part, left = todo.pop(), left - 1
                try:
                    answer = self._counted(part, (yield from self._ask(_Call(part))))
                except _RefusedError as error:
                    if strict and isinstance(error.__cause__, EmbeddingError):
                        raise error.__cause__ from None
                    reason, patience = str(error), patience - 1
                    if len(part) == 1:
                        (refused if error.sure else doubtful)[part[0]] = reason
                    else:
                        todo += [part[len(part) // 2 :], part[: len(part) // 2]]
                else:
                    works = True
                    self._up()
                    self._check(part, answer, found, refused, strict)
            # Where nothing worked it may be the embedder; of a single text, both are left alone then.
            if not works and (todo or doubtful):
                self._down(reason, 0.0)
        finally:
            self._tell_refused({**refused, **(doubtful if works or len(texts) == 1 else {})}, places)
            self.refused.clear(found)

    def _counted(self, texts: Sequence[str], answer: Any) -> list[Any]:
        if len(answer) != len(texts):
            wrong = EmbeddingError(f"the embedder {self.model} gave {len(answer)} vectors for {len(texts)} texts.")
            raise _RefusedError(str(wrong), sure=True) from wrong
        return list(answer)

    def _check(
        self, texts: Sequence[str], answer: list[Any], found: dict[str, Floats], refused: dict[str, str], strict: bool
    ) -> None:
        self._settle_size(answer)
        for text, vector in zip(texts, answer, strict=True):
            try:
                found[text] = self._unit(vector)
            except EmbeddingError as error:
                if strict:
                    found.clear()
                    raise
                refused[text] = str(error)

    def _query(self, text: str, queries: dict[str, Floats]) -> _Steps[None]:
        try:
            answer = yield from self._ask(_Call([text], is_query=True))
            self._up()
            self._settle_size([answer])
            queries[text] = self._unit(answer)
        except (_RefusedError, EmbeddingError) as error:
            if isinstance(error, _RefusedError) and not error.sure:
                self._down(str(error), 0.0)
            elif self._refused_queries.note(text, str(error)):
                logger.warning("the question goes by its words: %s", error)
        else:
            self._refused_queries.clear([text])
            self._remember(text, queries[text])

    # what the answers say of the embedder

    def _down(self, reason: str, seconds: float) -> None:
        self.breaker.failed(seconds)
        told, self._told = self._told, True
        if not told:
            logger.warning(
                "the embedder %s is down (%s): what is stored now is found by its words, and gets its vector later; "
                "while it fails it is asked only now and then",
                self.model,
                reason,
            )

    def _up(self) -> None:
        self.breaker.succeeded()
        if self._told:
            self._told = False
            logger.info("the embedder %s is up again", self.model)

    def _tell_refused(self, refused: Mapping[str, str], places: Mapping[str, Place]) -> None:
        news = [text for text, reason in refused.items() if self.refused.note(text, reason)]
        if not news:
            return
        namespace, key = places.get(news[0], ((), ""))
        logger.warning(
            "the embedder %s gave no vector for %d text(s), the first that of %r in %s (%s). It is stored and found by "
            "its words, and is tried again now and then: shorten it, or put it with index=False, or mend the embedder.",
            self.model,
            len(news),
            key,
            namespace,
            refused[news[0]],
        )

    def _settle_size(self, answer: Sequence[Any]) -> None:
        """Without ``dims``, the embedder says how long its vectors are. Another model may come to stand behind its
        name; one odd vector is none: it takes two in a row.
        """
        sizes = collections.Counter(len(vector) for vector in answer if isinstance(vector, Collection))
        if self._dims is not None or not sizes:
            return
        common, times = sizes.most_common(1)[0]
        if self.size in (None, common) or common == self._doubted or times == len(answer) > 1:
            self.size, self._doubted = common, 0
        else:
            self._doubted = common

    def _unit(self, vector: Any) -> Floats:
        try:
            array = np.asarray(vector, np.float32)
        except (TypeError, ValueError) as error:
            raise EmbeddingError(
                f"the embedder {self.model} gave {str(vector)[:50]!r}, not a list of numbers. No vector was written."
            ) from error
        if array.ndim != 1 or (self.size is not None and len(array) != self.size):
            raise EmbeddingError(
                f"the embedder {self.model} gave a vector of shape {array.shape}, not ({self.size or 'dims'},): "
                "set dims to what the model gives. No vector was written."
            )
        if len(odd := array[~np.isfinite(array)]):
            raise EmbeddingError(
                f"the embedder {self.model} gave a vector with {odd[0]}, which is no number to compare by: mend it. "
                "No vector was written."
            )
        length = float(np.linalg.norm(array.astype(np.float64)))
        return (array / length).astype(np.float32) if length else array

    # questions that were embedded lately

    def _known(self, texts: Sequence[str]) -> dict[str, Floats]:
        with self._lock:
            found = {t: v for t in texts if (v := self._queries.get(t)) is not None and self.size in (None, len(v))}
            for text in found:
                self._queries.move_to_end(text)
        return found

    def _remember(self, text: str, vector: Floats) -> None:
        with self._lock:
            self._queries[text] = vector
            while len(self._queries) > _REMEMBERED_QUERIES:
                self._queries.popitem(last=False)


def _sendable(text: str) -> str:
    """The text as any embedder takes it: half of a surrogate pair has no UTF-8."""
    return text.encode("utf-8", "replace").decode()
