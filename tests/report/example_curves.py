"""Rows of pruning curves, and of the comparison of criteria, in the made-up study. For tests only."""

from collections.abc import Iterator

import numpy
from headroom.core.heads import format_profile
from headroom.study.tables import TABLES
from report.example_tasks import COMPARED, CRITERIA, Heads, Row


class Curves(Heads):
    """Makes the rows of the curves of one run."""

    def pruning(self) -> Iterator[Row]:
        kinds = list(dict.fromkeys(site.kind for site in self.task.sites))
        for scope in ("all", *(kinds if len(kinds) > 1 else [])):
            for criterion in CRITERIA if scope == "all" else CRITERIA[1:2]:
                yield from self.curve(scope, criterion, "raw", "fixed", 0, self.ranked(scope, 0.0))
            yield from self.curve(scope, "gradient-example", "raw", "rescored", 0, self.ranked(scope, 0.0))
            yield from self.curve(scope, "ablation", "", "fixed", 0, self.ranked(scope, 0.8))
            for draw in range(5 if scope == "all" else 2):
                yield from self.curve(scope, "random", "", "fixed", draw, self.ranked(scope, 9.0))
            yield from self.curve(scope, "reverse", "", "fixed", 0, self.ranked(scope, 0.0)[::-1])
        for site in self.task.sites:
            order = sorted(site.head_names(), key=self.weight.__getitem__)
            yield from self.curve(str(site), "gradient-example", "raw", "fixed", 0, order)
        for kind in ("mean", "resample"):
            curve = self.curve("all", "gradient-example", "raw", "fixed", 0, self.ranked("all", 0.0))
            yield from ({**row, "replacement": kind} for row in curve)

    def pruning_epochs(self) -> Iterator[Row]:
        for epoch in range(1, self.task.epochs + 1):
            order = self.ranked("all", 1.6 / epoch)
            full = self.chance + (92.0 * self.factor - self.chance) * (1 - 0.6**epoch)
            for row in self.curve("all", "gradient-example", "raw", "fixed", 0, order, full=full):
                yield {**row, "epoch": epoch}

    def scores_compared(self) -> Iterator[Row]:
        for criterion, noise in COMPARED.items():
            for half in ("all", "choose", "score"):
                random = numpy.random.default_rng(len(criterion + half))
                for head in self.task.heads:
                    value = self.weight[head] * random.lognormal(0, noise)
                    yield self.of(head, criterion=criterion, half=half, value=value)

    def scores_costs(self) -> Iterator[Row]:
        for criterion in COMPARED:
            cost = {"output-norm": (1, 0, 0), "gradient-example": (1, 1, 1)}.get(
                criterion, (len(self.task.heads), 0, 1)
            )
            forward, backward, labels = cost
            passes = {"forward": forward, "backward": backward, "seconds": 0.7 * (forward + backward)}
            yield self.row(criterion=criterion, family="made", labels=labels, **passes)

    def pruning_compared(self) -> Iterator[Row]:
        for order, ranking, noise, draws in (
            *((criterion, "fixed", noise, 1) for criterion, noise in COMPARED.items()),
            *(("gradient-example", "rescored", 0.1, 1), ("random", "fixed", 9.0, 2), ("top-first", "fixed", 3.0, 1)),
            *(("bottom-first", "fixed", 4.0, 1), ("reverse", "fixed", 0.0, 1)),
        ):
            for draw in range(draws):
                random = numpy.random.default_rng(draw)
                noisy = {head: self.weight[head] * random.lognormal(0, noise) for head in self.task.heads}
                heads = sorted(noisy, key=noisy.__getitem__, reverse=order == "reverse")
                for repair, more in (("none", 0.0), ("obs", 0.02)):
                    for row in self.curve("all", order, "", ranking, draw, heads):
                        repaired = row["value"] + more * self.full * bool(row["removed"])
                        yield {**row, "repair": repair, "value": min(row["full"], repaired)}

    def bakeoff_retraining(self) -> Iterator[Row]:
        ranked = sorted(self.task.heads, key=self.weight.__getitem__)
        random = [numpy.random.default_rng(draw).permutation(len(ranked)) for draw in (0, 1)]
        orders = [("full", 0, []), ("good", 0, ranked), ("bad", 0, ranked[::-1])]
        orders += [("random", draw, [ranked[place] for place in places]) for draw, places in enumerate(random)]
        for layout, draw, heads in orders:
            removed = heads[: len(ranked) // 2]
            lost = sum(self.weight[head] for head in removed) / sum(self.weight.values())
            named = {"layout": layout, "draw": draw, "criterion": "output-norm" if layout in ("good", "bad") else ""}
            size = {"heads_removed": len(removed), "heads_total": len(ranked), "removed": format_profile(removed)}
            for updates, regained in ((0, 0.0), (300, 0.7)):
                kept = 1 - lost * (1 - regained) + 0.01 * (updates > 0)
                value = self.chance + (self.full - self.chance) * kept
                tested = {
                    name: one
                    for name, one in self.tested(self.metric, self.full, value).items()
                    if name in TABLES["bakeoff_retraining"].names
                }
                yield self.row(**named, **size, updates=updates, set="test", **tested)
