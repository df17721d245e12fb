"""graphs/ served by `langgraph dev` on loopback, and used through LangGraph's own client."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

GRAPHS = Path(__file__).parent.parent.parent / "graphs"
SERVED = json.loads((GRAPHS / "langgraph.json").read_text(encoding="utf-8"))
PATIENCE = 100.0
QUIET = {  # nothing leaves this machine: no tracing, no usage statistics, no look for a newer version
    "LANGSMITH_TRACING": "false",
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
}
AUTH = '''
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def who(headers: dict) -> dict:
    """Whoever brings a name is believed: this is a test."""
    if not (name := headers.get(b"x-name", b"").decode()):
        raise Auth.exceptions.HTTPException(status_code=401, detail="who are you?")
    return {"identity": name}
'''
SIGNED_IN = """
from langmem_plus import create_memory_graph
from langmem_plus.providers import QuotingChatModel

graph = create_memory_graph(QuotingChatModel(), scope=("memories", "{langgraph_auth_user_id}"))
"""


class Server:
    """`langgraph dev` in a subprocess, over a folder that holds a langgraph.json.

    Args:
        folder: where it runs; its own files and the memories stay there.
    """

    def __init__(self, folder: Path) -> None:
        self.log = folder / "server.log"
        outside = ("LANGMEM_PLUS_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(outside)}
        command = [Path(sys.executable).parent / "langgraph", "dev", "--no-browser", "--no-reload"]
        command += ["--host", "127.0.0.1", "--port", str(free_port()), "--n-jobs-per-worker", "4"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                list(map(str, command)), cwd=folder, env={**environment, **QUIET}, stdout=log, stderr=subprocess.STDOUT
            )

    def output(self) -> str:
        """All that the server said so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait(self) -> str:
        """The address, once the server answers."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(r"API: \S*?(http://127\.0\.0\.1:\d+)", self.output())
            if found and answers(found[1]):
                return found[1]
            time.sleep(0.1)
        raise AssertionError(f"langgraph dev doesn't answer (exit code {self.process.poll()}):\n{self.output()}")

    def stop(self) -> None:
        """End the process, and no other."""
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=10)


def free_port() -> int:
    """A port that nobody listens on now; if somebody does when the server starts, it takes another one and says so."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(address: str) -> bool:
    """Whether a server is up."""
    try:
        return httpx.get(f"{address}/ok", timeout=5, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Server]]:
    """Both servers, started at once: the examples as they are, and two graphs behind a sign-in."""
    folders = {name: tmp_path_factory.mktemp(name) / "graphs" for name in ("open", "signed_in")}
    for folder in folders.values():
        shutil.copytree(GRAPHS, folder, ignore=shutil.ignore_patterns("__pycache__", "memory_db", ".langgraph_api"))
    behind = folders["signed_in"]
    (behind / "auth.py").write_text(AUTH, encoding="utf-8")
    (behind / "signed_in.py").write_text(SIGNED_IN, encoding="utf-8")
    graphs = {"memory_graph": SERVED["graphs"]["memory_graph"], "signed_in": "./signed_in.py:graph"}
    served = {**SERVED, "graphs": graphs, "auth": {"path": "./auth.py:auth"}}
    (behind / "langgraph.json").write_text(json.dumps(served), encoding="utf-8")
    started: dict[str, Server] = {}
    try:
        for name, folder in folders.items():
            started[name] = Server(folder)
        yield started
    finally:
        for server in started.values():
            server.stop()


@pytest.fixture
def client(servers: dict[str, Server], request: pytest.FixtureRequest) -> Iterator[LangGraphClient]:
    """A client of the examples; a test that fails shows what the server said."""
    yield get_client(url=servers["open"].wait(), api_key=None)
    if request.session.testsfailed:
        print(servers["open"].output())  # noqa: T201 - pytest shows it with the failure


async def ask(client: LangGraphClient, text: str, graph: str = "memory_graph", **fields: Any) -> str:
    """Say something in a thread of its own; gives the answer, or the error."""
    thread = await client.threads.create()
    said = {"messages": [{"role": "user", "content": text}]}
    state = await client.runs.wait(thread["thread_id"], graph, input=said, raise_error=False, **fields)
    assert isinstance(state, dict)
    return state["messages"][-1]["content"] if "messages" in state else str(state["__error__"])


def as_user(user_id: str) -> dict[str, Any]:
    """Names a run's user in its configuration."""
    return {"config": {"configurable": {"user_id": user_id}}}


async def test_two_threads_of_one_user_and_another_user(client: LangGraphClient) -> None:
    """What a user says in one thread is recalled in the next; another user sees nothing; who isn't named is refused."""
    await ask(client, "My wife is called Anne", **as_user("alice"))
    again, named, other, nobody = await asyncio.gather(
        ask(client, "What is my wife called?", **as_user("alice")),
        ask(client, "What is my wife called?", context={"user_id": "alice"}),
        ask(client, "What is my wife called?", **as_user("bob")),
        ask(client, "What is my wife called?"),
    )
    assert "“My wife is called Anne”" in again
    assert "“My wife is called Anne”" in named
    assert "Anne" not in other
    assert "holds nothing" in other
    assert "MissingIdentityError" in nobody
    assert "user_id" in nobody


async def test_the_readmes_client_program(servers: dict[str, Server], tmp_path: Path) -> None:
    """The program in graphs/README.md runs against the server, and is told what it said."""
    readme = (GRAPHS / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    script = tmp_path / "program.py"
    script.write_text(program.replace("http://127.0.0.1:2024", servers["open"].wait()), encoding="utf-8")
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "“My wife is called Anne”" in done.stdout


async def test_the_servers_store_api_goes_through_our_store(
    client: LangGraphClient, servers: dict[str, Server]
) -> None:
    """What the server's store API puts, finds and deletes lies in Markdown files in the folder it was started in."""
    namespace = ["notes", "carol"]
    await client.store.put_item(namespace, "green", {"text": "Carol likes green tea"})
    await client.store.put_item(namespace, "boat", {"text": "Carol owns a boat"})
    found = await client.store.search_items(namespace, query="tea")
    assert found["items"][0]["key"] == "green"
    assert namespace in (await client.store.list_namespaces(prefix=["notes"]))["namespaces"]
    files = (servers["open"].log.parent / "memory_db").rglob("*.md")
    (file,) = [path for path in files if "green tea" in path.read_text(encoding="utf-8")]
    assert "carol" in file.parts
    await client.store.delete_item(namespace, "green")
    assert [item["key"] for item in (await client.store.search_items(namespace))["items"]] == ["boat"]


async def test_every_example_is_served(client: LangGraphClient, servers: dict[str, Server]) -> None:
    """Each graph of langgraph.json answers, and no run blocks the server's event loop."""
    said = {"messages": [{"role": "user", "content": "I like tea"}]}
    inputs = {"own_schema": {"question": "I like tea", "customer": "dora"}, "functional": "I like tea"}
    contexts = {"deep_agent": {"user_id": "dora", "project": "apollo"}}

    async def run(graph: str) -> tuple[str, Any]:
        thread, given = await client.threads.create(), inputs.get(graph, said)
        named = contexts.get(graph, {"user_id": "dora"})
        return graph, await client.runs.wait(thread["thread_id"], graph, input=given, context=named, raise_error=False)

    states = dict(await asyncio.gather(*map(run, SERVED["graphs"])))
    assert {graph: state for graph, state in states.items() if isinstance(state, dict) and "__error__" in state} == {}
    said_by_server = servers["open"].output()
    assert [words for words in ("Blocking call", "was left out", "memory: ") if words in said_by_server] == []


async def test_a_run_that_waits_for_a_person(client: LangGraphClient) -> None:
    """An interrupted run is resumed through the client, with what was recalled."""
    await ask(client, "I am allergic to peanuts", **as_user("erin"))
    thread = (await client.threads.create())["thread_id"]
    said = {"messages": [{"role": "user", "content": "What am I allergic to?"}]}
    await client.runs.wait(thread, "interrupts", input=said, **as_user("erin"))
    state = await client.threads.get_state(thread)
    assert "peanuts" in state["tasks"][0]["interrupts"][0]["value"]["draft"]
    done = await client.runs.wait(thread, "interrupts", command={"resume": "send"}, **as_user("erin"))
    assert isinstance(done, dict)
    assert "peanuts" in done["messages"][-1]["content"]
    turns = await client.store.search_items(
        ["memories", "erin"], filter={"role": "user", "text": "What am I allergic to?"}
    )
    assert len(turns["items"]) == 1


async def test_the_user_who_is_signed_in(servers: dict[str, Server]) -> None:
    """With authentication nobody has to be named, and naming somebody else is refused; the server overwrites a claim
    to be signed in as somebody else.
    """
    address = servers["signed_in"].wait()
    ann, bob = (get_client(url=address, api_key=None, headers={"x-name": name}) for name in ("ann", "bob"))
    for graph in ("memory_graph", "signed_in"):
        await ask(ann, "My wife is called Anne", graph)
    for graph in ("memory_graph", "signed_in"):
        mine, other = await asyncio.gather(
            ask(ann, "What is my wife called?", graph), ask(bob, "What is my wife called?", graph)
        )
        assert ("Anne" in mine, "Anne" in other) == (True, False)
    refused = await asyncio.gather(
        ask(bob, "What is my wife called?", **as_user("ann")),
        ask(bob, "What is my wife called?", "signed_in", **as_user("ann")),
        ask(bob, "What is my wife called?", context={"user_id": "ann"}),
    )
    assert all("ForeignIdentityError" in answer for answer in refused), refused
    claim = {"langgraph_auth_user_id": "ann"}
    forged = await asyncio.gather(
        ask(bob, "What is my wife called?", "signed_in", config={"configurable": claim}),
        ask(bob, "What is my wife called?", "signed_in", context=claim),
    )
    assert not any("Anne" in answer for answer in forged), forged
    with pytest.raises(httpx.HTTPStatusError, match="who are you"):
        await ask(get_client(url=address, api_key=None), "Hello")
