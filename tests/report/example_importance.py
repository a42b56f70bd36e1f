"""Rows about the models and the importance of single heads in the made-up study. For tests only."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from headroom.core.heads import format_profile
from report.example_tasks import CRITERIA, SETS, Heads, Row, named


class Importance(Heads):
    """Makes the rows about the model of one run, and about its heads one by one."""

    def training(self) -> Iterator[Row]:
        speed = "words_per_second" if "translation" in self.lead["run"] else "examples_per_second"
        for epoch in range(1, self.task.epochs + 1):
            loss = 4.2 * 0.55**epoch + 0.3
            values = {"train_loss": loss * 1.05, "valid_loss": loss, "seconds": 41.0, "updates": 120 * epoch}
            values |= {speed: 5200.0, "gradient_norm": 1.3, "head_gradient_norm": 0.4}
            if speed == "examples_per_second":
                values["valid_accuracy"] = 90 - 10 * 0.5**epoch
            for measure, value in values.items():
                yield self.row(epoch=epoch, measure=measure, value=value)

    def evaluation(self) -> Iterator[Row]:
        decoding = "beam5" if "translation" in self.lead["run"] else "argmax"
        for name, full in SETS.items():
            for metric, (factor, _) in self.task.metrics.items():
                value = full * abs(factor) * self.quality + self.random.normal(0, 0.3)
                bounds = {"low": value - 1, "high": value + 1}
                yield self.row(set=name, metric=metric, value=value, decoding=decoding, **bounds)

    def scores(self) -> Iterator[Row]:
        for epoch in range(1, self.task.epochs + 1):
            for criterion in CRITERIA:
                for head in self.task.heads:
                    noise = self.random.lognormal(0, 1.6 / epoch)
                    values = {"raw": self.weight[head] * noise, "layer": self.weight[head] * noise / 4}
                    for normalised, value in values.items():
                        where = {**named(head), "criterion": criterion, "normalised": normalised}
                        yield self.row(epoch=epoch, value=value, **where)

    def ablation(self) -> Iterator[Row]:
        for kind, (name, score) in itertools.product(("zero", "mean", "resample"), SETS.items()):
            for metric, (factor, _) in self.task.metrics.items():
                full = score * abs(factor)
                for head in self.task.heads:
                    value = full - factor * (self.weight[head] + self.random.normal(0, 0.3) - 0.3)
                    where = {**named(head), "replacement": kind, "set": name}
                    yield self.row(**where, **self.tested(metric, full, value))

    def keep_one(self) -> Iterator[Row]:
        for site in self.task.sites:
            heads = site.head_names()
            worst = 14.0 if (site.kind, site.layer) == ("A", 3) else 0.0
            lost = {name: worst + self.random.exponential(0.4, len(heads)) for name in ("choose", "test")}
            best = {name: heads[int(values.argmin())] for name, values in lost.items()}
            for name, losses in lost.items():
                full = SETS[name] * self.factor
                for head, drop in zip(heads, losses):
                    chosen = " ".join(other for other, kept in best.items() if kept == head)
                    where = {**named(head), "set": name, "chosen_on": chosen}
                    yield self.row(**where, **self.tested(self.metric, full, full - drop))

    def agreement(self) -> Iterator[Row]:
        for kind in ("all", *dict.fromkeys(site.kind for site in self.task.sites)):
            for statistic in ("pearson", "spearman"):
                for dropped in (0, 1, 2, 5, 10):
                    value = 0.62 - 0.03 * dropped
                    bounds = {"low": value - 0.2, "high": value + 0.15}
                    yield self.agreed(kind, statistic=statistic, dropped=dropped, value=value, **bounds)
            for k in (5, 10, 20):
                bounds = {"low": 0.4, "high": 0.8, "chance": k / len(self.task.heads), "k": k}
                yield self.agreed(kind, statistic="overlap", dropped=0, value=0.6, **bounds)

    def agreed(self, kind: str, **values: Any) -> Row:
        return self.row(kind=kind, set_a="test", set_b="far", metric=self.metric, **values)

    def rank_correlation(self) -> Iterator[Row]:
        names = ("gradient-example", "gradient-token", "ablation", "confidence", "relevance", "gates")
        kinds = list(dict.fromkeys(site.kind for site in self.task.sites))
        sizes = {"all": len(self.task.heads)} | {kind: len(self.task.heads) // len(kinds) for kind in kinds}
        sizes |= {str(site): site.heads for site in self.task.sites}
        for scope, heads in sizes.items():
            for place, first in enumerate(names):
                for second in names[place + 1 :]:
                    value = 0.9 - 0.22 * (names.index(second) - place) + 0.03 * place
                    ceiling = "" if "ablation" in (first, second) else 0.93
                    bounds = {"low": value - 0.2, "high": min(1.0, value + 0.15), "ceiling": ceiling}
                    pair = {"first": first, "second": second, "statistic": "spearman", "heads": heads}
                    yield self.row(scope=scope, **pair, value=value, **bounds)

    def settling(self) -> Iterator[Row]:
        for epoch in range(1, self.task.epochs):
            for kind in ("all", *dict.fromkeys(site.kind for site in self.task.sites)):
                for statistic, k in (("spearman", ""), ("kendall", ""), ("overlap", 10)):
                    value = 1 - 0.7 * 0.6**epoch
                    bounds = {"low": value - 0.1, "high": min(1.0, value + 0.1), "chance": 0.14 if k else 0.0}
                    what = {"criterion": "gradient-example", "normalised": "raw", "statistic": statistic}
                    yield self.row(epoch=epoch, kind=kind, k=k, value=value, **what, **bounds)

    def parameters(self) -> Iterator[Row]:
        for site in self.task.sites:
            size = {"heads": site.heads, "head_parameters": 4096, "attention_parameters": 4096 * site.heads + 64}
            yield self.row(kind=site.kind, layer=site.layer, model_parameters=900_000, **size)

    def removal(self) -> Iterator[Row]:
        checks = {"identical_outputs": 1, "differing_outputs": 0, "largest_logit_difference": 3.1e-6}
        checks |= {"parameters_full": 2_400_000, "parameters_sliced": 2_190_000, "examples": 500}
        for share in (0.25, 0.5, 0.75):
            removed = round(share * len(self.task.heads))
            profile = format_profile(self.ranked("all", 0.0)[:removed])
            for check, value in checks.items():
                yield self.row(heads_removed=removed, removed=profile, check=check, value=value)

    def timing(self) -> Iterator[Row]:
        for share, model, part, batch in timed(self.task.parts):
            expected = 1 / (1 - share / 4) if model == "sliced" else 1.0
            speedup = 1 + (expected - 1) * min(1, 0.3 + batch / 40) if model == "sliced" else 0.99
            seconds = 0.02 * batch**0.8 / speedup
            row = self.row(share_removed=share, heads_removed=round(len(self.task.heads) * share), model=model)
            row |= {"part": part, "batch_size": batch, "median_seconds": seconds, "repeats": 9, "speedup": speedup}
            row |= {"quartile_low": seconds * 0.97, "quartile_high": seconds * 1.04, "threads": 2}
            row |= {"speedup_low": speedup - 0.03, "speedup_high": speedup + 0.03, "device": "cpu"}
            row |= {"expected_speedup": expected, "multiply_adds": 1e8, "parameters": 2_400_000}
            del row["epoch"]
            yield row


def timed(parts: Sequence[str]) -> Iterator[tuple[float, str, str, int]]:
    for share in (0.0, 0.25, 0.5, 0.75):
        for model in ("full", "masked", "sliced"):
            for part in parts:
                for batch in (1, 4, 16, 64):
                    yield share, model, part, batch
