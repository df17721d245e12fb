"""Ask a person within a graph: stop with LangGraph's interrupt before anything is written, go on with the answer.

A node that is interrupted is run again from its beginning, and what it read from untracked channels is gone by then. So
what was decided is kept as the result of a task of the node, in the graph's checkpoint, and a run that is resumed, in
another process too, carries out just what the person saw. Only the user whose memory it is can answer: for whoever else
resumes the thread it is an error, and the question stays.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.func import task
from langgraph.types import interrupt

from langmem_plus.errors import ForeignIdentityError, InvalidValueError
from langmem_plus.records import Scope
from langmem_plus.remember.answer import HOW, Answer, read_answer
from langmem_plus.remember.enact import Decided
from langmem_plus.services import Services
from langmem_plus.shown import shown

CHECKPOINTER, CALL = "__pregel_checkpointer", "__pregel_call"  # where a task finds its graph's


def can_ask(services: Services, config: RunnableConfig) -> bool:
    """Whether this run can stop and ask: something may wait, the graph waits for memory (``background=False``) and
    keeps where it stands. Where it can't, what waits is stored as pending.
    """
    known: Mapping[str, Any] = config.get("configurable") or {}
    return (
        services.review is not None
        and not services.config.background
        and known.get(CHECKPOINTER) is not None
        and known.get(CALL) is not None
    )


def once(decide: Callable[[], Decided]) -> Decided:
    """What is decided, once in a node's task, however often the node is run. What waits for nobody isn't kept."""
    fresh: list[Decided] = []

    @task
    def review() -> dict[str, Any]:
        fresh.append(decide())
        return _kept(fresh[0])

    kept = review().result()
    return Decided.model_validate(kept) if kept else (fresh or [decide()])[0]


async def aonce(decide: Callable[[], Awaitable[Decided]]) -> Decided:
    """What is decided, as `once`."""
    fresh: list[Decided] = []

    @task
    async def review() -> dict[str, Any]:
        fresh.append(await decide())
        return _kept(fresh[0])

    kept = await review()
    return Decided.model_validate(kept) if kept else fresh[0] if fresh else await decide()


def _kept(decided: Decided) -> dict[str, Any]:
    return decided.model_dump(mode="json") if decided.held else {}


def ask(scope: Scope, decided: Decided) -> Answer | None:
    """What the user whose decisions wait says of them, who is asked anew until the answer can be read; None where
    nothing waits.

    Raises:
        ForeignIdentityError: somebody else resumes the thread. That is found before what they say is looked at: a graph
            keeps what it has taken as an answer, and gives it to the node again, whoever resumes it next.
        GraphInterrupt: nobody has answered yet.
    """
    if not decided.held:
        return None
    owner = decided.user_id or scope.user_id
    _refuse(scope.user_id, owner)
    question: dict[str, Any] = {
        "memory": "review",
        "user_id": owner,
        "space": scope.space,
        "thread_id": scope.thread_id,
        "waiting": decided.describe(),
        "answer": HOW,
    }
    while True:
        value = interrupt(question)
        try:
            return read_answer(value, decided.held)
        except InvalidValueError as error:
            question = {**question, "error": str(error)}


def stay_with_user(services: Services, config: RunnableConfig) -> None:
    """Refuse to run a node again for another user than before, where it may have stopped to ask: what it does ahead of
    the question would be done in another memory, too.

    Raises:
        ForeignIdentityError: the node was begun for somebody else.
    """
    if not can_ask(services, config):
        return
    user_id = services.find_scope(config).user_id

    @task
    def begun_for() -> str:
        return user_id

    _refuse(user_id, begun_for().result())


async def astay_with_user(services: Services, config: RunnableConfig) -> None:
    """Refuse to run a node again for another user, as `stay_with_user`."""
    if not can_ask(services, config):
        return
    user_id = services.find_scope(config).user_id

    @task
    async def begun_for() -> str:
        return user_id

    _refuse(user_id, await begun_for())


def _refuse(user_id: str, owner: str) -> None:
    if user_id != owner:
        raise ForeignIdentityError(
            f"what waits is about the memory of user_id={shown(owner)}, and the run that answers is for "
            f"{shown(user_id)}: nothing was written, and it still waits; resume the thread as {shown(owner)}."
        )
