"""Training: what the trained models reach, and losses per epoch."""

from collections.abc import Collection

import pandas
from markupsafe import Markup

from headroom.claims.board import metric_name
from headroom.core.statistics import estimate_mean
from headroom.experiments.arms.paired import scores_by_seed
from headroom.figures import palette, panels
from headroom.figures.names import run_name
from headroom.figures.panels import Look, arm_looks
from headroom.figures.prose import texts
from headroom.figures.spec import Figure, Fold, Table
from headroom.figures.views import Parts, Views, build_panels, section_of
from headroom.study.selection import last_epochs, main_metric, main_set, rows_where, with_perplexity
from headroom.study.tables import StudyTables, arm_of


def select_scores(view: StudyTables) -> pandas.DataFrame:
    """Return the scores of the runs of one task, in their order, in the main metric on the main set."""
    rows = rows_where(view.evaluation, metric=main_metric(view.evaluation))
    rows = rows_where(rows, set=main_set(rows)).sort_values("run", key=lambda run: run.map(view.runs.index))
    rows = rows.assign(task=view.task, arm=rows["run"].map(arm_of))
    return rows[["task", "run", "arm", "epoch", "set", "metric", "value", "low", "high"]]


def gather_arms(rows: pandas.DataFrame, view: StudyTables) -> pandas.DataFrame:
    """Return runs as single dots of a row per arm, and the means over seeds."""
    found = {arm: estimate_mean(own.to_numpy()) for arm, own in scores_by_seed(view).items()}
    means = [{"arm": arm, "single": False} | one._asdict() for arm, one in found.items()]
    single = rows["arm"].isin([one["arm"] for one in means])
    every = pandas.concat([rows.assign(single=single), pandas.DataFrame(means)], ignore_index=True)
    return every.assign(name=every["arm"])


def select_losses(view: StudyTables, measures: Collection[str]) -> pandas.DataFrame:
    """Return these measures of one task in every epoch."""
    rows = view.training[view.training["measure"].isin(measures)].drop(columns="signature")
    return rows.assign(task=view.task, arm=rows["run"].map(arm_of))


def tabulate_training(view: StudyTables) -> pandas.DataFrame:
    """Return what training came to: a row per run, a column per measure of the last epoch, and the seconds in all."""
    wide = last_epochs(view.training).pivot_table(index="run", columns="measure", values="value", sort=False)
    seconds = rows_where(view.training, measure="seconds").groupby("run")["value"].sum()
    return wide.assign(total_seconds=seconds, task=view.task).reset_index()


MEASURES = {"valid_loss": "", "train_loss": "dotted"}
"""What has a line per arm, and its dashes."""

MOST_ARMS = 5
"""More arms than this cannot be distinguished in one panel: the first ones have lines."""

MANY_RUNS = 12
"""More runs than this are faint dots next to the mean of their arm."""


@section_of("training", "Training and quality", "training", "evaluation")
def section(study: StudyTables, views: Views) -> Parts:
    """Return the section about the models that everything else examines."""
    evaluated = {task: view for task, view in views.items() if view.has("evaluation")}
    trained = {task: view for task, view in views.items() if view.has("training")}
    folds = [_scores(evaluated)] if evaluated else []
    folds += [_losses(trained, study)] if trained else []
    return Parts(_figure(evaluated, study) if evaluated else None, folds)


def _figure(views: dict[str, StudyTables], study: StudyTables) -> Figure:
    looks, frame = arm_looks(study.arm_names), pandas.concat(map(select_scores, views.values()))

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        across = "value", f"{metric_name(own['metric'].iloc[0])} on {own['set'].iloc[0]}"
        rows = own.assign(name=own["run"].map(run_name))
        rows = gather_arms(rows, views[task]) if len(rows) > MANY_RUNS else rows
        return panels.dots(rows, looks, f"training-{task}", across, row="name", hue="arm")

    keys = panels.keys(looks, frame["arm"], line=False)
    return Figure("training", build_panels(study, frame, draw), *texts("training"), keys, frame)


def _scores(views: dict[str, StudyTables]) -> Fold:
    rows = pandas.concat([with_perplexity(view.evaluation).assign(task=task) for task, view in views.items()])
    table = Table("evaluation", rows, ["task", "run", "epoch", "set", "metric", "value ~"])
    return Fold("scores on every set", tables=(table,))


def _losses(views: dict[str, StudyTables], study: StudyTables) -> Fold:
    arms = study.arm_names
    shown = {arm: look for arm, look in arm_looks(arms).items() if arm in arms[:MOST_ARMS]}
    looks = {
        f"{arm} {measure}": Look(look.colour, dash, "" if dash else look.marker)
        for measure, dash in MEASURES.items()
        for arm, look in shown.items()
    }
    frame = pandas.concat(select_losses(view, MEASURES) for view in views.values())

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        rows, up = own.assign(line=own["arm"] + " " + own["measure"]), ("value", study.info_of(task).loss)
        return panels.lines(rows, looks, f"losses-{task}", panels.EPOCH, up, hue="line")

    keys = (
        *panels.keys(shown, frame["arm"]),
        panels.key(Look(palette.INK), "validation"),
        panels.key(Look(palette.INK, MEASURES["train_loss"]), "training"),
    )
    figure = Figure("losses", build_panels(study, frame, draw), *texts("training", "losses"), keys, frame)
    return Fold("losses over the epochs, and time", figure, (_last(views),))


def _last(views: dict[str, StudyTables]) -> Table:
    """Return what training came to: a row per run."""
    frame = pandas.concat(map(tabulate_training, views.values()))
    known = ["train_loss", "valid_loss", "valid_accuracy", "updates", "words_per_second", "examples_per_second"]
    columns = ["task", "run", *(name for name in [*known, "total_seconds"] if name in frame)]
    return Table("training", frame, columns)
