"""Quality by arm: the score, and its difference from ordinary training of the same model, paired by seed."""

import pandas

from headroom.claims.arms import ArmDescription
from headroom.claims.entries import all_claims
from headroom.claims.evidence import estimate_in, judged
from headroom.claims.metrics import metric_name
from headroom.claims.paired import baseline_of, difference_of, differences, main_pair, scores_by_seed
from headroom.claims.repulsion import less as less_of
from headroom.claims.selection import main_metric, main_set
from headroom.claims.study_tables import StudyTables, arm_of
from headroom.claims.words import in_words
from headroom.core.formatting import estimate, listing, opening
from headroom.core.statistics import Estimate, mean_of
from headroom.report.exhibits import Column, Exhibit, Row, Table, table_of
from headroom.report.figures import arms as figures
from headroom.report.names import method_words, points_on


def exhibit(tables: StudyTables) -> Exhibit | None:
    """Return the exhibit; None without scores."""
    rows = judged(tables.evaluation)
    if rows.empty:
        return None
    label = f"{metric_name(main_metric(rows))} on {main_set(rows)}"
    single = {arm: [float(value) for value in own] for arm, own in scores_by_seed(tables).items()}
    score = figures.Dots(scores(tables), single)
    panels = [Row("Score", (figures.dots([score], tables.arm_names, name="repulsion-quality", label=label),))]
    against = opponents(tables)
    less = {arm: difference_of(tables, arm, other) for arm, other in against.items()}
    known = {arm: one for arm, one in less.items() if one is not None}
    if known:
        drawn = figures.Dots(known, {arm: differences(tables, arm, against[arm]) for arm in known})
        name, label = "repulsion-differences", f"difference in {label}"
        panels.append(
            Row("Less its baseline", (figures.dots([drawn], tables.arm_names, name=name, label=label, line=0),))
        )
    finding = _finding(tables, known, against)
    return Exhibit(
        name="repulsion",
        rows=tuple(panels),
        alt=finding,
        shows=finding,
        how="Faint dots are seeds, the strong mark is their mean with its 95 % t-interval (of a single seed: over"
        " the examples), cut off where the axis ends; higher is better. Less its baseline: each arm less ordinary"
        " training with as many heads and the same dropout, paired by seed; such training of another model less the"
        " first baseline. R2, R3, R4 and R7 rest on these scores.",
        tables=(_scores_table(tables, known, against), _arms_table(tables)),
    )


def scores(tables: StudyTables) -> dict[str, Estimate]:
    """Return the mean score of every arm over seeds; of a single seed that of the run, with its own interval."""
    rows = judged(tables.evaluation)
    runs = {arm: rows[rows["run"].map(arm_of) == arm] for arm in scores_by_seed(tables)}
    return {arm: mean_of(list(own["value"])) if len(own) > 1 else estimate_in(own) for arm, own in runs.items()}


def opponents(tables: StudyTables) -> dict[str, str]:
    """Return what every arm is compared with: the baseline of its shape, for such a baseline itself the first one."""
    every = tables.described_arms
    first = next((arm for arm in every if arm.method == "baseline"), every[0])
    found = {arm.name: _opponent(arm, every, first) for arm in every}
    return {arm: other for arm, other in found.items() if other != arm}


def _opponent(arm: ArmDescription, every: list[ArmDescription], first: ArmDescription) -> str:
    baseline = baseline_of(arm, every) or first
    return first.name if baseline == arm else baseline.name


def _finding(tables: StudyTables, less: dict[str, Estimate], against: dict[str, str]) -> str:
    pair, scored = main_pair(tables), scores(tables)
    if pair is None or pair.arm.name not in less:
        means = listing(f"{estimate(*one)} ({arm})" for arm, one in scored.items())
        return f"Scores on {main_set(judged(tables.evaluation))}: {means}."
    arm = pair.arm.name
    number = less_of(tables, arm, against[arm], less[arm])
    text = f"{in_words(all_claims()['R2'], number, tables.task)}."
    rest = {name: one for name, one in less.items() if name != arm}
    if rest:
        better = [name for name, one in rest.items() if one.low > 0]
        worse = [name for name, one in rest.items() if one.high < 0]
        parts = [f"{word}: {listing(names) or 'none'}" for word, names in (("better", better), ("worse", worse))]
        text += f" {opening(len(rest), 'other arm')} against their baselines, intervals without 0: {'; '.join(parts)}."
    return text


def _scores_table(tables: StudyTables, less: dict[str, Estimate], against: dict[str, str]) -> Table:
    pair = main_pair(tables)
    records = []
    for arm, score in scores(tables).items():
        change = less.get(arm, Estimate(float("nan")))
        over = difference_of(tables, pair.arm.name, arm) if pair and arm != pair.arm.name else None
        records.append(
            {"arm": arm, "seeds": " ".join(str(seed) for seed in sorted(scores_by_seed(tables)[arm].index))}
            | _numbers("", score)
            | {"less": against.get(arm, "") if arm in less else ""}
            | _numbers("difference_", change)
            | _numbers("main_less_", over or Estimate(float("nan")))
        )
    frame = pandas.DataFrame(records)
    columns = [
        Column("arm", "arm", numeric=False),
        Column("seeds", "seeds"),
        Column("shown", f"{points_on(tables)} [95 % interval]"),
        Column("less", "compared with", numeric=False),
        Column("difference_shown", "difference [95 % interval]"),
        *([Column("main_less_shown", f"{pair.arm.name} less this arm")] if pair else []),
    ]
    note = "Intervals of differences: t-test over seeds, paired; they are not corrected for the number of arms."
    return table_of(frame, columns, caption="scores by arm", filename="arm-scores.csv", note=note)


def _numbers(prefix: str, found: Estimate) -> dict[str, object]:
    shown = estimate(*found, signed=bool(prefix)) if found.value == found.value else ""
    return {f"{prefix}{key}": value for key, value in found._asdict().items()} | {f"{prefix}shown": shown}


def _arms_table(tables: StudyTables) -> Table:
    records = [
        {
            "arm": arm.name,
            "method": arm.method,
            "does": method_words(arm.method),
            "sites": " ".join(arm.sites),
            "heads": "" if arm.heads is None else str(arm.heads),
            "attention_dropout": "" if arm.attention_dropout is None else f"{arm.attention_dropout:g}",
            "others": ", ".join(f"{key} {value}" for key, value in arm.others),
        }
        for arm in tables.described_arms
    ]
    columns = [
        Column("arm", "arm", numeric=False),
        Column("method", "method", numeric=False),
        Column("does", "what it does", numeric=False),
        Column("sites", "sites", numeric=False),
        Column("heads", "heads of its own"),
        Column("attention_dropout", "attention dropout of its own"),
        Column("others", "other settings", numeric=False),
    ]
    return table_of(pandas.DataFrame(records), columns, caption="what the arms are", filename="arms.csv")
