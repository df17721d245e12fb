"""The whole loop around an agent: recall, answer, remember."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer
from typing_extensions import TypedDict

from langmem_plus.config import MemoryConfig
from langmem_plus.graph.afterwards import Afterwards
from langmem_plus.graph.agent import Agent, agent_node, open_door
from langmem_plus.graph.halves import Answered, Graph, Messages, make_services, recall_stages, remember_nodes, stages
from langmem_plus.graph.parents import ForeignGraph, aware
from langmem_plus.messages import last_human
from langmem_plus.recall.planner import PlanSpec
from langmem_plus.records import MemoryReport, Scope
from langmem_plus.remember.compress import compress_node
from langmem_plus.remember.record import record_assistant_node, record_user_node
from langmem_plus.remember.review import ReviewSpec
from langmem_plus.services import Documents, Services, Step, Template, Update, held
from langmem_plus.state import MemoryState


def create_memory_graph(
    agent: Agent,
    *,
    store: BaseStore | None = None,
    model: str | BaseChatModel | None = None,
    config: MemoryConfig | None = None,
    scope: Scope | Template | None = None,
    checkpointer: Checkpointer = None,
    documents: Documents | Sequence[Documents] | None = None,
    plan: PlanSpec = None,
    review: ReviewSpec = None,
) -> Graph:
    """An agent that remembers: what matters is recalled before it answers, and what was said is stored after.

    ``plan → retrieve → rerank → mmr → inject → record_user → agent → record_assistant → compress``, and then
    ``remember``, which only hands the rest to the background; with ``background=False`` in the settings the chain
    ``extract → enrich → reconcile → summarize → evict`` follows before the run ends. With ``hard_limit_tokens`` in the
    settings, ``make_room`` stands ahead of ``plan``; with ``archive_conversations`` and a model, ``archive`` follows
    ``summarize``; with ``retention_days`` or ``turn_ttl_days``, ``retain`` comes last.

    A turn that begins incognito stays so, whatever the run that resumes it, or has it answered again, says. As a node,
    the graph keeps that in its parent's channel ``memory_incognito`` once it has answered (declare `MemoryState`); in a
    parent without it, each run of the turn says ``incognito`` itself.

    Args:
        agent: a chat model; a callable or Runnable over ``{"messages": [...]}``; a compiled graph with a
            ``memory_context`` channel (declare `MemoryState`), which gets the recalled text there, beside the whole
            thread; or any compiled graph with ``messages``, which gets it in that one call's messages, so that its own
            per-call checkpoint holds it, but never the thread. All but the one with the channel get the thread's tail
            within the settings' budgets. Only new messages are taken from it. A graph's tokens are streamed with
            ``subgraphs=True``, as with every subgraph.
        store: where memories are kept; it is closed over, not compiled in. Turns that an earlier process left in it are
            worked off in the background from now on, where it can tell which namespaces have some. None uses the store
            of the parent graph or of the platform.
        model: draws facts out, decides and summarises, as ``provider:model`` or as a chat model; None uses rules.
        config: the settings; None reads them from the environment.
        scope: whose memory, when it is always the same; or a namespace template such as ``("memories", "{user_id}")``.
            None takes ``user_id``, ``space`` and ``thread_id`` from the run's context or configuration, else the
            server's user. Where users sign in and name themselves in neither, ``("memories",
            "{langgraph_auth_user_id}")`` is the one who is signed in, whatever a run says.
        checkpointer: keeps the thread's messages between runs; recalled text is never in them. Old messages leave a
            long thread once its summary in the store tells what they said. True keeps them as a
            subgraph's own, in the checkpointer of the graph that calls this one.
        documents: the workspace's, a `DocumentIndex` or several, excerpts of which are recalled where a message names
            them (the strategy ``documents``).
        plan: which memory a message needs, in place of the cues: a function of its words, the messages and the
            settings that gives a `Plan`, a strategy's name, or None for the cues; or a chat model or its name.
        review: which decisions wait for the owner's approval, in place of the setting: ``none``, ``conflicts``,
            ``all``, or a function of a `Decision` and the record that it would retire, or None; True lets it wait.
            With ``background=False`` and a checkpointer, the graph stops with an interrupt before any of it is written;
            resume it with True, False, or ``{"approve": [ids], "reject": [ids]}``. Else, and for what isn't named, a
            pending record waits for the client's `approve` and `reject`.

    Raises:
        ConfigError: the agent isn't any of these, or a setting names something that can't be built. The graph itself
            raises MissingStoreError without a store and MissingIdentityError without a user.
    """
    services = make_services(
        store=store, model=model, config=config, scope=scope, documents=documents, plan=plan, review=review
    )
    return build_memory_graph(agent, services, checkpointer)


class Continued(TypedDict):
    """What goes into a memory graph whose thread is kept elsewhere: its end, and how far it was counted.

    Attributes:
        messages: the end of the thread, with the new message as the last one.
        memory_turn: the number of the thread's last turn; 0 before the first.
        memory_counted: the id of the user's last message that was counted.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    memory_turn: int
    memory_counted: str | None


def build_memory_graph(
    agent: Agent,
    services: Services,
    checkpointer: Checkpointer = None,
    *,
    input_schema: type = Messages,
    tells: bool = True,
) -> Graph:
    """The memory graph over services that exist already.

    Args:
        agent: as in `create_memory_graph`.
        services: the settings, the store and the model.
        checkpointer: as in `create_memory_graph`.
        input_schema: what goes into it.
        tells: whether its report tells what the background warned of; else whoever runs it does.
    """
    door = open_door(agent)
    recall = recall_stages(services, whole_thread=door.reader is not None)
    # The store is left out of compile(): a graph that carries one doesn't load on LangGraph's platform.
    builder = StateGraph(MemoryState, input_schema=input_schema, output_schema=Answered)
    record, rest = record_user_node(services), stages(remember_nodes(services), services)
    if services.config.background:
        afterwards = Afterwards(services)
        record = expecting(record, services, afterwards)
        rest = [("remember", remember_node(services, afterwards, tells=tells))]
    # Ahead of recall, which reads the summary that takes the place of what leaves.
    room = [("make_room", compress_node(services, now=True))] if services.config.hard_limit_tokens else []
    nodes = [
        *room,
        *recall,
        ("record_user", record),
        ("agent", agent_node(door, services, [node for _, node in recall])),
        ("record_assistant", record_assistant_node(services)),
        ("compress", compress_node(services)),
        *rest,
    ]
    builder.add_sequence(nodes).add_edge(START, nodes[0][0]).add_edge(nodes[-1][0], END)
    return aware(ForeignGraph, builder.compile(checkpointer=checkpointer, name="memory"))


def expecting(record: Step, services: Services, afterwards: Afterwards) -> Step:
    """The node that stores the user's turn, and sees to it that the turn is worked off even if the run never ends: its
    agent may fail, and its stream be left.
    """

    def expect(state: MemoryState, config: RunnableConfig) -> None:
        if not services.is_incognito(held(state, config)):
            afterwards.expect(services.find_scope(config), services.find_store())

    def node(state: MemoryState, config: RunnableConfig) -> Update:
        update = record.run(state, config)
        expect(state, config)
        return update

    async def anode(state: MemoryState, config: RunnableConfig) -> Update:
        try:
            return await record.arun(state, config)
        finally:  # a run that is cancelled here may have written the turn all the same
            expect(state, config)

    return Step(record.name, node, anode)


def remember_node(services: Services, afterwards: Afterwards, *, tells: bool = True) -> Step:
    """Hand the thread to the background, and report what that warned of before; an incognito thread has nothing to
    remember.

    What an earlier process left behind in a store that is given is handed over at once.

    Args:
        services: the settings and the store.
        afterwards: the background's work.
        tells: whether the report has the warnings.
    """
    if services.store is not None:
        afterwards.catch_up(services.store)

    def node(state: MemoryState, config: RunnableConfig) -> Update:
        if services.is_incognito(held(state, config)):
            return {}
        scope, store = services.find_scope(config), services.find_store()
        said = last_human(state["messages"])
        name = state["messages"][said].name if said is not None else None
        report = MemoryReport(warnings=afterwards.warnings(scope, store, name) if tells else [])
        afterwards.submit(scope, store)
        if (failure := afterwards.failure(scope, store)) is not None:
            report.warnings.append(f"facts of earlier turns aren't drawn out yet: {failure}")
            report.counts["remember_failed"] = 1
        if not report.warnings:
            return {}
        return {"memory_report": report.after(state.get("memory_report"))}

    async def anode(state: MemoryState, config: RunnableConfig) -> Update:
        return node(state, config)

    return Step("remember", node, anode)
