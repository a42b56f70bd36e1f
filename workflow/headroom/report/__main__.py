"""Write the report of a study: `python -m headroom report`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from headroom.core.files import atomic_path
from headroom.settings.job import Files, Job


class Report(Job):
    """Write a study's report: one HTML file that needs nothing else."""

    study: str = Field(description="name of the study")
    tables: Files = Field([], description="the study's tables")
    claims: Path | None = Field(None, description="verdicts, as headroom claims writes them: claims.csv")
    numbers: Path | None = Field(None, description="the numbers of these and of the answer: numbers.csv")
    maps: Files = Field([], description="attention weights written by headroom attention_maps")
    texts: Files = Field([], description="the tasks' <task>/corpus/corpus.json")
    benchmarks: Files = Field([], description="Snakemake's benchmark files")
    configuration: Path | None = Field(None, description="the study's configuration, JSON or YAML")
    output: Path = Field(description="the HTML file to write")


def run(job: Report) -> None:
    """Read the tables, draw and write the report."""
    from headroom.claims.pooling import describe_tasks
    from headroom.claims.table import CLAIMS, NUMBERS
    from headroom.figures.numbers import Numbers
    from headroom.report.cautions import cautions, read_records
    from headroom.report.explorer import explorer
    from headroom.report.first_screen import Answer, describe_study, verdicts
    from headroom.report.heads import heads_data
    from headroom.report.page import Page, headings, render, sections
    from headroom.report.provenance import provenance
    from headroom.study.configuration import read_configuration, tasks_in
    from headroom.study.tables import open_tables

    configured = read_configuration(job.configuration)
    tables = open_tables(job.tables, job.maps, described=tasks_in(configured))
    claims = describe_tasks(CLAIMS.read_all([job.claims] if job.claims else []), tables)
    numbers = NUMBERS.read_all([job.numbers] if job.numbers else [])
    parts, answer = sections(tables), Answer(tables, found := Numbers(numbers), claims)
    page = Page(
        study=job.study,
        described=describe_study(tables),
        answer=answer.render(),
        of_own_models=answer.is_of_own_models,
        verdicts=verdicts(claims, numbers),
        explored=explorer(tables),
        heads=heads_data(tables),
        cautions=cautions(tables, read_records(job.texts)),
        sections=parts,
        headings=headings(parts, tables.tasks, found),
        provenance=provenance(tables, benchmarks=job.benchmarks, configuration=job.configuration),
    )
    text = render(page)
    with atomic_path(job.output) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
