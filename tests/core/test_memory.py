"""How much memory a program needs, from the shapes of a model and from what it computes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from headroom.core.memory import STORED, ModelSize, Work, read_size

LAYER = {"q.weight": (8, 8), "k.weight": (4, 8), "norm.weight": (8,)}
SHAPES = {"embed.weight": (100, 8)} | {f"h.{n}.{name}": shape for n in (0, 1) for name, shape in LAYER.items()}
CONFIG = {"architectures": ["LlamaForCausalLM"], "num_attention_heads": 2, "num_hidden_layers": 2}


@pytest.fixture
def size() -> ModelSize:
    return ModelSize.of_shapes(SHAPES, CONFIG, weights=4000.0)


def test_the_size_of_a_model_is_that_of_its_matrices(size: ModelSize) -> None:
    kept = 2 * (8 + 8 + 4 + 8)
    assert size == ModelSize(parameters=1008, weights=4000.0, kept=kept, layer=28, outputs=100, heads=4, site=2)


def test_layers_that_share_tensors_count_as_often_as_they_run(size: ModelSize) -> None:
    shared = {name: shape for name, shape in SHAPES.items() if not name.startswith("h.1.")}
    found = ModelSize.of_shapes(shared, CONFIG, weights=4000.0)
    assert (found.kept, found.heads) == (size.kept, size.heads)


def test_a_classifier_has_few_logits_and_a_decoder_two_sites() -> None:
    found = ModelSize.of_shapes(SHAPES, CONFIG | {"architectures": ["BertForSequenceClassification"]}, weights=0.0)
    assert found.outputs == 2
    names = ("encoder.layers.0.q.weight", "decoder.layers.0.q.weight")
    assert ModelSize.of_shapes(dict.fromkeys(names, (8, 8)), CONFIG, weights=0.0).heads == 3 * 2


def test_gradients_are_those_of_every_layer_and_stored_states_are_limited(size: ModelSize) -> None:
    passes = Work(examples=3, pieces=5)
    logits, weights = 15 * 4 * 100, 15 * 4 * 5
    assert passes.count_bytes(size) == 4000 + 15 * 4 * 2 * 28 + 2 * logits + 2 * weights
    with_gradients = replace(passes, gradients=True)
    assert with_gradients.count_bytes(size) == 4000 + 15 * 4 * 56 + 3 * logits + 4 * weights
    few, many, more = (replace(passes, stored=number).count_bytes(size) for number in (10, 10**9, 10**10))
    assert passes.count_bytes(size) < few < many == more
    assert many - passes.count_bytes(size) == STORED


def test_a_size_is_read_from_headers(tmp_path: Path, size: ModelSize) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    header, end = {}, 0
    for name, shape in SHAPES.items():
        start, end = end, end + 2 * (shape[0] * (shape[1] if len(shape) > 1 else 1))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [start, end]}
    written = json.dumps(header).encode()
    file = tmp_path / "model.safetensors"
    file.write_bytes(len(written).to_bytes(8, "little") + written + bytes(end))
    assert read_size(tmp_path) == replace(size, weights=2 * 1008.0)
    assert read_size(tmp_path, dtype="float32") == replace(size, weights=4 * 1008.0)
    file.write_bytes(file.read_bytes()[:-1])  # cut off: the job that reads it says so
    assert read_size(tmp_path) is None
