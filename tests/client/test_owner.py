"""What the owner decides through the client: pin, forget, clear, erase."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.errors import InvalidValueError, NotFoundError
from langmem_plus.remember.steps import put
from langmem_plus.testing import BagOfWordsEmbeddings, ScriptedChatModel
from langmem_plus.text import index_tokens

CONFIG = MemoryConfig(embeddings="none", background=False, summary_refresh_turns=2, sync_interval=0)
HOME = [
    {"role": "user", "content": "I live in Reykjavik.", "id": "h1"},
    {"role": "assistant", "content": "Reykjavik has fine puffins!", "id": "h2"},
    {"role": "user", "content": "My brother is called Zebedee.", "id": "h3"},
    {"role": "assistant", "content": "A rare name.", "id": "h4"},
]
TEA = [
    {"role": "user", "content": "I like green tea.", "id": "t1"},
    {"role": "assistant", "content": "Good choice.", "id": "t2"},
    {"role": "user", "content": "My dog is called Waldo.", "id": "t3"},
    {"role": "assistant", "content": "So you live in Reykjavik with a dog.", "id": "t4"},
]


@pytest.fixture(params=["memory", "markdown"])
def client(request, tmp_path):
    """A client over each kind of store, with two conversations and their facts and summaries."""
    store = InMemoryStore() if request.param == "memory" else tmp_path / "memories"
    with MemoryClient(store, config=CONFIG) as opened:
        opened.add(HOME, user_id="ann", thread_id="home")
        opened.add(TEA, user_id="ann", thread_id="tea")
        yield opened


def texts(client, role=None, user="ann", space="default") -> list[str]:
    """What the active records say, sorted."""
    return sorted(record.text for record in client.list(user_id=user, space=space, role=role))


def fact(client, word: str):
    """The fact with a word."""
    return next(record for record in client.list(user_id="ann", role="memory") if word in record.text)


def traces(root: Path, words: Iterable[str]) -> list[str]:
    """The files whose bytes or names hold one of the words or of their tokens."""
    marks = {form.encode() for word in words for form in (word, word.casefold(), *index_tokens(word))}
    marks |= {json.dumps(word).strip('"').encode() for word in words}
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return [f"{f.name}: {m!r}" for f in files for m in marks if m in f.read_bytes() + str(f.relative_to(root)).encode()]


def test_the_story_before(client):
    """Two conversations give facts and a summary each: what the tests below start from."""
    assert texts(client, "memory") == [
        "I like green tea.",
        "I live in Reykjavik.",
        "My brother is called Zebedee.",
        "My dog is called Waldo.",
    ]
    assert len(texts(client, "summary")) == 2


# pin


def test_pin_and_unpin(client):
    """A pinned record says so, until it is unpinned; part of the id is enough, and doing it again changes nothing."""
    id = fact(client, "tea").id
    assert client.pin(id[:10], user_id="ann").pinned
    once = client.get(id, user_id="ann")
    assert once.pinned
    client.pin(id, user_id="ann")
    assert client.get(id, user_id="ann") == once
    assert not client.unpin(id, user_id="ann").pinned
    assert not client.get(id, user_id="ann").pinned


def test_what_cannot_be_pinned(client):
    """A record that isn't there, another user's, a deleted one, and an id that several have are refused."""
    id = fact(client, "tea").id
    for wanted, user in (("nothing", "ann"), (id, "bob"), ("", "ann")):
        with pytest.raises(NotFoundError):
            client.pin(wanted, user_id=user)
    client.forget(id, user_id="ann")
    with pytest.raises(NotFoundError, match="no active record"):
        client.pin(id, user_id="ann")
    with pytest.raises(InvalidValueError):
        client.pin(7, user_id="ann")


def test_an_edit_while_pinning_is_kept(tmp_path, monkeypatch):
    """What a person changed in the file just before is not overwritten by the pin."""
    with MemoryClient(tmp_path / "memories", config=CONFIG) as client:
        client.add("I like green tea.", user_id="ann")
        record = fact(client, "tea")
        file = client.path_of(record)
        exchange, edits = client.store.exchange, ["I like white tea."]

        def edited(*args):
            if edits:
                file.write_text(file.read_text("utf-8").replace(record.text, edits.pop()), encoding="utf-8")
            return exchange(*args)

        monkeypatch.setattr(client.store, "exchange", edited)
        assert client.pin(record.id, user_id="ann").text == "I like white tea."
        found = client.get(record.id, user_id="ann")
        assert (found.text, found.pinned) == ("I like white tea.", True)


# forget


def test_forget(client):
    """The fact becomes a tombstone with a reason; the turns that say it are kept but recalled no more; summaries lose
    it, and the rest is found as before.
    """
    id = fact(client, "Reykjavik").id
    gone = client.forget(id, user_id="ann", reason="moved on")
    assert (gone.status, gone.metadata["reason"]) == ("deleted", "moved on")
    assert client.get(id, user_id="ann").status == "deleted"
    assert not [hit for hit in client.search("where do I live? Reykjavik", user_id="ann") if "Reykjavik" in hit.text]
    assert "I live in Reykjavik." in texts(client, "user")
    assert not [text for text in texts(client, "summary") if "Reykjavik" in text]
    assert any("Zebedee" in text for text in texts(client, "summary"))
    assert client.search("what is my brother called?", user_id="ann")[0].text == "My brother is called Zebedee."
    assert client.forget(id, user_id="ann") == client.get(id, user_id="ann")


def test_clear_a_conversation(client):
    """What was said and its summary become tombstones; facts and other conversations stay; adding it again adds
    nothing.
    """
    cleared = client.clear_conversation("home", user_id="ann")
    assert cleared == 5
    assert not client.list(user_id="ann", thread_id="home", role="user")
    assert len(client.list(user_id="ann", thread_id="tea", role="user")) == 2
    assert "I live in Reykjavik." in texts(client, "memory")
    assert client.add(HOME, user_id="ann", thread_id="home") == []
    assert client.clear_conversation("home", user_id="ann") == 0


@pytest.mark.parametrize("role", ["user", "assistant", "summary"])
def test_what_is_pinned_stays_when_its_conversation_is_cleared(client, caplog, role):
    """The rest goes; the audit trail counts it apart. `forget` takes it, and restore brings back what went."""
    kept = client.list(user_id="ann", thread_id="home", role=role)[0]
    client.pin(kept.id, user_id="ann")
    with caplog.at_level("INFO", "langmem_plus.audit"):
        assert client.clear_conversation("home", user_id="ann") == 4
    assert caplog.records[-1].memory_action["records"] == 4 and caplog.records[-1].memory_action["pinned"] == 1
    left = [each.id for each in client.list(user_id="ann", thread_id="home") if each.role != "memory"]
    assert left == [kept.id]
    assert client.restore_conversation("home", user_id="ann") == 4
    assert client.forget(kept.id, user_id="ann").status == "deleted"


# erase


def test_erase_a_fact(client):
    """With it go its turn, the reply, and what repeats it elsewhere; what else was said and known stays, summaries are
    made without it.
    """
    receipt = client.erase(id=fact(client, "Reykjavik").id, user_id="ann")
    everything = texts(client)
    assert not [text for text in everything if "Reykjavik" in text or "puffins" in text]
    assert texts(client, "memory") == ["I like green tea.", "My brother is called Zebedee.", "My dog is called Waldo."]
    assert any("Zebedee" in text for text in texts(client, "summary"))
    assert receipt.removed["memory"] == 1
    assert receipt.asked["user_id"] == "ann"
    assert any("checkpoint" in missed for missed in receipt.unreached)


def test_erase_a_turn(client):
    """With a turn go the fact that was drawn from it alone, and the reply."""
    turn = next(record for record in client.list(user_id="ann", role="user") if "Zebedee" in record.text)
    client.erase(id=turn.id[:12], user_id="ann")
    assert not [text for text in texts(client) if "Zebedee" in text or "rare name" in text]
    assert "I live in Reykjavik." in texts(client, "memory")


def test_erase_a_conversation(client):
    """What is known from elsewhere, too, stays and names the other source; all else of the conversation goes."""
    client.add("My brother is called Zebedee.", user_id="ann", thread_id="later")
    shared = fact(client, "Zebedee")
    assert len(shared.source_ids) == 3  # two turns, and a message's own id
    client.erase(thread_id="home", user_id="ann")
    assert texts(client, "memory") == ["I like green tea.", "My brother is called Zebedee.", "My dog is called Waldo."]
    assert not client.list(user_id="ann", thread_id="home")
    left = fact(client, "Zebedee")
    assert (len(left.source_ids), left.thread_id) == (1, "later")
    assert not [text for text in texts(client) if "Reykjavik" in text]


def test_erase_a_space_and_a_user(client):
    """A space goes without the others, a user with all of them, and no other user."""
    client.add("I like chess.", user_id="ann", space="work")
    client.add("I like chess.", user_id="bob")
    client.erase(user_id="ann", space="work")
    assert not texts(client, space="work")
    assert len(texts(client, "memory")) == 4
    receipt = client.erase(user_id="ann")
    assert not texts(client)
    assert receipt.removed["memory"] == 4
    assert texts(client, "memory", "bob") == ["I like chess."]


def test_what_cannot_be_erased(client):
    """A record that isn't there, and two targets at once, are refused."""
    with pytest.raises(NotFoundError):
        client.erase(id="nothing", user_id="ann")
    with pytest.raises(InvalidValueError, match="not both"):
        client.erase(id="a", thread_id="b", user_id="ann")
    with pytest.raises(InvalidValueError):
        client.erase(id="", user_id="ann")


def test_another_store_says_what_it_cannot_reach(tmp_path):
    """Over LangGraph's own store the items are deleted, and the receipt says that the rest is the store's."""
    with MemoryClient(InMemoryStore(), config=CONFIG) as client:
        client.add(HOME, user_id="ann", thread_id="home")
        receipt = client.erase(user_id="ann")
        assert receipt.removed["user"] == 2
        assert any("the store itself" in missed for missed in receipt.unreached)
        assert client.store.search(("memories",)) == []


async def test_each_call_has_an_async_twin(client):
    """apin, aunpin, aforget, aclear_conversation and aerase do what the sync calls do."""
    id = fact(client, "tea").id
    assert (await client.apin(id, user_id="ann")).pinned
    assert not (await client.aunpin(id, user_id="ann")).pinned
    assert (await client.aforget(id, user_id="ann")).status == "deleted"
    assert await client.aclear_conversation("tea", user_id="ann") >= 4
    assert (await client.aerase(user_id="ann", thread_id="home")).removed["user"] == 2


@pytest.mark.parametrize(
    ("target", "gone", "kept"),
    [
        ("fact", "Reykjavik puffins", "Zebedee Waldo"),
        ("forgotten", "Reykjavik puffins", "Zebedee Waldo"),
        ("turn", "Zebedee", "Reykjavik Waldo"),
        ("thread", "Reykjavik puffins Zebedee", "Waldo green"),
        ("space", "Reykjavik puffins Zebedee Waldo", "chess"),
        ("user", "Reykjavik puffins Zebedee Waldo ann@example", "chess"),
    ],
)
def test_no_byte_is_left(tmp_path, target, gone, kept):
    """Whatever was erased, no file below the store's folder holds a word of it, a token, or a name; the rest stays."""
    root, user = tmp_path / "memories", "ann@example" if target == "user" else "ann"
    config = CONFIG.replace(embeddings="none")
    with MemoryClient(root, config=config) as client:
        client.add(HOME, user_id=user, thread_id="home")
        client.add(TEA, user_id=user, thread_id="tea")
        client.add("I like chess.", user_id="bob")
        client.search("where do I live?", user_id=user)
        facts = {record.text: record.id for record in client.list(user_id=user, role="memory")}
        said = {record.text: record.id for record in client.list(user_id=user, role="user")}
        if target == "forgotten":
            client.forget(facts["I live in Reykjavik."], user_id=user)
        fields = {
            "fact": {"id": facts["I live in Reykjavik."]},
            "forgotten": {"id": facts["I live in Reykjavik."]},
            "turn": {"id": said["My brother is called Zebedee."]},
            "thread": {"thread_id": "home"},
            "space": {"space": "default"},
            "user": {},
        }[target]
        receipt = client.erase(user_id=user, **fields)
        assert traces(root, gone.split()) == []
        assert receipt.paths
        for word in kept.split():
            assert traces(root, [word])
    assert traces(root, gone.split()) == []


def test_a_models_summary_is_made_anew(tmp_path):
    """A model's own words about what was erased don't outlive it: only points whose words are all left stay."""
    with MemoryClient(tmp_path / "memories", config=CONFIG) as client:
        client.add(HOME, user_id="ann", thread_id="home")
        (summary,) = client.list(user_id="ann", role="summary")
        worded = "- The user resides in Iceland's capital\n- My brother is called Zebedee."
        namespace = ("memories", "ann", "default")
        client.store.batch([put(namespace, summary.model_copy(update={"text": worded}))])
        client.erase(id=fact(client, "Reykjavik").id, user_id="ann")
        (left,) = client.list(user_id="ann", role="summary")
        assert "Iceland" not in left.text
        assert "Zebedee" in left.text


def test_an_updated_fact_goes_with_its_past(tmp_path):
    """Erasing what replaced something erases what it replaced, too, and its turn."""
    with MemoryClient(tmp_path / "memories", config=CONFIG) as client:
        client.add("I live in Reykjavik.", user_id="ann")
        client.add("I live in Lyon now.", user_id="ann")
        client.erase(id=fact(client, "Lyon").id, user_id="ann")
        assert traces(tmp_path, ["Reykjavik", "Lyon"]) == []


def test_an_old_version_goes_alone(tmp_path):
    """Erasing what was replaced leaves what replaced it, without the link."""
    with MemoryClient(tmp_path / "memories", config=CONFIG) as client:
        client.add("I live in Reykjavik.", user_id="ann")
        old = fact(client, "Reykjavik").id
        client.add("I live in Lyon now.", user_id="ann")
        client.erase(id=old, user_id="ann")
        assert traces(tmp_path, ["Reykjavik", old]) == []
        assert fact(client, "Lyon").replaces == []


def test_what_is_erased_while_a_model_summarises(tmp_path):
    """A summary that a model makes out of a turn that is erased meanwhile isn't written."""
    with MemoryClient(tmp_path / "memories", config=CONFIG.replace(summarize=False)) as client:
        client.add(HOME, user_id="ann", thread_id="home")
        turn = next(record for record in client.list(user_id="ann", role="user") if "Reykjavik" in record.text)

    from langmem_plus.records import Scope
    from langmem_plus.remember.summarize import summarize

    class Slow(ScriptedChatModel):
        def _generate(self, *args, **more):
            client.erase(id=turn.id, user_id="ann")
            return super()._generate(*args, **more)

    answer = json.dumps({"points": [{"text": "Lives in Reykjavik", "kind": "fact"}]})
    with MemoryClient(tmp_path / "memories", config=CONFIG, model=Slow(script=[answer] * 3)) as client:
        report = summarize(client._services, Scope("ann", thread_id="home"))
        assert report.counts["summaries"] == 0
        assert not client.list(user_id="ann", role="summary")


def test_vectors_go_too(tmp_path):
    """With an embedder, the vector of what was erased goes, and others' stay."""
    from langmem_plus import MarkdownStore

    embedder = BagOfWordsEmbeddings()
    store = MarkdownStore(tmp_path, index={"dims": embedder.dims, "embed": embedder}, config=CONFIG)
    with store, MemoryClient(store, config=CONFIG) as client:
        client.add(HOME, user_id="ann", thread_id="home")
        receipt = client.erase(id=fact(client, "Reykjavik").id, user_id="ann")
        assert receipt.removed["vector"] >= 2
        assert client.search("what is my brother called?", user_id="ann")[0].scores.get("dense") is not None
