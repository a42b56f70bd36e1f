"""Rows about what heads do, and how alike they are, in the made-up study. For tests only."""

from collections.abc import Iterator
from typing import Any

from headroom.core.heads import Head
from report.example_gates import Gates
from report.example_tasks import DIRECTIONS, LAMBDAS, LIKENESS, OFFSETS, RELATIONS, WORDS, Row


class Functions(Gates):
    """Makes the rows about the functions of the heads of one run, and its attention maps."""

    def attention_stats(self) -> Iterator[Row]:
        for model in ("trained", "untrained"):
            for head in self.task.heads:
                yield from self.confidence(model, head)
                if head.kind != "A":
                    yield from self.offsets(model, head)
            for head in self.examined:
                yield from self.relations(model, head, "gold")
                yield from self.rare(model, head)
        for head in self.examined:
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
            value = 0.0 if head.kind == "D" and offset.startswith("+") else value
            where = {"model": model, "measure": "offset", "target": offset, "half": "all"}
            yield self.of(head, **where, value=value, low=value - 0.01, high=value + 0.01, count=4000)

    def relations(self, model: str, head: Head, trees: str) -> Iterator[Row]:
        for relation, margin in ({} if self.is_decoder else RELATIONS).items():
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
            value = value if model == "trained" and (head.layer, head.head) == (1, 1) else 0.15
            where = {"model": model, "measure": "rare", "target": target, "half": "all", "count": 400}
            yield self.of(head, **where, value=value, baseline=0.12, low=value - 0.16, high=value - 0.08)

    def roles(self) -> Iterator[Row]:
        for head in self.examined:
            yield from self.roles_of(head, "trained")
        for scope in self.scopes:
            kept = self.kept(scope, LAMBDAS[2])
            for head in self.examined:
                if head in kept:
                    yield from self.roles_of(head, f"hard-concrete.{scope}.{LAMBDAS[2]:g}")
            takes = next(head for head in self.examined if head in kept and not self.tracked(head))
            where = {"role": "syntactic", "target": "amod:to-governor", "trees": "gold", "best": 1}
            bounds = {"value": 0.6, "baseline": 0.45, "low": 0.1, "high": 0.2}
            yield self.of(takes, model=f"hard-concrete.{scope}.{LAMBDAS[2]:g}", **where, **bounds)

    def roles_of(self, head: Head, model: str) -> Iterator[Row]:
        for target in filter(
            None, [self.positional(head), *self.tracked(head), "rarest" * ((head.layer, head.head) == (1, 1))]
        ):
            syntactic = ":" in target
            role = "syntactic" if syntactic else "rare" if target == "rarest" else "positional"
            margin = RELATIONS[target.partition(":")[0]] if syntactic else 0.4
            margin = margin if syntactic else 0.49
            bounds = {"value": 0.45 + margin, "baseline": 0.45, "low": margin - 0.05, "high": margin + 0.05}
            trees = "gold" if syntactic else ""
            yield self.of(head, model=model, trees=trees, role=role, target=target, **bounds, best=1)

    def minimal_pairs(self) -> Iterator[Row]:
        for group, full, loss in (("", 80.0, 25.0), ("anaphor agreement", 95.0, 40.0), ("islands", 65.0, 10.0)):
            for share in (0.0, 0.25, 0.5, 0.75, 1.0):
                removed = self.examined[: round(share * len(self.examined))]
                gone = {"heads_removed": len(removed), "removed": " ".join(map(str, removed))}
                delta = -share * loss
                own = {"value": full + delta, "full": full, "chance": 50.0, "delta": delta, "p": 0.01}
                bounds = {"low": delta - 3, "high": delta + 3, "count": 100 if group else 200}
                yield self.row(group=group, heads_total=len(self.examined), **gone, **own, **bounds)

    def phenomena(self) -> Iterator[Row]:
        for group, loss in (("encoder", 40.0), ("nsubj", 12.0), ("obj", 3.0)):
            for phenomenon, full in (("agreement", 97.0), ("object", 92.0)):
                bounds = {"low": -loss - 4, "high": -loss + 4}
                own = {"value": full - loss, "full": full, "delta": -loss, **bounds, "count": 240}
                removed = " ".join(map(str, self.examined[: 24 if group == "encoder" else 2]))
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

    def diversity(self) -> Iterator[Row]:
        apart = 0.0 if "baseline" in self.lead["run"] else 0.06
        for epoch in range(1, self.task.epochs + 1):
            for site in self.task.sites:
                for measure in LIKENESS:
                    value = 0.4 - 0.1 * site.layer / 3 - 0.02 * epoch - apart
                    yield self.row(epoch=epoch, kind=site.kind, layer=site.layer, measure=measure, value=value)

    def particles(self) -> Iterator[Row]:
        grown = 0.0 if "baseline" in self.lead["run"] else 0.05
        values = {"kernel_mean": 0.2, "kernel_sd": 0.01}
        values |= {"repulsion_from_origin": 0.95, "repulsion_from_mean": 0.99}
        for epoch in range(1, self.task.epochs + 1):
            for site in self.task.sites:
                for projection in ("query", "key", "value"):
                    for measure, value in {"norm": 6 * (1 + grown * epoch), **values}.items():
                        place = {"kind": site.kind, "layer": site.layer, "projection": projection}
                        yield self.row(epoch=epoch, **place, measure=measure, value=value)

    def maps(self) -> dict[str, Any]:
        made = []
        second = ("positional", "-2") if self.is_decoder else ("syntactic", "nsubj:to-dependent")
        kind, place = ("D", "2:1") if self.is_decoder else ("E", "2:2")
        for head, role, target, offset in (
            (f"{kind}1:2", "positional", "-1", -1), (f"{kind}{place}", *second, -2),
        ):  # fmt: skip
            for sentence in (1, 2):
                words = WORDS[sentence - 1 :]
                weights = [[0.01] * len(words) for _ in words]
                for row, line in enumerate(weights):
                    line[max(0, row + offset)] = 0.9
                one = {"head": head, "role": role, "target": target, "sentence": sentence, "weights": weights}
                made.append({**one, "queries": words, "keys": words})
        return {"run": self.lead["run"], "epoch": self.lead["epoch"], "maps": made}
