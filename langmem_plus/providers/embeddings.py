"""Names, functions and objects become embedders, and every embedder has a name that its vectors are kept under."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from langchain_core.embeddings import Embeddings
from langgraph.store.base.embed import AEmbeddingsFunc, EmbeddingsFunc, EmbeddingsLambda

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, MissingExtraError
from langmem_plus.providers.minilm import LocalEmbeddings, ModelFiles, find_chroma_copy, find_packaged, in_folder
from langmem_plus.providers.onnx_runtime import load, missing_packages
from langmem_plus.providers.steps import step_down
from langmem_plus.providers.threads import in_thread
from langmem_plus.providers.too_long import is_too_long
from langmem_plus.tokens import counter

Vectors = TypeVar("Vectors")
EmbeddingsSpec: TypeAlias = str | Path | Embeddings | EmbeddingsFunc | AEmbeddingsFunc | None

WORDS_ALONE = "searching by words alone"
INSTALL_LOCAL = "Run: pip install 'langmem-plus[local]'"
# OpenAI's embedding models read 8,191 tokens of a vocabulary that is older than the one counted here, and that needs
# up to a third more tokens for the same text.
OPENAI_MAX_TOKENS = 6_000
# Servers of one's own may read far less: half as much is tried until it fits, but no less than a few sentences.
FEWEST_TOKENS = 64
# What sets one embedder of a class apart from another.
_IDENTIFYING = (
    "model",
    "model_name",
    "deployment",
    "dimensions",
    "dims",
    "size",
    "openai_api_base",
    "base_url",
    "endpoint",
)


def make_embeddings(spec: EmbeddingsSpec, config: MemoryConfig | None = None) -> Embeddings | None:
    """The embedder that ``spec`` means; None where there is none, and search goes by words alone.

    Args:
        spec: ``"local"`` (all-MiniLM-L6-v2 on this machine; steps down with one warning where it isn't installed),
            ``"none"`` or None, ``"provider:model"`` as LangChain's ``init_embeddings`` takes it (resolved at the first
            use), a folder with ``model.onnx`` and ``tokenizer.json``, an embedder, or a function from texts to
            vectors, sync or async.
        config: gives ``base_url`` for OpenAI-compatible servers and whether downloads are allowed.

    Raises:
        ConfigError: the name means nothing, or the folder is incomplete.
    """
    if spec is None or isinstance(spec, Embeddings):
        return spec
    if callable(spec):
        return FunctionEmbeddings(spec)
    text = str(spec).strip()
    if text.lower() in ("", "none"):
        return None
    if text.lower() == "local":
        return _make_local()
    folder = Path(text).expanduser()
    if folder.is_dir():
        return _open_folder(folder)
    provider, _, model = text.partition(":")
    if model and not provider.startswith((".", "/", "~")):
        return NamedEmbeddings(provider.strip().lower(), model.strip(), config or MemoryConfig())
    raise ConfigError(
        f"embeddings={text!r} is neither local, none, provider:model (such as openai:text-embedding-3-small) "
        "nor a folder with model.onnx and tokenizer.json."
    )


def embeddings_id(embeddings: Embeddings) -> str:
    """A stable name for what makes the vectors: the same in every process, another one for another model.

    An embedder or a function may give its own as ``model_id``; else its class or function and what configures it count.
    """
    own = getattr(embeddings, "model_id", None)
    if isinstance(own, str) and own:
        return own
    if isinstance(embeddings, EmbeddingsLambda):
        return _function_id(getattr(embeddings, "func", None) or getattr(embeddings, "afunc", None))
    kind = type(embeddings)
    fields = ((name, getattr(embeddings, name, None)) for name in _IDENTIFYING)
    said = ",".join(f"{name}={value}" for name, value in fields if isinstance(value, str | int) and value != "")
    return f"{kind.__module__}.{kind.__qualname__}({said})"


def embeddings_dims(embeddings: Embeddings) -> int | None:
    """The length of the vectors where it is known without embedding anything."""
    for name in ("dims", "dimensions"):
        value = getattr(embeddings, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return None


def find_local() -> tuple[LocalEmbeddings | None, str]:
    """The local embedder, or None, and what is missing (nothing where the packaged model is used)."""
    if missing := missing_packages():
        return None, missing
    if packaged := find_packaged():
        return _shared(packaged), ""
    if copy := find_chroma_copy():
        return _shared(copy), "the packaged model isn't installed"
    return None, "the packaged model isn't installed"


@functools.cache
def _shared(files: ModelFiles) -> LocalEmbeddings:
    """One model a process, which takes some hundred megabytes, however many stores are opened and closed."""
    return LocalEmbeddings(files)


def _make_local() -> LocalEmbeddings | None:
    found, missing = find_local()
    if missing:
        instead = "using Chroma's copy of the same model" if found else WORDS_ALONE
        step_down("embeddings", missing, instead, INSTALL_LOCAL)
    return found


def _open_folder(folder: Path) -> LocalEmbeddings | None:
    embeddings = LocalEmbeddings(in_folder(folder))
    if missing := missing_packages():
        step_down("embeddings", missing, WORDS_ALONE, INSTALL_LOCAL)
        return None
    return embeddings


class FunctionEmbeddings(EmbeddingsLambda):
    """An embedder from a function of texts. One that is only async works in sync calls too, in a thread of its own."""

    def __init__(self, function: EmbeddingsFunc | AEmbeddingsFunc) -> None:
        super().__init__(function)
        self.model_id = _function_id(function)
        self.dims = getattr(function, "dims", None)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of the texts."""
        if getattr(self, "func", None) is not None:
            return super().embed_documents(texts)

        async def run() -> list[list[float]]:
            return await self.aembed_documents(texts)

        return _run_alone(run())


def _run_alone(coroutine: Coroutine[Any, Any, list[list[float]]]) -> list[list[float]]:
    """Run a coroutine to its end in a thread of its own, whether or not a loop runs in this one."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="langmem-plus-embed") as pool:
        return pool.submit(asyncio.run, coroutine).result()


def _function_id(function: Any) -> str:
    own = getattr(function, "model_id", None)
    if isinstance(own, str) and own:
        return own
    inner = getattr(function, "func", function)  # what a functools.partial calls
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    return f"{named.__module__}.{named.__qualname__}"


class NamedEmbeddings(Embeddings):
    """An embedder by its name, built at the first use: until then no SDK is loaded and no key is needed.

    Raises:
        ConfigError: at the first use: the provider, its package or its key is missing; the message says what to do.
    """

    def __init__(self, provider: str, model: str, config: MemoryConfig) -> None:
        self.provider = provider
        self.model = model
        self.base_url = config.base_url if provider == "openai" else None
        self.model_id = f"{provider}:{model}" + (f"@{self.base_url}" if self.base_url else "")
        self._config = config
        self._lock = threading.Lock()
        self._resolved: Embeddings | None = None
        self._clips = False
        self._limit = OPENAI_MAX_TOKENS

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of the texts."""
        inner = self.resolve()
        return self._shorter(lambda: inner.embed_documents(self._readable(texts)))

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        inner = self.resolve()
        return self._shorter(lambda: inner.embed_query(self._readable([text])[0]))

    def _shorter(self, embed: Callable[[], Vectors]) -> Vectors:
        """What ``embed`` gives, with texts that are cut as short as the server wants them; that is remembered."""
        while True:
            limit = self._limit
            try:
                return embed()
            except Exception as error:
                if not self._clips or limit <= FEWEST_TOKENS or not is_too_long(error):
                    raise
                self._limit = min(self._limit, max(limit // 2, FEWEST_TOKENS))

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of the texts, in any loop."""
        return await in_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """The vector of a question, in any loop."""
        return await in_thread(self.embed_query, text)

    def resolve(self) -> Embeddings:
        """The provider's own embedder, built once."""
        with self._lock:
            if self._resolved is None:
                self._resolved = self._build()
            return self._resolved

    def _build(self) -> Embeddings:
        name, settings = f"{self.provider}:{self.model}", dict[str, Any]()
        if self.provider == "openai":
            settings = self._openai_settings()
        try:
            embeddings: Embeddings = load("langchain.embeddings").init_embeddings(name, **settings)
        except ImportError as error:
            if self.provider in ("openai", "azure_openai"):
                raise MissingExtraError(f"embeddings={name!r}", "openai") from error
            raise ConfigError(f"embeddings={name!r}: {error}") from error
        except Exception as error:  # SDKs complain about keys and names with errors of their own
            raise ConfigError(
                f"embeddings={name!r} can't be built: {error} Set the provider's key, or choose embeddings=local."
            ) from error
        return embeddings

    def _openai_settings(self) -> dict[str, Any]:
        base_url = self.base_url or os.environ.get("OPENAI_API_BASE") or os.environ.get("OPENAI_BASE_URL")
        # Checking the length sends token ids, which other servers don't read, and makes tiktoken fetch its ranks with
        # no time-out; so texts are cut here instead.
        self._clips = True
        # A store does its own waiting and trying again: nobody is to wait for several time-outs in a row.
        settings: dict[str, Any] = {
            "check_embedding_ctx_length": False,
            "timeout": self._config.embed_timeout,
            "max_retries": 0,
        }
        if base_url:
            settings["base_url"] = base_url
            if not os.environ.get("OPENAI_API_KEY"):
                settings["api_key"] = "none"  # a server of one's own mostly wants no key, but the SDK insists on one
        return settings

    def _readable(self, texts: Sequence[str]) -> list[str]:
        """The texts as the provider takes them: OpenAI refuses empty ones, and ones that are too long."""
        if not self._clips:
            return list(texts)
        found, limit = counter(self._config), self._limit
        # A token has at least one byte, so most texts needn't be counted.
        long = [len(text.encode("utf-8", errors="replace")) > limit for text in texts]
        return [(found.clip(text, limit) if cut else text) or " " for text, cut in zip(texts, long, strict=True)]
