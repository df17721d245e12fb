from __future__ import annotations

from langmem_plus.cli.options import vectors_part
from langmem_plus.store.markdown.backlog import EmbeddingState


def test_the_doctor_shows_how_far_the_vectors_are() -> None:
    """How many texts have theirs, how many wait and for how long; nothing where words alone are searched."""
    assert vectors_part(EmbeddingState(None)) == vectors_part(EmbeddingState("m")) == []
    (done,) = vectors_part(EmbeddingState("m", texts=40))
    assert (done.in_use, done.state) == ("40 of 40 texts (100%)", "ok")
    (late,) = vectors_part(EmbeddingState("m", waiting=10, texts=40, oldest=90.0))
    assert (late.in_use, late.state) == ("30 of 40 texts (75%)", "degraded")
    assert late.detail.startswith("10 wait, the oldest for 90 s")
