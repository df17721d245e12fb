"""An embedder that ends more than its own call: the value is stored first all the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.store.base import PutOp

from langmem_plus.testing.embeddings import BagOfWordsEmbeddings


class Panic(BaseException):
    """As the native part of a library raises it."""


class Raising(BagOfWordsEmbeddings):
    """Raises what it was given, as long as it has that."""

    def __init__(self, error: BaseException | None) -> None:
        super().__init__(dims=16)
        self.error = error

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """As told."""
        if self.error is not None:
            raise self.error
        return super().embed_documents(texts)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """As told, in the running loop."""
        return self.embed_documents(texts)


@pytest.mark.parametrize("ranking", ["hybrid", "dense"])
@pytest.mark.parametrize("error", [SystemExit(3), Panic("no entry found")], ids=repr)
def test_an_embedder_that_exits_or_panics_has_failed(open_store: Any, ns: Any, error: Any, ranking: str) -> None:
    """The put returns, the process goes on, and the vector comes later."""
    embedder = Raising(error)
    store = open_store(embedder, ranking=ranking, embed_in_background=False, embed_pause_seconds=0.01)
    store.put(ns, "k", {"text": "green tea"})
    asyncio.run(store.aput(ns, "l", {"text": "black tea"}))
    assert {item.key for item in store.search(ns)} == {"k", "l"}
    embedder.error = None
    store._engine.embedder.breaker.probe_now()
    assert store.embed_waiting() == 2


@pytest.mark.parametrize("conditional", [False, True])
def test_an_interrupt_while_embedding_loses_no_write(open_store: Any, ns: Any, conditional: bool) -> None:
    """It reaches the caller when the value is in its file; what isn't as expected isn't written."""
    embedder = Raising(None)
    store = open_store(embedder, embed_in_background=False)

    def write(key: str, expected: Any) -> None:
        op = PutOp(ns, key, {"text": f"tea of {key}"})
        embedder.error = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            if conditional:
                store.exchange(ns, {key: expected}, [op])
            else:
                store.batch([op])
        embedder.error = None

    write("k", None)
    assert store.path_of(ns, "k").read_text().endswith("tea of k\n")
    assert [item.key for item in store.search(ns, query="tea")] == ["k"]
    write("l", {"text": "another"})
    assert (store.get(ns, "l") is None) == conditional
