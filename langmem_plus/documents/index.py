"""A folder of documents that can be searched."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from langchain_core.vectorstores import VectorStore

from langmem_plus.config import ENDLESS, MemoryConfig
from langmem_plus.documents.catalog import IndexedDocument
from langmem_plus.documents.engine import Engine, Source, index_name
from langmem_plus.documents.folder import is_memory_folder
from langmem_plus.documents.syncing import SyncReport
from langmem_plus.documents.watching import Watcher
from langmem_plus.errors import ConfigError, InvalidValueError
from langmem_plus.labels import read_id
from langmem_plus.providers import make_embeddings, make_reranker, make_token_encoder
from langmem_plus.providers.embeddings import EmbeddingsSpec
from langmem_plus.recall.answerable import SEARCHED
from langmem_plus.recall.mmr import select
from langmem_plus.recall.query import bounded
from langmem_plus.recall.rerank import arerank_with, rerank_with
from langmem_plus.records import GLOBAL_SPACE, MemoryHit, Scope
from langmem_plus.services import Services
from langmem_plus.shown import shown

# Candidates that a search ranks: so many for each that is wanted, but no fewer than `_FEW` and no more than `_MANY`.
_CANDIDATES, _FEW, _MANY = 4, 24, 200


Hits: TypeAlias = list[MemoryHit]
Documents: TypeAlias = list[IndexedDocument]
Found: TypeAlias = tuple[list[MemoryHit], list[str]]


class DocumentIndex:
    """The Markdown and text files of a folder, as knowledge that agents find and cite.

    ::

        with DocumentIndex("./handbook") as documents:
            for hit in documents.search("How many days of leave do we have?"):
                print(hit.record.source_ids, hit.text)  # ['policies/leave.md:12-30'] …

    The files stay as they are; what is derived from them lies in a folder of its own and may be deleted. A search first
    looks for what changed, at most once a ``sync_interval``; what is new is found by its words at once, and by its
    meaning as soon as it is embedded, in the background. `sync` does all of it, and waits.

    What is removed from the folder is overwritten in the index, but Chroma keeps bytes of it: no call of it cleans its
    files, and its ``chroma vacuum`` leaves what stands in its log. To be rid of them, close the index and delete the
    ``chroma-…`` folder in its `path`; the next use fills it again, and pays for nothing twice.

    Thread-safe; several processes may use one folder. A context manager, sync and async; each call has an async twin.

    Args:
        folder: where the documents are. Links in it aren't followed, nothing outside of it is read, and what its
            ``.gitignore`` files leave out is left out (``document_gitignore``).
        name: stands before the paths of what is found and listed, to tell several folders apart.
        user_id: whose knowledge it is; None for everybody's.
        space: the space whose knowledge it is; None, or ``"global"``, for every space.
        vectorstore: any LangChain vector store; it embeds by itself. None takes Chroma (``langmem-plus[chroma]``), in
            the index's folder or on the server that ``chroma_url`` names, with the embedder.
        embeddings: the embedder, as a store takes it; None takes the settings'. Not with a ``vectorstore``.
        path: the index's folder; None takes one below ``memory_path``.
        watch: take over edits at once, in the background; None does as ``start_watcher`` says.
        config: the settings; None reads them from the environment.

    Raises:
        ConfigError: the folder isn't one, or is a memory's; or a setting can't be right.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        name: str | None = None,
        user_id: str | None = None,
        space: str | None = None,
        vectorstore: VectorStore | None = None,
        embeddings: EmbeddingsSpec = None,
        path: str | os.PathLike[str] | None = None,
        watch: bool | None = None,
        config: MemoryConfig | None = None,
    ) -> None:
        self.config = config = _checked(MemoryConfig.of(config), vectorstore, embeddings)
        if name is not None and not isinstance(name, str):
            raise ConfigError(f"name is {shown(name)}: give a text that stands before the paths, or None.")
        self.folder, self.name = _checked_folder(folder), name or ""
        self.user_id = None if user_id is None else read_id("user_id", user_id)
        self.space = None if space is None else read_id("space", space)
        place = config.memory_path / ".index" / index_name(self.folder) if path is None else path
        self.path = _place("path", place, "name the index's folder, or leave it out")
        encoder = make_token_encoder(config)
        spec = config.embeddings if embeddings is None else embeddings
        made = None if vectorstore is not None else make_embeddings(spec, config)
        self._engine = Engine(Source(self.folder, self.path), config, vectorstore, made, encoder)
        reranker = make_reranker(config.reranker, config, None)
        self._services = Services(config=config, reranker=reranker, token_encoder=encoder)
        watched = config.start_watcher if watch is None else watch
        self._watcher = Watcher(self.folder, self.path, self._engine.look_again) if watched else None

    def __repr__(self) -> str:
        return f"DocumentIndex({str(self.folder)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def vectorstore(self) -> VectorStore | None:
        """The vector store that is searched; None where there is no embedder. What stands in it has its key as its id
        and in its metadata.
        """
        vectors = self._engine.vectors
        return vectors.store if vectors is not None else None

    def sync(self) -> SyncReport:
        """Bring the index up to the folder, and wait until all of it is embedded.

        Only files that changed are read, and only texts that are new are embedded. Another process that is at it is
        waited for.

        Raises:
            StoreError: the folder can't be read, or the index can't be written; nothing was forgotten.
        """
        return self._engine.sync()

    async def async_sync(self) -> SyncReport:
        """As `sync`; its own name with an ``a`` before it is a word of the language."""
        return await asyncio.to_thread(self.sync)

    def search(self, query: str, k: int | None = None) -> Hits:
        """The pieces of documents that answer a query, best first; none where nothing does.

        Each is a `MemoryHit` whose record has the role ``document``: its text, where it stands (``source_ids``), and in
        its metadata ``path``, ``title``, ``headings``, ``lines`` and, where it is long, ``excerpt``, the part that says
        most of what is asked, in at most ``document_excerpt_bytes``.

        Args:
            query: a question, or words; of a long text its beginning and its end.
            k: how many at most; None takes ``top_k``.

        Raises:
            InvalidValueError: the query is no text, or k no number of hits.
        """
        query, limit = _checked_search(query, self.config.top_k if k is None else k)
        hits, _ = self._find(query, _candidates(limit), self._owner())
        ranked, _ = rerank_with(self._services, query, hits, least=SEARCHED)
        return select(ranked, self.config, limit)[0]

    async def asearch(self, query: str, k: int | None = None) -> Hits:
        """As `search`."""
        query, limit = _checked_search(query, self.config.top_k if k is None else k)
        hits, _ = await asyncio.to_thread(self._find, query, _candidates(limit), self._owner())
        ranked, _ = await arerank_with(self._services, query, hits, least=SEARCHED)
        return select(ranked, self.config, limit)[0]

    def list(self) -> Documents:
        """The documents, by their paths."""
        self._engine.refresh()
        found = self._engine.catalog.documents()
        return [replace(each, path=f"{self.name}/{each.path}") for each in found] if self.name else found

    async def alist(self) -> Documents:
        """As `list`."""
        return await asyncio.to_thread(self.list)

    # for memory's recall

    def serves(self, scope: Scope) -> bool:
        """Whether these documents are knowledge of a user's space."""
        anybody = self.user_id is None or self.user_id == scope.user_id
        return anybody and self.space in (None, GLOBAL_SPACE, scope.space)

    @property
    def is_everybodys(self) -> bool:
        """Whether these documents are knowledge of every space of every user, so that nobody has to be named."""
        return self.user_id is None and self.space in (None, GLOBAL_SPACE)

    def find(self, scope: Scope, query: str, limit: int) -> Found:
        """The candidates of a recall, unranked, and warnings; none for those whose knowledge it isn't."""
        if not self.serves(scope):
            return [], []
        return self._find(query, min(limit, _candidates(self.config.top_k)), (scope.user_id, scope.space))

    async def afind(self, scope: Scope, query: str, limit: int) -> Found:
        """As `find`."""
        return await asyncio.to_thread(self.find, scope, query, limit)

    def close(self) -> None:
        """End what runs in the background, and let go of all files; the next use opens them again."""
        if self._watcher is not None:
            self._watcher.stop()
        self._engine.close()

    async def aclose(self) -> None:
        """As `close`."""
        await asyncio.to_thread(self.close)

    def _find(self, query: str, limit: int, owner: tuple[str, str]) -> Found:
        return self._engine.find(query, limit, owner, self.name)

    def _owner(self) -> tuple[str, str]:
        return self.user_id or "", self.space or GLOBAL_SPACE


def _candidates(limit: int) -> int:
    return min(max(_FEW, _CANDIDATES * limit), max(_MANY, limit))


def _checked_search(query: str, limit: int) -> tuple[str, int]:
    if not isinstance(query, str):
        raise InvalidValueError(f"the query {shown(query)} is no text: ask a question, or give words.")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise InvalidValueError(f"k={shown(limit)}: give a number of hits, 0 or more.")
    return bounded(query), min(limit, ENDLESS)


def _checked(config: MemoryConfig, vectorstore: VectorStore | None, embeddings: EmbeddingsSpec) -> MemoryConfig:
    if config.chunk_overlap >= config.chunk_tokens:
        raise ConfigError(
            f"chunk_overlap={config.chunk_overlap} leaves no room in chunk_tokens={config.chunk_tokens}: lower it."
        )
    if vectorstore is not None and not isinstance(vectorstore, VectorStore):
        raise ConfigError(f"vectorstore is {vectorstore!r}: pass a LangChain vector store, or None for Chroma.")
    if vectorstore is not None and embeddings is not None:
        raise ConfigError("a vectorstore embeds by itself: leave embeddings out.")
    return config


def _place(what: str, path: str | os.PathLike[str], remedy: str) -> Path:
    named = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(named, str) or not named.strip() or "\0" in named:
        raise ConfigError(f"{what} is {shown(path)}: {remedy}.")
    return Path(os.path.realpath(Path(named).expanduser()))


def _checked_folder(folder: str | os.PathLike[str]) -> Path:
    found = _place("folder", folder, "name the folder that holds the documents")
    if not found.is_dir():
        raise ConfigError(f"{str(folder)!r} is no folder: name the one that holds the documents.")
    inside = next((each for each in (found, *found.parents) if is_memory_folder(each)), None)
    if inside is not None:
        raise ConfigError(f"{str(folder)!r} is a memory's folder, or lies in one: what was said is no document.")
    return found
