"""M10: really removing heads makes large batches faster."""

import pandas

from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables
from headroom.report.claims.evidence import estimate_in, readings
from headroom.report.claims.verdict import Claim, Measured, Reading, above, all_of, below

GAIN = 0.05
"""A gain in speed of this much is one; it lies between the paper's 2.7 % and 17.5 %."""

SHARE = 0.5
NEAR = 0.1
LARGE = 16
"""Batches from this size on are large, those of at most SMALL sentences small, as in the paper's table 4."""

SMALL = 4
WHOLE_MODEL = ("model", "generation")
"""The timed part that is the whole model: of a classifier, of a translation model."""


def half_sliced(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return one run's timings of the whole model with half of the heads sliced out, small batches first."""
    part = next((part for part in WHOLE_MODEL if part in set(rows["part"])), "")
    sliced = rows_where(rows, model="sliced", part=part)
    distance = (sliced["share_removed"] - SHARE).abs()
    return sliced[(distance == distance.min()) & (distance <= NEAR)].sort_values("batch_size")


def _read(rows: pandas.DataFrame) -> Reading | None:
    """Read the gains in speed of large and of small batches."""
    sliced = half_sliced(rows)
    verdicts, measured = [], []
    for size in sliced["batch_size"]:
        columns = ("speedup", "speedup_low", "speedup_high")
        ratio = estimate_in(rows_where(sliced, batch_size=size), *columns)
        gain = ratio._replace(value=ratio.value - 1, low=ratio.low - 1, high=ratio.high - 1)
        measured.append(Measured(f"batches of {size:.0f}: {{}}", gain, unit="share", signed=True))
        if size >= LARGE:
            verdicts.append(above(gain, GAIN))
        elif size <= SMALL:
            verdicts.append(below(gain, GAIN))
    if not (sliced["batch_size"] >= LARGE).any():
        return None
    return Reading(all_of(*verdicts), tuple(measured[::-1]))


def _speed(tables: StudyTables) -> list[Reading]:
    return readings(tables, "timing", _read)


_BERT = "with half of the heads removed: +17.5 % at batches of 16 and 64, +1.9 and +2.7 % at 1 and 4"

CLAIMS = (
    Claim(
        id="M10",
        claim="Really removing heads speeds a model up, but only on large batches.",
        paper={
            "classification": f"BERT on a GPU, {_BERT}",
            "translation": f"measured on BERT only, on a GPU, {_BERT}",
        },
        rule="The whole model (translation: generation) with the share nearest to half of its heads sliced out, against"
        " the full model, in rounds side by side. A gain of more than 5 % counts. Holds if the 95 % intervals of the"
        " gain are above it at every batch size from 16 on and below it at every size up to 4; does not hold if one"
        " of them lies on the other side; else undecided.",
        section="timing",
        read=_speed,
    ),
)
