"""The two halves of memory, each a graph of its own: recall before the answer, remember after it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, NotRequired

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.channels import UntrackedValue
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from typing_extensions import TypedDict

from langmem_plus.config import ENDLESS, MemoryConfig
from langmem_plus.errors import ConfigError
from langmem_plus.graph.parents import RecallGraph, RememberGraph, aware
from langmem_plus.labels import read_template
from langmem_plus.providers import make_chat_model, make_reranker, make_token_encoder
from langmem_plus.providers.rerank import RerankerSpec
from langmem_plus.recall.inject import inject_node
from langmem_plus.recall.mmr import mmr_node
from langmem_plus.recall.plan import plan_node
from langmem_plus.recall.planner import PlanSpec, make_planner
from langmem_plus.recall.rerank import rerank_node
from langmem_plus.recall.retrieve import retrieve_node
from langmem_plus.records import MemoryHit, MemoryRecord, Plan, Scope, utc_now
from langmem_plus.remember.archive import archive_node
from langmem_plus.remember.enrich import enrich_node
from langmem_plus.remember.evict import evict_node
from langmem_plus.remember.extract import extract_node
from langmem_plus.remember.reconcile import reconcile_node
from langmem_plus.remember.record import keep_incognito, record_node
from langmem_plus.remember.retain import is_wanted as is_retain_wanted
from langmem_plus.remember.retain import retain_node
from langmem_plus.remember.review import ReviewSpec, make_policy
from langmem_plus.remember.summarize import summarize_node
from langmem_plus.services import Documents, Services, Step, Template, Update, held
from langmem_plus.shown import shown
from langmem_plus.state import MemoryState

Node = Callable[[Services], Runnable[MemoryState, Update]]
Graph = CompiledStateGraph[Any, Any, Any, Any]

RECALL: tuple[tuple[str, Node], ...] = (
    ("plan", plan_node),
    ("retrieve", retrieve_node),
    ("rerank", rerank_node),
    ("mmr", mmr_node),
    ("inject", inject_node),
)
REMEMBER: tuple[tuple[str, Node], ...] = (  # `compress` edits the thread: it stands in the memory graph
    ("extract", extract_node),
    ("enrich", enrich_node),
    ("reconcile", reconcile_node),
    ("summarize", summarize_node),
    ("evict", evict_node),
)


class Messages(TypedDict):
    """What goes into a memory graph: the new messages, or the thread so far; and which were said incognito, where a
    parent keeps that.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    memory_incognito: NotRequired[list[str]]


class Nothing(TypedDict, total=False):
    """The remember graph needs no input where the turns stand in the store already."""

    messages: Annotated[list[AnyMessage], add_messages]
    memory_incognito: list[str]


class Recalled(TypedDict, total=False):
    """What the recall graph gives: ``memory_context`` for the model call, and where it came from."""

    memory_plan: Annotated[Plan, UntrackedValue]
    memory_hits: Annotated[list[MemoryHit], UntrackedValue]
    memory_summary: Annotated[MemoryRecord | None, UntrackedValue]
    memory_context: Annotated[str, UntrackedValue]
    memory_incognito: list[str]
    memory_report: Annotated[dict[str, Any], UntrackedValue]


class Remembered(TypedDict, total=False):
    """What the remember graph gives: its report, with the decisions and their reasons."""

    memory_incognito: list[str]
    memory_report: Annotated[dict[str, Any], UntrackedValue]


class Answered(TypedDict, total=False):
    """What a memory graph gives: the thread with the answer, and the report of what was recalled and decided."""

    messages: Annotated[list[AnyMessage], add_messages]
    memory_context: Annotated[str, UntrackedValue]
    memory_incognito: list[str]
    memory_report: Annotated[dict[str, Any], UntrackedValue]


def make_services(
    *,
    store: BaseStore | None,
    model: str | BaseChatModel | None = None,
    config: MemoryConfig | None = None,
    scope: Scope | Template | None = None,
    reranker: RerankerSpec = None,
    documents: Documents | Sequence[Documents] | None = None,
    plan: PlanSpec = None,
    review: ReviewSpec = None,
    clock: Callable[[], dt.datetime] = utc_now,
) -> Services:
    """Turn the arguments of a public function into what the nodes share."""
    config = MemoryConfig.of(config)
    chat_model = make_chat_model(model or config.model, config)
    return Services(
        config=config,
        store=store,
        model=chat_model,
        reranker=make_reranker(config.reranker if reranker is None else reranker, config, chat_model),
        token_encoder=make_token_encoder(config),
        scope=_checked_scope(scope),
        clock=clock,
        documents=_checked_documents(documents),
        plan=make_planner(plan, config, chat_model),
        review=make_policy(review, config.review),
    )


def _checked_documents(documents: Any) -> tuple[Documents, ...]:
    found = () if documents is None else tuple(documents) if isinstance(documents, list | tuple) else (documents,)
    for each in found:
        if not (callable(getattr(each, "find", None)) and callable(getattr(each, "afind", None))):
            raise ConfigError(f"documents is {shown(each)}: pass DocumentIndex(folder), several in a list, or None.")
    return found


def _checked_scope(scope: Any) -> Scope | Template | None:
    return scope if scope is None or isinstance(scope, Scope) else read_template("scope", scope)


def stages(nodes: Sequence[tuple[str, Node]], services: Services) -> list[tuple[str, Runnable[MemoryState, Update]]]:
    """The named nodes of one half, in order."""
    return [(name, node(services)) for name, node in nodes]


def remember_nodes(services: Services) -> tuple[tuple[str, Node], ...]:
    """The nodes of remember, in order: those that every graph has, and those that the settings ask for."""
    config = services.config
    archives = config.archive_conversations and services.model is not None  # rules make one where it is needed
    extra = {"summarize": [("archive", archive_node)] * archives}
    found = [node for each in REMEMBER for node in (each, *extra.get(each[0], ()))]
    return (*found, *([("retain", retain_node)] if is_retain_wanted(config) else []))


def recall_stages(services: Services, *, whole_thread: bool) -> list[tuple[str, Runnable[MemoryState, Update]]]:
    """The nodes of recall, for an agent that sees the thread's tail, or all of it and is told of no cut.

    What stands in an agent's window isn't recalled: for one that sees the whole thread, none of the thread's messages.
    """
    found = stages(RECALL, services)
    if not whole_thread:
        return found
    endless = dict.fromkeys(("tail_messages", "tail_max_tokens", "max_prompt_tokens", "max_prompt_bytes"), ENDLESS)
    unclipped = replace(services, config=services.config.replace(**endless))
    own = {"retrieve": retrieve_node(unclipped), "inject": inject_node(services, whole_thread=True)}
    return [(name, own.get(name, node)) for name, node in found]


def noting(plan: Step, services: Services) -> Step:
    """The first node of recall, which notes for the parent whether the turn is incognito: it may be interrupted, and
    its remember graph run in another run.
    """

    def node(state: MemoryState, config: RunnableConfig) -> Update:
        kept = keep_incognito(state, services.is_incognito(held(state, config)))
        return {**plan.run(state, config), **kept}

    async def anode(state: MemoryState, config: RunnableConfig) -> Update:
        kept = keep_incognito(state, services.is_incognito(held(state, config)))
        return {**await plan.arun(state, config), **kept}

    return Step(plan.name, node, anode)


def build_recall_graph(services: Services) -> Graph:
    """The recall graph over services that exist already."""
    builder = StateGraph(MemoryState, input_schema=Messages, output_schema=Recalled)
    plan = noting(plan_node(services), services)
    builder.add_sequence([(plan.name, plan), *stages(RECALL[1:], services)])
    builder.add_edge(START, plan.name).add_edge(RECALL[-1][0], END)
    # Nothing of it is checkpointed: a graph that is resumed calls it anew, instead of finding it done and empty.
    return aware(RecallGraph, builder.compile(name="recall", checkpointer=False))


def build_remember_graph(services: Services, *, recorded: bool) -> Graph:
    """The remember graph over services that exist already; where the turns are ``recorded``, it begins after that."""
    builder = StateGraph(MemoryState, input_schema=Nothing, output_schema=Remembered)
    nodes = remember_nodes(services) if recorded else (("record", record_node), *remember_nodes(services))
    builder.add_sequence(stages(nodes, services))
    builder.add_edge(START, nodes[0][0]).add_edge(nodes[-1][0], END)
    return aware(RememberGraph, builder.compile(name="remember"))


def create_recall_graph(
    *,
    store: BaseStore | None = None,
    config: MemoryConfig | None = None,
    scope: Scope | Template | None = None,
    reranker: RerankerSpec = None,
    documents: Documents | Sequence[Documents] | None = None,
    plan: PlanSpec = None,
) -> Graph:
    """A graph ``plan → retrieve → rerank → mmr → inject`` that turns messages into ``memory_context``.

    As a node it shares ``messages``, and its parent declares ``memory_context``, as `MemoryState` does, to read it; one
    that drops it, or checkpoints it, is warned about. A node's function can call it instead:
    ``recall.invoke({"messages": state["messages"]})["memory_context"]`` has the parent's store, thread and user, and
    needs no channel. What is recalled is in no checkpoint, so it is gone after an interrupt: a node that may be
    interrupted calls it so, and recalls again.

    A turn that begins incognito stays so, in a parent with `MemoryState`'s channels: whoever resumes it, or has it
    answered again, needn't say it again, and the remember graph stores nothing of it. A parent without the channel
    ``memory_incognito`` keeps no note of that: there each run of the turn says ``incognito`` itself.

    Args:
        store: where memories are kept; None uses the store of the parent graph or of the platform.
        config: the settings; None reads them from the environment.
        scope: whose memory, when it is always the same; or a namespace template such as ``("memories", "{user_id}")``.
            None takes ``user_id``, ``space`` and ``thread_id`` from the run.
        reranker: scores candidates in place of the one that the settings name: a chat model or its name, a flashrank
            folder, or a function of a query and texts.
        documents: the workspace's, a `DocumentIndex` or several, excerpts of which are recalled where a message names
            them (the strategy ``documents``).
        plan: which memory a message needs, in place of the cues: a function of its words, the messages and the
            settings that gives a `Plan`, a strategy's name, or None for the cues; or a chat model or its name.
    """
    return build_recall_graph(
        make_services(store=store, config=config, scope=scope, reranker=reranker, documents=documents, plan=plan)
    )


def create_remember_graph(
    *,
    store: BaseStore | None = None,
    model: str | BaseChatModel | None = None,
    config: MemoryConfig | None = None,
    scope: Scope | Template | None = None,
    review: ReviewSpec = None,
) -> Graph:
    """A graph ``record → extract → enrich → reconcile → summarize → evict``: what was said becomes memory.

    As a subgraph after the agent it stores the user's last words in ``messages`` and the reply to them, once, and draws
    facts out of every turn that waits in the store; without messages it does only the latter.

    What an incognito run said isn't stored by a later one either, in a parent with `MemoryState`'s channels. Where the
    agent may be interrupted, the recall graph stands ahead of it, which notes that the turn is incognito; in a parent
    without it, or without the channel ``memory_incognito``, the run that resumes has to be incognito as well.

    Args:
        store: where memories are kept; None uses the store of the parent graph or of the platform.
        model: draws facts out, decides and summarises, as ``provider:model`` or as a chat model; None uses rules.
        config: the settings; None reads them from the environment.
        scope: as in `create_recall_graph`.
        review: which decisions wait for the owner's approval, in place of the setting: ``none``, ``conflicts``,
            ``all``, or a function of a `Decision` and the record that it would retire, or None; True lets it wait.
            With ``background=False`` and a checkpointer around it, the graph asks, as `create_memory_graph` does.
    """
    services = make_services(store=store, model=model, config=config, scope=scope, review=review)
    return build_remember_graph(services, recorded=False)
