"""The command line as a process: its streams, its exit code, and one line for whatever goes wrong."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from typing import Any

from rich.text import Text

from langmem_plus.cli.app import app
from langmem_plus.cli.output import errors, one_line, warnings
from langmem_plus.errors import (
    ConfigError,
    EmbeddingError,
    InvalidValueError,
    LangMemPlusError,
    ModelAnswerError,
    ModelCallError,
    NotFoundError,
    SettingsFileError,
)
from langmem_plus.shown import shown

logger = logging.getLogger(__name__)

OWN_MISTAKE = 70


def main() -> None:
    """Run the command line; an error becomes one line on standard error and an exit code, never a traceback."""
    logging.getLogger("langmem_plus").addHandler(warnings)
    _prepare_streams()
    sys.argv[1:] = map(_as_typed, sys.argv[1:])
    try:
        code = _run()
        if sys.stdout is not None:
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - whatever it is, a person gets one line
        code = _tell(error)
        _let_go_of_output()
    sys.exit(code)


def _run() -> Any:
    try:
        app()
    except SystemExit as ended:
        return ended.code
    return 0


def _prepare_streams() -> None:
    """No character that a terminal can't show, or that isn't one, ends the program."""
    for stream, settings in ((sys.stdin, {"encoding": "utf-8"}), (sys.stdout, {}), (sys.stderr, {})):
        if (change := getattr(stream, "reconfigure", None)) is not None:
            change(errors="replace", **settings)


def _as_typed(argument: str) -> str:
    """An argument as UTF-8, also where the locale is said to be ASCII; bytes that are no text become U+FFFD."""
    try:
        argument.encode("utf-8")
    except UnicodeEncodeError:
        return os.fsencode(argument).decode("utf-8", "replace")
    return argument


def _tell(error: Exception) -> int:
    """Print one line; returns the exit code."""
    if isinstance(error, BrokenPipeError):
        return 0  # the reader has gone (`… | head`): nothing is left to say
    if isinstance(error, LangMemPlusError):
        line, code = f" {type(error).__name__}: {error}", _exit_code(error)
    elif isinstance(error, OSError):
        where = f" {shown(error.filename)}" if error.filename else ""
        line, code = f" a file or the output{where} can't be used: {error.strerror or error}. Free or change it.", 4
    else:
        logger.debug("unexpected", exc_info=error)
        line, code = (
            f" a mistake in this program: {type(error).__name__}: {error}. Please report it with the command.",
            OWN_MISTAKE,
        )
    with suppress(OSError, ValueError):  # standard error may be closed, too
        errors.print(Text.assemble(("error", "bold red"), f" {one_line(line)}"), soft_wrap=True)
    return code


def _let_go_of_output() -> None:
    """What can't be written isn't tried again while the interpreter closes its files."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_code(error: LangMemPlusError) -> int:
    """By kind, as the help lists them; what is none of the others is about a file, or about what a store holds."""
    if isinstance(error, NotFoundError):
        return 1
    if isinstance(error, InvalidValueError):  # of an argument: a command has no other values
        return 2
    if isinstance(error, ConfigError) and not isinstance(error, SettingsFileError):
        return 3
    if isinstance(error, ModelAnswerError | ModelCallError | EmbeddingError):
        return 5
    return 4
