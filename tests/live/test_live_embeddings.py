"""The embeddings of a real server: through the settings alone, and as a search by meaning in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langgraph.store.base import PutOp

from langmem_plus import MarkdownStore, MemoryClient, MemoryConfig
from langmem_plus.providers import make_embeddings

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

PATIENCE = 240.0
TEXTS = ["My dog is called Rex.", "", "Ich wohne in Lyon.", "日本語のテキスト", "My dog is called Rex."]
Start = Callable[..., Any]


@pytest.fixture
def embedding_config(start_server: Start) -> MemoryConfig:
    """Settings that name the embedder of a server of its own, without a key."""
    server = start_server("--embeddings", "--pooling", "mean")
    return MemoryConfig(embeddings=f"openai:{server.name}", base_url=server.url, embed_timeout=60, retry_seconds=0.0)


async def test_texts_go_as_texts(embedding_config: MemoryConfig) -> None:
    """The server gets texts and no token ids: a vector each, of one length, the same for the same text, sync and async;
    an empty text and a long one get theirs, too."""
    embeddings = make_embeddings(embedding_config.embeddings, embedding_config)
    assert embeddings is not None
    vectors = embeddings.embed_documents(TEXTS)
    assert len(vectors) == len(TEXTS) and len({len(vector) for vector in vectors}) == 1
    assert cosine(vectors[0], vectors[-1]) > 0.98 > cosine(vectors[0], vectors[2])  # it rounds within a batch
    assert cosine(vectors[0], await embeddings.aembed_query(TEXTS[0])) > 0.98
    assert len(embeddings.embed_query("tea " * 1_000)) == len(vectors[0])


def cosine(one: list[float], other: list[float]) -> float:
    """How alike two vectors are."""
    a, b = np.asarray(one), np.asarray(other)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def test_a_store_ranks_by_the_servers_vectors(embedding_config: MemoryConfig, tmp_path: Path) -> None:
    """The server's vectors rank: a text is most like itself, and is found again by a store that is opened later."""
    for round_ in range(2):
        with MarkdownStore(tmp_path / "db", config=embedding_config, ranking="dense") as store:
            for number, text in enumerate(TEXTS[:4:2] if not round_ else ()):
                store.put(("notes",), str(number), {"text": text})
            best = store.search(("notes",), query=TEXTS[0])[0]
            assert best.value == {"text": TEXTS[0]} and best.score == pytest.approx(1.0, abs=0.02)


def test_a_long_text_takes_no_others_vector(embedding_config: MemoryConfig, tmp_path: Path) -> None:
    """A server reads 512 tokens at a time where nobody says more: a longer text is cut, and no other waits for it."""
    with MarkdownStore(tmp_path / "db", config=embedding_config, ranking="dense") as store:
        texts = [TEXTS[0], "tea " * 3_000, TEXTS[2]]
        store.batch([PutOp(("notes",), str(number), {"text": text}) for number, text in enumerate(texts)])
        scores = [item.score for item in store.search(("notes",), query=TEXTS[0])]
    assert len(scores) == 3 and None not in scores


def test_a_server_that_is_killed_leaves_the_words(start_server: Start, tmp_path: Path) -> None:
    """Without its embedder a memory is stored and found by its words; the vector follows when the server is back."""
    server = start_server("--embeddings", "--pooling", "mean")
    config = MemoryConfig(
        embeddings=f"openai:{server.name}", base_url=server.url, embed_timeout=60, embed_pause_seconds=0.1
    )
    server.kill()
    with MemoryClient(tmp_path / "db", config=config) as client:
        client.add("My dog is called Rex.", user_id="alice")
        assert client.flush(PATIENCE)
        assert "Rex" in client.search("What is my dog called?", user_id="alice")[0].text
        server.start()
    with MemoryClient(tmp_path / "db", config=config) as client:
        assert "Rex" in client.search("What is my dog called?", user_id="alice")[0].text
