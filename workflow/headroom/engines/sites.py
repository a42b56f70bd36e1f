"""Attention sites of a model: z, the projections around it, and the device."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site

torch.backends.cudnn.allow_tf32 = False  # float32 is float32 on GPUs too; trainings may choose TF32


class EmptyAttention(nn.Module):
    """A site without heads, which returns the bias of its output projection."""

    def __init__(self, bias: Tensor) -> None:
        super().__init__()
        self.bias = nn.Parameter(bias.detach().clone())

    def forward(self, query: Tensor, *_: Any, **__: Any) -> tuple[Tensor, None]:
        """Return the bias at every position of `query` (..., D), and no attention weights."""
        return self.bias.expand(query.shape), None


@dataclass
class AttentionSite:
    """One site of a live model.

    Attributes:
        site: Its name and the number of heads it was trained with.
        parent: The module that contains the attention module.
        attribute: The attribute of the parent with the attention module, e.g. `self_attn`.
        inputs: Names of the projections inside the attention module whose rows belong to heads: query, key and
            value, in this order, and any other (DeBERTa has some for positions). A single one contains learned queries:
            such heads have no query token, and average the states directly (Lin et al. 2017).
        output_place: Path of the output projection from `parent`, e.g. `self_attn.out_proj` or `output.dense`.
        head_counts: Attributes of the attention module with the number of heads.
        head_widths: Attributes of the attention module with the width of all heads together.
        kept: The remaining heads, counted from 1 and in order.
        empty: Makes the module of the site without heads, from the bias of its output projection.
    """

    site: Site
    parent: nn.Module
    attribute: str
    inputs: tuple[str, ...]
    output_place: str
    head_counts: tuple[str, ...]
    head_widths: tuple[str, ...]
    kept: tuple[int, ...]
    empty: Callable[[Tensor], nn.Module] = EmptyAttention

    @property
    def attention(self) -> nn.Module:
        """The attention module."""
        return getattr(self.parent, self.attribute)

    @property
    def value(self) -> nn.Module:
        """The value projection; its rows are the remaining heads, in order and in blocks of equal size.

        Raises:
            HeadroomError: If the site has none.
        """
        if len(self.inputs) < 3:
            raise HeadroomError(
                f"{self.site}: no value projection, its heads average the same states; leave such arms and measures out"
            )
        return getattr(self.attention, self.inputs[2])

    @property
    def output(self) -> nn.Module:
        """The output projection, whose input is z; the only intervention point."""
        return self.parent.get_submodule(self.output_place)

    @property
    def head_width(self) -> int:
        """Features of one head: columns of z."""
        projection: Any = self.output
        return int(projection.in_features) // len(self.kept)

    def multiply_adds(self, length: int) -> int:
        """Count the multiply-adds of attention over one example of this length, without those of the projections.

        Every query requires one product with the keys and one with the values; learned queries require only the latter,
        since their products with the states are a projection.
        """
        width = len(self.kept) * self.head_width if self.kept else 0
        return width * length * (2 * length if len(self.inputs) > 1 else 1)

    def kept_heads(self) -> list[Head]:
        """Return the remaining heads, by their original names."""
        return [Head(self.site.kind, self.site.layer, index) for index in self.kept]


def site_names(sites: Sequence[AttentionSite]) -> list[Site]:
    """Return the names of live sites."""
    return [live.site for live in sites]


Projections = Mapping[Site, Sequence[nn.Parameter]]
"""The weights of each site whose rows are its heads: query, key and value, each (heads * head_dim, width)."""


def gradient_norm(weights: Iterable[nn.Parameter]) -> Tensor:
    """Return the Euclidean norm of the gradients of weights together, (); 0 without gradients."""
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    return torch.stack(torch._foreach_norm(gradients)).norm() if gradients else torch.zeros(())


def pick_device(device: str) -> torch.device:
    """Return the device for `auto`, `cpu` or `cuda`.

    Raises:
        HeadroomError: If CUDA is requested but not available.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise HeadroomError("device: cuda is not available to torch; use auto or cpu")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)
