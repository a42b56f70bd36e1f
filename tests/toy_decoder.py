"""Tiny random language models in the Hub's directory format, for tests; nothing is downloaded."""

from pathlib import Path
from typing import Any

import torch
import transformers
from toy_encoder import enliven, toy_tokenizer

LONGEST = 64


def write_decoder(directory: Path, family: str = "llama", **changes: Any) -> Path:
    """Write a decoder of 2 layers with 6 query heads in 2 groups and its tokenizer; return the directory.

    Args:
        directory: Where to write it.
        family: The type of its configuration.
        changes: Of the configuration.
    """
    tokenizer = toy_tokenizer("roberta", longest=LONGEST)
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "intermediate_size": 16,
        "max_position_embeddings": LONGEST,
        "bos_token_id": 0,
        "pad_token_id": 1,
        "eos_token_id": 2,
    }
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(family, **{**shape, **changes})
    model: Any = transformers.AutoModelForCausalLM.from_config(config)
    enliven(model)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
