"""Whose fault it is when an embedder raises."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from langmem_plus.errors import ConfigError
from langmem_plus.store.faults import is_outage, is_refusal

TOO_LARGE = "input (3002 tokens) is too large to process. increase the physical batch size (current batch size: 512)"


def _status(status: int, said: str = "", *, on_response: bool = False) -> Exception:
    error = ValueError(f"status {status} {said}")
    holder = SimpleNamespace(status_code=status)
    vars(error).update({"response": holder} if on_response else vars(holder))
    return error


class APITimeoutError(Exception):
    """Named like those of providers."""


@pytest.mark.parametrize(
    "error",
    [
        *(ConnectionError(), TimeoutError(), OSError(), ImportError(), ConfigError("no key"), APITimeoutError()),
        *(_status(401), _status(429), _status(503), _status(500, on_response=True)),
    ],
    ids=repr,
)
def test_an_outage_is_told_by_its_kind_or_status(error: Exception) -> None:
    """No other text would fare better, so none is tried."""
    assert is_outage(error)
    assert not is_refusal(error)


@pytest.mark.parametrize(
    "error",
    [
        *(ValueError(), TypeError(), IndexError(), KeyError(), _status(400), _status(413, on_response=True)),
        _status(500, TOO_LARGE),
    ],
    ids=repr,
)
def test_a_refusal_is_told_by_its_kind_or_status(error: Exception) -> None:
    """The embedder works; it is this text."""
    assert is_refusal(error)
    assert not is_outage(error)


@pytest.mark.parametrize("error", [RuntimeError(), MemoryError(), Exception()], ids=repr)
def test_of_other_errors_nobody_can_tell(error: Exception) -> None:
    """Then what the embedder does with other texts decides."""
    assert not is_refusal(error)
    assert not is_outage(error)
