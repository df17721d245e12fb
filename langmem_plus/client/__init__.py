"""Memory for programs without a graph: add what was said, search what is known.

- `memory`: the client, sync and async;
- `conversation`: talks in a thread, and gives one back;
- `explained`: what an agent would be told, and why;
- `owner`: what the owner decides;
- `said`: turns out of texts and messages;
- `stored`: records out of a store's answers.
"""

from langmem_plus.client.conversation import Reply
from langmem_plus.client.explained import Explanation
from langmem_plus.client.memory import MemoryClient

__all__ = ["Explanation", "MemoryClient", "Reply"]
