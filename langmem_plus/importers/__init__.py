"""Conversations from files of other systems.

`read_messages` finds out which form a file has:

- a list of messages, ``{"messages": [...]}``, or a list of such conversations, as OpenAI writes them;
- JSON lines, each a message or a conversation (``.jsonl``, or a file that can only be read so); lines with a
  ``question`` are for `langmem_plus.evals` and are passed over here;
- LoCoMo: samples whose ``conversation`` holds ``session_1``, ``session_1_date_time``, …; one session is one thread;
- LongMemEval: questions with ``haystack_sessions``; one session is one thread;
- BEAM: chats whose ``messages`` have ``text`` and ``session``; one session is one thread.

A message has ``role`` and ``content``, and may have ``id``, ``name``, ``created_at`` (or ``timestamp``), ``thread_id``
and ``sample_id``. Pictures become words, ``[image: caption]``, because memory keeps text.
"""

from langmem_plus.importers.parts import Conversation, ImportedMessage, Place
from langmem_plus.importers.reading import read_messages

__all__ = ["Conversation", "ImportedMessage", "Place", "read_messages"]
