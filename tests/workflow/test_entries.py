import re
import shutil
from pathlib import Path

import pytest
from commands import run
from whole_project import ROOT, TINY, Project, environment, new_project, own_text, planned

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
    """Return a directory with a Makefile and what it needs; its python says what it is called with, and a name."""
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "create.sh").touch()
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "<%s>" "$@" >&2\necho >&2\necho mine\n')
    python.chmod(0o755)
    return Project(tmp_path)


STRANGE = ("my study.yaml", "study (2) [a].yaml", "user's.yaml", 'a"$HOME$(b)`c`*&;.yaml', "Täst/שלום.yaml")


@pytest.mark.parametrize("name", ["own.yaml", *STRANGE])
def test_make_takes_any_name_of_a_file(ready: Project, name: str) -> None:
    output = ready.run("make", "study", f"STUDY={name}", "CORES=3", f"MIRROR=../{name}").output
    assert f"<headroom.missing><{name}>" in output
    assert f"<--cores><3><--configfile><{name}><--config><mirror=../{name}>" in output
    assert f"The report: {ready.root}/reports/mine.html" in output
    assert "<--config>" not in ready.run("make", "study", f"STUDY={name}").output
    text = ready.root / name
    text.parent.mkdir(exist_ok=True)
    text.touch()
    assert f"<new><{name}><--text><{name}>\n" in ready.run("make", "new", f"MODEL={name}", f"TEXT={name}").output
    two = ready.run("make", "new", "MODEL=m", "TEXT=a.tsv [b].tsv", "OPTIONS=--dtype 'a b'").output
    assert "<new><m><--text><a.tsv><[b].tsv><--dtype><a b>" in two


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


@pytest.mark.long
def test_any_place_will_do(tmp_path: Path) -> None:
    project = new_project(tmp_path / "user's data (2)" / "head room")
    place = tmp_path / "elsewhere" / "T\u00e4st &co"
    (place / TINY).parent.mkdir(parents=True)
    shutil.copy(ROOT / TINY, place / TINY)
    study = own_text(Project(place))
    (tmp_path / "li nk").symlink_to(project.root)
    snakefile = str(tmp_path / "li nk" / "Snakefile")
    target = "results/own/translation/corpus/corpus.json"
    command = ["snakemake", target, "-s", snakefile, "--cores", "2", "--configfile", str(place / study)]
    inside = {key: value for key, value in environment().items() if key != "HOME"}
    ended = run([*command, "--directory", str(place)], cwd=tmp_path, env=inside)
    assert ended.status == 0, ended.output
    assert (place / target).is_file()
    assert planned(run([*command, "--directory", str(place), "-n"], cwd=tmp_path, env=inside)) == {}
    assert run([*command, "--directory", str(place), "--unlock"], cwd=tmp_path, env=inside).status == 0
    assert not (project.root / ".snakemake").exists()
