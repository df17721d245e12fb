"""The command line as a person and a program meet it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from langmem_plus.cli import app as cli_app
from langmem_plus.cli import main
from langmem_plus.providers import Part

MESSAGES = [
    {"role": "user", "content": "I moved to Lyon.", "id": "m1", "created_at": "2023-05-08T12:00:00Z"},
    {"role": "assistant", "content": "How do you like it?", "id": "m2", "created_at": "2023-05-08T12:00:05Z"},
    {"role": "user", "content": "My sister is called Ines.", "id": "m3", "created_at": "2023-05-08T12:01:00Z"},
]


class Shell:
    """Runs commands in this process, in a folder of their own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self.monkeypatch, self.capsys, self.folder = monkeypatch, capsys, folder
        monkeypatch.setenv("LANGMEM_PLUS_MEMORY_PATH", str(folder / "memory"))
        monkeypatch.setenv("LANGMEM_PLUS_EMBEDDINGS", "none")
        monkeypatch.chdir(folder)

    def __call__(self, *arguments: str, input: str = "") -> tuple[int, str, str]:
        """Run a command; returns its exit code, output and errors."""
        self.monkeypatch.setattr(sys, "argv", ["langmem-plus", *arguments])
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(input))
        with pytest.raises(SystemExit) as exit_:
            main()
        output = self.capsys.readouterr()
        return int(exit_.value.code or 0), output.out, output.err

    def json(self, *arguments: str, input: str = "") -> Any:
        """Run a command that succeeds and answers with JSON."""
        code, out, err = self(*arguments, "--json", input=input)
        assert code == 0, err
        return json.loads(out)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    """A shell in an empty folder."""
    return Shell(monkeypatch, capsys, tmp_path)


def test_add_search_list_show(shell: Shell) -> None:
    """What is added is found, listed and shown with its file; a fact was drawn out of it."""
    added = shell.json("add", "My wife is called Anne", "--user", "alice")
    assert {record["role"] for record in added} == {"user", "memory"}
    hits = shell.json("search", "what is my wife called?", "--user", "alice")
    assert "Anne" in hits[0]["record"]["text"]
    assert {"relevance", "recency", "importance", "total"} <= hits[0]["scores"].keys()
    listed = shell.json("list", "--user", "alice", "--role", "memory")
    assert [record["text"] for record in listed] == ["My wife is called Anne"]
    shown = shell.json("show", listed[0]["id"][:8], "--user", "alice")
    assert Path(shown["file"]).read_text(encoding="utf-8").endswith("---\nMy wife is called Anne\n")


def test_tables_show_the_same(shell: Shell) -> None:
    """Without --json the same stands in tables."""
    shell("add", "My wife is called Anne", "--user", "alice")
    for command in (("search", "wife", "--user", "alice"), ("list", "--user", "alice")):
        code, out, _ = shell(*command)
        assert code == 0
        assert "Anne" in out


def test_an_edited_file_counts(shell: Shell) -> None:
    """A fact that is changed in an editor is what the next search finds."""
    shell("add", "My wife is called Anne", "--user", "alice")
    fact = shell.json("list", "--user", "alice", "--role", "memory")[0]
    file = Path(shell.json("show", fact["id"], "--user", "alice")["file"])
    file.write_text(file.read_text(encoding="utf-8").replace("Anne", "Marie"), encoding="utf-8")
    hits = shell.json("search", "my wife Marie", "--user", "alice")
    assert "Marie" in hits[0]["record"]["text"]


def test_nothing_found_is_exit_code_1(shell: Shell) -> None:
    """A search, a list or an id without a result says so on standard error and exits with 1."""
    for command in (("search", "tea"), ("list",), ("show", "nonsense")):
        code, out, err = shell(*command, "--user", "alice")
        assert code == 1
        assert not out.strip()
        assert err.strip()


def test_empty_json_is_still_json(shell: Shell) -> None:
    """A program gets an empty list, not an empty answer."""
    code, out, _ = shell("search", "tea", "--user", "alice", "--json")
    assert (code, json.loads(out)) == (1, [])


def test_wrong_usage_is_exit_code_2(shell: Shell) -> None:
    """A missing option or an unknown command exits with 2 and names it."""
    code, _, err = shell("search", "tea")
    assert code == 2
    assert "--user" in err
    code, _, err = shell("remember")
    assert code == 2


def test_wrong_settings_are_exit_code_3(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong setting or a blank user is one line that names the value, without a traceback."""
    code, _, err = shell("list", "--user", " ")
    assert code == 3
    assert "user_id" in err
    monkeypatch.setenv("LANGMEM_PLUS_TOP_K", "0")
    code, _, err = shell("list", "--user", "alice")
    assert code == 3
    assert "top_k" in err
    assert "Traceback" not in err


def test_unreadable_files_are_exit_code_4(shell: Shell) -> None:
    """A file that can't be imported is named, with the place where reading stopped."""
    code, _, err = shell("import", "missing.json", "--user", "alice")
    assert code == 4
    assert "missing.json" in err
    (shell.folder / "broken.json").write_text('[{"role": "user"', encoding="utf-8")
    code, _, err = shell("import", "broken.json", "--user", "alice")
    assert code == 4
    assert "line 1" in err


def test_import_twice_stores_once(shell: Shell) -> None:
    """An import keeps the messages' own times and ids, and can be run again after an interruption."""
    (shell.folder / "chat.json").write_text(json.dumps(MESSAGES), encoding="utf-8")
    first = shell.json("import", "chat.json", "--user", "alice")
    assert (first["messages"], first["stored"]) == (3, 3)
    again = shell.json("import", "chat.json", "--user", "alice")
    assert (again["messages"], again["stored"]) == (3, 0)
    turns = shell.json("list", "--user", "alice", "--role", "user")
    assert {turn["observed_at"][:19] for turn in turns} == {"2023-05-08T12:00:00", "2023-05-08T12:01:00"}
    assert {"m1", "m3"} <= {source for turn in turns for source in turn["source_ids"]}


def test_chat_remembers_across_threads(shell: Shell) -> None:
    """What is said in one thread is recalled in another; /why and /memories show it; the end of the input ends it."""
    code, out, _ = shell("chat", "--user", "alice", "--thread", "a", input="My wife is called Anne\n/quit\n")
    assert code == 0
    code, out, _ = shell("chat", "--user", "alice", "--thread", "b", input="What is my wife called?\n/why\n/memories\n")
    assert code == 0
    assert "Anne" in out
    assert "recalled" in out


def test_demo_learns_and_recalls(shell: Shell) -> None:
    """The demo shows facts being remembered in one thread, recalled in the other, and where they are."""
    code, out, err = shell("demo")
    assert code == 0, err
    assert "remembered" in out
    assert "recalled" in out
    friday = out.split("friday")[1]
    assert "Anne" in friday
    assert "Grenoble" in out.split("what is known now")[1]
    assert "Lyon" not in out.split("what is known now")[1]


def test_demo_can_be_run_again(shell: Shell) -> None:
    """A second run starts from nothing again and shows the same; replies that only quote memory aren't stored."""
    outputs = [shell("demo")[1].replace("demo-2", "demo") for _ in range(2)]
    talks = [[line for line in out.splitlines() if line.startswith(("you", "agent", "-"))] for out in outputs]
    assert talks[0] == talks[1]
    listed = shell.json("list", "--user", "sam", "--space", "demo-2", "--limit", "1000", "--role", "all")
    assert {record["role"] for record in listed} == {"user", "memory"}


def test_doctor_and_config(shell: Shell) -> None:
    """doctor names what is in use and how to get the rest; config lists every setting with its sentence."""
    parts = shell.json("doctor")
    assert {"name", "in_use", "state"} <= parts[0].keys()
    code, out, _ = shell("config")
    assert code == 0
    assert "top_k" in out
    assert "[recall]" in out


def test_eval_recall(shell: Shell) -> None:
    """Recall is measured on a file of LoCoMo's form."""
    sample = {
        "sample_id": "s1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a turtle."},
                {"speaker": "Bob", "dia_id": "D1:2", "text": "I have been baking bread."},
            ],
        },
        "qa": [{"question": "Who adopted a turtle?", "answer": "Ann", "evidence": ["D1:1"], "category": 4}],
    }
    (shell.folder / "locomo.json").write_text(json.dumps([sample]), encoding="utf-8")
    code, out, err = shell("eval", "recall", "locomo.json", "--no-probes", "--json", "-")
    assert code == 0, err
    row = json.loads(out)[0]["rows"][0]
    assert row["questions"] == 1
    assert row["measures"]["recall@5"]["mean"] == 1.0


def test_output_to_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    """`langmem-plus config | head -1` ends quietly."""
    environment = {**os.environ, "LANGMEM_PLUS_MEMORY_PATH": str(tmp_path)}
    code = "from langmem_plus.cli import main; main()"
    command = f'"{sys.executable}" -c "{code}" config | head -1'
    done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout
    assert "Traceback" not in done.stderr


def test_markup_and_control_characters_are_only_text(shell: Shell) -> None:
    """Square brackets in memories, users and errors are shown as they are, and a terminal gets nothing to obey."""
    text = "My cat is called [bold]Momo[/b] [image] \x1b[2J"
    code, out, err = shell("add", text, "--user", "[/x]")
    assert code == 0, err
    ids = [record["id"] for record in shell.json("list", "--user", "[/x]")]
    for command in (("list",), ("search", "cat"), ("show", ids[0])):
        code, out, err = shell(*command, "--user", "[/x]")
        assert code == 0, err
        assert "[bold]Momo" in out
        assert "\x1b" not in out
    assert "'[red]'" in shell("list", "--user", "[red]")[2]


def test_doctor_names_the_extra(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that installs what is missing is shown whole, with its extra in brackets."""
    part = Part("embeddings", "none", "missing", "", "Run: pip install 'langmem-plus[local]'")
    monkeypatch.setattr(cli_app, "inventory", lambda config: [part])
    assert "[local]" in "".join(shell("doctor")[1].split())


def test_a_model_that_is_down(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an answer there is one line that says so, no traceback; what was said is stored."""
    monkeypatch.setenv("LANGMEM_PLUS_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LANGMEM_PLUS_MODEL", "openai:nobody")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("LANGMEM_PLUS_FLUSH_SECONDS", "1")
    for command, words, expected in ((("chat",), "I like tea\n", 5), (("add", "I like tea"), "", 0)):
        code, _, err = shell(*command, "--user", "alice", input=words)
        assert code == expected
        assert "doctor" in err
        assert "stored" in err
        assert "Traceback" not in err
        monkeypatch.setenv("LANGMEM_PLUS_FLUSH_SECONDS", "0")
    listed = shell.json("list", "--user", "alice", "--role", "all")
    assert {record["text"] for record in listed} == {"I like tea"}


@pytest.mark.parametrize("model", ["opnai:gpt-5-mini", "openai:gpt-5-mini"])
def test_a_model_that_cannot_be_built_stores_nothing(shell: Shell, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """A misspelt provider or a missing key ends the command before anything is written, so it can be given again."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("LANGMEM_PLUS_MODEL", model)
    (shell.folder / "chat.json").write_text(json.dumps(MESSAGES), encoding="utf-8")
    for command in (("add", "I like tea"), ("import", "chat.json"), ("chat",)):
        code, _, err = shell(*command, "--user", "alice", input="I like tea\n")
        assert code == 3
        assert model in err
    assert not (shell.folder / "memory").exists()


def test_a_list_has_facts_unless_more_is_asked_for(shell: Shell) -> None:
    """What was said is a role of its own; where there are no facts, the way to the rest is told."""
    shell("add", "hello there", "--user", "alice")
    code, _, err = shell("list", "--user", "alice")
    assert code == 1
    assert "--role all" in err
    shell("add", "My wife is called Anne", "--user", "alice")
    assert [record["role"] for record in shell.json("list", "--user", "alice")] == ["memory"]
    everything = shell.json("list", "--user", "alice", "--role", "all")
    assert sorted(record["role"] for record in everything) == ["memory", "user", "user"]
    assert len(shell.json("list", "--user", "alice", "--role", "user")) == 2
    code, _, err = shell("list", "--user", "alice", "--role", "nonsense")
    assert (code, "'nonsense'" in err, "memory, user" in err) == (2, True, True)


def test_a_table_cuts_long_texts_and_json_does_not(shell: Shell) -> None:
    """One record is one line of a terminal."""
    text = "I said this: " + "and this " * 100
    shell("add", text, "--user", "alice", "--thread", "t" * 200)
    code, out, _ = shell("list", "--user", "alice", "--role", "user")
    assert code == 0
    assert len(out.splitlines()) == 2
    assert "…" in out
    assert shell.json("list", "--user", "alice", "--role", "user")[0]["text"] == text


def test_why_is_short_and_why_all_is_whole(shell: Shell) -> None:
    """/why tells each memory's scores with its text clipped; /why all tells everything."""
    long = "My wife is called Anne and " + "she likes to talk about the weather and " * 5 + "rain"
    shell("add", long, "--user", "alice")
    words = "/why\nWhat is my wife called?\n/why\n/nonsense\n/why all\n"
    code, out, _ = shell("chat", "--user", "alice", input=words)
    assert code == 0
    assert "Nothing was recalled yet" in out
    short, whole = out.split("/quit ends")[-2:]
    assert "relevance" in short
    assert "ms  " in whole
    assert "ms  " not in short.split("agent")[-1]


def test_version(shell: Shell) -> None:
    """--version is one line, with exit code 0."""
    code, out, _ = shell("--version")
    assert (code, out.split()[0]) == (0, "langmem-plus")
    assert out.split()[1][0].isdigit()


@pytest.mark.parametrize(
    ("arguments", "expected", "named"),
    [
        (("search", "x", "-u", "u", "-k", "1" + "0" * 30), 2, "-k"),
        (("search", "x", "-u", "u", "-k", "-1"), 2, "-k"),
        (("search", "x", "-u", "u", "-k", "0"), 2, "-k"),
        (("search", "x", "-u", "u", "-k", "1000000"), 1, "doesn't exist"),
        (("list", "-u", "u", "-n", "1" + "0" * 5000), 2, "-n"),
        (("list", "-u", "u", "-p", ""), 2, "-p"),
        (("list", "-u", "u", "-p", "file"), 4, "'file' is a file"),
        (("search", " ", "-u", "u"), 2, "the question is empty"),
        (("documents", ".", ""), 2, "the question is empty"),
        (("list", "-u", "u", "-p", "x" * 5000), 4, "name too long"),
        (("add", "x", "-u", "u", "-p", "file"), 4, "file"),
        (("add", "x", "-u", ""), 3, "user_id"),
        (("add", "x", "-u", "u", "-s", ""), 3, "space"),
        (("add", "  ", "-u", "u"), 2, "empty"),
        (("list", "-u", "u", "-c", "."), 4, "can't be read"),
        (("import", ".", "-u", "u"), 4, "can't be read"),
        (("import", "deep.json", "-u", "u"), 4, "nested too deeply"),
        (("import", "year.json", "-u", "u"), 4, "isn't a time"),
        (("eval", "recall", "deep.json"), 4, "deep.json"),
        (("eval", "recall", "none.json"), 4, "no question"),
        (("eval", "write", "deep.json"), 4, "deep.json"),
        (("eval", "write", "."), 4, "'.'"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_whatever_is_given_one_line_names_it(
    shell: Shell, arguments: tuple[str, ...], expected: int, named: str
) -> None:
    """Absurd numbers, times, files and names are told by a line and an exit code, never by a traceback."""
    (shell.folder / "file").write_text("", encoding="utf-8")
    (shell.folder / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    (shell.folder / "none.json").write_text("[]", encoding="utf-8")
    (shell.folder / "year.json").write_text('[{"role": "user", "created_at": "999999-01-01"}]', encoding="utf-8")
    code, _, err = shell(*arguments)
    assert code == expected
    assert named.lower() in " ".join(err.lower().split())
    assert "Traceback" not in err


def test_the_doctor_lists_files_that_cannot_be_read(shell: Shell) -> None:
    """Each with its reason, every time; without any it says that all can be read."""
    assert shell.json("doctor")[-1]["detail"] == "nothing is stored there yet"
    shell("add", "My wife is called Anne", "--user", "alice")
    folder = shell.folder / "memory"
    assert shell.json("doctor", "--path", str(folder))[-1]["detail"] == "all can be read"
    fact = shell.json("list", "--user", "alice")[0]
    file = Path(shell.json("show", fact["id"], "--user", "alice")["file"])
    file.write_text("---\nid: [\n---\nx", encoding="utf-8")
    for _ in range(2):
        part = shell.json("doctor", "--path", str(folder))[-1]
        assert (part["name"], part["in_use"], part["state"]) == ("memory files", str(file), "degraded")
        assert "YAML" in part["detail"]
        assert part["remedy"]


def test_eval_write_tells_files_apart(shell: Shell) -> None:
    """One command measures extraction and reconciliation, by what each file holds."""
    said = {"text": "I like tea", "date": "2023/08/11 (Fri) 09:00"}
    extraction = [{"kind": "preference", "gold": "I like tea", "messages": [{"role": "user", "text": "I like tea"}]}]
    pairs = [{"kind": "update", "old": said, "new": {**said, "text": "I live in Lyon"}}]
    for name, data in (("a.json", extraction), ("b.json", pairs)):
        (shell.folder / name).write_text(json.dumps(data), encoding="utf-8")
    code, out, err = shell("eval", "write", "a.json", "b.json", "--json", "-")
    assert code == 0, err
    first, second = (result["rows"][0]["tuned_on_even_entries"]["all"] for result in json.loads(out))
    assert first["met"] == 1
    assert second["expected"] == 1


def test_half_an_emoji_can_be_shown(shell: Shell) -> None:
    """A message that a client cut through an emoji is imported, listed and found; JSON gives it back exactly."""
    (shell.folder / "cut.json").write_text('[{"role": "user", "content": "half \\ud83d emoji"}]', encoding="utf-8")
    assert shell.json("import", "cut.json", "--user", "alice")["stored"] == 1
    for command in (("list", "--role", "user"), ("search", "emoji")):
        code, out, err = shell(*command, "--user", "alice")
        assert code == 0, err
        assert out.encode()
    assert shell.json("list", "--user", "alice", "--role", "user")[0]["text"] == "half \ud83d emoji"
