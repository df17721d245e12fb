"""The table of rarities and means, from any text."""

from __future__ import annotations

import numpy as np
import pytest

from langmem_plus.evals.token_table import mean_vectors, rarities
from langmem_plus.providers.embeddings import find_local
from langmem_plus.providers.token_bits import TEXT_SHARE


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
    assert means.shape == (3, 384)
    two, one = embeddings.read_tokens(["I moved. To Lyon!", "Tea."])
    vectors = np.array([part.mean(axis=0) for part in (two.tokens[:3], two.tokens[3:], one.tokens)])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert np.allclose(means[1], vectors.mean(axis=0), atol=1e-3)
    more = vectors - TEXT_SHARE * np.array([two.vector, two.vector, one.vector])
    assert np.allclose(means[2], (more / np.linalg.norm(more, axis=1, keepdims=True)).mean(axis=0), atol=1e-3)
