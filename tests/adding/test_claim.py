"""A claim is a rule and an entry beside it: then the report decides it."""

from headroom.stages import parameters

CLAIM = """

def _small(rows: pandas.DataFrame) -> Reading | None:
    if rows.empty:
        return None
    found = Estimate(float(rows["model_parameters"].iloc[0]))
    return Reading(HOLDS if found.value < 1e6 else FAILS, (Measured("the model has {} parameters", found),))


def _sized(tables: StudyTables) -> list[Reading]:
    return readings(tables, "parameters", _small)


CLAIMS += (
    Claim(
        id="M16",
        claim="The model is small.",
        paper={"translation": "larger", "classification": "larger"},
        rule="Holds if it has less than a million parameters.",
        section="removal",
        read=_sized,
    ),
)
"""


def test_a_claim_is_a_rule_and_an_entry(project, toy):
    project.edit("headroom/report/claims/counts.py", end=CLAIM)
    assert project.touched() == {"headroom/report/claims/counts.py"}

    table = project.root / "parameters" / "translation.baseline.seed1.csv"
    table.parent.mkdir()
    model = ["--checkpoint", toy.checkpoints[-1], "--vocabulary", toy.data, "--corpus", toy.corpus, "--device", "cpu"]
    named = ["--study", "toy", "--run", "translation.baseline.seed1"]
    parameters.main([*named, *map(str, model), "--output", str(table)])
    project.headroom("report", "--study", "toy", "--tables", table, "--output", "page.html")
    page = (project.root / "page.html").read_text()
    row = page.partition('id="claim-M16"')[2].partition("claim-V1")[0]
    assert "The model is small." in row
    assert "holds" in row
    assert "does not hold" not in row
