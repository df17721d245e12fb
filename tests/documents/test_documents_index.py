"""A folder's index: only what changed is read and embedded, and what is found is cited and fits."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langmem_plus.config import MemoryConfig
from langmem_plus.documents import DocumentIndex
from langmem_plus.documents.ranking import excerpt
from langmem_plus.errors import ConfigError, InvalidValueError, StoreError
from langmem_plus.records import Scope
from langmem_plus.testing import BagOfWordsEmbeddings

LEAVE = (
    "# Handbook\n\n## Leave\n\nEverybody has thirty days of leave.\n\n## Travel\n\nTrains are booked by the office.\n"
)


def paths(index: DocumentIndex, query: str) -> list[str]:
    """The paths that a search finds, best first."""
    return [hit.record.metadata["path"] for hit in index.search(query)]


class TestSearch:
    def test_cited_by_path_lines_and_headings(self, index, write) -> None:
        """A hit is a document's record that says where it stands; it is no record of a store."""
        place = write("policies/leave.md", LEAVE)
        os.utime(place, (1_700_000_000, 1_700_000_000))
        index.sync()
        (hit, *_) = index.search("How many days of leave are there?")
        assert hit.record.role == "document"
        assert hit.record.source_ids == ["policies/leave.md:3-5"]
        assert hit.text == "## Leave\n\nEverybody has thirty days of leave."
        assert hit.record.metadata["headings"] == ["Handbook", "Leave"]
        assert hit.record.metadata["title"] == "Handbook"
        assert hit.record.said_at.year == 2023
        assert hit.namespace == ()
        assert {"words", "dense", "cosine", "coverage", "total"} <= hit.scores.keys()

    def test_words_and_meaning(self, open_index, write) -> None:
        """By words alone without an embedder; a name of a file is a word of it, too."""
        write("leave.md", LEAVE)
        write("xylophone.md", "# Instruments\n\nIt has wooden bars.")
        index = open_index(embeddings="none")
        assert index.vectorstore is None
        assert paths(index, "thirty days") == ["leave.md"]
        assert paths(index, "what does the xylophone file say?") == ["xylophone.md"]
        assert paths(index, "quantum chromodynamics") == []
        assert paths(index, "  ") == []

    @pytest.mark.parametrize("fusion", ["convex", "rrf"])
    def test_any_script(self, open_index, write, fusion) -> None:
        """Scripts without spaces are found by their words."""
        write("休假.md", "# 手册\n\n每个人有三十天假期。\n\n# 旅行\n\n火车由办公室预订。")
        write("other.md", "Nothing of that.")
        assert paths(open_index(settings={"fusion": fusion}), "假期有多少天？")[0] == "休假.md"

    def test_search_is_bounded(self, index, write) -> None:
        """``k`` at most, and by default ``top_k``."""
        for number in range(30):
            write(f"{number}.md", f"Leave number {number} of the days")
        assert len(index.search("leave days", 3)) == 3
        assert len(index.search("leave days")) == index.config.top_k
        assert len(index.search(f"leave days {'11 ' * 50_000}?", 10**30)) >= 3

    async def test_async_twins(self, open_index, write) -> None:
        """Each call has one, and several may run at a time."""
        write("leave.md", LEAVE)
        async with open_index() as index:
            assert (await index.async_sync()).added == ["leave.md"]
            found = await asyncio.gather(*(index.asearch("days of leave") for _ in range(4)))
            assert all(hits[0].record.metadata["path"] == "leave.md" for hits in found)
            assert [known.title for known in await index.alist()] == ["Handbook"]
            scope = Scope("alice")
            assert await index.afind(scope, "leave", 5) == index.find(scope, "leave", 5)


class TestMistakes:
    @pytest.mark.parametrize("folder", [None, 5, b"docs", ["docs"], "", "\0", "nowhere"])
    def test_what_is_no_folder(self, folder) -> None:
        """The error names it, and what to pass."""
        with pytest.raises(ConfigError, match=r"the folder that holds|the one that holds"):
            DocumentIndex(folder)

    @pytest.mark.parametrize(("name", "value"), [("name", 5), ("path", 5), ("user_id", ["bob"]), ("space", 1.5)])
    def test_what_is_no_name(self, tmp_path, name, value) -> None:
        """As well."""
        with pytest.raises(ConfigError, match=f"^{name} is "):
            DocumentIndex(tmp_path, **{name: value})

    def test_numbers_are_ids(self, tmp_path) -> None:
        """As everywhere else."""
        assert DocumentIndex(tmp_path, user_id=5).serves(Scope(user_id="5"))

    @pytest.mark.parametrize("arguments", [(None,), (5,), (["leave"],), ("leave", "2"), ("leave", -1), ("leave", True)])
    async def test_what_is_no_search(self, index, arguments) -> None:
        """In either way of calling."""
        for call in (index.search, index.asearch):
            with pytest.raises(InvalidValueError, match=r"is no text|give a number of hits"):
                found = call(*arguments)
                await found


class TestWhose:
    @pytest.mark.parametrize(
        ("owner", "serves"),
        [
            ({}, {"a1", "a2", "b1"}),
            ({"space": "global"}, {"a1", "a2", "b1"}),
            ({"user_id": "a"}, {"a1", "a2"}),
            ({"space": "1"}, {"a1", "b1"}),
            ({"user_id": "a", "space": "2"}, {"a2"}),
        ],
    )
    def test_a_space_and_a_user(self, open_index, write, owner, serves) -> None:
        """An index of somebody's, or of a space, is recalled there alone."""
        write("leave.md", LEAVE)
        index = open_index(**owner)
        scopes = {"a1": Scope("a", "1"), "a2": Scope("a", "2"), "b1": Scope("b", "1")}
        assert {name for name, scope in scopes.items() if index.find(scope, "leave", 5)[0]} == serves


class TestSync:
    def test_only_what_changed_is_embedded(self, index, write, embedder) -> None:
        """By content: a file that is only touched costs nothing; of one that changed, only the chunks that did."""
        place = write("leave.md", LEAVE)
        write("other.md", "Something else.")
        report = index.sync()
        assert (report.added, report.chunks, report.embedded, report.waiting) == (["leave.md", "other.md"], 3, 3, 0)
        place.touch()
        assert (index.sync().unchanged, index.sync().embedded) == (2, 0)
        write("leave.md", "# Handbook\n\nA new beginning.\n\n" + LEAVE.split("\n\n", 1)[1].replace("Trains", "Planes"))
        embedder.texts.clear()
        report = index.sync()
        assert (report.changed, report.embedded) == (["leave.md"], 2)
        assert not any("thirty" in text for text in embedder.texts)
        assert index.search("thirty days")[0].record.metadata["lines"] == [5, 7]

    def test_renames_and_copies_cost_nothing(self, index, write, folder, embedder) -> None:
        """A vector belongs to what is said, wherever it stands."""
        place = write("leave.md", LEAVE)
        index.sync()
        embedder.texts.clear()
        shutil.copy(place, folder / "copy.md")
        assert index.sync().added == ["copy.md"]
        place.rename(folder / "renamed.md")
        report = index.sync()
        assert (report.added, report.removed) == (["renamed.md"], ["leave.md"])
        assert embedder.texts == []
        assert {"copy.md", "renamed.md"} >= set(paths(index, "thirty days of leave")) != set()

    def test_what_is_removed_is_gone(self, index, write, folder) -> None:
        """From the search, from the vector store, and from the files of the index."""
        write("secret.md", "The password is swordfish-4711")
        write("kept.md", "Something else.")
        index.sync()
        assert index.vectorstore.similarity_search("password swordfish", k=1)[0].page_content.startswith("The password")
        (folder / "secret.md").unlink()
        assert index.sync().removed == ["secret.md"]
        assert paths(index, "password swordfish") == []
        assert [found.page_content for found in index.vectorstore.similarity_search("password", k=5)] == [
            "Something else."
        ]
        index.close()
        left = b"".join(path.read_bytes() for path in index.path.iterdir() if path.is_file())
        assert b"swordfish" not in left

    def test_twins(self, index, write) -> None:
        """The same words twice in one file are two records, embedded once."""
        write("a.md", "# A\n\nsame\n\n# A\n\nsame\n")
        assert (index.sync().chunks, index.vectorstore.store.__len__()) == (2, 1)
        hits, _ = index.find(Scope("alice"), "same", 5)
        assert len({hit.record.id for hit in hits}) == 2

    def test_search_sees_edits(self, index, write, folder) -> None:
        """Without a sync: what is new is found by its words at once."""
        write("a.md", "alpha")
        assert paths(index, "alpha") == ["a.md"]
        write("a.md", "beta gamma")
        assert paths(index, "alpha") == []
        assert paths(index, "beta") == ["a.md"]
        (folder / "a.md").unlink()
        assert paths(index, "beta") == []

    def test_looks_are_rare(self, open_index, write) -> None:
        """At most once a ``sync_interval``; ``sync`` itself always looks."""
        write("a.md", "alpha")
        index = open_index(settings={"sync_interval": 3600})
        assert paths(index, "alpha") == ["a.md"]
        write("b.md", "alpha beta")
        assert paths(index, "beta") == []
        index.sync()
        assert paths(index, "beta") == ["b.md"]

    def test_other_settings_cut_anew(self, open_index, write, embedder) -> None:
        """Chunks of another size replace the old ones; vectors of texts that are the same are kept."""
        write("a.md", "One sentence of eight words stands here. " * 30)
        write("b.md", "short")
        assert open_index().sync().chunks == 2
        embedder.texts.clear()
        report = open_index(settings={"chunk_tokens": 60, "chunk_overlap": 0}).sync()
        assert report.chunks > 4
        assert "short" not in embedder.texts

    def test_a_folder_that_vanishes(self, index, write, folder) -> None:
        """Nothing is forgotten, a sync says so, and a search goes on with what is known."""
        write("a.md", "alpha")
        index.sync()
        folder.rename(folder.with_name("away"))
        with pytest.raises(StoreError, match="can't be read"):
            index.sync()
        assert paths(index, "alpha") == ["a.md"]
        folder.with_name("away").rename(folder)
        assert index.sync().unchanged == 1

    def test_files_that_go_while_they_are_read(self, index, write, folder, monkeypatch) -> None:
        """They are left out, as if they had gone before."""
        from langmem_plus.documents import syncing

        write("a.md", "alpha")
        write("b.md", "beta")
        real = syncing.read

        def gone(root, path, limit):
            if path == "a.md":
                (folder / "a.md").unlink(missing_ok=True)
            return real(root, path, limit)

        monkeypatch.setattr(syncing, "read", gone)
        report = index.sync()
        assert (report.added, report.skipped) == (["b.md"], {})

    def test_a_broken_index_is_built_anew(self, open_index, write) -> None:
        """All of it is derived."""
        write("a.md", "alpha")
        first = open_index()
        first.sync()
        first.close()
        (first.path / "documents.sqlite").write_bytes(b"no database at all" * 100)
        assert open_index().sync().added == ["a.md"]

    def test_threads(self, index, write) -> None:
        """Many at a time, searching and syncing while files come and go."""
        for number in range(10):
            write(f"{number}.md", f"alpha {number}")
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for turn in range(3):
                    place = write(f"own{number}.md", f"beta{number} {turn}")
                    assert paths(index, f"beta{number}")[0] == f"own{number}.md"
                    place.unlink()
                    index.sync()
            except BaseException as error:  # noqa: BLE001 - shown by the test
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert len(index.list()) == 10


EDITS = st.lists(
    st.tuples(st.sampled_from(["a.md", "b.md", "sub/c.md"]), st.sampled_from(["", "alpha", "beta\n\n# H\n\ngamma"])),
    max_size=8,
)


@given(EDITS)
@settings(max_examples=20)
def test_any_edits_come_to_what_a_new_index_sees(tmp_path_factory: pytest.TempPathFactory, edits) -> None:
    """After any writes and removals an index that followed them knows what a fresh one does."""
    root = tmp_path_factory.mktemp("edits")
    config = MemoryConfig(dense_index="exact", sync_interval=0, rerank_bits="none", embeddings="none")
    (root / "ws").mkdir()
    given = {"config": config, "embeddings": BagOfWordsEmbeddings()}
    with DocumentIndex(root / "ws", path=root / "one", **given) as index:
        for name, text in edits:
            place = root / "ws" / name
            place.parent.mkdir(exist_ok=True)
            if text:
                place.write_text(text)
            else:
                place.unlink(missing_ok=True)
            index.sync()
        with DocumentIndex(root / "ws", path=root / "two", **given) as fresh:
            fresh.sync()
            told = [
                (
                    sorted(
                        (piece.path, piece.chunk.shown, piece.key) for piece in one._engine.catalog.pieces(keys=keys)
                    ),
                    keys == sorted(one.vectorstore.store),
                )
                for one in (index, fresh)
                for keys in [sorted(one._engine.catalog.keys())]
            ]
            assert told[0] == told[1]
            assert told[0][1]


class TestExcerpt:
    @given(st.text(max_size=400), st.integers(20, 200))
    def test_it_fits(self, text: str, limit: int) -> None:
        """Whatever the text, its excerpt has at most so many bytes, and what fits stays whole."""
        part = excerpt(text, {"alpha": 1.0}, limit)
        assert len(part.encode("utf-8", "replace")) <= max(limit, 5)
        if len(text.encode("utf-8", "replace")) <= limit:
            assert part == text

    def test_it_says_most_of_what_is_asked(self, index, write) -> None:
        """The sentences around the words that are asked for, not the beginning; in whole sentences."""
        filler = "This sentence says nothing of interest to anybody here. "
        write("long.md", f"# Rules\n\n{filler * 20}The vault opens at seven. {filler * 20}")
        hit = index.search("When does the vault open?")[0]
        part = hit.record.metadata["excerpt"]
        assert "The vault opens at seven." in part
        assert len(part.encode()) <= index.config.document_excerpt_bytes
        assert part.startswith("… This sentence") and part.endswith("here. …")


def test_an_index_that_is_not_used_writes_nothing(open_index, write, tmp_path) -> None:
    """Opening one costs nothing, so that a graph of a server can have one from its import on."""
    write("a.md", "alpha")
    index = open_index()
    index.close()
    assert not index.path.exists()
    assert [known.path for known in index.list()] == ["a.md"]
