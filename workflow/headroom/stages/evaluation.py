"""Judge a finished run: final answers on every evaluation set, and all metrics with intervals."""

import argparse
from collections.abc import Sequence
from typing import Any

from headroom.core import tables
from headroom.core.bootstrap import interval
from headroom.core.command import add_run, epoch_of, run, stage_parser
from headroom.engines.engine import Engine, add_task, chosen_engine

USES = ("model", "judging")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("evaluation", __doc__ or "")
    add_run(parser)
    add_task(parser)
    engine.add_model(parser)
    parser.add_argument("--sets", nargs="+", default=["test"], help="evaluation sets")
    parser.add_argument("--output", required=True, help="table of metrics")
    engine.add_judging(parser, final=True)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Evaluate and write the table."""
    kind = chosen_engine(arguments)
    given = build_parser(kind).parse_args(arguments)
    engine = kind(given)
    sets = [engine.judged_set(name) for name in given.sets]
    model = engine.load(given.checkpoint)
    rows: list[dict[str, Any]] = []
    for judged in sets:
        outcome, decoding, signature = engine.final(judged, model)
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
