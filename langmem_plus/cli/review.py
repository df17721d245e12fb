"""The command by which an owner answers what waits for approval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table

from langmem_plus.cli.options import (
    ConfigOption,
    JsonOption,
    PathOption,
    UserOption,
    open_reader,
    read_config,
)
from langmem_plus.cli.output import console, errors, one_line, print_json, record_table, speaker_text, warn
from langmem_plus.client import MemoryClient
from langmem_plus.errors import ConflictError, NotFoundError
from langmem_plus.records import REVIEW, MemoryRecord, Scope

_HOW = "Answer with: review ID --approve, review ID --reject, or review --ask"


def tell(client: MemoryClient, record: MemoryRecord) -> str:
    """What happens when a pending record is approved, and why, on one line."""
    note = _note(record)
    targets = "; ".join(repr(each.text) for each in client.contested(record))
    reason = note.get("reason") or "no reason given"
    if note.get("event") == "DELETE":
        return one_line(f"forget {targets or 'what is gone already'} ({reason})")
    instead = f" in place of {targets}" if targets else ""
    return one_line(f"{speaker_text(record).plain!r}{instead} ({reason})")


def print_waiting(told: Sequence[str]) -> None:
    """Say what waits for approval, and how it is answered."""
    for line in told:
        console.print(f"Waits for approval: {line}", markup=False, soft_wrap=True)
    console.print(_HOW, style="dim")


def review(
    user: UserOption,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="What is answered, by its id or the beginning of it.")
    ] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Let it come into force.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Turn it down; what it would replace stays.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Answer all that waits so.")] = False,
    ask: Annotated[bool, typer.Option("--ask", help="Ask about one after another.")] = False,
    beside: Annotated[
        bool, typer.Option("--beside", help="Approve also where a memory that it would replace has changed; keep both.")
    ] = False,
    space: Annotated[str | None, typer.Option("--space", "-s", help="Only this part of the user's memory.")] = None,
    path: PathOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what waits for approval, or answer it: review ID --approve, review --all --reject, review --ask."""
    answers = approve or reject
    if approve and reject:
        raise typer.BadParameter("give --approve or --reject, not both.")
    if answers and bool(ids) == everything:
        raise typer.BadParameter("name what is answered: some IDs, or --all.")
    if not answers and (ids or everything or (beside and not ask)):
        raise typer.BadParameter("say what the answer is: --approve or --reject.")
    if ask and answers:
        raise typer.BadParameter("--ask asks for the answers: give no other.")
    with open_reader(path, read_config(config), Scope(user, space or "default"), as_json) as client:
        desk = _Desk(client, user, space, beside)
        if ask:
            done = desk.ask()
        elif answers:
            wanted = ids or [record.id for record in client.pending(user_id=user, space=space)]
            done = [record for id in wanted if (record := desk.answer(id, approve=approve)) is not None]
        else:
            desk.show(as_json)
    if as_json:
        print_json([record.to_value() for record in done])
    elif done:
        console.print(record_table(done))
    raise typer.Exit(1 if desk.failed else 0)


class _Desk:
    """What waits of one user, and the answers to it."""

    def __init__(self, client: MemoryClient, user: str, space: str | None, beside: bool) -> None:
        self.client = client
        self.user = user
        self.space = space
        self.beside = beside
        self.failed = False

    def show(self, as_json: bool) -> None:
        """List what waits; nothing is no failure."""
        waiting = self.client.pending(user_id=self.user, space=self.space)
        if as_json:
            print_json([self._plain(record) for record in waiting])
        elif waiting:
            console.print(self._table(waiting))
            console.print(_HOW, style="dim")
        else:
            errors.print(f"Nothing of {self.user!r} waits for approval.")
        raise typer.Exit(0)

    def ask(self) -> list[MemoryRecord]:
        """Ask about one after another; gives what was answered."""
        done: list[MemoryRecord] = []
        waiting = self.client.pending(user_id=self.user, space=self.space)
        for place, record in enumerate(waiting, 1):
            console.print(f"[{place}/{len(waiting)}] {tell(self.client, record)}", markup=False, soft_wrap=True)
            said = typer.prompt("approve, reject or leave? [a/r/l]", default="l", err=True).strip().casefold()
            if said[:1] in ("a", "r"):
                answered = self.answer(record.id, approve=said[0] == "a")
                done += [answered] if answered is not None else []
        if not waiting:
            errors.print(f"Nothing of {self.user!r} waits for approval.")
        return done

    def answer(self, id: str, *, approve: bool) -> MemoryRecord | None:
        """Answer one; where that can't be done, say why and go on."""
        try:
            if approve:
                return self.client.approve(id, user_id=self.user, space=self.space, beside=self.beside)
            return self.client.reject(id, user_id=self.user, space=self.space)
        except (ConflictError, NotFoundError) as error:
            warn(str(error))
            self.failed = True
            return None

    def _plain(self, record: MemoryRecord) -> dict[str, object]:
        contested = [each.to_value() for each in self.client.contested(record)]
        return {"record": record.to_value(), "contested": contested}

    def _table(self, waiting: list[MemoryRecord]) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("id", "space", "said"):
            table.add_column(name, no_wrap=True)
        for name in ("would be", "in place of", "why"):
            table.add_column(name, ratio=1)
        for record in waiting:
            note = _note(record)
            forgets = note.get("event") == "DELETE"
            targets = one_line("; ".join(each.text for each in self.client.contested(record)))
            table.add_row(
                record.id[:8],
                one_line(record.space),
                f"{record.said_at:%Y-%m-%d}",
                "forgotten" if forgets else speaker_text(record),
                targets,
                one_line(str(note.get("reason") or "")),
            )
        return table


def _note(record: MemoryRecord) -> dict[str, object]:
    """What a record waits for; a person may have made it wait by hand, without a word of why."""
    note = record.metadata.get(REVIEW)
    return note if isinstance(note, dict) else {}
