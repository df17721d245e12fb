"""Every setting, with its default, its bounds and one sentence; the only place where a default stands.

A value comes from, first wins: an argument, an environment variable (``LANGMEM_PLUS_TOP_K=5``), a TOML file
(`MemoryConfig.from_toml`, or the file that ``LANGMEM_PLUS_CONFIG_FILE`` names), the default.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from langmem_plus.config_sources import CheckedSettings, TomlFile, explain, read_toml, tell_oddities
from langmem_plus.errors import ConfigError
from langmem_plus.presets import PRESETS
from langmem_plus.shown import shown

ENDLESS = 1_000_000_000  # a budget that no thread fills
GROUPS = ("store", "recall", "inject", "documents", "remember", "control")
CONFIG_FILE_VARIABLE = "LANGMEM_PLUS_CONFIG_FILE"
USER_VARIABLE = "LANGMEM_PLUS_USER"  # whose memory it is, on the command line
OTHER_VARIABLES = (CONFIG_FILE_VARIABLE, USER_VARIABLE)


def _knob(group: str, default: Any, description: str, **bounds: Any) -> Any:
    return Field(default, description=description, json_schema_extra={"group": group}, **bounds)


class MemoryConfig(CheckedSettings):
    """All knobs, flat; each field's ``group`` is its section in a TOML file and in the documentation.

    Raises:
        ConfigError: a knob is unknown or out of its bounds; the message names it and what is allowed.
    """

    model_config = SettingsConfigDict(
        env_prefix="LANGMEM_PLUS_", extra="forbid", frozen=True, validate_default=True, env_ignore_empty=True
    )

    # store
    memory_path: Path = _knob("store", Path("./memory_db"), "The folder that holds the Markdown files and the indexes.")
    embeddings: str = _knob("store", "local", "The embedder: local, none, or provider:model as LangChain names it.")
    dense_index: Literal["auto", "exact", "chroma"] = _knob(
        "store", "auto", "How vectors are searched: exactly, in Chroma, or Chroma above ann_threshold."
    )
    ann_threshold: int = _knob(
        "store", 50_000, "Vectors in a namespace above which auto is Chroma; below, it is no faster.", ge=1, le=ENDLESS
    )
    chroma_url: str | None = _knob("store", None, "A Chroma server, http://host:port, instead of one in this process.")
    sync_interval: float = _knob("store", 1.0, "Seconds between two looks for edits made by hand.", ge=0, le=86_400)
    start_watcher: bool = _knob("store", False, "Watch the files and pick up edits at once.")
    versioning: bool = _knob("store", False, "Keep the files' history in git, committed after the reply.")
    durable: bool = _knob("store", False, "Flush files and folders to the disk before a put returns.")
    open_namespaces: int = _knob("store", 64, "Namespace databases kept open at a time.", ge=1, le=4096)
    embed_batch: int = _knob("store", 64, "Texts embedded in one call when a backlog is worked off.", ge=1, le=4096)
    embed_late: int = _knob("store", 8, "Waiting texts, at most, that a search itself embeds.", ge=0, le=4096)
    embed_in_background: bool = _knob("store", True, "Embed what waits in a thread; off, searches embed it in batches.")
    embed_timeout: float = _knob("store", 20.0, "Seconds that an embedder has for one call.", gt=0, le=3600)
    embed_patience: float = _knob(
        "store", 0.5, "Seconds for a call above which writes leave their texts to the background.", ge=0, le=3600
    )
    embed_failures: int = _knob("store", 3, "Failed calls in a row after which the embedder rests.", ge=1, le=1000)
    embed_pause_seconds: float = _knob(
        "store", 30.0, "Seconds of its first rest, and before a refused text's second try.", gt=0, le=86_400
    )
    keyword_pool: int = _knob("store", 1000, "Keyword matches that a search ranks in each view.", ge=1, le=100_000)
    window_weight: float = _knob(
        "store", 0.6, "Share of the view 'a turn with its neighbours' against the turn alone.", ge=0, le=1
    )
    allow_downloads: bool = _knob("store", False, "Let tiktoken and flashrank fetch their files from the network.")

    # recall
    enabled: bool = _knob("recall", True, "Recall memories at all.")
    strategy: Literal["auto", "none", "tail", "memory", "documents", "archive"] = _knob(
        "recall", "auto", "Which memory a message needs; auto lets the plan decide."
    )
    recall_scope: Literal["space", "thread"] = _knob(
        "recall", "space", "space recalls from every thread of the space, thread from the current one and archives."
    )
    top_k: int = _knob("recall", 8, "Memories that are recalled at most.", ge=1, le=200)
    fetch_k: int = _knob(
        "recall", 50, "Candidates that are ranked closely; where no token bits choose them, more are.", ge=1, le=1000
    )
    fusion: Literal["convex", "rrf"] = _knob("recall", "convex", "How words and vectors are combined.")
    dense_weight: float = _knob("recall", 0.5, "Share of the vectors against the words, for convex fusion.", ge=0, le=1)
    rrf_k: int = _knob("recall", 60, "The constant of reciprocal rank fusion.", ge=1, le=1000)
    reranker: str = _knob(
        "recall",
        "auto",
        "auto, builtin, none, a flashrank model folder, or a chat model: provider:model, or model for that of model.",
    )
    reranker_folder: Path | None = _knob("recall", None, "A flashrank model folder, which auto then uses.")
    rerank_batch: int = _knob("recall", 50, "Candidates that a reranking model reads at most.", ge=1, le=500)
    rerank_seconds: float = _knob(
        "recall", 20.0, "Seconds that a chat model may take to rerank; then the built-in one does.", gt=0, le=3600
    )
    rerank_bits: Literal["local", "none"] = _knob(
        "recall",
        "local",
        "Token bits that the built-in reranker compares: the local model's, whatever else embeds.",
    )
    rerank_late: int = _knob(
        "recall", 100, "Candidates, at most, whose token bits a recall makes where the store has none.", ge=0, le=1000
    )
    relevance: Literal["calibrated", "sigmoid", "minmax"] = _knob(
        "recall", "calibrated", "How a raw relevance becomes a number in [0, 1]."
    )
    relevance_weight: float = _knob(
        "recall", 1.0, "Weight of relevance in the total; where all three are 0, it alone counts.", ge=0, le=10
    )
    recency_weight: float = _knob("recall", 0.01, "Weight of recency in the total.", ge=0, le=10)
    importance_weight: float = _knob("recall", 0.01, "Weight of importance in the total.", ge=0, le=10)
    recency_tau_days: float = _knob("recall", 30.0, "Days after which recency falls to 1/e.", gt=0, le=36_500)
    mmr_lambda: float = _knob("recall", 1.0, "Relevance against diversity: 1 is relevance alone.", ge=0, le=1)
    score_threshold: float | None = _knob(
        "recall",
        None,
        "Relevance below which a memory isn't recalled; none is what is calibrated: 0.18 in prompts, 0.04 in searches.",
        ge=0,
        le=1,
    )
    search_triggers: tuple[str, ...] = _knob(
        "recall",
        (
            "what did we discuss",
            "previous conversation",
            "last time",
            "remind me",
            "we mentioned",
            "earlier you said",
            *("was haben wir besprochen", "worüber haben wir gesprochen", "voriges gespräch", "letztes gespräch"),
            *("letztes mal", "letzten mal", "erinnere mich", "wir erwähnten", "vorhin sagtest du"),
            *("de quoi avons nous parlé", "conversation précédente", "la dernière fois", "rappelle moi"),
            *("nous avons mentionné", "on a mentionné", "tu disais tout à l'heure"),
            *("de qué hablamos", "qué discutimos", "conversación anterior", "la última vez", "recuérdame"),
            *("mencionamos", "antes dijiste"),
            *("我们讨论过什么", "我们聊过什么", "之前的对话", "上次", "提醒我", "我们提到过", "你之前说"),
        ),
        "Phrases that ask for an earlier conversation, in place of the built-in ones.",
    )
    plan_seconds: float = _knob(
        "recall", 10.0, "Seconds that a chat model may take to plan; then the cues do.", gt=0, le=3600
    )
    small_talk_cues: tuple[str, ...] = _knob(
        "recall", (), "Phrases of small talk beside the built-in ones; -phrase takes one out, -* all of them."
    )
    continuity_cues: tuple[str, ...] = _knob(
        "recall",
        (),
        "Phrases about the thread itself, such as go on; -phrase takes a built-in one out, -* all of them.",
    )
    document_cues: tuple[str, ...] = _knob(
        "recall", (), "Phrases that ask for documents beside the built-in ones; -phrase takes one out, -* all of them."
    )
    relevance_threshold: float = _knob("recall", 0.7, "Relevance that an archive needs to be recalled.", ge=0, le=1)

    # inject
    inject_as: Literal["user", "system"] = _knob("inject", "user", "Where recalled text stands in the model call.")
    max_prompt_tokens: int = _knob(
        "inject", 8000, "Tokens of everything that is injected, with the user's text.", ge=1, le=ENDLESS
    )
    user_max_tokens: int = _knob("inject", 2000, "Tokens of the user's own text.", ge=1, le=100_000_000)
    summary_max_tokens: int = _knob("inject", 400, "Tokens of the thread's summary.", ge=0, le=100_000_000)
    tail_max_tokens: int = _knob("inject", 2500, "Tokens of the thread's last messages.", ge=0, le=ENDLESS)
    tail_messages: int = _knob("inject", 20, "Messages of the thread that a call carries.", ge=1, le=ENDLESS)
    memories_max_tokens: int = _knob("inject", 1200, "Tokens of recalled memories.", ge=0, le=100_000_000)
    documents_max_tokens: int = _knob("inject", 1500, "Tokens of excerpts from documents.", ge=0, le=100_000_000)
    document_excerpt_bytes: int = _knob("inject", 1200, "Bytes of one excerpt.", ge=1, le=1_000_000_000)
    max_prompt_bytes: int = _knob("inject", 64_000, "Bytes of everything that is injected.", ge=1, le=ENDLESS)
    response_hint: str | None = _knob("inject", None, "A sentence on how to answer, placed after the memories.")

    # documents
    chunk_tokens: int = _knob("documents", 800, "Tokens of a piece of a document, at most.", ge=16, le=100_000)
    chunk_overlap: int = _knob(
        "documents", 100, "Tokens with which a piece repeats the end of the one before it, at most.", ge=0, le=50_000
    )
    document_suffixes: tuple[str, ...] = _knob(
        "documents", (".md", ".mdx", ".markdown", ".txt", ".text", ".rst", ".adoc"), "Endings of documents' names."
    )
    document_ignore: tuple[str, ...] = _knob(
        "documents",
        ("node_modules", "site-packages", "__pycache__", "venv"),
        "Names or paths of what is no document, with * and ?, beside all that is hidden.",
    )
    document_gitignore: bool = _knob("documents", True, "Leave out what .gitignore files in the folder leave out.")
    document_seconds: float = _knob(
        "documents", 2.0, "Seconds that a search reads what is new; the rest is read behind it.", ge=0, le=86_400
    )
    document_max_bytes: int = _knob(
        "documents", 5_000_000, "Bytes above which a file is no document.", ge=1, le=1_000_000_000
    )

    # remember
    model: str | None = _knob("remember", None, "The chat model that extracts and decides; none uses rules.")
    base_url: str | None = _knob("remember", None, "The address of an OpenAI-compatible server for the model.")
    background: bool = _knob("remember", True, "Draw facts out after the reply, in the background.")
    flush_seconds: float = _knob(
        "remember", 10.0, "Seconds that flush and the process's exit wait at most.", ge=0, le=86_400
    )
    background_workers: int = _knob(
        "remember", 4, "Threads that work after the reply at a time, each in another namespace.", ge=1, le=64
    )
    abandoned_seconds: float = _knob(
        "remember", 60.0, "Seconds after which the turn of a run that never ended is worked off.", gt=0, le=86_400
    )
    answer_seconds: float = _knob(
        "remember", 120.0, "Seconds that a model may take to extract, to decide or to summarise.", gt=0, le=86_400
    )
    retries: int = _knob("remember", 3, "Times that failed background work is tried again.", ge=0, le=10)
    retry_seconds: float = _knob(
        "remember", 1.0, "Seconds before the first new try, at most; each later try waits twice as long.", ge=0, le=3600
    )
    lease_seconds: float = _knob(
        "remember", 300.0, "Seconds after which a claimed turn may be claimed again.", gt=0, le=604_800
    )
    max_facts: int = _knob("remember", 3, "Facts drawn from one turn at most.", ge=0, le=50)
    fact_support: float = _knob(
        "remember", 0.5, "Share of a fact's words that its turn must hold, or the fact is dropped.", ge=0, le=1
    )
    turn_batch: int = _knob("remember", 50, "Pending turns that one run works off at most.", ge=1, le=10_000)
    combine: bool = _knob(
        "remember", True, "Ask a model once for facts, decisions and summary, of several turns if several wait."
    )
    turns_per_call: int = _knob("remember", 5, "Pending turns that combine reads in one call at most.", ge=1, le=50)
    enrich: bool = _knob("remember", True, "Find tags and entities of facts that have none, without asking a model.")
    neighbourhood: int = _knob("remember", 10, "Known records that a new fact is compared with.", ge=0, le=50)
    simhash_distance: int = _knob("remember", 3, "Bits in which near-duplicates may differ.", ge=0, le=64)
    summarize: bool = _knob("remember", True, "Keep a rolling summary of each thread.")
    summary_refresh_turns: int = _knob("remember", 6, "Turns after which the summary is refreshed.", ge=1, le=1_000_000)
    summary_max_items: int = _knob("remember", 7, "Points in a summary at most.", ge=1, le=100)
    summary_source_max_turns: int = _knob("remember", 120, "Turns that one summary reads at most.", ge=1, le=1_000_000)
    compress: bool = _knob("remember", True, "Let old messages leave a long thread once its summary tells them.")
    threshold_tokens: int = _knob(
        "remember", 10_000, "Tokens of a thread above which it is compressed.", ge=1, le=100_000_000
    )
    hard_limit_tokens: int | None = _knob(
        "remember", None, "Tokens above which compression makes a summary itself.", ge=1, le=100_000_000
    )
    recent_messages_to_keep: int = _knob("remember", 10, "Messages that compression leaves whole.", ge=1, le=1_000_000)
    archive_conversations: bool = _knob(
        "remember", False, "Keep an archive of conversations that are compressed or cleared, found in other threads."
    )
    compress_deletes_turns: bool = _knob("remember", False, "Soft-delete stored turns together with compression.")
    max_entries: int = _knob(
        "remember", 10_000, "Records a namespace keeps before the weakest are evicted.", ge=1, le=1_000_000_000
    )
    evict_roles: tuple[Literal["memory", "user", "assistant"], ...] = _knob(
        "remember", ("memory",), "The roles that max_entries counts and eviction takes."
    )
    evict_by: Literal["score", "age"] = _knob("remember", "score", "What makes a record weak: its score or its age.")
    score_stale_hours: float = _knob(
        "remember", 24.0, "Hours after which stored scores are computed anew.", ge=0, le=876_000
    )
    turn_ttl_days: float | None = _knob("remember", None, "Days after which verbatim turns expire.", gt=0, le=36_500)
    retention_days: float | None = _knob(
        "remember", None, "Days after which unpinned facts and turns are archived and erased.", gt=0, le=36_500
    )
    strict: bool = _knob("remember", False, "Raise when memory fails instead of answering without it.")

    # control
    trust_callers: bool = _knob(
        "control", False, "Let who is signed in on a LangGraph server name other users, as a backend does."
    )
    incognito_default: bool = _knob("control", False, "Start every thread without memory.")
    telemetry_content: bool = _knob(
        "control", False, "Put texts, users and threads into traces; off, names and numbers alone."
    )
    tombstone_hours: float = _knob(
        "control", 24.0, "Hours for which a deleted record can be brought back.", ge=0, le=876_000
    )
    review: Literal["none", "conflicts", "all"] | None = _knob(
        "control", None, "Which decisions wait for the owner's approval: conflicts with what is known, or all."
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigError(explain(error, type(self).model_fields)) from error
        except SettingsError as error:  # a list in the environment that isn't JSON
            raise ConfigError(f'{error}: {error.__cause__}. Lists are JSON, such as ["last time"].') from error
        tell_oddities(self, OTHER_VARIABLES)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then the environment, then the TOML file that the environment names."""
        file, prefix = os.environ.get(CONFIG_FILE_VARIABLE), getattr(env_settings, "env_prefix", "").upper()
        if not file and not any(name.upper().startswith(prefix) for name in os.environ):
            return (init_settings,)  # looking for each knob in vain takes longer than all the rest
        return init_settings, env_settings, TomlFile(settings_cls, file, _groups())

    @classmethod
    def from_toml(cls, path: str | Path, **overrides: Any) -> MemoryConfig:
        """Read a TOML file, flat or with one section a group; the environment wins over it, ``overrides`` over both.

        Raises:
            ConfigError: the file is missing, isn't TOML, or has an unknown knob.
        """
        environment = {name.upper() for name, value in os.environ.items() if value}
        prefix = cls.model_config["env_prefix"]
        read = read_toml(Path(path), _groups())
        values = {name: value for name, value in read.items() if f"{prefix}{name.upper()}" not in environment}
        return cls(**{**values, **overrides})

    @classmethod
    def of(cls, value: Any) -> MemoryConfig:
        """The settings that an argument ``config`` means; None reads the environment.

        Raises:
            ConfigError: it is something else.
        """
        if value is None:
            return cls()
        if not isinstance(value, MemoryConfig):
            raise ConfigError(f"config is {shown(value)}: pass MemoryConfig(top_k=5, …), or leave it out.")
        return value

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> MemoryConfig:
        """A published system's behaviour: ``agent-cli``, ``agent-cli-sigmoid``, ``theoria`` or ``agent-service``.

        Raises:
            ConfigError: there is no such preset.
        """
        if name not in PRESETS:
            raise ConfigError(f"there is no preset {name!r}; choose from {', '.join(PRESETS)}.")
        return cls(**{**PRESETS[name], **overrides})

    def replace(self, **changes: Any) -> MemoryConfig:
        """A copy with some knobs changed, checked again."""
        return type(self)(**{**self.model_dump(), **changes})


def _groups() -> dict[str, str]:
    return {name: knob_group(name) for name in MemoryConfig.model_fields}


def knob_group(name: str) -> str:
    """The group of a knob: one of `GROUPS`."""
    extra = MemoryConfig.model_fields[name].json_schema_extra
    return str(extra["group"]) if isinstance(extra, dict) else ""
