"""Rows about learned gates in the made-up study. For tests only."""

from collections.abc import Iterator

from headroom.core.heads import Head, format_profile
from report.example_tasks import LAMBDAS, SHARES, Heads, Row


class Gates(Heads):
    """Makes the rows about gates, and about models pruned by them, of one run."""

    def gated(self, scope: str) -> list[Head]:
        return self.examined if scope == "E" else self.task.heads

    def kept(self, scope: str, penalty: float) -> list[Head]:
        """The heads that a lambda leaves: those of high weight, the encoder's last, heads with a role before others."""
        worth = {
            head: self.weight[head] * {"E": 0.6, "A": 2.0, "D": 1.0}[head.kind]
            + 0.5 * bool(head in self.examined and (self.positional(head) or self.tracked(head)))
            for head in self.gated(scope)
        }
        share = 1 - 0.25 * (1 + LAMBDAS.index(penalty)) + 0.02
        return sorted(worth, key=worth.__getitem__, reverse=True)[: max(2, round(share * len(worth)))]

    def best(self, scope: str, share: float) -> list[Head]:
        heads = sorted(self.gated(scope), key=self.weight.__getitem__, reverse=True)
        return heads[: round(share * len(heads))]

    def gates(self) -> Iterator[Row]:
        for scope in self.scopes:
            for penalty in LAMBDAS:
                yield from self.gates_of("hard-concrete", scope, penalty, self.kept(scope, penalty))
            for share in SHARES:
                kept = self.best(scope, share)
                yield from self.gates_of("exact", scope, len(kept), kept)

    def gates_of(self, method: str, scope: str, setting: float, kept: list[Head]) -> Iterator[Row]:
        for head in self.gated(scope):
            stays = head in kept
            where = {"method": method, "scope": scope, "setting": setting, "kept": int(stays)}
            yield self.of(head, **where, score=2.0 if stays else -3.0)

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
