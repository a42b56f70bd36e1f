"""An experiment is a stage, settings, a rule, a table and a section, and a line where each of them is listed."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.long

HERE = Path(__file__).parent / "site_sizes"
FILES = {
    "headroom/stages/site_sizes.py": "stage.py",
    "headroom/core/tables/site_sizes.py": "table.py",
    "headroom/report/templates/prose/site_sizes.md.j2": "prose.md.j2",
    "headroom/report/sections/site_sizes.py": "section.py",
    "rules/site_sizes.smk": "rule.smk",
}
SETTINGS = '''

class SiteSizesSettings(Settings):
    """Counting the heads of sites."""

    kinds: tuple[str, ...] = Field(("E", "A", "D"), description="kinds of sites")
'''
FIELD = '    site_sizes: SiteSizesSettings = Field(default_factory=SiteSizesSettings, description="heads of sites")\n'
LINE = '        "site_sizes": "count the heads of every site",\n'
LISTED = {
    "headroom/__main__.py": [('    "Which heads matter": {\n', LINE)],
    "headroom/settings/tasks.py": [
        ("    PhenomenaSettings,\n", "    SiteSizesSettings,\n"),
        ('description="final scores")\n', FIELD),
        ('description="labels and metrics")\n', FIELD),
    ],
    "headroom/core/tables/__init__.py": [
        ("import ARMS, GATES, OVERLAP, PRUNED_MODELS, PRUNING, PRUNING_EPOCHS, PRUNING_REPLACED\n", "@SITE_SIZES\n"),
        ("ALL = Registry(\n", "    SITE_SIZES,\n"),
        ("__all__ = [\n", '    "SITE_SIZES",\n'),
    ],
    "Snakefile": [('include: "rules/parameters.smk"\n', 'include: "rules/site_sizes.smk"\n')],
    "headroom/report/page.py": [
        ("    settling,\n    timing,\n", "    site_sizes,\n"),
        ("ORDER = (\n", "    site_sizes,\n"),
    ],
}
IMPORTED = "from headroom.core.tables.site_sizes import SITE_SIZES\n"
PAGES = ["--table", "configuration.md", "--tables", "tables.md"]


def test_an_experiment_is_a_file_for_each_part_and_its_lines(project, toy):
    for path, name in FILES.items():
        project.write(path, (HERE / name).read_text())
    project.edit("headroom/settings/functions.py", end=SETTINGS)
    for path, lines in LISTED.items():
        for at, line in lines:
            project.edit(path, at=at, after=line.replace("@SITE_SIZES\n", IMPORTED))
    assert project.touched() == {*FILES, *LISTED, "headroom/settings/functions.py"}

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
