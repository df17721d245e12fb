"""Every word that a language model reads, beside the type of its answer.

Six tasks: draw facts out of a user's turn (`render_extraction`), compare them with what is known
(`render_reconciliation`), keep a thread's rolling summary (`render_summary`) and a conversation's archive
(`render_archive`), tell which memories answer a question (`render_reranking`), and which memory a message needs
(`render_planning`); the first three can be one (`render_combination`). The instructions stand in the system message,
the examples are turns of a chat (small models repeat an example that stands among the instructions), and what
users said is fenced as data.
"""

from __future__ import annotations

from langmem_plus.prompts.answering import ask_again, ask_for_json
from langmem_plus.prompts.archiving import Archived, render_archive
from langmem_plus.prompts.combination import (
    Conversation,
    FactsAndSummary,
    PlacedFact,
    PlacedFacts,
    Said,
    render_combination,
)
from langmem_plus.prompts.context import (
    ARCHIVES_HEADING,
    CONTEXT_CLOSE,
    CONTEXT_OPEN,
    CONTEXT_RULE,
    DOCUMENTS_HEADING,
    HINT_CLOSE,
    HINT_FRAME,
    HINT_OPEN,
    MEMORIES_HEADING,
    OF_DOCUMENTS,
    OF_MEMORIES,
    OF_SUMMARIES,
    SUMMARY_HEADING,
)
from langmem_plus.prompts.extraction import ExtractedFact, ExtractedFacts, FactKind, render_extraction
from langmem_plus.prompts.planning import Planned, render_planning
from langmem_plus.prompts.quoting import quote
from langmem_plus.prompts.reconciliation import Change, Changes, ask_to_forget, fact_label, render_reconciliation
from langmem_plus.prompts.reranking import Rating, Ratings, render_reranking
from langmem_plus.prompts.summary import PointKind, Summary, SummaryPoint, render_summary

__all__ = [
    "ARCHIVES_HEADING",
    "CONTEXT_CLOSE",
    "CONTEXT_OPEN",
    "CONTEXT_RULE",
    "DOCUMENTS_HEADING",
    "HINT_CLOSE",
    "HINT_FRAME",
    "HINT_OPEN",
    "MEMORIES_HEADING",
    "OF_DOCUMENTS",
    "OF_MEMORIES",
    "OF_SUMMARIES",
    "SUMMARY_HEADING",
    "Archived",
    "Change",
    "Changes",
    "Conversation",
    "ExtractedFact",
    "ExtractedFacts",
    "FactKind",
    "FactsAndSummary",
    "PlacedFact",
    "PlacedFacts",
    "Planned",
    "PointKind",
    "Rating",
    "Ratings",
    "Said",
    "Summary",
    "SummaryPoint",
    "ask_again",
    "ask_for_json",
    "ask_to_forget",
    "fact_label",
    "quote",
    "render_archive",
    "render_combination",
    "render_extraction",
    "render_planning",
    "render_reconciliation",
    "render_reranking",
    "render_summary",
]
