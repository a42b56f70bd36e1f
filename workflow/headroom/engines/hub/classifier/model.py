"""A classifier of transformers with its tokenizer."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from headroom.engines.hub import installed  # noqa: F401  # isort: skip (before transformers)

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.core.heads import parse_profile
from headroom.data.labelled import LabelledText, read_labelled
from headroom.engines.batch import Batch
from headroom.engines.gates import Gates
from headroom.engines.head_model import HeadModel, seed_torch, take_rows
from headroom.engines.hub.checkpoint import (
    build_classifier,
    load_weights,
    read_removed,
    read_tokenizer,
    save_classifier,
)
from headroom.engines.hub.classifier.first_position import LastLayer, read_at_first_position
from headroom.engines.hub.sites import (
    attention_maps,
    check_tokenizer,
    count_pieces,
    find_accepted_inputs,
    find_sites,
    longest_input,
    real_positions,
)
from headroom.engines.hub.verification import check_interventions
from headroom.engines.maps import MapObserver, Positions, Spans
from headroom.engines.removal import remove_heads
from headroom.engines.sites import AttentionSite, pick_device, site_names

_SPECIAL = ("cls_token_id", "sep_token_id", "pad_token_id", "bos_token_id", "eos_token_id")
"""Special pieces, except the one for unknown words."""


@dataclass(frozen=True)
class LabelledBatch(Batch):
    """Labelled examples.

    Attributes:
        inputs: The inputs of the forward pass, `input_ids`, `attention_mask`, ...: (B, T) each.
        labels: Indices of the classes, (B,).
    """

    inputs: dict[str, Tensor]
    labels: Tensor

    @property
    def pieces(self) -> Tensor:
        """The indices of the pieces, (B, T)."""
        return self.inputs["input_ids"]

    @property
    def mask(self) -> Tensor:
        """Which positions are not padding, as 0 and 1, (B, T)."""
        return self.inputs["attention_mask"]

    def without_padding(self) -> Self:
        """Return the batch without the columns that are padding in all rows, on either side."""
        real = self.mask.any(0)  # (T,)
        return replace(self, inputs={name: tensor[:, real] for name, tensor in self.inputs.items()})


class ClassificationModel(HeadModel[LabelledBatch]):
    """A trained classifier, its sites and gates, and its tokenizer.

    Attributes:
        labels: The names of the classes, by index.
        longest: The maximum input length in pieces, special pieces included; longer inputs are truncated.
    """

    model: PreTrainedModel

    def __init__(
        self, *, model: PreTrainedModel, sites: list[AttentionSite], tokenizer: PreTrainedTokenizerBase
    ) -> None:
        config: Any = model.config
        self.model = model
        self.tokenizer = tokenizer
        self.labels = [str(config.id2label[index]) for index in range(config.num_labels)]
        self.longest = min(int(tokenizer.model_max_length), longest_input(model))
        special = (getattr(tokenizer, name, None) for name in _SPECIAL)
        self._special = torch.tensor(sorted({number for number in special if number is not None}))
        self.live_sites = sites
        self.gates = Gates(sites=self.live_sites, batch_first=True)

    @classmethod
    def load(
        cls, directory: Path | str, device: str = "auto", attention: str = "sdpa", *, fresh: int | None = None
    ) -> Self:
        """Load a classifier, whole or sliced, in eval mode.

        Args:
            directory: A directory in the Hub's format with `config.json`, `model.safetensors` and a tokenizer, and
                `headroom.json` if heads are sliced.
            device: `auto`, `cpu` or `cuda`.
            attention: `sdpa` or `eager`; a model without `sdpa` uses `eager`.
            fresh: A seed of untrained weights, instead of the directory's; None for the directory's.

        Raises:
            HeadroomError: If a file is missing or damaged, model and tokenizer do not match, or the model is not a
                classifier whose heads can be removed.
        """
        place = pick_device(device)
        with seed_torch(fresh):
            model = build_classifier(directory, attention)
        tokenizer = read_tokenizer(directory)
        check_tokenizer(tokenizer, model, directory)
        sites = find_sites(model)
        remove_heads(sites, parse_profile(read_removed(directory), site_names(sites)))
        if fresh is None:
            load_weights(model, directory)
        model.eval().requires_grad_(False).to(place)
        loaded = cls(model=model, sites=sites, tokenizer=tokenizer)
        if any(live.kept for live in sites):
            words = LabelledText(["one two three", "four"], None, loaded.labels[:1] * 2)
            check_interventions(model, loaded.batches(words, examples=2)[0].inputs)
        return loaded

    def trainable(self, scope: str) -> list[nn.Parameter]:  # noqa: ARG002
        """Return all weights: a classifier has no decoder to freeze."""
        return list(self.model.parameters())

    def parts(self, batch: LabelledBatch, examples: int) -> list[LabelledBatch]:
        """Return a batch in parts of similar length, of so many examples at most, without columns of padding alone."""
        lengths = batch.mask.sum(1).tolist()
        order = sorted(range(len(lengths)), key=lambda row: (lengths[row], row))
        parts = [take_rows(batch, order[start : start + examples]) for start in range(0, len(order), examples)]
        return [part.without_padding() for part in parts]

    def partly_read(self, batch: LabelledBatch) -> LastLayer | None:
        """Return the last layer if the logits depend on it only at the first position; else None."""
        return read_at_first_position(self.model, self.live_sites, batch.inputs)

    def save(self, path: Path | str) -> None:
        """Write the model as a directory, with a descriptor of the removed heads, for `load`."""
        save_classifier(path, model=self.model, tokenizer=self.tokenizer, removed=self.removed)

    def batches(self, text: LabelledText, *, examples: int) -> list[LabelledBatch]:
        """Return examples in batches of similar length and limited size; raise for labels unknown to the model."""
        labels = [self._index(label) for label in text.labels]
        encoded = self.tokenizer(text.first, text.second, truncation=True, max_length=self.longest)
        rows = {name: encoded[name] for name in find_accepted_inputs(self.model, encoded)}
        lengths = [len(row) for row in rows["input_ids"]]
        order = sorted(range(len(labels)), key=lambda place: (lengths[place], place))
        chunks = (order[start : start + examples] for start in range(0, len(order), examples))
        return [self._batch(chunk, rows, labels) for chunk in chunks]

    def logits(self, batch: LabelledBatch) -> Tensor:
        """Return the logits, (B, classes), in float32 or better."""
        logits: Tensor = self.model(**batch.inputs)[0]
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def losses(self, batch: LabelledBatch) -> tuple[Tensor, Tensor]:
        """Return the negative log-likelihood of each label in nats (B,), and the number of targets (B,): ones."""
        nats = nn.functional.cross_entropy(self.logits(batch), batch.labels, reduction="none")
        return nats, torch.ones_like(batch.labels)

    def real(self, batch: LabelledBatch) -> Positions:
        """Return which positions are not padding."""
        return real_positions(self.model, batch.mask)

    def ordinary(self, batch: LabelledBatch) -> Positions:
        """Return which positions are neither padding nor separators."""
        ordinary = ~torch.isin(batch.pieces, self._special.to(batch.pieces.device))
        return {"E": (ordinary, ordinary)}

    def maps_shown(self, observer: MapObserver) -> AbstractContextManager[None]:
        """Show the attention weights of every forward pass within a block; the model is loaded with `eager`."""
        return attention_maps(self.live_sites, observer)

    def sentence_batches(self, sentences: Sequence[str], size: int) -> list[LabelledBatch]:
        """Return sentences in batches; their labels are arbitrary. What is too long for the model is truncated."""
        return self.batches(LabelledText(list(sentences), None, self.labels[:1] * len(sentences)), examples=size)

    def spans(self, sentences: Sequence[str]) -> list[Spans]:
        """Return for each sentence the places of its pieces."""
        encoded = self.tokenizer(list(sentences), truncation=True, max_length=self.longest, return_offsets_mapping=True)
        special = self._special.tolist()
        return [
            [span for piece, span in zip(pieces, spans, strict=True) if piece not in special]
            for pieces, spans in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
        ]

    def frequencies(self, text: Path) -> Tensor | None:
        """Return the frequency of each piece in labelled text, (V,); None without text."""
        if not text.is_file() or len(read_lines(text)) < 2:
            return None
        counts = torch.zeros(count_pieces(self.model), dtype=torch.long)
        for side in read_labelled(text).sides:
            for pieces in self.tokenizer(side, add_special_tokens=False)["input_ids"]:
                counts += torch.bincount(torch.tensor(pieces, dtype=torch.long), minlength=len(counts))
        return counts

    def _index(self, label: str) -> int:
        if label not in self.labels:
            raise HeadroomError(
                f"label '{label}': unknown to the model; use one of {', '.join(self.labels)} (id2label in "
                "its config.json)"
            )
        return self.labels.index(label)

    def _batch(self, positions: list[int], rows: dict[str, list[list[int]]], labels: list[int]) -> LabelledBatch:
        chunk = {name: [values[position] for position in positions] for name, values in rows.items()}
        inputs = self.tokenizer.pad(chunk, return_tensors="pt")
        return LabelledBatch(
            positions=list(positions),
            inputs={name: tensor.to(self.device) for name, tensor in inputs.items()},
            labels=torch.tensor([labels[position] for position in positions], device=self.device),
        )
