"""Memories as Markdown files, with a SQLite index a namespace that can be deleted at any time."""

from langmem_plus.store.markdown.store import DEFAULT, MarkdownStore

__all__ = ["DEFAULT", "MarkdownStore"]
