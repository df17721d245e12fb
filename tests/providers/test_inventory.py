"""The table of what is in use: every step down is named, with its remedy, and looking changes nothing."""

from __future__ import annotations

import importlib.util
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langmem_plus import tokens
from langmem_plus.config import MemoryConfig
from langmem_plus.providers import Part, embeddings, inventory, minilm, onnx_runtime
from langmem_plus.providers import inventory as take_inventory

ModelFolder = Callable[..., Path]


def parts(**settings: Any) -> dict[str, Part]:
    """The parts of a configuration, by name."""
    return {part.name: part for part in take_inventory(MemoryConfig(**settings))}


def hide(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Make packages look as if they weren't installed."""

    real = importlib.util.find_spec
    for place in (onnx_runtime, minilm, tokens):
        monkeypatch.setattr(place, "find_spec", lambda name: None if name in names else real(name))


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No ranks, no caches and no keys of the machine play a part."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "LANGMEM_PLUS_RERANKER_FOLDER"):
        monkeypatch.delenv(name, raising=False)
    for name in ("TIKTOKEN_CACHE_DIR", "HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


def test_all_is_well(caplog: pytest.LogCaptureFixture) -> None:
    """With everything installed the plain configuration is in order, and looking warns of nothing."""
    caplog.set_level(logging.WARNING)
    found = inventory()
    assert [part.name for part in found] == ["embeddings", "tokens", "reranker", "dense index", "chat model", "git"]
    assert {part.state for part in found} == {"ok"}
    assert not caplog.records and not any(part.remedy for part in found)


def test_what_is_missing_has_a_remedy(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Without the extras each part says what does the work now, and what to install."""
    hide(monkeypatch, "onnxruntime", "tokenizers", "toktok", "chromadb", "flashrank")
    found = parts()
    states = {name: (part.in_use, part.state) for name, part in found.items()}
    assert states["embeddings"] == ("none", "missing")
    assert states["tokens"] == ("approximate", "degraded")
    assert states["dense index"] == ("exact search", "degraded")
    assert all(part.remedy.startswith("Run: pip install") for part in found.values() if part.state != "ok")
    assert not caplog.records


def test_the_dense_index_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the threshold above which it changes, or the server; what was asked for and isn't there is missing."""
    found = parts()["dense index"]
    assert (found.in_use, found.detail) == ("exact search, Chroma", "Chroma above 50000 vectors in a namespace")
    assert parts(dense_index="exact")["dense index"].in_use == "exact search"
    server = "http://localhost:8000"
    assert parts(dense_index="chroma", chroma_url=server)["dense index"].in_use == f"Chroma at {server}"
    hide(monkeypatch, "chromadb")
    assert parts(dense_index="chroma")["dense index"].state == "missing"
    assert parts(dense_index="exact")["dense index"].state == "ok"


def test_the_history_needs_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where versioning is on, git is named, or what to do without it."""
    assert parts()["git"].in_use == "not used"
    assert parts(versioning=True)["git"].state == "ok"
    monkeypatch.setenv("PATH", "")
    found = parts(versioning=True)["git"]
    assert (found.state, found.remedy) == ("missing", "Install git.")


def test_embedders_of_all_kinds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each setting of the embedder is judged without a call over the network."""
    assert parts(embeddings="none")["embeddings"].state == "ok"
    assert parts(embeddings="openai:x")["embeddings"].state == "missing"
    ready = parts(embeddings="openai:x", base_url="http://127.0.0.1:1/v1")["embeddings"]
    assert (ready.state, ready.in_use) == ("ok", "openai:x@http://127.0.0.1:1/v1")
    assert "lokal" in parts(embeddings="lokal")["embeddings"].detail
    packaged = minilm.find_packaged()
    assert packaged is not None
    shutil.copy(packaged.tokenizer, tmp_path / "tokenizer.json")
    (tmp_path / "model.onnx").symlink_to(packaged.model)
    assert parts(embeddings=str(tmp_path))["embeddings"].in_use == "local:8199be6f699a395f"
    monkeypatch.setattr(minilm, "DATA", tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    damaged = parts()["embeddings"]
    assert damaged.state == "missing" and "sha256" in damaged.detail
    assert embeddings.WORDS_ALONE in parts(embeddings="none")["embeddings"].detail


def test_rerankers_of_all_kinds(monkeypatch: pytest.MonkeyPatch, model_folder: ModelFolder, tmp_path: Path) -> None:
    """A complete folder is in use, half a one isn't, and a name says whether it would be fetched."""
    folder = model_folder()
    assert parts(reranker=str(folder))["reranker"].in_use == "flashrank: tiny"
    monkeypatch.setenv("LANGMEM_PLUS_RERANKER_FOLDER", str(folder))
    assert parts()["reranker"].in_use == "flashrank: tiny"
    hide(monkeypatch, "flashrank")
    assert parts()["reranker"].state == "degraded"
    (folder / "config.json").unlink()
    assert (parts()["reranker"].state, parts(reranker=str(folder))["reranker"].state) == ("degraded", "missing")
    assert parts(reranker="some-model")["reranker"].state == "missing"
    assert "fetched" in parts(reranker="some-model", allow_downloads=True)["reranker"].detail
    assert parts(reranker="none")["reranker"].in_use == "none"


def test_chat_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules stand in for no model; a model without a key is missing, with the reason."""
    assert parts()["chat model"].in_use == "rules"
    missing = parts(model="openai:gpt-5-mini")["chat model"]
    assert missing.state == "missing" and "key" in missing.detail
    served = parts(model="local-model", base_url="http://127.0.0.1:1/v1")["chat model"]
    assert (served.state, served.in_use) == ("ok", "local-model at http://127.0.0.1:1/v1")
