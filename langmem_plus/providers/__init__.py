"""Names become models: the one door to embedders, chat models and rerankers, and the one place that knows SDKs.

Nothing heavy is loaded before it is used: names are resolved, and model files are opened, at the first call. What is
missing degrades by one named step with one warning; `inventory` tells what is in use.
"""

from langmem_plus.providers.chat import astructured, make_chat_model, structured
from langmem_plus.providers.embeddings import embeddings_dims, embeddings_id, make_embeddings
from langmem_plus.providers.inventory import Part, inventory
from langmem_plus.providers.quoting import QuotingChatModel
from langmem_plus.providers.rerank import Reranker, make_reranker
from langmem_plus.providers.token_bits import TextBits, TokenEncoder, make_token_encoder

__all__ = [
    "Part",
    "QuotingChatModel",
    "Reranker",
    "TextBits",
    "TokenEncoder",
    "astructured",
    "embeddings_dims",
    "embeddings_id",
    "inventory",
    "make_chat_model",
    "make_embeddings",
    "make_reranker",
    "make_token_encoder",
    "structured",
]
