"""What embedding cost, kept for the next run: the vectors of every text, in a folder of one's own.

A store keeps its vectors by model and text in ``.vectors``, beside what can be made anew at no cost. A folder of such
files serves every store with the same namespace: a new store begins with a copy, and gives back what it added.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

FOLDER = ".vectors"
_PATIENCE = 60.0  # seconds for another process that adds to the same folder


def take_vectors(cache: Path, root: Path) -> None:
    """Give a store that doesn't exist yet the vectors that are known."""
    target = root / FOLDER
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(cache.glob("*.db")):
        if not (target / file.name).exists():
            _copy(file, target / file.name)


def keep_vectors(root: Path, cache: Path) -> None:
    """Add a closed store's vectors to the known ones."""
    cache.mkdir(parents=True, exist_ok=True)
    for file in sorted((root / FOLDER).glob("*.db")):
        _merge(file, cache / file.name)


def _copy(source: Path, target: Path) -> None:
    with contextlib.closing(sqlite3.connect(source)) as old, contextlib.closing(sqlite3.connect(target)) as new:
        old.backup(new)


def _merge(source: Path, target: Path) -> None:
    """Add what is known by a text's hash; whatever else a store keeps there is its own."""
    with contextlib.closing(sqlite3.connect(target, timeout=_PATIENCE)) as db:
        db.execute("ATTACH ? AS other", (str(source),))
        tables = "SELECT name, sql FROM other.sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'"
        for name, sql in db.execute(tables).fetchall():
            by_text = "SELECT 1 FROM pragma_table_info(?, 'other') WHERE name='hash'"
            if db.execute(by_text, (name,)).fetchone() is None:
                continue
            mine = db.execute("SELECT sql FROM main.sqlite_master WHERE type='table' AND name=?", (name,)).fetchone()
            if mine is None:
                db.execute(sql)
            elif mine != (sql,):
                continue  # written by another version: what is there stays
            quoted = name.replace('"', '""')
            db.execute(f'INSERT OR IGNORE INTO main."{quoted}" SELECT * FROM other."{quoted}"')
        db.commit()
