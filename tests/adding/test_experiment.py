"""An experiment is a folder, a line where experiments are listed, and its key in the settings of tasks."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.long

HERE = Path(__file__).parent / "site_sizes"
PARTS = ("__init__.py", "experiment.py", "stage.py", "table.py", "settings.py", "section.py", "prose.md.j2")
FIELD = '    site_sizes: SiteSizesSettings = Field(default_factory=SiteSizesSettings, description="heads of sites")\n'
SETTINGS = "from headroom.experiments.site_sizes.settings import SiteSizesSettings\n"
LISTED = {
    "headroom/experiments/listed.py": [("NOUNS = (\n", '    "site_sizes",\n')],
    "headroom/settings/tasks.py": [
        ("from headroom.experiments.update_cost.settings import UpdateCostSettings\n", SETTINGS),
        ('description="final scores")\n', FIELD),
        ('description="labels and metrics")\n', FIELD),
    ],
}
PAGES = ["--table", "configuration.md", "--tables", "tables.md"]


def test_an_experiment_is_a_file_for_each_part_and_its_lines(project, toy):
    for name in PARTS:
        project.write(f"headroom/experiments/site_sizes/{name}", (HERE / name).read_text())
    for path, lines in LISTED.items():
        for at, line in lines:
            project.edit(path, at=at, after=line)
    assert project.touched() == {"headroom/experiments/site_sizes", *LISTED}

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
    assert "| `site_sizes.kinds` | list of string |" in (project.root / "configuration.md").read_text()
    project.headroom("report", "--study", "toy", "--tables", table, "--output", "page.html")
    page = (project.root / "page.html").read_text()
    assert "<h2>Sizes of sites</h2>" in page
    assert page.count('<td class="n">4</td>') >= 4
    assert "site_sizes" in project.headroom("--help")
