"""An async run holds up no event loop: `langgraph dev` fails a graph that does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import asyncio
import sys

from blockbuster import BlockBuster
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langmem_plus import MarkdownStore, MemoryConfig, create_memory_graph
from langmem_plus.providers import QuotingChatModel

config = MemoryConfig(strict=True, background=sys.argv[1] == "background")
store = MarkdownStore("memories", config=config)
graph = create_memory_graph(QuotingChatModel(), store=store, config=config, checkpointer=InMemorySaver())
watch = BlockBuster()
watch.functions["threading.Lock.acquire"].deactivate()


async def talk() -> None:
    watch.activate()
    for thread, text in enumerate(("My wife is called Anne", "What is my wife called?", "I moved to Lyon")):
        run = {"configurable": {"thread_id": str(thread), "user_id": "alice"}}
        answer = await graph.ainvoke({"messages": [HumanMessage(text)]}, run)
        print(answer["messages"][-1].text)
    watch.deactivate()


asyncio.run(talk())
store.close()
"""


@pytest.mark.parametrize("where", ["background", "one chain"])
def test_an_async_run_blocks_no_event_loop(tmp_path: Path, where: str) -> None:
    """Nothing in an async run reads a file, looks for a folder or waits in the loop, not even in a process's first
    run, when tokenizer, model and databases are loaded.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LANGMEM_PLUS_")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, where],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "My wife is called Anne" in done.stdout
