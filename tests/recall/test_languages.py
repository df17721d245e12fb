"""Forty turns and twelve questions in German, Spanish, French and Chinese, stored and asked through the client."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from langmem_plus import MarkdownStore, MemoryClient, MemoryConfig
from langmem_plus.providers.token_bits import local_token_encoder
from langmem_plus.recall.times import period_match, periods
from langmem_plus.records import MemoryHit

NOW = dt.datetime(2026, 3, 4, 12, tzinfo=dt.UTC)
LANGUAGES: dict[str, Any] = json.loads((Path(__file__).parent / "languages.json").read_text(encoding="utf-8"))
CONFIG = MemoryConfig(background=False, embed_in_background=False, embed_timeout=600.0)
FLOOR = 11  # of twelve questions; measured: all twelve, in each language
CUES = {1: "x_num", 2: "win", 3: "x_date", 9: "win"}  # by the question's place: what speaks for its turn


Found = list[dict[int, MemoryHit]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Where the turns of a language are stored, once for all tests: they ask and change nothing."""
    if local_token_encoder() is None:
        pytest.skip("the packaged model isn't installed")
    root = tmp_path_factory.mktemp("languages")

    def fill(language: str) -> Path:
        if not (root / language).exists():
            with opened(root / language) as client:
                for day, messages in turns(LANGUAGES[language]):
                    client.add(messages, user_id="ann", thread_id=day)
        return root / language

    return fill


@contextmanager
def opened(folder: Path, **settings: Any) -> Iterator[MemoryClient]:
    """A client over what is stored."""
    config = CONFIG.replace(**settings)
    with (
        MarkdownStore(folder, config=config, clock=lambda: NOW) as store,
        MemoryClient(store, config=config, clock=lambda: NOW) as client,
    ):
        yield client


def turns(told: Any) -> Iterator[tuple[str, list[Any]]]:
    """The threads with their messages."""
    for day, said in told["threads"]:
        yield (
            day,
            [
                {"role": "user", "content": text, "id": f"{day}/{n}", "created_at": f"{day}T10:{n:02d}:00Z"}
                for n, text in enumerate(said)
            ],
        )


def ask(folder: Path, told: Any, k: int = 10, **settings: Any) -> Found:
    """What each question finds: by its place, from 1, the hits that show its turn, or a fact drawn from it."""
    ids = {each["content"]: each["id"] for _, messages in turns(told) for each in messages}
    with opened(folder, **settings) as client:
        return [
            {
                n: hit
                for n, hit in enumerate(client.search(question, user_id="ann", k=k), 1)
                if ids[evidence] in hit.record.source_ids
            }
            for question, evidence in told["questions"]
        ]


def at(found: list[dict[int, MemoryHit]], k: int) -> int:
    """How many questions find their turn among the first ``k`` hits."""
    return sum(min(each, default=k + 1) <= k for each in found)


def test_the_built_in_reranker_loses_nothing_against_plain_fusion(folder: Callable[[str], Path]) -> None:
    """In each language as many questions are answered among the first five hits, and in all together more by the very
    first.
    """
    first = {"auto": 0, "none": 0}
    for language, told in LANGUAGES.items():
        found = {name: ask(folder(language), told, reranker=name) for name in first}
        assert at(found["auto"], 5) >= at(found["none"], 5), language
        first = {name: count + at(found[name], 1) for name, count in first.items()}
    assert first["auto"] > first["none"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("reranker", ["auto", "none"])
def test_every_language_is_found_again(folder: Callable[[str], Path], language: str, reranker: str) -> None:
    """Nearly all of it, also where nothing reranks."""
    found = ask(folder(language), LANGUAGES[language], reranker=reranker)
    assert at(found, 5) >= FLOOR, [list(each) for each in found]


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_that_ask_for_a_number_or_a_time_speak_for_their_answer(
    folder: Callable[[str], Path], language: str
) -> None:
    """ "How many", "when" and "last week" are among what the answer's score is made of, in each language."""
    told = LANGUAGES[language]
    found = ask(folder(language), told, k=50)
    for place, cue in CUES.items():
        (hit, *_) = found[place].values()
        assert hit.scores.get(cue, 0.0) > 0, (told["questions"][place], hit.scores)


@pytest.mark.parametrize("language", LANGUAGES)
def test_last_week_is_last_week(language: str) -> None:
    """The last of five conversations alone was then."""
    told = LANGUAGES[language]
    asked = [periods(question, NOW.date()) for question, _ in told["questions"]]
    days = [dt.date.fromisoformat(day) for day, _ in told["threads"]]
    assert [place for place, spans in enumerate(asked) if spans] == [2, 9]
    assert [[period_match(spans, day) for day in days] for spans in asked if spans] == [[0, 0, 0, 0, 1]] * 2
