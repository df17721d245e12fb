"""Rerankers: real cross-encoders built on the spot, and none of flashrank's habits."""

from __future__ import annotations

import io
import logging
import math
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, MissingExtraError
from langmem_plus.providers import downloads, onnx_runtime, rerank
from langmem_plus.providers.rerank import FORWARD_PAIRS, FlashrankReranker, make_reranker

ModelFolder = Callable[..., Path]
QUERY = "who is my wife"
TEXTS = ["the user likes tea", "my wife is Anne", "", "wife", "she lives in Paris", "   \n"]
SHARED = [0, 3, None, 1, 0, None]  # words shared with the query; blank texts are never read


def expected(shared: int | None, scale: float = 2.0) -> float:
    """The score that the tiny model gives."""
    return 0.0 if shared is None else 1 / (1 + math.exp(-scale * (2 * shared - 3)))


def opened(folder: Path, **settings: Any) -> Any:
    """The reranker of a folder."""
    found = make_reranker(str(folder), MemoryConfig(**settings))
    assert isinstance(found, FlashrankReranker)
    return found


@pytest.mark.parametrize("classes", [0, 1, 2])
@pytest.mark.parametrize("token_types", [True, False])
def test_scores_are_the_models_own(model_folder: ModelFolder, token_types: bool, classes: int) -> None:
    """With and without token types, with one logit, two or a flat list, the scores are right and in the given order."""
    scores = opened(model_folder(token_types=token_types, classes=classes))(QUERY, TEXTS)
    assert scores == pytest.approx([expected(shared) for shared in SHARED], abs=1e-5)
    assert all(type(score) is float for score in scores)


def test_huge_logits_stay_in_bounds(model_folder: ModelFolder, recwarn: pytest.WarningsRecorder) -> None:
    """Logits of a thousand overflow nowhere and warn of nothing."""
    for classes in (1, 2):
        scores = opened(model_folder(f"huge{classes}", classes=classes, scale=1000.0))(QUERY, TEXTS)
        assert scores == pytest.approx([0, 1, 0, 0, 0, 0])
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]


def test_the_input_stays_as_it_is(model_folder: ModelFolder) -> None:
    """Neither the list nor its order is touched."""
    texts = list(TEXTS)
    opened(model_folder())(QUERY, texts)
    assert texts == TEXTS


def test_nothing_gives_nothing(model_folder: ModelFolder) -> None:
    """No texts, blank texts and a blank query need no model."""
    reranker = opened(model_folder())
    assert reranker(QUERY, []) == []
    assert reranker(QUERY, ["", " "]) == [0.0, 0.0]
    assert reranker(" ", ["wife"]) == [0.0]
    assert reranker._ranker is None


def test_odd_texts_are_read(model_folder: ModelFolder) -> None:
    """Very long texts, lone surrogates and other scripts are no reason to fail."""
    scores = opened(model_folder())(QUERY, ["wife " * 5000, "\ud83d wife", "我的妻子", "<|endoftext|>"])
    assert scores == pytest.approx([expected(1), expected(1), expected(0), expected(0)], abs=1e-5)


def test_passes_are_bounded(model_folder: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many texts come, one pass reads a few, and what lies beyond the limit isn't read at all."""
    reranker = opened(model_folder(), rerank_batch=40)
    sizes: list[int] = []
    real = rerank._KnownInputs.run
    monkeypatch.setattr(
        rerank._KnownInputs,
        "run",
        lambda self, outputs, inputs: (sizes.append(len(inputs["input_ids"])), real(self, outputs, inputs))[1],
    )
    scores = reranker(QUERY, ["my wife"] * 100)
    assert max(sizes) <= FORWARD_PAIRS and sum(sizes) == 40
    assert scores[:40] == pytest.approx([expected(2)] * 40, abs=1e-5) and scores[40:] == [0.0] * 60


def test_logging_is_left_alone(model_folder: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading a model adds no handler to the root logger and changes no level."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    level = root.level
    opened(model_folder())(QUERY, TEXTS)
    assert root.handlers == [] and root.level == level


def test_one_thread_and_many_callers(model_folder: ModelFolder) -> None:
    """Several threads at a time load the model once and get the same scores."""
    reranker = opened(model_folder())
    results: list[list[float]] = []
    callers = [threading.Thread(target=lambda: results.append(reranker(QUERY, TEXTS))) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(results) == 6 and all(result == results[0] for result in results)


def test_a_vocabulary_beside_the_tokenizer_is_no_obstacle(model_folder: ModelFolder) -> None:
    """Published folders hold a vocab.txt too."""
    folder = model_folder()
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n", encoding="utf-8")
    assert opened(folder)(QUERY, ["my wife"]) == pytest.approx([expected(2)], abs=1e-5)


# which one


def test_half_a_folder_is_refused(model_folder: ModelFolder, tmp_path: Path) -> None:
    """A missing file, no model and two models are named; nothing is fetched to repair them."""
    folder = model_folder()
    (folder / "config.json").unlink()
    with pytest.raises(ConfigError, match=r"lacks config\.json"):
        make_reranker(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"a model \(\*\.onnx\)"):
        make_reranker(tmp_path / "empty")
    second = model_folder("second")
    (second / "other.onnx").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"several models .*other\.onnx"):
        make_reranker(second)
    with pytest.raises(ConfigError, match="no such folder"):
        make_reranker(str(tmp_path / "nowhere"))


def test_a_broken_model_is_named(model_folder: ModelFolder) -> None:
    """A file that is no model is a ConfigError with its path, at the first use."""
    folder = model_folder()
    next(folder.glob("*.onnx")).write_bytes(b"this is no model")
    with pytest.raises(ConfigError, match=r"flashrank-tiny\.onnx"):
        opened(folder)(QUERY, TEXTS)
    other = model_folder("other")
    (other / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match="tokenizer"):
        opened(other)(QUERY, TEXTS)


def test_auto_takes_a_complete_folder_only(
    model_folder: ModelFolder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """``auto`` uses the folder that the environment names; without one it is quiet, with half a one it warns once."""
    monkeypatch.delenv("LANGMEM_PLUS_RERANKER_FOLDER", raising=False)
    assert make_reranker("auto") is None and make_reranker() is None
    assert not caplog.records
    folder = model_folder()
    monkeypatch.setenv("LANGMEM_PLUS_RERANKER_FOLDER", str(folder))
    assert isinstance(make_reranker("auto", MemoryConfig()), FlashrankReranker)
    (folder / "tokenizer.json").unlink()
    assert [make_reranker("auto") for _ in range(3)] == [None] * 3
    assert len(caplog.records) == 1 and "tokenizer.json" in caplog.records[0].message


def test_no_reranker_is_none() -> None:
    """``builtin``, ``none`` and None leave scoring to the built-in one."""
    assert [make_reranker(spec) for spec in ("builtin", "none", "", None)] == [None] * 4


def test_a_missing_package_steps_down_once(
    model_folder: ModelFolder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A folder without flashrank means the built-in scoring and one warning that says what to install."""
    monkeypatch.setattr(onnx_runtime, "find_spec", lambda name: None)
    folder = model_folder()
    assert [make_reranker(folder) for _ in range(2)] == [None, None]
    assert len(caplog.records) == 1 and "langmem-plus[rerank]" in caplog.records[0].message


def test_a_name_is_not_fetched_unasked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A model's name needs allow_downloads, and an unknown one is refused with the known ones."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="allow_downloads"):
        make_reranker("ms-marco-TinyBERT-L-2-v2", MemoryConfig())
    with pytest.raises(ConfigError, match="ms-marco-TinyBERT-L-2-v2"):
        make_reranker("no-such-model", MemoryConfig(allow_downloads=True))
    monkeypatch.setattr(downloads, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="rerank"):
        make_reranker("no-such-model", MemoryConfig(allow_downloads=True))


def zipped(folder: Path, name: str) -> bytes:
    """A folder as the archive that flashrank's authors publish."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"{name}/{path.name}")
    return buffer.getvalue()


def test_a_download_is_whole_or_nothing(
    model_folder: ModelFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A fetched model is kept in the user's cache and not fetched again; a broken archive leaves nothing."""
    import flashrank.Config

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(flashrank.Config.model_file_map, "tiny", "flashrank-tiny.onnx")
    archive = zipped(model_folder(), "tiny")
    answers = [archive[: len(archive) // 2], zipped(model_folder("wrong"), "wrong"), archive]
    asked: list[str] = []

    def fetch(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO(answers.pop(0))

    monkeypatch.setattr(downloads, "urlopen", fetch)
    allowed = MemoryConfig(allow_downloads=True)
    for _ in range(2):
        with pytest.raises(ConfigError, match="tiny"):
            make_reranker("tiny", allowed)
        assert list(downloads.cache_folder().iterdir()) == []
    for config in (allowed, MemoryConfig()):
        found = make_reranker("tiny", config)
        assert found is not None and found(QUERY, ["my wife"]) == pytest.approx([expected(2)], abs=1e-5)
    assert len(asked) == 3 and all("tiny" in url for url in asked)


def test_what_is_left_of_a_download_is_fetched_again(
    model_folder: ModelFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A folder in the cache that lost a file is replaced where downloads are allowed; else the error says how."""
    import flashrank.Config

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(flashrank.Config.model_file_map, "tiny", "flashrank-tiny.onnx")
    archive = zipped(model_folder(), "tiny")
    monkeypatch.setattr(downloads, "urlopen", lambda url, timeout: io.BytesIO(archive))
    kept = downloads.downloaded_folder("tiny")
    kept.mkdir(parents=True)
    (kept / "flashrank-tiny.onnx").write_bytes(b"half")
    with pytest.raises(ConfigError, match=r"lacks tokenizer\.json.* Set allow_downloads to fetch it again"):
        make_reranker("tiny", MemoryConfig())
    found = make_reranker("tiny", MemoryConfig(allow_downloads=True))
    assert found is not None and found(QUERY, ["my wife"]) == pytest.approx([expected(2)], abs=1e-5)
    assert list(downloads.cache_folder().iterdir()) == [kept]
    monkeypatch.setattr(downloads, "urlopen", lambda url, timeout: io.BytesIO(b"no archive"))
    (kept / "config.json").unlink()
    with pytest.raises(ConfigError, match="can't be downloaded"):
        make_reranker("tiny", MemoryConfig(allow_downloads=True))
    assert (kept / "flashrank-tiny.onnx").is_file()


def test_a_lost_connection_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A download that fails says so, and leaves nothing."""
    import flashrank.Config

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(flashrank.Config, "model_url", "http://127.0.0.1:1/{}.zip")
    with pytest.raises(ConfigError, match="can't be downloaded"):
        make_reranker("ms-marco-TinyBERT-L-2-v2", MemoryConfig(allow_downloads=True))
    assert list(downloads.cache_folder().iterdir()) == []


# one's own


def test_any_function_is_a_reranker(caplog: pytest.LogCaptureFixture) -> None:
    """A function's numbers become plain floats in [0, 1]; what lies outside is clipped with one warning."""
    seen: list[list[str]] = []

    def score(query: str, texts: list[str]) -> Any:
        seen.append(texts)
        return np.array([0.25, 1.5, -1.0, math.nan][: len(texts)], dtype=np.float32)

    found = make_reranker(score)
    assert found is not None and found("q", []) == [] and not seen
    for _ in range(2):
        assert found("q", ["a", "b", "c", "d"]) == [0.25, 1.0, 0.0, 0.0]
    assert all(type(number) is float for number in found("q", ["a"]))
    assert len(caplog.records) == 1 and "[0, 1]" in caplog.records[0].message
    with pytest.raises(ConfigError, match="4 scores for 5 texts"):
        found("q", ["a"] * 5)


def test_an_async_function_is_refused() -> None:
    """A coroutine function would give no numbers."""

    async def score(query: str, texts: list[str]) -> list[float]:
        return []

    with pytest.raises(ConfigError, match="async"):
        make_reranker(score)  # type: ignore[arg-type]
