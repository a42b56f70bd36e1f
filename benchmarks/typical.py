"""What jobs typically take: writes workflow/headroom/cost/typical.yaml from a finished starter study.

`make study` estimates the time left from it, `make cost` what it does not measure on the machine. Times are those of
the study's benchmark files; the shares of changed answers are counted on the test set.
"""

import argparse
import statistics
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pandas
import torch
import yaml
from headroom.core.files import write_lines
from headroom.core.heads import all_heads
from headroom.core.interventions import Intervention
from headroom.cost.sizes import sizes_of
from headroom.data.parallel import ParallelText
from headroom.engines.translation.engine import read_pairs
from headroom.engines.translation.judging import TranslatedSet
from headroom.engines.translation.model import TranslationModel
from headroom.methods.judging import Judge
from headroom.methods.orders import random_order, removed_first
from headroom.methods.timing import interleaved, ratio_summary
from headroom.settings.evaluation import DecodingSettings
from headroom.settings.study import read_study
from headroom.stages import ablation, keep_one

RUN = "translation.baseline.seed1"
STEPS = 10
"""Points of the pruning curve."""

TABLES = ("claims", "report", "arms", "rank_correlation", "agreement")
"""Stages that only read tables."""

HEADER = "# Written by `python benchmarks/typical.py` from a finished starter study."


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results/starter"), help="a finished study")
    parser.add_argument("--study", default="config.yaml", help="its configuration")
    parser.add_argument("--output", type=Path, default=Path("workflow/headroom/cost/typical.yaml"))
    given = parser.parse_args()
    seconds = by_stage(given.results / "benchmarks")
    start = min(seconds.values())  # the smallest job hardly does more than start
    sizes = sizes_of(read_study(given.study), "translation", given.results)
    checkpoints = (given.results / "runs" / RUN).glob("epoch*.pt")
    checkpoint = max(checkpoints, key=lambda path: (len(path.name), path.name))
    load = partial(TranslationModel.load, checkpoint, given.results / "translation/binarised", "cpu")
    pairs = read_pairs(given.results / "translation/corpus", "test")
    text = sum(count for name, count in sizes.examples.items() if name != "valid")
    found: dict[str, Any] = {
        "job_seconds": seconds,
        "table_seconds": {stage: max(0.0, seconds[stage] - start) for stage in TABLES},
        "sentence_seconds": {
            "acquire": (seconds["parallel_text"] - start) / text,
            "vocabulary": (seconds["vocabulary"] - start) / text,
        },
        "forward_share": forward_share(load(), pairs),
        "changed_answers": changed(load(), pairs),
    }
    lines = yaml.safe_dump(rounded(found), sort_keys=False).splitlines()
    write_lines(given.output, [HEADER, *lines])


def by_stage(benchmarks: Path) -> dict[str, float]:
    """Return the median seconds of a job by stage, or of text by the name of its job."""
    found: dict[str, list[float]] = {}
    for path in sorted(benchmarks.rglob("*.tsv")):
        place = path.relative_to(benchmarks).with_suffix("")
        alone = place.parts[0] in ("translation", "entailment") or len(place.parts) == 1
        seconds = float(pandas.read_csv(path, sep="\t")["s"].iloc[0])
        found.setdefault(place.parts[-1] if alone else place.parts[0], []).append(seconds)
    return {stage: statistics.median(values) for stage, values in found.items()}


def forward_share(model: TranslationModel, pairs: ParallelText) -> float:
    """Return the time of a forward pass relative to that of a forward and a backward pass."""
    batches = model.batches(pairs.source, pairs.target, sentences=64)

    def forward() -> None:
        with torch.no_grad():
            for batch in batches:
                model.losses(batch)

    def update() -> None:
        model.model.requires_grad_(True)
        for batch in batches:
            model.losses(batch)[0].sum().backward()
        model.model.requires_grad_(False).zero_grad()

    return ratio_summary(*interleaved({"forward": forward, "update": update}, warmup=1, repeats=9).values())[0]


def changed(model: TranslationModel, pairs: ParallelText) -> dict[str, float]:
    """Return the share of the answers that change: without one head, with one per site, on a pruning curve."""
    judge = Judge(model, TranslatedSet(name="test", pairs=pairs, settings=DecodingSettings(), resamples=1))
    heads = all_heads(model.sites)
    order = random_order(heads, seed=1)
    curve = [removed_first(order, round(len(heads) * step / STEPS)) for step in range(1, STEPS + 1)]

    def share(tried: Iterable[Intervention]) -> float:
        full = judge.full.answers
        return statistics.mean(
            sum(answer != other for answer, other in zip(judge.outcome(one).answers, full)) / len(full) for one in tried
        )

    return {
        "ablation": share(ablation.tried(model.sites)),
        "keep_one": share(keep_one.tried(model.sites)),
        "pruning": share(Intervention(frozenset(removed)) for removed in curve),
    }


def rounded(found: Any) -> Any:
    """Return numbers with three significant digits."""
    if isinstance(found, dict):
        return {name: rounded(value) for name, value in found.items()}
    return float(f"{found:.3g}")


if __name__ == "__main__":
    main()
