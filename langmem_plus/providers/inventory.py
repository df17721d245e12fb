"""What is in use, what is missing, and how to get it: the table that ``langmem-plus doctor`` prints."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from langmem_plus import tokens
from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError
from langmem_plus.providers.embeddings import INSTALL_LOCAL, WORDS_ALONE, NamedEmbeddings, find_local, make_embeddings
from langmem_plus.providers.known import check_chat_model
from langmem_plus.providers.lazy import build_chat_model
from langmem_plus.providers.minilm import LocalEmbeddings
from langmem_plus.providers.onnx_runtime import missing_packages
from langmem_plus.providers.rerank import BUILT_IN, INSTALL_RERANK, SAME_MODEL, find_model, named_chat_model

INSTALL_CHROMA = "Run: pip install 'langmem-plus[chroma]'"

State = Literal["ok", "degraded", "missing"]


@dataclass(frozen=True)
class Part:
    """One part of the machinery.

    Args:
        name: what it is for.
        in_use: what does the work.
        state: ``ok`` (what was asked for), ``degraded`` (one step below), ``missing`` (asked for, and not there).
        detail: what one might want to know about it.
        remedy: what to do to get the rest; empty where nothing is missing.
    """

    name: str
    in_use: str
    state: State = "ok"
    detail: str = ""
    remedy: str = ""


def inventory(config: MemoryConfig | None = None) -> list[Part]:
    """The parts that this configuration uses. Nothing is downloaded, no server is asked, nothing is warned of."""
    settings = config or MemoryConfig()
    parts: tuple[Callable[[MemoryConfig], Part], ...] = (
        embeddings_part,
        tokens_part,
        reranker_part,
        dense_index_part,
        chat_model_part,
        git_part,
    )
    return [part(settings) for part in parts]


def embeddings_part(config: MemoryConfig) -> Part:
    """What makes vectors; local model files are checked against their hashes."""
    name, spec = "embeddings", config.embeddings.strip()
    if spec.lower() in ("", "none"):
        return Part(name, "none", detail=f"{WORDS_ALONE}, as configured")
    try:
        if spec.lower() == "local":
            return _local_part(name)
        if Path(spec).expanduser().is_dir() and (missing := missing_packages()):
            return Part(name, "none", "missing", f"{missing}; {WORDS_ALONE}", INSTALL_LOCAL)
        embeddings = make_embeddings(spec, config)
        if isinstance(embeddings, NamedEmbeddings):
            embeddings.resolve()
            return Part(name, embeddings.model_id, detail="built, but not asked for a vector")
        if isinstance(embeddings, LocalEmbeddings):
            embeddings.check()
            return Part(name, embeddings.model_id, detail=str(embeddings.files.model))
    except ConfigError as error:
        return Part(name, "none", "missing", str(error), "Mend the setting, or choose embeddings=local.")
    return Part(name, spec)


def _local_part(name: str) -> Part:
    found, missing = find_local()
    if found is None:
        return Part(name, "none", "missing", f"{missing}; {WORDS_ALONE}", INSTALL_LOCAL)
    found.check()
    if missing:
        return Part(name, f"Chroma's copy of all-MiniLM-L6-v2 ({found.model_id})", "degraded", missing, INSTALL_LOCAL)
    return Part(name, found.model_id, detail=f"{found.dims} dimensions, files as they should be, no network")


def tokens_part(config: MemoryConfig) -> Part:
    """What counts tokens."""
    found = tokens.counter_at_hand()
    if found.exact:
        return Part("tokens", found.name, detail="exact")
    return Part("tokens", found.name, "degraded", "an estimate from kinds of characters", INSTALL_LOCAL)


def reranker_part(config: MemoryConfig) -> Part:
    """What scores candidates."""
    name, spec = "reranker", config.reranker.strip()
    if spec.lower() in ("", "builtin", "none"):
        return Part(name, "none" if spec.lower() == "none" else BUILT_IN, detail="as configured")
    if chat_model := named_chat_model(spec):
        return _chat_reranker(chat_model, config)
    try:
        # A model that would have to be fetched isn't there yet, whether or not it may be.
        found = find_model(spec, config.replace(allow_downloads=False))
    except ConfigError as error:
        if spec.lower() == "auto":
            return Part(name, BUILT_IN, "degraded", str(error), "Complete reranker_folder.")
        if config.allow_downloads and Path(spec).name == spec:
            return Part(name, spec, "degraded", "it isn't here yet, and is fetched when memory is first set up")
        return Part(name, "none", "missing", str(error), "Name a complete model folder, or choose reranker=auto.")
    if found is None:
        hint = "set reranker_folder to a flashrank folder to use that"
        return Part(name, BUILT_IN, detail=hint)
    if missing := missing_packages("flashrank", "onnxruntime", "tokenizers"):
        return Part(name, BUILT_IN, "degraded", missing, INSTALL_RERANK)
    return Part(name, f"flashrank: {found.folder.name}", detail=str(found.model))


def _chat_reranker(spec: str, config: MemoryConfig) -> Part:
    part = chat_model_part(config if spec == SAME_MODEL else config.replace(model=spec))
    if part.in_use == "rules":
        return Part("reranker", "none", "missing", "no model is configured", "Set model, or choose reranker=auto.")
    remedy = part.remedy and "Mend the setting, or choose reranker=auto."
    return Part("reranker", part.in_use, part.state, part.detail, remedy)


def dense_index_part(config: MemoryConfig) -> Part:
    """What searches vectors."""
    name, exact = "dense index", "exact search"
    if config.dense_index == "exact":
        return Part(name, exact, detail="every vector is compared, whatever their number")
    if missing := missing_packages("chromadb", "langchain_chroma"):
        state: State = "missing" if config.dense_index == "chroma" else "degraded"
        return Part(name, exact, state, f"{missing}; {exact} answers", INSTALL_CHROMA)
    where = f"Chroma at {config.chroma_url}" if config.chroma_url else "Chroma"
    if config.dense_index == "chroma":
        return Part(name, where, detail="the exact search answers while a collection is filled")
    return Part(name, f"{exact}, {where}", detail=f"Chroma above {config.ann_threshold} vectors in a namespace")


def chat_model_part(config: MemoryConfig) -> Part:
    """What extracts, decides and summarises."""
    name = "chat model"
    if config.model is None or config.model.strip().lower() in ("", "none"):
        return Part(name, "rules", detail="no model is configured; set model to use one")
    try:
        check_chat_model(config.model.strip(), config.base_url)
        build_chat_model(config.model.strip(), config.base_url)
    except ConfigError as error:
        return Part(name, "none", "missing", str(error), "Mend the setting, or leave the model out.")
    where = f" at {config.base_url}" if config.base_url else ""
    return Part(name, f"{config.model.strip()}{where}", detail="built, but not asked for an answer")


def git_part(config: MemoryConfig) -> Part:
    """What keeps the files' history."""
    if not config.versioning:
        return Part("git", "not used", detail="versioning is off")
    program = shutil.which("git")
    if program is None:
        return Part("git", "not used", "missing", "git isn't installed; files are kept without history", "Install git.")
    return Part("git", program, detail="files are committed a little after they are written")
