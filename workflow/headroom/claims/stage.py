"""Decide the claims of the papers from a study's tables: `python -m headroom claims`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import CliPositionalArg

from headroom.core.errors import HeadroomError
from headroom.settings.job import Files, Job


class Claims(Job):
    """Decide the claims of the papers from a study's tables, or print the verdicts."""

    results: CliPositionalArg[Path | None] = Field(
        None, description="results of a study, e.g. results/starter: prints the verdicts"
    )
    study: str = Field("study", description="name of the study, a column of the tables")
    tables: Files = Field([], description="the study's tables")
    configuration: Path | None = Field(None, description="the study's configuration, JSON or YAML")
    output: Path | None = Field(None, description="the table of verdicts to write, claims.csv")
    numbers: Path | None = Field(
        None, description="the table to write of the numbers behind them and of the answer, numbers.csv"
    )


def run(job: Claims) -> None:
    """Read the tables, decide every claim, and write or print what was found.

    Raises:
        HeadroomError: If there is nothing to write to and no directory of results, or a file cannot be read.
    """
    from headroom.claims.evaluation import evaluate

    if job.results:
        from headroom.claims.board import board
        from headroom.study.configuration import found_in

        print(board(evaluate(found_in(job.results))), end="")
        return
    from headroom.claims.answer import answer
    from headroom.claims.rows import claim_rows, number_rows
    from headroom.claims.table import CLAIMS, NUMBERS
    from headroom.study.configuration import list_tables

    if not (job.output and job.numbers):
        raise HeadroomError("claims: name --output and --numbers, or a directory of results to print the verdicts of")
    tables = list_tables(job.tables, job.configuration)
    decisions = evaluate(tables)
    CLAIMS.write(job.output, claim_rows(decisions, tables, job.study))
    NUMBERS.write(job.numbers, number_rows(decisions, answer(tables, decisions), job.study))
