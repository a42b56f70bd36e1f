"""Write a translation model of fairseq, whole or sliced, as a directory of transformers: Marian or M2M100.

A post-norm model becomes a Marian model, whose table of positions is fairseq's and stands in the file; a pre-norm model
becomes an M2M100 model. Pieces are those of the SentencePiece model, by the tokenizer of Marian.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroom.core.command import stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.heads import parse_profile

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import MarianTokenizer, PreTrainedModel

    from headroom.engines.fairseq.model import TranslationModel
    from headroom.engines.hub.seq2seq.model import Seq2SeqModel

_log = logging.getLogger(__name__)

_OUTPUT = "model.decoder.output_projection.weight"

_ROUNDING = 1e-4
"""Largest difference of logits between both models, as a share of the largest logit."""


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("export", __doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help="checkpoint of fairseq, e.g. epoch10.pt")
    parser.add_argument(
        "--vocabulary", type=Path, required=True, help="directory with sentencepiece.model and both dictionaries"
    )
    parser.add_argument("--output", type=Path, required=True, help="directory to write")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Convert the model, compare both, and write the new one."""
    given = build_parser().parse_args(arguments)
    from headroom.engines.fairseq.model import TranslationModel

    model = TranslationModel.load(given.checkpoint, given.vocabulary, "cpu")
    exported = export_model(model, given.vocabulary)
    exported.save(given.output)
    removed = f", without {exported.removed}" if exported.removed else ""
    _log.info("wrote %s: %s%s", given.output, type(exported.model).__name__, removed)


def export_model(model: TranslationModel, vocabulary: Path) -> Seq2SeqModel:
    """Return a model of transformers that computes what a model of fairseq does.

    Args:
        model: The model, on the CPU.
        vocabulary: Its vocabulary, of SentencePiece.

    Raises:
        HeadroomError: If its pieces or a part of it have no form in transformers.
    """
    from headroom.engines.hub.seq2seq.model import Seq2SeqModel
    from headroom.engines.hub.sites import find_sites
    from headroom.engines.removal import remove_heads
    from headroom.engines.sites import site_names

    built = _build(model)
    sites = find_sites(built)
    remove_heads(sites, parse_profile(model.removed, site_names(sites)))
    built.load_state_dict(_convert_tensors(model, built))
    built.eval().requires_grad_(False)
    tokenizer = _make_tokenizer(model, vocabulary, built.config.max_position_embeddings)
    exported = Seq2SeqModel(model=built, sites=sites, tokenizer=tokenizer)
    _compare(model, exported)
    return exported


def _build(model: TranslationModel) -> PreTrainedModel:
    """Return a model of transformers of the same shape, with all heads, and weights that are not set."""
    from transformers import M2M100Config, M2M100ForConditionalGeneration, MarianConfig, MarianMTModel

    encoder, decoder = model.model.encoder, model.model.decoder
    dictionary = model.source.dictionary
    pre_norm, shared = encoder.layers[0].normalize_before, encoder.embed_tokens is decoder.embed_tokens
    if pre_norm and not shared:
        raise HeadroomError("export: M2M100 has one matrix of embeddings; train with model.share_embeddings: true")
    sides = {"encoder": encoder, "decoder": decoder}
    shape: dict[str, Any] = {f"{name}_layers": len(side.layers) for name, side in sides.items()}
    shape |= {f"{name}_ffn_dim": side.layers[0].fc1.out_features for name, side in sides.items()}
    shape |= {
        f"{name}_attention_heads": next(site.heads for site in model.sites if site.kind == kind)
        for name, kind in (("encoder", "E"), ("decoder", "D"))
    }
    marks = {
        "bos_token_id": dictionary.bos(),
        "pad_token_id": dictionary.pad(),
        "eos_token_id": dictionary.eos(),
        "decoder_start_token_id": dictionary.eos(),
        "forced_eos_token_id": None,
    }
    settings = {
        **shape,
        **marks,
        "vocab_size": len(dictionary),
        "d_model": encoder.embed_tokens.embedding_dim,
        "activation_function": encoder.layers[0].activation_fn.__name__,
        "scale_embedding": encoder.embed_scale != 1,
        "max_position_embeddings": min(encoder.max_source_positions, decoder.max_target_positions),
        "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0,
        "tie_word_embeddings": decoder.output_projection.weight is decoder.embed_tokens.weight,
    }
    if pre_norm:
        return M2M100ForConditionalGeneration(M2M100Config(**settings))
    joint: dict[str, Any] = {"decoder_vocab_size": len(dictionary), "share_encoder_decoder_embeddings": shared}
    return MarianMTModel(MarianConfig(**settings, **joint))


def _convert_tensors(model: TranslationModel, built: PreTrainedModel) -> dict[str, Tensor]:
    """Return the tensors of a model by their names in transformers; raise HeadroomError for any without one."""
    wanted = built.state_dict()
    state: dict[str, Tensor] = {}
    for name, value in model.model.named_parameters(remove_duplicate=False):
        own = f"model.{name}"
        place = "lm_head.weight" if own == _OUTPUT else own
        if place not in wanted:
            raise HeadroomError(f"export: {type(built).__name__} has no {own}; such models cannot be written")
        state[place] = value
    for side, part in (("encoder", model.model.encoder), ("decoder", model.model.decoder)):
        place = f"model.{side}.embed_positions.weight"
        if place in wanted:
            pieces = part.embed_tokens.weight.new_full((1, len(wanted[place])), part.padding_idx + 1).long()
            state[place] = part.embed_positions(pieces)[0]  # positions of any piece but padding
    shared = {"model.shared.weight": model.model.encoder.embed_tokens.weight}
    return {name: {**shared, **state}.get(name, value) for name, value in wanted.items()}


def _make_tokenizer(model: TranslationModel, vocabulary: Path, longest: int) -> MarianTokenizer:
    """Return a tokenizer that makes the same pieces with the same indices."""
    from transformers import MarianTokenizer

    pieces, dictionary = vocabulary / "sentencepiece.model", model.source.dictionary
    if not pieces.is_file() or dictionary.symbols != model.target.dictionary.symbols:
        raise HeadroomError(f"{vocabulary}: not one vocabulary of SentencePiece; only such models are exported")
    with tempfile.TemporaryDirectory() as directory:
        indices = Path(directory, "vocab.json")
        indices.write_text(json.dumps({piece: index for index, piece in enumerate(dictionary.symbols)}), "utf-8")
        return MarianTokenizer(str(pieces), str(pieces), str(indices), model_max_length=longest)


def _compare(model: TranslationModel, exported: Seq2SeqModel) -> None:
    """Raise HeadroomError if two models do not give the same logits for the same sentences."""
    import torch

    pairs = ["one two three", "four"], ["five", "six seven"]
    (theirs,), (ours,) = model.batches(*pairs, sentences=2), exported.batches(*pairs, sentences=2)
    with torch.inference_mode():
        first, second = model.logits(theirs)[ours.read], exported.logits(ours)[ours.read]
    if not (first - second).abs().max() <= _ROUNDING * first.abs().max():
        raise HeadroomError(
            f"export: {type(exported.model).__name__} computes something else than this model; "
            "it has a part that transformers lacks"
        )
