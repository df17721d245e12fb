"""Long-term memory for LangGraph and LangChain agents."""
