"""What all models of transformers have in common: their directory, tokenizer, sites and gates, and a check at load."""

import logging
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Self

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import torch
from torch import Tensor, nn
from transformers import EncoderDecoderCache, PreTrainedModel, PreTrainedTokenizerBase

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.models.batch import Given
from headroom.models.card import write_card
from headroom.models.checkpoint import read_dtype, read_tokenizer, save_model
from headroom.models.find_sites import attention_maps, check_tokenizer, longest_input
from headroom.models.gates import Gates
from headroom.models.head_model import HeadModel, seed_torch
from headroom.models.readout import Predicted, Readout, read_tokens
from headroom.models.sites import AttentionSite, MapObserver, Spans, pick_device
from headroom.models.sliced import list_sites
from headroom.models.verification import (
    Trial,
    check_causality,
    check_interventions,
    check_maps,
    count_uses,
    depends_on_batch,
)
from headroom.models.weights import build_model, fuse_activations, load_whole
from headroom.settings.models import Dtype

_log = logging.getLogger(__name__)

_ROWS = 8
"""Sentences whose probabilities of all tokens exist at a time, beside their logits."""

_SPECIAL = ("cls_token_id", "sep_token_id", "pad_token_id", "bos_token_id", "eos_token_id")
"""Special tokens, except the one for unknown words."""


class HubModel(HeadModel[Given]):
    """A model of transformers, its sites and gates, and its tokenizer.

    Attributes:
        task: The name of the class of transformers that builds it from a configuration.
        longest: The maximum input length in tokens, special tokens included.
        kept_whole: Why its heads can be masked but not removed; "" if they can be removed.
        readout: The projection to logits.
        equal_lengths: Whether batches have rows of one length only, as padding changes the results of the others.
    """

    task: ClassVar[str]
    model: PreTrainedModel
    kept_whole: str = ""
    equal_lengths: bool = False

    def __init__(
        self, *, model: PreTrainedModel, sites: list[AttentionSite], tokenizer: PreTrainedTokenizerBase
    ) -> None:
        self.model = model
        self.readout = Readout(model)
        self.tokenizer = tokenizer
        self.longest = min(int(tokenizer.model_max_length), longest_input(model))
        special = (getattr(tokenizer, name, None) for name in _SPECIAL)
        self._special = torch.tensor(sorted({number for number in special if number is not None}))
        self.live_sites = sites
        self.gates = Gates(sites=self.live_sites)

    @classmethod
    def load(
        cls,
        directory: Path | str,
        device: str = "auto",
        attention: str = "sdpa",
        *,
        fresh: int | None = None,
        dtype: Dtype | None = None,
        file: str | None = None,
    ) -> Self:
        """Load a model, whole or sliced, in eval mode.

        Args:
            directory: A directory in the Hub's format: `config.json`, weights and a tokenizer.
            device: `auto`, `cpu` or `cuda`.
            attention: `sdpa` or `eager`; a model without `sdpa` uses `eager`.
            fresh: A seed of untrained weights, instead of the directory's; None for the directory's.
            dtype: The type of the weights in memory: float32, bfloat16 or float16; None for that of a model that was
                written by `save`, float32 of others.
            file: A GGUF file of the directory with configuration, weights and tokenizer.

        Raises:
            HeadroomError: If a file is missing or damaged, the files do not belong together, or gates do not act on
                the model as they should.
        """
        place = pick_device(device)
        written = read_dtype(directory)
        kind = dtype or written or "float32"
        model = cls.read_model(directory, attention, fresh=fresh, dtype=kind, file=file)
        tokenizer = read_tokenizer(directory, file=file)
        check_tokenizer(tokenizer, model, directory)
        fuse_activations(model)
        model.eval().requires_grad_(False).to(place)
        sites = list_sites(model)
        loaded = cls(model=model, sites=sites, tokenizer=tokenizer)
        if any(live.kept for live in sites):
            loaded.check(maps=attention == "eager", reload=written is None)
        return loaded

    @classmethod
    def read_model(
        cls, directory: Path | str, attention: str, *, fresh: int | None, dtype: str, file: str | None
    ) -> PreTrainedModel:
        """Return the model of a directory, whole or sliced; arguments and errors as those of `load`."""
        if fresh is None:
            return load_whole(directory, cls.task, attention, dtype=dtype, file=file)
        with seed_torch(fresh):
            return build_model(directory, cls.task, attention, dtype=dtype)

    def check(self, *, maps: bool = False, reload: bool = True) -> None:
        """Check gates, removal, with `reload` also of a model built again, and with `maps` attention weights."""
        trial = self.trial()
        uses = count_uses(self.model, trial)
        for live in self.live_sites:
            live.uses = uses.get(live.site, live.uses)
        if any(live.site.kind == "D" for live in self.live_sites) and self.model.can_generate():
            check_causality(self.model, trial)
        self.equal_lengths = depends_on_batch(self.model, trial)
        self.kept_whole = check_interventions(self.model, trial, reload=reload)
        if maps:
            check_maps(self.model, trial)

    @abstractmethod
    def trial(self) -> Trial:
        """Return a small batch with padding on which the model is checked."""

    def remove(self, removed: frozenset[Head]) -> None:
        """Slice heads out, in place; raise HeadroomError if that is not the same as masking them."""
        if removed and self.kept_whole:
            raise HeadroomError(
                f"{type(self.model).__name__}: its heads can only be masked, {self.kept_whole}; "
                "set released.removable: false, which leaves out removal and timing"
            )
        super().remove(removed)

    def save(self, path: Path | str, about: Sequence[str] = ()) -> None:
        """Write the model as a directory, for `load` and for transformers, with `heads.json` if heads are removed.

        Its model card has the lines of `about`, too.
        """
        card = write_card(self.model, self.live_sites, kept_whole=self.kept_whole, about=about)
        save_model(path, model=self.model, sites=self.live_sites, tokenizer=self.tokenizer, card=card)

    def trainable(self, scope: str) -> list[nn.Parameter]:  # noqa: ARG002
        """Return all weights."""
        return list(self.model.parameters())

    def maps_shown(self, observer: MapObserver) -> AbstractContextManager[None]:
        """Show the attention weights of every forward pass within a block; the model is loaded with `eager`."""
        return attention_maps(self.live_sites, observer)

    def is_ordinary(self, tokens: Tensor) -> Tensor:
        """Return which tokens have no special meaning, in the shape of `tokens`."""
        return ~torch.isin(tokens, self._special.to(tokens.device))

    def spans(self, sentences: Sequence[str]) -> list[Spans]:
        """Return for each sentence the places of its tokens."""
        encoded: Any = self.encode(sentences)
        special = self._special.tolist()
        return [
            [span for token, span in zip(tokens, spans, strict=True) if token not in special]
            for tokens, spans in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
        ]

    def unknown_share(self, batches: Sequence[Given]) -> float:
        """Return the share of unknown tokens in batches; 0 if the unknown token has another meaning, as in GPT-2."""
        others = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id, self.tokenizer.pad_token_id)
        token = self.tokenizer.unk_token_id
        if token is None or token in others:
            return 0.0
        tokens = [batch.tokens[batch.tokens != self.tokenizer.pad_token_id] for batch in batches]
        return sum(int((own == token).sum()) for own in tokens) / max(1, sum(map(len, tokens)))

    def encode(self, first: Sequence[str], second: Sequence[str] | None = None) -> Mapping[str, Any]:
        """Return the tokens of texts with their places; what is too long for the model is truncated."""
        encoded: Mapping[str, Any] = self.tokenizer(
            list(first),
            None if second is None else list(second),
            truncation=True,
            max_length=self.longest,
            return_offsets_mapping=True,
        )
        return encoded

    def read_targets(
        self, batch: Given, target: Tensor, plain: Predicted | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return of targets, (B, T), the negative log-likelihood in nats, the likeliest tokens, and the divergence.

        All are 0 where there is no target, and nothing has a gradient.

        Args:
            batch: The batch.
            target: The right tokens, (B, T); -100 where none is predicted.
            plain: What the plain model predicts there, from `predict_targets`; the divergence is from that, 0 without.
        """
        places = target.ge(0)
        reading = self.readout.read(lambda: self.logits(batch), places)
        nats, best = read_tokens(reading.parts(), target[places])
        apart = nats.new_zeros(nats.shape, dtype=torch.float64) if plain is None else plain.diverge(reading, nats)
        nats, best, apart = (one.new_zeros(target.shape).masked_scatter_(places, one) for one in (nats, best, apart))
        return nats, best, apart

    def predict_targets(self, batch: Given, target: Tensor) -> Predicted:
        """Return what is predicted at targets, for `read_targets`."""
        places = target.ge(0)
        return self.readout.predict(lambda: self.logits(batch), places, target[places])

    def chunks(self, order: Sequence[int], lengths: Sequence[int], size: int) -> list[list[int]]:
        """Return rows in batches of limited size, and of one length where others would change the results.

        That is so in models whose padding is not masked everywhere, and where a longer row switches the frequencies of
        all rotary positions (Phi-3).

        Args:
            order: The rows, by rising length.
            lengths: The length of each row in tokens.
            size: The largest number of rows of a batch.
        """
        apart = self.equal_lengths or max(lengths, default=0) > _find_switch(self.model)
        if apart and len({*lengths}) > 1:
            _log.info("batches have examples of one length each: in this model a longer one changes the others")
        groups = [list(rows) for _, rows in groupby(order, key=lambda row: lengths[row] if apart else 0)]
        return [rows[start : start + size] for rows in groups for start in range(0, len(rows), size)]

    def pad(self, rows: dict[str, list[list[int]]]) -> dict[str, Tensor]:
        """Return rows of tokens and their masks as tensors (B, T) on the model's device, padded on the right."""
        padded = self.tokenizer.pad(rows, return_tensors="pt", padding_side="right")
        return {name: tensor.to(self.device) for name, tensor in padded.items()}


def _find_switch(model: PreTrainedModel) -> float:
    """Return the length in tokens above which a model uses other rotary frequencies, for all rows of a batch."""
    rope = getattr(model.config.get_text_config(), "rope_parameters", None) or {}
    changing = rope.get("rope_type") in ("longrope", "dynamic")
    return float(rope["original_max_position_embeddings"]) if changing else math.inf


def count_bytes(output: Any) -> int:
    """Return the size of the keys and values that a pass with a cache has put into it."""
    cache = output.past_key_values
    both = isinstance(cache, EncoderDecoderCache)
    caches = [cache.self_attention_cache, cache.cross_attention_cache] if both else [cache]
    layers = [layer for one in caches for layer in one.layers if layer.is_initialized]
    return sum(tensor.nbytes for layer in layers for tensor in (layer.keys, layer.values))


def sum_nats(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the summed negative log-likelihood of targets in nats, and their number, (B,) each.

    Args:
        logits: Of all tokens at each position, (B, T, V).
        target: The right tokens, (B, T); -100 where none is predicted.
    """
    nats = [  # along the tokens, which lie side by side: twice as fast as for logits of (B, V, T)
        nn.functional.cross_entropy(own.flatten(0, 1), wanted.flatten(), reduction="none").view_as(wanted)
        for own, wanted in zip(logits.split(_ROWS), target.split(_ROWS))
    ]
    return torch.cat(nats).sum(1), target.ge(0).sum(1)
