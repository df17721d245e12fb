"""What is compared: the settings as they are, parts of them, plain BM25, presets, and settings from TOML files."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langmem_plus.config import MemoryConfig, knob_group
from langmem_plus.errors import ConfigError, InvalidValueError, SettingsFileError
from langmem_plus.presets import PRESETS
from langmem_plus.providers.rerank import SAME_MODEL, named_chat_model

DEFAULT, WORDS, VECTORS, BM25 = "default", "words", "vectors", "bm25"
TURN_VECTORS, FUSION = "turn-vectors", "fusion"
_BUILT_IN: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    TURN_VECTORS: {"rerank_bits": "none"},
    WORDS: {"embeddings": "none"},
    FUSION: {"reranker": "none"},
    VECTORS: {"dense_weight": 1.0, "fusion": "convex", "reranker": "none"},
    BM25: {"embeddings": "none", "window_weight": 0.0},
}
MODEL_RERANKER, FLASHRANK, BUILT_IN_RERANKER = "model-reranker", "flashrank", "builtin-reranker"
EVERYTHING = "all"
# What the rows need that aren't always there.
_NEEDS = {
    MODEL_RERANKER: "needs a model: set model, or reranker, to provider:model in the environment or a settings file",
    FLASHRANK: "needs a model: set reranker_folder to its folder in the environment or a settings file",
    BUILT_IN_RERANKER: "is the default one: the settings name no other reranker",
}
# A measurement wants everything embedded and drawn out before it asks, however busy the machine is.
_STEADY: dict[str, Any] = {
    "background": False,
    "embed_in_background": False,
    "embed_timeout": 3600.0,
    "versioning": False,
    "start_watcher": False,
    "sync_interval": 86_400.0,
}
_WRITTEN_BY = ("remember", "control")  # the groups of settings that decide what stands in a store
_IRRELEVANT = ("background", "background_workers", "flush_seconds")


@dataclass(frozen=True)
class Setup:
    """One row of a comparison.

    Args:
        name: what it is called.
        config: the settings.
        plain: the store's keyword ranking of turns alone, without anything of recall.
    """

    name: str
    config: MemoryConfig
    plain: bool = False

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that differ from the defaults, but for what holds for every measurement."""
        values = self.config.model_dump(mode="json")
        return {
            name: values[name]
            for name, field in MemoryConfig.model_fields.items()
            if getattr(self.config, name) != field.default and name not in (*_STEADY, "memory_path")
        }

    @property
    def written_as(self) -> str:
        """What two setups have in common that may use the same store: the settings that decide what stands in it."""
        values = self.config.model_dump(mode="json")
        wanted = {n: v for n, v in values.items() if knob_group(n) in _WRITTEN_BY and n not in _IRRELEVANT}
        return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def embeds(self) -> bool:
        """Whether it uses vectors."""
        return self.config.embeddings.strip().lower() not in ("", "none")


def steady(config: MemoryConfig) -> MemoryConfig:
    """The settings as a measurement uses them: everything is embedded and drawn out before it asks."""
    return config.replace(**_STEADY)


def _by_rules(config: MemoryConfig) -> MemoryConfig:
    """The steady settings without the chat model that draws facts out: in a comparison, rules do, also where a chat
    model reranks.
    """
    is_same = named_chat_model(config.reranker.strip()) == SAME_MODEL and config.model
    return steady(config.replace(model=None, reranker=config.model if is_same else config.reranker))


def built_in(base: MemoryConfig) -> dict[str, dict[str, Any]]:
    """What each built-in row changes of the settings. Other rerankers have a row where their model is there:
    ``model-reranker`` the chat model that the settings name, ``flashrank`` the folder; and where
    the default row uses one of these, ``builtin-reranker`` is the built-in one.
    """
    rows = dict(_BUILT_IN)
    spec = base.reranker.strip()
    if named_chat_model(spec) not in (None, SAME_MODEL):
        rows[MODEL_RERANKER] = {"reranker": spec}
    elif (base.model or "").strip().lower() not in ("", "none"):
        rows[MODEL_RERANKER] = {"reranker": SAME_MODEL}
    if base.reranker_folder is not None:
        rows[FLASHRANK] = {"reranker": str(base.reranker_folder)}
    if spec.lower() not in ("", "builtin", "none") and (spec.lower() != "auto" or base.reranker_folder is not None):
        rows[BUILT_IN_RERANKER] = {"reranker": "builtin"}
    return rows


def make_setup(name: str, base: MemoryConfig) -> Setup:
    """A row by its name: built in, a preset, or the path of a TOML file.

    Args:
        name: ``default``, ``turn-vectors`` (no token bits), ``words``, ``fusion`` (no reranker), ``vectors``, ``bm25``,
            a reranker as `built_in` has them, a preset's name, or a path.
        base: the settings that the built-in rows change.

    Raises:
        InvalidValueError: there is no such row or preset.
        SettingsFileError: there is no such file.
        ConfigError: the row lacks something that it needs.
    """
    rows = built_in(base)
    if name in rows:
        return Setup(name, _by_rules(base.replace(**rows[name])), plain=name == BM25)
    if name in _NEEDS:
        raise ConfigError(f"the row {name!r} {_NEEDS[name]}.")
    if name in PRESETS:
        return Setup(name, _by_rules(MemoryConfig.preset(name)))
    path = Path(name)
    if not path.is_file():
        raise _unknown(name, path)
    return Setup(path.stem, _by_rules(_read(path)))


def _read(path: Path) -> MemoryConfig:
    """A file's settings; what is wrong with them names the file, of which a comparison may have several."""
    try:
        return MemoryConfig.from_toml(path)
    except ConfigError as error:
        raise (error if str(path) in str(error) else ConfigError(f"{str(path)!r}: {error}")) from error


def _unknown(name: str, path: Path) -> InvalidValueError | SettingsFileError:
    """Why a name is no row, and which ones there are."""
    if path.is_dir():
        return SettingsFileError(f"{name!r} is a folder: name a TOML file of settings to compare.")
    if path.suffix.lower() == ".toml" or path.parent != Path():
        return SettingsFileError(f"there is no file {name!r} to compare.")
    choices = [*_BUILT_IN, *_NEEDS, *PRESETS, EVERYTHING]
    near = difflib.get_close_matches(name.lower(), choices, 1)
    guess = f"did you mean {near[0]}? C" if near else "c"
    return InvalidValueError(
        f"there is nothing to compare called {name!r}; {guess}hoose from {', '.join(choices)}, or name a TOML file of "
        "settings."
    )


def make_setups(names: Sequence[str], base: MemoryConfig) -> list[Setup]:
    """The rows, each once; BM25 is always among them, since the others are tested against it.

    Args:
        names: as `make_setup` takes them, several in one with commas; ``all`` is everything built in and the presets.
            None at all is ``default``.
        base: the settings that the built-in rows change.

    Raises:
        InvalidValueError: there is no such row or preset, or two files have one name.
        SettingsFileError: there is no such file.
        ConfigError: a row lacks something that it needs.
    """
    wanted = [part.strip() for name in names for part in name.split(",") if part.strip()] or [DEFAULT]
    wanted = [each for name in wanted for each in ((*built_in(base), *PRESETS) if name == EVERYTHING else (name,))]
    found = [make_setup(name, base) for name in dict.fromkeys([*wanted, BM25])]
    names_given = [setup.name for setup in found]
    if twice := [name for name in names_given if names_given.count(name) > 1]:
        raise InvalidValueError(f"two rows of the comparison are called {twice[0]!r}: rename one of the files.")
    return found


def by_store(setups: Sequence[Setup]) -> list[list[Setup]]:
    """The setups that can share a store, together; in each group the first one with vectors comes first, to build it.

    A store serves those without vectors, too; two embedders have a store each.
    """
    groups: dict[tuple[str, str], list[Setup]] = {}
    for setup in (each for each in setups if each.embeds):
        groups.setdefault((setup.written_as, setup.config.embeddings), []).append(setup)
    for setup in (each for each in setups if not each.embeds):
        key = next((key for key in groups if key[0] == setup.written_as), (setup.written_as, "none"))
        groups.setdefault(key, []).append(setup)
    return list(groups.values())
