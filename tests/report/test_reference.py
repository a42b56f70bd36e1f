"""Shipped studies: copies, and the comparison of a rerun with what is shipped."""

import json
import shutil
import tarfile
from itertools import repeat
from pathlib import Path

import pandas
import pytest
import yaml
from golden.test_golden import are_alike
from headroom.core.errors import HeadroomError
from headroom.settings.load import load_study
from study import ROOT
from tables import curve
from tables import study as write_tables

from tools.archives import ARCHIVE, COPIED, TABLES, pack, read_rows, unpack
from tools.reference import (
    ALIKE,
    VERSIONS,
    check,
    decide,
    list_shipped,
    main,
    renew,
    ship,
    write_index,
    write_versions,
)

SHIPPED = ROOT / "reports" / "reference"

CLAIMS = """study,claim,task,run,part,value,low,high,unit,number,side,threshold,refuted,verdict,barrier,these_low,these_high,votes,ground,trainings,seeds,needed,rule,signature,spread,spread_trainings
pilot,M1,translation,pooled,,0.6,0.55,0.7,share,unchanged,above,0.5,0.5,holds,,,,,real text,a b c,3,,ablation.most,,,0
pilot,M2,translation,pooled,,0.5,0.4,0.6,share,confirmed,above,0.7,0.7,does not hold,,,,,real text,a b c,3,,ablation.few,,,0
pilot,M2,translation,translation.baseline.seed1,,0.5,0.4,0.6,share,confirmed,above,0.7,0.7,does not hold,,,,,real text,a,1,,ablation.few,,,0
pilot,M10,translation,pooled,,1.5,1.4,1.6,number,more,above,0,0,holds,,,,,real text,a b c,3,,removal.faster,,,0
"""  # noqa: E501
NUMBERS = """study,what,task,run,part,name,value,low,high,unit,side,threshold,refuted,signed,words,ends,least,most,these_low,these_high
pilot,answer,translation,pooled,,removable,0.25,0.2,0.3,share,,,,0,,interval,,,,
pilot,answer,translation,pooled,,speedup,1.5,1.4,1.6,number,,,,0,,interval,,,,
pilot,M1,translation,pooled,,unchanged,0.6,0.55,0.7,share,above,0.5,0.5,0,{} of the heads,interval,,,,
pilot,M2,translation,pooled,,confirmed,0.5,0.4,0.6,share,above,0.7,0.7,0,{} confirmed,interval,,,,
pilot,M10,translation,pooled,,more,1.5,1.4,1.6,number,above,0,0,1,{} more,interval,,,,
pilot,R2,translation,pooled,,difference,-1,-2,-0.5,number,above,0,0,1,svgd less baseline: {} BLEU,interval,,,,
pilot,R2,translation,pooled,,difference,0.5,0.25,1,number,,,,1,spos less baseline: {} BLEU,interval,,,,
"""  # noqa: E501


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return the results of a finished study."""
    results = tmp_path / "results" / "pilot"
    results.mkdir(parents=True)
    texts = {"claims.csv": CLAIMS, "numbers.csv": NUMBERS, "configuration.json": '{"seeds": [1]}'}
    for name, text in texts.items():
        (results / name).write_text(text, encoding="utf-8")
    return results


@pytest.fixture
def shipped(study: Path, tmp_path: Path) -> Path:
    """Return the directory in which the study is shipped."""
    ship(study, tmp_path / "reference" / "pilot")
    return tmp_path / "reference"


def test_a_shipped_study_has_its_report_and_answers(study: Path, shipped: Path) -> None:
    for name in COPIED:
        assert (shipped / "pilot" / name).read_bytes() == (study / name).read_bytes()
    assert ">pilot<" in (shipped / "pilot" / "report.html").read_text("utf-8")


@pytest.fixture
def scored(study: Path) -> Path:
    """Return the results of a finished study that has tables, resamples, a text and the time of a job.

    It has a training, which its claims name, scores of two arms at two epochs, and a curve, of which M7 is.
    """
    score = {"kind": "E", "layer": 1, "head": 1, "criterion": "gradient-example", "normalised": "raw", "half": "all"}
    runs = [{"run": f"translation.{arm}.seed1", "epoch": epoch} for arm in ("baseline", "svgd") for epoch in (1, 8)]
    tables = write_tables(
        study,
        training=[{"measure": "train_loss", "value": 2.123456789}],
        scores=[score | run | {"value": 0.123456789} for run in runs],
        pruning=list(curve([100.0] + [5.0] * 10)),
    )
    (study / "benchmarks" / "scores").mkdir(parents=True)
    (study / "benchmarks" / "scores" / "translation.baseline.seed1.tsv").write_text("s\n1.5\n", encoding="utf-8")
    (study / "translation" / "corpus").mkdir(parents=True)
    (study / "translation" / "corpus" / "corpus.json").write_text('{"source_language": "English"}', encoding="utf-8")
    (study / "translation" / "corpus" / "train.source").write_text("a sentence\n", encoding="utf-8")
    named = CLAIMS.replace("a b c", *tables.trainings.values()).replace(",a,1,", ",,1,").replace(",M2,", ",M7,")
    (study / "claims.csv").write_text(named, encoding="utf-8")
    (study / "numbers.csv").write_text(NUMBERS.replace(",M2,", ",M7,"), encoding="utf-8")
    return study


def test_tables_are_packed_with_resamples_and_times(scored: Path, tmp_path: Path) -> None:
    archives = [tmp_path / name / "pilot" / ARCHIVE for name in ("archives", "again")]
    for archive in archives:
        main([str(scored), "--pack", str(archive.parents[1])])
    assert archives[0].read_bytes() == archives[1].read_bytes()
    assert [path.name for path in archives[0].parent.iterdir()] == [ARCHIVE]
    found = unpack(archives[0], tmp_path / "unpacked")
    assert found.name == "pilot"
    names = files_in(found)
    assert names == [
        "benchmarks/scores/translation.baseline.seed1.tsv",
        "configuration.json",
        "pruning/all.csv",
        "pruning/all.npz",
        "scores/all.csv",
        "training/all.csv",
        "translation/corpus/corpus.json",
    ]
    for name in names:
        assert (found / name).read_bytes() == (scored / name).read_bytes()


def files_in(place: Path) -> list[str]:
    """Return the files below a directory."""
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())


def test_shipped_tables_have_no_resamples_and_fewer_digits(scored: Path, tmp_path: Path) -> None:
    ship(scored, tmp_path / "reference" / "pilot")
    found = unpack(tmp_path / "reference" / "pilot" / ARCHIVE, tmp_path)
    assert files_in(found) == ["configuration.json", "pruning/all.csv", "scores/all.csv", "training/all.csv"]
    assert (found / "training" / "all.csv").read_bytes() == (scored / "training" / "all.csv").read_bytes()
    rows = (scored / "scores" / "all.csv").read_text("utf-8").replace("0.123456789", "0.123457").splitlines()
    del rows[3]  # the first epoch of an arm that is no baseline
    assert (found / "scores" / "all.csv").read_text("utf-8").splitlines() == rows


@pytest.mark.parametrize("name", ["../outside.csv", "/tmp/outside.csv", "scores/../../outside.csv"])
def test_archives_write_nothing_elsewhere(name: str, tmp_path: Path) -> None:
    (tmp_path / "pilot").mkdir()
    with tarfile.open(tmp_path / "pilot" / ARCHIVE, "w:xz") as packed:
        packed.addfile(tarfile.TarInfo(name))
    with pytest.raises(HeadroomError, match=r"tables\.tar\.xz: .*outside\.csv is not a table; restore the archive"):
        unpack(tmp_path / "pilot" / ARCHIVE, tmp_path / "unpacked")
    assert not list(tmp_path.rglob("outside.csv"))


def verdicts_in(study: Path) -> dict[str, str]:
    """Return the verdicts on M1, which no table of the study is about, and on M7, as they are shipped."""
    rows = pandas.read_csv(study / "claims.csv", index_col=["claim", "run"])
    return {claim: rows.loc[(claim, "pooled"), "verdict"] for claim in ("M1", "M7")}


@pytest.mark.long
def test_what_needs_resamples_is_decided_again_from_archives_alone(scored: Path, tmp_path: Path) -> None:
    shipped, archives = tmp_path / "reference", tmp_path / "archives"
    for name in ("pilot", "lost"):
        ship(scored, shipped / name)
        write_versions(shipped / name / VERSIONS)
    (shipped / "lost" / ARCHIVE).unlink()
    kept = [*shipped.rglob(VERSIONS), *(shipped / "lost").iterdir(), shipped / "pilot" / "report.html"]
    before = {path: path.read_bytes() for path in kept}
    renew(shipped, None, tmp_path / "grounds.csv")
    assert verdicts_in(shipped / "pilot") == {"M1": "not run", "M7": "does not hold"}
    assert {path: path.read_bytes() for path in kept} == before
    pack(scored, archives / "pilot" / ARCHIVE)
    renew(shipped, archives, tmp_path / "grounds.csv")
    assert verdicts_in(shipped / "pilot") == {"M1": "not run", "M7": "not comparable here"}
    kept.remove(shipped / "pilot" / "report.html")
    assert {path: path.read_bytes() for path in kept} == {path: before[path] for path in kept}
    whole = {path: path.read_bytes() for path in (shipped / "pilot").iterdir()}
    renew(shipped, None, tmp_path / "grounds.csv")
    assert {path: path.read_bytes() for path in (shipped / "pilot").iterdir()} == whole


def test_a_study_is_not_decided_from_the_archive_of_other_trainings(scored: Path, tmp_path: Path) -> None:
    shipped, archives = tmp_path / "reference", tmp_path / "archives"
    pack(scored, archives / "pilot" / ARCHIVE)
    claims = (scored / "claims.csv").read_text("utf-8")
    (scored / "claims.csv").write_text(claims.replace(",,1,", ",another,1,"), encoding="utf-8")
    ship(scored, shipped / "pilot")
    renew(shipped, archives, tmp_path / "grounds.csv")
    assert verdicts_in(shipped / "pilot") == {"M1": "not run", "M7": "does not hold"}


def test_without_archives_nothing_is_decided_again(shipped: Path, tmp_path: Path) -> None:
    with pytest.raises(HeadroomError, match=r"archives: no <study>/tables\.tar\.xz; docs/running"):
        main(["--output", str(shipped), "--archives", str(tmp_path / "archives")])


def test_the_index_has_all_shipped_studies(scored: Path, tmp_path: Path) -> None:
    shipped = tmp_path / "reference"
    ship(scored, shipped / "pilot")
    shutil.copytree(shipped / "pilot", shipped / "former")
    for path in (shipped / "former" / name for name in TABLES):
        path.write_text(path.read_text("utf-8").replace("pilot,", "former,"), encoding="utf-8")
    write_index(shipped)
    index = (shipped / "index.html").read_text("utf-8")
    assert 'href="pilot/report.html#claim-M1"' in index
    assert 'former, translation: <span class="verdict does-not-hold' in index


CHANGED = {
    *("multi30k-french", "tatoeba-german", "tatoeba-french", "bakeoff-sst2", "gates"),
    *("sst2", "snli", "repulsion"),
}
"""Studies whose settings were changed after they had been run: gates in two phases, all four orders by gradient,
checkpoints inside the first epoch, and more seeds."""


def test_shipped_configurations_are_those_of_the_studies() -> None:
    differing = set()
    for study in list_shipped(SHIPPED):
        path = ROOT / ("config.yaml" if study.name == "starter" else f"studies/{study.name}.yaml")
        given = yaml.safe_load(path.read_text("utf-8")), json.loads((study / "configuration.json").read_text("utf-8"))
        asked, shipped = (json.loads(load_study(one).used()) for one in given)
        for task in (*asked["tasks"].values(), *shipped["tasks"].values()):
            task.pop("removal")  # a share when they were run, a tolerance when they are run again
        differing |= {study.name} if asked != shipped else set()
    assert differing == CHANGED


@pytest.mark.long
def test_shipped_answers_are_those_of_the_rules_as_they_are(tmp_path: Path) -> None:
    wrong: list[tuple[str, ...]] = []
    for archive in sorted(SHIPPED.glob(f"*/{ARCHIVE}")):
        results = unpack(archive, tmp_path)
        decide(results, archive.parent, ALIKE)
        for name in TABLES:
            ours, theirs = read_rows(results / name), read_rows(archive.parent / name)
            same = len(ours) == len(theirs) and all(map(are_same, ours, theirs))
            wrong += [] if same else [(archive.parent.name, name, "run `make renew`")]
    assert not wrong, wrong


def are_same(ours: dict[str, str], theirs: dict[str, str]) -> bool:
    """Return whether rows are the same but for the last digits of their numbers."""
    return ours.keys() == theirs.keys() and all(map(are_alike, ours.values(), theirs.values(), repeat(1e-6)))


def test_nothing_is_shipped_of_an_unfinished_study(study: Path, tmp_path: Path) -> None:
    (study / "numbers.csv").unlink()
    with pytest.raises(HeadroomError, match=r"numbers\.csv: missing; run the study to its end"):
        ship(study, tmp_path / "reference" / "pilot")
    with pytest.raises(HeadroomError, match=r"numbers\.csv: missing; run the study to its end"):
        main([str(study), "--pack", str(tmp_path / "archives")])
    assert not (tmp_path / "reference").exists()
    assert not (tmp_path / "archives").exists()


def test_measured_times_may_differ(study: Path, shipped: Path) -> None:
    path = study / "numbers.csv"
    path.write_text(path.read_text("utf-8").replace("speedup,1.5", "speedup,1.7"), encoding="utf-8")
    path = study / "claims.csv"
    path.write_text(path.read_text("utf-8").replace("1.5,1.4,1.6", "1.7,1.6,1.8"), encoding="utf-8")
    check([study], shipped)


@pytest.mark.parametrize(
    ("name", "old", "new"), [("numbers.csv", "0.25,", "0.250000001,"), ("claims.csv", ",holds", ",does not hold")]
)
def test_any_other_difference_is_an_error(study: Path, shipped: Path, name: str, old: str, new: str) -> None:
    path = study / name
    path.write_text(path.read_text("utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(HeadroomError, match=rf"{name}: 1 rows differ"):
        check([study], shipped)


def test_a_study_that_is_not_shipped(study: Path, tmp_path: Path) -> None:
    with pytest.raises(HeadroomError, match=r"claims\.csv: missing; run the study, or ship it first"):
        check([study], tmp_path / "elsewhere")
