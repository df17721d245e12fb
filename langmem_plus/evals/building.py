"""A sample's memory, built through the client as a program would: thread by thread, each at its own time."""

from __future__ import annotations

import datetime as dt
import json
import logging
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from langgraph.store.base import PutOp

from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.evals.questions import Sample, last_time
from langmem_plus.evals.setups import Setup
from langmem_plus.evals.vectors import keep_vectors, take_vectors
from langmem_plus.records import Scope, utc_now
from langmem_plus.store import MarkdownStore

USER = "somebody"
SCOPE = Scope(USER)
_MARK = "built.json"
Step = Callable[[int], None]


class Moment:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = utc_now()

    def __call__(self) -> dt.datetime:
        """The time that was set last."""
        return self.now


@contextmanager
def opened(root: Path, config: MemoryConfig, moment: Moment) -> Iterator[MemoryClient]:
    """A memory whose store and client both go by one clock."""
    with (
        MarkdownStore(root, config=config, clock=moment) as store,
        MemoryClient(store, config=config, clock=moment) as client,
    ):
        yield client


def _nothing(count: int) -> None:
    """A step that nobody watches; a named function, since it goes to other processes."""


def build(sample: Sample, root: Path, setup: Setup, cache: Path | None = None, step: Step = _nothing) -> float:
    """Add a sample's threads to a new store; one that is whole already is used again.

    Args:
        sample: what was said.
        root: the store's folder.
        setup: the settings that it is written with.
        cache: a folder of known vectors.
        step: called with the number of messages, thread by thread.

    Returns:
        The seconds that it took when it was built.
    """
    mark = root / _MARK
    if mark.is_file():
        step(sample.messages)
        return float(json.loads(mark.read_text(encoding="utf-8"))["seconds"])
    shutil.rmtree(root, ignore_errors=True)  # half of a store, left by a run that was broken off
    root.mkdir(parents=True)
    if cache is not None and setup.embeds:
        take_vectors(cache, root)
    started, moment = utc_now(), Moment()
    with opened(root, setup.config, moment) as client:
        for thread in sample.threads:
            moment.now = last_time([thread])
            messages: list[Any] = list(thread.messages)
            client.add(messages, user_id=USER, thread_id=thread.thread_id)
            step(len(thread.messages))
    if cache is not None and setup.embeds:
        keep_vectors(root, cache)
    seconds = (utc_now() - started).total_seconds()
    mark.write_text(json.dumps({"sample": sample.id, "seconds": seconds}) + "\n", encoding="utf-8")
    return seconds


def build_all(
    samples: Sequence[tuple[Sample, Path]], setup: Setup, cache: Path, jobs: int, step: Step = _nothing
) -> float:
    """Build the samples, each at its root, in several processes at a time; gives the seconds of all together."""
    if jobs <= 1 or sum(not (root / _MARK).is_file() for _, root in samples) <= 1:
        return sum(build(sample, root, setup, cache, step) for sample, root in samples)
    seconds = 0.0
    # Started anew, not forked: a process that has threads mustn't be copied. What is wrong with the settings was said.
    quiet = partial(logging.getLogger("langmem_plus.config_sources").setLevel, logging.ERROR)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=quiet) as pool:
        work = {pool.submit(build, sample, root, setup, cache): sample.messages for sample, root in samples}
        for done in as_completed(work):
            seconds += done.result()
            step(work[done])
    return seconds


def without(root: Path, copy: Path, setup: Setup, message_ids: Collection[str]) -> None:
    """A copy of a store from which some messages, and what was drawn out of them, are gone."""
    shutil.copytree(root, copy)
    with opened(copy, setup.config, Moment()) as client:
        gone = [each.id for each in client.list(user_id=USER) if set(each.source_ids) & set(message_ids)]
        client.store.batch([PutOp(SCOPE.namespace, id, None) for id in gone])
