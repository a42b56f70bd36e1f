"""Tiny decoders of transformers with random weights, and a real tokenizer, for tests."""

from pathlib import Path
from typing import Any

import torch
from headroom.engines.hub import installed  # noqa: F401
from toy_run import spread
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel
from translators import plain_tokenizer

LONGEST = 200
SHAPE = {
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "intermediate_size": 16,
    "max_position_embeddings": LONGEST,
    "bos_token_id": 0,
    "pad_token_id": 1,
    "eos_token_id": 2,
}


def write_decoder(directory: Path, model: Any = LlamaForCausalLM, config: Any = LlamaConfig, **more: Any) -> Path:
    """Write a decoder in the Hub's format, with weights spread so that every head matters."""
    torch.manual_seed(1)
    made: PreTrainedModel = model(config(**{"vocab_size": 100, **SHAPE, **more}))
    spread(made)
    made.save_pretrained(directory)
    plain_tokenizer().save_pretrained(directory)
    return directory
