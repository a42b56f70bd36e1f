"""The last layer at the first position alone, which is all that most classification heads read.

Its attention still runs on the states of all positions, as they are its keys and values, but z is passed on only at the
first position, so that the rest of the layer computes one position per example.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from headroom.engines.sites import AttentionSite

Output = Tensor | tuple[Tensor, *tuple[object, ...]]
"""What modules of transformers return: states, alone or before other results."""


@dataclass(frozen=True)
class LastLayer:
    """A last layer of which only the first position is read.

    Attributes:
        layer: The layer, from states (B, T, D) to states.
        attention: Its attention module, which gets the same states.
    """

    layer: nn.Module
    attention: nn.Module

    @contextmanager
    def at_first_position(self) -> Iterator[None]:
        """Compute only the first position of the layer within a block; its output repeats it, as (B, T, D)."""
        layer, attention = self.layer.forward, self.attention.forward
        own = [vars(module).get("forward") for module in (self.layer, self.attention)]
        whole: list[Tensor] = []

        def layer_forward(states: Tensor, *inputs: object, **options: object) -> Output:
            whole[:] = [states]
            output = layer(states[:, :1], *inputs, **options)
            return _change_output(output, lambda first: first.expand(-1, states.shape[1], -1))

        def attention_forward(_: Tensor, *inputs: object, **options: object) -> Output:
            return _change_output(attention(whole[0], *inputs, **options), lambda z: z[:, :1])

        self.layer.forward, self.attention.forward = layer_forward, attention_forward
        try:
            yield
        finally:
            for module, forward in zip((self.layer, self.attention), own):
                del module.forward
                if forward is not None:
                    module.forward = forward


def read_at_first_position(
    model: nn.Module, sites: Sequence[AttentionSite], inputs: dict[str, Tensor]
) -> LastLayer | None:
    """Return the last layer if the logits of some examples depend on it only at the first position; else None.

    The layer is the innermost member of a list of modules with the last site in it. It must pass its states on
    to attention as they are (normalised ones could not be completed), which then is a module without residual.
    """
    live = next((live for live in reversed(sites) if live.kept), None)
    holders = [member for part in model.modules() if isinstance(part, nn.ModuleList) for member in part]
    inside = [holder for holder in holders if live and any(live.attention is part for part in holder.modules())]
    if live is None or not inside:
        return None
    last = LastLayer(layer=inside[-1], attention=live.attention)
    seen: dict[nn.Module, object] = {}

    def keep(module: nn.Module, given: tuple[object, ...]) -> None:
        seen[module] = given[0] if given else None

    def spoil(_: nn.Module, __: object, output: Output) -> Output:
        return _change_output(output, _without_others)

    handles = [module.register_forward_pre_hook(keep) for module in (last.layer, last.attention)]
    whole = model(**inputs)[0]
    handles.append(last.layer.register_forward_hook(spoil))
    spoilt = model(**inputs)[0]
    for handle in handles:
        handle.remove()
    states = seen.get(last.layer)
    passed_on = isinstance(states, Tensor) and states.dim() == 3 and states is seen.get(last.attention)
    return last if passed_on and torch.equal(whole, spoilt) else None


def _without_others(states: Tensor) -> Tensor:
    """Return states (B, T, D) with NaN at all positions except the first: all that is computed from them is NaN."""
    others = torch.full_like(states, torch.nan)
    others[:, 0] = states[:, 0]
    return others


def _change_output(output: Output, change: Callable[[Tensor], Tensor]) -> Output:
    """Return what a module returns, a tensor or a tuple with a tensor first, with a changed tensor."""
    return (change(output[0]), *output[1:]) if isinstance(output, tuple) else change(output)
