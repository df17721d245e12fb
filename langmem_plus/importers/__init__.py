"""Conversations and memories of other systems.

`read_file` finds out which form a file has; `read_messages` reads those that hold conversations:

- a list of messages, ``{"messages": [...]}``, or a list of such conversations, as OpenAI writes them;
- JSON lines, each a message or a conversation (``.jsonl``, or a file that can only be read so); lines with a
  ``question`` are for `langmem_plus.evals` and are passed over here;
- LoCoMo: samples whose ``conversation`` holds ``session_1``, ``session_1_date_time``, …; one session is one thread;
- LongMemEval: questions with ``haystack_sessions``; one session is one thread;
- BEAM: chats whose ``messages`` have ``text`` and ``session``; one session is one thread.

A message has ``role`` and ``content``, and may have ``id``, ``name``, ``created_at`` (or ``timestamp``), ``thread_id``
and ``sample_id``. Pictures become words, ``[image: caption]``, because memory keeps text.

Memories become facts as they are, no model asked:

- mem0's, from the JSON that it gives (`mem0`);
- langmem's, from any LangGraph store (`langmem`).
"""

from langmem_plus.importers.langmem import NAMESPACE, Template, read_steps
from langmem_plus.importers.mem0 import Export, Whose, read_memories
from langmem_plus.importers.parts import Conversation, ImportedMessage, Place
from langmem_plus.importers.reading import read_file, read_messages
from langmem_plus.importers.report import ImportReport, Remark
from langmem_plus.importers.store import store_steps

__all__ = [
    "NAMESPACE",
    "Conversation",
    "Export",
    "ImportReport",
    "ImportedMessage",
    "Place",
    "Remark",
    "Template",
    "Whose",
    "read_file",
    "read_memories",
    "read_messages",
    "read_steps",
    "store_steps",
]
