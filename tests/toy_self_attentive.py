"""A tiny random self-attentive classifier in the Hub's directory format, for tests."""

from pathlib import Path
from typing import Any

import torch
from headroom.engines.hub.self_attentive import SelfAttentiveConfig
from toy_encoder import toy_model, toy_tokenizer

HOPS, STATES, ATTENTION, UNITS = 4, 6, 5, 7
"""Heads; width of the LSTM's states, both directions; hidden units of the attention; the layer that reads z."""

INPUTS = {
    "input_ids": torch.tensor([[2, 7, 8, 9, 10, 3], [2, 9, 3, 0, 0, 0], [2, 11, 12, 3, 0, 0]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0]]),
}
"""Three examples, two of them padded."""


def self_attentive_configuration(pieces: int = 64, **changes: Any) -> SelfAttentiveConfig:
    """Return the configuration of a classifier of this shape into `no` and `yes`, without dropout."""
    shape = {"embedding_size": 8, "hidden_size": STATES // 2, "attention_size": ATTENTION}
    shape |= {"num_attention_heads": HOPS, "fully_connected_size": UNITS, "dropout": 0.0}
    labels = {"id2label": {0: "no", 1: "yes"}, "label2id": {"no": 0, "yes": 1}}
    return SelfAttentiveConfig(**{"vocab_size": pieces, **shape, **labels, **changes})


def write_self_attentive(directory: Path, **changes: Any) -> Path:
    """Write a random classifier and its tokenizer, the same on every call, and return the directory."""
    tokenizer = toy_tokenizer("bert")
    toy_model(self_attentive_configuration(len(tokenizer), **changes)).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
