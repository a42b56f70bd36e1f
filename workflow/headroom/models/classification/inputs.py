"""What a classifier takes as input, and whether its tokenizer makes that."""

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from headroom.ground.errors import HeadroomError

POSITIONS = 512
"""Longest input in pieces where neither model nor configuration says: BERT's."""

_CALLED = ("max_length", "stride", "truncation_strategy", "pad_to_multiple_of", "local_files_only", "is_local")
"""Settings of earlier calls that a tokenizer carries along."""


def accepted_inputs(model: Any, names: Iterable[str]) -> list[str]:
    """Return the inputs that the forward pass takes; `token_type_ids` only if the model tells two kinds apart."""
    taken = inspect.signature(model.forward).parameters
    kinds = getattr(model.config, "type_vocab_size", None) or 0
    return [name for name in names if name in taken and (kinds > 1 or name != "token_type_ids")]


def real_positions(model: Any, mask: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
    """Return which query and which key positions are not padding, by kind of site.

    Args:
        model: The model; one whose sites have a single query, the whole input, says so by `single_query`.
        mask: The attention mask, (B, T).
    """
    keys = mask.bool()
    return {"E": (keys.new_ones(len(keys), 1) if getattr(model, "single_query", False) else keys, keys)}


def plain(tokenizer: Any) -> Any:
    """Return the tokenizer without traces of earlier calls (cutting, padding), which would be saved with it."""
    if tokenizer.is_fast:
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()
    for name in _CALLED:
        tokenizer.init_kwargs.pop(name, None)
    return tokenizer


def longest_input(model: Any) -> int:
    """Return how many pieces a model can read, as its table of positions says, or else its configuration.

    RoBERTa counts positions from behind the number of the padding piece, so that its first rows are not used.
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding) and name.endswith("position_embeddings"):
            return module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
    return int(getattr(model.config, "max_position_embeddings", POSITIONS))


def check_tokenizer(tokenizer: Any, model: Any, directory: Path | str) -> None:
    """Raise HeadroomError if a tokenizer makes pieces that the model has no row for, or pads with another piece."""
    pieces, rows = max(tokenizer.get_vocab().values(), default=-1) + 1, model.get_input_embeddings().num_embeddings
    if not 0 < pieces <= rows:
        raise HeadroomError(
            f"{directory}: the tokenizer has {pieces} pieces and the model's embedding {rows} rows: they do not fit"
        )
    padding = model.config.pad_token_id
    if tokenizer.pad_token_id is None or padding not in (None, tokenizer.pad_token_id):
        raise HeadroomError(
            f"{directory}: padding is piece {tokenizer.pad_token_id} of the tokenizer and {padding} of the model: "
            "they do not fit"
        )
