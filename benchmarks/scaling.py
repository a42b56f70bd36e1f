"""How the cost of the main stages grows with the size of a study: `make scaling`, about ten minutes.

One size is varied at a time from a small study. Times with heads, layers, width and sentences are measured by the
project's own functions as in `make cost`, without the start of processes; those with seeds and cores follow from the
study's jobs. The slope of log time against log size has a 95 % interval from the regression (t distribution).
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pandas
import seaborn
from headroom.core.heads import all_heads
from headroom.core.interventions import Intervention
from headroom.cost.__main__ import estimate, wall
from headroom.cost.machine import PLAIN, Measured, Seconds, started
from headroom.cost.sizes import sizes_of
from headroom.cost.work import Job, jobs_of
from headroom.methods.criteria import scored
from headroom.methods.judging import Judge, comparisons
from headroom.plan import Plan
from headroom.settings.study import load_study
from matplotlib.figure import Figure
from scipy import stats

MARK = "<!-- measured by benchmarks/scaling.py: the rest of this page is replaced -->\n"
STAGES = (
    "training",
    "evaluation",
    "scores",
    "ablation",
    "keep_one",
    "pruning",
    "relevance",
    "attention_stats",
    "gates",
)
SIZES: dict[str, tuple[int, ...]] = {
    "heads": (2, 4, 8, 16),
    "layers": (1, 2, 3, 4, 6),
    "width": (32, 64, 96, 128, 192),
    "sentences": (16, 32, 64, 96, 128),
    "seeds": (1, 2, 4, 8),
    "cores": (1, 2, 4, 8, 16),
}
MEASURED = ("heads", "layers", "width")
"""Sizes for which a model of its own is measured."""


def planned(heads: int = 4, layers: int = 2, width: int = 64, seeds: int = 1, **_: int) -> Plan:
    """Return the plan of a small study."""
    model = {"encoder_layers": layers, "decoder_layers": layers, "heads": heads, "width": width}
    sets = {"train": 4000, "valid": 256, "test": 128, "far": 128}
    task = {"corpus": {"source": "generated", **sets}, "model": {**model, "feed_forward": 2 * width}}
    arms = {"baseline": {"method": "baseline"}}
    study = {"study": "scaling", "seeds": list(range(1, seeds + 1)), "translation": {**task, "arms": arms}}
    return Plan(load_study(study))


def measured(plan: Plan) -> tuple[list[Job], dict[str, Seconds], Measured, Path]:
    """Return the jobs of a study, the seconds of their units, the measurements, and the place of the sample."""
    sizes = {task: sizes_of(plan.study, task, Path("none")) for task in plan.study.tasks}
    place = Path(tempfile.mkdtemp(prefix="headroom-scaling-"))
    one = Measured(plan, next(iter(plan.runs)), sizes["translation"], place)
    return jobs_of(plan, sizes, {"translation": one.heads}), {"translation": one.seconds}, one, place


def stage_seconds(jobs: Sequence[Job], seconds: Mapping[str, Seconds]) -> dict[str, float]:
    """Return the seconds of every stage, without the start of processes."""
    working = {"translation": {**seconds["translation"], "start": 0.0}}
    return {stage: sum(estimate(job, working) for job in jobs if job.stage == stage and job.task) for stage in STAGES}


def with_sentences(one: Measured, counts: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the seconds of functions on evaluation sets of several sizes."""
    engine = one.sample.engine
    model = engine.load(one.sample.checkpoint)
    head = all_heads(model.sites)[0]
    for count in counts:
        judged: Any = engine.judged_set("test", count)
        judge = Judge(model, judged)
        _ = judge.full
        fresh = engine.load(one.sample.checkpoint)  # a model keeps tensors of inference mode
        batches = engine.batches(fresh, engine.examples("test", count), 32)
        actions: dict[str, Callable[[], Any]] = {
            "ablation": partial(comparisons, judge, [({}, Intervention.without(head))]),
            "evaluation": partial(engine.final, judged, model),
            "scores": partial(scored, fresh, batches),
        }
        for stage, action in actions.items():
            yield {"size": "sentences", "value": count, "stage": stage, "seconds": one.timed(action)}


def rows(sizes: Mapping[str, Sequence[int]]) -> Iterator[dict[str, Any]]:
    """Yield size, value, stage and seconds of every measurement."""
    known: dict[str, tuple[list[Job], dict[str, Seconds], Measured, Path]] = {}
    for size in (name for name in MEASURED if name in sizes):
        for value in sizes[size]:
            plan = planned(**{size: value})
            key = repr(plan.study.translation)
            known[key] = known.get(key) or measured(plan)
            for stage, seconds in stage_seconds(*known[key][:2]).items():
                yield {"size": size, "value": value, "stage": stage, "seconds": seconds}
    small = known.get(repr(planned().study.translation)) or measured(planned())
    yield from with_sentences(small[2], sizes.get("sentences", ()))
    yield from of_the_plan(small, sizes)


def of_the_plan(
    small: tuple[list[Job], dict[str, Seconds], Measured, Path], sizes: Mapping[str, Sequence[int]]
) -> Iterator[dict[str, Any]]:
    """Yield the seconds of whole studies by the number of seeds, and their wall time by the number of cores."""
    start = {"": {"start": started([sys.executable, "-c", PLAIN])}}
    for size in ("seeds", "cores"):
        for value in sizes.get(size, ()):
            plan = planned(seeds=value if size == "seeds" else 8)
            texts = {task: sizes_of(plan.study, task, Path("none")) for task in plan.study.tasks}
            jobs = jobs_of(plan, texts, {"translation": small[2].heads})
            times = {job.name: estimate(job, {**start, **small[1]}) for job in jobs}
            seconds = sum(times.values()) if size == "seeds" else wall(jobs, times, value)
            yield {
                "size": size,
                "value": value,
                "stage": "study" if size == "seeds" else "wall time",
                "seconds": seconds,
            }


def slope(values: Sequence[float], seconds: Sequence[float]) -> tuple[float, float, float]:
    """Return the slope of log seconds against log values, with its 95 % interval."""
    fit = stats.linregress(numpy.log(values), numpy.log(seconds))
    reach = float(stats.t.ppf(0.975, len(values) - 2) * fit.stderr) if len(values) > 2 else float("nan")
    return float(fit.slope), float(fit.slope) - reach, float(fit.slope) + reach


def page(table: pandas.DataFrame) -> str:
    """Return the slopes as a table of the page."""
    lines = ["| size | stage | slope | 95 % interval | seconds |", "|---|---|---|---|---|"]
    for (size, stage), own in table.groupby(["size", "stage"], sort=False):
        found, low, high = slope(own["value"].tolist(), own["seconds"].tolist())
        values = ", ".join(f"{value}: {seconds:.3g}" for value, seconds in zip(own["value"], own["seconds"]))
        lines.append(f"| {size} | {stage} | {found:.2f} | {low:.2f} to {high:.2f} | {values} |")
    return "\n".join(lines) + "\n\n![Seconds of every stage against each size, on logarithmic axes.](cost.png)\n"


def draw(table: pandas.DataFrame, path: Path) -> None:
    """Draw seconds against sizes, a panel per size."""
    grid = seaborn.relplot(
        table, x="value", y="seconds", hue="stage", col="size", col_wrap=3, kind="line", marker="o", height=2.6,
        facet_kws={"sharex": False, "sharey": False},
    )  # fmt: skip
    grid.set(xscale="log", yscale="log").set_titles("{col_name}").set_axis_labels("", "seconds")
    for size, axes in grid.axes_dict.items():
        values = sorted(table.loc[table["size"] == size, "value"].unique())
        axes.set_xticks(values, labels=map(str, values))
        axes.set_xticks([], minor=True)
    seaborn.move_legend(grid, "center left", bbox_to_anchor=(1, 0.5))
    figure: Figure = grid.figure
    figure.savefig(path, dpi=90, bbox_inches="tight")


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES), help="sizes to vary")
    parser.add_argument("--page", type=Path, default=Path("docs/cost.md"), help="page to complete; next to it cost.png")
    given = parser.parse_args()
    table = pandas.DataFrame(rows({name: SIZES[name] for name in given.sizes}))
    text = page(table)
    print(text)
    before = given.page.read_text("utf-8").partition(MARK)[0] if given.page.exists() else ""
    given.page.write_text(before + MARK + text, "utf-8")
    draw(table, given.page.with_name("cost.png"))


if __name__ == "__main__":
    main()
