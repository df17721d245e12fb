"""The embedder of a folder's documents: what was embedded once is read from the catalog, long texts piece by piece."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from langchain_core.embeddings import Embeddings

from langmem_plus.documents.catalog import Catalog, Floats, text_key
from langmem_plus.documents.chunks import split
from langmem_plus.providers import TextBits, TokenEncoder, embeddings_id
from langmem_plus.providers.minilm import MAX_TOKENS, LocalEmbeddings
from langmem_plus.providers.recent import Recent
from langmem_plus.tokens import TokenCounter

# The local model counts its own word pieces, of which a text has up to a third more than tokens.
_PIECE = MAX_TOKENS * 3 // 4
_QUERIES = 64


class DocumentEmbeddings(Embeddings):
    """An embedder as a vector store takes it, over an embedder.

    A text is told by its key, so that the same text is embedded once, ever: a rename, a copy and a vector store that is
    filled again cost nothing. The local model reads 256 tokens at a time: of a longer text the vector is the mean of
    its pieces', by their lengths.

    Args:
        embeddings: the embedder.
        catalog: keeps the vectors, and the token bits where there is an encoder.
        encoder: makes token bits of the texts; None goes without.
        measure: counts tokens.
    """

    def __init__(
        self, embeddings: Embeddings, catalog: Catalog, encoder: TokenEncoder | None, measure: TokenCounter
    ) -> None:
        self._local = isinstance(embeddings, LocalEmbeddings)
        # The encoder reads with the same model, and its forward passes give the bits, too.
        same = self._local and encoder is not None and encoder.embeddings is embeddings
        self._embeddings: Embeddings = encoder if same and encoder is not None else embeddings
        self._catalog, self._measure = catalog, measure
        self.model = embeddings_id(embeddings)
        self._queries: Recent[str, Floats] = Recent(_QUERIES)

    def keyed(self, texts: dict[str, str]) -> dict[str, Floats]:
        """The vectors of texts by their keys; those that weren't known are embedded and kept."""
        found = self._catalog.vectors(self.model, list(texts))
        missing = [key for key in texts if key not in found]
        if missing:
            made = dict(zip(missing, self._embed([texts[key] for key in missing]), strict=True))
            self._catalog.keep_vectors(self.model, made)
            found.update(made)
        return found

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts as they stand in the catalog."""
        keys = [text_key(text) for text in texts]
        vectors = self.keyed(dict(zip(keys, texts, strict=True)))
        return [vectors[key].tolist() for key in keys]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question; the last ones are remembered."""
        return [float(number) for number in self.query(text)]

    def query(self, text: str) -> Floats:
        """As `embed_query`, of unit length."""
        found = self._queries.get(text)
        if found is None:
            found = _unit(np.asarray(self._embeddings.embed_query(text), np.float32))
            self._queries.put(text, found)
        return found

    def _embed(self, texts: Sequence[str]) -> list[Floats]:
        pieces = [pieces_of(text, self._measure) if self._local else [text] for text in texts]
        flat = [piece for some in pieces for piece in some]
        vectors = np.asarray(self._embeddings.embed_documents(flat), np.float32)
        if vectors.ndim != 2 or len(vectors) != len(flat) or not np.isfinite(vectors).all():
            raise ValueError(f"the embedder {self.model} gave vectors of shape {vectors.shape} for {len(flat)} texts")
        found, start = [], 0
        for some in pieces:
            units = [_unit(vector) for vector in vectors[start : start + len(some)]]
            found.append(_unit(np.average(units, axis=0, weights=[max(len(piece), 1) for piece in some])))
            start += len(some)
        return found


def pieces_of(text: str, measure: TokenCounter) -> list[str]:
    """A text in parts that the local model reads whole."""
    return [chunk.text for chunk in split(text, measure, _PIECE)] or [text]


def make_bits(encoder: TokenEncoder, catalog: Catalog, texts: dict[str, str], measure: TokenCounter) -> None:
    """Make the token bits of texts, by their keys, where the catalog has none yet; what was embedded just now by the
    same model isn't read again.
    """
    known = catalog.bits(encoder.model_id, list(texts))
    missing = {key: pieces_of(text, measure) for key, text in texts.items() if key not in known}
    read = iter(encoder.read([piece for some in missing.values() for piece in some]))
    made = {key: TextBits.joined([next(read) for _ in some]).to_bytes() for key, some in missing.items()}
    if made:
        catalog.keep_bits(encoder.model_id, made)


def _unit(vector: Floats) -> Floats:
    length = float(np.linalg.norm(vector.astype(np.float64)))
    unit: Floats = (vector / length).astype(np.float32) if length else vector
    return unit
