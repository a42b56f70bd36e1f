"""What training came to: the score of its last epoch, and whether a regulariser could improve it."""

from collections.abc import Iterator

from headroom.claims.evidence import by_run, estimate_in
from headroom.claims.verdict import Number, Reading, mean_over_runs
from headroom.experiments.arms.paired import find_baseline
from headroom.study.selection import last_epochs, main_set, rows_where, with_perplexity
from headroom.study.tables import StudyTables, arm_of, task_of


def quality(tables: StudyTables) -> Iterator[Reading]:
    """Yield what the last epoch of the baseline scores; the parts are the metrics, the main one first."""
    rows = last_epochs(tables.evaluation)
    rows = with_perplexity(rows_where(rows, set=main_set(rows))) if len(rows) else rows
    for metric, own in rows.groupby("metric", sort=False):
        if found := [estimate_in(one) for one in by_run(own, tables)]:
            yield Reading((Number("quality", mean_over_runs(found)),), part=str(metric))


def fits_its_text(tables: StudyTables, run: str) -> str:
    """Look whether the baseline of a run's shape and seed has a lower loss in training than on the validation set.

    Another model underfits, or is regularised as strongly as it can be: no regulariser can improve it.
    """
    known = {arm.name: arm for arm in tables.described_arms}
    baseline = find_baseline(known[arm_of(run)], tables.described_arms)
    name = run.replace(f".{arm_of(run)}.", f".{baseline.name}.") if baseline else run
    losses = last_epochs(rows_where(tables.training, run=name)).set_index("measure")["value"]
    if not {"train_loss", "valid_loss"} <= set(losses.index):
        return "its losses are not known"
    train, valid = float(losses["train_loss"]), float(losses["valid_loss"])
    return "" if train < valid else f"it is {train:.2f} in training, {valid:.2f} in validation"


def little_annealed(tables: StudyTables, run: str, *, most: float) -> str:
    """Look whether the learning rate falls to zero over at most the share `most` of the updates.

    A loss that settles with a vanishing rate does not show that training came to its end.
    """
    share = tables.description(task_of(run)).annealed_share
    return "" if share <= most else f"over {100 * share:.0f} %"
