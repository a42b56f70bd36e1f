"""Real removal: what heads take of the parameters, and the checks that sliced models compute what masked ones do."""

from collections.abc import Iterable

import pandas
from markupsafe import Markup

from headroom.core.formatting import listing
from headroom.experiments.removal.frames import HERE, PAPER, list_shares, list_sites, tabulate_checks
from headroom.figures import palette, panels
from headroom.figures.names import task_name
from headroom.figures.panels import Look
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Table
from headroom.figures.views import Parts, Views, build_panels, section_of
from headroom.settings.models import BUILDERS
from headroom.study.tables import StudyTables, arm_of


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
    folds = [Fold("sliced against masked models", tables=(table,), text=said)]
    if len(sites):
        columns = ["task", "site", "heads", "head_parameters", "attention_parameters", "head_share", "site_share"]
        folds.append(Fold("parameters of every attention site", tables=(Table("parameters", sites, columns),)))
    return Parts(_figure(sliced, sites, study), folds)


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
