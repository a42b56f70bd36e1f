"""The tests' substitutes for `snakemake` and jobs are equivalent to the originals."""

import re
from pathlib import Path

import pytest
from commands import Ended
from whole_project import Project

pytestmark = pytest.mark.long

OF_THE_MOMENT = re.compile(
    r"^\[.* \d\d:\d\d:\d\d \d{4}\]$|^  (?:Date|Workflow ID): .*$|^Complete log.*: .*$|\d+:\d\d:\d\d\.\d+", flags=re.M
)
WORD = re.compile(r"[\w./:-]+")
SECONDS = re.compile(r"[\d.:]+$")


def words(ended: Ended) -> list[str]:
    """Return a command's output without times, sorted: the order of sets depends on hashes."""
    return sorted(WORD.findall(OF_THE_MOMENT.sub("", ended.output)))


@pytest.mark.parametrize(
    ("arguments", "changes", "status"),
    [
        (("-n",), {}, 0),
        (("-n",), {"translation.training.epoch": 2}, 1),
    ],
    ids=["a plan", "a wrong key"],
)
def test_a_real_snakemake_says_the_same(
    bare: Project, arguments: tuple[str, ...], changes: dict[str, int], status: int
) -> None:
    study = bare.configure(changes)
    real, warm = (bare.snakemake(*arguments, "--forceall", study=study, warm=warm) for warm in (False, True))
    assert real.status == warm.status == status, warm.output
    assert words(real) == words(warm)


def test_a_real_snakemake_says_the_same_of_a_job(bare: Project) -> None:
    target = ("results/tiny/configuration.json", "--forceall")
    real, warm = (bare.snakemake(*target, warm=warm) for warm in (False, True))
    assert real.status == warm.status == 0, warm.output
    first, second = ([word for word in words(one) if not SECONDS.match(word)] for one in (real, warm))
    assert first == second


def test_a_real_stage_says_the_same(bare: Project, tmp_path: Path) -> None:
    real, warm = (bare.stage("parameters", "--checkpoint", "none.pt", warm=warm) for warm in (False, True))
    assert real.status == warm.status != 0
    assert words(real) == words(warm)
