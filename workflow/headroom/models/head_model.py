"""The interface of trained models for all experiments and engines."""

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy
import torch
from numpy import ndarray
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site, Unit, all_heads, format_profile
from headroom.core.interventions import Intervention
from headroom.models.batch import Given
from headroom.models.gates import Gates, Replacements
from headroom.models.removal import fold, remove_heads
from headroom.models.sites import AttentionSite, MapBatch, MapObserver, Positions, Spans, pad_spans, site_names


class HeadModel(ABC, Generic[Given]):
    """A trained model in eval mode, its sites, and gates on them.

    Attributes:
        model: The model.
        reads: The kind of the sites that read single sentences: those of the encoder, if there is one.
        gates: The gates.
        live_sites: The sites.
        example: What an example is, in messages.
    """

    example: ClassVar[str] = "example"
    model: nn.Module
    reads: str = "E"
    gates: Gates
    live_sites: list[AttentionSite]

    @property
    def sites(self) -> list[Site]:
        """The names of the sites, in table order."""
        return site_names(self.live_sites)

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return next(self.model.parameters()).device

    def unknown_share(self, batches: Sequence[Given]) -> float:  # noqa: ARG002
        """Return the share of the tokens of batches that the model does not know."""
        return 0.0

    @property
    def removed(self) -> str:
        """The profile of the sliced heads."""
        return format_profile(head for live in self.live_sites for head in live.removed_heads())

    def units(self, unit: str = "head", scope: str = "all") -> list[Unit]:
        """Return the heads in scope by what is removed at once, in table order.

        Args:
            unit: `head`, each on its own, or `group`, those together that share keys and values.
            scope: As of `core.heads.all_heads`.
        """
        shared = {
            head: (live.site, place if live.groups is None else live.groups[place])
            for live in self.live_sites
            for place, head in enumerate(live.kept_heads())
        }
        found: dict[object, list[Head]] = {}
        for head in all_heads(self.sites, scope):
            found.setdefault(shared.get(head, head) if unit == "group" else head, []).append(head)
        return [tuple(heads) for heads in found.values()]

    def refuse_overflow(self, name: str, finite: ndarray) -> None:
        """Raise HeadroomError if the numbers of an example of a set are not finite; `finite` says it of each, (n,)."""
        if finite.all():
            return
        kind = str(next(self.model.parameters()).dtype).removeprefix("torch.")
        half = "set released.dtype to float32 or bfloat16"
        remedy = half if kind == "float16" else "give a model with undamaged weights, or leave that text out"
        wrong = int((~finite).sum())
        raise HeadroomError(
            f"set {name}: {self.example} {int(finite.argmin()) + 1} overflows in {kind} ({wrong} of {len(finite)} do); "
            f"{remedy}"
        )

    def find_finite(self, batches: Sequence[Given]) -> ndarray:
        """Return of all examples whether their losses are finite, (n,)."""
        finite = numpy.ones(sum(len(batch.positions) for batch in batches), dtype=bool)
        with torch.inference_mode():
            for batch in batches:
                finite[batch.positions] = self.losses(batch)[0].isfinite().cpu().numpy()
        return finite

    @abstractmethod
    def losses(self, batch: Given) -> tuple[Tensor, Tensor]:
        """Return the summed negative log-likelihood (B,) in nats, and the number of targets (B,), of each example."""

    @abstractmethod
    def logits(self, batch: Given) -> Tensor:
        """Return the logits: (B, T, V) teacher-forced, or (B, classes)."""

    @abstractmethod
    def real(self, batch: Given) -> Positions:
        """Return which positions of a batch are not padding."""

    @abstractmethod
    def ordinary(self, batch: Given) -> Positions:
        """Return which positions are neither padding nor tokens with a special meaning (CLS, SEP, end mark)."""

    @abstractmethod
    def sentence_batches(self, sentences: Sequence[str], size: int) -> list[Given]:
        """Return single sentences in batches for the encoder."""

    @abstractmethod
    def spans(self, sentences: Sequence[str]) -> list[Spans]:
        """Return for each sentence where its ordinary tokens are in the plain text.

        Raises:
            HeadroomError: If the tokens of a sentence cannot be found in it.
        """

    @abstractmethod
    def frequencies(self, text: Path) -> Tensor | None:
        """Return the frequency of each of the encoder's tokens in a training text, (V,); None without text."""

    def run(self, batch: Given) -> object:
        """Run all sites that a batch reaches."""
        return self.logits(batch)

    def map_batch(self, batch: Given, spans: Sequence[Spans] | None = None) -> MapBatch:
        """Return a batch whose maps can be observed, teacher-forced with a decoder.

        `spans` are those of all sentences of the set.
        """
        ordinary = self.ordinary(batch)

        def show(observer: MapObserver) -> None:
            with self.maps_shown(observer):
                self.run(batch)

        return MapBatch(
            positions=batch.positions,
            reads=self.reads,
            ordinary=ordinary,
            real=self.real(batch),
            tokens=batch.tokens,
            spans=None
            if spans is None
            else pad_spans([spans[place] for place in batch.positions], ordinary[self.reads][0]),
            uses={live.site: live.uses for live in self.live_sites},
            show=show,
        )

    @abstractmethod
    def maps_shown(self, observer: MapObserver) -> AbstractContextManager[None]:
        """Show the attention weights of every forward pass within a block to `observer`, once per use of a site.

        Raises:
            HeadroomError: In a pass, if the model was loaded without them.
        """

    @abstractmethod
    def trainable(self, scope: str) -> list[nn.Parameter]:
        """Return the weights for further training: all, or for the scope `E` only those of the encoder."""

    def count_parameters(self) -> int:
        """Return the number of weights, without tables of positions that no training changes."""
        return sum(weight.numel() for weight in self.trainable("all"))

    def shorten(self, batch: Given) -> Given:
        """Return a batch of fewer positions, on which passes are traced, where that saves time."""
        return batch

    def parts(self, batch: Given, examples: int) -> list[Given]:  # noqa: ARG002
        """Return a batch in parts of similar length, of so many examples at most where that saves padding."""
        return [batch]

    def remove(self, removed: frozenset[Head]) -> None:
        """Slice heads out, in place."""
        remove_heads(self.live_sites, removed)

    def realise(self, intervention: Intervention, replacements: Replacements | None = None) -> None:
        """Apply an intervention to the weights, in place: `fold` it, and slice the removed heads out."""
        fold(self.live_sites, intervention, replacements)
        self.remove(intervention.removed)

    @abstractmethod
    def save(self, path: Path | str, about: Sequence[str] = ()) -> None:
        """Write the model with a descriptor of the removed heads, for loading."""


def take_rows(batch: Given, rows: Sequence[int]) -> Given:
    """Return some rows of an engine's batch, in this order and as often as they are named; padding is unchanged."""
    taken: dict[str, Any] = {field.name: _take_value(getattr(batch, field.name), rows) for field in fields(batch)}
    return replace(batch, **taken)


def _take_value(value: object, rows: Sequence[int]) -> object:
    if isinstance(value, Mapping):
        return {name: _take_value(one, rows) for name, one in value.items()}
    if isinstance(value, Tensor):
        return value[torch.as_tensor(rows, device=value.device)]
    return [value[row] for row in rows] if isinstance(value, list) else value


@contextmanager
def seed_torch(seed: int | None) -> Iterator[None]:
    """Draw torch's random numbers from a seed within a block and restore its state afterwards; None does nothing."""
    if seed is None:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


_log = logging.getLogger(__name__)

_WRAPPERS = re.compile(r"^module\.|\b(_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module|_forward_module)\.")
"""What torch.compile, DistributedDataParallel and their like add to names, before all or within them."""

Stored = TypeVar("Stored")


def unwrap_names(found: Mapping[str, Stored], place: Path | str) -> dict[str, Stored]:
    """Return tensors by their names without what wrappers added, e.g. `_orig_mod.module.`, which is logged.

    Args:
        found: The tensors by their names in a file.
        place: The file, for messages.

    Raises:
        HeadroomError: If two tensors then have the same name.
    """
    unwrapped = {_unwrap(name): tensor for name, tensor in found.items()}
    wrapped = [name for name in found if name not in unwrapped]
    if len(unwrapped) < len(found):
        raise HeadroomError(f"{place}: has both {wrapped[0]} and {_unwrap(wrapped[0])}; save one model in a file")
    if wrapped:
        _log.info("%s: saved from a compiled or wrapped model, %s is %s", place, wrapped[0], _unwrap(wrapped[0]))
    return unwrapped


def _unwrap(name: str) -> str:
    while (shorter := _WRAPPERS.sub("", name)) != name:
        name = shorter
    return name
