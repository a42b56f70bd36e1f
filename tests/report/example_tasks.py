"""The tasks of the made-up study, and what its tables follow from: hidden weights of heads. For tests only."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy
from headroom.core.heads import KINDS, Head, Site, all_heads, format_profile

TRANSLATION_RUNS = [f"translation.{arm}.seed{seed}" for arm in ("baseline", "svgd") for seed in (1, 2)]


@dataclass(frozen=True)
class Task:
    """A task; its metrics, the main one first: the score as a multiple of the set's, and that without any head."""

    sites: list[Site]
    runs: list[str]
    epochs: int
    metrics: dict[str, tuple[float, float]]
    parts: tuple[str, ...]
    absent: tuple[str, ...] = ()  # tables that it has not

    @property
    def heads(self) -> list[Head]:
        return all_heads(self.sites)


SETS = {"choose": 91.0, "test": 92.0, "far": 61.0}
PAIRS = ("minimal_pairs",)
LIKENESS = ("particle_cosine", "attention_cosine", "z_cosine", "z_cka")
RIGHT_OR_WRONG = ("exact", "accuracy")


def classifying(name: str, metrics: dict[str, tuple[float, float]]) -> Task:
    sites = [Site("E", layer, 6) for layer in (1, 2, 3, 4)]
    return Task(sites, [f"{name}.baseline.seed1"], 3, metrics | {"loss": (-0.01, 0.0)}, ("model",), PAIRS)


TASKS = {
    "translation": Task(
        [Site(kind, layer, 8) for kind in KINDS for layer in (1, 2, 3)],
        TRANSLATION_RUNS,
        8,
        {"bleu": (1.0, 0.0), "chrf": (0.6, 0.0), "exact": (1.4, 0.0), "loss": (-0.01, 0.0)},
        ("encoder", "decoder", "generation"),
        PAIRS,
    ),
    "sst2": classifying("sst2", {"accuracy": (1.0, 50.0)}),
    "cola": classifying("cola", {"matthews": (0.6, 0.0), "accuracy": (0.9, 55.0)}),
    "wikitext": Task(
        [Site("D", layer, 9) for layer in range(1, 31)],
        ["wikitext.baseline.seed1"],
        1,
        {"next": (0.47, 4.5), "loss": (-0.037, 0.0), "bits": (-0.0104, 0.0)},
        ("prefill", "generation"),
        ("training", "settling", "gates", "pruned_models", "bakeoff_retraining", "particles", "distances", "phenomena"),
    ),
}
COMPARED = {"gradient-example": 0.3, "output-norm": 0.8, "loss-ablation": 0.0}
"""The criteria that are compared, with the noise of their scores."""
CRITERIA = ("gradient-token", "gradient-example", "gradient-batch", "gradient-squared")

OFFSETS = tuple(f"{offset:+d}".replace("+0", "0") for offset in range(-5, 6))
RELATIONS = {"nsubj": 0.4, "obj": 0.32, "amod": 0.22, "advmod": 0.02}
"""By relation what the best head has over the most frequent relative position."""

DIRECTIONS = ("to-dependent", "to-governor")
LAMBDAS = (0.003, 0.01, 0.03, 0.1)
SHARES = (0.25, 0.5, 0.75)
WORDS = ("The", "small", "dogs", "<b>quickly</b>", "see", "the", "old", "house", ".")

Row = dict[str, Any]


def named(head: Head) -> Row:
    return {"kind": head.kind, "layer": head.layer, "head": head.head}


class Heads:
    """The heads of one run with a hidden weight each; the rows of all its tables follow from these."""

    def __init__(self, study: str, run: str) -> None:
        self.task = TASKS[run.partition(".")[0]]
        self.random = numpy.random.default_rng(sum(map(ord, run)))
        self.lead = {"study": study, "run": run, "epoch": self.task.epochs}
        drawn = self.random.pareto(1.1, len(self.task.heads)) + 0.05
        self.weight = dict(zip(self.task.heads, numpy.minimum(drawn / drawn.max() * 4, 4.0)))
        self.quality = 1.0 if "baseline" in run else 1.01
        self.metric, (self.factor, self.chance) = next(iter(self.task.metrics.items()))
        self.full = 92.0 * self.factor
        self.pointing = numpy.random.default_rng(len(run))
        self.is_decoder = all(head.kind == "D" for head in self.task.heads)
        self.examined = [head for head in self.task.heads if head.kind == "E" or self.is_decoder]
        self.scopes = () if self.is_decoder else ("E", "all") if len(self.examined) < len(self.task.heads) else ("all",)

    def row(self, **values: Any) -> Row:
        return {**self.lead, "signature": "tok:13a|n:500|seed:1", **values}

    def of(self, head: Head, **values: Any) -> Row:
        return self.row(kind=head.kind, layer=head.layer, head=head.head, **values)

    def tested(self, metric: str, full: float, value: float) -> Row:
        spread = 0.35
        p = float(numpy.clip(numpy.exp(-abs(value - full) / 0.12), 0.001, 1))
        chance = self.task.metrics[metric][1]
        changed = {"metric": metric, "value": value, "full": full, "chance": chance, "delta": value - full}
        bounds = {"low": value - full - spread, "high": value - full + spread}
        paired = metric in RIGHT_OR_WRONG
        tests = {"p_mcnemar": min(1.0, 1.3 * p) if paired else "", "p_unpaired": p**0.3 if paired else ""}
        tests |= {"p_sacrebleu": p / 2, "p_holm": min(1.0, p * 9), "p_bh": min(1.0, p * 4)}
        return {**changed, **bounds, "p": p, **tests}

    def ranked(self, scope: str, noise: float) -> list[Head]:
        heads = all_heads(self.task.sites, scope)
        return sorted(heads, key=lambda head: self.weight[head] * self.random.lognormal(0, noise))

    def curve(
        self,
        scope: str,
        order: str,
        normalised: str,
        ranking: str,
        draw: int,
        heads: list[Head],
        full: float | None = None,
    ) -> Iterator[Row]:
        total = sum(self.weight.values())
        full = 92.0 * self.factor if full is None else full
        for step in range(11):
            removed = heads[: round(len(heads) * step / 10)]
            lost = sum(self.weight[head] for head in removed) / total
            value = full - (full - self.chance) * min(1.0, lost * 1.6) ** 1.4
            kind = {"scope": scope, "order": order, "normalised": normalised, "ranking": ranking}
            size = {"draw": draw, "heads_removed": len(removed), "heads_total": len(heads)}
            where = {"removed": format_profile(removed), "set": "test"}
            yield self.row(**kind, **size, **where, **self.tested(self.metric, full, value))

    def positional(self, head: Head) -> str:
        known = {(1, 2): "-1", (2, 1): "-2" if self.is_decoder else "+1"}
        return known.get((head.layer, head.head), "") if head in self.examined else ""

    def tracked(self, head: Head) -> list[str]:
        place = self.examined.index(head) - self.examined.index(Head("E", 2, 2)) if head.kind == "E" else -1
        targets = [f"{relation}:{direction}" for relation in RELATIONS for direction in DIRECTIONS]
        return targets[:-2][place : place + 1] if place >= 0 else []
