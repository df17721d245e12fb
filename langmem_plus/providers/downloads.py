"""Reranking models by name: fetched once, whole or not at all, into the user's own cache folder."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

from langmem_plus.errors import ConfigError, MissingExtraError
from langmem_plus.providers.onnx_runtime import load

SECONDS_WITHOUT_DATA = 30.0  # then a download is given up


def cache_folder() -> Path:
    """Where downloaded models are kept: the user's own cache, which nobody else can write to."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(base) / "langmem-plus" / "rerankers"


def downloaded_folder(name: str) -> Path:
    """The folder of a downloaded model, whether it is there or not."""
    return cache_folder() / Path(name).name


def download_reranker(name: str) -> Path:
    """Fetch a flashrank model by its name, in the place of what is left of an earlier one. A broken download leaves
    nothing behind, and what was there stays; its authors publish no hash.

    Raises:
        MissingExtraError: flashrank isn't installed.
        ConfigError: flashrank doesn't know the name, or the model can't be fetched.
    """
    if find_spec("flashrank") is None:
        raise MissingExtraError(f"reranker={name!r}", "rerank")
    models = load("flashrank.Config")
    known = [each for each in models.model_file_map if each not in models.listwise_rankers]
    if name not in known:
        raise ConfigError(f"reranker={name!r} is no model that flashrank knows; it knows {', '.join(known)}.")
    target = downloaded_folder(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=target.parent))
    try:
        with urlopen(models.model_url.format(name), timeout=SECONDS_WITHOUT_DATA) as answer:
            archive = answer.read()
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            files.extractall(part)
        inner = part / name
        if not (inner / models.model_file_map[name]).is_file():
            raise ConfigError(f"reranker={name!r}: what was downloaded doesn't hold {models.model_file_map[name]}.")
        _put_in_place(inner, target, part)
    except (OSError, zipfile.BadZipFile) as error:
        raise ConfigError(f"reranker={name!r} can't be downloaded: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def _put_in_place(fetched: Path, target: Path, scratch: Path) -> None:
    """Move the model to where it is looked for; what stood there goes with the scratch folder."""
    if target.exists():
        target.rename(scratch / ".before")
    fetched.rename(target)
