"""M13 and M14: what training does to importance."""

import math

import pandas

from headroom.claims.chance import measurable
from headroom.claims.selection import main_metric, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.report.claims.evidence import (
    difference,
    estimate_in,
    main_curve,
    of_score,
    point_at,
    preferred,
    readings,
)
from headroom.report.claims.verdict import Claim, Measured, Reading, above, all_of

PLATEAU = 0.85
"""The paper keeps 85 to 90 % of the score with 40 % of heads removed."""

PLATEAU_SHARE = 0.4

EARLY = 0.25
"""The paper sees important heads fixed by epoch 10 of 40."""

SETTLED = 0.7
"""Rank correlation that shares half of the variance."""


def _read_plateau(rows: pandas.DataFrame) -> Reading | None:
    """Compare what the first and the last epoch keep with 40 % of heads removed."""
    rows = rows_where(rows, metric=main_metric(rows))
    large = rows[measurable(rows)]
    epochs = sorted(large["epoch"].unique())
    if len(epochs) < 2 or epochs[-1] != rows["epoch"].max():
        return None
    first, last = (
        point_at(main_curve(rows_where(large, epoch=epoch)), PLATEAU_SHARE) for epoch in (epochs[0], epochs[-1])
    )
    if first is None or last is None:
        return None
    verdict = all_of(above(last, PLATEAU), above(difference(last, first), 0.0))
    words = (f"{{}} {of_score(rows)} kept in epoch {epochs[-1]:.0f}", f"{{}} in epoch {epochs[0]:.0f}")
    measured = tuple(Measured(text, found, unit="share") for text, found in zip(words, (last, first)))
    return Reading(verdict, measured)


def _read_settled(rows: pandas.DataFrame) -> Reading | None:
    """Read the rank correlation with the last epoch after a quarter of the training."""
    rows = preferred(rows_where(rows, kind="all"), "criterion")
    last = _last_epoch(rows)
    ranks = rows_where(rows, statistic="spearman")
    early = ranks[(ranks["epoch"] >= math.ceil(EARLY * last)) & (ranks["epoch"] < last)]
    if early.empty:
        return None
    epoch = int(early["epoch"].min())
    found = estimate_in(rows_where(early, epoch=epoch))
    measured = [Measured(f"Spearman {{}} between epochs {epoch} and {last}", found)]
    common = rows_where(rows, statistic="overlap", epoch=epoch).sort_values("k")
    if len(common):
        k, chance = (float(common[name].iloc[0]) for name in ("k", "chance"))
        words = f"{{}} of the top {k:.0f} heads in common (by chance {100 * chance:.0f} %)"
        measured.append(Measured(words, estimate_in(common), unit="share"))
    return Reading(above(found, SETTLED), tuple(measured))


def _last_epoch(rows: pandas.DataFrame) -> int:
    """Return the epoch that all others are compared with, as the signature tells; it has no rows itself."""
    told = rows["signature"].str.extract(r"last-epoch:(\d+)")[0].dropna()
    return int(told.iloc[0]) if len(told) else int(rows["epoch"].max()) if len(rows) else 0


def _plateau(tables: StudyTables) -> list[Reading]:
    return readings(tables, "pruning_epochs", _read_plateau, shares=True)


def _settled(tables: StudyTables) -> list[Reading]:
    return readings(tables, "settling", _read_settled)


CLAIMS = (
    Claim(
        id="M13",
        claim="Early in training every removed head costs alike; later many can go almost for free.",
        paper={
            "translation": "with 40 % removed 71 and 68 % of the score is kept in epochs 1 and 2, 92 % in epoch 40",
            "classification": "examined on translation (IWSLT) only: 71 % kept in epoch 1, 92 % in epoch 40",
        },
        rule="What is kept of an epoch’s own full score (in classification above that without any head) with 40 % of"
        " all heads removed by gradient importance (an even way down would keep 60 %). Holds if the last epoch’s 95 %"
        " interval is above 85 %, the paper’s plateau, and above the first epoch’s (intervals combined as independent);"
        " does not hold if one of the two is below; else undecided. The first epoch is the first with at least 1 BLEU"
        " (1 point above chance): shares of less are noise.",
        section="settling",
        read=_plateau,
    ),
    Claim(
        id="M14",
        claim="Which heads are important is settled early in training.",
        paper={
            "translation": "inferred from curves (settled by epoch 10 of 40); ranks were not compared",
            "classification": "inferred from curves of translation (settled by epoch 10 of 40)",
        },
        rule="Spearman correlation of all heads’ importance (gradient, per example, raw) between the first"
        " epoch after a quarter of the training and the last epoch. Holds if its 95 % bootstrap interval over"
        " heads is above 0.7 (half of the variance), does not hold if it is below; else undecided.",
        section="settling",
        read=_settled,
    ),
)
