"""What a store's ``index`` argument means: the fields that are searched, and the embedder, made at its first use."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from langgraph.store.base import IndexConfig

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError
from langmem_plus.providers import embeddings_id, make_embeddings, make_token_encoder
from langmem_plus.store.embedding import TextEmbedder
from langmem_plus.store.timing import TimedEmbeddings


class Default:
    """Stands for 'the embedder that the settings name'."""

    def __repr__(self) -> str:
        return "DEFAULT"


DEFAULT = Default()


class Indexing:
    """The fields and the embedder of a store; thread-safe.

    Args:
        index: LangGraph's ``IndexConfig``, None for no vectors, or `DEFAULT`.
        config: the settings.
        strict: wrong vectors for what is being written are an error.

    Attributes:
        fields: the paths that are searched, None for the default.
        timed: the embedder's times, once it is made.

    Raises:
        ConfigError: the index is something else.
    """

    def __init__(self, index: IndexConfig | Default | None, config: MemoryConfig, *, strict: bool) -> None:
        self.fields = None if isinstance(index, Default) or index is None else _checked_fields(index)
        self._index: Any = index
        self._config, self._strict = config, strict
        self._lock = threading.Lock()
        self._made: tuple[TextEmbedder | None] | None = None
        self.timed: TimedEmbeddings | None = None

    @property
    def embedder(self) -> TextEmbedder | None:
        """The embedder, or None where words alone are searched."""
        with self._lock:
            if self._made is None:
                self._made = (self._make(),)
            return self._made[0]

    def _make(self) -> TextEmbedder | None:
        if self._index is None:
            return None
        named, config = isinstance(self._index, Default), self._config
        dims = None if named else self._index.get("dims")
        made = make_embeddings(config.embeddings if named else self._index["embed"], config)
        if made is None:
            return None
        name = f"{embeddings_id(made)}/{dims or ''}"
        encoder = make_token_encoder(config)
        # The local model gives bits and vectors in one go.
        reads = encoder if encoder is not None and encoder.embeddings is made else made
        timed = self.timed = TimedEmbeddings(reads, config.embed_timeout, config.embed_patience)
        later = config.embed_in_background and not self._strict

        def defers() -> bool:
            return later and timed.is_slow

        return TextEmbedder(
            timed,
            name,
            dims,
            strict=self._strict,
            failures=config.embed_failures,
            pause=config.embed_pause_seconds,
            defers=defers,
            encoder=encoder,
        )

    def forked(self) -> None:
        """In a forked child: the parent's threads, which may have held the locks, aren't there."""
        self._lock = threading.Lock()
        if self._made and self._made[0]:
            self._made[0].forked()
        if self.timed is not None:
            self.timed.forked()


def _checked_fields(index: Any) -> list[str]:
    if not isinstance(index, Mapping) or "embed" not in index:
        raise ConfigError(f'index={index!r}: give {{"dims": …, "embed": …, "fields": […]}}, None, or leave it out.')
    fields = index.get("fields") or ["$"]
    if isinstance(fields, str) or not all(isinstance(path, str) for path in fields):
        raise ConfigError(f"index fields={fields!r}: give a list of paths such as ['text'].")
    return list(fields)
