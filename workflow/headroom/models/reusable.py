"""What passes of a model have in common: outputs of modules before the first changed site, computed once.

A module that has returned before the output projection of a site is called does not depend on that site's gates: the
embeddings, the layers below, attention in the layer of the site, and the whole encoder for sites of a decoder. Nor does
a module that reads nothing but outputs of these: keys and values of the source in all layers of a decoder. Its output
is stored, and returned from then on instead of being computed again, once or several times over, as for a batch
that carries several masks. Results are those of
whole passes up to rounding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import Generic

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from headroom.core.heads import Site
from headroom.core.interventions import Intervention
from headroom.models.batch import Given
from headroom.models.head_model import HeadModel, take_rows

STORED = 2**30
"""The most bytes of the plain model's states that a sweep stores."""

_ROUNDING = 1e-5
"""Tolerance of the check as a share of the largest value."""


class Reusable(Generic[Given]):
    """The modules of a model in eval mode whose outputs can be reused.

    Attributes:
        modules: By site, in the order of calls, the modules that have returned before its output projection is first
            called, or read only their outputs; those within other such modules, and those that run several times, are
            left out. Empty if the check fails, because a model modifies its states in place for example.
        size: The size of all these outputs for the trial in bytes.
    """

    def __init__(
        self,
        model: HeadModel[Given],
        run: Callable[[Given], Tensor],
        trial: Given,
        twice: Given,
    ) -> None:
        """Trace passes and check reuse.

        Args:
            model: The model.
            run: A pass, from a batch to a row per example.
            trial: A batch.
            twice: The rows of the trial, followed by the same rows again.
        """
        self.modules, outputs = _trace(model, run, trial)
        self._rows = _find_rows(outputs, _trace(model, run, twice)[1])
        self.modules = {site: [one for one in done if one in self._rows] for site, done in self.modules.items()}
        self.size = sum(leaf.nbytes for module in self._modules(self.modules) for leaf in outputs[module])
        if not self._agrees(model, run, trial, twice):
            self.modules = {}

    @contextmanager
    def reused(
        self, first: Site | None, stored: dict[nn.Module, object], *, times: int = 1, store: bool = False
    ) -> Iterator[None]:
        """Reuse outputs in passes within a block.

        Args:
            first: The first site that differs from the pass that stored; None if nothing can be reused.
            stored: The outputs by module. Missing ones are computed and added, for which `times` must be 1.
            times: How often the rows of the pass are those that were stored, one copy after the other.
            store: Store all that can be reused at any site instead.
        """
        sites = self.modules if store else [first] if first in self.modules else []
        with ExitStack() as restored:
            for module in self._modules(sites):
                module.forward = self._once(module, stored, times)
                restored.callback(delattr, module, "forward")
            yield

    def _modules(self, sites: Iterable[Site]) -> list[nn.Module]:
        return list(dict.fromkeys(chain.from_iterable(self.modules[site] for site in sites)))

    def _once(self, module: nn.Module, stored: dict[nn.Module, object], times: int) -> Callable[..., object]:
        forward, rows = module.forward, self._rows[module]

        def computed(*inputs: object, **options: object) -> object:
            if module not in stored:
                stored[module] = forward(*inputs, **options)
            return stored[module] if times == 1 else _repeat_rows(stored[module], rows, times)

        return computed

    def _agrees(self, model: HeadModel[Given], run: Callable[[Given], Tensor], trial: Given, twice: Given) -> bool:
        """Return whether results without a head of each site in turn are those of whole passes.

        All outputs are stored in a first pass: of states that a pass modifies in place the next results differ.
        """
        stored: dict[nn.Module, object] = {}
        with self.reused(None, stored, store=True):
            run(trial)
        for live in (live for live in model.live_sites if live.site in self.modules):
            with model.gates.applied(Intervention.without(live.kept_heads()[0])):
                whole = run(trial)
                for batch, times in ((trial, 1), (twice, 2)):
                    with self.reused(live.site, stored, times=times):
                        difference = (run(batch) - torch.cat([whole] * times)).abs().max()
                    if not difference <= _ROUNDING * whole.abs().max():
                        return False
        return True


def _trace(
    model: HeadModel[Given], run: Callable[[Given], Tensor], batch: Given
) -> tuple[dict[Site, list[nn.Module]], dict[nn.Module, list[Tensor]]]:
    """Return by site the modules that can be reused, as in `Reusable.modules`, and their outputs, without data."""
    sites = {live.output: live.site for live in model.live_sites if live.kept}
    open_calls: list[list[nn.Module]] = [[]]  # of each running module, those within it that have returned
    returned: dict[Site, list[nn.Module]] = {}
    calls: Counter[nn.Module] = Counter()
    outputs: dict[nn.Module, list[Tensor]] = {}
    makers: dict[Tensor, nn.Module] = {}  # the outermost module that returns a tensor
    read: dict[nn.Module, set[nn.Module | None]] = {}  # the makers of what a module reads

    def begin(module: nn.Module, inputs: object, options: object) -> None:
        if module in sites:
            returned.setdefault(sites[module], [done for call in open_calls for done in call])
        calls[module] += 1
        read[module] = {makers.get(leaf) for leaf in _tensors((inputs, options))}
        open_calls.append([])

    def end(module: nn.Module, _: object, output: object) -> None:
        open_calls.pop()
        open_calls[-1].append(module)
        outputs[module] = [leaf.to("meta") for leaf in _tensors(output)]
        makers.update(dict.fromkeys(_tensors(output), module))

    with ExitStack() as hooks:
        for module in model.model.modules():
            hooks.callback(module.register_forward_pre_hook(begin, with_kwargs=True).remove)
            hooks.callback(module.register_forward_hook(end).remove)
        run(batch)
    once = {
        site: [module for module in (*done, *_list_readers(done, read, {*sites})) if calls[module] == 1]
        for site, done in returned.items()
    }
    return once, {module: outputs[module] for module in chain.from_iterable(once.values())}


def _tensors(values: object) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]


def _list_readers(
    done: Iterable[nn.Module], read: Mapping[nn.Module, set[nn.Module | None]], projections: set[nn.Module]
) -> list[nn.Module]:
    """Return the modules outside of some that read only their outputs, and have no output projection of a site.

    `read` are the makers of what each module reads.
    """
    known = {*done}
    inside = {part for module in known for part in module.modules()}
    readers = [module for module, makers in read.items() if module not in inside and makers and makers <= known]
    return [module for module in readers if projections.isdisjoint(module.modules())]


def _find_rows(
    outputs: dict[nn.Module, list[Tensor]], twice: dict[nn.Module, list[Tensor]]
) -> dict[nn.Module, list[int | None]]:
    """Return for the tensors of each module's output the dimension of the rows, None without one.

    Args:
        outputs: The outputs by module.
        twice: Those for twice as many rows. Modules whose outputs do not simply double are left out.
    """
    found: dict[nn.Module, list[int | None]] = {}
    for module, leaves in outputs.items():
        rows = [_find_doubled(one.shape, two.shape) for one, two in zip(leaves, twice.get(module, ()))]
        if len(rows) == len(leaves) and all(len(places) <= 1 for places in rows):
            found[module] = [places[0] if places else None for places in rows]
    return found


def _find_doubled(one: torch.Size, two: torch.Size) -> list[int]:
    """Return the dimensions that are larger, twice if they are not exactly twice as large."""
    if len(one) != len(two):
        return [0, 0]
    larger = [place for place, (first, second) in enumerate(zip(one, two)) if first != second]
    return larger if all(two[place] == 2 * one[place] for place in larger) else [0, 0]


def _repeat_rows(output: object, rows: list[int | None], times: int) -> object:
    """Return an output with the rows of each of its tensors several times over."""
    leaves, structure = tree_flatten(output)
    dimensions = iter(rows)
    return tree_unflatten(
        [_tile(leaf, next(dimensions), times) if isinstance(leaf, Tensor) else leaf for leaf in leaves], structure
    )


def _tile(tensor: Tensor, dimension: int | None, times: int) -> Tensor:
    return tensor if dimension is None else torch.cat([tensor] * times, dimension)


def trace_reusable(model: HeadModel[Given], run: Callable[[Given], Tensor], batch: Given) -> Reusable[Given]:
    """Return what passes of a model in eval mode have in common, traced on the last examples of a batch, at most two.

    Args:
        model: The model.
        run: A pass, from a batch to a row per example.
        batch: A batch as it will be passed.
    """
    count = len(batch.positions)
    rows = list(range(count))[-2:]
    trial, twice = take_rows(batch, rows), take_rows(batch, rows * 2)
    return Reusable(model, run, trial, twice)
