"""A small made-up study of translation and, on request, of classification. For tests only.

Translation: two arms, two seeds, three kinds of three layers of eight heads, eight epochs. Each task of
classification: one arm, one seed, four layers of six heads, three epochs. Of the encoder, E1:1 finds rare words, E1:2
and E2:1 point to neighbours, E2:2 .. track relations, subjects with 40 points over the baseline, adverbs not at all.
Learned gates keep heads of high weight and heads with a role.
"""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from headroom.core.heads import KINDS, Head, Site, all_heads, format_profile
from headroom.experiments.bakeoff import stage as bakeoff
from headroom.study.tables import TABLES
from written_tables import write_rows

TRANSLATION_RUNS = [f"translation.{arm}.seed{seed}" for arm in ("baseline", "svgd") for seed in (1, 2)]


@dataclass(frozen=True)
class Task:
    """A task; its metrics, the main one first: the score as a multiple of the set's, and that without any head."""

    sites: list[Site]
    runs: list[str]
    epochs: int
    metrics: dict[str, tuple[float, float]]
    parts: tuple[str, ...]

    @property
    def heads(self) -> list[Head]:
        return all_heads(self.sites)


SETS = {"choose": 91.0, "test": 92.0, "far": 61.0}
LIKENESS = ("particle_cosine", "attention_cosine", "z_cosine", "z_cka")
RIGHT_OR_WRONG = ("exact", "accuracy")


def classifying(name: str, metrics: dict[str, tuple[float, float]]) -> Task:
    sites = [Site("E", layer, 6) for layer in (1, 2, 3, 4)]
    return Task(sites, [f"{name}.baseline.seed1"], 3, metrics | {"loss": (-0.01, 0.0)}, ("model",))


TASKS = {
    "translation": Task(
        [Site(kind, layer, 8) for kind in KINDS for layer in (1, 2, 3)],
        TRANSLATION_RUNS,
        8,
        {"bleu": (1.0, 0.0), "chrf": (0.6, 0.0), "exact": (1.4, 0.0), "loss": (-0.01, 0.0)},
        ("encoder", "decoder", "generation"),
    ),
    "sst2": classifying("sst2", {"accuracy": (1.0, 50.0)}),
    "cola": classifying("cola", {"matthews": (0.6, 0.0), "accuracy": (0.9, 55.0)}),
}
ALL_TASKS = tuple(TASKS)
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


class Maker:
    """Makes the rows of one run; heads have a hidden weight from which all tables follow."""

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
        self.encoder = [head for head in self.task.heads if head.kind == "E"]
        self.scopes = ("E", "all") if len(self.encoder) < len(self.task.heads) else ("all",)

    def row(self, **values: Any) -> Row:
        return {**self.lead, "signature": "tok:13a|n:500|seed:1", **values}

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
        for name, score in SETS.items():
            for metric, (factor, _) in self.task.metrics.items():
                full = score * abs(factor)
                for head in self.task.heads:
                    value = full - factor * (self.weight[head] + self.random.normal(0, 0.3) - 0.3)
                    yield self.row(**named(head), set=name, **self.tested(metric, full, value))

    def ablation_replaced(self) -> Iterator[Row]:
        for kind in ("mean", "resample"):
            yield from ({**row, "replacement": kind} for row in self.ablation())

    def pruning_replaced(self) -> Iterator[Row]:
        for kind in ("mean", "resample"):
            order = self.ranked("all", 0.0)
            curve = self.curve("all", "gradient-example", "raw", "fixed", 0, order)
            yield from ({**row, "replacement": kind} for row in curve)

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

    def pruning_epochs(self) -> Iterator[Row]:
        for epoch in range(1, self.task.epochs + 1):
            order = self.ranked("all", 1.6 / epoch)
            full = self.chance + (92.0 * self.factor - self.chance) * (1 - 0.6**epoch)
            for row in self.curve("all", "gradient-example", "raw", "fixed", 0, order, full=full):
                yield {**row, "epoch": epoch}

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

    def bakeoff_scores(self) -> Iterator[Row]:
        for criterion, noise in COMPARED.items():
            for half in ("all", "choose", "score"):
                random = numpy.random.default_rng(len(criterion + half))
                for head in self.task.heads:
                    value = self.weight[head] * random.lognormal(0, noise)
                    yield self.of(head, criterion=criterion, half=half, value=value)

    def bakeoff_costs(self) -> Iterator[Row]:
        for criterion in COMPARED:
            cost = {"output-norm": (1, 0, 0), "gradient-example": (1, 1, 1)}.get(
                criterion, (len(self.task.heads), 0, 1)
            )
            forward, backward, labels = cost
            passes = {"forward": forward, "backward": backward, "seconds": 0.7 * (forward + backward)}
            yield self.row(criterion=criterion, family="made", labels=labels, **passes)

    def bakeoff_curves(self) -> Iterator[Row]:
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

    def diversity(self) -> Iterator[Row]:
        apart = 0.0 if "baseline" in self.lead["run"] else 0.06
        for epoch in range(1, self.task.epochs + 1):
            for site in self.task.sites:
                for measure in LIKENESS:
                    value = 0.4 - 0.1 * site.layer / 3 - 0.02 * epoch - apart
                    yield self.row(epoch=epoch, kind=site.kind, layer=site.layer, measure=measure, value=value)

    def particles(self) -> Iterator[Row]:
        grown = 0.0 if "baseline" in self.lead["run"] else 0.05
        values = {"bandwidth": 3.1, "kernel_mean": 0.2, "kernel_sd": 0.01}
        values |= {"repulsion_from_origin": 0.95, "repulsion_from_mean": 0.99}
        for epoch in range(1, self.task.epochs + 1):
            norms = {"norm": 6 * (1 + grown * epoch), "norm_ratio": (1 + grown * epoch) / (1 + grown)}
            for site in self.task.sites:
                for projection in ("query", "key", "value"):
                    for measure, value in {**norms, **values}.items():
                        place = {"kind": site.kind, "layer": site.layer, "projection": projection}
                        yield self.row(epoch=epoch, **place, measure=measure, value=value)

    def of(self, head: Head, **values: Any) -> Row:
        return self.row(kind=head.kind, layer=head.layer, head=head.head, **values)

    def positional(self, head: Head) -> str:
        return {"E1:2": "-1", "E2:1": "+1"}.get(str(head), "")

    def tracked(self, head: Head) -> list[str]:
        place = self.encoder.index(head) - self.encoder.index(Head("E", 2, 2)) if head.kind == "E" else -1
        targets = [f"{relation}:{direction}" for relation in RELATIONS for direction in DIRECTIONS]
        return targets[:-2][place : place + 1] if place >= 0 else []

    def attention_stats(self) -> Iterator[Row]:
        for model in ("trained", "untrained"):
            for head in self.task.heads:
                yield from self.confidence(model, head)
                if head.kind != "A":
                    yield from self.offsets(model, head)
            for head in self.encoder:
                yield from self.relations(model, head, "gold")
                yield from self.rare(model, head)
        for head in self.encoder:
            yield from self.relations("trained", head, "shuffled")

    def distances(self) -> Iterator[Row]:
        for relation in RELATIONS:
            for position, value in {-2: 0.15, -1: 0.45, 1: 0.2, 2: 0.1}.items():
                bounds = {"value": value, "low": value - 0.02, "high": value + 0.02}
                yield self.row(relation=relation, position=position, **bounds, count=700)

    def confidence(self, model: str, head: Head) -> Iterator[Row]:
        value = 0.2 + 0.1 * self.pointing.random() if model == "untrained" else 0.35 + 0.5 * self.pointing.random()
        value = 0.93 if model == "trained" and self.positional(head) else value
        for half in ("all", "choose", "score"):
            where = {"model": model, "measure": "confidence", "half": half}
            yield self.of(head, **where, value=value, low=value - 0.02, high=value + 0.02, count=4000)

    def offsets(self, model: str, head: Head) -> Iterator[Row]:
        for offset in OFFSETS:
            value = 0.94 if model == "trained" and offset == self.positional(head) else 0.05
            where = {"model": model, "measure": "offset", "target": offset, "half": "all"}
            yield self.of(head, **where, value=value, low=value - 0.01, high=value + 0.01, count=4000)

    def relations(self, model: str, head: Head, trees: str) -> Iterator[Row]:
        for relation, margin in RELATIONS.items():
            for direction in DIRECTIONS:
                target, baseline = f"{relation}:{direction}", 0.45
                found = model == "trained" and trees == "gold" and target in self.tracked(head)
                value = baseline + margin if found else 0.1 + 0.2 * self.pointing.random()
                where = {"model": model, "measure": "relation", "target": target, "trees": trees, "count": 300}
                bounds = {"baseline": baseline, "low": value - baseline - 0.05, "high": value - baseline + 0.05}
                for half in ("choose", "score"):
                    yield self.of(head, **where, half=half, value=value, **bounds)

    def rare(self, model: str, head: Head) -> Iterator[Row]:
        for target, value in (("rarest", 0.55), ("two-rarest", 0.7)):
            value = value if model == "trained" and str(head) == "E1:1" else 0.15
            where = {"model": model, "measure": "rare", "target": target, "half": "all", "count": 400}
            yield self.of(head, **where, value=value, baseline=0.12, low=value - 0.16, high=value - 0.08)

    def roles(self) -> Iterator[Row]:
        for head in self.encoder:
            yield from self.roles_of(head, "trained")
        for scope in self.scopes:
            kept = self.kept(scope, LAMBDAS[2])
            for head in self.encoder:
                if head in kept:
                    yield from self.roles_of(head, f"hard-concrete.{scope}.{LAMBDAS[2]:g}")
            takes = next(head for head in self.encoder if head in kept and not self.tracked(head))
            where = {"role": "syntactic", "target": "amod:to-governor", "trees": "gold", "best": 1}
            bounds = {"value": 0.6, "baseline": 0.45, "low": 0.1, "high": 0.2}
            yield self.of(takes, model=f"hard-concrete.{scope}.{LAMBDAS[2]:g}", **where, **bounds)

    def roles_of(self, head: Head, model: str) -> Iterator[Row]:
        for target in filter(None, [self.positional(head), *self.tracked(head), "rarest" * (str(head) == "E1:1")]):
            syntactic = ":" in target
            role = "syntactic" if syntactic else "rare" if target == "rarest" else "positional"
            margin = RELATIONS[target.partition(":")[0]] if syntactic else 0.4
            margin = margin if syntactic else 0.49
            bounds = {"value": 0.45 + margin, "baseline": 0.45, "low": margin - 0.05, "high": margin + 0.05}
            trees = "gold" if syntactic else ""
            yield self.of(head, model=model, trees=trees, role=role, target=target, **bounds, best=1)

    def phenomena(self) -> Iterator[Row]:
        for group, loss in (("encoder", 40.0), ("nsubj", 12.0), ("obj", 3.0)):
            for phenomenon, full in (("agreement", 97.0), ("object", 92.0)):
                bounds = {"low": -loss - 4, "high": -loss + 4}
                own = {"value": full - loss, "full": full, "delta": -loss, **bounds, "count": 240}
                removed = " ".join(map(str, self.encoder[: 24 if group == "encoder" else 2]))
                others = {"draws": 0, **dict.fromkeys(("random", "beyond", "beyond_low", "beyond_high", "p"), "")}
                if group != "encoder":
                    beyond = {"beyond": 2 - loss, "beyond_low": -1 - loss, "beyond_high": 5 - loss, "p": 0.01}
                    others = {"draws": 5, "random": full - 2, **beyond}
                where = {"set": "test", "phenomenon": phenomenon, "group": group, "removed": removed}
                yield self.row(**where, **own, **others)

    def relevance(self) -> Iterator[Row]:
        for site in self.task.sites:
            heads = site.head_names()
            total = sum(self.weight[head] ** 0.3 for head in heads)
            for head in heads:
                value = self.weight[head] ** 0.3 / total
                for half in ("all", "choose", "score"):
                    for measure in ("relevance", "signed"):
                        where = {"measure": measure, "half": half, "count": 3000}
                        yield self.of(head, **where, value=value, low=value - 0.01, high=value + 0.01)
        where = {"kind": "", "layer": "", "head": "", "measure": "conservation-error", "half": "all", "count": 4}
        yield self.row(**where, value=3e-5, low="", high="")

    def gated(self, scope: str) -> list[Head]:
        return self.encoder if scope == "E" else self.task.heads

    def kept(self, scope: str, penalty: float) -> list[Head]:
        """The heads that a lambda leaves: those of high weight, the encoder's last, heads with a role before others."""
        worth = {
            head: self.weight[head] * {"E": 0.6, "A": 2.0, "D": 1.0}[head.kind]
            + 0.5 * bool(head in self.encoder and (self.positional(head) or self.tracked(head)))
            for head in self.gated(scope)
        }
        share = 1 - 0.25 * (1 + LAMBDAS.index(penalty)) + 0.02
        return sorted(worth, key=worth.__getitem__, reverse=True)[: max(2, round(share * len(worth)))]

    def gates(self) -> Iterator[Row]:
        for scope in self.scopes:
            for penalty in LAMBDAS:
                yield from self.gates_of("hard-concrete", scope, penalty, self.kept(scope, penalty))
            for share in SHARES:
                kept = self.best(scope, share)
                yield from self.gates_of("exact", scope, len(kept), kept)

    def best(self, scope: str, share: float) -> list[Head]:
        heads = sorted(self.gated(scope), key=self.weight.__getitem__, reverse=True)
        return heads[: round(share * len(heads))]

    def gates_of(self, method: str, scope: str, setting: float, kept: list[Head]) -> Iterator[Row]:
        for head in self.gated(scope):
            stays = head in kept
            sure = {"p_closed": 0.0 if stays else 0.999, "p_open": 0.998 if stays else 0.0}
            sure = sure if method == "hard-concrete" else {}
            where = {"method": method, "scope": scope, "setting": setting, "kept": int(stays)}
            yield self.of(head, **where, score=2.0 if stays else -3.0, **sure)

    def pruned_models(self) -> Iterator[Row]:
        for scope in self.scopes:
            for penalty in LAMBDAS:
                kept = self.kept(scope, penalty)
                for gates, gain in (("hard", 0.0), ("soft", 0.1)):
                    yield from self.model("hard-concrete", scope, penalty, kept, gates=gates, gain=gain)
            for share in SHARES:
                kept = self.best(scope, share)
                yield from self.model("exact", scope, len(kept), kept, gain=0.2)
                yield from self.model("gradient", scope, len(kept), kept)
                for draw in (1, 2):
                    drawn = self.pointing.permutation(len(self.gated(scope)))[: len(kept)]
                    heads = [self.gated(scope)[place] for place in drawn]
                    yield from self.model("random", scope, len(kept), heads, draw=draw, gain=-1.5)
            yield from self.model("continued", scope, len(self.gated(scope)), self.gated(scope), gain=0.3)
        for draw in (1, 2, 3):
            for penalty in LAMBDAS[:2]:
                kept = self.kept(scope, penalty)
                yield from self.model(
                    "scratch", scope, penalty, kept, draw=draw, start="scratch", gain=-0.6 - 0.1 * draw
                )
        for penalty in LAMBDAS[:2]:
            kept = self.kept(scope, penalty)
            yield from self.model("rewound", scope, penalty, kept, start="rewound-init", gain=-0.3)
            yield from self.model("rewound", scope, penalty, kept, start="rewound-epoch1", gain=-0.2)
            yield from self.model("random-scratch", scope, penalty, kept, draw=1, start="scratch", gain=-1.0)

    def model(
        self, method: str, scope: str, setting: float, kept: list[Head], *, draw: int = 0, gates: str = "hard",
        gain: float = 0.0, start: str = "converged",
    ) -> Iterator[Row]:  # fmt: skip
        removed = [head for head in self.gated(scope) if head not in kept]
        lost = sum(self.weight[head] for head in removed) / sum(self.weight.values())
        for metric, (factor, chance) in self.task.metrics.items():
            full = 92.0 * abs(factor)
            delta = -(0.12 * lost * abs(self.full - self.chance)) + gain
            delta = delta if factor > 0 else -delta / 100
            where = {"method": method, "scope": scope, "setting": setting, "draw": draw, "gates": gates}
            state = {"kept": len(kept), "heads": len(self.gated(scope)), "start": start, "updates": 300}
            state |= {"gate_updates": 120 if method == "exact" else 0, "total_updates": 5300}
            state |= {"undecided": 0 if method == "hard-concrete" else "", "removed": format_profile(removed)}
            test = {"set": "test", "metric": metric, "value": full + delta, "full": full, "chance": chance}
            tested = {"delta": delta, "low": delta - 0.5, "high": delta + 0.5, "p": 0.2, "p_sacrebleu": 0.1}
            yield self.row(**where, **state, **test, **tested)

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

    def maps(self) -> dict[str, Any]:
        made = []
        for head, role, target, offset in (
            ("E1:2", "positional", "-1", -1), ("E2:2", "syntactic", "nsubj:to-dependent", -2),
        ):  # fmt: skip
            for sentence in (1, 2):
                words = WORDS[sentence - 1 :]
                weights = [[0.01] * len(words) for _ in words]
                for row, line in enumerate(weights):
                    line[max(0, row + offset)] = 0.9
                one = {"head": head, "role": role, "target": target, "sentence": sentence, "weights": weights}
                made.append({**one, "queries": words, "keys": words})
        return {"run": self.lead["run"], "epoch": self.lead["epoch"], "maps": made}


def named(head: Head) -> Row:
    return {"kind": head.kind, "layer": head.layer, "head": head.head}


def timed(parts: Sequence[str]) -> Iterator[tuple[float, str, str, int]]:
    for share in (0.0, 0.25, 0.5, 0.75):
        for model in ("full", "masked", "sliced"):
            for part in parts:
                for batch in (1, 4, 16, 64):
                    yield share, model, part, batch


def update_cost(study: str) -> Iterator[Row]:
    for repeat in range(12):
        for arm, ratio in (("baseline", 1.0), ("svgd", 1.05 + 0.004 * (repeat % 5))):
            row = {"study": study, "arm": arm, "repeat": repeat, "seconds": 0.2 * ratio, "ratio": ratio}
            yield {**row, "signature": "device:cpu"}


def repulsion(study: str) -> Iterator[Row]:
    lead = {"study": study, "task": "translation", "signature": "paired over seeds", "seeds": "1 2"}
    for statistic, values in (("metric", (92.0, 92.6)), ("curve_area", (0.86, 0.87))):
        metric = {"set": "test", "metric": "bleu"}
        for arm, value in zip(("baseline", "svgd"), values):
            name = "metric_mean" if statistic == "metric" else statistic
            bounds = {"value": value, "low": value - 1, "high": value + 1, "p": ""}
            yield {**lead, **metric, "statistic": name, "arm": arm, **bounds}
        bounds = {"value": values[1] - values[0], "low": -0.2, "high": 0.9, "p": 0.4}
        yield {
            **lead,
            **metric,
            "statistic": f"{statistic}_difference",
            "arm": "svgd",
            "baseline": "baseline",
            **bounds,
        }
    for measure in LIKENESS:
        row = {**lead, "statistic": f"diversity_difference_{measure}", "set": "", "metric": "", "arm": "svgd"}
        yield {**row, "baseline": "baseline", "value": -0.06, "low": -0.08, "high": -0.04, "p": 0.02}


def overlaps(study: str) -> Iterator[Row]:
    heads = len(TASKS["translation"].heads)
    for first, second in itertools.combinations(TRANSLATION_RUNS, 2):
        arms = {"arm": first.split(".")[1], "other_arm": second.split(".")[1]}
        between_seeds = arms["arm"] == arms["other_arm"]
        if not between_seeds and first.split(".")[2] != second.split(".")[2]:
            continue
        for share in (0.25, 0.5):
            row = {"study": study, "task": "translation", "criterion": "gradient-example", **arms}
            row |= {"share": share, "kept": round(share * heads), "run": first, "other": second}
            value = share + (0.3 if between_seeds else 0.2)
            yield {**row, "value": value, "chance": share, "signature": "set:choose"}


OF_ARMS = {"update_cost": update_cost, "arms": repulsion, "overlap": overlaps}
NOT_SHOWN = ("scores_halves", "ablation_halves", "timing_samples", "keep_one_replaced")


def write_example_study(
    directory: Path, study: str = "example", only: tuple[str, ...] = (), tasks: Sequence[str] = ("translation",)
) -> list[Path]:
    """Write the tables of the made-up study below `directory` and return their paths."""
    paths = []
    for name, table in TABLES.items():
        if name in NOT_SHOWN or (only and name not in only):
            continue
        if name == "bakeoff":
            paths += [compared(directory, study, task) for task in tasks]
            continue
        if name in OF_ARMS:
            files = {directory / f"{name}.csv": OF_ARMS[name](study)} if "translation" in tasks else {}
        else:
            makers = {run: Maker(study, run) for task in tasks for run in TASKS[task].runs}
            files = {directory / name / f"{run}.csv": getattr(maker, name)() for run, maker in makers.items()}
        paths += [write_rows(table, path, rows) for path, rows in files.items()]
    return paths


def compared(directory: Path, study: str, task: str) -> Path:
    """Summarise the criteria of a task from the tables of its baseline, as the stage does; return the path."""
    runs = [run for run in TASKS[task].runs if ".baseline." in run]
    named = {"curves": "bakeoff_curves", "scores": "bakeoff_scores", "costs": "bakeoff_costs"}
    given = [text for flag, name in named.items() for text in (f"--{flag}", *places(directory / name, runs))]
    path = directory / "bakeoff" / f"{task}.csv"
    path.parent.mkdir(exist_ok=True)
    bakeoff.main(["--study", study, "--task", task, *given, "--output", str(path)])
    return path


def places(directory: Path, runs: Sequence[str]) -> list[str]:
    return [str(directory / f"{run}.csv") for run in runs]


def write_example_maps(directory: Path, tasks: Sequence[str] = ("translation",)) -> list[Path]:
    """Write the attention maps of the first run of each task below `directory` and return their paths."""
    paths = []
    for maker in (Maker("example", TASKS[task].runs[0]) for task in tasks):
        paths.append(directory / "attention_maps" / f"{maker.lead['run']}.json")
        paths[-1].parent.mkdir(parents=True, exist_ok=True)
        paths[-1].write_text(json.dumps(maker.maps()), encoding="utf-8")
    return paths
