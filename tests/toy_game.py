"""A model whose loss is a known function of its gates, for tests: all answers can be worked out by hand."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import torch
from headroom.core.heads import Head, Site
from headroom.engines.gates import Gates
from headroom.engines.head_model import HeadModel
from headroom.engines.sites import AttentionSite
from torch import Tensor, nn

Game = Callable[[Tensor, Tensor], Tensor]
"""From gates (B, N) in table order and the numbers of the examples (B,) to their losses, (B,)."""


@dataclass(frozen=True)
class Batch:
    """Examples that are one number each."""

    positions: list[int]
    number: Tensor


class GameModel(HeadModel):
    """Sites with heads of one feature, whose z is 1: behind the gates it is the gate."""

    # a game has nothing but losses
    logits = real = ordinary = maps_shown = spans = sentence_batches = frequencies = trainable = save = None

    def __init__(self, game: Game, *, heads: tuple[int, ...] = (2, 2), removed: Collection[Head] = ()) -> None:
        """Play a game with this number of heads in each encoder layer; `removed` are not there, their gates are 0."""
        self.game = game
        self.model = nn.ModuleList()
        self.live_sites = []
        for layer, count in enumerate(heads, 1):
            site = Site("E", layer, count)
            kept = tuple(head.head for head in site.head_names() if head not in removed)
            output = nn.Linear(len(kept), len(kept), bias=False)
            output.weight = nn.Parameter(torch.eye(len(kept), dtype=torch.float64), requires_grad=False)
            self.model.append(output)
            parent, place = nn.ModuleDict({"output": output}), {"attribute": "output", "output_place": "output"}
            self.live_sites.append(AttentionSite(site=site, parent=parent, queries="", kept=kept, **place))
        self.gates = Gates(sites=self.live_sites, batch_first=True)
        self.rows = 0

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor]:
        self.rows += len(batch.number)
        gates = []
        for live in self.live_sites:
            kept = live.output(torch.ones(len(batch.number), 1, len(live.kept), dtype=torch.float64)).squeeze(1)
            whole = torch.zeros(len(kept), live.site.heads, dtype=torch.float64)
            gates.append(whole.index_copy(1, torch.tensor(live.kept, dtype=torch.long) - 1, kept))
        return self.game(torch.cat(gates, dim=1), batch.number), torch.ones(len(batch.number))


def numbers(*sizes: int) -> list[Batch]:
    """Return batches of these sizes; the number of an example is its position."""
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    spans = [range(start, start + size) for start, size in zip(starts, sizes)]
    return [Batch(list(span), torch.tensor(span, dtype=torch.float64)) for span in spans]


def heads_of(model: GameModel) -> list[Head]:
    """Return all heads in table order."""
    return [head for site in model.sites for head in site.head_names()]
