"""The middleware: memory's stages in an agent's hooks."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, cast

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ExtendedModelResponse, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command

from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ForeignIdentityError
from langmem_plus.graph import Afterwards, make_services
from langmem_plus.graph.halves import recall_stages, remember_nodes, stages
from langmem_plus.graph.memory import expecting, remember_node
from langmem_plus.middleware.call import Request, asked_thread, inject, reply_thread, said_place, shortened
from langmem_plus.middleware.channels import NOWHERE, Channels, Progress, Run, Runs, read_name
from langmem_plus.recall.planner import PlanSpec
from langmem_plus.recall.query import bounded, current_text
from langmem_plus.records import MemoryReport, Scope
from langmem_plus.remember.ask_owner import astay_with_user, stay_with_user
from langmem_plus.remember.compress import compress_node
from langmem_plus.remember.record import last_counted, record_assistant_node, record_user_node, user_turn
from langmem_plus.remember.review import ReviewSpec
from langmem_plus.services import Documents, Template, Update, marked
from langmem_plus.state import MemoryState

logger = logging.getLogger(__name__)

Response = ModelResponse[Any]
Stage = Runnable[MemoryState, Update]


class LongTermMemoryMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """An agent that remembers: what matters is recalled before it answers, and what was said is stored after.

    Before the agent runs, memory is recalled and what the user says is stored; after an interrupt memory is recalled
    again. The text stands in each model call of the run, at the user's message (or in the system message, as
    ``inject_as`` says), and never in the thread or a checkpoint. After the run the reply is stored, and facts are drawn
    out in the background (``background=False``: before the run ends); from a long thread, the messages go that its
    summary tells (``compress``), before the agent runs where ``hard_limit_tokens`` is passed. The result's
    ``memory_report`` tells what was recalled and stored, and why; the recall's is streamed as the custom event
    ``{"memory": report}``; a parent graph that declares the channel declares it untracked, as `MemoryState` does, or
    its checkpoints hold the texts that the report tells of. Where memory fails, the agent answers without it, and the
    report says so, unless ``strict`` is set.

    What a deepagents subagent is told was written by a model: there memory is recalled and nothing is stored.

    Args:
        store: where memories are kept. Turns that an earlier process left in it are worked off in the background from
            now on, where it can tell which namespaces have some. None uses the agent's own store
            (``create_agent(store=…)``), or the platform's.
        model: draws facts out, decides and summarises, as ``provider:model`` or as a chat model; None uses rules.
        config: the settings; None reads them from the environment.
        scope: whose memory, when it is always the same; or a namespace template such as ``("memories", "{user_id}")``.
            None takes ``user_id``, ``space`` and ``thread_id`` from the run's context or configuration.
        name: tells several instances in one agent apart; one of another name than the class has its report in
            ``memory_report_<name>``.
        documents: the workspace's, a `DocumentIndex` or several, excerpts of which are recalled where a message names
            them (the strategy ``documents``).
        plan: which memory a message needs, in place of the cues: a function of its words, the messages and the
            settings that gives a `Plan`, a strategy's name, or None for the cues; or a chat model or its name.
        review: which decisions wait for the owner's approval, in place of the setting: ``none``, ``conflicts``,
            ``all``, or a function of a `Decision` and the record that it would retire, or None; True lets it wait.
            As in `create_memory_graph`, an agent with ``background=False`` and a checkpointer asks with an interrupt.

    Raises:
        ConfigError: the name can't be a node's, or a setting names something that can't be built. The agent itself
            raises MissingStoreError without a store and MissingIdentityError without a user.

    Example:
        >>> create_agent(model, tools, middleware=[LongTermMemoryMiddleware(store=store)])  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        store: BaseStore | None = None,
        model: str | BaseChatModel | None = None,
        config: MemoryConfig | None = None,
        scope: Scope | Template | None = None,
        name: str | None = None,
        documents: Documents | Sequence[Documents] | None = None,
        plan: PlanSpec = None,
        review: ReviewSpec = None,
    ) -> None:
        super().__init__()
        self._name = type(self).__name__ if name is None else read_name(name)
        self._channels = Channels.of(self._name)
        self.state_schema = self._channels.schema()
        self.tools = ()
        services = make_services(
            store=store, model=model, config=config, scope=scope, documents=documents, plan=plan, review=review
        )
        self._services = services
        self._runs = Runs()
        # The agent sees the whole thread, as far as whoever stands ahead in the list of middleware leaves it.
        self._recall: list[Stage] = [node for _, node in recall_stages(services, whole_thread=True)]
        before, after = record_user_node(services), [node for _, node in stages(remember_nodes(services), services)]
        if services.config.background:
            afterwards = Afterwards(services)
            before, after = expecting(before, services, afterwards), [remember_node(services, afterwards)]
        self._record: Stage = before
        self._after: list[Stage] = [record_assistant_node(services), *after]
        self._compress: Stage = compress_node(services)
        self._room: Stage | None = compress_node(services, now=True) if services.config.hard_limit_tokens else None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> LongTermMemoryMiddleware:
        """A middleware over the same store: connections, and the runs that are going on, aren't copied."""
        return copy(self)

    @property
    def name(self) -> str:
        """The instance's name, by which LangChain tells the middleware of an agent apart."""
        return self._name

    # hooks

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """Recall, and store what the user said."""
        config = get_config()
        if is_subagent(config):
            return None
        known, nodes, incognito = self._begin(state, config)
        config = marked(config, incognito)
        gone = shortened(known, self._room.invoke(known, config)) if self._room else {}
        run_stages(nodes, known, config)
        return {**self._opened(known, incognito), **gone}

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """Recall, and store what the user said."""
        config = get_config()
        if is_subagent(config):
            return None
        known, nodes, incognito = self._begin(state, config)
        config = marked(config, incognito)
        gone = shortened(known, await self._room.ainvoke(known, config)) if self._room else {}
        await arun_stages(nodes, known, config)
        return {**self._opened(known, incognito), **gone}

    def wrap_model_call(
        self, request: Request, handler: Callable[[Request], Response]
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model with what was recalled; recall first where the run hasn't yet, as after a resume."""
        handle, run = self._find_run(request)
        if not run.fits(request.messages):
            known = self._asked(request, run)
            run_stages(self._recall, known, self._recall_config(request))
            run = _recalled(known)
        handle = self._runs.keep(handle, replace(run, sent=True))
        return self._answered(request, handle, handler(self._injected(request, run)))

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[Response]]
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model with what was recalled; recall first where the run hasn't yet, as after a resume."""
        handle, run = self._find_run(request)
        if not run.fits(request.messages):
            known = self._asked(request, run)
            await arun_stages(self._recall, known, self._recall_config(request))
            run = _recalled(known)
        handle = self._runs.keep(handle, replace(run, sent=True))
        return self._answered(request, handle, await handler(self._injected(request, run)))

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """Store the reply, and have facts drawn out of the turn."""
        if not self._progress(state)["open"]:
            return None
        config, known = get_config(), self._replied(state)
        incognito = self._is_incognito(state, config)
        try:
            if not incognito:
                stay_with_user(self._services, config)
            run_stages([] if incognito else self._after, known, config)
            known["messages"] = list(state["messages"])
            gone = shortened(known, self._compress.invoke(known, marked(config, incognito)))
        except Exception as error:  # noqa: BLE001 - the reply stands already; _failed() logs and reports, or raises
            self._failed(known, error)
            gone = {}
        return {**self._closed(state, known, incognito), **gone}

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """Store the reply, and have facts drawn out of the turn."""
        if not self._progress(state)["open"]:
            return None
        config, known = get_config(), self._replied(state)
        incognito = self._is_incognito(state, config)
        try:
            if not incognito:
                await astay_with_user(self._services, config)
            await arun_stages([] if incognito else self._after, known, config)
            known["messages"] = list(state["messages"])
            gone = shortened(known, await self._compress.ainvoke(known, marked(config, incognito)))
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(known, error)
            gone = {}
        return {**self._closed(state, known, incognito), **gone}

    # between the agent's state and that of memory's stages

    def _progress(self, state: Mapping[str, Any]) -> Progress:
        found: Progress = state.get(self._channels.progress) or NOWHERE
        return found

    def _is_incognito(self, state: Mapping[str, Any], config: RunnableConfig) -> bool:
        """Whether this run is incognito, or goes on with a turn that was."""
        return self._progress(state)["incognito"] or self._services.is_incognito(config)

    def _known(self, state: Mapping[str, Any]) -> MemoryState:
        """What memory's stages read: the thread, the instance's place in it, and the report so far."""
        progress = self._progress(state)
        known = MemoryState(messages=list(state["messages"]), memory_counted=progress["counted"])
        if progress["turn"] is not None:
            known["memory_turn"] = progress["turn"]
        known["memory_report"] = self._runs.get(state.get(self._channels.run)).report
        return known

    def _begin(self, state: Mapping[str, Any], config: RunnableConfig) -> tuple[MemoryState, list[Stage], bool]:
        """What the stages read, those that are to run, and whether the turn is incognito: a run in which the user says
        nothing new goes on with the turn before, as incognito as that was.
        """
        known = self._known(state)
        if user_turn(known["messages"], known.get("memory_turn"), known.get("memory_counted"))[1]:
            return known, [*self._recall, self._record], self._services.is_incognito(config)
        return known, self._recall, self._is_incognito(state, config)

    def _opened(self, known: MemoryState, incognito: bool) -> Update:
        progress = Progress(
            turn=known.get("memory_turn"),
            counted=known.get("memory_counted"),
            said=last_counted(known["messages"], None),
            asked=None if incognito else bounded(current_text(known["messages"])),
            open=True,
            incognito=incognito,
        )
        return {self._channels.progress: progress, self._channels.run: self._runs.keep(None, _recalled(known))}

    def _replied(self, state: Mapping[str, Any]) -> MemoryState:
        """What the stages read once the run is over: the thread, with nothing but the reply after the user's words."""
        known = self._known(state)
        structured = state.get("structured_response") is not None
        messages = reply_thread(known["messages"], self._progress(state)["said"], structured=structured)
        recalled = self._runs.get(state.get(self._channels.run)).context or ""
        return {**known, "messages": messages, "memory_context": recalled}

    def _closed(self, state: Mapping[str, Any], known: MemoryState, incognito: bool) -> Update:
        self._runs.drop(state.get(self._channels.run))
        progress: Progress = {
            **self._progress(state),
            "turn": known.get("memory_turn"),
            "asked": None,
            "open": False,
            "incognito": incognito,
        }
        return {self._channels.progress: progress, self._channels.report: known.get("memory_report") or {}}

    def _failed(self, known: MemoryState, error: Exception) -> None:
        if self._services.config.strict or isinstance(error, GraphBubbleUp | ForeignIdentityError):
            raise error  # a person is asked, or somebody else answers, for whom the question has to stay
        logger.error("memory: what was said wasn't remembered: %s", error, exc_info=error)
        report = MemoryReport(
            warnings=[f"remember failed: {type(error).__name__}: {error}"], counts={"remember_failed": 1}
        )
        known["memory_report"] = report.after(known.get("memory_report"))

    # the model call

    def _find_run(self, request: Request) -> tuple[str | None, Run]:
        handle: str | None = cast(Mapping[str, Any], request.state).get(self._channels.run)
        return handle, self._runs.get(handle)

    def _recall_config(self, request: Request) -> RunnableConfig:
        """The run's configuration; incognito where the turn was, although who resumes it doesn't say so."""
        return marked(get_config(), self._progress(request.state)["incognito"])

    def _asked(self, request: Request, run: Run) -> MemoryState:
        """What recall reads: the messages that the model would see, the user's last words the last of a person."""
        progress = self._progress(request.state)
        window = asked_thread(request.messages, progress["said"], progress.get("asked"))
        return MemoryState(messages=window, memory_report=run.report)

    def _injected(self, request: Request, run: Run) -> Request:
        said = self._progress(request.state)["said"]
        as_user = self._services.config.inject_as == "user"
        return inject(request, run.context or "", said_place(request.messages, said) if as_user else None)

    def _answered(
        self, request: Request, handle: str | None, response: Response
    ) -> Response | ExtendedModelResponse[Any]:
        """The response; after a resume, which begins without a handle, with the handle for the run's further calls."""
        if handle == cast(Mapping[str, Any], request.state).get(self._channels.run):
            return response
        return ExtendedModelResponse(response, Command(update={self._channels.run: handle}))


def is_subagent(config: RunnableConfig) -> bool:
    """Whether a deepagents agent has called this one: then a model has written what it is told."""
    return (config.get("configurable") or {}).get("ls_agent_type") == "subagent"


def _recalled(known: MemoryState) -> Run:
    """What the stages of recall have written."""
    window = frozenset(message.id for message in known["messages"])
    return Run(known.get("memory_context") or "", known.get("memory_report") or {}, window)


def run_stages(nodes: Sequence[Stage], known: MemoryState, config: RunnableConfig) -> None:
    """Run stages one after another, each on what the ones before have written into the state."""
    for node in nodes:
        cast(Update, known).update(node.invoke(known, config))


async def arun_stages(nodes: Sequence[Stage], known: MemoryState, config: RunnableConfig) -> None:
    """As `run_stages`."""
    for node in nodes:
        cast(Update, known).update(await node.ainvoke(known, config))
