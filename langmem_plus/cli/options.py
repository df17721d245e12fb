"""What the commands have in common: their options, the settings, and the memory that they open."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from langmem_plus.cli.output import print_json
from langmem_plus.client import MemoryClient
from langmem_plus.config import USER_VARIABLE, MemoryConfig
from langmem_plus.errors import NotFoundError, StoreError
from langmem_plus.providers import Part
from langmem_plus.providers.known import check_chat_model
from langmem_plus.providers.lazy import build_chat_model
from langmem_plus.recall.filter_fields import read_span
from langmem_plus.recall.filters import read_filter
from langmem_plus.records import Scope
from langmem_plus.store import MarkdownStore
from langmem_plus.store.markdown.backlog import EmbeddingState

MOST = 1_000_000  # records or hits that a command gives


def read_folder(text: str) -> Path:
    """A folder's path; nothing at all isn't the current folder."""
    if not text.strip():
        raise typer.BadParameter("it is empty: name a folder, or leave it out.")
    return Path(text)


PathOption = Annotated[
    Path | None,
    typer.Option(
        "--path",
        "-p",
        parser=read_folder,
        metavar="FOLDER",
        help="The memory folder.",
        show_default="memory_path of the settings",
    ),
]
ConfigOption = Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file with settings.")]
UserOption = Annotated[str, typer.Option("--user", "-u", envvar=USER_VARIABLE, help="Whose memory.")]
SpaceOption = Annotated[str, typer.Option("--space", "-s", help="Which part of it.")]
ThreadOption = Annotated[str | None, typer.Option("--thread", "-t", help="Which conversation.")]
RolesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--role", "-r", help="Only this kind: memory (facts), user, assistant, archive, document; or several."
    ),
]
TagsOption = Annotated[list[str] | None, typer.Option("--tag", help="Only with this tag, or one of several.")]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Only what was said then or later, e.g. 2026-01-31.")
]
UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Only what was said by then; a day is meant whole.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON for programs instead of tables.")]


def read_config(file: Path | None, **changes: object) -> MemoryConfig:
    """The settings, from a file where one is named."""
    config = MemoryConfig.from_toml(file) if file else MemoryConfig()
    return config.replace(**changes) if changes else config


def check_model(config: MemoryConfig) -> MemoryConfig:
    """The settings, once their chat model could be built: before anything is stored that it should work on.

    Raises:
        ConfigError: its provider, its package or its key is missing.
    """
    if config.model and config.model.strip().lower() not in ("", "none"):
        check_chat_model(config.model.strip(), config.base_url)
        build_chat_model(config.model.strip(), config.base_url)
    return config


def read_conditions(
    roles: list[str] | None, tags: list[str] | None, since: str | None, until: str | None
) -> dict[str, Any] | None:
    """The filter that options ask for; None for none.

    >>> read_conditions(["user"], None, "2026-01-31", None)
    {'role': {'in': ['user']}, 'time': {'gte': '2026-01-31'}}

    Raises:
        typer.BadParameter: nothing can lie between the two times.
        InvalidValueError: there is no such role, or a time can't be read.
    """
    if since is not None and until is not None and read_span(since, "time").first > read_span(until, "time").last:
        raise typer.BadParameter(f"--since {since} is later than --until {until}: nothing can lie between them.")
    time = {operator: value for operator, value in (("gte", since), ("lte", until)) if value is not None}
    lists = {name: {"in": values} for name, values in (("role", roles), ("tags", tags)) if values}
    wanted: dict[str, Any] = {**lists, **({"time": time} if time else {})}
    read_filter(wanted)  # before a memory is looked for
    return wanted or None


def open_client(path: Path | None, config: MemoryConfig) -> MemoryClient:
    """The memory, which is made where there is none."""
    return MemoryClient(path or config.memory_path, config=config)


def open_reader(path: Path | None, config: MemoryConfig, scope: Scope, as_json: bool) -> MemoryClient:
    """The memory for a command that only reads: where a folder's name was mistyped, none is made.

    Raises:
        NotFoundError: there is no such folder.
        StoreError: a file is in its place.
    """
    folder = path or config.memory_path
    if folder.is_dir():
        return MemoryClient(folder, config=config)
    _check_no_file(folder)
    if as_json:
        print_json([])
    raise NotFoundError(
        f"there is no memory of {scope.user_id!r}: the folder {str(folder)!r} doesn't exist. Name another with --path, "
        "or add something first."
    )


def _check_no_file(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{str(folder)!r} is a file, no folder: name the memory's with --path.")


def check_query(query: str) -> None:
    """Whether something is asked.

    Raises:
        typer.BadParameter: it is empty.
    """
    if not query.strip():
        raise typer.BadParameter("the question is empty: say what to look for.", param_hint="QUERY")


def file_parts(folder: Path, config: MemoryConfig) -> list[Part]:
    """The memory's files, for the doctor: that all can be read, or each that can't, with the reason.

    Raises:
        StoreError: a file is in the folder's place.
    """
    name = "memory files"
    _check_no_file(folder)
    if not folder.is_dir():
        return [Part(name, str(folder), detail="nothing is stored there yet")]
    with MarkdownStore(folder, config=config) as store:
        broken, vectors = store.unreadable(), vectors_part(store.embedding_state())
        ignored = store.overlooked()
    remedy = "Mend the file in an editor, or move it away."
    found = [Part(name, str(path), "degraded", f"left out: {reason}", remedy) for path, reason in broken.items()]
    found += [Part(name, str(path), "degraded", f"ignored: {why}", what) for path, (why, what) in ignored.items()]
    return [*(found or [Part(name, str(folder), detail="all can be read")]), *vectors]


def vectors_part(state: EmbeddingState) -> list[Part]:
    """How many texts of the memory have their vector; nothing where words alone are searched."""
    if state.model is None or not state.texts:
        return []
    have = f"{state.texts - state.waiting} of {state.texts} texts ({state.progress:.0%})"
    if not state.waiting:
        return [Part("vectors", have)]
    age = f", the oldest for {state.oldest:.0f} s" if state.oldest is not None else ""
    detail = f"{state.waiting} wait{age}; they are found by their words meanwhile"
    return [Part("vectors", have, "degraded", detail, "Nothing to do: a store that is in use embeds them by and by.")]
