"""Memories as Markdown files, with a SQLite index a namespace that can be deleted at any time."""

from langmem_plus.store.markdown.indexing import DEFAULT
from langmem_plus.store.markdown.store import MarkdownStore

__all__ = ["DEFAULT", "MarkdownStore"]
