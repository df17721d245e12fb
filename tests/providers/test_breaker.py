"""Leaving something alone that fails again and again."""

from __future__ import annotations

from langmem_plus.providers.breaker import LONGEST, SLOW_SECONDS, Breaker


class Clock:
    """Shows what it is set to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def _open(clock: Clock, failures: int = 3) -> Breaker:
    breaker = Breaker(failures, 10.0, clock)
    for _ in range(failures):
        assert breaker.allows()
        breaker.failed(0.0)
    return breaker


def test_failures_in_a_row_open_it() -> None:
    """Not failures among successes."""
    breaker = Breaker(3, 10.0, Clock())
    for _ in range(5):
        breaker.failed(0.0)
        breaker.failed(0.0)
        assert breaker.succeeded()
        assert not breaker.succeeded()
    assert breaker.allows()
    assert _open(Clock()).is_open


def test_a_slow_failure_opens_it_at_once() -> None:
    """It was a time-out, which nobody wants to wait for again."""
    breaker = Breaker(100, 10.0, Clock())
    breaker.failed(SLOW_SECONDS)
    assert breaker.is_open
    assert breaker.resting() == 10.0
    assert breaker.failures == 1


def test_one_probe_at_a_time_after_the_pause() -> None:
    """A second one only after another pause, should the first have no outcome, as when it is cancelled."""
    clock = Clock()
    breaker = _open(clock)
    assert not breaker.allows()
    clock.now += 10
    assert breaker.resting() == 0
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    clock.now += 10
    assert [breaker.allows() for _ in range(3)] == [True, False, False]


def test_the_pause_grows_with_each_probe_that_fails() -> None:
    """Up to a bound; a success makes it short again."""
    clock = Clock()
    breaker = _open(clock)
    pauses = []
    for _ in range(12):
        clock.now += breaker.resting()
        assert breaker.allows()
        breaker.failed(0.0)
        pauses.append(breaker.resting())
    assert pauses[:3] == [20.0, 40.0, 80.0]
    assert pauses[-1] == 10.0 * LONGEST
    breaker.succeeded()
    assert not breaker.is_open
    for _ in range(3):
        breaker.failed(0.0)
    assert breaker.resting() == 10.0


def test_calls_that_were_under_way_make_no_pause_longer() -> None:
    """Many threads may fail at the same time."""
    clock = Clock()
    breaker = _open(clock)
    clock.now += 5
    for _ in range(10):
        breaker.failed(5.0)
    assert breaker.resting() == 5.0


def test_a_pause_can_be_ended() -> None:
    """By somebody who asks for another try: one is made; a forked child starts closed."""
    breaker = _open(Clock())
    breaker.probe_now()
    assert [breaker.allows() for _ in range(2)] == [True, False]
    breaker.forked()
    assert breaker.allows()
    breaker.probe_now()
    assert not breaker.is_open
