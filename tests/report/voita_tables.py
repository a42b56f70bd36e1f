"""What heads of the made-up study do and how learned gates prune them. For tests only.

Encoder heads: E1:1 finds rare words, E1:2 and E2:1 point to neighbours, E2:2 .. track relations, subjects with 40
points over the baseline, adverbs not at all. Gates keep heads of high weight and heads with a role.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
from headroom.core.heads import Head, format_profile

Row = dict[str, Any]

OFFSETS = tuple(f"{offset:+d}".replace("+0", "0") for offset in range(-5, 6))
RELATIONS = {"nsubj": 0.4, "obj": 0.32, "amod": 0.22, "advmod": 0.02}
"""By relation what the best head has over the most frequent relative position."""

DIRECTIONS = ("to-dependent", "to-governor")
LAMBDAS = (0.003, 0.01, 0.03, 0.1)
SHARES = (0.25, 0.5, 0.75)
WORDS = ("The", "small", "dogs", "<b>quickly</b>", "see", "the", "old", "house", ".")


class VoitaMaker:
    """Makes the rows of one run from its task, its hidden weights and its leading columns."""

    def __init__(self, maker: Any) -> None:
        self.task, self.lead, self.weight, self.row = maker.task, maker.lead, maker.weight, maker.row
        self.full, self.chance, self.metric = 92.0 * maker.factor, maker.chance, maker.metric
        self.random = numpy.random.default_rng(len(self.lead["run"]))
        self.encoder = [head for head in self.task.heads if head.kind == "E"]
        self.scopes = ("E", "all") if len(self.encoder) < len(self.task.heads) else ("all",)

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

    def confidence(self, model: str, head: Head) -> Iterator[Row]:
        value = 0.2 + 0.1 * self.random.random() if model == "untrained" else 0.35 + 0.5 * self.random.random()
        value = 0.93 if model == "trained" and self.positional(head) else value
        for half in ("all", "choose", "score"):
            where = {"model": model, "measure": "confidence", "target": "", "trees": "", "half": half, "baseline": ""}
            yield self.of(head, **where, value=value, low=value - 0.02, high=value + 0.02, count=4000)

    def offsets(self, model: str, head: Head) -> Iterator[Row]:
        for offset in OFFSETS:
            value = 0.94 if model == "trained" and offset == self.positional(head) else 0.05
            where = {"model": model, "measure": "offset", "target": offset, "trees": "", "half": "all", "baseline": ""}
            yield self.of(head, **where, value=value, low=value - 0.01, high=value + 0.01, count=4000)

    def relations(self, model: str, head: Head, trees: str) -> Iterator[Row]:
        for relation, margin in RELATIONS.items():
            for direction in DIRECTIONS:
                target, baseline = f"{relation}:{direction}", 0.45
                found = model == "trained" and trees == "gold" and target in self.tracked(head)
                value = baseline + margin if found else 0.1 + 0.2 * self.random.random()
                where = {"model": model, "measure": "relation", "target": target, "trees": trees, "count": 300}
                bounds = {"baseline": baseline, "low": value - baseline - 0.05, "high": value - baseline + 0.05}
                for half in ("choose", "score"):
                    yield self.of(head, **where, half=half, value=value, **bounds)

    def rare(self, model: str, head: Head) -> Iterator[Row]:
        for target, value in (("rarest", 0.55), ("two-rarest", 0.7)):
            value = value if model == "trained" and str(head) == "E1:1" else 0.15
            where = {"model": model, "measure": "rare", "target": target, "trees": "", "half": "all", "count": 400}
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
            sure = sure if method == "hard-concrete" else {"p_closed": "", "p_open": ""}
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
                    drawn = self.random.permutation(len(self.gated(scope)))[: len(kept)]
                    heads = [self.gated(scope)[place] for place in drawn]
                    yield from self.model("random", scope, len(kept), heads, draw=draw, gain=-1.5)
            yield from self.model("continued", scope, len(self.gated(scope)), self.gated(scope), gain=0.3)
        for draw in (1, 2, 3):
            for penalty in LAMBDAS[:2]:
                kept = self.kept(scope, penalty)
                yield from self.model("scratch", scope, penalty, kept, draw=draw, gain=-0.6 - 0.1 * draw)

    def model(
        self, method: str, scope: str, setting: float, kept: list[Head], *, draw: int = 0, gates: str = "hard",
        gain: float = 0.0,
    ) -> Iterator[Row]:  # fmt: skip
        removed = [head for head in self.gated(scope) if head not in kept]
        lost = sum(self.weight[head] for head in removed) / sum(self.weight.values())
        for metric, (factor, _) in self.task.metrics.items():
            full = 92.0 * abs(factor)
            delta = -(0.12 * lost * abs(self.full - self.chance)) + gain
            delta = delta if factor > 0 else -delta / 100
            where = {"method": method, "scope": scope, "setting": setting, "draw": draw, "gates": gates}
            state = {"kept": len(kept), "heads": len(self.gated(scope)), "start": "converged", "updates": 300}
            state |= {"undecided": 0 if method == "hard-concrete" else "", "removed": format_profile(removed)}
            test = {"set": "test", "metric": metric, "value": full + delta, "full": full, "delta": delta, "p": 0.2}
            yield self.row(**where, **state, **test, low=delta - 0.5, high=delta + 0.5)

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


def write_maps(directory: Path, maker: VoitaMaker) -> Path:
    """Write the attention maps of one run below `directory` and return their path."""
    path = directory / "attention_maps" / f"{maker.lead['run']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(maker.maps()), encoding="utf-8")
    return path
