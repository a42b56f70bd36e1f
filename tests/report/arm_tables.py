"""A made-up study of arms: numbers by arm and seed from which its tables are made, the compared ones by their stages.

What an arm does is planted: its score, how alike its heads are, how evenly importance is spread over them. Seeds
differ by the same small steps in every arm, and arms by a little of their own, so that paired differences have narrow
intervals.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.core import tables
from headroom.report.arms import ArmDescription
from headroom.stages import arms as arms_stage
from headroom.stages import overlap
from written_tables import write_rows

Row = dict[str, Any]

STEPS = (0.0, 0.5, -0.5)
"""What a seed adds to the score of every arm."""

NOISE = (0.02, -0.02, 0.0)
"""What a seed adds to the score of one arm, times its place."""

REWRITING = ("svgd", "spos", "smoothing", "repulsion-only", "scaled", "noise")

EPOCHS = 4
SITES = [(kind, layer) for kind in "EAD" for layer in (1, 2)]


@dataclass(frozen=True)
class Planted:
    """What is planted in an arm.

    Attributes:
        about: What the configuration says of it.
        score: Mean BLEU of its seeds.
        likeness: How alike the outputs of its heads are at the last epoch.
        steepness: Power of importance over heads: the larger, the fewer heads carry it.
        factor: What an update takes, in updates of the baseline.
        handed: Norm of the gradient that the optimizer is handed; that of the loss is 2.
    """

    about: ArmDescription
    score: float = 30.0
    likeness: float = 0.4
    steepness: float = 3.0
    factor: float = 1.0
    handed: float = 2.0

    @property
    def heads(self) -> int:
        return self.about.heads or 8


def arm(name: str, method: str = "", **planted: Any) -> Planted:
    """Return an arm; what it is called and what is planted in it come in one go."""
    described = {key: planted.pop(key) for key in ("sites", "heads", "attention_dropout") if key in planted}
    return Planted(ArmDescription(name, method or name, **described), **planted)


REPULSION = (
    arm("baseline"),
    arm("svgd", score=30.8, likeness=0.3, steepness=1.5, factor=1.02, handed=0.01),
    arm("spos", score=30.7, likeness=0.31, steepness=1.6, factor=1.03, handed=0.02),
    arm("smoothing", score=30.1, likeness=0.42, factor=1.02, handed=0.008),
    arm("repulsion-only", score=30.6, likeness=0.29, steepness=2.0, factor=1.01, handed=0.015),
)
"""Five arms of which svgd gains 0.8 BLEU, has heads less alike and spreads importance evenly."""


def configuration(arms: Sequence[Planted], task: str = "translation") -> dict[str, Any]:
    """Return the part of a study's configuration that is about its arms."""
    sections = {
        one.about.name: {
            "method": one.about.method,
            "sites": list(one.about.sites),
            "heads": one.about.heads,
            "attention_dropout": one.about.attention_dropout,
            "alpha": 0.001,
        }
        for one in arms
    }
    if task == "translation":
        return {"translation": {"model": {"heads": 8, "attention_dropout": 0.0}, "arms": sections}}
    return {"classification": {task: {"encoder": {"heads": 8}, "arms": sections}}}


def known(arms: Sequence[Planted], task: str = "translation") -> Mapping[str, Mapping[str, ArmDescription]]:
    """Return what a study says about its arms."""
    return {task: {one.about.name: one.about for one in arms}}


class Maker:
    """Makes the rows of one run."""

    def __init__(self, task: str, planted: Planted, place: int, seed: int) -> None:
        self.run = f"{task}.{planted.about.name}.seed{seed}"
        self.planted = planted
        self.metric = "bleu" if task == "translation" else "accuracy"
        own = NOISE[(seed + place) % len(NOISE)] * (1 + place)
        self.score = planted.score + STEPS[(seed - 1) % len(STEPS)] + own
        self.nudge = 0.002 * ((seed + place) % 3 - 1)
        self.importance = [
            1e-4 + (1 - (number + 0.5) / total) ** planted.steepness
            for total in [len(SITES) * planted.heads]
            for number in range(total)
        ]
        shift = 2 * seed + 5 * place
        self.importance = self.importance[shift:] + self.importance[:shift]

    def row(self, **values: Any) -> Row:
        return {"study": "arms", "run": self.run, "epoch": EPOCHS, "signature": "n:500", **values}

    def evaluation(self) -> Iterator[Row]:
        for name, more in (("choose", 0.3), ("test", 0.0)):
            value = self.score + more
            bounds = {"low": value - 1, "high": value + 1, "decoding": "beam5"}
            yield self.row(set=name, metric=self.metric, value=value, **bounds)
            yield self.row(set=name, metric="loss", value=2.0, low=1.9, high=2.1, decoding="beam5")

    def scores(self) -> Iterator[Row]:
        values = iter(self.importance)
        for kind, layer in SITES:
            for head in range(1, self.planted.heads + 1):
                where = {"kind": kind, "layer": layer, "head": head}
                yield self.row(**where, criterion="gradient-example", normalised="raw", value=next(values))

    def pruning_epochs(self) -> Iterator[Row]:
        total, steps = len(self.importance), 10
        rising = sorted(self.importance)
        for step in range(steps + 1):
            removed = round(total * step / steps)
            lost = sum(rising[:removed]) / sum(rising)
            value = self.score * max(0.0, 1 - lost - self.nudge * lost) if removed < total else 0.0
            order = {"scope": "all", "order": "gradient-example", "normalised": "raw", "ranking": "fixed", "draw": 0}
            size = {"heads_removed": removed, "heads_total": total, "removed": "", "set": "test"}
            yield self.row(**order, **size, metric=self.metric, value=value, full=self.score, delta=value - self.score)

    def diversity(self) -> Iterator[Row]:
        end, start = self.planted.likeness + self.nudge, 0.2
        measures = {"z_cosine": 0.0, "z_cka": 0.1, "attention_cosine": 0.2, "value_cosine": -0.05}
        measures |= {"particle_cosine": -0.15, "attention_product": -0.1, "particle_kernel": -0.2}
        for epoch in range(1, EPOCHS + 1):
            likeness = start + (end - start) * (epoch - 1) / (EPOCHS - 1)
            for kind, layer in SITES if self.planted.heads > 1 else ():
                where = {"epoch": epoch, "kind": kind, "layer": layer}
                for measure, more in measures.items():
                    yield self.row(**where, measure=measure, value=likeness + more)
                yield self.row(**where, measure="particle_distance", value=3 - likeness)
                if epoch > 1:
                    yield self.row(**where, measure="particle_step", value=1.5 - likeness)

    def training(self) -> Iterator[Row]:
        for epoch in range(1, EPOCHS + 1):
            loss = 2 + 2 * 0.5**epoch - 0.01 * self.score
            values = {"train_loss": loss - 0.1, "valid_loss": loss, "seconds": 20.0, "updates": 100 * epoch}
            values["head_gradient_norm"] = self.planted.handed * (1 + self.nudge)
            if self.planted.about.method in REWRITING:
                values["plain_head_gradient_norm"] = 2.0
            for measure, value in values.items():
                yield self.row(epoch=epoch, measure=measure, value=value)


def write_arm_study(
    directory: Path, arms: Sequence[Planted] = REPULSION, *, seeds: int = 3, task: str = "translation"
) -> list[Path]:
    """Write the tables of a study of arms below `directory` and return their paths."""
    names = ("evaluation", "scores", "pruning_epochs", "diversity", "training")
    files: dict[str, list[Path]] = {name: [] for name in names}
    for place, planted in enumerate(arms):
        for seed in range(1, seeds + 1):
            maker = Maker(task, planted, place, seed)
            for name in names:
                path = directory / name / f"{maker.run}.csv"
                write_rows(tables.ALL.by_name[name], path, getattr(maker, name)())
                files[name].append(path)
    made = [path for paths in files.values() for path in paths]
    made.append(_compared(directory, files, task, [one.about.name for one in arms]))
    overlaps = directory / "overlap.csv"
    overlap.main(["--study", "arms", "--scores", *map(str, files["scores"]), "--output", str(overlaps)])
    made.append(overlaps)
    if task == "translation":
        path = directory / "update_cost.csv"
        tables.UPDATE_COST.write(path, _costs(arms))
        made.append(path)
    return made


def _compared(directory: Path, files: Mapping[str, list[Path]], task: str, arms: Sequence[str]) -> Path:
    path = directory / "arms.csv"
    inputs = {"evaluation": "evaluation", "curves": "pruning_epochs", "scores": "scores", "diversity": "diversity"}
    flags = [
        word
        for flag, name in (inputs | {"training": "training"}).items()
        for word in (f"--{flag}", *map(str, files[name]))
    ]
    arms_stage.main(["--study", "arms", "--arms", task, *arms, *flags, "--output", str(path)])
    return path


def _costs(arms: Sequence[Planted]) -> Iterator[Row]:
    for repeat in range(20):
        for planted in arms:
            ratio = planted.factor * (1 + 0.001 * (repeat % 5 - 2) * (planted is not arms[0]))
            row = {"study": "arms", "arm": planted.about.name, "repeat": repeat, "signature": "device:cpu"}
            yield row | {"seconds": 0.1 * ratio, "ratio": ratio}
