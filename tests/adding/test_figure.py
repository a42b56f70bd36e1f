"""A figure of a section is one file: the section's."""

import pytest
from report.example_tables import write_example_study

pytestmark = pytest.mark.long

ADDED = '''

_whole = section


def section(study: StudyTables) -> Section:
    """Return the section with one more figure."""
    rows = study.timing.assign(size=study.timing["batch_size"].astype(float))
    looks = {"sliced": panels.Look(palette.INK, marker="o")}
    axes = ("size", "batch size"), ("multiply_adds", "multiply-adds")
    drawn = panels.lines(rows, looks, "added", *axes, hue="model")
    figure = Figure("added", (Panel(drawn),), alt="Multiply-adds by batch size", frame=rows)
    made = _whole(study)
    return replace(made, folds=(*made.folds, Fold("Multiply-adds", figure)))
'''
IMPORTS = (
    "\nfrom dataclasses import replace\n\nfrom headroom.figures import palette, panels\n"
    "from headroom.figures.spec import Figure, Fold, Panel, Section\n"
)


def test_a_figure_is_one_file(project, tmp_path):
    project.edit("headroom/experiments/timing/section.py", end=IMPORTS + ADDED)
    assert project.touched() == {"headroom/experiments/timing/section.py"}
    timing = write_example_study(tmp_path / "example", only=("timing",))
    project.headroom("report", "--study", "toy", "--tables", *timing, "--output", "page.html")
    page = (project.root / "page.html").read_text()
    assert '<figure id="figure-added" data-csv="figure-added.csv">' in page
    assert "<summary>Multiply-adds</summary>" in page
