"""Everything that tests of agents with memory need, without a key and without a network.

- `ScriptedChatModel`: a chat model that answers from a script and records what it was asked;
- `BagOfWordsEmbeddings`: an embedder for which texts with shared words are close, and which records what it was sent;
- `LoopbackServer`: an OpenAI-compatible server on the loopback interface, to exercise real HTTP;
- `langmem_plus.testing.contract.StoreContract`: the behaviour that every LangGraph store owes its users, as tests that
  any backend can run. It is imported by its own name, because it needs pytest.
"""

from langmem_plus.testing.embeddings import BagOfWordsEmbeddings
from langmem_plus.testing.models import ModelCall, ScriptedChatModel
from langmem_plus.testing.script import Script, ScriptEndedError
from langmem_plus.testing.server import Failure, LoopbackServer, ServerRequest

__all__ = [
    "BagOfWordsEmbeddings",
    "Failure",
    "LoopbackServer",
    "ModelCall",
    "Script",
    "ScriptEndedError",
    "ScriptedChatModel",
    "ServerRequest",
]
