"""What a reader should know before trusting a number: what was dropped, small test sets, weak models, few heads."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas

from headroom.claims.board import metric_points, metric_word
from headroom.core.formatting import count, listing, number, plural
from headroom.core.statistics import FEW_CLUSTERS
from headroom.experiments.ablation.alike import find_alike
from headroom.experiments.gates.page import warnings
from headroom.experiments.timing.page import timing_noise
from headroom.figures.names import heading, run_name
from headroom.study.selection import (
    examples_in,
    last_epochs,
    main_metric,
    main_run,
    main_set,
    rows_where,
    select_judged,
    with_scale,
)
from headroom.study.tables import RELEASED, StudyTables, arm_of

FEW_EXAMPLES = 200
FEW_HEADS = 24
FEW_SEEDS = 3
NARROW = 1.05
"""By what factor intervals may be too narrow without a caution."""
WEAK_MODELS = "weak models"
WEAK = 10.0
"""Points of the main metric, above chance where it counts."""


class Caution(NamedTuple):
    """A caution: in a few words, and in a sentence or two."""

    short: str
    text: str


Record = Mapping[str, Any]
"""The content of `corpus.json`."""


def read_records(paths: Sequence[Path]) -> dict[str, Record]:
    """Return by task what is known of its text: the content of `<task>/corpus/corpus.json`."""
    return {path.parts[-3]: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def cautions(tables: StudyTables, texts: Mapping[str, Record] | None = None) -> dict[str, list[Caution]]:
    """Return, by task, what was dropped, and what in the study is too small or too weak for firm conclusions.

    In a study of one task its name is "".
    """
    found = {}
    for task, view in tables.views.items():
        record = (texts or {}).get(task, {})
        said = list(_of_text(record, f"{view.info.example}s"))
        alone = _judged_sets(view) <= {name for name, own in record.get("label_sizes", {}).items() if _is_alone(own)}
        said += _of_lengths(view, record.get("sizes", {}))
        said += _of_clusters(view)
        said += [Caution(short, check(view)) for short, check in _CHECKS.items() if short != WEAK_MODELS or not alone]
        said += [Caution("gates undecided or still changing", text) for text in warnings(view)]
        found[heading(task) if len(tables.tasks) > 1 else ""] = [one for one in said if one.text]
    return {task: said for task, said in found.items() if said}


def summary(found: Mapping[str, Sequence[Caution]]) -> str:
    """Return all cautions in one line, each once, in the fewest words."""
    return "; ".join(dict.fromkeys(one.short for said in found.values() for one in said))


def _of_text(record: Record, examples: str) -> Iterator[Caution]:
    """Yield a caution for each reason to be wary of a task's text, with the numbers of examples by set."""
    sizes = record.get("sizes", {})
    repeated = record.get("repeated", [])
    for other in dict.fromkeys(row["also_in"] for row in repeated):
        rows = [row for row in repeated if row["also_in"] == other and row["set"] != other]
        if rows:
            amounts = listing([_of(row["normalised"], sizes, row["set"]) for row in rows])
            changed = sum(row["normalised"] - row["exact"] for row in rows)
            but = f", {count(changed)} of them with another case, spaces or punctuation" if changed else ""
            yield Caution("examples in two sets", f"Of the {examples} of {other} there are copies: {amounts}{but}.")
    for row in (row for row in repeated if row["also_in"] == row["set"] != "train"):
        amount, wide = _of(row["normalised"], sizes, row["set"]), row["widening"]
        narrow = f"; its intervals are too narrow, by a factor of up to {number(wide)}" if wide >= NARROW else ""
        yield Caution("repeated examples", f"{amount} repeat another one of the set{narrow}.")
    for name, amount in record.get("disagreeing", {}).items():
        yield Caution(
            "labels that disagree",
            f"{_of(amount, sizes, name)} are in the set with another label too: no model is right about all of them.",
        )
    for name, found in record.get("label_sizes", {}).items():
        present, absent = ([label for label, amount in found.items() if bool(amount) is here] for here in (True, False))
        if len(present) == 1:
            yield Caution(
                "sets of one label",
                f"All {examples} of {name} have the label {present[0]}: a constant answer is right, so that no score "
                "on this set is above chance.",
            )
        elif present and absent:
            yield Caution("labels without examples", f"In {name} no {examples[:-1]} has the label {listing(absent)}.")
    for why, amounts in record.get("left_out", {}).items():
        said = listing([_of(amount, sizes, name) for name, amount in amounts.items()])
        yield Caution("text cut or left out", f"Left out {why}: {said}.")


def _of_lengths(tables: StudyTables, sizes: Mapping[str, int]) -> Iterator[Caution]:
    """Yield a caution for what was cut or left out for its length, or unknown: signatures of tables say it."""
    found: dict[str, dict[str, int]] = {why: {} for why in _LENGTHS}
    unknown: dict[str, str] = {}
    for name in ("training", "scores", "evaluation", "ablation", "pruning", "minimal_pairs"):
        for text in tables.frame(name)["signature"].unique():
            parts = dict(part.partition(":")[::2] for part in str(text).split("|"))
            for why in _LENGTHS.keys() & parts.keys():
                found[why][parts.get("set", "train")] = int(parts[why])
            if "unknown" in parts:
                unknown[parts["set"]] = f"{parts['unknown']} % of {parts['set']}"
    for why, amounts in found.items():
        if amounts:
            said = listing([_of(amount, sizes, name) for name, amount in amounts.items()])
            yield Caution("text cut or left out", f"{_LENGTHS[why]}: {said}.")
    if unknown:
        yield Caution("unknown tokens", f"Tokens that the model does not know: {listing([*unknown.values()])}.")


def _of_clusters(tables: StudyTables) -> Iterator[Caution]:
    """Yield a caution for sets of few documents, or first sentences, which the signatures of tables say."""
    found: dict[str, set[int]] = {}
    for name in ("evaluation", "ablation", "pruning"):
        for text in tables.frame(name)["signature"].unique():
            parts = dict(part.partition(":")[::2] for part in str(text).split("|"))
            if "clusters" in parts:
                found.setdefault(parts["set"], set()).add(int(parts["clusters"]))
    of = "document" if tables.info.example == "window" else "first sentence"
    for name, counts in found.items():
        if (fewest := min(counts)) < FEW_CLUSTERS:
            one = f"; they are those of other {tables.info.example}s of it" if fewest == 1 else ""
            yield Caution(f"few {of}s", f"Intervals on {name} stand on {plural(fewest, of)}{one}.")


_LENGTHS = {
    "cut": "Longer than the model reads, and cut",
    "left-out-long": "Longer than the model reads, and left out of training",
    "undecided": "Good and bad sentences with the same tokens, not decided and left out",
    "left-out-rest": "Left out of every epoch, the longest ones that remain of batches of eight",
}
"""What is said of a text's length, by the key of a signature."""


def _is_alone(sizes: Mapping[str, int]) -> bool:
    return sum(map(bool, sizes.values())) == 1


def _judged_sets(tables: StudyTables) -> set[str]:
    """Return the sets by which models are said to be weak."""
    return {*_curves(tables)["set"]} or {""}


def _curves(tables: StudyTables) -> pandas.DataFrame:
    return last_epochs(tables.pruning if tables.has("pruning") else tables.pruning_epochs)


def _of(amount: int, sizes: Mapping[str, int], name: str) -> str:
    """Return an amount of the examples of a set: `3 of 40 of test`."""
    return f"{count(amount)} of {count(sizes[name])} of {name}" if name in sizes else f"{count(amount)} of {name}"


def find_weakness(tables: StudyTables) -> str:
    """Say that the models score little, or hardly more than chance."""
    if tables.info.above_chance:
        rows = _curves(tables)
        rows = with_scale(rows_where(rows, metric=main_metric(rows)))
        best = float(rows["scale"].max()) if len(rows) else math.nan
    else:
        rows = select_judged(tables.evaluation)
        best = float(rows["value"].max()) if len(rows) else math.nan
    if math.isnan(best) or best >= WEAK:
        return ""
    if tables.info.above_chance and best <= 0:
        below = f"{number(-best, decimals=1)} {metric_points(main_metric(rows))} below it"
        return f"No model scores above chance, the best {below if best else 'as much'}: effects of heads mean nothing."
    points = f"{number(best, decimals=1)} {metric_points(main_metric(rows))}{tables.info.above}"
    return f"The models are weak: the best scores {points}, so effects of heads mean little."


def _examples(tables: StudyTables) -> str:
    if not tables.has("ablation"):
        return ""
    rows = rows_where(tables.ablation, metric=main_metric(tables.ablation))
    name = main_set(rows)
    amount = examples_in(rows_where(rows, set=name))
    if not 0 < amount < FEW_EXAMPLES:
        return ""
    metric, size = metric_word(main_metric(rows)), plural(amount, tables.info.example)
    return f"The set {name} is small: {size}, so intervals of {metric} are wide."


def count_uses(tables: StudyTables) -> int:
    """Return how many layers use the attention modules of a model whose layers share them; 0 of other models."""
    found = {part for text in tables.scores["signature"] for part in text.split("|")} if tables.has("scores") else set()
    return max((int(part.removeprefix("uses:")) for part in found if part.startswith("uses:")), default=0)


def _heads(tables: StudyTables) -> str:
    if not tables.has("scores"):
        return ""
    rows = rows_where(tables.scores, run=main_run(tables.scores, tables))  # arms may have other numbers of heads
    heads = len(rows[["kind", "layer", "head"]].drop_duplicates())
    if uses := count_uses(tables):
        return f"Layers share their heads: {uses} layers have {heads}, and a head counts once, with its effect in all."
    return f"The models are small: {heads} heads, of which one is a large share." if heads < FEW_HEADS else ""


def _alike(tables: StudyTables) -> str:
    """Say which heads of the model that is shown first cannot be told apart by removing them."""
    if not tables.has("ablation"):
        return ""
    rows = rows_where(tables.ablation, run=main_run(tables.ablation, tables))
    return find_alike(last_epochs(rows)).describe()


def _seeds(tables: StudyTables) -> str:
    amounts = {arm: sum(arm_of(run) == arm for run in tables.runs) for arm in tables.arm_names}
    few = [arm for arm, amount in amounts.items() if amount < FEW_SEEDS]
    if not few:
        return ""
    seeds = min(amounts[arm] for arm in few)
    if seeds == 1 and tables.description(tables.task).ground == RELEASED:
        return "There is one training, as released: the variance over trainings is unknown."
    if seeds == 1:
        return f"There is one seed only ({listing(few)}): the variance over trainings is unknown."
    return f"Training was repeated with {plural(seeds, 'seed')} only ({listing(few)}): claims about training are weak."


def _single(tables: StudyTables) -> str:
    """Say that heads were examined in one of several trained models."""
    examined = {run for name in ("ablation", "pruning") for run in tables.frame(name)["run"]}
    if len(examined) != 1 or len(tables.runs) == 1:
        return ""
    return f"Single heads and pruning curves were examined in one model ({run_name(examined.pop())})."


_CHECKS: dict[str, Callable[[StudyTables], str]] = {
    WEAK_MODELS: find_weakness,
    "small evaluation sets": _examples,
    "few heads": _heads,
    "heads without an effect of their own": _alike,
    "few seeds": _seeds,
    "heads examined in one model": _single,
    "a busy machine while timing": timing_noise,
}
"""The checks, by what they are about in a few words."""
