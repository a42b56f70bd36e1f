"""Make labelled sentence pairs by the seeded grammar: entailment, neutral, contradiction, and the edits behind them."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import add_settings, run, settings_from, stage_parser
from headroom.core.files import write_lines
from headroom.data.labelled import write_labelled_corpus
from headroom.data.sentence_pairs import LABELS, generate_pair_sets
from headroom.settings.labelled import GeneratedPairs

_log = logging.getLogger(__name__)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("generate_pairs", __doc__)
    parser.add_argument("--output", type=Path, required=True, help="directory of the corpus")
    add_settings(parser, corpus=GeneratedPairs)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Write `<set>.tsv` and `<set>.edits` of all sets, and `corpus.json` last."""
    given = build_parser().parse_args(arguments)
    settings = settings_from(given, "corpus", GeneratedPairs)
    sets = generate_pair_sets(settings)
    for name, pairs in sets.items():
        write_lines(given.output / f"{name}.edits", pairs.edits)
    write_labelled_corpus(
        given.output,
        {name: pairs.text for name, pairs in sets.items()},
        labels=LABELS,
        metrics=("accuracy",),
        far=settings.far_names,
        about=settings.model_dump(),
    )
    _log.info("wrote %d sentence pairs to %s", sum(len(pairs.text) for pairs in sets.values()), given.output)


if __name__ == "__main__":
    run(main)
