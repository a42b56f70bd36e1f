"""Small tables written by hand for tests of claims: only the columns that matter are given."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from headroom.core import tables
from headroom.report.arms import ArmDescription
from headroom.report.study_tables import TRANSLATION, StudyTables

Row = dict[str, Any]

RUN = "translation.baseline.seed1"
CLASSIFIER = "sst2.baseline.seed1"
OTHER_RUN = "translation.baseline.seed2"


def study(directory: Path, *, known: Sequence[ArmDescription] = (), **given: Sequence[Row]) -> StudyTables:
    """Write rows as tables of the baseline's first seed, last epoch 8, and return the study.

    Args:
        directory: Where tables are written.
        known: What the study says of the arms of translation.
        given: By name of the table, their rows.
    """
    paths = []
    for name, rows in given.items():
        usual = {"study": "tiny", "run": RUN, "epoch": 8, "set": "test", "metric": "bleu"}
        table = tables.ALL.by_name[name]
        filled = [{column: row.get(column, usual.get(column, "")) for column in table.names} for row in rows]
        path = directory / name / "all.csv"
        table.write(path, filled)
        paths.append(path)
    return StudyTables(paths, arms={TRANSLATION: {arm.name: arm for arm in known}})


def scored(**arms: Sequence[float]) -> list[Row]:
    """Return the BLEU of every arm, one number per seed from 1 on; hyphens in names are underscores."""
    return [
        {"run": f"translation.{arm.replace('_', '-')}.seed{seed}", "value": value, "low": value - 1, "high": value + 1}
        for arm, values in arms.items()
        for seed, value in enumerate(values, start=1)
    ]


def compared(statistic: str, value: float, half: float = math.nan, *, arm: str = "svgd", **more: Any) -> Row:
    """Return the difference of an arm from the baseline, with an interval of this half width if one is given."""
    usual = {"task": "translation", "statistic": statistic, "arm": arm, "baseline": "baseline", "seeds": "1 2 3"}
    is_of_metric = statistic.startswith(("metric", "curve", "removable"))
    of = {"set": "test", "metric": "bleu"} if is_of_metric else {"set": "", "metric": ""}
    return usual | of | {"value": value, "low": value - half, "high": value + half} | more


def numbers_in(text: str) -> str:
    """Return the numbers of a sentence, in their order: what it says, however it is worded."""
    return " ".join(re.findall(r"[−+]?\d[\d.]*\d|[−+]?\d", text))


def classified(rows: Iterable[Row]) -> list[Row]:
    """Return rows as those of a classifier, measured in accuracy."""
    return [{"run": CLASSIFIER, "metric": "accuracy"} | row for row in rows]


def effects(deltas: Sequence[float], *, p: float = 1.0, width: float = 0.5, **more: Any) -> Iterator[Row]:
    """Yield one head's effect after another on a model of 100 BLEU, in one site per eight heads."""
    for place, delta in enumerate(deltas):
        yield {
            "kind": "E", "layer": 1 + place // 8, "head": 1 + place % 8, "value": 100 + delta, "full": 100,
            "delta": delta, "low": delta - width, "high": delta + width, "p": p, "p_holm": p, "p_bh": p,
        } | more  # fmt: skip


def sites(deltas: Sequence[float], **more: Any) -> Iterator[Row]:
    """Yield one chosen head's effect after another, each in an encoder-decoder site of its own."""
    for layer, row in enumerate(effects(deltas, **{"chosen_on": "choose test", "kind": "A"} | more), start=1):
        yield row | {"layer": layer, "head": 1}


def curve(kept: Sequence[float], *, width: float = 1.0, **more: Any) -> Iterator[Row]:
    """Yield a curve in steps of a tenth of ten heads; `kept` is BLEU of a model with 100, from none removed."""
    usual = {"scope": "all", "order": "gradient-example", "normalised": "raw", "ranking": "fixed", "draw": 0}
    for removed, value in enumerate(kept):
        delta = value - 100
        yield usual | {
            "heads_removed": removed, "heads_total": 10, "value": value, "full": 100, "delta": delta,
            "low": delta - width, "high": delta + width, "p": 1, "p_holm": 1,
        } | more  # fmt: skip
