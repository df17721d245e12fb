"""Of what was said of one thing, what was said last comes first, however often it was said before."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pytest

from langmem_plus import MemoryClient, MemoryConfig

# A question, and two answers of which either may be said last.
ASKED = [
    ("Where do I live?", "I live in Lyon.", "I live in Paris."),
    ("Where do I live?", "I now live in Lyon.", "I live in Paris."),
    ("What is my job?", "I work as a cook.", "I work as a baker."),
    ("Which car do I drive?", "I drive a Fiat.", "I drive a Ford."),
    ("What time is my yoga class?", "My yoga class is at nine.", "My yoga class is at ten."),
    ("Wo wohne ich?", "Ich wohne in Lyon.", "Ich wohne in Paris."),
    ("Welches Auto habe ich?", "Mein Auto ist ein Fiat.", "Mein Auto ist ein Ford."),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryClient]:
    """A memory with all defaults, in which everything is drawn out at once."""
    with MemoryClient(tmp_path_factory.mktemp("memory"), config=MemoryConfig(background=False)) as made:
        yield made


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize(("question", "one", "other"), ASKED)
def test_the_last_said_comes_first(client: MemoryClient, question: str, one: str, other: str, is_turned: bool) -> None:
    """After A, B, A and after A, B, A, B: with rules alone, whether they retire the other or not."""
    first, second = (other, one) if is_turned else (one, other)
    user, day = f"{first} {second}", dt.datetime(2026, 1, 1, 10, tzinfo=dt.UTC)
    for step, text in enumerate((first, second, first, second)):
        said = (day + dt.timedelta(days=30 * step)).isoformat()
        client.add({"role": "user", "content": text, "created_at": said}, user_id=user, thread_id=f"t{step}")
        if step > 1:
            assert client.search(question, user_id=user)[0].text == text
