"""Every span's operation and every metric: its name, its unit and what it counts."""

from __future__ import annotations

STAGE = "langmem_plus.stage"  # the attribute that names the stage

# A stage's operation among those that OpenTelemetry knows for memory.
OPERATIONS = {
    "retrieve": "search_memory",
    "search": "search_memory",
    "record_user": "create_memory",
    "record_assistant": "create_memory",
    "reconcile": "upsert_memory",
    "summarize": "upsert_memory",
    "archive": "create_memory",
    "evict": "delete_memory",
    "retain": "delete_memory",
}

# Which of a stage's counts is the number of records that its operation is about.
RECORDS = {
    "retrieve": "candidates",
    "search": "chosen",
    "record_user": "turns_recorded",
    "record_assistant": "replies_recorded",
    "summarize": "summaries",
    "archive": "archives",
    "evict": "evicted",
    "retain": "retired",
}

# LangChain's name of a provider → OpenTelemetry's, where they differ.
PROVIDERS = {
    "amazon_bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "ibm": "ibm.watsonx.ai",
    "mistral": "mistral_ai",
    "mistralai": "mistral_ai",
    "moonshot": "moonshot_ai",
    "xai": "x_ai",
}

COUNTERS = {
    "langmem_plus.recalls": ("{recall}", "Recalls, by whether memory was injected: the hit rate."),
    "langmem_plus.answers": ("{answer}", "Answers that got memories, by whether they used one."),
    "langmem_plus.turns": ("{turn}", "Messages of users that were stored; the measure for what a turn costs."),
    "langmem_plus.facts": (
        "{fact}",
        "Facts, by what became of them; repeated is what deduplication saved, and what waited counts again, answered.",
    ),
    "langmem_plus.trims": (
        "{cut}",
        "What was cut: for a prompt's budget, by eviction, or as it is too old to keep.",
    ),
    "langmem_plus.tail.messages": ("{message}", "Messages of a thread that a model call went without, for its budget."),
    "langmem_plus.tail.results": ("{message}", "Those of these messages that are results of tools."),
    "langmem_plus.compressed": ("{message}", "Messages that left a thread, because its summary tells them."),
    "langmem_plus.pinned.chosen": ("{record}", "Pinned records that were chosen to be cut; should stay 0."),
    "langmem_plus.stage.failures": ("{failure}", "Stages that failed, by the kind of the error."),
    "langmem_plus.model.calls": ("{call}", "Calls of models that memory made, by stage."),
    "langmem_plus.user_actions": ("{action}", "What users decided: pin, forget, clear, erase, export and the like."),
}

HISTOGRAMS = {
    "langmem_plus.stage.duration": ("s", "How long a stage took."),
    "gen_ai.client.operation.duration": ("s", "How long a call of a model took."),
    "gen_ai.client.token.usage": ("{token}", "Tokens of a model's prompts and answers, by stage."),
}

# The boundaries that OpenTelemetry recommends for its own histograms; the others' suit what a stage takes.
BOUNDARIES = {
    "langmem_plus.stage.duration": [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 120],
    "gen_ai.client.operation.duration": [0.01 * 2**power for power in range(14)],
    "gen_ai.client.token.usage": [4**power for power in range(14)],
}

GAUGES = {
    "langmem_plus.turns.pending": ("{turn}", "Turns in open stores whose facts haven't been drawn out."),
    "langmem_plus.turns.age": ("s", "How long the oldest of these has waited."),
    "langmem_plus.embeddings.pending": ("{text}", "Texts in open stores that wait for their vector."),
    "langmem_plus.embeddings.age": ("s", "How long the oldest of these has waited."),
    "langmem_plus.background.pending": ("{job}", "Pieces of background work that wait or run."),
    "langmem_plus.background.age": ("s", "How long the oldest of these has been there."),
    "langmem_plus.background.failed": ("{job}", "Pieces of background work that were given up."),
}

# Of each stage's counts, those that are metrics: the counter, and what tells them apart.
COUNTED: dict[str, dict[str, tuple[str, dict[str, str]]]] = {
    "record_user": {"turns_recorded": ("langmem_plus.turns", {})},
    "reconcile": {
        f"facts_{event}": ("langmem_plus.facts", {"langmem_plus.event": event})
        for event in ("added", "updated", "deleted", "repeated", "waiting", "rejected")
    },
    "inject": {
        "no_room": ("langmem_plus.trims", {"langmem_plus.trim": "no_room"}),
        "shortened": ("langmem_plus.trims", {"langmem_plus.trim": "shortened"}),
        "summary_shortened": ("langmem_plus.trims", {"langmem_plus.trim": "summary"}),
        "user_shortened": ("langmem_plus.trims", {"langmem_plus.trim": "user"}),
        "hint_left_out": ("langmem_plus.trims", {"langmem_plus.trim": "hint"}),
        "tail_left_out": ("langmem_plus.tail.messages", {}),
        "tail_results_left_out": ("langmem_plus.tail.results", {}),
        "pinned_chosen": ("langmem_plus.pinned.chosen", {"langmem_plus.trim": "no_room"}),
    },
    "compress": {"compressed_messages": ("langmem_plus.compressed", {})},
    "make_room": {"compressed_messages": ("langmem_plus.compressed", {})},
    "retain": {"retired": ("langmem_plus.trims", {"langmem_plus.trim": "retired"})},
    "evict": {
        "evicted": ("langmem_plus.trims", {"langmem_plus.trim": "evicted"}),
        "pinned_chosen": ("langmem_plus.pinned.chosen", {"langmem_plus.trim": "evicted"}),
    },
}
