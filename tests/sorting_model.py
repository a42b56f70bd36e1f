"""Language models of letters: one that is trained to sort strings of three, and small ones with random weights."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import torch
import transformers
from headroom.engines.hub.checkpoint import save_model
from headroom.engines.hub.sites import find_sites
from headroom.engines.sites import AttentionSite
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedModel, PreTrainedTokenizerFast

LETTERS = "abc"
STRINGS = [" ".join([*letters, ">", *sorted(letters)]) for letters in product(LETTERS, repeat=3)]
"""All inputs, each with its answer: `b a c > a b c`."""

STEPS = 400


def letter_tokenizer(letters: str = LETTERS, *, padding: str | None = "<pad>", **how: Any) -> PreTrainedTokenizerFast:
    """Return a tokenizer with a piece per letter; `padding` may be its end piece `</s>`, or None."""
    vocabulary = {piece: index for index, piece in enumerate(["<pad>", "<s>", "</s>", ">", *letters])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    marks = {"pad_token": padding, "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=words, **marks, model_max_length=32, **how)


def train_sorter() -> PreTrainedModel:
    """Return a decoder of 3 layers of 3 heads that sorts every string."""
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=7,
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=3,
        intermediate_size=48,
        max_position_embeddings=32,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = transformers.LlamaForCausalLM(config)
    pieces = pieces_of_strings()
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(STEPS):
        optimiser.zero_grad()
        model(pieces, labels=pieces).loss.backward()
        optimiser.step()
    return model.eval().requires_grad_(False)


def pieces_of_strings() -> torch.Tensor:
    """Return the pieces of all strings, (27, 7)."""
    return letter_tokenizer()(STRINGS, return_tensors="pt")["input_ids"]


def write_language_model(
    directory: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    sites: list[AttentionSite] | None = None,
) -> Path:
    """Write a model as a checkpoint of a run."""
    save_model(directory, model=model, sites=sites or find_sites(model), tokenizer=tokenizer, card=[])
    return directory


def write_documents(directory: Path, documents: list[str]) -> Path:
    """Write documents as each set of a corpus."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("choose", "check", "test"):
        (directory / f"{name}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in documents))
    return directory
