"""A classifier of transformers with its tokenizer."""

import copy
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site, parse_profile
from headroom.data.labelled import LabelledText
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
    find_accepted_inputs,
    find_sites,
    longest_input,
    real_positions,
)
from headroom.engines.maps import MapObserver
from headroom.engines.removal import remove_heads
from headroom.engines.sites import AttentionSite, pick_device, site_names

_SHARE = 0.01
"""Tolerance between sliced and masked logits, as a share of the effect of masking; a wrong slice differs by about 1."""

_ROUNDING = 1e-5
"""Tolerance as a share of the largest logit."""


@torch.no_grad()
def check_interventions(model: Any, inputs: Mapping[str, Tensor]) -> None:
    """Check the effect of gates and removal on this model.

    The model is in eval mode, with at least one head, and is not modified. Inputs are a small batch with padding.

    Raises:
        HeadroomError: If the logits are not finite, if a gate does not act on its site exactly once in a pass, or if
            the sliced model fails or differs from the masked one.
    """
    name = type(model).__name__
    heads = [head for site in site_names(find_sites(model)) for head in site.head_names()]
    plain, _ = _run_masked(model, inputs, frozenset())
    if not plain.isfinite().all():
        raise HeadroomError(f"{name}: its logits are not finite; check whether its training diverged")
    for removed in (frozenset(head for head in heads if head.head % 2), frozenset(heads)):
        masked, reached = _run_masked(model, inputs, removed)
        for site, times in reached.items():
            if times != 1:
                raise HeadroomError(
                    f"{name}: its attention module {site.layer} runs {times} times in one pass, "
                    "its heads do not belong to one layer; give another model"
                )
        difference = (_run_sliced(model, inputs, removed) - masked).abs().max()
        if not difference <= _SHARE * (masked - plain).abs().max() + _ROUNDING * masked.abs().max():
            raise HeadroomError(f"{name}: the sliced model differs from the masked model; give another model")


def _run_masked(model: Any, inputs: Mapping[str, Tensor], removed: frozenset[Head]) -> tuple[Tensor, dict[Site, int]]:
    """Return the logits (B, classes) of the masked model, and the number of passes through each site."""
    twin = _twin(model)
    sites = find_sites(twin)
    gates = Gates(sites=sites, batch_first=True)
    reached: Counter[Site] = Counter()
    with gates.masked(removed), gates.observed(lambda site, _: reached.update([site])):
        logits = twin(**inputs)[0]
    return logits, {site: reached[site] for site in site_names(sites)}


def _run_sliced(model: Any, inputs: Mapping[str, Tensor], removed: frozenset[Head]) -> Tensor:
    """Return the logits (B, classes) of the sliced model."""
    twin = _twin(model)
    try:
        remove_heads(find_sites(twin), removed)
        return twin(**inputs)[0]
    except Exception as error:  # any error of code written for a fixed number of heads
        reason = str(error).strip().split("\n")[0][:120]
        raise HeadroomError(
            f"{type(model).__name__}: fails with heads sliced out ({reason}); give another model"
        ) from error


def _twin(model: Any) -> Any:
    """Return a copy of the modules that shares the tensors, so that the model is not modified."""
    tensors = [*model.parameters(), *model.buffers()]
    return copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})


@dataclass(frozen=True)
class Batch:
    """Examples padded to one length, with their positions in the evaluation set.

    Attributes:
        positions: Indices into the set, in the order of the rows.
        inputs: The inputs of the forward pass, `input_ids`, `attention_mask`, ...: (B, T) each.
        labels: Indices of the classes, (B,).
    """

    positions: list[int]
    inputs: dict[str, Tensor]
    labels: Tensor


def _without_padding(batch: Batch) -> Batch:
    """Return a batch without the columns that are padding in all rows, on either side."""
    real = batch.inputs["attention_mask"].any(0)  # (T,)
    return replace(batch, inputs={name: tensor[:, real] for name, tensor in batch.inputs.items()})


class ClassificationModel(HeadModel):
    """A trained classifier, its sites and gates, and its tokenizer.

    Attributes:
        labels: The names of the classes, by index.
        longest: The maximum input length in pieces, special pieces included; longer inputs are truncated.
    """

    def __init__(self, *, model: Any, sites: list[AttentionSite], tokenizer: Any) -> None:
        self.model: nn.Module = model
        self.tokenizer = tokenizer
        self.labels = [str(model.config.id2label[index]) for index in range(model.config.num_labels)]
        self.longest = min(int(tokenizer.model_max_length), longest_input(model))
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

    def parts(self, batch: Batch, examples: int) -> list[Batch]:
        """Return a batch in parts of similar length, of so many examples at most, without columns of padding alone."""
        lengths = batch.inputs["attention_mask"].sum(1).tolist()
        order = sorted(range(len(lengths)), key=lambda row: (lengths[row], row))
        parts = [take_rows(batch, order[start : start + examples]) for start in range(0, len(order), examples)]
        return [_without_padding(part) for part in parts]

    def partly_read(self, batch: Batch) -> LastLayer | None:
        """Return the last layer if the logits depend on it only at the first position; else None."""
        return read_at_first_position(self.model, self.live_sites, batch.inputs)

    def save(self, path: Path | str) -> None:
        """Write the model as a directory, with a descriptor of the removed heads, for `load`."""
        save_classifier(path, model=self.model, tokenizer=self.tokenizer, removed=self.removed)

    def batches(self, text: LabelledText, *, examples: int) -> list[Batch]:
        """Return examples in batches of similar length and limited size; raise for labels unknown to the model."""
        labels = [self._index(label) for label in text.labels]
        encoded = self.tokenizer(text.first, text.second, truncation=True, max_length=self.longest)
        rows = {name: encoded[name] for name in find_accepted_inputs(self.model, encoded)}
        lengths = [len(row) for row in rows["input_ids"]]
        order = sorted(range(len(labels)), key=lambda place: (lengths[place], place))
        chunks = (order[start : start + examples] for start in range(0, len(order), examples))
        return [self._batch(chunk, rows, labels) for chunk in chunks]

    def logits(self, batch: Batch) -> Tensor:
        """Return the logits, (B, classes), in float32 or better."""
        logits: Tensor = self.model(**batch.inputs)[0]
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the negative log-likelihood of each label in nats (B,), and the number of targets (B,): ones."""
        nats = nn.functional.cross_entropy(self.logits(batch), batch.labels, reduction="none")
        return nats, torch.ones_like(batch.labels)

    def real(self, batch: Batch) -> dict[str, tuple[Tensor, Tensor]]:
        """Return which query (B, T) and which key positions (B, S) are not padding, by the kind of site, E."""
        return real_positions(self.model, batch.inputs["attention_mask"])

    def maps_shown(self, observer: MapObserver) -> AbstractContextManager[None]:
        """Show the attention weights of every forward pass within a block; the model is loaded with `eager`."""
        return attention_maps(self.live_sites, observer)

    def _index(self, label: str) -> int:
        if label not in self.labels:
            raise HeadroomError(
                f"label '{label}': unknown to the model; use one of {', '.join(self.labels)} (id2label in "
                "its config.json)"
            )
        return self.labels.index(label)

    def _batch(self, positions: list[int], rows: dict[str, list[list[int]]], labels: list[int]) -> Batch:
        chunk = {name: [values[position] for position in positions] for name, values in rows.items()}
        inputs = self.tokenizer.pad(chunk, return_tensors="pt")
        return Batch(
            positions=list(positions),
            inputs={name: tensor.to(self.device) for name, tensor in inputs.items()},
            labels=torch.tensor([labels[position] for position in positions], device=self.device),
        )
