"""Long-term memory for `langchain.agents.create_agent`, and for agents that are built on it, such as deepagents.

::

    before_agent     plan → retrieve → rerank → mmr → inject → record_user    once a run
    wrap_model_call  the recalled text                                        the same in each model call of the run
    after_agent      record_assistant → remember, compress                    facts follow in the background

After an interrupt, where before_agent doesn't run, the first model call recalls again. The stages are those of the
memory graph; recalled text stands in the model's calls alone.
"""

from langmem_plus.middleware.memory import LongTermMemoryMiddleware

__all__ = ["LongTermMemoryMiddleware"]
