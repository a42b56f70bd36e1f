"""Preconditions of claims: what a run needs before a claim can be judged in it.

Each function takes the tables of a task, a run and its thresholds, and returns what was found where the precondition is
not met, "" where it is. What was not measured is not met: a model is comparable if that is known.
"""

from headroom.claims.evidence import compute_kept
from headroom.experiments.gates.claims import find_continued, hard
from headroom.experiments.relevance.claims import conservation_error
from headroom.experiments.roles.claims import HEAD, UNTRAINED, functions, select_held
from headroom.experiments.settling.claims import list_judged_epochs
from headroom.study.selection import last_epochs, main_metric, main_set, rows_where, with_scale
from headroom.study.tables import StudyTables, task_of


def enough_heads(tables: StudyTables, run: str, *, least: float) -> str:
    """Look whether a model has at least `least` heads."""
    heads = len(rows_where(tables.ablation, run=run)[HEAD].drop_duplicates())
    return "" if heads >= least else f"it has {heads}"


def on_accelerator(tables: StudyTables, run: str) -> str:
    """Look whether a model was timed on an accelerator."""
    devices = sorted(set(rows_where(tables.timing, run=run)["device"]))
    return "" if devices and "cpu" not in devices else f"it was timed on {' and '.join(devices) or 'no device'}"


def loss_settled(tables: StudyTables, run: str, *, most: float) -> str:
    """Look whether the loss on the validation set falls by less than the share `most` in the last epoch."""
    losses = rows_where(tables.training, run=run, measure="valid_loss").sort_values("epoch")["value"]
    if len(losses) < 2:
        return "its loss is not known"
    fall = 1 - float(losses.iloc[-1] / losses.iloc[-2])
    return "" if fall < most else f"it falls by {100 * fall:.1f} %"


def converged(tables: StudyTables, run: str, *, gain: float) -> str:
    """Look whether further training alone improves a model by less than the share `gain` of its score."""
    rows = hard(rows_where(tables.pruned_models, run=run))
    controls = [find_continued(rows, scope) for scope in dict.fromkeys(rows["scope"])]
    gains = [float(compute_kept(control)[0]) - 1 for control in controls if control is not None]
    if not gains:
        return "it was not trained on"
    return "" if max(gains) < gain else f"it gains {100 * max(gains):.1f} %"


def early_seen(tables: StudyTables, run: str, *, most: float) -> str:
    """Look whether the first judged epoch of a training scores at most the share `most` of its last one."""
    rows = with_scale(rows_where(tables.pruning_epochs, run=run))
    epochs = list_judged_epochs(rows)
    if not epochs:
        return "none was judged"
    scores = rows_where(rows, metric=main_metric(rows), set=main_set(rows)).groupby("epoch")["scale"].first()
    found = float(scores[epochs[0]] / scores[epochs[-1]])
    return "" if found <= most else f"its first has {100 * found:.0f} %"


def new_heads(tables: StudyTables, run: str) -> str:
    """Look whether the heads of a model were new when it was trained."""
    pretrained = tables.description(task_of(run)).ground == "pretrained encoder"
    return "they come from a pretrained encoder" if pretrained else ""


def some_function(tables: StudyTables, run: str) -> str:
    """Look whether some head has a function that no head of the untrained model has."""
    roles = rows_where(tables.roles, run=run)
    beyond = functions(select_held(roles)) - functions(select_held(roles, UNTRAINED))
    return "" if beyond else "none has"


def reads_trees(tables: StudyTables, run: str, *, share: float) -> str:
    """Look whether a model understands the text of the trees: it scores there the share `share` of its score on test.

    Trees of the task's own text are understood, and any by an encoder that was pretrained on text of all kinds. Other
    models are judged by the far set `newstest`: the trees of other text are of news.
    """
    if tables.description(task_of(run)).own_trees or any(arm.pretrained for arm in tables.described_arms):
        return ""
    rows = rows_where(last_epochs(tables.evaluation), run=run)
    scores = rows_where(rows, metric=main_metric(rows)).set_index("set")["value"]
    news = [name for name in scores.index if name.startswith("newstest")]
    if not news or "test" not in scores:
        return "its score there was not measured"
    found = float(scores[news[0]] / scores["test"])
    return "" if found >= share else f"it scores {100 * found:.0f} % of it there"


def relevance_conserved(tables: StudyTables, run: str, *, most: float) -> str:
    """Look whether relevances add up to the logit, to within the share `most`."""
    error = conservation_error(rows_where(tables.relevance, run=run))
    if error != error:
        return "that was not measured"
    return "" if error <= most else f"they miss it by up to {100 * error:.2g} %"
