"""Learned gates: how many heads they remove, at what cost, which heads stay, and what controls say."""

import pandas

from headroom.claims.gating import FALLING, HARD_CONCRETE, hard
from headroom.claims.selection import arm_rows, main_run, rows_where
from headroom.claims.study_tables import StudyTables, arm_of, kind_of
from headroom.core.formatting import listing, plural, symbol
from headroom.report.exhibits import Exhibit, Section
from headroom.report.names import SCOPES, run_name
from headroom.report.palette import arm_colour
from headroom.report.sections import drift, gate_scores, retention, scratch, survivors

TITLE = "Learned gates"


def section(tables: StudyTables) -> Section:
    """Return the section about learned gates."""
    if not (tables.has("pruned_models") or tables.has("gates")):
        return Section("gates", TITLE, missing="Gates were not learned in this study.")
    source = tables.pruned_models if tables.has("pruned_models") else tables.gates
    run = main_run(source, tables)
    exhibits = [*_scores(tables, run), *survivors.exhibits(tables, run)]
    exhibits += [one for one in (retention.exhibit(rows_where(tables.gates, run=run)),) if one is not None]
    moved = drift.exhibit(tables, run) if tables.has("pruned_models") else None
    exhibits += [moved] if moved else []
    return Section("gates", TITLE, lead=_lead(run), exhibits=tuple(exhibits), remarks=warnings(tables))


def _lead(run: str) -> str:
    return (
        "A gate on every head is trained together with the weights, starting from the trained model. Hard-concrete"
        " gates (Voita et al., 2019) pay λ for every head that stays, so that λ, not the user, fixes the number; exact"
        " selection (Li et al., 2021) keeps the K heads asked for. Judged are hard gates, each 0 or 1. Controls are"
        " trained on just as long: without removing a head, with the best heads by gradient, and with random ones."
        f" Shown is {run_name(run)}."
    )


def _scores(tables: StudyTables, run: str) -> list[Exhibit]:
    """Return the exhibits about scores."""
    if not tables.has("pruned_models"):
        return []
    rows = arm_rows(tables.pruned_models, arm_of(run))
    if hard(rows).empty:
        return []
    colour = arm_colour(arm_of(run), tables.arm_names)
    made = (
        gate_scores.exhibit(rows, run, colour=colour, kind=kind_of(tables.task)),
        scratch.exhibit(tables),
    )
    return [one for one in made if one is not None]


def warnings(tables: StudyTables) -> tuple[str, ...]:
    """Return what makes learned gates doubtful: gates that did not converge, models that had not."""
    if tables.pruned_models.empty:
        return ()
    rows = hard(tables.pruned_models)
    return tuple(filter(None, (undecided(rows), falling(rows))))


def undecided(rows: pandas.DataFrame) -> str:
    """Return a warning about models with gates that are neither open nor closed; "" without any."""
    learned = rows_where(rows, method=HARD_CONCRETE)
    doubtful = learned[learned["undecided"] > 0]
    if doubtful.empty:
        return ""
    cases = listing(
        f"{symbol('λ', row['setting'])} ({SCOPES[row['scope']]}, {run_name(row['run'])}): {row['undecided']:.0f} of"
        f" {row['heads']:.0f}"
        for _, row in doubtful.head(4).iterrows()
    )
    more = f" and {plural(len(doubtful) - 4, 'other model')}" if len(doubtful) > 4 else ""
    return (
        f"In {len(doubtful)} of {plural(len(learned), 'hard-concrete model')} gates did not converge; undecided are"
        f" {cases}{more}. Their number of heads is what rounding made of them: train them longer."
    )


def falling(rows: pandas.DataFrame) -> str:
    """Return a warning about gates on models that were still improving; "" without any."""
    runs = list(dict.fromkeys(rows_where(rows, start=FALLING)["run"]))
    if not runs:
        return ""
    return (
        f"The loss was still falling when gates were added ({listing(map(run_name, runs))}): part of what pruned models"
        " gain is further training, not pruning. Compare with the model trained on without gates."
    )
