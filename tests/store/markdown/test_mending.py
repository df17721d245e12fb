"""What a person broke by hand can be erased."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from langmem_plus import MemoryClient, MemoryConfig
from langmem_plus.errors import NotFoundError

SAID = [{"role": "user", "content": "My cat is called Mimi."}, {"role": "assistant", "content": "Mimi is lovely."}]
BREAKS: dict[str, Callable[[str], str]] = {
    "a bracket": lambda text: text.replace("role: memory", "role: [memory"),
    "no closing line": lambda text: text.replace("\n---\n", "\n", 1),
    "no first line": lambda text: text.removeprefix("---\n"),
    "no text": lambda text: text[: text.rindex("---\n") + 4],
    "another value": lambda text: text.replace("importance:", "importance: very"),
    "no id": lambda text: "\n".join(line for line in text.split("\n") if not line.startswith("id:")) + "\ufffe\n",
    "a tab": lambda text: text.replace("tags:", "\ttags"),
    "cut": lambda text: text[: text.index("created_at")],
    "line ends": lambda text: text.replace("role: memory", "role: {").replace("\n", "\r\n"),
    "time": lambda text: text.replace('"created_at": "2', '"ttl": "x", "created_at": "2'),
}


@pytest.fixture
def client(tmp_path: Path) -> MemoryClient:
    """A client that knows a cat and a drink."""
    made = MemoryClient(
        tmp_path / "memories", config=MemoryConfig(embeddings="none", background=False, sync_interval=0)
    )
    made.add(SAID, user_id="ann", thread_id="t")
    made.add("I like green tea.", user_id="ann", thread_id="t")
    return made


def broken(client: MemoryClient, root: Path, word: str, damage: Callable[[str], str]) -> tuple[str, Path]:
    """The id and the file of the fact with a word, which is broken now."""
    (id,) = [each.id for each in client.list(user_id="ann", role="memory") if word in each.text]
    (file,) = root.rglob(f"*/facts/*{id}.md")
    file.write_bytes(damage(file.read_text("utf-8")).encode("utf-8", "surrogatepass"))
    return id, file


@pytest.mark.parametrize("damage", BREAKS)
def test_a_record_whose_file_is_broken_is_erased(client: MemoryClient, tmp_path: Path, damage: str) -> None:
    """By its id, with the turns that say it and the replies to them where its text can be told; the rest stays."""
    root = tmp_path / "memories"
    id, file = broken(client, root, "Mimi", BREAKS[damage])
    receipt = client.erase(id=id, user_id="ann")
    assert not file.exists() and str(file) in receipt.paths
    left = [each.text for each in client.list(user_id="ann")]
    assert ("My cat is called Mimi." in left) == (damage == "cut")
    assert left.count("I like green tea.") == 2
    with pytest.raises(NotFoundError):
        client.erase(id=id, user_id="ann")


def test_another_broken_file_stays(client: MemoryClient, tmp_path: Path) -> None:
    """It isn't the one that is erased, and the receipt names it."""
    root = tmp_path / "memories"
    cat, _ = broken(client, root, "Mimi", BREAKS["a bracket"])
    _, tea = broken(client, root, "tea", BREAKS["a bracket"])
    before = tea.read_bytes()
    receipt = client.erase(id=cat, user_id="ann")
    assert tea.read_bytes() == before
    assert any(str(tea) in missed for missed in receipt.unreached)


@pytest.mark.parametrize("content", [b"\x00\xff\xfe\x80", b"", b"---", b"---\n---"])
def test_a_file_that_is_broken_beyond_its_name_is_erased(client: MemoryClient, tmp_path: Path, content: bytes) -> None:
    """Bytes that are no text, and nothing at all, still go by the name."""
    root = tmp_path / "memories"
    id, file = broken(client, root, "Mimi", lambda text: text)
    file.write_bytes(content)
    assert client.erase(id=id, user_id="ann").removed["memory"] == 1
    assert not file.exists()
