"""The table of rarities and means, from any text."""

from __future__ import annotations

import numpy as np
import pytest

from langmem_plus.evals.token_table import mean_vectors, rarities
from langmem_plus.providers.embeddings import find_local


def test_rare_pieces_weigh_more() -> None:
    """Each document counts once; what no document holds is rarest; marks are 0."""
    rarity = rarities([[1, 1, 2], [1], [1, 3]], 5, marks=[0])
    assert rarity[0] == 0
    assert rarity[1] < rarity[2] == rarity[3] < rarity[4]


def test_means_are_those_of_tokens_and_of_sentences() -> None:
    """One vector each."""
    embeddings, missing = find_local()
    if embeddings is None:
        pytest.skip(missing)
    means = mean_vectors(embeddings, ["I moved. To Lyon!", "Tea."])
    assert means.shape == (2, 384)
    two, one = (document.tokens for document in embeddings.read_tokens(["I moved. To Lyon!", "Tea."]))
    vectors = np.array([part.mean(axis=0) for part in (two[:3], two[3:], one)])
    expected = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).mean(axis=0)
    assert np.allclose(means[1], expected, atol=1e-3)
