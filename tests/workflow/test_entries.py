import re
from pathlib import Path

import pytest
from study import ROOT, Project

HERE = Project(ROOT)


def test_both_snakefiles_plan_the_same() -> None:
    entries = (["-n"], ["-n", "-s", "workflow/Snakefile"])
    first, second = (HERE.snakemake(*entry, "--forceall") for entry in entries)
    assert first.status == second.status == 0, second.output
    assert jobs(first.output) == jobs(second.output) != []


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


def jobs(output: str) -> list[str]:
    return sorted(re.findall(r"^\w+ +\d+$", output, flags=re.M))
