"""Long-term memory for `langchain.agents.create_agent`, and for agents that are built on it, such as deepagents.

::

    before_agent     record_user                                what the user said is stored
    wrap_model_call  plan → retrieve → rerank → mmr → inject    once a run; each model call of it carries the same text
    after_agent      record_assistant → remember                the reply is stored; facts follow in the background

The stages are those of the memory graph; recalled text stands in the model's calls alone.
"""

from langmem_plus.middleware.memory import LongTermMemoryMiddleware

__all__ = ["LongTermMemoryMiddleware"]
