import re

from whole_project import ROOT, Project

HERE = Project(ROOT)


def test_snakemake_finds_nothing_to_complain_about() -> None:
    ended = HERE.snakemake("--lint", study=None)
    assert ended.status == 0, ended.output
    assert "your workflow is in a good condition" in ended.output


def test_rules_are_formatted() -> None:
    ended = HERE.run("snakefmt", "--check", "Snakefile", "workflow")
    assert ended.status == 0, ended.output


def test_both_snakefiles_plan_the_same() -> None:
    entries = (["-n"], ["-n", "-s", "workflow/Snakefile"])
    first, second = (HERE.snakemake(*entry, "--forceall") for entry in entries)
    assert first.status == second.status == 0, second.output
    assert jobs(first.output) == jobs(second.output) != []


def jobs(output: str) -> list[str]:
    return sorted(re.findall(r"^\w+ +\d+$", output, flags=re.M))
