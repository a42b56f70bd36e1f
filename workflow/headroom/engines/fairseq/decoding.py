"""Passes through fairseq's Transformers from any layer on, and greedy decoding from any piece on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headroom.engines.candidates import Candidates
from headroom.engines.fairseq.attention import Cache, FusedAttention
from headroom.engines.fairseq.readout import Marks, best_pieces, compute_features, compute_logits, forbid_pieces

if TYPE_CHECKING:
    from headroom.engines.fairseq.batches import ParallelBatch
    from headroom.engines.fairseq.library import TransformerDecoder, TransformerEncoder, TransformerModel
    from headroom.settings.answers import DecodingSettings

ROWS = 512
"""Sentences that are decoded at a time, from several batches."""

_FULL = 0.8
"""Finished sentences leave the batch when the others are at most this share of it."""


Encoded = Mapping[str, Sequence[Tensor]]
"""The output of an encoder in fairseq's form: among others `encoder_out`, one tensor (S, B, width)."""


@dataclass(frozen=True)
class Prefixes:
    """Beginnings of translations, each followed by one further piece.

    Attributes:
        pieces: The translations so far with the further piece, then the end mark, (B, T).
        lengths: The numbers of pieces before the further one, (B,); -1 to start at the begin mark.
        states: The inputs of each layer of the decoder at the begin mark and these pieces, (T, B, width) each.
    """

    pieces: Tensor
    lengths: Tensor
    states: Sequence[Tensor]


def compute_limits(lengths: Tensor, settings: DecodingSettings, decoder: TransformerDecoder) -> Tensor:
    """Return the largest number of pieces of each translation (B,), for sources of these lengths (B,).

    The decoder's positions hold a translation and the begin mark.
    """
    limits = (lengths * settings.length_factor).long() + settings.length_offset
    return limits.clamp(max=decoder.max_positions() - 1)


def encode(
    encoder: TransformerEncoder, batch: ParallelBatch, known: Sequence[Tensor] | None = None, first: int = 0
) -> Encoded:
    """Run an encoder; return its output in fairseq's form, with the states (S, B, width) of all layers.

    With `known`, the states of an earlier pass, only the layers from `first` on (counted from 0) are run.
    """
    if known is None:
        output: Encoded = encoder(batch.source, src_lengths=batch.lengths, return_all_hiddens=True)
        return output
    padding = batch.source.eq(encoder.padding_idx)  # (B, S)
    states = list(known[: first + 1])
    for layer in encoder.layers[first:]:
        states.append(layer(states[-1], encoder_padding_mask=padding if padding.any() else None))
    last = states[-1] if encoder.layer_norm is None else encoder.layer_norm(states[-1])
    return {"encoder_out": [last], "encoder_padding_mask": [padding], "encoder_states": states}


def decode(decoder: TransformerDecoder, previous: Tensor, encoded: Encoded) -> list[Tensor]:
    """Run the layers of a decoder over whole translations; return the states (T, B, width) before and after each.

    Args:
        decoder: A decoder of fairseq in eval mode.
        previous: Its input, translations after the begin mark, right-padded, (B, T).
        encoded: The output of `encode`.
    """
    states = [embed_pieces(decoder, previous)]
    future = decoder.buffered_future_mask(states[0])
    source, padding = encoded["encoder_out"][0], find_padding(encoded)
    for layer in decoder.layers:
        states.append(layer(states[-1], source, padding, self_attn_mask=future)[0])
    return states


@torch.inference_mode()
def greedy(
    model: TransformerModel,
    *,
    encoded: Encoded,
    limits: Tensor,
    marks: Marks,
    prefixes: Prefixes | None = None,
    keep_rows: bool = False,
) -> Tensor:
    """Translate a batch by taking the best piece at each position.

    It is equivalent to fairseq's `SequenceGenerator` with a beam of 1. Finished sentences leave the batch.

    Args:
        model: A fairseq encoder-decoder model in eval mode.
        encoded: The output of `encode` for the batch.
        limits: Largest number of pieces of each translation, without the end mark, shape (B,).
        marks: Begin and end marks, pieces never produced.
        prefixes: Beginnings of the translations; None for the begin mark only.
        keep_rows: Keep one row per sentence from start to end, so that gates per example stay aligned with it.

    Returns:
        Translations, shape (B, T): pieces, then the end mark until T.
    """
    decoder, longest = model.decoder, int(limits.max()) + 1
    output = limits.new_full((len(limits), longest), marks.end)
    made = torch.zeros_like(limits) if prefixes is None else prefixes.lengths + 1  # pieces so far of each translation
    if prefixes is not None:
        output[:, : prefixes.pieces.shape[1]] = prefixes.pieces[:, :longest]
    cache = _cache(decoder, made, prefixes)
    rows = torch.arange(len(limits), device=limits.device)
    piece = torch.where(made > 0, _at(output, made - 1), marks.begin)
    done = (made > 0) & ((piece == marks.end) | (made > limits))
    table = position_table(decoder, longest + 1, limits)
    while True:
        if not keep_rows and int((~done).sum()) <= _FULL * len(rows):
            stay = (~done).nonzero().squeeze(1)
            if not len(stay):
                break
            rows, made, piece, limits, done = rows[stay], made[stay], piece[stay], limits[stay], done[stay]
            encoded = select_encoded(encoded, stay)
            cache.keep(stay)
        elif bool(done.all()):
            break
        logits = _step(decoder, piece, table, encoded, cache)  # (B, V)
        done = done | (made >= limits)
        piece = forbid_pieces(logits, made, marks).argmax(-1).masked_fill(done, marks.end)
        done = done | (piece == marks.end)
        output[rows, made.clamp(max=longest - 1)] = piece
        made = made + 1
    return output


@torch.inference_mode()
def mismatches(
    model: TransformerModel,
    *,
    states: Tensor,
    guess: Tensor,
    limits: Tensor,
    marks: Marks,
    candidates: Candidates | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compare the best pieces with a guess: translations by a similar model, each followed by an end mark, (B, T).

    If at every position the best piece after the guess so far is the guess's next piece, `greedy` would have
    produced the guess.

    Args:
        model: A fairseq encoder-decoder model in eval mode.
        states: The states after the decoder's last layer over the guess, (T, B, width).
        guess: The guess.
        limits: As in `greedy`.
        marks: As in `greedy`.
        candidates: Those of a similar model at the positions of `verify_guess`, which most often save the logits.

    Returns:
        The rows that differ (N,), the first position that differs of each (N,), and the best piece there (N,).
    """
    row, place = verify_guess(guess, limits, marks).nonzero(as_tuple=True)
    own = states.transpose(0, 1)[row, place]  # (N, width)
    best = guess.clone()
    if candidates is None:
        best[row, place] = best_pieces(model.decoder, own, place, marks)
    else:
        best[row, place] = candidates.best(
            compute_features(model.decoder, own),
            lambda some: best_pieces(model.decoder, own[some], place[some], marks),
        )
    wrong = best != guess
    rows = wrong.any(1).nonzero().squeeze(1)
    first = wrong[rows].int().argmax(1)
    return rows, first, best[rows, first]


def verify_guess(guess: Tensor, limits: Tensor, marks: Marks) -> Tensor:
    """Return at which positions of a guess `greedy` would choose a piece, (B, T): at the limit it always ends."""
    places = torch.arange(guess.shape[1], device=guess.device)
    lengths = (guess == marks.end).int().argmax(1)  # without the end mark
    return (places <= lengths[:, None]) & (places < limits[:, None])


def pieces_until_end(row: list[int], end: int) -> list[int]:
    """Return the pieces of one translation before its end mark."""
    return row[: row.index(end)] if end in row else row


def join_encoded(parts: Sequence[Encoded]) -> Encoded:
    """Return several batches' outputs of the encoder as one: (S, B, width) with padding on the left (B, S)."""
    longest = max(part["encoder_out"][0].shape[0] for part in parts)
    states, padding = [], []
    for part in parts:
        (own,), (mask,) = part["encoder_out"], part["encoder_padding_mask"]
        missing = longest - len(own)
        states.append(torch.nn.functional.pad(own, (0, 0, 0, 0, missing, 0)))
        padding.append(torch.nn.functional.pad(mask, (missing, 0), value=True))
    return {"encoder_out": [torch.cat(states, 1)], "encoder_padding_mask": [torch.cat(padding)]}


def select_encoded(encoded: Encoded, rows: Tensor) -> Encoded:
    """Return the encoder's output for some rows of a batch."""
    padding = [mask[rows] for mask in encoded["encoder_padding_mask"]]
    return {"encoder_out": [encoded["encoder_out"][0][:, rows]], "encoder_padding_mask": padding}


def find_padding(encoded: Encoded) -> Tensor | None:
    """Return which positions of the sources are padding, (B, S); None if none is."""
    found: Tensor = encoded["encoder_padding_mask"][0]
    return found if bool(found.any()) else None


def _at(output: Tensor, places: Tensor) -> Tensor:
    return output.gather(1, places.clamp(0, output.shape[1] - 1)[:, None]).squeeze(1)


def embed_pieces(decoder: TransformerDecoder, pieces: Tensor, positions: Tensor | None = None) -> Tensor:
    """Return the input of the first layer (T, B, width) for pieces (B, T); `positions` are their embeddings."""
    states = decoder.embed_scale * decoder.embed_tokens(pieces)
    states = states if decoder.project_in_dim is None else decoder.project_in_dim(states)
    if positions is None and decoder.embed_positions is not None:
        positions = decoder.embed_positions(pieces)
    states = states if positions is None else states + positions
    states = states if decoder.layernorm_embedding is None else decoder.layernorm_embedding(states)
    return states.transpose(0, 1)


def position_table(decoder: TransformerDecoder, count: int, like: Tensor) -> Tensor | None:
    """Return the embeddings of the first positions, (T, width); None without such embeddings."""
    if decoder.embed_positions is None:
        return None
    pieces = like.new_full((1, min(count, decoder.max_positions())), decoder.padding_idx + 1)  # any piece but padding
    found: Tensor = decoder.embed_positions(pieces)[0]
    return found


def _cache(decoder: TransformerDecoder, made: Tensor, prefixes: Prefixes | None) -> Cache:
    cache = Cache(made)
    for layer, states in zip(decoder.layers, () if prefixes is None else prefixes.states):
        attention = layer.self_attn
        if isinstance(attention, FusedAttention):
            normed = layer.self_attn_layer_norm(states) if layer.normalize_before else states
            cache.fill(attention, *attention.keys_and_values(normed))
    return cache


def _step(decoder: TransformerDecoder, piece: Tensor, table: Tensor | None, encoded: Encoded, cache: Cache) -> Tensor:
    """Return the logits (B, V) after one more piece of each sentence, (B,)."""
    # finished sentences that are still in the batch may be longer than any translation
    positions = None if table is None else table[cache.lengths.clamp(max=len(table) - 1)][:, None]  # (B, 1, width)
    states = embed_pieces(decoder, piece[:, None], positions)
    source, padding = encoded["encoder_out"][0], find_padding(encoded)
    for layer in decoder.layers:
        states = layer(states, source, padding, incremental_state=cache)[0]
    cache.advance()
    return compute_logits(decoder, states[0])
