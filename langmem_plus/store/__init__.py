"""Where memories are kept."""

from langmem_plus.store.markdown import MarkdownStore

__all__ = ["MarkdownStore"]
