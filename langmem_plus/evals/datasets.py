"""Data sets that can be asked: which form a file has, and what its numbers mean.

`read_dataset` understands LoCoMo, LongMemEval, BEAM, pairs of statements of which the newer one holds (`pairs`), and
JSON lines of one's own (``.jsonl``, described by `own`).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langmem_plus.errors import ImportFileError
from langmem_plus.evals.haystacks import SESSIONS, longmemeval_samples
from langmem_plus.evals.metrics import SEED
from langmem_plus.evals.own import check_keys, read_questions
from langmem_plus.evals.pairs import GAP, is_pair, pair_samples
from langmem_plus.evals.questions import (
    Question,
    Sample,
    read_beam_questions,
    read_locomo_questions,
    with_sessions,
)
from langmem_plus.importers import Conversation, read_messages
from langmem_plus.importers.beam import is_chat
from langmem_plus.importers.locomo import is_sample
from langmem_plus.importers.longmemeval import is_entry
from langmem_plus.importers.parts import Place, read_label

Entry = Mapping[str, Any]

_HELP = "`langmem-plus eval recall --help` describes your own"

_PROTOCOLS = {
    "LoCoMo": "each conversation is a store, each session a thread, each message a turn of its speaker; questions of "
    "categories 1 to 4 that name their evidence, asked after the last session; category 5 counts as false premises",
    "LongMemEval": f"each question has a store of its own: its evidence sessions and others of the file, drawn with "
    f"seed {SEED} up to {SESSIONS}; the user's turns are the documents; a session keeps its age relative to its own "
    "question's date; asked at question_date; a question whose answer only an assistant's turn holds counts by session",
    "BEAM": "each chat is a store with the turns of both sides, each session a thread; asked after the last message",
    "pairs": f"all pairs stand in one store; the newer statement was said a day before the question, the older one "
    f"before it by the file's gap, or {GAP.days} days; both are evidence",
    "JSON lines": "each sample_id is a store; a question is asked at asked_at, or an hour after the last message",
}


@dataclass(frozen=True)
class Dataset:
    """A file that can be asked.

    Args:
        name: the file's name, with as many of its folders as tell it from the other files of a run.
        form: which kind of file it is.
        sha256: of the file's bytes.
        protocol: how memories and questions are made of it.
        samples: the memories, each with its questions.
        label: what its figures are called; told from the other files of a run, too.
    """

    name: str
    form: str
    sha256: str
    protocol: str
    samples: Sequence[Sample]
    label: str = ""

    def to_json(self) -> dict[str, Any]:
        """What it is, without its contents."""
        return {
            "file": self.name,
            "form": self.form,
            "sha256": self.sha256,
            "samples": len(self.samples),
            "messages": sum(sample.messages for sample in self.samples),
            "questions": sum(len(sample.questions) for sample in self.samples),
        }


def read_datasets(paths: Sequence[Path], *, limit: int | None = None) -> list[Dataset]:
    """Several files, each once, under names that tell them apart.

    Args:
        paths: the files.
        limit: ask so many questions of each.

    Raises:
        ImportFileError: one of them can't be read, is of no known form, or asks nothing.
    """
    files = list({path.resolve(): path for path in paths}.values())
    found = [read_dataset(path, limit=limit) for path in files]
    names, labels = told_apart(files)
    return [replace(each, name=name, label=label) for each, name, label in zip(found, names, labels, strict=True)]


def told_apart(paths: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Different files' names, and the labels of their figures: with as many folders as needed, and without the ending
    where that tells nothing.

    >>> told_apart([Path("a/own.jsonl"), Path("b/own.jsonl"), Path("other.json")])
    (['a/own.jsonl', 'b/own.jsonl', 'other.json'], ['a-own', 'b-own', 'other'])
    """
    parts = [path.absolute().relative_to(path.absolute().anchor).parts for path in paths]
    most = max(map(len, parts), default=0)
    tails = [[each[-count:] for each in parts] for count in range(1, most + 1)]
    names = [["/".join(each) for each in tail] for tail in tails]
    stems = [["-".join((*each[:-1], Path(each[-1]).stem)) for each in tail] for tail in tails]
    whole = [["-".join(each) for each in tail] for tail in tails]
    return _distinct(names), _distinct([*stems, *whole])


def _distinct(choices: Sequence[Sequence[str]]) -> list[str]:
    """For each file its first name that no other file has at the same length; capitals don't tell files apart."""
    lower = [[name.lower() for name in names] for names in choices]
    found: list[str] = []
    for number in range(len(choices[0]) if choices else 0):
        alone = (
            names[number] for names, all_ in zip(choices, lower, strict=True) if all_.count(names[number].lower()) == 1
        )
        numbered = (f"{choices[0][number]}-{n}" for n in itertools.count(2))
        taken = {name.lower() for name in found}
        found.append(next(name for name in itertools.chain(alone, numbered) if name.lower() not in taken))
    return found


def read_dataset(path: str | Path, *, limit: int | None = None, seed: int = SEED) -> Dataset:
    """A file's memories and questions.

    Args:
        path: the file.
        limit: ask so many of its questions, drawn with the seed; None asks all.
        seed: of what is drawn.

    Raises:
        ImportFileError: it can't be read, is of no known form, or asks nothing.
    """
    path = Path(path)
    raw = _bytes(path)
    place = Place(path)
    if path.suffix in (".jsonl", ".ndjson"):
        form, samples = "JSON lines", _own_samples(raw, path, place)
    else:
        form, samples = _own_or_json(raw, path, place, seed)
    samples = [sample for sample in samples if sample.questions]
    if not samples:
        raise place.error(f"there is no question whose evidence is named; {_HELP}")
    if limit is not None:
        samples = _limited(samples, limit, seed)
    return Dataset(path.name, form, hashlib.sha256(raw).hexdigest(), _PROTOCOLS[form], samples, path.stem)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ImportFileError(f"{path}: can't be read: {error.strerror or error}.") from error


def _own_samples(raw: bytes, path: Path, place: Place) -> list[Sample]:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise place.error(f"byte {error.start} isn't UTF-8; save the file as UTF-8") from error
    check_keys(text, place)
    conversations = list(read_messages(path))
    return _joined(conversations, read_questions(text, conversations, place))


def _own_or_json(raw: bytes, path: Path, place: Place, seed: int) -> tuple[str, list[Sample]]:
    """What a file holds that isn't called JSON lines; it is them all the same where each line is an object."""
    if not raw.strip():
        raise place.error("the file is empty")
    try:
        data = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        if _is_lines(raw, error):
            return "JSON lines", _own_samples(raw, path, place)
        raise place.error(f"not JSON: {type(error).__name__}: {error}") from error
    return _read_json(data, path, place, seed)


def _is_lines(raw: bytes, error: Exception) -> bool:
    if not isinstance(error, json.JSONDecodeError) or error.msg != "Extra data":
        return False
    first = raw.decode("utf-8-sig").strip().split("\n", 1)[0]
    try:
        return isinstance(json.loads(first), dict)
    except ValueError:
        return False


def _read_json(data: Any, path: Path, place: Place, seed: int) -> tuple[str, list[Sample]]:
    entries = data if isinstance(data, list) else [data]
    forms: tuple[tuple[str, Callable[[Any], bool]], ...] = (
        ("LoCoMo", is_sample),
        ("LongMemEval", is_entry),
        ("BEAM", is_chat),
        ("pairs", is_pair),
    )
    form = next((name for name, fits in forms if entries and all(map(fits, entries))), None)
    if form is None:
        raise place.error(
            f"there is no question to ask: it is none of {', '.join(_PROTOCOLS)} (an object a line); {_HELP}"
        )
    if form == "pairs":
        return form, pair_samples(entries, place)
    conversations = list(read_messages(path))
    if form == "LongMemEval":
        return form, list(longmemeval_samples(entries, conversations, place, seed=seed))
    name, read = ("sample_id", read_locomo_questions) if form == "LoCoMo" else ("id", read_beam_questions)
    asked = {
        read_label(entry, name, place) or f"{path.stem}/{number + 1}": read(entry, place / f"[{number}]")
        for number, entry in enumerate(entries)
    }
    return form, _joined(conversations, asked)


def _joined(conversations: Iterable[Conversation], asked: Mapping[str, Sequence[Question]]) -> list[Sample]:
    threads: dict[str, list[Conversation]] = {}
    for conversation in conversations:
        threads.setdefault(conversation.sample_id or "", []).append(conversation)
    return [Sample(name, told, with_sessions(asked.get(name, []), told)) for name, told in threads.items()]


def _limited(samples: Sequence[Sample], limit: int, seed: int) -> list[Sample]:
    places = [(s, q) for s, sample in enumerate(samples) for q in range(len(sample.questions))]
    chosen = set(random.Random(seed).sample(places, min(max(limit, 0), len(places))))
    kept = (
        replace(sample, questions=[each for q, each in enumerate(sample.questions) if (s, q) in chosen])
        for s, sample in enumerate(samples)
    )
    return [sample for sample in kept if sample.questions]
