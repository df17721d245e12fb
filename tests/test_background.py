import asyncio
import contextvars
import os
import subprocess
import sys
import threading

import pytest

from langmem_plus.background import Background
from langmem_plus.config import MemoryConfig

PATIENCE = 20.0  # seconds that a test waits for something that takes no time
CONFIG = MemoryConfig(retries=2, retry_seconds=0.0, background_workers=1)
MANY = CONFIG.replace(background_workers=4)


@pytest.fixture
def queue() -> Background:
    """A queue of the test's own."""
    return Background()


def blocked(queue: Background, key=("blocker",), config=CONFIG) -> threading.Event:
    """Keep the worker busy until the event that is returned is set."""
    started, release = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        assert release.wait(PATIENCE)

    queue.submit(key, work, config)
    assert started.wait(PATIENCE)
    return release


def test_work_runs_in_another_thread(queue):
    """Submitted work runs in the worker, a daemon, and not in the caller's thread."""
    seen = []
    queue.submit(("a",), lambda: seen.append(threading.current_thread()), CONFIG)
    assert queue.flush(PATIENCE)
    assert seen[0] is not threading.current_thread()
    assert seen[0].daemon


def test_one_worker_works_in_order(queue):
    """With one worker every piece of work runs in the same thread, in the order it was submitted."""
    seen = []
    for name in "abc":
        queue.submit((name,), lambda name=name: seen.append((name, threading.get_ident())), CONFIG)
    assert queue.flush(PATIENCE)
    assert [name for name, _ in seen] == ["a", "b", "c"]
    assert len({thread for _, thread in seen}) == 1


def test_waiting_work_under_one_key_is_merged(queue):
    """What waits under one key is done once, by the newest callable."""
    release, seen = blocked(queue), []
    for number in range(5):
        queue.submit(("thread",), lambda number=number: seen.append(number), CONFIG)
    release.set()
    assert queue.flush(PATIENCE)
    assert seen == [4]


def test_running_work_is_never_cancelled(queue):
    """A submit during a run lets the run finish and queues one more."""
    seen, started, release = [], threading.Event(), threading.Event()

    def first() -> None:
        started.set()
        assert release.wait(PATIENCE)
        seen.append("first")

    queue.submit(("thread",), first, CONFIG)
    assert started.wait(PATIENCE)
    queue.submit(("thread",), lambda: seen.append("second"), CONFIG)
    queue.submit(("thread",), lambda: seen.append("third"), CONFIG)
    release.set()
    assert queue.flush(PATIENCE)
    assert seen == ["first", "third"]


def test_work_sees_no_context_variables_of_the_caller(queue):
    """Work runs in fresh context variables, so that no callback and no tracing of the finished run reach it."""
    variable = contextvars.ContextVar("variable", default="fresh")
    variable.set("the caller's")
    seen = []
    queue.submit(("a",), lambda: seen.append(variable.get()), CONFIG)
    assert queue.flush(PATIENCE)
    assert seen == ["fresh"]


def test_a_failure_is_tried_again(queue):
    """Work that fails at first and succeeds later isn't counted as a failure."""
    outcomes = [OSError("down"), OSError("still down"), None]

    def work() -> None:
        if error := outcomes.pop(0):
            raise error

    queue.submit(("a",), work, CONFIG)
    assert queue.flush(PATIENCE)
    assert outcomes == []
    assert queue.failed == 0


def test_a_failure_that_lasts_is_counted_logged_and_kept(queue, caplog):
    """After the last try the failure is readable, with its key, its error and how often it was tried."""

    def work() -> None:
        raise OSError("the model is down")

    queue.submit(("a", "b"), work, CONFIG)
    assert queue.flush(PATIENCE)
    (failure,) = queue.failures
    assert (failure.key, failure.error, failure.attempts) == (("a", "b"), "OSError: the model is down", 3)
    assert queue.failed == 1
    assert "given up after 3 tries" in caplog.text


def test_other_work_goes_on_while_a_failure_waits(queue):
    """Work that waits for its next try holds nobody up."""
    seen, outcomes = [], [OSError("down"), None]

    def fails() -> None:
        if error := outcomes.pop(0):
            raise error

    queue.submit(("a",), fails, MemoryConfig(retries=1, retry_seconds=3600))
    queue.submit(("b",), lambda: seen.append("b"), CONFIG)
    assert queue.flush(PATIENCE, ("b",))
    assert seen == ["b"]
    assert not queue.flush(0.01, ("a",))


def test_newer_work_takes_the_place_of_a_failed_one(queue):
    """Work that was submitted while an earlier one failed is done instead of a second try, and nothing is given up."""
    seen, started, release = [], threading.Event(), threading.Event()

    def fails() -> None:
        started.set()
        assert release.wait(PATIENCE)
        raise OSError("down")

    queue.submit(("a",), fails, MemoryConfig(retries=0, retry_seconds=0.0))
    assert started.wait(PATIENCE)
    queue.submit(("a",), lambda: seen.append("newer"), CONFIG)
    release.set()
    assert queue.flush(PATIENCE)
    assert seen == ["newer"]
    assert queue.failed == 0


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_the_worker_outlives_every_exception(queue, error):
    """Even an exception that isn't an Exception is a failure of that work alone."""

    def work() -> None:
        raise error

    queue.submit(("a",), work, MemoryConfig(retries=0))
    seen = []
    queue.submit(("b",), lambda: seen.append("b"), CONFIG)
    assert queue.flush(PATIENCE)
    assert seen == ["b"]
    assert queue.failed == 1


def test_flush_says_when_the_time_was_not_enough(queue):
    """flush() gives False while work still runs, and True once it is done."""
    release = blocked(queue)
    assert not queue.flush(0.01)
    release.set()
    assert queue.flush(PATIENCE)


def test_flush_waits_for_keys_that_begin_alike(queue):
    """A prefix leaves out other people's work."""
    release = blocked(queue, ("other", 1))
    assert queue.flush(0.01, ("mine",))
    assert not queue.flush(0.01, ("other",))
    release.set()
    assert queue.flush(PATIENCE)


def test_flush_without_any_work(queue):
    """An empty queue is flushed at once, and no thread is started for it."""
    before = threading.active_count()
    assert queue.flush(0.0)
    assert threading.active_count() == before


async def test_aflush_leaves_the_event_loop_free(queue):
    """While aflush() waits, the loop runs other tasks: here the one that releases the work."""
    release = blocked(queue)

    async def let_go() -> None:
        release.set()

    done, _ = await asyncio.gather(queue.aflush(PATIENCE), let_go())
    assert done


def test_work_may_run_an_event_loop_of_its_own(queue):
    """Async work runs with asyncio.run() in the worker, whatever loop the submitter is in."""
    seen = []

    async def work() -> None:
        await asyncio.sleep(0)
        seen.append("ran")

    async def main() -> None:
        queue.submit(("a",), lambda: asyncio.run(work()), CONFIG)

    asyncio.run(main())
    assert queue.flush(PATIENCE)
    assert seen == ["ran"]


def test_what_hangs_holds_up_its_own_lane_alone(queue):
    """Other lanes are worked on meanwhile, and what waits in the lane goes on afterwards."""
    seen = []
    release = blocked(queue, ("stuck",), MANY)
    queue.submit(("behind",), lambda: seen.append("behind"), MANY, lane=("stuck",))
    queue.submit(("other",), lambda: seen.append("other"), MANY)
    assert queue.flush(PATIENCE, ("other",))
    assert seen == ["other"]
    release.set()
    assert queue.flush(PATIENCE)
    assert seen == ["other", "behind"]


def test_one_lane_is_never_worked_on_twice_at_a_time(queue):
    """However many workers there are."""
    running, most = [], []

    def work() -> None:
        running.append(1)
        most.append(len(running))
        threading.Event().wait(0.005)
        running.pop()

    for number in range(20):
        queue.submit(("thread", number), work, MANY, lane=("space",))
    assert queue.flush(PATIENCE)
    assert most == [1] * 20


def test_no_more_workers_than_the_settings_say(queue):
    """Each lane has a worker as long as there are some left."""
    gate, threads = threading.Barrier(4), set()

    def work() -> None:
        threads.add(threading.get_ident())
        gate.wait(PATIENCE)

    for number in range(8):
        queue.submit((number,), work, MANY)
    assert queue.flush(PATIENCE)
    assert len(threads) == 4


def test_delayed_work_waits_for_its_time(queue):
    """Until somebody waits for it."""
    seen = []
    queue.submit(("later",), lambda: seen.append("later"), CONFIG, delay=3600)
    queue.submit(("now",), lambda: seen.append("now"), CONFIG)
    assert queue.flush(PATIENCE, ("now",))
    assert seen == ["now"]
    assert queue.flush(PATIENCE)
    assert seen == ["now", "later"]


def test_delayed_work_that_is_submitted_again_is_done_at_once(queue):
    """One piece of work is left of both, and it isn't delayed."""
    seen, done = [], threading.Event()
    queue.submit(("a",), lambda: seen.append("first"), CONFIG, delay=3600)
    queue.submit(("a",), lambda: (seen.append("second"), done.set()), CONFIG)
    assert done.wait(PATIENCE)
    assert queue.flush(PATIENCE)
    assert seen == ["second"]


def test_delayed_work_does_not_put_off_what_waits_already(queue):
    """The earlier time counts."""
    release, done = blocked(queue), threading.Event()
    queue.submit(("a",), lambda: None, CONFIG)
    queue.submit(("a",), done.set, CONFIG, delay=3600)
    release.set()
    assert done.wait(PATIENCE)


def test_nobody_waits_for_work_that_only_looks_again(queue):
    """Neither flush nor the exit; it is still done when its time comes."""
    done = threading.Event()
    queue.submit(("look",), lambda: None, CONFIG, delay=3600, awaited=False)
    assert queue.flush(PATIENCE)
    queue.submit(("look soon",), done.set, CONFIG, delay=0.01, awaited=False)
    assert done.wait(PATIENCE)


def test_the_exit_does_delayed_work_and_leaves_what_nobody_waits_for():
    """What was only put off is done before the process ends."""
    output = run(
        """
        background.submit(("later",), lambda: print("later"), config, delay=3600)
        background.submit(("look",), lambda: print("look"), config, delay=3600, awaited=False)
        print("end")
        """
    )
    assert output.split() == ["end", "later"]


def test_submit_from_many_threads(queue):
    """No submitted key is lost when many threads submit at once."""
    seen = set()
    threads = [
        threading.Thread(
            target=lambda n=n: [queue.submit((n, i), lambda i=i, n=n: seen.add((n, i)), CONFIG) for i in range(50)]
        )
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert queue.flush(PATIENCE)
    assert len(seen) == 300


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_forked_child_has_a_queue_of_its_own():
    """After a fork the child works with an empty queue and its own thread, while the parent's worker is busy."""
    output = run(
        """
        import os, threading
        release, started = threading.Event(), threading.Event()
        background.submit(("parent",), lambda: (started.set(), release.wait(20)), config)
        started.wait(20)
        child = os.fork()
        if child == 0:
            assert background.flush(0.0), "the parent's work must not be the child's"
            background.submit(("child",), lambda: print("child worked", flush=True), config)
            os._exit(0 if background.flush(20) else 1)
        _, status = os.waitpid(child, 0)
        print("status", os.waitstatus_to_exitcode(status), flush=True)
        release.set()
        """
    )
    assert output.split("\n")[:2] == ["child worked", "status 0"]


def test_the_exit_waits_for_queued_work():
    """A process that ends with work in the queue does it first, even work that runs a graph."""
    output = run(
        """
        from langgraph.graph import StateGraph
        graph = StateGraph(dict).add_node("say", lambda state: print("worked") or {}).set_entry_point("say").compile()
        background.submit(("slow",), lambda: time.sleep(0.1), config)
        for number in range(3):
            background.submit(("graph", number), lambda: graph.invoke({"a": 1}), config)
        print("end of the program")
        """
    )
    assert output.count("worked") == 3


def test_the_exit_never_hangs():
    """Work that never ends holds the exit up for flush_seconds and no longer, and the log says what was left."""
    output = run(
        """
        config = config.replace(flush_seconds=0.1, background_workers=1)
        started = threading.Event()
        background.submit(("stuck",), lambda: (started.set(), threading.Event().wait()), config)
        background.submit(("behind it",), lambda: print("never"), config)
        started.wait(20)
        """
    )
    assert "ends with 2 pieces" in output
    assert "never" not in output


def test_the_exit_does_not_wait_for_later_tries():
    """Failed work that waits an hour for its next try is tried once more at the exit, and then given up."""
    output = run(
        """
        config = config.replace(flush_seconds=600, retry_seconds=3600, retries=10)
        def work():
            print("tried", flush=True)
            failed.set()
            raise OSError("down")
        failed = threading.Event()
        background.submit(("fails",), work, config)
        failed.wait(20)
        """
    )
    assert output.count("tried\n") == 2
    assert "given up after 2 tries" in output


def run(program: str) -> str:
    """Run a program in a fresh interpreter; a hang is an error. What it prints and logs."""
    lines = program.strip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    head = (
        "import logging, sys, threading, time\n"
        "logging.basicConfig(stream=sys.stdout)\n"
        "from langmem_plus.background import background\n"
        "from langmem_plus.config import MemoryConfig\n"
        "config = MemoryConfig()\n"
    )
    source = head + "\n".join(line[indent:] for line in lines)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_is_waited_for_that_nobody_does(queue, monkeypatch, caplog):
    """Once no worker can be had, submit doesn't raise and flush doesn't wait without a bound; one warning says it."""

    def refuse(function) -> None:
        raise RuntimeError("can't register atexit after shutdown")

    monkeypatch.setattr("langmem_plus.background._register_at_exit", refuse)
    for name in "ab":
        queue.submit((name,), lambda: None, CONFIG)
    told = []
    waiting = threading.Thread(target=lambda: told.append(queue.flush(None)), daemon=True)
    waiting.start()
    waiting.join(PATIENCE)
    assert told == [False]
    assert [each.levelname for each in caplog.records if "next start" in each.message] == ["WARNING"]


@pytest.mark.parametrize("earlier", [True, False], ids=["worked before", "first work"])
def test_work_after_the_main_thread_has_ended(earlier):
    """A thread that outlives the main one, and a function that atexit calls, may submit: neither fails nor waits. A
    worker of before may still be there to do the first's work.
    """
    script = f"""
import atexit, threading
from langmem_plus.background import background
from langmem_plus.config import MemoryConfig

def submit(name):
    background.submit((name,), lambda: None, MemoryConfig())
    print(name, background.flush(None), flush=True)

def outlive():
    threading.main_thread().join()
    submit("thread")

if {earlier}:
    submit("main")
atexit.register(submit, "atexit")
threading.Thread(target=outlive).start()
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    told = [line.split() for line in ran.stdout.splitlines()]
    assert [name for name, _ in told] == ["main"] * earlier + ["thread", "atexit"], ran.stderr
    assert earlier or [done for _, done in told] == ["False", "False"]
    assert "Error" not in ran.stderr and ran.stderr.count("found at the next start") <= 1


def test_the_exit_counts_what_was_waited_for_already(queue, monkeypatch):
    """Who waited in vain when a client was closed doesn't wait as long again at the exit of the process."""
    release = blocked(queue, config=CONFIG.replace(flush_seconds=0.05))
    assert not queue.flush(0.06)
    bounds = []
    wait = queue._changed.wait_for
    monkeypatch.setattr(queue._changed, "wait_for", lambda done, bound: bounds.append(bound) or wait(done, 0))
    queue._drain()
    assert bounds == [0.0]
    release.set()
