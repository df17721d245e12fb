"""Model files on this machine: whether they can be run, whether they are the right ones, and how they are run."""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langmem_plus.errors import ConfigError

logger = logging.getLogger(__name__)

PACKAGES = ("onnxruntime", "tokenizers")
# Newer ones of onnxruntime (1.32 was seen) report to their maker from their import on, keep files below ~/.cache for
# that, and their threads keep a forked child from ending. Only this variable, read once at the import, keeps them from
# all of it: `onnxruntime.disable_telemetry_events` changes nothing of what has begun.
NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"


def missing_packages(*names: str) -> str:
    """What isn't installed of the packages that run a model, as a clause for a message; empty if all is there."""
    absent = [name for name in names or PACKAGES if find_spec(name) is None]
    if not absent:
        return ""
    return f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed"


def no_telemetry() -> None:
    """Switch onnxruntime's telemetry off, before anything that may bring it in is imported; what the environment says
    of it stays.
    """
    if "onnxruntime" in sys.modules and NO_TELEMETRY not in os.environ:
        logger.info(
            "onnxruntime was imported before langmem_plus could switch its telemetry off: set %s=1 before that. Forked "
            "children may not end, either.",
            NO_TELEMETRY,
        )
    os.environ.setdefault(NO_TELEMETRY, "1")


def load(module: str) -> Any:
    """Import a module that is, or may bring in, onnxruntime, without its telemetry.

    Raises:
        ImportError: it isn't installed.
    """
    no_telemetry()
    return importlib.import_module(module)


def open_session(model: Path) -> Any:
    """An onnxruntime session on one thread: short passes are fastest so, and other work keeps its cores.

    Raises:
        ConfigError: the file isn't a model that onnxruntime can run.
    """
    runtime = load("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ConfigError(f"{str(model)!r} can't be run by onnxruntime: {error}") from error


def open_tokenizer(path: Path) -> Any:
    """A tokenizer from its tokenizer.json, as the file configures it.

    Raises:
        ConfigError: the file isn't a tokenizer.
    """
    try:
        return importlib.import_module("tokenizers").Tokenizer.from_file(str(path))
    except Exception as error:
        raise ConfigError(f"{str(path)!r} isn't a tokenizer.json: {error}") from error


def sha256(path: Path) -> str:
    """The hash of a file, as 64 hex digits.

    Raises:
        ConfigError: the file can't be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(f"{str(path)!r} can't be read: {error}") from error


def check_sha256(path: Path, expected: str | None, remedy: str) -> None:
    """Refuse a file that isn't the expected one; None expects nothing.

    Raises:
        ConfigError: the hashes differ.
    """
    if expected is not None and (found := sha256(path)) != expected:
        raise ConfigError(f"{str(path)!r} has the sha256 {found}, but it should be {expected}. {remedy}")
