"""What servers say of a request that is too long for them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from langmem_plus.providers.too_long import is_too_long


def failure(status: int | None, said: str, *, on_response: bool = False) -> Exception:
    """An error as the clients of providers raise it."""
    error = RuntimeError(said)
    holder = SimpleNamespace(status_code=status)
    vars(error).update({"response": holder} if on_response else vars(holder))
    return error


@pytest.mark.parametrize("on_response", [False, True])
@pytest.mark.parametrize(
    ("status", "said"),
    [
        (
            500,
            "input (3002 tokens) is too large to process. increase the physical batch size (current batch size: 512)",
        ),
        (400, "request (1494 tokens) exceeds the available context size (512 tokens), try increasing it"),
        (400, "This model's maximum context length is 8192 tokens, however you requested 9000 tokens"),
        (413, "the input is too long"),
    ],
)
def test_a_length_is_told_by_words_and_status(status: int, said: str, on_response: bool) -> None:
    """The words of OpenAI's and of llama.cpp's servers, wherever the status stands."""
    assert is_too_long(failure(status, said, on_response=on_response))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (500, "the server has a problem"),
        (400, "unknown model"),
        (429, "too many tokens per minute"),
        (503, "the queue is too long"),
        (None, "it took too long"),
    ],
)
def test_other_failures_tell_of_no_length(status: int | None, said: str) -> None:
    """A rate limit, a queue or a time-out aren't mended by a shorter text."""
    assert not is_too_long(failure(status, said))
