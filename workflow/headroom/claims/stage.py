"""Decide the claims of the papers from a study's tables: `python -m headroom claims`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import stage_parser
from headroom.core.errors import HeadroomError


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this stage's command line."""
    parser = stage_parser("claims", "Decide the claims of the papers from a study's tables, or print the verdicts.")
    add = parser.add_argument
    add("results", nargs="?", type=Path, help="results of a study, e.g. results/starter: prints the verdicts")
    add("--study", default="study", help="name of the study, a column of the tables")
    add("--tables", nargs="*", type=Path, default=[], metavar="CSV", help="the study's tables")
    add("--configuration", type=Path, help="the study's configuration, JSON or YAML")
    add("--output", type=Path, help="the table of verdicts to write, claims.csv")
    add("--numbers", type=Path, help="the table to write of the numbers behind them and of the answer, numbers.csv")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the tables, decide every claim, and write or print what was found.

    Raises:
        HeadroomError: If there is nothing to write to and no directory of results, or a file cannot be read.
    """
    given = build_parser().parse_args(arguments)
    if bool(given.output) != bool(given.numbers) or not (given.output or given.results):
        raise HeadroomError("claims: name --output and --numbers, or a directory of results to print the verdicts of")
    from headroom.claims.evaluation import evaluate

    if given.results:
        from headroom.claims.board import board
        from headroom.study.configuration import found_in

        print(board(evaluate(found_in(given.results))), end="")
        return
    from headroom.claims.answer import answer
    from headroom.claims.rows import claim_rows, number_rows
    from headroom.claims.table import CLAIMS, NUMBERS
    from headroom.study.configuration import list_tables

    tables = list_tables(given.tables, given.configuration)
    decisions = evaluate(tables)
    CLAIMS.write(given.output, claim_rows(decisions, tables, given.study))
    NUMBERS.write(given.numbers, number_rows(decisions, answer(tables, decisions), given.study))
