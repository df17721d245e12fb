"""A cross-encoder small enough to be built in a test, in the files that flashrank reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from langmem_plus.providers import steps

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = [*SPECIAL, "who", "is", "my", "wife", "anne", "she", "likes", "tea", "the", "user", "lives", "in", "paris"]
ModelFolder = Callable[..., Path]


@pytest.fixture(autouse=True)
def fresh_warnings() -> Iterator[None]:
    """Every test sees the warnings that a new process would."""
    steps.step_down.cache_clear()
    yield
    steps.step_down.cache_clear()


@pytest.fixture
def model_folder(tmp_path: Path) -> ModelFolder:
    """Builds a flashrank folder whose model counts the words that query and text share."""

    def build(name: str = "tiny", *, token_types: bool = True, classes: int = 1, scale: float = 2.0) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        _save_tokenizer(folder)
        _save_model(folder / f"flashrank-{name}.onnx", token_types, classes, scale)
        return folder

    return build


def _save_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: place for place, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    files = {
        "config.json": {"pad_token_id": 0},
        "tokenizer_config.json": {"model_max_length": 10**30, "pad_token": "[PAD]"},
        "special_tokens_map.json": {"pad_token": "[PAD]", "unk_token": {"content": "[UNK]"}},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def _save_model(path: Path, token_types: bool, classes: int, scale: float) -> None:
    """Logit = scale · (2 · shared words − 3). A model without token types counts the words that occur twice."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    names = ["input_ids", "attention_mask", *(["token_type_ids"] if token_types else [])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in names]
    real_words = np.array([0.0] * 4 + [1.0] * (len(WORDS) - 4), dtype=np.float32)
    constants = {
        "depth": np.array(len(WORDS), dtype=np.int64),
        "values": np.array([0, 1], dtype=np.float32),
        "real_words": real_words,
        "one": np.array(1, dtype=np.float32),
        "slope": np.array(2 * scale, dtype=np.float32),
        "offset": np.array(-3 * scale, dtype=np.float32),
        "last": np.array([2], dtype=np.int64),
        "length_axis": np.array([1], dtype=np.int64),
    }
    node = helper.make_node
    nodes = [
        node("OneHot", ["input_ids", "depth", "values"], ["words"], axis=-1),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
    ]
    if token_types:
        nodes += [
            node("Cast", ["token_type_ids"], ["type"], to=TensorProto.FLOAT),
            node("Sub", ["one", "type"], ["other_type"]),
            node("Mul", ["mask", "other_type"], ["query_mask"]),
            node("Mul", ["mask", "type"], ["text_mask"]),
        ]
        for side in ("query", "text"):
            nodes += [
                node("Unsqueeze", [f"{side}_mask", "last"], [f"{side}_column"]),
                node("Mul", ["words", f"{side}_column"], [f"{side}_words"]),
                node("ReduceMax", [f"{side}_words", "length_axis"], [f"{side}_bag"], keepdims=0),
            ]
        nodes.append(node("Mul", ["query_bag", "text_bag"], ["shared"]))
    else:
        nodes += [
            node("Unsqueeze", ["mask", "last"], ["column"]),
            node("Mul", ["words", "column"], ["masked"]),
            node("ReduceSum", ["masked", "length_axis"], ["bag"], keepdims=0),
            node("Sub", ["bag", "one"], ["twice"]),
            node("Relu", ["twice"], ["shared"]),
        ]
    nodes += [
        node("Mul", ["shared", "real_words"], ["counted"]),
        node("ReduceSum", ["counted", "length_axis"], ["count"], keepdims=1),
        node("Mul", ["count", "slope"], ["sloped"]),
        node("Add", ["sloped", "offset"], ["logit"]),
    ]
    if classes == 2:  # the logit of "irrelevant" is 0
        nodes += [node("Sub", ["logit", "logit"], ["zero"]), node("Concat", ["zero", "logit"], ["logits"], axis=1)]
    elif classes == 0:  # a flat list of logits
        nodes.append(node("Squeeze", ["logit", "length_axis"], ["logits"]))
    else:
        nodes.append(node("Identity", ["logit"], ["logits"]))
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", classes] if classes else ["batch"])
    stored = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "tiny", inputs, [output], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
