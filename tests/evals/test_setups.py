"""The rows of a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, InvalidValueError, LangMemPlusError
from langmem_plus.evals.setups import by_store, make_setups
from langmem_plus.presets import PRESETS

BASE = MemoryConfig(top_k=7)


def test_plain_keyword_ranking_is_always_among_the_rows() -> None:
    """Each row once; the built-in ones change the settings that are given."""
    found = make_setups(["default,words", "default"], BASE)
    assert [(each.name, each.plain, each.config.top_k) for each in found] == [
        ("default", False, 7),
        ("words", False, 7),
        ("bm25", True, 7),
    ]
    assert (found[0].changed, found[1].changed) == ({"top_k": 7}, {"embeddings": "none", "top_k": 7})
    assert [each.name for each in make_setups([], BASE)] == ["default", "bm25"]


def test_everything_is_the_built_in_rows_and_the_presets() -> None:
    """A preset keeps its own numbers."""
    found = {each.name: each for each in make_setups(["all"], BASE)}
    assert found.keys() == {"default", "turn-vectors", "words", "fusion", "vectors", "bm25", *PRESETS}
    assert found["theoria"].config.top_k == PRESETS["theoria"]["top_k"]
    assert not found["agent-cli"].config.versioning  # it keeps history, which no measure sees


def test_a_file_is_a_row(tmp_path: Path) -> None:
    """Named by its stem; two of one name, or nothing of the name, are refused."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.toml").write_text("top_k = 3", encoding="utf-8")
    (mine, _) = make_setups([str(tmp_path / "a" / "mine.toml")], BASE)
    assert (mine.name, mine.config.top_k) == ("mine", 3)
    with pytest.raises(InvalidValueError, match="mine"):
        make_setups([f"{tmp_path}/a/mine.toml,{tmp_path}/b/mine.toml"], BASE)
    with pytest.raises(InvalidValueError, match="theoria"):
        make_setups(["theory"], BASE)


@pytest.mark.parametrize("text", ["topk = 4", "top_k = 0", "top_k = 'many'", "top_k =", "[store]\ntop_k = 3"])
def test_what_is_wrong_in_a_file_names_it_once(tmp_path: Path, text: str) -> None:
    """A comparison may have several files."""
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        make_setups(["default", str(path)], BASE)
    assert str(raised.value).count("mine.toml") == 1


def test_what_writes_the_same_shares_a_store() -> None:
    """One with vectors builds it; what keeps fewer records, or embeds otherwise, has its own."""
    names = [[each.name for each in group] for group in by_store(make_setups(["words,default,vectors,theoria"], BASE))]
    assert names == [["default", "vectors", "words", "bm25"], ["theoria"]]
    alone = by_store(make_setups(["words"], BASE))
    assert [each.name for each in alone[0]] == ["words", "bm25"]
    other = [*make_setups([], BASE), *make_setups([], BASE.replace(embeddings="openai:text-embedding-3-small"))]
    assert len(by_store(other)) == 2


def test_rerankers_are_rows_where_their_models_are_there() -> None:
    """A chat model that the settings name, a flashrank folder; then the built-in one may be a row of its own."""
    extra = {"model-reranker", "flashrank", "builtin-reranker"}

    def rerankers(**settings: Any) -> dict[str, str]:
        base = BASE.replace(**settings)
        return {each.name: each.config.reranker for each in make_setups(["all"], base) if each.name in extra}

    assert rerankers() == rerankers(reranker="builtin") == rerankers(model="none") == {}
    assert rerankers(model="openai:gpt-5-mini") == {"model-reranker": "openai:gpt-5-mini"}
    named = {"model-reranker": "openai:gpt-5-mini", "builtin-reranker": "builtin"}
    assert rerankers(reranker="openai:gpt-5-mini") == named
    assert rerankers(reranker_folder=Path("tiny")) == {"flashrank": "tiny", "builtin-reranker": "builtin"}
    (row, _) = make_setups(["model-reranker"], BASE.replace(model="openai:gpt-5-mini"))
    assert row.changed == {"reranker": "openai:gpt-5-mini", "top_k": 7}, "facts are drawn out by rules"
    (row, _) = make_setups([], BASE.replace(model="openai:gpt-5-mini", reranker="model"))
    assert (row.config.model, row.config.reranker) == (None, "openai:gpt-5-mini")
    for name, needed in {
        "model-reranker": "set model",
        "flashrank": "reranker_folder",
        "builtin-reranker": "is",
    }.items():
        with pytest.raises(ConfigError, match=f"{name}'.* {needed}"):
            make_setups([name], BASE)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nofile.toml", "there is no file 'nofile.toml'"),
        ("no/file", "there is no file 'no/file'"),
        ("defualt", "did you mean default"),
        ("foo", "default, .*model-reranker, flashrank, .*theoria, .*all, or name a TOML file"),
        ("..", "is a folder"),
    ],
)
def test_what_is_no_row_is_told_with_all_that_are(name: str, problem: str) -> None:
    """A file's name is called a file that isn't there."""
    with pytest.raises(LangMemPlusError, match=problem):
        make_setups([name], BASE)
