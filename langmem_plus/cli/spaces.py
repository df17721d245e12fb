"""The spaces of a user: which hold something, and how much."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from rich.table import Table

from langmem_plus.cli.options import MOST, ConfigOption, JsonOption, PathOption, UserOption, open_reader, read_config
from langmem_plus.cli.output import console, errors, one_line, print_json
from langmem_plus.client import MemoryClient
from langmem_plus.labels import decode_label
from langmem_plus.recall import read_item
from langmem_plus.records import GLOBAL_SPACE, TURN_ROLES, Scope, utc_now

_NAMED = 10  # spaces that a message names


def spaces(user: UserOption, path: PathOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the spaces of a user that hold something, with the number of facts, messages and other records."""
    with open_reader(path, read_config(config), Scope(user), as_json) as client:
        found = find_spaces(client, user)
    if as_json:
        print_json([{"space": name, "records": counts} for name, counts in found.items()])
    elif found:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("space")
        for name in ("facts", "messages", "others"):
            table.add_column(name, justify="right")
        for name, counts in found.items():
            said = sum(counts[role] for role in TURN_ROLES)
            numbers = (counts["memory"], said, counts.total() - said - counts["memory"])
            table.add_row(one_line(name), *map(str, numbers))
        console.print(table)
    else:
        errors.print(f"Nothing is stored of {user!r}.")
    raise typer.Exit(0 if found else 1)


def find_spaces(client: MemoryClient, user: str) -> dict[str, Counter[str]]:
    """The active records of each space of a user that has some, by role."""
    own, now = Scope(user).namespace, utc_now()
    found: dict[str, Counter[str]] = {}
    for namespace in client.store.list_namespaces(prefix=own[:-1], max_depth=len(own), limit=MOST):
        if len(namespace) == len(own):
            items: list[Any] = client.store.search(namespace, limit=MOST, refresh_ttl=False)
            scope = Scope(user, decode_label(namespace[-1]))
            records = [read_item(item, scope) for item in items if tuple(item.namespace) == namespace]
            live = [each for each in records if each and each.status == "active"]
            counts: Counter[str] = Counter(
                each.role for each in live if each.expires_at is None or each.expires_at > now
            )
            found |= {scope.space: counts} if counts else {}
    return found


def elsewhere(client: MemoryClient, user: str, space: str) -> str:
    """Where a user's memories are, for whoever looked into a space that holds none; empty where it holds some."""
    found = find_spaces(client, user)
    if not found or {space, GLOBAL_SPACE} & found.keys():
        return ""
    named = ", ".join(f"{one_line(name)!r} ({counts.total()})" for name, counts in [*found.items()][:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f" What is stored of {user!r} is in {named}{more}: name a space with --space."
