"""Rerankers: how relevant is each text to a query, on an absolute scale.

A chat model scores by a rubric (`model_reranker`). A flashrank model runs from a folder on this machine, behind an
adapter that keeps flashrank's habits away from the rest of the process: it would reconfigure the root logger, download
what it doesn't know, keep models in a shared temporary folder, fail on blank passages and on models with other inputs,
reorder what it is given, and read any number of passages in one go on all cores.
"""

from __future__ import annotations

import functools
import inspect
import logging
import math
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, MissingExtraError
from langmem_plus.providers.chat import make_chat_model
from langmem_plus.providers.downloads import download_reranker, downloaded_folder
from langmem_plus.providers.model_reranker import ModelReranker
from langmem_plus.providers.onnx_runtime import load, missing_packages, open_session
from langmem_plus.providers.steps import step_down
from langmem_plus.tokens import encodable

logger = logging.getLogger(__name__)

BUILT_IN = "the built-in scoring"
SAME_MODEL = "model"  # as a setting: the chat model that extracts and decides
INSTALL_RERANK = "Run: pip install 'langmem-plus[rerank]'"
MAX_TOKENS = 512  # what cross-encoders of the BERT family read of a query and a text together
FORWARD_PAIRS = 16  # pairs in one forward pass: bounds its memory, and costs no speed on one thread
REQUIRED = ("tokenizer.json", "config.json", "tokenizer_config.json", "special_tokens_map.json")


class Reranker(Protocol):
    """Scores texts against a query: one number in [0, 1] a text, in the order given, on an absolute scale."""

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        """The relevance of each text to the query."""
        ...


RerankerSpec: TypeAlias = (
    str | Path | BaseChatModel | Runnable[Any, Any] | Callable[[str, list[str]], Sequence[float]] | None
)


def make_reranker(
    spec: RerankerSpec | MemoryConfig = "auto",
    config: MemoryConfig | None = None,
    model: BaseChatModel | None = None,
) -> Reranker | None:
    """The reranker that ``spec`` means; None stands for the built-in scoring. A configuration alone means its own.

    Args:
        spec: ``"auto"`` (the model folder that ``LANGMEM_PLUS_RERANKER_FOLDER`` names, if it is complete, else the
            built-in scoring), ``"builtin"``, ``"none"`` or None, the path of a flashrank model folder, the name of a
            flashrank model (fetched once, if downloads are allowed), a chat model or its name as ``provider:model``,
            ``"model"`` (the chat model that extracts and decides), or a function of a query and texts.
        config: gives the number of texts that are read at most, the time for that, and whether downloads are allowed.
        model: the chat model that ``"model"`` means; None takes the one that the settings name.

    Raises:
        ConfigError: the folder is incomplete, the name is unknown, there is no such chat model, or it would have to be
            downloaded and mustn't.
    """
    if isinstance(spec, MemoryConfig):
        config, spec = spec, spec.reranker
    config = config or MemoryConfig()
    if spec is None:
        return None
    if isinstance(spec, Runnable):
        return ModelReranker(cast(BaseChatModel, spec), config)
    if callable(spec):
        return FunctionReranker(spec)
    name = str(spec).strip()
    if name.lower() in ("", "builtin", "none"):
        return None
    if chat_model := named_chat_model(name):
        return _with_model(chat_model, config, model)
    try:
        found = find_model(name, config)
    except ConfigError as error:
        if name.lower() != "auto":
            raise
        step_down("reranker", str(error).rstrip("."), f"using {BUILT_IN}", "Complete reranker_folder.")
        return None
    if found is None:
        return None
    if missing := missing_packages("flashrank", "onnxruntime", "tokenizers"):
        step_down("reranker", missing, f"using {BUILT_IN}", INSTALL_RERANK)
        return None
    return FlashrankReranker(found, limit=config.rerank_batch)


def named_chat_model(spec: str) -> str | None:
    """The chat model that a setting names; None where it means something else. A folder is told by how it begins, or
    by being there; a colon after a single letter belongs to a drive.

    >>> [named_chat_model(name) for name in ("openai:gpt-5", "C:\\\\rerankers\\\\tiny", "rank-T5-flan")]
    ['openai:gpt-5', None, None]
    """
    if spec.lower() == SAME_MODEL:
        return SAME_MODEL
    is_path = spec.startswith(("~", ".", "/", os.sep)) or Path(spec).expanduser().is_dir()
    return None if is_path or spec.find(":") < 2 else spec


def _with_model(name: str, config: MemoryConfig, model: BaseChatModel | None) -> ModelReranker:
    try:
        if name == SAME_MODEL and model is not None:
            return ModelReranker(model, config)
        # Its requests end when nobody waits for them any more.
        bounded = config.replace(answer_seconds=config.rerank_seconds)
        found = make_chat_model(config.model if name == SAME_MODEL else name, bounded)
    except MissingExtraError:
        raise
    except ConfigError as error:
        raise ConfigError(f"reranker={name!r} is read as a chat model. {error}") from error
    if found is None:
        raise ConfigError(
            f"reranker={name!r} means the chat model that model names, and none is named: set model, or name one here "
            "as provider:model."
        )
    return ModelReranker(found, config)


@dataclass(frozen=True)
class RerankerFiles:
    """A complete flashrank model on disk."""

    folder: Path
    model: Path


def find_model(spec: str, config: MemoryConfig) -> RerankerFiles | None:
    """The model folder that a setting means; None where ``auto`` finds none.

    Raises:
        ConfigError: the setting names a folder or a model that can't be used.
    """
    if spec.lower() == "auto":
        return model_in(config.reranker_folder.expanduser()) if config.reranker_folder else None
    folder = Path(spec).expanduser()
    if folder.is_dir():
        return model_in(folder)
    if os.sep in spec or spec.startswith(("~", ".")):
        raise ConfigError(f"reranker={spec!r}: there is no such folder.")
    kept = downloaded_folder(spec)
    if kept.is_dir():
        try:
            return model_in(kept)
        except ConfigError as error:
            if not config.allow_downloads:
                remedy = "Set allow_downloads to fetch it again, or delete the folder and choose reranker=builtin."
                raise ConfigError(f"{error} {remedy}") from error
            logger.warning("memory: %s It is fetched again.", error)
    if not config.allow_downloads:
        raise ConfigError(
            f"reranker={spec!r} is neither auto, builtin, none, model nor a folder. If it is the name of a flashrank "
            "model, set allow_downloads, or unpack the model yourself and name its folder; a chat model is named as "
            "provider:model."
        )
    return model_in(download_reranker(spec))


def model_in(folder: Path) -> RerankerFiles:
    """The model in a folder.

    Raises:
        ConfigError: a file is missing, or it isn't clear which ONNX file is the model.
    """
    missing = [name for name in REQUIRED if not (folder / name).is_file()]
    models = sorted(folder.glob("*.onnx"))
    if missing or not models:
        lacking = ", ".join([*missing, *([] if models else ["a model (*.onnx)"])])
        raise ConfigError(f"reranker={str(folder)!r}: the folder is incomplete, it lacks {lacking}.")
    if len(models) > 1:
        names = ", ".join(path.name for path in models)
        raise ConfigError(f"reranker={str(folder)!r}: the folder has several models ({names}); keep one.")
    return RerankerFiles(folder=folder, model=models[0])


class FlashrankReranker:
    """A flashrank cross-encoder from a folder, on one thread, loaded at the first use.

    Blank texts score 0 and are never read. Texts after the first ``limit`` aren't read either and score 0: give the
    likeliest first.
    """

    def __init__(self, files: RerankerFiles, limit: int) -> None:
        self.files = files
        self.limit = limit
        self._lock = threading.Lock()
        self._ranker: Any = None

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        """The relevance of each text to the query, in [0, 1].

        Raises:
            ConfigError: the folder's model or tokenizer can't be loaded.
        """
        scores = [0.0] * len(texts)
        places = [place for place, text in enumerate(texts[: self.limit]) if text.strip()]
        if not query.strip() or not places:
            return scores
        ranker = self._load()
        places.sort(key=lambda place: len(texts[place]))  # texts of like length go together, so that little is padded
        request = load("flashrank").RerankRequest
        for start in range(0, len(places), FORWARD_PAIRS):
            # copies, because flashrank writes into its passages and sorts them
            passages = [
                {"id": place, "text": encodable(texts[place])} for place in places[start : start + FORWARD_PAIRS]
            ]
            with np.errstate(all="ignore"):  # exp of a large logit is infinite, and its inverse the 0 that is meant
                ranked = ranker.rerank(request(query=encodable(query), passages=passages))
            for passage in ranked:
                scores[passage["id"]] = _share(float(passage["score"]))
        return scores

    def _load(self) -> Any:
        with self._lock:
            if self._ranker is None:
                self._ranker = _open_ranker(self.files)
            return self._ranker


class FunctionReranker:
    """A reranker of one's own. Scores outside [0, 1] are clipped, with one warning."""

    def __init__(self, function: Callable[[str, list[str]], Sequence[float]]) -> None:
        if inspect.iscoroutinefunction(function):
            raise ConfigError(f"reranker={function!r} is async; give a plain function, which runs in a thread.")
        self.function = function

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        """The relevance of each text to the query, in [0, 1].

        Raises:
            ConfigError: the function gave another number of scores than of texts.
        """
        if not texts:
            return []
        scores = [float(score) for score in self.function(query, list(texts))]
        if len(scores) != len(texts):
            raise ConfigError(
                f"reranker={self.function!r} gave {len(scores)} scores for {len(texts)} texts; give one a text."
            )
        if any(not -1e-6 <= score <= 1 + 1e-6 for score in scores):
            _warn_of_bounds(repr(self.function))
        return [_share(score) for score in scores]


@functools.cache
def _warn_of_bounds(name: str) -> None:
    logger.warning("reranker: %s gives scores outside [0, 1]; they are clipped. A sigmoid keeps them apart.", name)


def _share(score: float) -> float:
    return 0.0 if math.isnan(score) else min(max(score, 0.0), 1.0)


def _open_ranker(files: RerankerFiles) -> Any:
    """A flashrank ranker over a folder, without flashrank's own constructor, which has the habits named above.

    Raises:
        ConfigError: the folder's model or tokenizer can't be loaded.
    """
    flashrank = load("flashrank")
    ranker = flashrank.Ranker.__new__(flashrank.Ranker)
    ranker.logger = logging.getLogger("flashrank")
    ranker.cache_dir, ranker.model_dir, ranker.llm_model = files.folder.parent, files.folder, None
    ranker.session = _KnownInputs(open_session(files.model))
    try:
        ranker.tokenizer = ranker._get_tokenizer(MAX_TOKENS)
    except Exception as error:
        raise ConfigError(f"reranker={str(files.folder)!r}: its tokenizer can't be loaded: {error}") from error
    return ranker


class _KnownInputs:
    """A session that is given just the inputs that its model has, and gives logits of shape (pairs, classes)."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._names = [described.name for described in session.get_inputs()]

    def run(self, outputs: Any, inputs: dict[str, Any]) -> list[Any]:
        """The model's logits, with missing token types taken as zeros."""
        known = {name: inputs.get(name, np.zeros_like(inputs["input_ids"])) for name in self._names}
        logits = np.asarray(self._session.run(outputs, known)[0], dtype=np.float64)
        logits = logits.reshape(len(inputs["input_ids"]), -1)
        if logits.shape[1] > 1:
            logits = logits - logits.max(axis=1, keepdims=True)  # softmax is the same, and can't overflow
        return [logits]
