import re
from pathlib import Path

import pytest
from whole_project import ROOT, Project

HERE = Project(ROOT)


def test_both_snakefiles_plan_the_same() -> None:
    entries = (["-n"], ["-n", "-s", "workflow/Snakefile"])
    first, second = (HERE.snakemake(*entry, "--forceall") for entry in entries)
    assert first.status == second.status == 0, second.output
    assert jobs(first.output) == jobs(second.output) != []


SST2 = ("-n", "-p", "results/sst2/sst2/corpus/corpus.json", "--forceall")


@pytest.mark.long
@pytest.mark.parametrize("mirror", ["http://localhost/data", "{there}", "{there}/gone"])
def test_mirror_is_named_on_the_command_line(tmp_path: Path, mirror: str) -> None:
    mirror = mirror.format(there=tmp_path)
    ended = HERE.snakemake(*SST2, "--config", f"mirror={mirror}", study="studies/sst2.yaml")
    assert ended.status == 0, ended.output
    assert re.search(rf'headroom .*"kind":"labelled".* --mirror {re.escape(mirror)} ', ended.output)
    assert (f"no directory {mirror} in" in ended.output) == mirror.endswith("gone")


@pytest.fixture
def ready(tmp_path: Path) -> Project:
    """Return a directory with a Makefile and the files that it looks for."""
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "create.sh").touch()
    return Project(tmp_path)


def test_make_passes_a_mirror_and_a_number_of_cores_on(ready: Project) -> None:
    asked = ("make", "--dry-run", "study", "STUDY=own.yaml", "CORES=3")
    plain, mirrored = (ready.run(*asked, *more).output for more in ([], ["MIRROR=../some data"]))
    assert "--cores 3 --configfile own.yaml" in plain
    assert "--config " not in plain
    assert '--configfile own.yaml --config "mirror=../some data"' in mirrored


def test_make_compares_the_studies_that_are_named(ready: Project) -> None:
    made = ready.run("make", "--dry-run", "compare", "STUDIES=starter sst2", "PAGE=reports/two.html").output
    assert 'headroom compare results/starter results/sst2 --output "reports/two.html"' in made
    unnamed = ready.run("make", "compare")
    assert unnamed.status != 0
    assert "make compare: no studies named" in unnamed.output


def test_studies_name_no_place_outside_of_the_project() -> None:
    for study in (ROOT / "studies").glob("*.yaml"):
        assert not re.search(r"^mirror:|\.\./|: /", study.read_text(), flags=re.M), study


def jobs(output: str) -> list[str]:
    return sorted(re.findall(r"^\w+ +\d+$", output, flags=re.M))
