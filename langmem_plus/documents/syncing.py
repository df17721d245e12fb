"""Bring a folder's catalog up to the folder: what is new or changed is read and cut, what is gone is forgotten."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from langmem_plus.config import MemoryConfig
from langmem_plus.documents.catalog import Catalog, Change
from langmem_plus.documents.chunks import split, title_of
from langmem_plus.documents.folder import GONE, NotReadableError, Stamp, below, read, scan
from langmem_plus.tokens import counter


@dataclass
class SyncReport:
    """What a sync did.

    Attributes:
        added: documents that are new, by their paths below the folder.
        changed: those that say something else.
        removed: those that are gone, or are no documents any more.
        unchanged: how many are as they were.
        skipped: why other files and folders are left out, by their paths.
        unread: how many are left for later, because time was short.
        chunks: how many there are now.
        embedded: texts that were put into the vector store.
        waiting: texts that are found by their words alone until they are embedded.
        warnings: what went wrong.
    """

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    unread: int = 0
    chunks: int = 0
    embedded: int = 0
    waiting: int = 0
    warnings: list[str] = field(default_factory=list)


def look(
    root: Path, catalog: Catalog, config: MemoryConfig, *, until: float = float("inf"), stop: Event | None = None
) -> SyncReport:
    """Take over what changed in a folder.

    Only files that aren't as they were are read; a document that is still the same keeps its chunks. Several processes
    may do so at a time: each leaves a document as it stands in the folder, or is found out by the next look.

    Args:
        root: the folder.
        catalog: what is known of it.
        config: what is a document, and how it is cut.
        until: the time on the monotonic clock after which nothing more is read.
        stop: ends it, too.

    Raises:
        OSError: the folder can't be read; nothing was forgotten.
        StoreError: the catalog can't be written.
    """
    found = scan(root, config)
    report = SyncReport(skipped=found.skipped)
    known, refused = catalog.stamps(), catalog.refused()
    for path, stamp in sorted(found.files.items()):
        before, refusal = known.get(path), refused.get(path)
        if before is not None and before[0] == stamp:
            report.unchanged += 1
        elif refusal is not None and refusal[0] == stamp:
            report.skipped[path] = refusal[1]
        elif time.monotonic() >= until or (stop is not None and stop.is_set()):
            report.unread += 1
        else:
            _take(root, path, stamp, before[1] if before else None, catalog, config, report)
    gone = {*known, *refused} - found.files.keys()
    gone -= set(below(gone, found.closed))  # nobody knows what is in a folder that can't be read now
    if gone:
        catalog.remove(sorted(gone))
        report.removed += sorted(gone & known.keys())
    if report.changed or report.removed:
        catalog.purge()
    return report


def _take(
    root: Path,
    path: str,
    stamp: Stamp,
    before: bytes | None,
    catalog: Catalog,
    config: MemoryConfig,
    report: SyncReport,
) -> None:
    """Read one file, and note what it is."""
    try:
        text = read(root, path, config.document_max_bytes)
    except FileNotFoundError:
        reason = GONE
    except NotReadableError as error:
        reason = str(error)
    else:
        digest = hashlib.sha256(text.text.encode("utf-8", "surrogatepass")).digest()
        chunks = None
        if digest != before:
            chunks = split(text.text, counter(config), config.chunk_tokens, config.chunk_overlap)
        size = len(text.text.encode("utf-8", "surrogatepass"))
        catalog.take(Change(path, text.stamp, digest, title_of(text.text), text.modified, size, chunks))
        if chunks is None:
            report.unchanged += 1
        else:
            (report.added if before is None else report.changed).append(path)
        return
    if before is not None:
        report.removed.append(path)
    if reason == GONE:
        catalog.remove([path])
    else:
        catalog.refuse(path, stamp, reason)
        report.skipped[path] = reason
