"""How much memory a program needs, from the shapes of a model's tensors and what it computes at a time."""

import json
import math
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.core.errors import HeadroomError

PROGRAM = 600e6
"""Bytes of a process that has imported the libraries, torch, transformers and fairseq included."""

STORED = 2**30
"""The most bytes of the plain model's states that a sweep stores."""

_BITS = {"F64": 64, "F32": 32, "F16": 16, "BF16": 16}
"""The bits of the types of weights in safetensors files; other types have at most 8."""

_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
"""The files with weights in a directory, of which the first kind that is there is read."""

_HEADS = ("num_attention_heads", "encoder_attention_heads", "n_head", "n_heads", "num_heads")
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers")

_DEPTH = 64
"""Width of a model by its number of layers, where shapes are unknown: about that of BERT, GPT-2 and T5."""

_PIECES = 50_000
"""The most pieces of a vocabulary where shapes are unknown."""

_LOGITS = 3
"""Copies of the logits in a pass with gradients: the logits, their logarithms, the gradient. Without, there are two."""

_MAPS = 4
"""Copies of the attention weights of a site where they are observed: weights, masked and sorted ones, products."""

_STATES = 0.3
"""What a sweep stores of a layer's inputs and outputs: its state, queries, keys and values."""

_CACHE = 0.2
"""The keys and values of them, once more while the cache grows."""

_WEIGHTED = 2.3
"""What is kept for gradients of weights, in multiples of inputs and outputs: masks of dropout, states before them."""

_STATISTICS = 16
"""Numbers that are kept of each example of an outcome: BLEU and chrF have the most statistics."""

_METRICS = 4
"""Metrics with resampled scores of an outcome."""


@dataclass(frozen=True, kw_only=True)
class ModelSize:
    """The size of a model.

    Attributes:
        parameters: The number of its parameters.
        weights: Their bytes in memory.
        kept: The numbers that a pass keeps of a piece for gradients: inputs and outputs of the matrices of all layers.
        layer: Those of the largest layer.
        outputs: The logits at a position.
        heads: The heads of all sites together.
        site: The heads of a site.
    """

    parameters: int
    weights: float
    kept: int
    layer: int
    outputs: int
    heads: int
    site: int

    @classmethod
    def of_shapes(
        cls, shapes: Mapping[str, Sequence[int]], config: Mapping[str, Any], *, weights: float
    ) -> "ModelSize":
        """Return the size of a model.

        Args:
            shapes: The shapes of its tensors by name; those of a layer have its number in their names.
            config: Its configuration in the Hub's form.
            weights: The bytes of its weights in memory.
        """
        heads = _find_number(config, _HEADS) or 16
        layers: dict[str, int] = {}
        others = [1]
        for name, shape in shapes.items():
            if len(shape) > 1 and (numbered := re.search(r"^(.*?)\.\d+\.", name)):
                layers[numbered[0]] = layers.get(numbered[0], 0) + sum(shape[-2:])
            elif len(shape) > 1:
                others.append(max(shape))
        repeated = max(1.0, _find_number(config, _LAYERS) / max(1, len(layers)))  # layers that share tensors
        crossed = sum("decoder" in name for name in layers) if any("encoder" in name for name in layers) else 0
        classifies = any("Classification" in name for name in config.get("architectures") or [])
        return cls(
            parameters=sum(map(math.prod, shapes.values())),
            weights=weights,
            kept=round(sum(layers.values()) * repeated),
            layer=max(layers.values(), default=0),
            outputs=2 if classifies else max(others),
            heads=round((len(layers) + crossed) * repeated) * heads,
            site=heads,
        )

    @classmethod
    def of_bytes(cls, weights: float) -> "ModelSize":
        """Return the size of a model in float32 of which only the bytes of its weights are known."""
        parameters = weights / 4
        layers = max(1.0, (parameters / 12 / _DEPTH**2) ** (1 / 3))  # of 12 w^2 parameters, for a width w of 64 each
        width = _DEPTH * layers
        return cls(
            parameters=round(parameters),
            weights=weights,
            kept=round(18 * width * layers),
            layer=round(18 * width),
            outputs=round(min(parameters / width, _PIECES)),
            heads=round(width / 64 * 2 * layers),
            site=round(width / 64),
        )


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a program computes at a time.

    Attributes:
        examples: The examples of a batch.
        pieces: The pieces of its longest example.
        copies: How often the weights are held: once, or with their gradients, the optimizer's moments, another model.
        gradients: Whether passes keep what gradients need.
        weighted: Whether these are gradients of weights, in training, or relevances, for which more is kept.
        maps: Whether attention weights are observed.
        generated: The sentences that are generated at a time, with their cache.
        stored: The examples of which states of the plain model are stored, as far as `STORED` allows.
        judged: The examples of a set on which models are judged.
        outcomes: The models whose statistics on the set, and resampled scores, are kept.
        resamples: The resamples of the set.
        others: Bytes of other things.
    """

    examples: int = 0
    pieces: int = 0
    copies: float = 1.0
    gradients: bool = False
    weighted: bool = False
    maps: bool = False
    generated: int = 0
    stored: int = 0
    judged: int = 0
    outcomes: int = 0
    resamples: int = 0
    others: float = 0.0

    def count_bytes(self, size: ModelSize) -> float:
        """Return the most memory that it takes with a model, in bytes, without that of the libraries."""
        read = self.examples * self.pieces
        more = _WEIGHTED if self.weighted else 1
        states = more * size.kept if self.gradients else 2 * size.layer
        logits = size.outputs * (_LOGITS if self.gradients else 2)
        weights = self.pieces * (size.heads if self.gradients else size.site) * (_MAPS if self.maps else more)
        stored = min(STORED, 4 * self.stored * self.pieces * _STATES * size.kept)
        cache = 4 * self.generated * self.pieces * _CACHE * size.kept
        tables = 8 * self.outcomes * (self.judged * _STATISTICS + self.resamples * _METRICS)
        drawn = 8 * 3 * self.judged * self.resamples
        passes = 4 * read * (states + logits + weights)
        return self.copies * size.weights + passes + stored + cache + tables + drawn + self.others


def read_size(place: Path, *, dtype: str = "") -> ModelSize | None:
    """Return the size of the model in a directory or file; None if there is none yet, or if it is damaged.

    Only headers are read: the shapes in safetensors files, and the lengths of other files.

    Args:
        place: A directory in the Hub's format, a file of fairseq, or a GGUF file.
        dtype: The type of the weights in memory; "" for that of safetensors files.
    """
    bits = {"float32": 32, "bfloat16": 16, "float16": 16}.get(dtype, 0)
    if place.is_file():  # weights of a GGUF file may have 4 bits
        return ModelSize.of_bytes(place.stat().st_size * (8 if place.suffix == ".gguf" else 1))
    files: list[Path] = next((found for kind in _WEIGHTS if (found := sorted(place.glob(kind)))), [])
    if not files or files[0].suffix != ".safetensors":
        return ModelSize.of_bytes(sum(file.stat().st_size for file in files)) if files else None
    try:
        tensors = {name: own for file in files for name, own in read_header(file).items()}
        config = json.loads((place / "config.json").read_bytes())
        shapes = {name: own["shape"] for name, own in tensors.items()}
        weights = sum(math.prod(own["shape"]) * (bits or _BITS.get(own["dtype"], 8)) / 8 for own in tensors.values())
        return ModelSize.of_shapes(shapes, {**config, **(config.get("text_config") or {})}, weights=weights)
    except (OSError, HeadroomError, ValueError, KeyError, TypeError, AttributeError):
        return None  # the job that reads it says what is wrong


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of a safetensors file: its length in 8 bytes, then JSON with the place of each tensor.

    Raises:
        HeadroomError: If it is damaged, or the file is shorter or longer than it says.
    """
    try:
        with open(path, "rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            content = stream.read(min(length, path.stat().st_size))
        tensors = {name: own for name, own in json.loads(content).items() if name != "__metadata__"}
        whole = 8 + length + max((own["data_offsets"][1] for own in tensors.values()), default=0)
    except (OSError, struct.error, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise HeadroomError(f"{path}: not in safetensors' format; copy it again") from error
    if path.stat().st_size != whole:
        raise HeadroomError(f"{path}: {path.stat().st_size} bytes instead of {whole}, cut off; copy it again")
    return tensors


def _find_number(config: Mapping[str, Any], keys: Iterable[str]) -> int:
    """Return the first of some numbers that a configuration has; 0 if it has none."""
    return next((int(config[key]) for key in keys if config.get(key)), 0)
