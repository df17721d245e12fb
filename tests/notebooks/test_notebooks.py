"""The notebooks run from the first cell to the last, and what is committed of them holds nothing of one machine.

``python tests/notebooks/test_notebooks.py`` runs them and writes their outputs anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
PETS = (("dog", "Pixel"), ("cat", "Mozart"))
SECONDS = 300  # for a cell, on a machine that is busy with other tests
# What differs from run to run, and what stands in its place in a committed output.
RUNS = (
    (
        re.compile(r"<small>(?:(?!</small>).)*\d\.\d ms ?</small>"),
        "<small>(here stand the milliseconds of each stage)</small>",
    ),
    (re.compile(r"(?:/[\w.+-]+)*/memory_db-\w+"), "memory_db"),
    (re.compile(r"\b\d{8}T\d{6}-\d{6}Z"), "…"),
)
# A kernel with it on its path reaches nothing but the machine itself.
NO_NETWORK = """
import socket
def _only_here(real):
    def connect(self, address):
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"a notebook asked for the network: {address}")
        return real(self, address)
    return connect
socket.socket.connect = _only_here(socket.socket.connect)
socket.socket.connect_ex = _only_here(socket.socket.connect_ex)
"""


def run(path: Path, scratch: Path, environment: dict[str, str]) -> nbformat.NotebookNode:
    """Run a notebook in a copy of its folder, without a network, and with none of this machine's settings.

    Raises:
        CellExecutionError: a cell failed.
    """
    work, off = scratch / "notebooks", scratch / "no_network"
    shutil.copytree(FOLDER, work)
    off.mkdir()
    (off / "sitecustomize.py").write_text(NO_NETWORK, encoding="utf-8")
    places = {"IPYTHONDIR": scratch / "ipython", "JUPYTER_RUNTIME_DIR": scratch / "runtime", "PYTHONPATH": off}
    kept = {name: value for name, value in environment.items() if not name.startswith("LANGMEM_PLUS_")}
    for name in [name for name in kept if name.upper().endswith("_API_KEY")]:
        del kept[name]
    notebook = nbformat.read(work / path.name, as_version=4)
    client = NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(work)}}
    )
    client.execute(env={**kept, **{name: str(place) for name, place in places.items()}, "TMPDIR": str(scratch)})
    return notebook


def outputs(notebook: nbformat.NotebookNode) -> list[Any]:
    """All outputs of a notebook, in their order."""
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def texts(notebook: nbformat.NotebookNode) -> str:
    """Everything that stands in a notebook but its pictures."""
    plain = json.loads(json.dumps(notebook))
    for output in outputs(nbformat.from_dict(plain)):
        output.get("data", {}).pop("image/png", None)
    return json.dumps(plain, ensure_ascii=False)


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    """Every cell runs in its turn, with no key and no network; it complains about nothing, and has something to see."""
    notebook = run(path, tmp_path, dict(os.environ))
    shown = outputs(notebook)
    assert not [output for output in shown if output.output_type == "error" or output.get("name") == "stderr"]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert any("<table" in output.get("data", {}).get("text/html", "") for output in shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_committed_notebook_is_of_no_machine(path: Path) -> None:
    """It was run once, from the top, and holds no path, no address of a service, no time of one run and no version of
    a kernel.
    """
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert dict(notebook.metadata.language_info) == {"name": "python"}
    words = texts(notebook)
    assert not re.search(r"/(?:tmp|home|root|work|Users|var|private)/|[A-Z]:\\\\|https?://|0x[0-9a-f]{6}", words)
    for noise, _ in RUNS:
        assert not noise.search(words)
    assert not re.search(r"\d ms\b", words)


def test_there_are_three_stories() -> None:
    """The notebooks that the README names are there."""
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) >= 3
    assert [path.name for path in NOTEBOOKS] == [path.name for path in NOTEBOOKS if path.name in readme]


def test_the_first_memory_takes_ten_cells() -> None:
    """From nothing to an agent that remembers in ten cells of code."""
    notebook = nbformat.read(FOLDER / "01_first_memory.ipynb", as_version=4)
    assert sum(cell.cell_type == "code" for cell in notebook.cells) == 10


def test_tuning_takes_ones_own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without dates, and with a question that nothing answers: that one isn't counted as a miss."""
    lines = [{"role": "user", "content": f"My {pet} is called {name}.", "id": pet} for pet, name in PETS]
    asked = [{"question": f"What is my {pet} called?", "evidence": [pet]} for pet, _ in PETS]
    own = "\n".join(map(json.dumps, [*lines, {"question": "What is my shoe size?"}, *asked]))
    (tmp_path / "03_tuning.jsonl").write_text(own, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANGMEM_PLUS_EMBEDDINGS", "none")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names: dict[str, Any] = {"__name__": "notebook"}
    drawing = types.SimpleNamespace(rcParams={})  # nothing is drawn before the first measurement
    for name, module in {"notebook": types.ModuleType("notebook"), "matplotlib.pyplot": drawing}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "matplotlib", types.SimpleNamespace(pyplot=drawing))
    code = [cell.source for cell in nbformat.read(FOLDER / "03_tuning.ipynb", 4).cells if cell.cell_type == "code"]
    for source in code[: next(n for n, source in enumerate(code) if "default = measure(" in source) + 1]:
        exec(source, names)
    assert (names["found"].mean, names["found"].count) == (1.0, len(PETS))


def settled(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without what differs from run to run."""
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata.clear()
    for output in outputs(notebook):
        if "text" in output:
            output["text"] = _settled(output["text"])
        for kind in ("text/plain", "text/html"):
            if kind in output.get("data", {}):
                output["data"][kind] = _settled(output["data"][kind])
        if "text/html" in output.get("data", {}):
            output["data"]["text/plain"] = (
                "(see the table)"  # the same once more, with everything that a table leaves out
            )
    return notebook


def _settled(text: str) -> str:
    for noise, instead in RUNS:
        text = noise.sub(instead, text)
    return text


def write_anew(names: list[str]) -> None:
    """Run the notebooks of these names, or all, and write their outputs."""
    for path in (path for path in NOTEBOOKS if not names or path.stem in names):
        with tempfile.TemporaryDirectory() as scratch:
            notebook = settled(run(path, Path(scratch), dict(os.environ)))
        nbformat.write(notebook, path)


if __name__ == "__main__":
    write_anew(sys.argv[1:])
