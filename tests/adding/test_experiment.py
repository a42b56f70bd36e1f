"""An experiment is a folder, a rule, the runs that it is asked of, a section of the page, and its settings."""

import pytest

pytestmark = pytest.mark.long

PARTS = {
    "__init__.py": '''"""How many heads every site has."""
''',
    "stage.py": '''"""Count the heads of every site."""

from pathlib import Path

from headroom.core.table import signature
from headroom.models.command import OneModelJob, open_engine
from headroom.experiments.site_sizes.declared import SITE_SIZES, SiteSizesSettings
from pydantic import Field


class SiteSizes(OneModelJob):
    """Count the heads of every site."""

    output: Path = Field(description="table of counts")
    site_sizes: SiteSizesSettings = SiteSizesSettings()


def run(job: SiteSizes) -> None:
    """Count and write the table."""
    kinds = job.site_sizes.kinds
    sites = [site for site in open_engine(job).load(job.checkpoint).sites if site.kind in kinds]
    about = signature(kinds=",".join(kinds))
    rows = [{"kind": site.kind, "layer": site.layer, "heads": site.heads, "signature": about} for site in sites]
    SITE_SIZES.write(job.output, [job.leading_columns(job.checkpoint) | row for row in rows])
''',
    "declared.py": '''"""The settings and the table of this experiment."""

from headroom.core.columns import KIND, LAYER, RUN, SIGNATURE
from headroom.core.table import Column, Table
from headroom.settings.base import Settings
from pydantic import Field

SITE_SIZES = Table(
    path="site_sizes/{run}.csv",
    key=("run", "epoch", "kind", "layer"),
    columns=(*RUN, KIND, LAYER, Column("heads", "integer", "heads of the site"), SIGNATURE),
    about="How many heads every site has.",
)


class SiteSizesSettings(Settings):
    """Counting the heads of sites."""

    kinds: tuple[str, ...] = Field(("E", "A", "D"), description="kinds of sites")
''',
    "page.py": '''"""Sizes of sites."""

from headroom.figures.spec import Fold, Table
from headroom.figures.views import Parts, Views, section_of
from headroom.study.tables import StudyTables


@section_of("site_sizes", "Sizes of sites", "site_sizes")
def section(study: StudyTables, _: Views) -> Parts:
    """Return the section about the sizes of sites."""
    table = Table("site_sizes", study.site_sizes, ("run", "kind", "layer", "heads"))
    return Parts(None, [Fold("Heads of every site", tables=(table,))])
''',
    "prose.md.j2": """{%- macro missing() -%}The heads of sites were not counted in this study.{%- endmacro -%}
{%- macro alt() -%}Heads of every attention site{%- endmacro -%}
{%- macro figure() -%}There is no figure.{%- endmacro -%}
""",
}
RULE = """

use rule model_job as site_sizes with:
    output:
        output="<study>/site_sizes/{run}.csv",
    pathvars:
        job="site_sizes/{run}",
    params:
        **jobs.params("site_sizes", sections="site_sizes", loads=True),
"""
FOLDER = "headroom/experiments/site_sizes"
FIELD = '    site_sizes: SiteSizesSettings = Field(default_factory=SiteSizesSettings, description="heads of sites")\n'
SETTINGS = "from headroom.experiments.site_sizes.declared import SiteSizesSettings\n"
LISTED = {
    "headroom/experiments/listed.py": [("SECTIONS = (\n", '    "site_sizes.page",\n')],
    "headroom/study/targets.py": [('        "roles": ', '        "site_sizes": detailed,\n')],
    "headroom/settings/tasks.py": [
        ("from headroom.experiments.update_cost.declared import UpdateCostSettings\n", SETTINGS),
        ('description="final scores")\n', FIELD),
        ('description="labels and metrics")\n', FIELD),
    ],
}


def test_an_experiment_is_a_folder_a_rule_and_its_lines(project, toy):
    for name, text in PARTS.items():
        project.write(f"{FOLDER}/{name}", text)
    for path, lines in LISTED.items():
        for at, line in lines:
            project.edit(path, at=at, **{"before" if at.startswith(" " * 8 + '"') else "after": line})
    project.edit("rules/importance.smk", end=RULE)
    assert project.touched() == {*(f"{FOLDER}/{name}" for name in PARTS), *LISTED, "rules/importance.smk"}

    assert project.plan(tasks__translation__site_sizes={"kinds": ["A"]})["site_sizes"] == 2

    table = project.root / "site_sizes" / "translation.baseline.seed1.csv"
    model = ["--checkpoint", toy.checkpoints[-1], "--corpus", toy.corpus, "--device", "cpu"]
    named = ["--study", "toy", "--run", table.stem, "--kinds", "E", "A"]
    project.headroom("site_sizes", *named, *model, "--output", table)
    assert [line.split(",")[3:6] for line in table.read_text().splitlines()[1:]] == [
        [kind, layer, "4"] for kind in "EA" for layer in "12"
    ]

    project.headroom("report", "--study", "toy", "--tables", table, "--output", "page.html")
    page = (project.root / "page.html").read_text()
    assert "<h2>Sizes of sites</h2>" in page
    assert page.count('<td class="n">4</td>') >= 4
