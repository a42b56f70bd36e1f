"""The transformers adapter: a classifier with its tokenizer, behind the adapter protocol."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from headroom.data.labelled import LabelledText
from headroom.ground.errors import HeadroomError
from headroom.ground.heads import Head, Site, format_profile, parse_profile
from headroom.models.classification.checkpoint import (
    build_classifier,
    load_weights,
    read_removed,
    read_tokenizer,
    save_classifier,
)
from headroom.models.classification.inputs import accepted_inputs, check_tokenizer, longest_input
from headroom.models.classification.sites import find_sites
from headroom.models.classification.verification import check_interventions
from headroom.models.device import pick_device, seeded
from headroom.models.gates import Gates
from headroom.models.removal import remove_heads
from headroom.models.sites import AttentionSite, site_names


@dataclass(frozen=True)
class Batch:
    """Examples padded to one length, and where they stood in the evaluation set.

    Attributes:
        positions: Indices into the set, in the order of the rows.
        inputs: What the forward pass takes, `input_ids`, `attention_mask`, ...: (B, T) each.
        labels: Indices of the classes, (B,).
    """

    positions: list[int]
    inputs: dict[str, Tensor]
    labels: Tensor


class ClassificationModel:
    """A trained classifier, its sites and gates, and its tokenizer.

    Attributes:
        labels: The names of the classes, by index.
        longest: The longest input in pieces, special pieces included; what is longer is cut.
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
                `headroom.json` if heads are gone.
            device: `auto`, `cpu` or `cuda`.
            attention: `sdpa` or `eager`; a model that has no `sdpa` gets `eager`.
            fresh: A seed for weights as they are before any training, instead of the directory's; None for these.

        Raises:
            HeadroomError: If a file is missing or damaged, model and tokenizer do not fit, or the model is not a
                classifier whose heads can be removed.
        """
        place = pick_device(device)
        with seeded(fresh):
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

    @property
    def sites(self) -> list[Site]:
        """The names of the sites, in table order."""
        return site_names(self.live_sites)

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return next(self.model.parameters()).device

    def trainable(self, scope: str) -> list[nn.Parameter]:  # noqa: ARG002
        """Return all weights: a classifier has no decoder to leave as it is."""
        return list(self.model.parameters())

    def remove(self, removed: frozenset[Head]) -> None:
        """Slice heads out for real, in place."""
        remove_heads(self.live_sites, removed)

    def save(self, path: Path | str) -> None:
        """Write the model as a directory, with a descriptor of the heads removed, so that `load` brings it back."""
        gone = {head for site in self.sites for head in site.head_names()}
        gone -= {head for live in self.live_sites for head in live.kept_heads()}
        save_classifier(path, model=self.model, tokenizer=self.tokenizer, removed=format_profile(gone))

    def batches(self, text: LabelledText, *, examples: int) -> list[Batch]:
        """Cut examples into batches of similar length.

        Args:
            text: Sentences or sentence pairs with their labels.
            examples: Largest number of examples in a batch.

        Raises:
            HeadroomError: If the model does not know a label.
        """
        labels = [self._index(label) for label in text.labels]
        encoded = self.tokenizer(text.first, text.second, truncation=True, max_length=self.longest)
        rows = {name: encoded[name] for name in accepted_inputs(self.model, encoded)}
        lengths = [len(row) for row in rows["input_ids"]]
        order = sorted(range(len(labels)), key=lambda place: (lengths[place], place))
        chunks = (order[start : start + examples] for start in range(0, len(order), examples))
        return [self._batch(chunk, rows, labels) for chunk in chunks]

    def logits(self, batch: Batch) -> Tensor:
        """Return what the model says before the softmax, (B, classes), in float32 or better."""
        logits: Tensor = self.model(**batch.inputs)[0]
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the loss of each example.

        Returns:
            Negative log-likelihood of the label in nats (B,), and the number of targets (B,): ones.
        """
        nats = nn.functional.cross_entropy(self.logits(batch), batch.labels, reduction="none")
        return nats, torch.ones_like(batch.labels)

    def _index(self, label: str) -> int:
        if label not in self.labels:
            raise HeadroomError(
                f"the model has no label '{label}': it knows {', '.join(self.labels)} (id2label in its config.json)"
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
