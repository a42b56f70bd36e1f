"""Judge a finished run: translate every evaluation set with a beam and give all metrics with intervals."""

import argparse
from collections.abc import Sequence
from typing import Any

from headroom.ground.bootstrap import interval
from headroom.ground.command import (
    add_model,
    add_run,
    add_settings,
    epoch_of,
    run,
    settings_from,
    stage_parser,
)
from headroom.ground.tables import write_table
from headroom.methods.evaluation import METRICS, load_set
from headroom.models.translation.model import TranslationModel
from headroom.settings.decoding import DecodingSettings, EvaluationSettings, SamplingSettings

COLUMNS = ("study", "run", "epoch", "set", "metric", "value", "low", "high", "decoding", "signature")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("headroom.evaluate", __doc__ or "")
    add_run(parser)
    add_model(parser)
    parser.add_argument("--sets", nargs="+", default=["test"], help="evaluation sets")
    parser.add_argument("--output", required=True, help="table of metrics")
    for model in (EvaluationSettings, DecodingSettings, SamplingSettings):
        add_settings(parser, model)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Evaluate and write the table."""
    given = build_parser().parse_args(arguments)
    settings, decoding = settings_from(given, EvaluationSettings), settings_from(given, DecodingSettings)
    resamples = settings_from(given, SamplingSettings).resamples
    sets = [load_set(given.corpus, name, decoding, resamples=resamples) for name in given.sets]
    model = TranslationModel.load(given.checkpoint, given.vocabulary, given.device)
    rows: list[dict[str, Any]] = []
    for judged in sets:
        outcome = judged.judge(model, beam=settings.beam, length_penalty=settings.length_penalty)
        for metric in METRICS:
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
                    "decoding": f"beam{settings.beam}",
                    "signature": judged.signature(metric, beam=settings.beam, lenpen=settings.length_penalty),
                }
            )
    write_table(given.output, rows, COLUMNS)


if __name__ == "__main__":
    run(main)
