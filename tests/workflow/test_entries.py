import re

from whole_project import ROOT, Project

HERE = Project(ROOT)


def test_both_snakefiles_plan_the_same() -> None:
    entries = (["-n"], ["-n", "-s", "workflow/Snakefile"])
    first, second = (HERE.snakemake(*entry, "--forceall") for entry in entries)
    assert first.status == second.status == 0, second.output
    assert jobs(first.output) == jobs(second.output) != []


def jobs(output: str) -> list[str]:
    return sorted(re.findall(r"^\w+ +\d+$", output, flags=re.M))
