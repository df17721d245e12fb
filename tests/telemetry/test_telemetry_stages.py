"""Each stage is a span of its name, and what it reports is metrics; no text leaves without being asked for."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from opentelemetry.trace import SpanKind, StatusCode
from pydantic import BaseModel

from langmem_plus import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.graph import create_memory_graph
from langmem_plus.providers.chat import astructured, structured
from langmem_plus.providers.threads import within
from langmem_plus.recall.inject import inject_node
from langmem_plus.records import MemoryRecord, MemoryReport, Plan
from langmem_plus.services import Services, stage
from langmem_plus.state import MemoryState
from langmem_plus.telemetry import Observed, here
from langmem_plus.telemetry.names import COUNTED
from langmem_plus.testing import ScriptedChatModel

ALICE = {"configurable": {"user_id": "alice-secret", "thread_id": "thread-secret"}}
PLAIN = MemoryConfig(embeddings="none", background=False)


class Word(BaseModel):
    """A word."""

    word: str


def node(run: Callable[[], dict[str, Any]], name: str = "extract", **settings_: Any) -> Any:
    """A stage that does this, in sync and async."""

    def sync(state: MemoryState, config: RunnableConfig) -> dict[str, Any]:
        return run()

    async def awaiting(state: MemoryState, config: RunnableConfig) -> dict[str, Any]:
        return run()

    return stage(name, Services(PLAIN.replace(**settings_)), sync, awaiting)


def call(stage_: Any, how: str) -> dict[str, Any]:
    """Run a stage either way."""
    return stage_.invoke({}, ALICE) if how == "sync" else asyncio.run(stage_.ainvoke({}, ALICE))


def talk(*said: str, **fields: Any) -> dict[str, Any]:
    """A thread of a memory graph, one message after another; gives the last result."""
    settings_ = PLAIN.replace(**fields.pop("settings", {}))
    graph = create_memory_graph(fields.pop("agent", _echo), store=InMemoryStore(), config=settings_, **fields)
    found: dict[str, Any] = {}
    for text in said:
        found = graph.invoke({"messages": [HumanMessage(text)]}, ALICE)
    return found


def _echo(state: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [AIMessage("Zanzibar is lovely, and Rex is welcome.")]}


class TestSpans:
    @pytest.mark.parametrize("how", ["sync", "async"])
    def test_a_stage_is_a_span_of_its_name(self, told, how: str) -> None:
        """With what it counted, and OpenTelemetry's name for what it does."""
        report = MemoryReport(counts={"candidates": 3}, tokens={"context": 7})
        call(node(lambda: {"memory_report": report}, "retrieve"), how)
        attributes = told.span("retrieve").attributes
        assert attributes["gen_ai.operation.name"] == "search_memory"
        assert attributes["gen_ai.memory.record.count"] == attributes["langmem_plus.candidates"] == 3
        assert attributes["langmem_plus.tokens.context"] == 7
        (point,) = told.points("langmem_plus.stage.duration")
        assert (point.count, dict(point.attributes)) == (1, {"langmem_plus.stage": "retrieve"})

    @pytest.mark.parametrize("strict", [True, False])
    @pytest.mark.parametrize("how", ["sync", "async"])
    def test_a_failure_is_told_by_its_kind_alone(self, told, how: str, strict: bool) -> None:
        """Also where the turn goes on without the stage; an error's message may quote somebody."""

        def fail() -> dict[str, Any]:
            raise ValueError("Rex bit the postman")

        failing = node(fail, strict=strict)
        if strict:
            with pytest.raises(ValueError, match="postman"):
                call(failing, how)
        else:
            call(failing, how)
        span = told.span("extract")
        assert (span.attributes["error.type"], span.status.status_code) == ("ValueError", StatusCode.ERROR)
        assert told.sums("langmem_plus.stage.failures", "langmem_plus.stage", "error.type") == {
            ("extract", "ValueError"): 1
        }
        assert "postman" not in told.everything()

    def test_an_interrupt_is_no_failure(self, told) -> None:
        """A stage that asks a person hasn't failed."""
        from langgraph.errors import GraphInterrupt

        def ask() -> dict[str, Any]:
            raise GraphInterrupt

        with pytest.raises(GraphInterrupt):
            call(node(ask), "sync")
        assert told.span("extract").status.status_code is StatusCode.UNSET
        assert told.points("langmem_plus.stage.failures") == []

    @pytest.mark.parametrize("how", ["sync", "async"])
    def test_calls_of_models_are_spans_below_their_stage(self, told, how: str) -> None:
        """With what they cost, which the report says, too."""
        usage = {"input_tokens": 11, "output_tokens": 3, "total_tokens": 14}
        model = ScriptedChatModel([AIMessage('{"word": "tea"}', usage_metadata=usage)] * 2)
        asked = [HumanMessage("?")]

        def run(state: MemoryState, config: RunnableConfig) -> dict[str, Any]:
            within(10, structured, model, asked, Word)
            structured(model, asked, Word)
            return {}

        async def arun(state: MemoryState, config: RunnableConfig) -> dict[str, Any]:
            await astructured(model, asked, Word)
            await astructured(model, asked, Word)
            return {}

        update = call(stage("extract", Services(PLAIN), run, arun), how)
        counts = update["memory_report"]["counts"]
        assert counts == {"extract_calls": 2, "extract_input_tokens": 22, "extract_output_tokens": 6}
        above, chats = told.span("extract"), [span for span in told.spans if span.name.startswith("chat")]
        assert {span.parent.span_id for span in chats} == {above.context.span_id}
        assert [span.kind for span in chats] == [SpanKind.CLIENT] * 2
        assert [span.attributes["gen_ai.usage.input_tokens"] for span in chats] == [11, 11]
        assert above.attributes["gen_ai.usage.output_tokens"] == 6
        assert told.sums("langmem_plus.model.calls", "langmem_plus.stage") == {"extract": 2}
        used = {point.attributes["gen_ai.token.type"]: point.sum for point in told.points("gen_ai.client.token.usage")}
        assert used == {"input": 22, "output": 6}

    def test_work_for_later_is_linked_to_what_caused_it(self, told) -> None:
        """A span of another trace is named by its link."""
        with Observed("record_user"):
            link = here()
        assert here() is None
        with Observed("remember", link=link):
            assert here() is not None
        (found,) = told.span("remember").links
        assert found.context.span_id == told.span("record_user").context.span_id


@pytest.mark.parametrize(("name", "count"), [(name, count) for name in COUNTED for count in COUNTED[name]])
def test_a_count_is_a_metric(told, name: str, count: str) -> None:
    """Each that a stage may report, with what tells it apart."""
    call(node(lambda: {"memory_report": MemoryReport(counts={count: 3})}, name), "sync")
    metric, apart = COUNTED[name][count]
    assert [(dict(point.attributes), point.value) for point in told.points(metric)] == [(apart, 3)]


class TestGraph:
    def test_a_turn_is_a_span_a_stage(self, told) -> None:
        """Each of the stages, by its name, once."""
        graph = create_memory_graph(_echo, store=InMemoryStore(), config=PLAIN)
        graph.invoke({"messages": [HumanMessage("I live in Zanzibar.")]}, ALICE)
        assert [span.name for span in told.spans] == [
            name for name in graph.nodes if name not in ("__start__", "agent")
        ]

    def test_the_hit_rate(self, told) -> None:
        """Turns where memory was injected, and answers that used it."""
        talk("My dog is called Rex.", "What is my dog called?", "ok")
        injected = told.sums("langmem_plus.recalls", "langmem_plus.injected", "langmem_plus.strategy")
        assert injected[(True, "memory")] == 1 and injected[(False, "none")] == 1
        assert told.sums("langmem_plus.answers", "langmem_plus.used") == {True: 1}
        assert told.sums("langmem_plus.turns") == {(): 3}

    def test_what_deduplication_saves(self, told) -> None:
        """A fact that is said again is counted as repeated."""
        talk("My dog is called Rex.", "My dog is called Rex.")
        facts = told.sums("langmem_plus.facts", "langmem_plus.event")
        assert facts["added"] == 1 and facts["repeated"] == 1

    def test_what_is_trimmed(self, told) -> None:
        """What finds no room is counted, and what is evicted."""
        said = ("My dog is called Rex.", "My cat is called Tom.", "What are my dog and my cat called?")
        talk(*said, settings={"memories_max_tokens": 20, "max_entries": 1})
        trims = told.sums("langmem_plus.trims", "langmem_plus.trim")
        assert trims["no_room"] >= 1 and trims["evicted"] >= 1

    @pytest.mark.parametrize("words", ["What are my dog and my cat called, please?", "ok, thanks!"])
    def test_what_a_call_goes_without(self, told, words: str) -> None:
        """Messages of the thread, with results of tools among them, also where nothing is recalled."""
        call_ = {"name": "look", "args": {}, "id": "1"}
        thread = [
            *(HumanMessage("Look it up."), AIMessage("", tool_calls=[call_]), ToolMessage("found", tool_call_id="1")),
            *(AIMessage("It is there."), HumanMessage(words)),
        ]
        settings_ = PLAIN.replace(tail_messages=3)
        graph = create_memory_graph(_echo, store=InMemoryStore(), config=settings_)
        events = list(graph.stream({"messages": thread}, ALICE, stream_mode="custom"))
        counts = events[0]["memory"]["counts"]
        assert (counts["tail_left_out"], counts["tail_results_left_out"]) == (2, 1)
        assert told.sums("langmem_plus.tail.messages") == {(): 2}
        assert told.sums("langmem_plus.tail.results") == {(): 1}

    def test_what_of_a_prompt_is_cut(self, told) -> None:
        """The user's words, the thread's summary, and a hint that finds no room."""
        state: Any = {
            "messages": [HumanMessage("My dog is called Rex. " * 40)],
            "memory_plan": Plan(strategy="memory", reason=""),
            "memory_summary": MemoryRecord(id="s", role="summary", text="They spoke of dogs. " * 40, user_id="a"),
        }
        settings_ = {"user_max_tokens": 20, "summary_max_tokens": 30}
        inject_node(Services(PLAIN.replace(**settings_))).invoke(state)
        assert told.sums("langmem_plus.trims", "langmem_plus.trim") == {"user": 1, "summary": 1}
        hint = PLAIN.replace(max_prompt_tokens=60, response_hint="Answer in one short sentence. " * 20)
        inject_node(Services(hint)).invoke({"messages": [HumanMessage("My dog?")]})
        assert told.sums("langmem_plus.trims", "langmem_plus.trim")["hint"] == 1

    def test_what_a_turn_costs(self, told) -> None:
        """Calls and tokens of memory's models over the messages that were stored, in the metrics and in the stream."""
        usage = {"input_tokens": 40, "output_tokens": 5, "total_tokens": 45}
        answer = AIMessage('{"facts": [{"text": "The user\'s dog is called Rex."}]}', usage_metadata=usage)
        model = ScriptedChatModel(then=answer)
        talk("My dog is called Rex.", "ok", model=model, settings={"combine": False, "summarize": False})
        (turns,) = told.sums("langmem_plus.turns").values()
        calls = told.sums("langmem_plus.model.calls", "langmem_plus.stage")
        assert (turns, sum(calls.values())) == (2, len(model.calls)) and calls["extract"] == 1
        spent = {"input": 0, "output": 0}
        for point in told.points("gen_ai.client.token.usage"):
            spent[point.attributes["gen_ai.token.type"]] += point.sum
        assert spent == {"input": 40 * len(model.calls), "output": 5 * len(model.calls)}

    def test_a_failure_is_counted_by_its_stage(self, told) -> None:
        """A model that is away fails the stage that asked it, and no other; the turn goes on."""
        found = talk("My dog is called Rex.", model=ScriptedChatModel(then=ConnectionError("away")))
        assert found["messages"][-1].text
        failed = told.sums("langmem_plus.stage.failures", "langmem_plus.stage", "error.type")
        assert failed == {("extract", "ConnectionError"): 1}

    def test_what_leaves_a_long_thread(self, told) -> None:
        """Messages that compression took out of it."""
        settings_ = PLAIN.replace(threshold_tokens=60, recent_messages_to_keep=2, summary_refresh_turns=1)
        graph = create_memory_graph(_echo, store=InMemoryStore(), config=settings_, checkpointer=InMemorySaver())
        for place in range(6):
            graph.invoke({"messages": [HumanMessage(f"My dog number {place} is called Rex the {place}th.")]}, ALICE)
        left = len(graph.get_state(ALICE).values["messages"])
        assert told.sums("langmem_plus.compressed") == {(): 12 - left} and left < 12

    @settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(word=st.text("qxzj", min_size=6, max_size=12))
    def test_no_text_and_no_identity_is_told(self, told, word: str) -> None:
        """Whatever is said, recalled and answered: names of stages, numbers and kinds alone leave the process."""
        talk(f"My dog is called {word}.", f"Is {word} a good name for a dog?")
        everything = told.everything()
        assert word not in everything and "secret" not in everything and "Zanzibar" not in everything

    def test_content_is_told_on_request(self, told) -> None:
        """With ``telemetry_content``: whose memory, which thread, what was asked and found."""
        talk("My dog is called Rex.", "What is my dog called?", settings={"telemetry_content": True})
        inject = [span for span in told.spans if span.name == "inject"][-1].attributes
        assert (inject["user.id"], inject["gen_ai.conversation.id"]) == ("alice-secret", "thread-secret")
        assert "Rex" in inject["gen_ai.memory.records"]
        retrieve = [span for span in told.spans if span.name == "retrieve"][-1].attributes
        assert retrieve["gen_ai.memory.query.text"] == "What is my dog called?"

    def test_an_incognito_thread_tells_no_content(self, told) -> None:
        """Whatever the setting is."""
        talk("My dog is called Rex.", settings={"telemetry_content": True, "incognito_default": True})
        everything = told.everything()
        assert "Rex" not in everything and "secret" not in everything


class TestSearch:
    @pytest.mark.parametrize("how", ["sync", "async"])
    @pytest.mark.parametrize("content", [False, True])
    async def test_a_search_is_a_span_with_its_stages_below(self, told, how: str, content: bool) -> None:
        """Of the client, the tools and the retriever, which run no graph."""
        client = MemoryClient(InMemoryStore(), config=PLAIN.replace(telemetry_content=content))
        client.add("My dog is called Rex.", user_id="alice-secret")
        question = {"query": "What is my dog called?", "user_id": "alice-secret"}
        found = client.search(**question) if how == "sync" else await client.asearch(**question)
        search = told.span("search")
        assert search.attributes["gen_ai.operation.name"] == "search_memory"
        assert search.attributes["gen_ai.memory.record.count"] == len(found) > 0
        below = [span.name for span in told.spans if span.parent and span.parent.span_id == search.context.span_id]
        assert below == ["retrieve", "rerank", "mmr"]
        assert ("Rex" in search.attributes.get("gen_ai.memory.records", "")) is content
        assert (search.attributes.get("gen_ai.memory.query.text") == question["query"]) is content
        assert ("secret" in told.everything()) is content


class TestPinned:
    def test_one_without_room_in_the_prompt_is_told(self, told) -> None:
        """As a warning in the report that is streamed, and as a number that should stay 0."""
        store = InMemoryStore()
        with MemoryClient(store, config=PLAIN) as client:
            client.add("My dog is called Rex.", user_id="alice")
            (fact,) = client.list(user_id="alice", role="memory")
            client.pin(fact.id, user_id="alice")
            report = client.explain("What is my dog called?", user_id="alice").report
            assert "pinned_chosen" not in report.counts
        with MemoryClient(store, config=PLAIN.replace(memories_max_tokens=10)) as client:
            report = client.explain("What is my dog called?", user_id="alice").report
        assert report.counts["pinned_chosen"] == 1 and fact.id in " ".join(report.warnings)
        assert told.sums("langmem_plus.pinned.chosen", "langmem_plus.trim") == {"no_room": 1}

    def test_one_that_is_chosen_for_eviction_stays(self, told, caplog, monkeypatch: pytest.MonkeyPatch) -> None:
        """It was pinned while others were counted, or the choice is wrong: it stays, and that is told."""
        client = MemoryClient(InMemoryStore(), config=PLAIN.replace(max_entries=1))
        client.add("My dog is called Rex.", user_id="alice")
        (fact,) = client.list(user_id="alice", role="memory")
        client.pin(fact.id, user_id="alice")
        monkeypatch.setattr("langmem_plus.remember.evict.choose", lambda records, config, now: list(records))
        client.add("My cat is called Tom.", user_id="alice")
        assert [each.id for each in client.list(user_id="alice", role="memory")] == [fact.id]
        assert told.sums("langmem_plus.pinned.chosen", "langmem_plus.trim") == {"evicted": 1}
        assert f"the pinned memory {fact.id} was chosen for eviction, and stays" in caplog.text


class TestWithoutOpenTelemetry:
    def test_everything_works(self, untold) -> None:
        """Nothing is told, and the report says what it always does."""
        untold()
        counts = talk("My dog is called Rex.", "What is my dog called?")["memory_report"]["counts"]
        assert counts["injected"] >= 1
        assert here() is None

    def test_it_is_never_imported(self) -> None:
        """A process that hasn't loaded OpenTelemetry runs a turn without it; LangSmith loads it where it can."""
        script = (
            "import sys; sys.modules['opentelemetry'] = None\n"
            "from langchain_core.messages import HumanMessage\n"
            "from langgraph.store.memory import InMemoryStore\n"
            "from langmem_plus import MemoryConfig, create_memory_graph\n"
            "config = MemoryConfig(embeddings='none', background=False)\n"
            "graph = create_memory_graph(lambda state: 'hi', store=InMemoryStore(), config=config)\n"
            "run = {'configurable': {'user_id': 'a', 'thread_id': 't'}}\n"
            "print(graph.invoke({'messages': [HumanMessage('I live in Rome.')]}, run)['messages'][-1].text)\n"
            "print([name for name in sys.modules if name.startswith('opentelemetry.')])\n"
        )
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.splitlines() == ["hi", "[]"]

    def test_what_a_program_sets_up_is_used(self) -> None:
        """The global providers, set up before or after the package is imported."""
        script = (
            "from langmem_plus import MemoryConfig, create_memory_graph\n"
            "from langchain_core.messages import HumanMessage\n"
            "from langgraph.store.memory import InMemoryStore\n"
            "config = MemoryConfig(embeddings='none', background=False)\n"
            "graph = create_memory_graph(lambda state: 'hi', store=InMemoryStore(), config=config)\n"
            "run = {'configurable': {'user_id': 'a', 'thread_id': 't'}}\n"
            "said = {'messages': [HumanMessage('I live in Rome.')]}\n"
            "graph.invoke(said, run)\n"
            "from opentelemetry import metrics, trace\n"
            "from opentelemetry.sdk.metrics import MeterProvider\n"
            "from opentelemetry.sdk.metrics.export import InMemoryMetricReader\n"
            "from opentelemetry.sdk.trace import TracerProvider\n"
            "from opentelemetry.sdk.trace.export import SimpleSpanProcessor\n"
            "from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter\n"
            "exporter, reader, provider = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()\n"
            "provider.add_span_processor(SimpleSpanProcessor(exporter))\n"
            "trace.set_tracer_provider(provider); metrics.set_meter_provider(MeterProvider([reader]))\n"
            "graph.invoke(said, run)\n"
            "stages = [name for name in graph.nodes if name not in ('__start__', 'agent')]\n"
            "print([span.name for span in exporter.get_finished_spans()] == stages)\n"
            "print('langmem_plus.recalls' in reader.get_metrics_data().to_json())\n"
        )
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.splitlines() == ["True", "True"]
