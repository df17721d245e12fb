"""The store that `langgraph dev` and the platform lend to every graph: Markdown files where the settings say.

``langgraph.json`` names it as ``"store": {"path": "./store.py:open_store"}``. `LANGMEM_PLUS_MEMORY_PATH` in the
environment keeps the files elsewhere than in ``./memory_db``. A server opens the store once in each of its threads:
several of them over one folder are fine.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langmem_plus import MarkdownStore


@asynccontextmanager
async def open_store() -> AsyncIterator[MarkdownStore]:
    """Open the store, and close it when the server stops."""
    async with await asyncio.to_thread(MarkdownStore) as store:  # reads the settings, which may stand in a file
        yield store


async def main() -> None:
    """Keep a value, as any program can through a LangGraph store."""
    async with open_store() as store:
        await store.aput(("notes", "alice"), "greeting", {"text": "Hello from Alice"})
        item = await store.aget(("notes", "alice"), "greeting")
        print(item.value["text"])  # → Hello from Alice


if __name__ == "__main__":
    asyncio.run(main())
