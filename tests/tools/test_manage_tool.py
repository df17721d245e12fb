"""The tool that writes: once a call, nothing twice, nothing of others, nothing that is pinned, nothing incognito."""

from __future__ import annotations

import asyncio
import concurrent.futures
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.errors import GraphInterrupt
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel

from langmem_plus.client import MemoryClient
from langmem_plus.config import MemoryConfig
from langmem_plus.errors import ConfigError, InvalidValueError, NotFoundError, PinnedError, StoreError
from langmem_plus.records import MemoryRecord, Scope
from langmem_plus.tools import (
    create_forget_memory_tool,
    create_list_memories_tool,
    create_manage_memory_tool,
    create_pin_memory_tool,
    create_search_memory_tool,
)

ANNE = "My wife is called Anne"
EVERY_TOOL = (
    create_manage_memory_tool,
    create_search_memory_tool,
    create_list_memories_tool,
    create_pin_memory_tool,
    create_forget_memory_tool,
)


class Profile(BaseModel):
    name: str
    age: int | None = None
    likes: list[str] = []


class TestCreate:
    def test_a_memory_that_was_saved_on_purpose(self, manage, ask, records, alice) -> None:
        """It is a fact of the user's, with the thread and the call it comes from."""
        answer = ask(manage, "c1", alice, content=ANNE)
        (record,) = records().values()
        assert answer.content == f"created memory {record.id}"
        assert answer.status == "success"
        assert (record.text, record.role, record.user_id) == (ANNE, "memory", "alice")
        assert (record.thread_id, record.source_ids, record.manually_saved) == ("t1", ["c1"], True)
        assert record.tags[-1] == record.metadata["entities"][-1] == "Anne"
        assert record.simhash
        assert record.importance == 0.5

    def test_what_it_is_about_is_found(self, manage, ask, records, alice) -> None:
        """Tags, names and how sure they are, as for facts that are drawn out of what was said."""
        ask(manage, "c1", alice, content="I play the cello with Anne")
        (record,) = records().values()
        assert (record.tags, record.metadata["entities"]) == (["cello", "Anne"], ["Anne"])
        assert record.metadata_confidence > 0.7

    def test_a_call_that_is_executed_again_writes_once(self, manage, ask, records, alice) -> None:
        """A retry, a replay or a resume gives the same answer, and leaves the one memory."""
        first = [ask(manage, "c1", alice, content=ANNE).content for _ in range(3)]
        assert len(set(first)) == 1
        (record,) = records().values()
        assert record.repeat_count == 0

    def test_what_is_known_is_not_stored_twice(self, manage, ask, records, remember, alice) -> None:
        """Another call that says nearly the same is told so, and counts once, however often it is executed."""
        remember("known", "My wife is called Anne.")
        for call in ("c1", "c1", "c2"):
            answer = ask(manage, call, alice, content=ANNE)
            assert answer.content == "Nothing new was created: memory known says so already."
        (record,) = records().values()
        assert (record.repeat_count, record.manually_saved) == (2, True)

    def test_only_nearly_the_same(self, manage, ask, records, alice) -> None:
        """What looks alike to a fingerprint is another memory."""
        texts = ["I program in C", "I program in C++", "I have 3 cats", "I have 13 cats", "I eat fish", "I eat no fish"]
        for place, text in enumerate(texts):
            assert ask(manage, f"c{place}", alice, content=text).content.startswith("created memory")
        assert sorted(record.text for record in records().values()) == sorted(texts)

    def test_two_calls_at_once(self, manage, records, alice) -> None:
        """A model that calls the tool twice in one message stores one memory."""
        calls = [
            {"type": "tool_call", "name": manage.name, "id": f"c{place}", "args": {"content": text}}
            for place, text in enumerate([ANNE, f"{ANNE}.", ANNE, f"{ANNE}!"])
        ]
        with concurrent.futures.ThreadPoolExecutor() as threads:
            answers = list(threads.map(lambda call: manage.invoke(call, alice).status, calls))
        assert answers == ["success"] * 4
        assert len(records()) == 1

    @pytest.mark.parametrize("action", ["create", "update", "delete"])
    def test_one_call_that_two_workers_execute(self, manage, records, remember, alice, action) -> None:
        """Both get the same answer, and it is done once."""
        remember("old", "My wife is called Annette")
        args = {"action": action, "content": ANNE, **({} if action == "create" else {"id": "old"})}
        call = {"type": "tool_call", "name": manage.name, "id": "c1", "args": args}
        with concurrent.futures.ThreadPoolExecutor() as threads:
            answers = list(threads.map(lambda _: manage.invoke(call, alice), range(4)))
        assert {(answer.content, answer.status) for answer in answers} == {(answers[0].content, "success")}
        assert len(records()) == {"create": 2, "update": 1, "delete": 0}[action]

    def test_servers_that_count_their_calls_anew(self, manage, ask, records, alice) -> None:
        """The same call id in another thread, or with another content, is another call."""
        ask(manage, "call_0", alice, content=ANNE)
        ask(manage, "call_0", alice, content="My dog is called Waldo")
        other = {"configurable": {**alice["configurable"], "thread_id": "t2"}}
        assert "says so already" in ask(manage, "call_0", other, content=ANNE).content
        assert len(records()) == 2

    def test_a_replay_does_not_bring_back_what_was_forgotten(self, manage, ask, records, alice, store, config) -> None:
        """The answer says what became of it; a new call stores it anew."""
        first = ask(manage, "c1", alice, content=ANNE).content
        id = first.split()[-1]
        MemoryClient(store, config=config).forget(id, user_id="alice")
        assert ask(manage, "c1", alice, content=ANNE).content == f"{first}; it was deleted since"
        assert not records()
        again = ask(manage, "c2", alice, content=ANNE).content
        assert ask(manage, "c2", alice, content=ANNE).content == again != first
        assert len(records()) == 1

    def test_a_program_needs_no_call(self, manage, use, records, alice) -> None:
        """A plain call creates, and creates again after a deletion."""
        id = use(manage, {"content": ANNE}, alice).split()[-1]
        assert use(manage, {"action": "delete", "id": id}, alice) == f"deleted memory {id}"
        assert use(manage, ANNE, alice).startswith("created memory")
        assert [record.text for record in records().values()] == [ANNE]

    @pytest.mark.parametrize("given", [{}, {"content": ""}, {"content": " \n"}, {"content": None}], ids=repr)
    def test_nothing_to_remember(self, manage, ask, use, records, alice, given) -> None:
        """An empty content is refused, with what to do."""
        answer = ask(manage, "c1", alice, **given)
        assert (answer.status, "one sentence" in answer.content) == ("error", True)
        with pytest.raises(InvalidValueError, match="empty"):
            use(manage, given, alice)
        assert not records()

    def test_an_id_is_not_chosen(self, manage, ask, records, alice) -> None:
        """As with langmem, a new memory gets its id; what a clumsy model writes for none is none."""
        answer = ask(manage, "c1", alice, content=ANNE, id=str(uuid.uuid4()))
        assert (answer.status, "leave the id out" in answer.content) == ("error", True)
        for place, nothing in enumerate(["", "null", "None"]):
            assert ask(manage, f"n{place}", alice, content=ANNE, id=nothing, action=" Create").status == "success"
        assert len(records()) == 1


class TestUpdate:
    def test_the_old_one_leaves_a_tombstone(self, manage, ask, records, remember, alice) -> None:
        """The new memory names the old one, and the old one the new."""
        remember("old", ANNE, importance=0.8)
        answer = ask(manage, "c1", alice, action="update", id="old", content="My wife is called Annette")
        (new,) = records().values()
        assert answer.content == f"updated memory old: from now on it is memory {new.id}"
        assert (new.text, new.replaces, new.importance) == ("My wife is called Annette", ["old"], 0.8)
        (old,) = records("superseded").values()
        assert (old.id, old.text, old.replaced_by) == ("old", ANNE, new.id)

    def test_once_a_call(self, manage, ask, records, remember, alice) -> None:
        """Executed again, it writes nothing and answers the same."""
        remember("old", ANNE)
        change = {"action": "update", "id": "old", "content": "My wife is called Annette"}
        assert len({ask(manage, "c1", alice, **change).content for _ in range(3)}) == 1
        assert (len(records()), len(records("superseded"))) == (1, 1)
        late = ask(manage, "c2", alice, **change)
        (new,) = records()
        assert (late.status, "use that id" in late.content, new in late.content) == ("error", True, True)

    def test_into_what_is_known(self, manage, ask, records, remember, alice) -> None:
        """Where another memory says so already, that one takes the place; again, once a call."""
        remember("old", "I live in Lyon")
        remember("known", "I live in Grenoble")
        for _ in range(2):
            answer = ask(manage, "c1", alice, action="update", id="old", content="I live in Grenoble.")
            assert answer.content == "updated memory old: from now on it is memory known"
        (known,) = records().values()
        assert (known.id, known.repeat_count) == ("known", 1)

    def test_nothing_new(self, manage, ask, records, remember, alice) -> None:
        """The same words change nothing."""
        before = remember("old", ANNE)
        assert "says so already" in ask(manage, "c1", alice, action="update", id="old", content=ANNE).content
        assert records() == {"old": before}

    def test_in_the_users_global_space(self, manage, ask, records, remember, alice) -> None:
        """What is recalled everywhere is updated where it stands."""
        remember("old", ANNE, space="global")
        ask(manage, "c1", alice, action="update", id="old", content="My wife is called Annette")
        (new,) = records().values()
        assert new.space == "global"

    def test_what_was_said_stays_as_it_was_said(self, manage, ask, records, remember, alice) -> None:
        """A verbatim turn is no fact that a model could correct."""
        before = remember("turn", ANNE, role="user", extracted=True)
        answer = ask(manage, "c1", alice, action="update", id="turn", content="My wife is called Annette")
        assert (answer.status, "create a new memory" in answer.content) == ("error", True)
        assert records() == {"turn": before}

    def test_an_id_as_clumsy_models_write_it(self, manage, ask, records, remember, alice) -> None:
        """Blanks around it, and a number, are read."""
        remember("4711", ANNE)
        assert ask(manage, "c1", alice, action="delete", id=" 4711\n").status == "success"
        remember("4712", ANNE)
        assert ask(manage, "c2", alice, action="delete", id=4712).status == "success"
        assert not records()


class TestDelete:
    def test_softly(self, manage, ask, records, remember, alice, store) -> None:
        """It isn't recalled any more; the tombstone says who deleted it."""
        remember("old", ANNE)
        assert ask(manage, "c1", alice, action="delete", id="old").content == "deleted memory old"
        assert not records()
        gone = MemoryRecord.model_validate(store.get(Scope("alice").namespace, "old").value)
        assert (gone.status, gone.metadata["reason"]) == ("deleted", "deleted by the tool 'manage_memory', call c1")

    def test_once_a_call(self, manage, ask, remember, alice) -> None:
        """Executed again it answers the same; another call finds nothing to delete."""
        remember("old", ANNE)
        answers = [ask(manage, "c1", alice, action="delete", id="old") for _ in range(2)]
        assert {(each.content, each.status) for each in answers} == {("deleted memory old", "success")}
        assert ask(manage, "c2", alice, action="delete", id="old").status == "error"

    def test_the_turn_it_came_from_is_withheld(self, manage, search, ask, use, remember, alice) -> None:
        """What is forgotten doesn't come back through the words that told it."""
        remember("turn", f"{ANNE}.", role="user", extracted=True, thread_id="t1")
        remember("fact", ANNE, source_ids=["turn"])
        ask(manage, "c1", alice, action="delete", id="fact")
        assert use(search, "What is my wife called?", alice) == "Nothing relevant is remembered."


class TestUnknownIds:
    @pytest.mark.parametrize("action", ["update", "delete"])
    def test_an_error_that_says_what_to_do(self, manage, ask, use, remember, alice, action) -> None:
        """An id that nobody has, a beginning of one, and another user's are unknown alike; nothing is listed."""
        remember("hers", "Bob's secret", user_id="bob")
        remember("mine-1", ANNE)
        for id in ("nonsense", "hers", "mine", "*", "a" * 500):
            given = {"action": action, "id": id, "content": "x"}
            answer = ask(manage, "c1", alice, **given)
            assert answer.status == "error"
            assert answer.content.startswith("there is no memory")
            assert "search" in answer.content
            assert not [word for word in ("secret", "bob", "mine-1") if word in answer.content]
            with pytest.raises(NotFoundError):
                use(manage, given, alice)

    def test_nothing_was_touched(self, manage, ask, records, remember, alice) -> None:
        """Another user's memory stays as it is."""
        before = remember("hers", "Bob's secret", user_id="bob")
        for action in ("update", "delete"):
            ask(manage, "c1", alice, action=action, id="hers", content="mine now")
        assert records(user_id="bob") == {"hers": before}
        assert not records()

    @pytest.mark.parametrize("action", ["update", "delete"])
    def test_no_id(self, manage, ask, alice, action) -> None:
        """What has to be named is asked for."""
        answer = ask(manage, "c1", alice, action=action, content=ANNE)
        assert (answer.status, "Give its id" in answer.content) == ("error", True)

    def test_an_action_that_is_not_permitted(self, store, config, ask, remember, alice) -> None:
        """It is refused before anything is read."""
        remember("old", ANNE)
        tool = create_manage_memory_tool(actions_permitted=("create",), store=store, config=config)
        with pytest.raises(ValueError, match="create"):
            ask(tool, "c1", alice, action="delete", id="old")


class TestSafeguards:
    @pytest.mark.parametrize("action", ["update", "delete"])
    def test_pinned_memories_stay(self, manage, ask, use, records, remember, alice, action) -> None:
        """The error says that it is pinned."""
        before = remember("old", ANNE, pinned=True)
        answer = ask(manage, "c1", alice, action=action, id="old", content="x")
        assert (answer.status, "pinned" in answer.content) == ("error", True)
        with pytest.raises(PinnedError):
            use(manage, {"action": action, "id": "old", "content": "x"}, alice)
        assert records() == {"old": before}

    @pytest.mark.parametrize("incognito", [True, "yes"])
    def test_incognito(self, manage, ask, use, records, alice, incognito) -> None:
        """Nothing is written, and the answer says so."""
        hidden = {"configurable": {**alice["configurable"], "incognito": incognito}}
        assert "nothing was written" in ask(manage, "c1", hidden, content=ANNE).content
        assert "nothing was written" in use(manage, {"content": ANNE}, hidden)
        assert not records()

    def test_a_store_that_fails(self, ask, use, alice, caplog) -> None:
        """A model is told, so that it doesn't say it was saved; a program, and ``strict``, get the error."""

        class Broken(InMemoryStore):
            def batch(self, ops: Any) -> Any:
                raise StoreError("the disk is full")

            async def abatch(self, ops: Any) -> Any:
                raise StoreError("the disk is full")

        tool = create_manage_memory_tool(store=Broken())
        answer = ask(tool, "c1", alice, content=ANNE)
        assert (answer.status, answer.content) == ("error", "Memory failed, so nothing was done: the disk is full")
        assert "the disk is full" in caplog.text
        with pytest.raises(StoreError):
            use(tool, {"content": ANNE}, alice)
        strict = create_manage_memory_tool(store=Broken(), config=MemoryConfig(strict=True))
        with pytest.raises(StoreError):
            ask(strict, "c1", alice, content=ANNE)

    @pytest.mark.parametrize("error", [ConnectionError, RuntimeError, TimeoutError, RecursionError, KeyError])
    def test_a_store_of_another_package_that_fails(self, use, ask, alice, config, caplog, error) -> None:
        """Whatever it raises, the model is told that memory failed, and nothing of what only who runs it may know."""

        class Broken(InMemoryStore):
            def batch(self, ops: Any) -> Any:
                raise error("secret@db.intern:5432")

            async def abatch(self, ops: Any) -> Any:
                raise error("secret@db.intern:5432")

        for make in EVERY_TOOL:
            tool = make(store=Broken(), config=config)
            given = {"id": "x"} if tool.name in ("pin_memory", "forget_memory") else {"query": "x", "content": "x"}
            answer = ask(tool, "c1", alice, **given)
            assert (answer.status, error.__name__ in answer.content) == ("error", True)
            assert "secret" not in answer.content
            assert "secret@db.intern" in caplog.text
            with pytest.raises(error):
                use(tool, given, alice)
            strict = make(store=Broken(), config=config.replace(strict=True))
            with pytest.raises(error):
                ask(strict, "c1", alice, **given)

    def test_an_embedder_that_fails(self, ask, alice, config) -> None:
        """It is the store's, and belongs to another package, too."""

        def embed(texts: Any) -> Any:
            raise ConnectionError("503")

        store = InMemoryStore(index={"dims": 4, "embed": embed})
        for make in (create_manage_memory_tool, create_search_memory_tool):
            assert ask(make(store=store, config=config), "c1", alice, query="x", content="x").status == "error"

    @pytest.mark.parametrize(
        "error", [GraphInterrupt(), asyncio.CancelledError(), KeyboardInterrupt(), ConfigError("x")]
    )
    def test_what_is_no_failure(self, alice, config, error) -> None:
        """An interrupt, a cancellation and a wrong setting pass."""

        class Stopping(InMemoryStore):
            def batch(self, ops: Any) -> Any:
                raise error

        tool = create_manage_memory_tool(store=Stopping(), config=config)
        with pytest.raises(type(error)):
            tool.invoke({"type": "tool_call", "name": tool.name, "id": "c1", "args": {"content": ANNE}}, alice)


class TestCallsThatAreCountedAnew:
    """Some servers begin at ``call_0`` in each conversation, or in each answer."""

    def test_an_update_of_another_conversation(self, manage, ask, records, remember, alice) -> None:
        """The id is that of an earlier call, and the call is another one: it is told that the memory was replaced."""
        remember("old", "likes tea")
        ask(manage, "call_0", alice, action="update", id="old", content="likes coffee")
        elsewhere = {"configurable": {"user_id": "alice", "thread_id": "t2"}}
        late = ask(manage, "call_0", elsewhere, action="update", id="old", content="likes milk")
        (new,) = records()
        assert (late.status, new in late.content) == ("error", True)
        ask(manage, "call_0", elsewhere, action="update", id=new, content="likes milk")
        assert [record.text for record in records().values()] == ["likes milk"]

    def test_an_update_with_other_words(self, manage, ask, records, remember, alice) -> None:
        """In the same conversation, too: what is confirmed was written."""
        remember("old", "likes tea")
        remember("known", "likes coffee")
        for _ in range(2):
            assert ask(manage, "call_0", alice, action="update", id="old", content="likes coffee").status == "success"
        assert ask(manage, "call_0", alice, action="update", id="old", content="likes milk").status == "error"
        assert set(records()) == {"known"}

    def test_created_again_after_it_was_deleted(self, manage, ask, records) -> None:
        """Without a thread nothing is replayed, so the same words are wanted once more, each time."""
        nowhere = {"configurable": {"user_id": "alice"}}
        for _ in range(4):
            answers = {ask(manage, "call_0", nowhere, content=ANNE).content.split()[-1] for _ in range(1)}
            (record,) = records().values()
            assert answers == {record.id}
            assert ask(manage, "call_0", nowhere, action="delete", id=record.id).status == "success"
        assert not records()


class TestSchema:
    def test_fields_and_words(self, store, config, ask, search, said, records, alice) -> None:
        """The fields stand in the metadata, in words in the text; a search shows the fields."""
        tool = create_manage_memory_tool(schema=Profile, store=store, config=config)
        ask(tool, "c1", alice, content={"name": "Anne", "likes": ["tea", "cats"]})
        (record,) = records().values()
        assert record.text == "name: Anne; likes: tea, cats"
        fields = {"name": "Anne", "age": None, "likes": ["tea", "cats"]}
        assert (record.metadata["content"], record.metadata["kind"]) == (fields, "Profile")
        assert said(search.invoke("What does Anne like?", alice)) == [fields]

    def test_a_list_of_them(self, store, config, ask, records, alice) -> None:
        """A list is one memory, as with langmem; written as text by a clumsy model, too."""
        tool = create_manage_memory_tool(schema=list[Profile], store=store, config=config)
        ask(tool, "c1", alice, content=[{"name": "Anne"}, {"name": "Bert", "age": 7}])
        ask(tool, "c2", alice, content='[{"name": "Anne"}, {"name": "Bert", "age": 7}]')
        (record,) = records().values()
        assert record.text == "name: Anne\nname: Bert; age: 7"
        assert [each["name"] for each in record.metadata["content"]] == ["Anne", "Bert"]

    def test_what_does_not_fit(self, store, config, ask, records, alice) -> None:
        """A content without its fields is refused, and names what is missing."""
        tool = create_manage_memory_tool(schema=Profile, store=store, config=config)
        with pytest.raises(ValueError, match="name"):
            ask(tool, "c1", alice, content={"age": 7})
        assert not records()

    def test_an_update_of_fields(self, store, config, ask, records, alice) -> None:
        """The whole object is replaced; only what differs in a field is a change."""
        tool = create_manage_memory_tool(schema=Profile, store=store, config=config)
        id = ask(tool, "c1", alice, content={"name": "Anne"}).content.split()[-1]
        assert "says so" in ask(tool, "c2", alice, action="update", id=id, content={"name": "Anne"}).content
        ask(tool, "c3", alice, action="update", id=id, content={"name": "Anne", "age": 61})
        (record,) = records().values()
        assert record.metadata["content"]["age"] == 61


_CALLS = st.lists(
    st.tuples(st.sampled_from(["c1", "c2", "c3"]), st.sampled_from(["Anne", "Bert", "Cleo"]), st.booleans()), max_size=8
)


class TestIdempotency:
    @given(_CALLS)
    @settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_any_order_of_calls_and_retries(self, calls: list[tuple[str, str, bool]]) -> None:
        """Sync or async, however often: each content stands once, and a repeated call answers the same."""
        store = InMemoryStore()
        tool = create_manage_memory_tool(("memories", "alice"), store=store, config=MemoryConfig(embeddings="none"))
        answers: dict[tuple[str, str], str] = {}
        for id, name, later in calls:
            call = {"type": "tool_call", "name": tool.name, "id": id, "args": {"content": f"I met {name}"}}
            answer = (asyncio.run(tool.ainvoke(call)) if later else tool.invoke(call)).content
            assert answers.setdefault((id, name), answer) == answer
        found = sorted(item.value["text"] for item in store.search(("memories",), limit=100))
        assert found == sorted({f"I met {name}" for _, name, _ in calls})
