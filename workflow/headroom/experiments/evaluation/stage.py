"""Evaluate a finished run: final answers on every evaluation set, and all metrics with intervals."""

import argparse
from collections.abc import Sequence
from typing import Any

from headroom.core.command import leading_columns
from headroom.core.progress import follow_items
from headroom.core.statistics import interval
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.evaluation.declared import EVALUATION


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("evaluation", __doc__, engine)
    parser.add_argument("--sets", nargs="+", default=["test"], help="evaluation sets")
    parser.add_argument("--output", required=True, help="table of metrics")
    engine.add_judging(parser, final=True)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Evaluate and write the table."""
    engine, given = given_engine(build_parser, arguments)
    sets = [engine.judged_set(name) for name in given.sets]
    model = engine.load(given.checkpoint)
    rows: list[dict[str, Any]] = []
    for judged in follow_items(sets, "evaluation", "sets"):
        outcome, decoding, signature = judged.judge_finally(model)
        for metric in judged.metrics:
            low, high = interval(outcome.resampled[metric])
            found = {"set": judged.name, "metric": metric, "value": outcome.scores[metric], "low": low, "high": high}
            rows.append(leading_columns(given) | found | {"decoding": decoding, "signature": signature(metric)})
    EVALUATION.write(given.output, rows)
