"""Names become models: the one door to embedders, chat models and rerankers, and the one place that knows SDKs."""
