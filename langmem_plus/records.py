"""The vocabulary: whose memory it is (`Scope`), one memory (`MemoryRecord`), what a recall found and why
(`MemoryHit`, `MemoryReport`), and what the write path decided (`Fact`, `Decision`).

A record's ``model_dump(mode="json")`` is the value in the store: flat, plain JSON.
"""

from __future__ import annotations

import datetime as dt
import functools
import uuid
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from langmem_plus import display
from langmem_plus.labels import fill_template, read_id, read_space, read_user
from langmem_plus.shown import shown

Role = Literal["memory", "user", "assistant", "summary", "archive", "document"]
Status = Literal["active", "pending", "superseded", "deleted"]
ROLES: tuple[str, ...] = get_args(Role)
TURN_ROLES: tuple[str, ...] = ("user", "assistant")
NEWER_THAN = "newer_than"  # in a fact's metadata: the ids of what it may replace, without anything to tell it
PROPOSED = "proposed_tags"  # in a fact's metadata: what its neighbours are about, by tag the ids of these neighbours
FORGOTTEN = "forgotten"  # in a turn's metadata: it tells what the user asked to forget, so it isn't recalled
SAYS_MORE = "says_more"  # in a turn's metadata: it tells what none of its facts does; their fingerprints, by id
DRAWN = "drawn_facts"  # in the metadata of a turn that tells no more than its facts: their fingerprints, by id
REVIEW = "review"  # in metadata: what a fact waits for; in a turn's, which of its facts wait or were rejected
GLOBAL_SPACE = "global"

_RECORD_IDS = uuid.UUID("5e2f6b0e-93f2-4f3e-9d2b-6a7f0d1c8e44")


def utc_now() -> dt.datetime:
    """The current time, aware and in UTC. The one clock; tests pass their own."""
    return dt.datetime.now(dt.UTC)


def parse_time(value: Any) -> Any:
    """Read a time as people write it: aware, naive (taken as UTC), ``Z``, or a date alone (midnight UTC).

    What isn't a time is handed back unchanged, so that pydantic names it in its error.

    Raises:
        ValueError: the time lies outside of the years 1 to 9999 once it is in UTC.
    """
    if isinstance(value, str):
        try:
            value = _read_time(value)
        except ValueError:
            return value
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if isinstance(value, dt.datetime):
        try:
            return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)
        except OverflowError as error:
            raise ValueError(f"{value.isoformat()} lies outside of the years 1 to 9999 in UTC") from error
    return value


@functools.lru_cache(maxsize=20_000)
def _read_time(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text.strip())


def parse_epoch(value: float) -> dt.datetime:
    """The time so many seconds after 1970 in UTC; numbers too large for that are taken as milliseconds.

    >>> parse_epoch(1683554160) == parse_epoch(1683554160000)
    True

    Raises:
        ValueError: it is no number, or lies outside of the years 1 to 9999.
    """
    try:
        seconds = value / 1000 if abs(value) >= 1e11 else value  # 1e11 s is the year 5138, 1e11 ms is 1973
        return dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (OverflowError, OSError) as error:
        raise ValueError(f"{shown(value)} lies outside of the years 1 to 9999") from error


def format_time(value: dt.datetime) -> str:
    """Write a time as fixed-width ISO 8601 in UTC, so that text order is time order."""
    return value.astimezone(dt.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


Time = Annotated[
    dt.datetime, BeforeValidator(parse_time), PlainSerializer(format_time, return_type=str, when_used="json")
]


class Scope(BaseModel):
    """Whose memory, and which part of it: the one place where identities become namespaces and filters.

    Args:
        user_id: whose memory it is; any text that isn't blank. Numbers and UUIDs are read as their text, as LangGraph
            takes them for threads; here, in ``thread_id`` and in ``agent_id``.
        space: a project, a workspace, an agent's own room. ``"global"`` is searched with every other space.
        thread_id: one conversation, as the checkpointer knows it.
        agent_id: the agent that writes, kept in the records.
        template: the namespace's labels, with fields in braces; the default is ``memories / user / space``. A template
            may use fields of one's own, given beside the others.
    """

    model_config = ConfigDict(frozen=True, extra="allow")  # fields of one's own, for one's own template

    user_id: str
    space: str = "default"
    thread_id: str | None = None
    agent_id: str | None = None
    template: tuple[str, ...] = ("memories", "{user_id}", "{space}")

    def __init__(self, user_id: str | None = None, space: str = "default", **fields: Any) -> None:
        for name in ("thread_id", "agent_id"):
            if fields.get(name) is not None:
                fields[name] = read_id(name, fields[name])
        super().__init__(user_id=read_user(user_id), space=read_space(space), **fields)

    @property
    def namespace(self) -> tuple[str, ...]:
        """The namespace of this scope's records, its labels encoded where LangGraph forbids them."""
        return fill_template(self.template, self.model_dump(exclude={"template"}))

    @property
    def namespaces(self) -> tuple[tuple[str, ...], ...]:
        """The namespaces to search: this space and, where the template has spaces, the user's ``global`` one."""
        own, other = self.namespace, self.model_copy(update={"space": GLOBAL_SPACE}).namespace
        return (own,) if other == own else (own, other)


class Scores(BaseModel):
    """The scores of a record's last recall, each in [0, 1], and when they were computed."""

    relevance: float = 0.0
    recency: float = 0.0
    importance: float = 0.0
    total: float = 0.0
    computed_at: Time | None = None


class MemoryRecord(BaseModel):
    """One memory: a fact, a verbatim turn, a thread's summary, an archive or a piece of a document.

    ``created_at`` and ``updated_at`` say when it was written here, ``observed_at`` when it was said. All times are
    aware UTC; naive, ``Z`` and date-only texts are read as UTC. ``importance`` and ``metadata_confidence`` are in
    [0, 1]. ``simhash`` has 16 hex digits. ``metadata`` is free JSON; a turn's speaker stands in ``metadata["name"]``.
    """

    model_config = ConfigDict(extra="forbid")

    id: str
    role: Role = "memory"
    text: str
    user_id: str
    space: str = "default"
    thread_id: str | None = None
    agent_id: str | None = None
    created_at: Time = Field(default_factory=utc_now)
    updated_at: Time = Field(default_factory=utc_now)
    observed_at: Time | None = None
    expires_at: Time | None = None
    importance: float = Field(0.0, ge=0, le=1)
    pinned: bool = False
    manually_saved: bool = False
    tags: list[str] = Field(default_factory=list)
    source_ids: list[str] = Field(default_factory=list)
    metadata_confidence: float = Field(0.0, ge=0, le=1)
    simhash: str | None = Field(None, pattern=r"^[0-9a-f]{16}$")
    repeat_count: int = Field(0, ge=0)
    replaces: list[str] = Field(default_factory=list)
    replaced_by: str | None = None
    status: Status = "active"
    extracted: bool | None = None
    covers_until: Time | None = None
    summary_kind: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    last_scores: Scores | None = None

    @property
    def said_at(self) -> dt.datetime:
        """When it was said, or, where nobody knows, when it was written.

        Nothing is said after it was written: a clock that is ahead would let it outlive every later correction. An
        archive is written anew as its conversation goes on, and a fact as it is said again.
        """
        written = self.updated_at if self.role == "archive" or self.repeat_count else self.created_at
        return min(self.observed_at, written) if self.observed_at else written

    def has_ended(self, now: dt.datetime) -> bool:
        """Whether its own time is over. A turn that is pinned or was saved on purpose stays whatever its time was."""
        is_kept = self.role in TURN_ROLES and (self.pinned or self.manually_saved)
        return self.expires_at is not None and self.expires_at <= now and not is_kept

    def to_value(self) -> dict[str, Any]:
        """The value that stands in the store."""
        return self.model_dump(mode="json")

    def _repr_html_(self) -> str:
        return display.record_html(self.to_value())


def record_id(*parts: object) -> str:
    """A deterministic id: the same parts give the same id, so that a retry or a replay writes once.

    Parts are told apart by their length, so ``("a", "bc")`` and ``("ab", "c")`` differ. Broken text (half a surrogate
    pair) has an id, too.
    """
    joined = "".join(f"{len(text)}:{text}" for text in map(str, parts))
    return str(uuid.uuid5(_RECORD_IDS, joined.encode("utf-8", "backslashreplace").decode()))


def summary_key(scope: Scope, thread_id: str | None = None) -> str:
    """The id of a thread's rolling summary; without a thread, that of the scope's own."""
    return record_id("summary", *scope.namespace, scope.thread_id if thread_id is None else thread_id)


def archive_key(scope: Scope, thread_id: str | None = None) -> str:
    """The id of a conversation's archive; without a thread, that of the space's own."""
    thread = scope.thread_id if thread_id is None else thread_id
    return record_id("archive", *scope.namespace, *([] if thread is None else [thread]))


class MemoryHit(BaseModel):
    """A record that a search found, with its place in the store and one number a stage.

    ``scores`` may hold ``words``, ``dense`` (legs of the store), ``store`` (the store's own score), ``relevance``,
    ``recency``, ``importance`` and ``total``. ``vector`` and ``bits`` (token bits) are what the store hands out, and
    ``former`` are hits of what the record replaced, which speak for it; they are never serialised.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    record: MemoryRecord
    namespace: tuple[str, ...] = ()
    scores: dict[str, float] = Field(default_factory=dict)
    vector: Any = Field(default=None, exclude=True, repr=False)
    bits: Any = Field(default=None, exclude=True, repr=False)
    former: tuple[MemoryHit, ...] = Field(default=(), exclude=True, repr=False)

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.id

    @property
    def text(self) -> str:
        """The record's text."""
        return self.record.text

    def _repr_html_(self) -> str:
        return display.hits_html([self.model_dump(mode="json")])

    def __eq__(self, other: object) -> bool:
        # The vector is the store's; arrays have no single truth to compare by.
        if not isinstance(other, MemoryHit):
            return NotImplemented
        return (self.record, self.namespace, self.scores) == (other.record, other.namespace, other.scores)

    __hash__ = None  # type: ignore[assignment]  # a hit is a mutable record, as every pydantic model


class Fact(BaseModel):
    """One atomic statement drawn from a turn, not yet stored. Its key is its source turn's key and its ordinal."""

    text: str
    source_id: str
    ordinal: int = Field(ge=0)
    importance: float = Field(0.0, ge=0, le=1)
    tags: list[str] = Field(default_factory=list)
    metadata_confidence: float = Field(0.0, ge=0, le=1)
    observed_at: Time | None = None
    thread_id: str | None = None
    manually_saved: bool = False
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def key(self) -> str:
        """The id of the record that this fact becomes."""
        return record_id("fact", self.source_id, self.ordinal)


Event = Literal["ADD", "UPDATE", "DELETE", "NONE"]


class Decision(BaseModel):
    """What happens to one fact or one known record, and who decided: ``rule``, ``model``, ``duplicate``, ``fallback``.

    ADD stores ``fact``; UPDATE stores ``fact`` and retires ``target``; DELETE retires ``target``; NONE stores nothing,
    and strengthens ``target`` where there is one (a repeat). ``asked_at`` is when a request to forget was said.
    """

    event: Event
    fact: Fact | None = None
    target: str | None = None
    reason: str = ""
    by: str = "rule"
    asked_at: Time | None = None


class Plan(BaseModel):
    """Whether a message needs memory, and which kind; ``reason`` names the cue that decided."""

    strategy: Literal["none", "tail", "memory", "documents", "archive"]
    reason: str
    query: str = ""


class Choice(BaseModel):
    """Why one memory was chosen or dropped."""

    id: str
    text: str
    kept: bool
    reason: str
    scores: dict[str, float] = Field(default_factory=dict)

    def _repr_html_(self) -> str:
        return display.choices_html([self.model_dump(mode="json")])


class MemoryReport(BaseModel):
    """What a recall or a remember run did: strategy, counts, tokens a section, milliseconds a stage, and why.

    Stages add to it with `merge`, and tell in ``notes`` why they left something as it was; it is streamed as the custom
    event ``{"memory": report}``.
    """

    strategy: str | None = None
    reason: str | None = None
    counts: dict[str, int] = Field(default_factory=dict)
    tokens: dict[str, int] = Field(default_factory=dict)
    milliseconds: dict[str, float] = Field(default_factory=dict)
    choices: list[Choice] = Field(default_factory=list)
    decisions: list[dict[str, Any]] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    notes: dict[str, str] = Field(default_factory=dict)

    def _repr_html_(self) -> str:
        return display.report_html(self.model_dump(mode="json"))

    def merge(self, other: MemoryReport) -> MemoryReport:
        """A new report: later strategy and numbers win, lists are joined; a choice replaces an earlier one by id."""
        choices = {choice.id: choice for choice in (*self.choices, *other.choices)}
        return MemoryReport(
            strategy=other.strategy or self.strategy,
            reason=other.reason or self.reason,
            counts={**self.counts, **other.counts},
            tokens={**self.tokens, **other.tokens},
            milliseconds={**self.milliseconds, **other.milliseconds},
            choices=list(choices.values()),
            decisions=[*self.decisions, *other.decisions],
            warnings=list(dict.fromkeys((*self.warnings, *other.warnings))),
            notes={**self.notes, **other.notes},
        )

    def after(self, before: Mapping[str, Any] | None) -> dict[str, Any]:
        """This report merged into an earlier one, both as plain JSON: what `merge` gives, without reading the earlier
        one again, where it has the shape of a report.
        """
        own: dict[str, Any] = self.model_dump(mode="json")
        if not before:
            return own
        if before.keys() != own.keys() or not all(isinstance(c, dict) and "id" in c for c in before["choices"]):
            return MemoryReport.model_validate(before).merge(self).model_dump(mode="json")
        return {
            **{name: own[name] or before[name] for name in ("strategy", "reason")},
            **{name: {**before[name], **own[name]} for name in ("counts", "tokens", "milliseconds", "notes")},
            "choices": list({choice["id"]: choice for choice in (*before["choices"], *own["choices"])}.values()),
            "decisions": [*before["decisions"], *own["decisions"]],
            "warnings": list(dict.fromkeys((*before["warnings"], *own["warnings"]))),
        }


def unique(items: Iterable[str]) -> list[str]:
    """The items in their first order, each once."""
    return list(dict.fromkeys(items))
