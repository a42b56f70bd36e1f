"""Formats of numbers: what overflows in float16 is named, and float32 is float32 whatever the environment says."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import headroom
import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.methods.orders import least_important_first
from models import build_small, letter_tokenizer, toy_configuration, toy_model, toy_tokenizer, write_translator
from transformers import AutoTokenizer, BartForConditionalGeneration

BIG = 65500.0
"""Numbers of float16 are infinite from 65520 on."""


def make_decoder(_: Path) -> tuple[Any, Any, list[Any]]:
    """What follows the attention of a layer overflows."""
    tokenizer, model = letter_tokenizer("abcdefgh"), build_small("llama")
    model.get_input_embeddings().weight[tokenizer.convert_tokens_to_ids("h")] = BIG
    model.model.layers[0].mlp.down_proj.weight *= 5000
    return model, tokenizer, [" ".join(word) for word in ("abcab", "bcdeab", "aabbccdd", "abchab", "defab")]


def make_classifier(_: Path) -> tuple[Any, Any, list[Any]]:
    """The embeddings of a word and of its place overflow together; their norm takes away what all places share."""
    tokenizer = toy_tokenizer("bert", words=("old", "red", "house", "big"))
    model = toy_model(toy_configuration("bert", tokens=len(tokenizer)))
    model.bert.embeddings.position_embeddings.weight += 40.0
    model.bert.embeddings.word_embeddings.weight[tokenizer.convert_tokens_to_ids("big")] = BIG
    texts = ["old red", "red house", "old", "old big red", "house"]
    return model, tokenizer, [*zip(texts, ("no", "yes", "yes", "no", "no"))]


def make_translator(place: Path) -> tuple[Any, Any, list[Any]]:
    """As of the classifier, in the encoder; the output has embeddings of its own."""
    write_translator(place / "bart", "bart", tie_word_embeddings=False)
    tokenizer = AutoTokenizer.from_pretrained(place / "bart")
    model = BartForConditionalGeneration.from_pretrained(place / "bart")
    model.model.encoder.embed_positions.weight += 40.0
    model.model.encoder.embed_tokens.weight[tokenizer.convert_tokens_to_ids("▁old")] = BIG
    texts = ["the red house", "a dog", "many birds", "the old dog", "a house"]
    return model, tokenizer, [*zip(texts, ("one two", "three", "four five", "six", "seven"))]


MADE: dict[str, Callable[[Path], tuple[Any, Any, list[Any]]]] = {
    "window": make_decoder,
    "example": make_classifier,
    "sentence": make_translator,
}


@pytest.mark.parametrize("kind", MADE)
@torch.no_grad()
def test_an_example_that_overflows_is_named(kind: str, tmp_path: Path) -> None:
    model, tokenizer, texts = MADE[kind](tmp_path)
    for one in ("bfloat16", "float32"):
        assert headroom.score(headroom.load(model, tokenizer, "cpu", dtype=one), texts)["score"].notna().all()
    half = headroom.load(model, tokenizer, "cpu", dtype="float16")
    for action in (headroom.score, headroom.ablate):
        with pytest.raises(HeadroomError, match=rf"set texts: {kind} 4 overflows in float16 \(1 of 5"):
            action(half, texts)


def test_no_order_is_made_of_what_is_no_number() -> None:
    heads = [Head("D", 1, 1), Head("D", 1, 2)]
    with pytest.raises(HeadroomError, match="head D1:2: its score is NaN"):
        least_important_first(dict(zip(heads, (1.0, float("nan")))), [(head,) for head in heads])


def test_float32_is_not_tf32_where_the_environment_asks_for_it() -> None:
    code = "import torch; b = torch.backends; before = b.cuda.matmul.allow_tf32; import headroom.models.sites; "
    code += "print(before, b.cuda.matmul.allow_tf32, b.cudnn.allow_tf32)"
    asked = {**os.environ, "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"}
    found = subprocess.run([sys.executable, "-c", code], env=asked, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "False", "False"]
