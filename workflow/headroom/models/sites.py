"""Attention sites of a model: z, the projections around it, and the device."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import torch
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site

# float32 is float32 on GPUs too, also where TORCH_ALLOW_TF32_CUBLAS_OVERRIDE is set; trainings may choose TF32
torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False


class EmptyAttention(nn.Module):
    """A site without heads, whose output projection has no columns and returns its bias.

    The projection keeps its name; if it is outside of the attention module, z is returned, without columns.
    """

    def __init__(self, live: "AttentionSite") -> None:
        super().__init__()
        self.output_place = ""
        if live.output_place.startswith(f"{live.attribute}."):
            self.output_place = live.output_place.removeprefix(f"{live.attribute}.")
            name = self.output_place.partition(".")[0]
            self.add_module(name, live.attention.get_submodule(name))

    def forward(self, query: Tensor, *_: Any, **__: Any) -> tuple[Tensor | None, ...]:
        """Return the bias at every position of `query` (..., D), or an empty z, and no attention weights."""
        if not self.output_place:
            return query.new_empty(*query.shape[:-1], 0), None
        bias = self.get_submodule(self.output_place).bias
        return (bias.expand(query.shape) if isinstance(bias, Tensor) else torch.zeros_like(query)), None


class Layout(Enum):
    """Where the outputs of queries, keys and values are."""

    SPLIT = "a projection each"
    FUSED = "one projection: all queries, then all keys, then all values"
    INTERLEAVED = "one projection: the queries, the key and the value of the first group of heads, then of the next"


@dataclass(kw_only=True)
class AttentionSite:
    """One site of a live model.

    Attributes:
        site: Its name and the number of heads it was trained with.
        parent: The module that contains the attention module.
        attribute: The attribute of the parent with the attention module, e.g. `self_attn`.
        queries: Path of the projection of queries in the attention module. Without keys and values it contains learned
            queries: such heads have no query token, and average the states directly (Lin et al. 2017).
        keys: The projection of keys; in other layouts than `SPLIT` it is that of queries.
        values: The projection of values, as that of keys.
        output_place: Path of the output projection from `parent`, e.g. `self_attn.out_proj` or `output.dense`.
        others: Other projections whose outputs belong to heads; DeBERTa has some for positions.
        vectors: Parameters of the attention module whose elements belong to heads; DeBERTa has biases of its own.
        layout: Where the outputs of queries, keys and values are.
        groups: The head of keys and values that each remaining head uses, counted from 0; None if each has its own.
        head_counts: Attributes of the attention module with the number of heads.
        head_widths: Attributes of the attention module with the width of all heads together.
        group_sizes: Attributes of the attention module with the number of heads that share keys and values.
        group_counts: Attributes of the attention module with the number of heads of keys and values.
        uses: How often the attention module runs in one pass; layers of ALBERT share theirs.
        kept: The remaining heads, counted from 1 and in order.
        bias_added: Whether the output projection was given a bias that the model's family lacks.
        empty: Makes the module of the site without heads.
        adapt: Adapts the attention module to its remaining heads, after each removal.
        kept_whole: Why heads can be masked but not removed; "" if they can, as far as is known.
        origins: The head of keys and values of each head before any removal; empty if each has its own.
    """

    site: Site
    parent: nn.Module
    attribute: str
    queries: str
    keys: str | None = None
    values: str | None = None
    output_place: str
    others: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    layout: Layout = Layout.SPLIT
    groups: tuple[int, ...] | None = None
    head_counts: tuple[str, ...] = ()
    head_widths: tuple[str, ...] = ()
    group_sizes: tuple[str, ...] = ()
    group_counts: tuple[str, ...] = ()
    uses: int = 1
    kept: tuple[int, ...]
    bias_added: bool = False
    empty: Callable[["AttentionSite"], nn.Module] = EmptyAttention
    adapt: Callable[["AttentionSite"], None] | None = None
    kept_whole: str = ""
    origins: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.origins = dict(zip(self.kept, self.groups or ()))

    @property
    def attention(self) -> nn.Module:
        """The attention module."""
        return self.parent.get_submodule(self.attribute)

    @property
    def query_key_value(self) -> list[nn.Module]:
        """The projections of queries, keys and values, as many as there are."""
        names = dict.fromkeys(name for name in (self.queries, self.keys, self.values) if name)
        return [self.attention.get_submodule(name) for name in names]

    @property
    def inputs(self) -> list[nn.Module]:
        """All projections whose outputs belong to heads."""
        return [*self.query_key_value, *map(self.attention.get_submodule, self.others)]

    @property
    def has_values(self) -> bool:
        """Whether the remaining heads have values; learned queries average the states instead."""
        return bool(self.kept and self.values)

    @property
    def value(self) -> nn.Module:
        """The projection with the values of the remaining heads, which `split_values` finds in its output.

        Raises:
            HeadroomError: If the heads have no values.
        """
        if not (self.values and self.has_values):
            raise HeadroomError(f"{self.site}: its heads have no values; leave such measures out")
        return self.attention.get_submodule(self.values)

    def split_values(self, projected: Tensor) -> Tensor:
        """Return the values of each remaining head, (..., K, d), from the output of `value`, (..., width)."""
        count = len(self.kept)
        shared = self.shared_heads
        if self.layout is Layout.INTERLEAVED:
            projected = projected.unflatten(-1, (shared, count // shared + 2, -1))[..., -1, :]
        elif self.layout is Layout.FUSED:
            projected = projected.unflatten(-1, (count + 2 * shared, -1))[..., count + shared :, :]
        else:  # a projection of keys and values has the values last (DeepSeek)
            projected = projected.unflatten(-1, (shared, -1))[..., -self.head_width :]
        return projected if self.groups is None else projected[..., list(self.groups), :]

    @property
    def shared_heads(self) -> int:
        """The number of remaining heads of keys and values."""
        return len(self.kept) if self.groups is None else max(self.groups) + 1

    @property
    def output(self) -> nn.Module:
        """The output projection, whose input is z; the only intervention point."""
        return self.parent.get_submodule(self.output_place)

    @property
    def output_weight(self) -> Tensor:
        """A view of the weight of the output projection, (D, K * d): its columns are the remaining heads."""
        return _rows_first(self.output)

    @property
    def head_width(self) -> int:
        """Features of one head: columns of z."""
        return self.output_weight.shape[1] // len(self.kept)

    def head_outputs(self, projection: nn.Module, heads: Sequence[int], shared: Sequence[int]) -> Tensor:
        """Return which outputs of a projection belong to heads, in the order of the layout.

        Args:
            projection: One of `inputs`.
            heads: Positions among the remaining heads.
            shared: Positions among the heads of keys and values.
        """
        count, size = len(self.kept), len(_rows_first(projection))
        own = self.shared_heads
        if self.layout is Layout.FUSED:
            width = size // (count + 2 * own)
            starts = (0, count * width, (count + own) * width)
            return torch.cat([blocks(some, width) + start for some, start in zip((heads, shared, shared), starts)])
        if self.layout is Layout.INTERLEAVED and projection is self.attention.get_submodule(self.queries):
            each, left = count // own, len(heads) // max(1, len(shared))
            firsts = [head // each * (each + 2) for head in range(count)]
            chosen = []
            for place, group in enumerate(shared):
                queries = [firsts[head] + head % each for head in heads[place * left : (place + 1) * left]]
                value = group * (each + 2) + each + 1
                chosen += [*queries, value - 1, value]
            return blocks(chosen, size // (count + 2 * own))
        if self.groups is not None and projection in self.query_key_value[1:]:
            return blocks(shared, size // own)
        return blocks(heads, size // count)  # projections may differ in outputs per head

    def head_weights(self, projection: nn.Module) -> Tensor:
        """Return the weights of each remaining head in one of `inputs`, (K, outputs of a head, width)."""
        rows = _rows_first(projection).detach()
        groups = range(len(self.kept)) if self.groups is None else self.groups
        each = [self.head_outputs(projection, [place], [group]) for place, group in enumerate(groups)]
        return rows[torch.stack(each).to(rows.device)]

    def kept_heads(self) -> list[Head]:
        """Return the remaining heads, by their original names."""
        return [Head(self.site.kind, self.site.layer, index) for index in self.kept]

    def removed_heads(self) -> list[Head]:
        """Return the other heads."""
        return [head for head in self.site.head_names() if head.head not in self.kept]


def _rows_first(projection: nn.Module) -> Tensor:
    """Return a view of a projection's weight, (outputs, inputs); that of transformers' Conv1D is stored transposed."""
    weight = projection.get_parameter("weight")
    return weight if isinstance(projection, nn.Linear) else weight.T


def blocks(places: Sequence[int], width: int) -> Tensor:
    """Return the features in blocks of one width at these places, (len(places) * width,)."""
    return torch.cat([torch.arange(place * width, (place + 1) * width) for place in places])


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


Positions = Mapping[str, tuple[Tensor, Tensor]]
"""By kind of site, which query (B, T) and which key positions (B, S) of a batch count, e.g. all but padding."""

MapObserver = Callable[[Site, Tensor], None]
"""Called with a site and its attention weights, shape (B, H, T, S): rows are queries and sum to one."""


@contextmanager
def hook_sites(
    sites: Sequence[AttentionSite], ask: Callable[..., object], shown: Callable[[Site], Callable[..., object]]
) -> Iterator[None]:
    """Hook the attention modules of sites that have heads, within a block.

    Args:
        sites: Live sites.
        ask: Forward pre-hook, which requests weights in the engine's way.
        shown: From a site to its forward hook, which takes the weights from what the module returns.
    """
    with ExitStack() as hooks:
        for live in sites:
            if live.kept:
                hooks.callback(live.attention.register_forward_pre_hook(ask, with_kwargs=True).remove)
                hooks.callback(live.attention.register_forward_hook(shown(live.site)).remove)
        yield


@dataclass(frozen=True)
class MapBatch:
    """A batch whose attention maps can be observed.

    Attributes:
        positions: Indices into the set, in the order of the rows.
        reads: The kind of the sites that read the tokens: the encoder's, or those of a decoder alone.
        ordinary: Neither padding nor a token with a special meaning (end of sentence, begin mark, CLS, SEP).
        real: Not padding; only these are part of an example, and all of them affect the output.
        tokens: The encoder's input as indices of the vocabulary, (B, T).
        spans: Start and end of each of these tokens in the plain text, in characters from 0, (B, T, 2), -1 for
            those that do not count; None if the examples are not single sentences.
        uses: How often each site runs in a pass; those that run several times are shown as often.
        show: Runs the model once and shows the maps of every site that runs.
    """

    positions: list[int]
    reads: str
    ordinary: Positions
    real: Positions
    tokens: Tensor
    spans: Tensor | None
    uses: Mapping[Site, int]
    show: Callable[[MapObserver], None]


Spans = Sequence[tuple[int, int]]
"""Start and end of the tokens of a sentence in the plain text, in characters from 0."""


def pad_spans(rows: Sequence[Spans], ordinary: Tensor) -> Tensor:
    """Return the spans of tokens as one tensor (B, T, 2) on the CPU, -1 for tokens that do not count.

    Args:
        rows: The spans of those tokens of each row that count, in order.
        ordinary: Which positions count, (B, T).

    Raises:
        HeadroomError: If the numbers of counting tokens differ in a row.
    """
    spans = torch.full((*ordinary.shape, 2), -1)
    for row, places in enumerate(rows):
        if len(places) != int(ordinary[row].sum()):
            raise HeadroomError(
                f"text: {len(places)} aligned tokens, but the model reads {int(ordinary[row].sum())}; "
                "remove special tokens such as </s> from the text"
            )
        spans[row, ordinary[row].cpu()] = torch.tensor(places, dtype=torch.long).reshape(-1, 2)
    return spans


ValueObserver = Callable[[Site, Tensor], None]
"""Called with a site and its values, shape (S, B, H, d)."""


@contextmanager
def shown_values(sites: Sequence[AttentionSite], observer: ValueObserver) -> Iterator[None]:
    """Show the values of every site with values to `observer` within a block, padding included."""

    def hook(live: AttentionSite) -> Callable[[nn.Module, object, Tensor], None]:
        def show(_: nn.Module, __: object, values: Tensor) -> None:
            observer(live.site, live.split_values(values).transpose(0, 1))

        return show

    with ExitStack() as hooks:
        for live in (live for live in sites if live.has_values):
            hooks.callback(live.value.register_forward_hook(hook(live)).remove)
        yield
