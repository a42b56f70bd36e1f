"""Gradient scores: an atlas per criterion."""

from collections.abc import Mapping

import pandas

from headroom.core.formatting import listing, number, plural
from headroom.core.heads import Head
from headroom.figures import panels
from headroom.figures.atlas import Mark, draw_atlases
from headroom.figures.names import (
    CRITERION_NAMES,
    choose_folded_runs,
    criterion_name,
    order_name,
    run_name,
)
from headroom.figures.panels import mark_sample
from headroom.figures.prose import words
from headroom.figures.spec import Figure, Fold, Key, Panel, Table
from headroom.figures.views import Parts, Views, label, lead, section_of
from headroom.study.selection import (
    examples_in,
    in_order,
    last_epochs,
    main_criterion,
    main_run,
    parse_heads,
    read_signed,
    rows_where,
)
from headroom.study.tables import StudyTables

KEY = (Key(mark_sample("square"), "the larger the square, the higher the score"),)


@section_of("scores", "Which heads matter: gradient scores", "scores")
def section(study: StudyTables, views: Views) -> Parts:
    """Return the section about the scores of the last epoch."""
    first, more, shown = list[Panel](), list[Panel](), list[str]()
    for view in views.values():
        for place, (run, criterion, normalised) in enumerate(_list_drawn(view)):
            name = order_name(criterion, normalised)
            shown += [] if place else [name]
            name = name if run == main_run(view.scores, view) else f"{name}, {run_name(run)}"
            rows = rows_where(last_epochs(view.scores), run=run, criterion=criterion, normalised=normalised)
            drawn = draw_atlases(build_marks(rows), still=place > 0)
            title = label(study, view.task, name if place else "")
            (more if place else first).extend(panels.atlases(drawn, title, view.task))
    table = _table(study, views)
    figure = _figure(
        "scores", first, how=words("scores", "figure", criteria=listing(dict.fromkeys(shown))), frame=table.frame
    )
    folds = [Fold("Scores of all heads", tables=(table,)), Fold("Method", text=_method(views))]
    folds[:0] = [Fold("Other criteria and other runs", _figure("scores_more", more))] if more else []
    return Parts(figure, folds)


def _figure(name: str, drawn: list[Panel], how: str = "", frame: pandas.DataFrame | None = None) -> Figure:
    return Figure(name, tuple(drawn), words("scores", "alt"), how, KEY, frame, is_atlas=True)


def build_marks(rows: pandas.DataFrame) -> dict[Head, Mark]:
    """Return the atlas marks of one criterion: areas proportional to the score, the largest fills its cell."""
    limit = float(rows["value"].abs().max()) or 1.0
    values = zip(parse_heads(rows), rows["value"], strict=True)
    return {head: Mark(value / limit, number(value)) for head, value in values}


def _list_drawn(view: StudyTables) -> list[tuple[str, str, str]]:
    """Return run, criterion and normalisation of what is drawn: all criteria of the main run, the first of others."""
    rows = last_epochs(view.scores)
    run = main_run(rows, view)
    names = criteria(rows_where(rows, run=run))
    pairs = [(names[0], "raw"), (names[0], "layer"), *((name, "raw") for name in names[1:])]
    others = choose_folded_runs([other for other in view.runs if other != run])
    wanted = [*((run, *pair) for pair in pairs), *((other, *pairs[0]) for other in others)]
    present = set(rows[["run", "criterion", "normalised"]].itertuples(index=False, name=None))
    return [one for one in wanted if one in present]


def criteria(rows: pandas.DataFrame) -> list[str]:
    """Return the criteria of these rows, the main one of the study first."""
    return in_order(rows["criterion"], (main_criterion(rows), *CRITERION_NAMES))


def _table(study: StudyTables, views: Mapping[str, StudyTables]) -> Table:
    """Return the scores of the runs that are shown first: a row per head, a column per criterion."""
    made, names = [], list[str]()
    for task, view in views.items():
        rows = rows_where(last_epochs(view.scores), run=main_run(view.scores, view), normalised="raw")
        names = in_order([*names, *criteria(rows)], ())
        wide = rows.pivot(index=["run", "kind", "layer", "head"], columns="criterion", values="value").reset_index()
        made.append(wide.assign(task=task, name=[str(head) for head in parse_heads(wide)]))
    columns = [*lead(study), "name", *names]
    headings = {"name": "head", **{name: criterion_name(name) for name in names}}
    return Table("scores", pandas.concat(made), columns, headings)


def _method(views: Mapping[str, StudyTables]) -> str:
    on = dict.fromkeys(
        (plural(amount, view.info.example), text)
        for task, view in views.items()
        if (amount := examples_in(view.scores)) and (text := read_signed(view.scores, "set"))
    )
    classifies = "classification" in [view.kind for view in views.values()]
    return words("scores", "method", on=list(on), classifies=classifies)
