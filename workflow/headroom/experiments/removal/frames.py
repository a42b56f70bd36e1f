"""Real removal as rows: checks of sliced models, attention sites, and shares of parameters with the paper's."""

import pandas

from headroom.core.formatting import plural
from headroom.experiments.removal.claims import parameter_shares
from headroom.figures.views import published
from headroom.study.selection import last_epochs, main_run, rows_where
from headroom.study.tables import StudyTables
from headroom.study.task_info import TaskKind

ATTENTION = "attention / model"
HERE, PAPER = "here", "paper"


def tabulate_checks(view: StudyTables) -> pandas.DataFrame:
    """Return a row per sliced model of one task, a column per check."""
    keys = ["run", "heads_removed", "removed"]
    rows = last_epochs(view.removal)
    wide = rows.pivot_table(index=keys, columns="check", values="value", sort=False).reset_index()
    checks = ["identical_outputs", "examples", "largest_logit_difference", "parameters_full", "parameters_sliced"]
    wide = wide.reindex(columns=[*keys, *checks])
    return wide.assign(task=view.task, saved=1 - wide["parameters_sliced"] / wide["parameters_full"])


def list_sites(view: StudyTables) -> pandas.DataFrame:
    """Return the attention sites of the run of one task shown first, with their shares of the parameters."""
    rows = parameter_shares(rows_where(view.parameters, run=main_run(view.parameters, view)))
    site = [f"{kind}{layer:.0f}" for kind, layer in rows[["kind", "layer"]].to_numpy()]
    return rows.assign(task=view.task, site=site, site_share=rows["attention_parameters"] / rows["model_parameters"])


def list_shares(task: str, sliced: pandas.DataFrame, sites: pandas.DataFrame, task_kind: TaskKind) -> pandas.DataFrame:
    """Return shares of parameters (%) of one task, ours and the paper's."""
    found = []
    own = rows_where(sites, task=task) if len(sites) else sites
    if len(own):
        found.append((ATTENTION, HERE, 100 * own["model_share"].iloc[0]))
        found += [(ATTENTION, PAPER, 100 / 3)] if published("head_share", task_kind) else []
    for _, row in sliced.drop_duplicates("heads_removed").dropna(subset="saved").iterrows():
        found.append((f"{plural(int(row['heads_removed']), 'head')} / model", HERE, 100 * row["saved"]))
    for kind, part in own.groupby("kind", sort=False) if len(own) else ():
        name = f"a head / site ({kind})"
        found.append((name, HERE, 100 * part["head_share"].mean()))
        found += [(name, PAPER, theirs)] if (theirs := published("head_share", task_kind)) else []
    return pandas.DataFrame(found, columns=["share", "source", "value"]).assign(task=task)
