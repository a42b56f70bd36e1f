"""Judge a finished run: final answers on every evaluation set, and all metrics with intervals."""

import argparse
from collections.abc import Sequence
from typing import Any

from headroom.core import tables
from headroom.core.bootstrap import interval
from headroom.core.command import add_run, epoch_of, run, stage_parser
from headroom.tasks import add_task, chosen_task
from headroom.tasks.judging import judging
from headroom.tasks.loading import loading


def build_parser(task: str) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("evaluation", __doc__ or "")
    add_run(parser)
    add_task(parser)
    loading(task).add_model(parser)
    parser.add_argument("--sets", nargs="+", default=["test"], help="evaluation sets")
    parser.add_argument("--output", required=True, help="table of metrics")
    judging(task).add_judging(parser, final=True)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Evaluate and write the table."""
    task = chosen_task(arguments)
    given = build_parser(task).parse_args(arguments)
    sets = [judging(task).load_set(given, name) for name in given.sets]
    model = loading(task).load_model(given, given.checkpoint)
    rows: list[dict[str, Any]] = []
    for judged in sets:
        outcome, decoding, signature = judging(task).final(given, judged, model)
        for metric in judged.metrics:
            low, high = interval(outcome.resampled[metric])
            rows.append(
                {
                    "study": given.study,
                    "run": given.run,
                    "epoch": epoch_of(given.checkpoint),
                    "set": judged.name,
                    "metric": metric,
                    "value": outcome.scores[metric],
                    "low": low,
                    "high": high,
                    "decoding": decoding,
                    "signature": signature(metric),
                }
            )
    tables.EVALUATION.write(given.output, rows)


if __name__ == "__main__":
    run(main)
