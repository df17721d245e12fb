"""A folder of Markdown and text files as knowledge of a workspace: found by words and by meaning, cited by path.

::

    folder ─► scan ─► read ─► split ─► catalog (words, in SQLite) ──┐
              what is new     chunks      │                         ├─► fused ─► rerank ─► excerpt
                                          └─► vector store (Chroma) ─┘

`DocumentIndex` is the door. Conversations are never mixed in: a memory's folder is no document, documents are no
memories, and in a prompt they have a section and a budget of their own.
"""

from langmem_plus.documents.catalog import IndexedDocument
from langmem_plus.documents.index import DocumentIndex
from langmem_plus.documents.syncing import SyncReport

__all__ = ["DocumentIndex", "IndexedDocument", "SyncReport"]
