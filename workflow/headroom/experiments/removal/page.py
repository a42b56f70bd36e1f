"""Real removal: what heads take of the parameters, and the checks that sliced models compute what masked ones do."""

from collections.abc import Iterable

import pandas
from markupsafe import Markup

from headroom.core.formatting import listing, plural
from headroom.experiments.removal.claims import parameter_shares
from headroom.figures import palette, panels
from headroom.figures.names import task_name
from headroom.figures.panels import Look
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Table
from headroom.figures.views import Parts, Views, build_panels, lead, published, section_of
from headroom.settings.models import BUILDERS
from headroom.study.selection import last_epochs, main_run, rows_where
from headroom.study.tables import StudyTables, arm_of
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


@section_of("removal", "Removing heads for real", "removal")
def section(study: StudyTables, views: Views) -> Parts:
    """Return the section about parameters and sliced checkpoints."""
    sliced = pandas.concat([tabulate_checks(view) for view in views.values()], ignore_index=True)
    known = {task: view for task, view in views.items() if view.has("parameters")}
    sites = pandas.concat([list_sites(view) for view in known.values()]) if known else pandas.DataFrame()
    columns = ["task", "run", "heads_removed", "identical_outputs", "examples", "largest_logit_difference"]
    columns += ["parameters_full", "parameters_sliced", "saved"]
    table = Table("removal", sliced, columns)
    said = words("removal", "method", builders=_builders(sliced["task"], study))
    folds = [Fold("sliced against masked models", tables=(table,), text=said), _tolerance(study, views)]
    if len(sites):
        columns = ["task", "site", "heads", "head_parameters", "attention_parameters", "head_share", "site_share"]
        folds.append(Fold("parameters of every attention site", tables=(Table("parameters", sites, columns),)))
    return Parts(_figure(sliced, sites, study), folds)


def _tolerance(study: StudyTables, views: Views) -> Fold | None:
    """Return what was tried on the way to the heads that can go at the tolerance."""
    tried = [view.removable.assign(task=view.task) for view in views.values() if view.has("removable")]
    if not tried:
        return None
    columns = ["run", "set", "order", "normalised", "heads_removed", "value", "full", "loss", "low", "high", "chosen"]
    table = Table("removable", pandas.concat(tried, ignore_index=True), [*lead(study), *columns, "removed"])
    return Fold("how many heads can go", tables=(table,), text=words("removal", "tolerance"))


def _builders(tasks: Iterable[str], study: StudyTables) -> dict[str, str]:
    """Return by class of transformers that loads sliced models the tasks whose models it loads."""
    found: dict[str, list[str]] = {}
    for task in dict.fromkeys(tasks):
        if study.description(task).library == "transformers":
            found.setdefault(BUILDERS[study.kind_of(task)], []).append(task_name(task))
    return {builder: listing(names) for builder, names in found.items()}


def _figure(sliced: pandas.DataFrame, sites: pandas.DataFrame, study: StudyTables) -> Figure:
    by_task = [(str(task), own) for task, own in sliced.groupby("task", sort=False)]
    rows = pandas.concat(list_shares(task, own, sites, study.kind_of(task)) for task, own in by_task)
    colour = palette.arm_colour(arm_of(sliced["run"].iloc[0]), study.arm_names)
    looks = {HERE: Look(colour, "", "o"), PAPER: Look(palette.INK, "", "D")}
    across, limits = ("value", "parameters (%)"), (0.0, 1.08 * rows["value"].max())

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        return panels.dots(own, looks, f"removal-{task}", across, row="share", hue="source", limits=limits)

    said = texts("removal", paper=PAPER in set(rows["source"]))
    keys = panels.keys(looks, rows["source"], line=False)
    return Figure("removal", build_panels(study, rows, draw), *said, keys, rows)
