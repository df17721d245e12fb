"""Where settings come from beside arguments: a TOML file, the environment; and what is wrong with them, in words."""

from __future__ import annotations

import difflib
import functools
import logging
import os
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from langmem_plus.errors import ConfigError, SettingsFileError
from langmem_plus.shown import shown

logger = logging.getLogger(__name__)

_TOLD: set[str] = set()


class CheckedSettings(BaseSettings):
    """Settings whose numbers are numbers: true is no 1, though Python has it so."""

    @field_validator("*", mode="before")
    @classmethod
    def _is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool):
            annotation = cls.model_fields[info.field_name or ""].annotation
            kinds = {annotation, *get_args(annotation)}
            if bool not in kinds and kinds & {int, float}:
                raise PydanticCustomError("boolean_number", "Give a number, which true and false aren't")
        return value


def read_toml(path: Path, groups: Mapping[str, str]) -> dict[str, Any]:
    """The knobs in a TOML file, its sections (one a group) laid flat.

    Args:
        path: the file.
        groups: the group of each knob.

    Raises:
        SettingsFileError: the file can't be read.
        ConfigError: a knob stands in the wrong section, twice, or in capitals.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        reason = error.strerror or error
        raise SettingsFileError(f"{str(path)!r} can't be read ({reason}): name a TOML file with settings.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsFileError(f"the configuration file {str(path)!r} can't be read: {error}") from error
    flat: dict[str, Any] = {}
    for name, value in data.items():
        if name not in groups.values() or not isinstance(value, dict):
            flat[name] = value
            continue
        for knob, inner in value.items():
            if groups.get(knob, name) != name:
                raise ConfigError(f"{str(path)!r}: {knob} belongs in [{groups[knob]}], not in [{name}].")
            if knob in flat:
                raise ConfigError(f"{str(path)!r}: {knob} stands at the top and in [{name}]: keep one of them.")
            flat[knob] = inner
    for knob in flat.keys() - groups.keys():
        if knob.lower() in groups:  # which pydantic takes in one place and not in the other
            raise ConfigError(f"{str(path)!r}: {knob} is not a setting; did you mean {knob.lower()}?")
    return flat


class TomlFile(PydanticBaseSettingsSource):
    """The knobs in a file, if one is named.

    Args:
        settings_cls: whose settings they are.
        path: the file.
        groups: the group of each knob.
    """

    def __init__(self, settings_cls: type[BaseSettings], path: str | None, groups: Mapping[str, str]) -> None:
        super().__init__(settings_cls)
        self._path, self._groups = path, groups

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        """Nothing: all of them come at once."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """What the file says."""
        return read_toml(Path(self._path), self._groups) if self._path else {}


def tell_oddities(settings: Any, others: Collection[str]) -> None:
    """Say once a process what is odd about settings that are none the less valid.

    Args:
        settings: a `MemoryConfig`.
        others: variables that are no settings and mean something all the same.
    """
    _tell_unknown(type(settings).model_config["env_prefix"], type(settings).model_fields, others)
    _tell_limits(settings.hard_limit_tokens, settings.threshold_tokens)
    _tell_candidates(settings.fetch_k, settings.top_k)


def _tell_unknown(prefix: str, known: Collection[str], others: Collection[str]) -> None:
    """Say once a process that an environment variable with our prefix is no setting; another program may want it.

    Args:
        prefix: what our variables begin with.
        known: the settings.
        others: variables that are none and mean something all the same.
    """
    for variable in os.environ:
        upper = variable.upper()
        name = upper.removeprefix(prefix).lower()
        if name in known or upper in others or upper in _TOLD or not upper.startswith(prefix):
            continue
        _TOLD.add(upper)
        near = [f"{prefix}{knob.upper()}" for knob in difflib.get_close_matches(name, known, 1)]
        logger.warning("%s is not a setting%s", variable, f"; did you mean {near[0]}?" if near else ", it does nothing")


@functools.cache
def _tell_limits(hard: int | None, threshold: int) -> None:
    """Say once a process that a hard limit below the threshold leaves the threshold nothing to do."""
    if hard is not None and hard < threshold:
        logger.warning(
            "hard_limit_tokens (%s) is below threshold_tokens (%s): answers in long threads wait for their summaries; "
            "set threshold_tokens below it",
            hard,
            threshold,
        )


@functools.cache
def _tell_candidates(fetched: int, recalled: int) -> None:
    """Say once a process that fewer candidates are ranked than should be recalled."""
    if fetched < recalled:
        logger.warning(
            "fetch_k (%s) is below top_k (%s): fewer memories than top_k may be recalled; set fetch_k to %s or more",
            fetched,
            recalled,
            recalled,
        )


def explain(error: ValidationError, known: Collection[str]) -> str:
    """What is wrong with the settings, and what to do, a sentence a setting."""
    lines = []
    for problem in error.errors():
        name = ".".join(map(str, problem["loc"]))
        if problem["type"] == "extra_forbidden":
            near = difflib.get_close_matches(name.lower(), known, 1)
            remedy = f"did you mean {near[0]}?" if near else "`langmem-plus config` lists them all."
            lines.append(f"{name} is not a setting; {remedy}")
        elif problem["type"] == "tuple_type":
            one = problem["input"] if isinstance(problem["input"], str) else "…"
            lines.append(f"{name}={shown(problem['input'])}: give a list, such as [{one!r}].")
        else:
            lines.append(f"{name}={shown(problem['input'])}: {problem['msg']}.")
    return " ".join(lines)
