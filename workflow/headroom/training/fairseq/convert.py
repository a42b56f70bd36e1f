"""Translation models of fairseq, whole or sliced, as models of transformers: Marian or M2M100.

A post-norm model becomes a Marian model, whose table of positions is fairseq's and stands in the file; a pre-norm model
becomes an M2M100 model. Both compute the same logits.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import torch
from torch import Tensor
from transformers import (
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    MarianTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from headroom.core.errors import HeadroomError
from headroom.core.heads import parse_profile
from headroom.data.subwords import MOSES
from headroom.models.find_sites import find_sites
from headroom.models.removal import remove_heads
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.models.seq2seq.text import MosesTokenizer
from headroom.models.sites import site_names
from headroom.training.fairseq.checkpoint import DESCRIPTOR, describe_mismatch, load_state
from headroom.training.fairseq.library import Dictionary, TranslationTask
from headroom.training.fairseq.sites import find_sites as find_own_sites
from headroom.training.fairseq.sites import open_sites

if TYPE_CHECKING:
    from headroom.training.fairseq.library import TransformerModel

_OUTPUT = "model.decoder.output_projection.weight"

_ROUNDING = 1e-4
"""Largest difference of logits between both models, as a share of the largest logit."""


def convert_checkpoint(checkpoint: Path, vocabulary: Path, output: Path, *, compare: bool = True) -> None:
    """Write a checkpoint of a training, whole or sliced, as a directory of transformers.

    Args:
        checkpoint: The model and its settings, `epoch<e>.pt`.
        vocabulary: The directory with both dictionaries and the SentencePiece model.
        output: The directory to write.
        compare: Whether the logits of both models are compared.

    Raises:
        HeadroomError: If a file is missing or damaged, they do not belong together, or the model has a part that
            transformers lacks.
    """
    from omegaconf import OmegaConf

    state = load_state(checkpoint)
    dictionaries = load_dictionaries(vocabulary)
    configuration = OmegaConf.create(state["cfg"], flags={"allow_objects": True})
    try:
        model = TranslationTask(configuration.task, *dictionaries).build_model(configuration.model)
        open_sites(model)  # attention of other widths than fairseq's
        sites = find_own_sites(model)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise HeadroomError(f"{checkpoint}: not of fairseq's architecture `transformer`; give another model") from error
    removed = state.get(DESCRIPTOR, {}).get("removed", "")
    remove_heads(sites, parse_profile(removed, site_names(sites)))
    try:
        model.load_state_dict(state["model"])
    except RuntimeError as error:
        raise HeadroomError(f"{checkpoint}: {describe_mismatch(error, f'{vocabulary}')}") from error
    exported = convert(model.eval(), dictionaries, vocabulary, removed=removed)
    if compare:
        compare_logits(model, exported)
    exported.save(output)


def load_dictionaries(vocabulary: Path) -> tuple[Dictionary, Dictionary]:
    """Return the source and the target dictionary of a directory."""
    source, target = (read_dictionary(vocabulary / f"dict.{side}.txt") for side in ("source", "target"))
    return source, target


def read_dictionary(path: Path) -> Dictionary:
    """Read a dictionary of fairseq; raise HeadroomError if it is missing or damaged."""
    try:
        return Dictionary.load(str(path))
    except FileNotFoundError as error:
        raise HeadroomError(f"{path}: no dictionary; add it") from error
    except Exception as error:  # fairseq raises many types, including Exception
        raise HeadroomError(
            f"{path}: not a dictionary of fairseq, {' '.join(str(error).split())[:160]}; copy it again"
        ) from error


def convert(
    model: TransformerModel, dictionaries: tuple[Dictionary, Dictionary], vocabulary: Path, *, removed: str = ""
) -> Seq2SeqModel:
    """Return a model of transformers that computes what a model of fairseq does.

    Args:
        model: The model, on the CPU in eval mode, without the removed heads.
        dictionaries: Its source and its target dictionary.
        vocabulary: The directory of its SentencePiece model, or of byte-pair codes with `moses.json`.
        removed: The names of the removed heads.

    Raises:
        HeadroomError: If a part of it has no form in transformers.
    """
    built = _build(model, dictionaries)
    sites = find_sites(built)
    remove_heads(sites, parse_profile(removed, site_names(sites)))
    built.load_state_dict(_convert_tensors(model, built))
    built.eval().requires_grad_(False)
    tokenizer = make_tokenizer(dictionaries, vocabulary, built.config.max_position_embeddings)
    return Seq2SeqModel(model=built, sites=sites, tokenizer=tokenizer)


def _build(model: TransformerModel, dictionaries: tuple[Dictionary, Dictionary]) -> PreTrainedModel:
    """Return a model of transformers of the same shape, with all heads, and weights that are not set."""
    encoder, decoder = model.encoder, model.decoder
    source, target = dictionaries
    pre_norm, shared = encoder.layers[0].normalize_before, encoder.embed_tokens is decoder.embed_tokens
    if pre_norm and len(source) != len(target):
        raise HeadroomError("pre-norm model with two dictionaries: transformers has none; give another model")
    tied = decoder.output_projection.weight is decoder.embed_tokens.weight
    sides = {"encoder": encoder, "decoder": decoder}
    shape: dict[str, Any] = {f"{name}_layers": len(side.layers) for name, side in sides.items()}
    shape |= {f"{name}_ffn_dim": side.layers[0].fc1.out_features for name, side in sides.items()}
    shape |= {f"{name}_attention_heads": getattr(model.cfg, name).attention_heads for name in sides}  # before removal
    marks = {
        "bos_token_id": target.bos(),
        "pad_token_id": target.pad(),
        "eos_token_id": target.eos(),
        "decoder_start_token_id": target.eos(),
        "forced_eos_token_id": None,
    }
    settings = {
        **shape,
        **marks,
        "vocab_size": len(source),
        "d_model": encoder.embed_tokens.embedding_dim,
        "activation_function": encoder.layers[0].activation_fn.__name__,
        "scale_embedding": encoder.embed_scale != 1,
        "max_position_embeddings": min(encoder.max_source_positions, decoder.max_target_positions),
        **{name: getattr(model.cfg, name) for name in ("dropout", "attention_dropout", "activation_dropout")},
        "init_std": encoder.embed_tokens.embedding_dim**-0.5,  # as fairseq draws weights
        "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0,
        "tie_word_embeddings": tied and (shared or not pre_norm),  # M2M100 ties all its embeddings or none
    }
    if pre_norm:
        return M2M100ForConditionalGeneration(M2M100Config(**settings))
    joint: dict[str, Any] = {"decoder_vocab_size": len(target), "share_encoder_decoder_embeddings": shared}
    return MarianMTModel(MarianConfig(**settings, **joint))


def _convert_tensors(model: TransformerModel, built: PreTrainedModel) -> dict[str, Tensor]:
    """Return the tensors of a model by their names in transformers; raise HeadroomError for any without one."""
    wanted = built.state_dict()
    state: dict[str, Tensor] = {}
    for name, value in model.named_parameters(remove_duplicate=False):
        own = f"model.{name}"
        place = "lm_head.weight" if own == _OUTPUT else own
        if place not in wanted:
            raise HeadroomError(f"{type(built).__name__} has no {own}; transformers cannot compute such models")
        state[place] = value
    for side, part in (("encoder", model.encoder), ("decoder", model.decoder)):
        place = f"model.{side}.embed_positions.weight"
        if place in wanted:
            tokens = part.embed_tokens.weight.new_full((1, len(wanted[place])), part.padding_idx + 1).long()
            state[place] = part.embed_positions(tokens)[0]  # positions of any token but padding
    shared = {"model.shared.weight": model.encoder.embed_tokens.weight}
    return {name: {**shared, **state}.get(name, value) for name, value in wanted.items()}


def make_tokenizer(
    dictionaries: tuple[Dictionary, Dictionary], vocabulary: Path, longest: int
) -> PreTrainedTokenizerBase:
    """Return a tokenizer that makes the same tokens with the same indices.

    Args:
        dictionaries: Those of the source and of the target.
        vocabulary: A directory with `sentencepiece.model`, or byte-pair codes and `moses.json`.
        longest: The most tokens of a sentence.
    """
    indices = [{token: index for index, token in enumerate(one.symbols)} for one in dictionaries]
    with tempfile.TemporaryDirectory() as directory:
        files = [Path(directory, name) for name in ("vocab.json", "target_vocab.json")]
        for file, own in zip(files, indices, strict=True):
            file.write_text(json.dumps(own), "utf-8")
        if (vocabulary / MOSES).is_file():
            return MosesTokenizer(vocab=files[0], target_vocab=files[1], codes=vocabulary, model_max_length=longest)
        tokens = str(vocabulary / "sentencepiece.model")
        if not Path(tokens).is_file():
            raise HeadroomError(f"{vocabulary}: no sentencepiece.model; add that of the model")
        if indices[0] != indices[1]:
            raise HeadroomError(f"{vocabulary}: two dictionaries for one SentencePiece model; give that of the model")
        return MarianTokenizer(tokens, tokens, str(files[0]), model_max_length=longest)


@torch.inference_mode()
def compare_logits(model: TransformerModel, exported: Seq2SeqModel) -> None:
    """Raise HeadroomError if two models do not give the same logits for the same sentences."""
    (batch,) = exported.batches(["one two three", "four"], ["five", "six seven"], sentences=2)
    lengths = batch.mask.sum(1)
    rows = [row[:length] for row, length in zip(batch.source, lengths)]
    padding = model.encoder.padding_idx
    source = torch.full((len(rows), int(lengths.max())), padding)
    for row, tokens in zip(source, rows):  # fairseq pads sources on their left
        row[len(row) - len(tokens) :] = tokens
    first = model(source, lengths, batch.taught[0])[0][batch.read]
    second = exported.logits(batch)[batch.read]
    if not (first - second).abs().max() <= _ROUNDING * first.abs().max():
        raise HeadroomError(
            f"{type(exported.model).__name__} computes something else than this model, which has a part that "
            "transformers lacks; give another model"
        )
