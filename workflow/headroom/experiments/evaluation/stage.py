"""Evaluate a finished run: final answers on every evaluation set, and all metrics with intervals."""

from pathlib import Path
from typing import Any

from pydantic import Field

from headroom.core.progress import follow_items
from headroom.core.statistics import interval
from headroom.experiments.evaluation.declared import EVALUATION
from headroom.models.command import FinalJudging, OneModelJob, open_engine


class Evaluation(OneModelJob, FinalJudging):
    """Compute the final scores of a run on every set."""

    sets: list[str] = Field(["test"], description="evaluation sets")
    output: Path = Field(description="table of metrics")


def run(job: Evaluation) -> None:
    """Evaluate and write the table."""
    engine = open_engine(job)
    sets = [engine.judged_set(name) for name in job.sets]
    model = engine.load(job.checkpoint)
    rows: list[dict[str, Any]] = []
    for judged in follow_items(sets, "evaluation", "sets"):
        outcome, decoding, signature = judged.judge_finally(model)
        for metric in judged.metrics:
            low, high = interval(outcome.resampled[metric])
            found = {"set": judged.name, "metric": metric, "value": outcome.scores[metric], "low": low, "high": high}
            rows.append(
                job.leading_columns(job.checkpoint) | found | {"decoding": decoding, "signature": signature(metric)}
            )
    EVALUATION.write(job.output, rows)
