"""The tools for a workspace: documents and conversations apart, cited, within budgets, for whom they are."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from langmem_plus.config import MemoryConfig
from langmem_plus.documents import DocumentIndex
from langmem_plus.errors import ConfigError, MissingIdentityError, MissingStoreError
from langmem_plus.tools import create_list_documents_tool, create_search_knowledge_base_tool

QUESTION = "How many days of leave do we have?"


@pytest.fixture
def documents(tmp_path, config) -> Iterator[DocumentIndex]:
    """An index over two documents."""
    folder = tmp_path / "workspace"
    (folder / "policies").mkdir(parents=True)
    (folder / "policies" / "leave.md").write_text("# Handbook\n\n## Leave\n\nEverybody has thirty days of leave.")
    (folder / "travel.txt").write_text("Trains are booked by the office.")
    settings = config.replace(sync_interval=0)
    with DocumentIndex(folder, path=tmp_path / "index", config=settings) as index:
        yield index


@pytest.fixture
def tool(store, config, documents):
    """The tool that searches the workspace."""
    return create_search_knowledge_base_tool(store=store, config=config, documents=documents)


class TestSearch:
    def test_both_apart(self, tool, use, remember, alice) -> None:
        """Documents with path and lines, conversations as a search of memory gives them."""
        remember("may", "I take my days of leave in May")
        answer = json.loads(use(tool, {"query": QUESTION}, alice))
        assert answer.keys() == {"documents", "conversations"}
        (entry,) = answer["documents"]
        assert entry.pop("score") > 0
        assert entry.pop("modified").endswith("Z")
        assert entry == {
            "path": "policies/leave.md",
            "lines": [3, 5],
            "headings": ["Handbook", "Leave"],
            "content": "## Leave\n\nEverybody has thirty days of leave.",
        }
        assert [each["key"] for each in answer["conversations"]] == ["may"]

    @pytest.mark.parametrize("source", ["documents", "conversations", " Documents "])
    def test_one_source(self, tool, use, remember, alice, source) -> None:
        """Only what is asked for is searched, however a model writes it."""
        remember("may", "I take my days of leave in May")
        assert json.loads(use(tool, {"query": QUESTION, "source": source}, alice)).keys() == {source.strip().lower()}

    def test_nothing_is_said_in_words(self, tool, use, alice) -> None:
        """Where nothing is relevant."""
        assert use(tool, {"query": "quantum chromodynamics"}, alice) == "Nothing relevant was found."

    def test_incognito_finds_documents_alone(self, tool, use, remember, alice) -> None:
        """Memory isn't read; the workspace's files are none."""
        remember("may", "I take my days of leave in May")
        hidden = {"configurable": {**alice["configurable"], "incognito": True}}
        answer = json.loads(use(tool, {"query": QUESTION}, hidden))
        assert answer["documents"]
        assert "conversations" not in answer
        assert "incognito" in answer["note"]
        assert "incognito" in use(tool, {"query": QUESTION, "source": "conversations"}, hidden)

    def test_documents_need_no_store(self, documents, config, use, alice) -> None:
        """A tool for documents alone works without one; conversations say what is missing."""
        alone = create_search_knowledge_base_tool(documents=documents, sources=("documents",), config=config)
        assert json.loads(use(alone, {"query": QUESTION}, alice)).keys() == {"documents"}
        both = create_search_knowledge_base_tool(documents=documents, config=config)
        assert json.loads(use(both, {"query": QUESTION, "source": "documents"}, alice))["documents"]
        with pytest.raises(MissingStoreError, match="search_knowledge_base"):
            use(both, {"query": QUESTION}, alice)

    def test_whose(self, documents, config, store, use, alice) -> None:
        """Another user's documents are neither found nor listed."""
        with DocumentIndex(documents.folder, user_id="bob", path=documents.path, config=documents.config) as theirs:
            found = create_search_knowledge_base_tool(documents=[theirs], store=store, config=config)
            listed = create_list_documents_tool(documents=[theirs], config=config)
            assert use(found, {"query": QUESTION}, alice) == "Nothing relevant was found."
            assert use(listed, {}, alice) == "There are no documents."
            bob = {"configurable": {"user_id": "bob"}}
            assert json.loads(use(found, {"query": QUESTION}, bob))["documents"]

    def test_what_is_everybodys_needs_nobodys_name(self, documents, config, store, use) -> None:
        """Documents alone; conversations, and documents that are somebody's, do."""
        listed = create_list_documents_tool(documents=documents, config=config)
        found = create_search_knowledge_base_tool(documents=documents, store=store, config=config)
        assert len(json.loads(use(listed, {}))) == 2
        assert json.loads(use(found, {"query": QUESTION, "source": "documents"}))["documents"]
        for source in ("both", "conversations"):
            with pytest.raises(MissingIdentityError):
                use(found, {"query": QUESTION, "source": source})
        for owner in ({"user_id": "bob"}, {"space": "office"}):
            with DocumentIndex(documents.folder, **owner, path=documents.path, config=documents.config) as theirs:
                for tool, args in (
                    (create_list_documents_tool, {}),
                    (create_search_knowledge_base_tool, {"query": "x"}),
                ):
                    with pytest.raises(MissingIdentityError):
                        use(tool(documents=[documents, theirs], config=config), args)

    def test_the_budget(self, documents, config, store, use, alice) -> None:
        """Many long pieces are cut to ``documents_max_tokens``, and the answer says how many had no room."""
        for number in range(20):
            (documents.folder / f"{number}.md").write_text(f"Days of leave {number}. " * 60)
        settings = config.replace(documents_max_tokens=900)
        tool = create_search_knowledge_base_tool(documents=documents, store=store, config=settings)
        answer = json.loads(use(tool, {"query": QUESTION, "limit": 15, "source": "documents"}, alice))
        assert 1 <= len(answer["documents"]) < 15
        assert answer["documents_without_room"] == 15 - len(answer["documents"])

    def test_what_a_builder_gets_wrong(self, documents, config) -> None:
        """It is refused when the tool is made."""
        for wrong in ("./handbook", [], None):
            with pytest.raises(ConfigError, match="documents is"):
                create_search_knowledge_base_tool(documents=wrong, config=config)  # type: ignore[arg-type]
        for sources in ("documents", (), ("files",)):
            with pytest.raises(ConfigError, match="sources is"):
                create_search_knowledge_base_tool(documents=documents, sources=sources, config=config)  # type: ignore[arg-type]


def test_the_list(documents, config, use, alice) -> None:
    """By their paths, page by page."""
    tool = create_list_documents_tool(documents=documents, config=config)
    listed = json.loads(use(tool, {}, alice))
    assert [(each["path"], each.get("title")) for each in listed] == [
        ("policies/leave.md", "Handbook"),
        ("travel.txt", None),
    ]
    assert [each["path"] for each in json.loads(use(tool, {"limit": 1, "offset": 1}, alice))] == ["travel.txt"]
    assert use(tool, {"offset": 2}, alice) == "There are no more results."


def test_settings(config: MemoryConfig) -> None:
    """The knobs of documents have their group and bounds."""
    assert (config.chunk_tokens, config.chunk_overlap) == (800, 100)
    with pytest.raises(ConfigError, match="chunk_tokens"):
        MemoryConfig(chunk_tokens=0)
