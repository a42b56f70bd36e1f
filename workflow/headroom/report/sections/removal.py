"""Real removal: the checks that sliced models compute what masked ones do."""

import pandas

from headroom.claims.selection import last_epochs
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import count, listing, number, percent, plural
from headroom.report.exhibits import Column, Exhibit, Section, table_of
from headroom.report.names import run_name
from headroom.report.sections import parameters
from headroom.report.tasks import Words, words_of

TITLE = "Removing heads for real"


def section(tables: StudyTables) -> Section:
    """Return the section about sliced checkpoints."""
    if not tables.has("removal"):
        return Section("removal", TITLE, missing="Real removal was not run in this study.")
    words = words_of(tables.task)
    lead = (
        "The chosen heads’ rows and columns were cut out of the weight matrices, the smaller model was saved,"
        f" loaded again, and the {words.example}s of a set were {words.answered} with it. It should do"
        " exactly what the masked model does, with fewer parameters."
    )
    exhibits = [_exhibit(last_epochs(tables.removal), words)]
    if tables.has("parameters"):
        exhibits.append(parameters.exhibit(tables))
    return Section("removal", TITLE, lead=lead, exhibits=tuple(exhibits))


def _exhibit(rows: pandas.DataFrame, words: Words) -> Exhibit:
    keys = ["run", "heads_removed", "removed"]
    wide = rows.pivot_table(index=keys, columns="check", values="value", sort=False).reset_index()
    for check in ("identical_outputs", "largest_logit_difference", "examples"):
        if check not in wide:
            wide[check] = float("nan")
    columns = [
        Column("run", "run", run_name, numeric=False),
        Column("heads_removed", "heads removed", count),
        Column("identical_outputs", "identical", lambda value: "yes" if value == 1 else "no"),
        Column("examples", f"{words.example}s", count),
        Column("largest_logit_difference", "logits differ by", lambda value: number(value, 2)),
    ]
    if {"parameters_full", "parameters_sliced"} <= set(wide.columns):
        wide["saved"] = 1 - wide["parameters_sliced"] / wide["parameters_full"]
        columns.append(Column("parameters_full", "parameters", count))
        columns.append(Column("parameters_sliced", "sliced", count))
        columns.append(Column("saved", "saved", lambda value: percent(value, 1)))
    note = f"identical: whether all {words.answers} are; logits differ by: at most this much."
    table = table_of(wide, columns, caption="sliced against masked models", filename="removal.csv", note=note)
    return Exhibit(name="removal", shows=_finding(wide, words), tables=(table,))


def _finding(wide: pandas.DataFrame, words: Words) -> str:
    same = int((wide["identical_outputs"] == 1).sum())
    if len(wide) == 1:
        gives = "gives exactly" if same else "does not give"
        text = f"The sliced model {gives} the {words.answers} of the masked one"
    else:
        amount = f"All {len(wide)}" if same == len(wide) else f"{same} of {len(wide)}"
        text = f"{amount} sliced models give exactly the {words.answers} of the masked ones"
    largest = wide["largest_logit_difference"].max()
    if not pandas.isna(largest):
        text += f", logits differing by at most {number(largest, 2)}"
    if "saved" in wide:
        saved = wide.sort_values("heads_removed").drop_duplicates("heads_removed")
        values = saved[["saved", "heads_removed"]].to_numpy()
        parts = [
            f"{percent(share, 1)} of the parameters without {plural(int(heads), 'head')}" for share, heads in values
        ]
        text += f"; slicing saves {listing(parts)}"
    return text + "."
