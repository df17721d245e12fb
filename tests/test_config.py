"""The settings: every knob with its default, its bound and its sentence; where a value comes from."""

from __future__ import annotations

import datetime as dt
import re
import threading
from pathlib import Path
from typing import Any, get_args, get_origin

import annotated_types
import pytest
from pydantic import ValidationError

from langmem_plus.config import CONFIG_FILE_VARIABLE, GROUPS, MemoryConfig, knob_group
from langmem_plus.errors import ConfigError

DESIGNED: dict[str, dict[str, Any]] = {
    "store": {
        "memory_path": Path("./memory_db"),
        "embeddings": "local",
        "dense_index": "auto",
        "ann_threshold": 50_000,
        "sync_interval": 1,
        "start_watcher": False,
        "versioning": False,
        "durable": False,
    },
    "recall": {
        "enabled": True,
        "strategy": "auto",
        "recall_scope": "space",
        "top_k": 8,
        "fetch_k": 50,
        "fusion": "convex",
        "dense_weight": 0.5,
        "rrf_k": 60,
        "reranker": "auto",
        "relevance": "calibrated",
        "relevance_weight": 1,
        "recency_weight": 0.01,
        "importance_weight": 0.01,
        "recency_tau_days": 30,
        "mmr_lambda": 1.0,
        "score_threshold": None,
        "relevance_threshold": 0.7,
    },
    "inject": {
        "inject_as": "user",
        "max_prompt_tokens": 8000,
        "user_max_tokens": 2000,
        "summary_max_tokens": 400,
        "tail_max_tokens": 2500,
        "tail_messages": 20,
        "memories_max_tokens": 1200,
        "documents_max_tokens": 1500,
        "document_excerpt_bytes": 1200,
        "max_prompt_bytes": 64_000,
        "response_hint": None,
    },
    "remember": {
        "model": None,
        "base_url": None,
        "background": True,
        "max_facts": 3,
        "neighbourhood": 10,
        "simhash_distance": 3,
        "summarize": True,
        "summary_refresh_turns": 6,
        "summary_max_items": 7,
        "summary_source_max_turns": 120,
        "compress": True,
        "threshold_tokens": 10_000,
        "hard_limit_tokens": None,
        "recent_messages_to_keep": 10,
        "archive_conversations": False,
        "compress_deletes_turns": False,
        "max_entries": 10_000,
        "score_stale_hours": 24,
        "turn_ttl_days": None,
        "retention_days": None,
    },
    "control": {"incognito_default": False, "tombstone_hours": 24, "review": None},
}
KNOBS = MemoryConfig.model_fields
_BOUNDS = (annotated_types.Ge, annotated_types.Gt, annotated_types.Le, annotated_types.Lt)


def _kinds(name: str) -> set[Any]:
    """The types that a knob may have, without None."""
    annotation = KNOBS[name].annotation
    kinds = get_args(annotation) if get_origin(annotation) is not tuple else (annotation,)
    return {kind for kind in kinds or (annotation,) if kind is not type(None)}


NUMBERS = [name for name in KNOBS if _kinds(name) & {int, float}]


class TestKnobs:
    @pytest.mark.parametrize(
        ("group", "name", "default"),
        [(group, name, default) for group, knobs in DESIGNED.items() for name, default in knobs.items()],
    )
    def test_a_designed_knob_has_its_default(self, group: str, name: str, default: Any) -> None:
        """Every knob of the design exists, in its group, with its default and with its type."""
        value = getattr(MemoryConfig(), name)
        assert value == default
        assert isinstance(value, bool) == isinstance(default, bool)
        assert knob_group(name) == group

    def test_the_triggers_ask_for_an_earlier_conversation(self) -> None:
        """The default phrases are lower-case and include the designed ones."""
        triggers = MemoryConfig().search_triggers
        assert {"last time", "what did we discuss"} <= set(triggers)
        assert all(trigger == trigger.lower().strip() for trigger in triggers)

    @pytest.mark.parametrize("name", KNOBS)
    def test_a_knob_has_one_sentence_and_a_group(self, name: str) -> None:
        """Options, settings pages and documentation are made from it: one sentence, capital letter, full stop."""
        description = KNOBS[name].description or ""
        assert re.fullmatch(r"[\w].*[^.]\.", description), description
        assert description.split(".")[0][0].isupper() or description.startswith(("auto", "space"))
        assert not re.search(r"\.\s", description[:-1]), "more than one sentence"
        assert len(description) <= 120
        assert knob_group(name) in GROUPS

    @pytest.mark.parametrize("name", NUMBERS)
    def test_a_number_has_a_bound(self, name: str) -> None:
        """A number below its lower bound, or above its upper one, is refused, and the error names both; there are both,
        so that no value overflows later, far from here."""
        bounds = [bound for bound in KNOBS[name].metadata if isinstance(bound, _BOUNDS)]
        assert {type(bound).__name__[0] for bound in bounds} == {"G", "L"}, f"{name} needs a bound on both sides"
        for bound in bounds:
            for value in _outside(bound):
                with pytest.raises(ConfigError, match=rf"{name}={value}"):
                    MemoryConfig(**{name: value})

    @pytest.mark.parametrize("name", KNOBS)
    def test_a_knob_refuses_what_it_cannot_be(self, name: str) -> None:
        """An object is no setting, whichever it is."""
        with pytest.raises(ConfigError, match=name):
            MemoryConfig(**{name: object()})

    @pytest.mark.parametrize(
        ("name", "value"),
        [("fusion", "sum"), ("relevance", "raw"), ("inject_as", "tool"), ("strategy", "all"), ("dense_index", "faiss")],
    )
    def test_a_choice_refuses_another_word(self, name: str, value: str) -> None:
        """The error names the knob, the word and the choices."""
        with pytest.raises(ConfigError, match=f"{name}='{value}'.*Input should be '"):
            MemoryConfig(**{name: value})

    def test_an_unknown_knob_is_an_error(self) -> None:
        """A misspelt name is refused, and the message says which one was meant, or where the right ones are."""
        with pytest.raises(ConfigError, match=r"topk is not a setting; did you mean top_k\?"):
            MemoryConfig(topk=5)
        with pytest.raises(ConfigError, match=r"xyzzy is not a setting.*langmem-plus config"):
            MemoryConfig(xyzzy=5)

    @pytest.mark.parametrize(
        ("value", "remedy"), [("md", r"such as \['md'\]"), (5, "give a list"), (None, "give a list")]
    )
    def test_a_list_of_one_is_a_list(self, value: Any, remedy: str) -> None:
        """A text in the place of a list is shown as one."""
        with pytest.raises(ConfigError, match=rf"document_suffixes=.*{remedy}"):
            MemoryConfig(document_suffixes=value)

    @pytest.mark.parametrize("name", NUMBERS)
    def test_a_boolean_is_no_number(self, name: str) -> None:
        """True isn't 1, and the error says what was given."""
        for value in (True, False):
            with pytest.raises(ConfigError, match=f"^{name}={value}: Give a number"):
                MemoryConfig(**{name: value})

    def test_every_mistake_is_named_at_once(self) -> None:
        """One error lists all that is wrong."""
        with pytest.raises(ConfigError, match=r"top_k=0.*mmr_lambda=2.*nonsense"):
            MemoryConfig(top_k=0, mmr_lambda=2, nonsense=1)

    def test_settings_are_frozen_and_replaced(self) -> None:
        """A configuration doesn't change; a changed copy is checked like a new one."""
        config = MemoryConfig(top_k=5)
        with pytest.raises(ValidationError):
            config.top_k = 6
        assert (config.replace(fetch_k=60).top_k, config.replace(fetch_k=60).fetch_k) == (5, 60)
        assert config.fetch_k == 50
        with pytest.raises(ConfigError, match="fetch_k=0"):
            config.replace(fetch_k=0)


class TestEnvironment:
    @pytest.mark.parametrize(
        ("name", "text", "value"),
        [
            ("top_k", "5", 5),
            ("mmr_lambda", "0.25", 0.25),
            ("enabled", "false", False),
            ("versioning", "1", True),
            ("model", "openai:gpt-5-mini", "openai:gpt-5-mini"),
            ("memory_path", "/tmp/elsewhere", Path("/tmp/elsewhere")),
            ("score_threshold", "0.3", 0.3),
            ("search_triggers", '["as I said", "weißt du noch"]', ("as I said", "weißt du noch")),
            ("evict_roles", '["memory", "user"]', ("memory", "user")),
        ],
    )
    def test_a_variable_sets_a_knob(self, monkeypatch: pytest.MonkeyPatch, name: str, text: str, value: Any) -> None:
        """Every kind of knob can come from the environment."""
        monkeypatch.setenv(f"LANGMEM_PLUS_{name.upper()}", text)
        assert getattr(MemoryConfig(), name) == value

    def test_an_argument_wins_over_a_variable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What the program says counts more than where it runs."""
        monkeypatch.setenv("LANGMEM_PLUS_TOP_K", "5")
        assert MemoryConfig(top_k=6).top_k == 6

    def test_an_empty_variable_is_none_at_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """``LANGMEM_PLUS_TOP_K=`` leaves the default."""
        monkeypatch.setenv("LANGMEM_PLUS_TOP_K", "")
        assert MemoryConfig().top_k == 8

    @pytest.mark.parametrize(
        ("name", "text"),
        [("top_k", "many"), ("top_k", "0"), ("fusion", "sum"), ("search_triggers", "last time, before")],
    )
    def test_a_wrong_variable_is_an_error_that_names_its_knob(
        self, monkeypatch: pytest.MonkeyPatch, name: str, text: str
    ) -> None:
        """A mistake in the environment reads like any other."""
        monkeypatch.setenv(f"LANGMEM_PLUS_{name.upper()}", text)
        with pytest.raises(ConfigError, match=name):
            MemoryConfig()

    def test_other_peoples_variables_are_left_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only names that are knobs are read; a bare ``TOP_K`` isn't ours."""
        monkeypatch.setenv("TOP_K", "5")
        monkeypatch.setenv("LANGMEM_PLUS_SOMETHING_ELSE", "5")
        assert MemoryConfig().top_k == 8

    @pytest.mark.parametrize("value", [10**5000, float("inf"), float("nan"), "9" * 5000, [1] * 10_000], ids=type)
    def test_an_absurd_number_is_one_readable_line(self, value: Any) -> None:
        """However long it is, the error is short and names the knob."""
        for name in ("top_k", "flush_seconds", "turn_ttl_days"):
            with pytest.raises(ConfigError, match=f"^{name}=") as caught:
                MemoryConfig(**{name: value})
            assert len(str(caught.value)) < 300

    def test_the_longest_times_can_be_reckoned_with(self) -> None:
        """At its bounds no time overflows a date or a wait."""
        bounds = {name: next(b.le for b in KNOBS[name].metadata if hasattr(b, "le")) for name in NUMBERS}
        config = MemoryConfig(**bounds)
        assert dt.datetime.now(dt.UTC) + dt.timedelta(days=config.turn_ttl_days or 0, hours=config.tombstone_hours)
        assert config.retry_seconds * 2**config.retries < threading.TIMEOUT_MAX
        assert config.flush_seconds < threading.TIMEOUT_MAX

    def test_a_hard_limit_below_the_threshold_is_told_once(self, caplog: pytest.LogCaptureFixture) -> None:
        """It works, but the threshold never comes first, so that answers wait; equal ones and none say nothing."""
        for _ in range(2):
            MemoryConfig(hard_limit_tokens=61, threshold_tokens=62)
            MemoryConfig(hard_limit_tokens=62, threshold_tokens=62)
            MemoryConfig(hard_limit_tokens=None)
        (told,) = [record.getMessage() for record in caplog.records]
        assert "hard_limit_tokens (61) is below threshold_tokens (62)" in told

    def test_fewer_candidates_than_memories_are_told_once(self, caplog: pytest.LogCaptureFixture) -> None:
        """It works, but what is asked for can't always be found."""
        for _ in range(2):
            MemoryConfig(fetch_k=11, top_k=12)
            MemoryConfig(fetch_k=12, top_k=12)
        (told,) = [record.getMessage() for record in caplog.records]
        assert told.startswith("fetch_k (11) is below top_k (12)")

    def test_an_unknown_variable_is_told_once(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A misspelt one is named with the setting that was meant, once a process; it is no error."""
        monkeypatch.setattr("langmem_plus.config_sources._TOLD", set())
        monkeypatch.setenv("LANGMEM_PLUS_TOPK", "5")
        monkeypatch.setenv("LANGMEM_PLUS_ZZZ", "5")
        monkeypatch.setenv("LANGMEM_PLUS_USER", "ann")
        monkeypatch.setenv("LANGMEM_PLUS_FETCH_K", "40")
        for _ in range(2):
            assert MemoryConfig().top_k == 8
        told = [record.getMessage() for record in caplog.records]
        assert told == [
            "LANGMEM_PLUS_TOPK is not a setting; did you mean LANGMEM_PLUS_TOP_K?",
            "LANGMEM_PLUS_ZZZ is not a setting, it does nothing",
        ]


class TestToml:
    def test_a_flat_file(self, tmp_path: Path) -> None:
        """Knobs may stand one after another."""
        config = MemoryConfig.from_toml(_file(tmp_path, 'top_k = 5\nfusion = "rrf"\nsearch_triggers = ["last time"]\n'))
        assert (config.top_k, config.fusion, config.search_triggers) == (5, "rrf", ("last time",))

    def test_a_file_with_sections(self, tmp_path: Path) -> None:
        """Or in sections, one a group, and both ways mixed."""
        text = "max_facts = 2\n[recall]\ntop_k = 5\n[store]\nversioning = true\n[control]\nincognito_default = true\n"
        config = MemoryConfig.from_toml(_file(tmp_path, text))
        assert (config.max_facts, config.top_k, config.versioning, config.incognito_default) == (2, 5, True, True)

    def test_every_knob_can_stand_in_its_section(self, tmp_path: Path) -> None:
        """The defaults, written as a file with sections, are the defaults again."""
        text = "".join(f"[{group}]\n{_lines(group)}" for group in GROUPS)
        assert MemoryConfig.from_toml(_file(tmp_path, text)) == MemoryConfig()

    def test_a_knob_in_the_wrong_section_is_an_error(self, tmp_path: Path) -> None:
        """The message names the section that it belongs in."""
        with pytest.raises(ConfigError, match=r"top_k belongs in \[recall\], not in \[store\]"):
            MemoryConfig.from_toml(_file(tmp_path, "[store]\ntop_k = 5\n"))

    def test_a_knob_that_stands_twice_is_an_error(self, tmp_path: Path) -> None:
        """At the top and in its section: neither wins, and the message names both places."""
        with pytest.raises(ConfigError, match=r"memory\.toml': fetch_k stands at the top and in \[recall\]"):
            MemoryConfig.from_toml(_file(tmp_path, "fetch_k = 60\n[recall]\nfetch_k = 70\n"))

    @pytest.mark.parametrize("text", ["TOP_K = 5\n", "[recall]\nTOP_K = 5\n", "top_k = 5\nTOP_K = 6\n"])
    def test_a_knob_in_capitals_is_an_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        """The message says how it is written, whoever names the file."""
        path = _file(tmp_path, text)
        monkeypatch.setenv(CONFIG_FILE_VARIABLE, str(path))
        for read in (MemoryConfig, lambda: MemoryConfig.from_toml(path)):
            with pytest.raises(ConfigError, match=r"TOP_K is not a setting; did you mean top_k\?"):
                read()

    def test_a_byte_order_mark_is_passed_over(self, tmp_path: Path) -> None:
        """As some editors write one before the text."""
        assert MemoryConfig.from_toml(_file(tmp_path, "\ufefftop_k = 5\n")).top_k == 5

    @pytest.mark.parametrize("text", ["topk = 5\n", "[recall]\ntopk = 5\n", "[topk]\nx = 1\n"])
    def test_an_unknown_name_is_an_error(self, tmp_path: Path, text: str) -> None:
        """At the top, in a section, and as a section."""
        with pytest.raises(ConfigError, match="topk is not a setting"):
            MemoryConfig.from_toml(_file(tmp_path, text))

    def test_a_value_out_of_bounds_is_an_error(self, tmp_path: Path) -> None:
        """A file is checked like arguments."""
        with pytest.raises(ConfigError, match="top_k=0"):
            MemoryConfig.from_toml(_file(tmp_path, "[recall]\ntop_k = 0\n"))

    @pytest.mark.parametrize("content", [b"top_k = ", b"\xff\xfe", None], ids=["no-toml", "no-utf8", "missing"])
    def test_a_file_that_cannot_be_read_is_an_error(self, tmp_path: Path, content: bytes | None) -> None:
        """The message names the file."""
        path = tmp_path / "memory.toml"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"memory\.toml"):
            MemoryConfig.from_toml(path)

    def test_arguments_then_environment_then_file_then_default(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The first that has a value wins, for a file that is given and for one that the environment names."""
        path = _file(tmp_path, "top_k = 1\nfetch_k = 1\nmax_facts = 1\n")
        monkeypatch.setenv("LANGMEM_PLUS_TOP_K", "2")
        monkeypatch.setenv("LANGMEM_PLUS_FETCH_K", "2")
        given = MemoryConfig.from_toml(path, top_k=3)
        monkeypatch.setenv(CONFIG_FILE_VARIABLE, str(path))
        for config in (given, MemoryConfig(top_k=3)):
            assert (config.top_k, config.fetch_k, config.max_facts, config.neighbourhood) == (3, 2, 1, 10)

    def test_a_named_file_that_is_missing_is_an_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A wrong path in the environment isn't passed over."""
        monkeypatch.setenv(CONFIG_FILE_VARIABLE, str(tmp_path / "missing.toml"))
        with pytest.raises(ConfigError, match=r"missing\.toml"):
            MemoryConfig()


def _outside(bound: Any) -> list[float]:
    if isinstance(bound, annotated_types.Ge):
        return [bound.ge - 1]
    if isinstance(bound, annotated_types.Gt):
        return [bound.gt, bound.gt - 1]
    return [bound.le + 1 if isinstance(bound, annotated_types.Le) else bound.lt]


def _file(folder: Path, text: str) -> Path:
    path = folder / "memory.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _lines(group: str) -> str:
    """The knobs of a group that have a default, as TOML."""
    values = {name: getattr(MemoryConfig(), name) for name in KNOBS if knob_group(name) == group}
    written = {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}
    return "".join(f"{name} = {_toml(value)}\n" for name, value in written.items() if value is not None)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)
