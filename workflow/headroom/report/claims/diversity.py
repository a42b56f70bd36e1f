"""R1: whether repulsion makes the heads of a model more diverse."""

import pandas

from headroom.claims.selection import arm_rows, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.report.claims.gating import mean_of
from headroom.report.claims.paired import Pair, compared, main_pair
from headroom.report.claims.verdict import Claim, Estimate, Measured, Reading, below

LIKENESS = "z_cka"
"""The measure that decides: outputs are what heads give to the model, and every head has them in a basis of its own."""

LIKENESS_WORDS = "linear CKA of head outputs"

OTHERS = {"z_cosine": "cosine of head outputs", "particle_cosine": "cosine of head weights"}
"""Measures that are told beside it."""


def change_over_epochs(tables: StudyTables, arm: str, measure: str = LIKENESS) -> Estimate | None:
    """Return how a measure, averaged over sites, changes from an arm's first epoch to its last, over seeds."""
    rows = rows_where(arm_rows(tables.diversity, arm), measure=measure)
    changes = [_change(run) for _, run in rows.groupby("run")]
    return mean_of(changes) if changes else None


def _change(run: pandas.DataFrame) -> float:
    means = run.groupby("epoch")["value"].mean().sort_index()
    return float(means.iloc[-1] - means.iloc[0])


def _read(tables: StudyTables) -> list[Reading]:
    pair = main_pair(tables)
    found = _less(tables, pair, LIKENESS) if pair else None
    if pair is None or found is None:
        return []
    arms = f"{pair.arm.name} less {pair.reference.name}"
    measured = [Measured(f"{LIKENESS_WORDS}, {arms}: {{}}", found, signed=True)]
    for measure, words in OTHERS.items():
        other = _less(tables, pair, measure)
        measured += [Measured(f"{words}: {{}}", other, signed=True)] if other else []
    change = change_over_epochs(tables, pair.reference.name)
    if change:
        words = f"from the first epoch to the last the {LIKENESS_WORDS} of {pair.reference.name} changes by {{}}"
        measured.append(Measured(words, change, signed=True))
    return [Reading(below(found, 0.0), tuple(measured))]


def _less(tables: StudyTables, pair: Pair, measure: str) -> Estimate | None:
    return compared(tables, f"diversity_difference_{measure}", pair.arm.name, pair.reference.name)


CLAIMS = (
    Claim(
        id="R1",
        claim="Heads of ordinary training may grow alike; with repulsion they are more diverse.",
        paper={
            "translation": "yes (abstract: “can improve the learned feature diversity”); no number known here",
            "classification": "yes (abstract: “can improve the learned feature diversity”); no number known here",
        },
        rule="Linear CKA between the outputs of heads of a site, mean over pairs of heads and sites, at the last epoch:"
        " the repulsive arm (svgd, else spos, at all sites) less the baseline with as many heads and the same dropout,"
        " paired by seed. Holds if the 95 % t-interval over seeds is below 0 (less alike), does not hold if it is"
        " above; else undecided, as it is with one seed, which has no interval. Cosines do not decide: each head has"
        " its outputs in a basis of its own, so that they are near 0 even for heads that do the same. Nor does the"
        " change over the baseline's epochs: the paper says that heads may collapse, not that they do.",
        section="repulsion",
        read=_read,
        together=True,
    ),
)
