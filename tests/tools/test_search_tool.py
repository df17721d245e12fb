"""The tool that searches: the ranking of every search, exact pages, filters, and words where there is nothing."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.store.memory import InMemoryStore

from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.errors import InvalidValueError
from langmem_plus.records import MemoryHit, MemoryRecord, MemoryReport, Scope
from langmem_plus.testing import BagOfWordsEmbeddings, ScriptedChatModel
from langmem_plus.tools import create_search_memory_tool
from langmem_plus.tools.search import pages

QUESTION = "Which fruit does Alice like?"


@pytest.fixture
def fruits(remember) -> list[MemoryRecord]:
    """Thirty memories of one kind, of different days."""
    names = [f"fruit{place:02}" for place in range(30)]
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    return [
        remember(
            name, f"Alice does like the fruit {name}", observed_at=start + dt.timedelta(days=place), tags=["fruit"]
        )
        for place, name in enumerate(names)
    ]


class TestAnswer:
    def test_items_in_langmems_shape(self, search, use, remember, alice) -> None:
        """JSON with key, value and score; the value has what a model needs, and no bookkeeping."""
        remember("wife", "My wife is called Anne", tags=["family"], pinned=True)
        (entry,) = json.loads(use(search, {"query": "What is my wife called?"}, alice))
        assert entry.keys() == {"namespace", "key", "value", "created_at", "updated_at", "score"}
        assert (entry["key"], entry["namespace"]) == ("wife", ["memories", "alice", "default"])
        assert entry["value"]["content"] == "My wife is called Anne"
        assert entry["value"].keys() == {"content", "role", "said_at", "tags", "pinned"}
        assert 0 < entry["score"] <= 1

    def test_the_artifact_has_everything_as_plain_json(self, store, config, ask, remember, alice) -> None:
        """With ``content_and_artifact`` the records come whole, as a checkpoint can hold them."""
        record = remember("wife", "My wife is called Anne")
        tool = create_search_memory_tool(store=store, config=config, response_format="content_and_artifact")
        message = ask(tool, "c1", alice, query="What is my wife called?")
        (entry,) = message.artifact
        assert json.loads(json.dumps(entry)) == entry
        value = {**entry["value"], "last_scores": None}
        assert MemoryRecord.model_validate(value) == record
        assert json.loads(message.content)[0]["key"] == "wife"

    def test_nothing_relevant_is_said_in_words(self, store, config, use, ask, remember, alice) -> None:
        """A question that nothing answers, and an empty memory."""
        both = create_search_memory_tool(store=store, config=config, response_format="content_and_artifact")
        for _ in range(2):
            message = ask(both, "c1", alice, query="quantum chromodynamics")
            assert (message.content, message.artifact) == ("Nothing relevant is remembered.", [])
            remember("wife", "My wife is called Anne")

    def test_incognito(self, store, config, ask, remember, alice) -> None:
        """Nothing is read, and the answer says so."""
        remember("wife", "My wife is called Anne")
        hidden = {"configurable": {**alice["configurable"], "incognito": True}}
        for form in ("content", "content_and_artifact"):
            tool = create_search_memory_tool(store=store, config=config, response_format=form)
            message = ask(tool, "c1", hidden, query="What is my wife called?")
            assert "incognito" in message.content
            assert not message.artifact

    def test_the_ranking_of_every_search(self, search, use, keys, fruits, alice, store, config) -> None:
        """The same memories in the same order as the client finds."""
        client = MemoryClient(store, config=config)
        found = [hit.record.id for hit in client.search(QUESTION, user_id="alice", k=10)]
        assert keys(use(search, {"query": QUESTION}, alice)) == found
        assert len(found) == 10

    def test_a_pasted_book_is_cut(self, store, ask, remember, records, alice) -> None:
        """What is longer than all memories of a prompt says that it is cut; the artifact has it whole."""
        config = MemoryConfig(embeddings="none", memories_max_tokens=50)
        text = "Alice does like fruit. " * 2000
        remember("book", text)
        remember("fields", "Alice does like fruit", metadata={"content": {"fruit": ["apple"] * 900}})
        remember("short", "Alice does like fruit from Rome")
        tool = create_search_memory_tool(store=store, config=config, response_format="content_and_artifact")
        message = ask(tool, "c1", alice, query="Does Alice like fruit?")
        found = {entry["key"]: entry["value"] for entry in json.loads(message.content)}
        assert {key: value.get("clipped", False) for key, value in found.items()} == {
            "book": True,
            "fields": True,
            "short": False,
        }
        assert all(len(value["content"]) < 400 for value in found.values())
        assert text in [entry["value"]["text"] for entry in message.artifact]

    def test_own_scripts(self, search, use, remember, alice) -> None:
        """What was said in Chinese comes back in Chinese, not escaped."""
        remember("tea", "我喜欢喝绿茶")
        assert "我喜欢喝绿茶" in use(search, "绿茶", alice)


class TestPaging:
    @pytest.mark.parametrize("limit", [7, 200])
    def test_pages_neither_overlap_nor_leave_gaps(self, search, keys, fruits, alice, limit) -> None:
        """Page after page gives what one long page gives."""
        whole = keys(search.invoke({"query": QUESTION, "limit": 200}, alice))
        assert len(whole) == 30
        found: list[str] = []
        while (answer := search.invoke({"query": QUESTION, "limit": limit, "offset": len(found)}, alice))[0] == "[":
            found += keys(answer)
        assert found == whole
        assert answer == "There are no more results."

    @pytest.mark.parametrize("fetch_k", [4, 13])
    def test_beyond_the_candidates_of_one_recall(self, store, keys, fruits, alice, fetch_k) -> None:
        """Wider recalls go on after what the narrower ones gave."""
        tool = create_search_memory_tool(store=store, config=MemoryConfig(embeddings="none", fetch_k=fetch_k))
        found: list[str] = []
        while (answer := tool.invoke({"query": QUESTION, "limit": 6, "offset": len(found)}, alice))[0] == "[":
            found += keys(answer)
        assert sorted(found) == sorted(record.id for record in fruits)

    def test_with_vectors(self, keys, alice) -> None:
        """The same where the store ranks by vectors alone."""
        store = InMemoryStore(index={"embed": BagOfWordsEmbeddings(), "dims": 64, "fields": ["text"]})
        for place in range(20):
            record = MemoryRecord(id=f"m{place}", text=f"Alice does like the fruit number {place}", user_id="alice")
            store.put(Scope("alice").namespace, record.id, record.to_value())
        tool = create_search_memory_tool(store=store, config=MemoryConfig(embeddings="none", fetch_k=5))
        found: list[str] = []
        while (answer := tool.invoke({"query": QUESTION, "limit": 3, "offset": len(found)}, alice))[0] == "[":
            found += keys(answer)
        assert len(found) == len(set(found)) == 20

    @given(st.integers(0, 30), st.integers(1, 9), st.integers(1, 12), st.randoms(use_true_random=False))
    @settings(max_examples=20)
    def test_any_store_and_any_page(self, size, limit, fetch_k, random) -> None:
        """However wider recalls order what they find, all pages together hold each memory once."""
        ids = [f"m{place}" for place in range(size)]

        def found(width: int) -> tuple[list[MemoryHit], MemoryReport]:
            seen = ids[: max(width, fetch_k)]
            order = random.sample(seen, len(seen)) if width > fetch_k else seen
            hits = [MemoryHit(record=MemoryRecord(id=id, text=id, user_id="a")) for id in order[:width]]
            return hits, MemoryReport(counts={"candidates": len(seen)})

        everything: list[str] = []
        widths: dict[int, tuple[list[MemoryHit], MemoryReport]] = {}
        while True:
            steps = pages(limit, len(everything), fetch_k)
            width = next(steps)
            while True:
                try:
                    width = steps.send(widths.setdefault(width, found(width)))
                except StopIteration as stop:
                    page = stop.value
                    break
            if not page:
                break
            everything += [hit.record.id for hit in page]
        assert sorted(everything) == sorted(ids)


class TestFilter:
    def test_our_filter_language(self, search, use, keys, fruits, alice) -> None:
        """By role, tag and time; an object that a clumsy model writes as text is read, too."""
        wanted = {"role": "memory", "tags": {"in": ["fruit"]}, "observed_at": {"gte": "2026-01-29"}}
        for filter in (wanted, json.dumps(wanted)):
            found = keys(use(search, {"query": QUESTION, "filter": filter}, alice))
            assert sorted(found) == ["fruit28", "fruit29"]
        assert use(search, {"query": QUESTION, "filter": {"role": "user"}}, alice) == "Nothing relevant is remembered."

    def test_a_filter_that_cannot_be_read(self, search, use, ask, alice) -> None:
        """The model is told what to write; a program gets the error."""
        answer = ask(search, "c1", alice, query=QUESTION, filter={"colour": "red"})
        assert (answer.status, "colour" in answer.content) == ("error", True)
        with pytest.raises(InvalidValueError, match="colour"):
            use(search, {"query": QUESTION, "filter": {"colour": "red"}}, alice)

    @pytest.mark.parametrize("bad", [{"limit": 0}, {"limit": 201}, {"offset": -1}], ids=repr)
    def test_a_page_that_cannot_be(self, search, use, alice, bad) -> None:
        """The bounds stand in the schema, and the error names them."""
        with pytest.raises(ValueError, match=r"greater than|less than"):
            use(search, {"query": QUESTION, **bad}, alice)


@pytest.mark.parametrize("filter", ["[" * 2000, '{"or":' * 2000, '{"importance":' + "9" * 400 + "}", "9" * 5000, "{"])
def test_no_filter_of_a_models_ends_the_agent(config, filter) -> None:
    """What can't be read is told to the model, and it goes on."""
    call = {"name": "search_memory", "args": {"query": "tea", "filter": filter}, "id": "c1"}
    model = ScriptedChatModel([AIMessage("", tool_calls=[call])], then="Done.")
    agent = create_agent(model, [create_search_memory_tool(config=config)], store=InMemoryStore())
    *_, answer, last = agent.invoke({"messages": "x"}, {"configurable": {"user_id": "alice"}})["messages"]
    assert (answer.status, last.text) == ("error", "Done.")
