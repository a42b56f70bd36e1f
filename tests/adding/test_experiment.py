"""An experiment is a stage, settings, a rule, a table and a section, and a line where each of them is listed."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.long

HERE = Path(__file__).parent / "site_sizes"
FILES = {
    "headroom/experiments/site_sizes/__init__.py": "__init__.py",
    "headroom/experiments/site_sizes/stage.py": "stage.py",
    "headroom/experiments/site_sizes/table.py": "table.py",
    "headroom/experiments/site_sizes/settings.py": "settings.py",
    "headroom/experiments/site_sizes/prose.md.j2": "prose.md.j2",
    "headroom/experiments/site_sizes/section.py": "section.py",
    "rules/site_sizes.smk": "rule.smk",
}
FIELD = '    site_sizes: SiteSizesSettings = Field(default_factory=SiteSizesSettings, description="heads of sites")\n'
LINE = '        "site_sizes": "count the heads of every site",\n'
SECTION = "from headroom.experiments.site_sizes import section as site_sizes\n"
SETTINGS = "from headroom.experiments.site_sizes.settings import SiteSizesSettings\n"
TABLE = "from headroom.experiments.site_sizes.table import SITE_SIZES\n"
LISTED = {
    "headroom/__main__.py": [('    "Which heads matter": {\n', LINE)],
    "headroom/settings/tasks.py": [
        ("from headroom.experiments.update_cost.settings import UpdateCostSettings\n", SETTINGS),
        ('description="final scores")\n', FIELD),
        ('description="labels and metrics")\n', FIELD),
    ],
    "headroom/experiments/tables.py": [
        ("from headroom.experiments.update_cost.table import UPDATE_COST\n", TABLE),
        ("REGISTRY = Registry(\n", "    SITE_SIZES,\n"),
    ],
    "Snakefile": [('include: "rules/parameters.smk"\n', 'include: "rules/site_sizes.smk"\n')],
    "headroom/report/page.py": [
        ("from headroom.experiments.training import section as training\n", SECTION),
        ("ORDER = (\n", "    site_sizes,\n"),
    ],
}
PAGES = ["--table", "configuration.md", "--tables", "tables.md"]


def test_an_experiment_is_a_file_for_each_part_and_its_lines(project, toy):
    for path, name in FILES.items():
        project.write(path, (HERE / name).read_text())
    for path, lines in LISTED.items():
        for at, line in lines:
            project.edit(path, at=at, after=line)
    assert project.touched() == {"headroom/experiments/site_sizes", "rules/site_sizes.smk", *LISTED}

    assert project.plan(translation__site_sizes={"kinds": ["A"]})["site_sizes"] == 2

    table = project.root / "site_sizes" / "translation.baseline.seed1.csv"
    model = ["--checkpoint", toy.checkpoints[-1], "--vocabulary", toy.data, "--corpus", toy.corpus, "--device", "cpu"]
    named = ["--study", "toy", "--run", table.stem, "--kinds", "E", "A"]
    project.headroom("site_sizes", *named, *model, "--output", table)
    assert [line.split(",")[3:6] for line in table.read_text().splitlines()[1:]] == [
        [kind, layer, "4"] for kind in "EA" for layer in "12"
    ]

    project.headroom("docs", *PAGES)
    assert "## site_sizes\n\nHow many heads every site has." in (project.root / "tables.md").read_text()
    assert "| `translation.site_sizes.kinds` | list of string |" in (project.root / "configuration.md").read_text()
    project.headroom("report", "--study", "toy", "--tables", table, "--output", "page.html")
    page = (project.root / "page.html").read_text()
    assert "<h2>Sizes of sites</h2>" in page
    assert page.count('<td class="n">4</td>') >= 4
    assert "site_sizes" in project.headroom("--help")
