"""A number of every shipped study, recomputed from its shipped tables: nothing of the package is imported here."""

import csv
import io
import tarfile
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from statistics import fmean, median

import pytest

SHIPPED = Path(__file__).parents[2] / "reports" / "reference"

LOST = {"gates-multi30k", "multi30k", "repulsion-multi30k", "smollm2"}
"""Studies whose tables are lost, until they have been run again (docs/running.md)."""

MOST = 8_000_000
"""Bytes that the tables of all studies may take."""

Row = dict[str, str]


def read(study: str, table: str, task: str) -> list[list[Row]]:
    """Return the rows of a table of a shipped study by run of the baseline of a task."""
    found: list[Row] = []
    with tarfile.open(SHIPPED / study / "tables.tar.xz") as packed:
        for member in packed:
            if member.name.removesuffix(".columns.csv").split("/")[0] == table:
                stream = packed.extractfile(member)
                assert stream is not None
                columns = list(csv.reader(io.StringIO(stream.read().decode(), newline="")))
                names = [name for name, *_ in columns]
                found += [dict(zip(names, cells)) for cells in zip(*(cells for _, *cells in columns))]
    own = [row for row in found if "run" not in row or row["run"].startswith(f"{task}.baseline.seed")]
    return [list(rows) for _, rows in groupby(own, lambda row: row.get("run"))]


def loss_of_the_last_cross_site(study: str, task: str) -> float:
    """Return M5: the share of BLEU that is lost with one head, chosen on other data, at the last cross-attention."""

    def lost(rows: list[Row]) -> float:
        own = [row for row in rows if (row["kind"], row["set"], row["metric"]) == ("A", "test", "bleu")]
        chosen = [row for row in own if "choose" in row["chosen_on"].split()]
        last = max(chosen, key=lambda row: (int(row["epoch"]), int(row["layer"])))
        return -float(last["delta"]) / float(last["full"])

    return fmean(map(lost, read(study, "keep_one", task)))


def excess_of_rare_words(study: str, task: str) -> float:
    """Return V5: how many points more than by chance the best head of the first layer points to rare words."""

    def excess(rows: list[Row]) -> float:
        asked = {"model": "trained", "measure": "rare", "target": "two-rarest", "half": "all", "layer": "1"}
        own = [row for row in rows if asked.items() <= row.items()]
        return 100 * max(float(row["value"]) - float(row["baseline"]) for row in own)

    return fmean(map(excess, read(study, "attention_stats", task)))


def cost_of_repulsion(study: str, task: str) -> float:
    """Return R6: the median of how much longer an update with repulsion takes than one without."""
    (rows,) = read(study, "update_cost", task)
    seconds = {arm: [float(row["seconds"]) for row in rows if row["arm"] == arm] for arm in ("baseline", "svgd-1e-4")}
    return median(longer / usual for usual, longer in zip(*seconds.values()))


NUMBERS: dict[str, tuple[str, str, Callable[[str, str], float]]] = {
    "bakeoff-sst2": ("V5", "sst2", excess_of_rare_words),
    "gates": ("M5", "translation", loss_of_the_last_cross_site),
    "glue": ("V5", "rte", excess_of_rare_words),
    "ladder-narrow": ("M5", "translation", loss_of_the_last_cross_site),
    "ladder-narrowest": ("M5", "translation", loss_of_the_last_cross_site),
    "multi30k-french": ("M5", "translation", loss_of_the_last_cross_site),
    "repulsion": ("R6", "translation", cost_of_repulsion),
    "snli": ("V5", "snli", excess_of_rare_words),
    "sst2": ("V5", "sst2", excess_of_rare_words),
    "starter": ("M5", "translation", loss_of_the_last_cross_site),
    "tatoeba-french": ("M5", "translation", loss_of_the_last_cross_site),
    "tatoeba-german": ("M5", "translation", loss_of_the_last_cross_site),
}


def test_a_number_of_every_study_is_that_of_its_tables() -> None:
    wrong = []
    for study, (claim, task, compute) in NUMBERS.items():
        with open(SHIPPED / study / "claims.csv", encoding="utf-8", newline="") as stream:
            rows = [row for row in csv.DictReader(stream) if (row["claim"], row["task"]) == (claim, task)]
        (row,) = (row for row in rows if row["run"] == "pooled")
        computed = compute(study, task)
        wrong += [] if float(row["value"]) == pytest.approx(computed, rel=1e-5) else [(study, row["value"], computed)]
    assert not wrong, wrong


def test_every_shipped_study_has_small_tables_or_is_named_as_lost() -> None:
    studies = {path.parent.name for path in SHIPPED.glob("*/claims.csv")}
    archives = list(SHIPPED.glob("*/tables.tar.xz"))
    assert {path.parent.name for path in archives} == {*NUMBERS} == studies - LOST
    assert studies > LOST
    assert sum(path.stat().st_size for path in archives) <= MOST
    text = (SHIPPED.parents[1] / "docs" / "running.md").read_text(encoding="utf-8")
    assert [name for name in LOST if f"`{name}`" not in text] == []
