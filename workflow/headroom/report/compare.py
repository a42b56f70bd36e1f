"""Put finished studies on one page: `python -m headroom compare`."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this stage's command line."""
    parser = stage_parser("compare", "Put the verdicts and pruning curves of finished studies on one page.")
    add = parser.add_argument
    add("results", nargs="+", type=Path, help="results of finished studies, e.g. results/starter results/multi30k")
    add("--output", type=Path, default=Path("reports/compare.html"), help="the HTML file to write")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the studies and write the page.

    Raises:
        HeadroomError: If a study is not finished; names all that are not.
    """
    given = build_parser().parse_args(arguments)
    if lacking := [words for place in given.results if (words := _lacking(place))]:
        raise HeadroomError("\n".join(lacking))
    from headroom.report.comparison import read_finished, render

    page = render([read_finished(place, given.output.parent) for place in given.results])
    with atomic_path(given.output) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    logging.info("wrote %s", given.output)


def _lacking(place: Path) -> str:
    """Return what keeps a study from being shown, "" if nothing does."""
    name = place.resolve().name
    command = "make study" if name == "starter" else f"make study STUDY=studies/{name}.yaml"
    absent = [name for name in ("claims.csv", "numbers.csv") if not (place / name).is_file()]
    return f"{place}: the study is not finished, {' and '.join(absent)} missing; run it: {command}" if absent else ""


if __name__ == "__main__":
    run(main)
