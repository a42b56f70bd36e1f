"""Whether an answer changes with size: numbers of claims against the heads of models and against their training text.

Models are put together that differ in size alone, on the same text: every training once, its number with the interval
for other sentences. The slope is of the least-squares line through trainings, per doubling, with an interval for other
trainings, which may vary more at some sizes. A slope is no verdict, and says nothing of sizes that were not trained.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pandas

from headroom.claims.board import metric_after
from headroom.claims.entries import Claim, read_papers
from headroom.claims.table import ANSWER, POOLED
from headroom.claims.verdict import JUDGED, Number
from headroom.core.statistics import estimate_slope
from headroom.study.selection import rows_where
from headroom.study.tables import StudyTables, task_of
from headroom.study.task_info import TaskKind

FEWEST = 3
"""Sizes that a slope asks for."""

OF_SIZE = "ablation.enough_heads"
"""The precondition without which a training is drawn, too: what the number is in smaller models is the question."""

SIZES = ("heads", "share")
"""What trainings differ by: the heads of the model, or the share of the training examples that is used (%)."""


@dataclass(frozen=True)
class SizeSlope:
    """A number of a claim against a size, over trainings that differ in size alone, and its slope."""

    claim: Claim
    part: str
    number: str
    size: str  # one of `SIZES`
    group: int  # which of the page's groups of such trainings, from 1
    kind: TaskKind
    words: str  # what the number is
    rows: pandas.DataFrame  # a row per training
    slope: Number  # per doubling of the size

    @property
    def anchor(self) -> str:
        """The name of the slope in links: `size-M7-removable-heads-1`."""
        named = f"size {self.claim.id} {self.part} {self.number} {self.size} {self.group}"
        return re.sub(r"[^A-Za-z0-9]+", "-", named).strip("-")


def size_rows(claims: pandas.DataFrame, numbers: pandas.DataFrame, tables: StudyTables) -> Iterator[dict[str, Any]]:
    """Yield numbers against sizes, of every training that is judged, or whose model has too few heads for that."""
    study = str(claims["study"].iloc[0]) if len(claims) else ""
    keys = ["claim", "task", "run", "part"]
    asked = {claim.id: one.words for claim in _drawn_claims() for one in claim.preconditions if one.check == OF_SIZE}
    too_small = claims["barrier"].str.partition(": ")[0] == claims["claim"].map(asked)
    shown = claims[(claims["verdict"].isin(JUDGED) | too_small) & (claims["run"] != POOLED)]
    trainings = shown.set_index(keys)["trainings"].to_dict()
    heads = {task: int(row["value"]) for task, row in _answers(numbers, "heads").items()}
    quality = {
        task: f"{row['value']:.1f} {metric_after(row['part'])}" for task, row in _answers(numbers, "quality").items()
    }
    drawn = {(claim.id, name) for claim in _drawn_claims() for name in claim.published}
    for _, one in numbers.iterrows():
        row = {str(name): value for name, value in one.items()}
        training = trainings.get((row["what"], row["task"], row["run"], row["part"]))
        known = tables.description(task_of(row["run"]))
        if (row["what"], row["name"]) not in drawn or not training or row["task"] not in heads or not known.beside:
            continue
        about = {"group": known.beside, "kind": tables.kind_of(row["task"]), "training": training}
        size = {"heads": heads[row["task"]], "share": 100 * known.train_share}
        yield row | about | size | {"study": study, "number": row["name"], "quality": quality.get(row["task"], "")}


def _answers(numbers: pandas.DataFrame, name: str) -> dict[str, "pandas.Series[Any]"]:
    """Return by task the first number of the answer with a name: of the quality that by the main metric."""
    found = numbers[(numbers["what"] == ANSWER) & (numbers["name"] == name)].drop_duplicates("task")
    return {row["task"]: row for _, row in found.iterrows()}


def _drawn_claims() -> list[Claim]:
    return [claim for paper in read_papers() for claim in paper.claims if claim.published]


def size_slopes(rows: Sequence[dict[str, Any]]) -> list[SizeSlope]:
    """Return a slope per number and size of which there are enough, in the order of the claims."""
    if not rows:
        return []
    frame = pandas.DataFrame(rows).drop_duplicates(["what", "part", "number", "training"])
    groups = [own for _, own in frame.groupby(["group", "kind"], sort=False)]
    return [
        slope
        for place, own in enumerate(groups, start=1)
        for claim in _drawn_claims()
        for size in SIZES
        for slope in _of_claim(own[own["what"] == claim.id], claim, size, place)
    ]


def _of_claim(rows: pandas.DataFrame, claim: Claim, size: str, place: int) -> Iterator[SizeSlope]:
    """Yield the slopes of trainings that differ in size alone."""
    if size == "heads":
        rows = rows[rows["share"] == rows["share"].max()]
    else:
        fewer = rows[rows["share"] < rows["share"].max()]
        rows = rows[rows["heads"].isin(fewer["heads"])]
    for (part, number), own in rows.groupby(["part", "number"], sort=False):
        if own[size].nunique() >= FEWEST:
            slope = estimate_slope(numpy.log2(own[size].to_numpy(dtype=float)), own["value"].to_numpy(dtype=float))
            first = own.iloc[0]
            found = Number(str(number), slope, first["unit"], signed=True)
            words = str(first["words"]).format("%" if first["unit"] == "share" else "value")
            yield SizeSlope(claim, str(part), str(number), size, place, first["kind"], words, own, found)


SHIPPED = Path(__file__).with_name("spreads.csv")
"""The spreads within the reference studies, as `make renew` writes them."""


class Spread(NamedTuple):
    """The standard deviation of a number between trainings of one model."""

    deviation: float  # NaN if no study has several trainings
    trainings: int  # how many it comes from
    freedom: int  # its degrees of freedom


NO_SPREAD = Spread(math.nan, 0, 0)


def spread_rows(claims: pandas.DataFrame, numbers: pandas.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the spread of every judged number of a claim within every task of a study that has several trainings.

    Args:
        claims: Verdicts of studies, rows of the table `claims`; a training counts in the first study that has it.
        numbers: The numbers behind them.
    """
    keys = ["study", "claim", "task", "part"]
    judged = claims[(claims["run"] != POOLED) & claims["verdict"].isin(JUDGED)]
    judged = judged.drop_duplicates(["claim", "part", "trainings"])[[*keys, "run"]]
    asked = numbers[(numbers["side"] != "") & numbers["value"].notna()].rename(columns={"what": "claim"})
    for place, own in judged.merge(asked, on=[*keys, "run"]).groupby([*keys, "name"], sort=False):
        if len(own) > 1:
            yield {**dict(zip([*keys, "number"], place)), "deviation": own["value"].std(), "trainings": len(own)}


@cache
def read_spreads() -> pandas.DataFrame:
    """Return the spreads within the reference studies, as `spread_rows` gives them."""
    return pandas.read_csv(SHIPPED, keep_default_na=False)


def find_spread(claim: str, part: str, number: str, study: str) -> Spread:
    """Return the spread of a number between trainings by all reference studies but one."""
    rows = rows_where(read_spreads(), claim=claim, part=part, number=number)
    rows = rows[rows["study"] != study]
    freedom = int(rows["trainings"].sum()) - len(rows)
    if not freedom:
        return NO_SPREAD
    squares = float(((rows["trainings"] - 1) * rows["deviation"] ** 2).sum())
    return Spread(math.sqrt(squares / freedom), int(rows["trainings"].sum()), freedom)
