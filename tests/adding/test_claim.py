"""A claim is a rule and an entry: it is decided, and the report shows it."""

import pytest
from headroom.experiments.removal import parameters
from study import run_stage

pytestmark = pytest.mark.long

RULE = """

@each_run("parameters")
def small_model(rows: pandas.DataFrame, *, most: float) -> Reading | None:
    \"\"\"Decide whether a model has at most so many parameters.\"\"\"
    if rows.empty:
        return None
    found = exactly(float(rows["model_parameters"].iloc[0]))
    return Reading((Number("parameters", found, "count", asked=below(most)),))
"""

ENTRY = """
  M16:
    sentence: The model is small.
    section: removal
    decide: removal.small_model
    rule: Holds if it has less than {most} parameters.
    thresholds: {most: 1000000}
    paper: {translation: larger, classification: larger}
    numbers: {parameters: "the model has {} parameters"}
"""


def test_a_claim_is_a_rule_and_an_entry(project, toy):
    project.edit("headroom/experiments/removal/claims.py", end=RULE)
    project.edit("headroom/claims/papers/michel.yaml", end=ENTRY)
    assert project.touched() == {"headroom/experiments/removal/claims.py", "headroom/claims/papers/michel.yaml"}

    table = project.root / "parameters" / "translation.baseline.seed1.csv"
    table.parent.mkdir()
    model = ["--checkpoint", toy.checkpoints[-1], "--corpus", toy.corpus, "--device", "cpu"]
    named = ["--study", "toy", "--run", "translation.baseline.seed1"]
    run_stage(parameters, [*named, *map(str, model), "--output", str(table)])
    files = ["--output", "claims.csv", "--numbers", "numbers.csv"]
    project.headroom("claims", "--study", "toy", "--tables", table, *files)
    found = [line for line in (project.root / "claims.csv").read_text().splitlines() if ",M16," in line]
    assert [line.split(",")[3] for line in found] == ["translation.baseline.seed1", "pooled"]
    assert all(",holds in this model," in line for line in found)

    shown = ["--claims", "claims.csv", "--numbers", "numbers.csv"]
    project.headroom("report", "--study", "toy", "--tables", table, *shown, "--output", "page.html")
    page = (project.root / "page.html").read_text()
    row = page.partition('id="claim-M16"')[2].partition("</details>")[0]
    assert "The model is small." in row
    assert "less than 1000000 parameters" in row
    assert 'class="verdict holds-in-this-model"' in row
    assert 'class="verdict does-not-hold' not in row
