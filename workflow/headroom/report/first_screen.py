"""The first screen: the answer in a few numbers, every claim as a tile with its verdicts, and cautions."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import pandas
from markupsafe import Markup

from headroom.claims.board import metric_after, metric_word, site_word
from headroom.claims.entries import Claim, Paper, all_claims, read_papers, threshold
from headroom.claims.pooling import number_of_ground, read_grounds
from headroom.claims.table import POOLED
from headroom.claims.verdict import FAILS, FAILS_HERE, HOLDS, HOLDS_HERE, NOT_COMPARABLE, NOT_RUN, VERDICTS, Number
from headroom.core.formatting import listing, plural
from headroom.core.statistics import Estimate
from headroom.experiments.arms.head_counts import heads_per_site
from headroom.figures.names import task_name
from headroom.figures.numbers import Numbers, Shown, read_numbers
from headroom.figures.palette import KIND_COLOURS, KIND_NAMES
from headroom.figures.prose import environment
from headroom.report.cautions import count_uses, find_weakness
from headroom.study.selection import SELF_ATTENTION, main_metric, main_run, main_set, rows_where
from headroom.study.tables import GENERATED, RELEASED, StudyTables
from headroom.study.task_info import TASKS, TaskKind

ABSENT = "the experiment was not run"
NO_TASK = "no model of this study has what it speaks of"

HERE = "in this model"

IN_THIS_MODEL = f"{HERE}: rests on one training or a released model; says nothing about other trainings"
"""What the last word of verdicts on a single training means."""

_VOTE = re.compile(rf"\b({'|'.join(VERDICTS)}) (\d+)")
"""A verdict with how many trainings alone have it, in the column `votes`."""


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim in one task, and what this study found there."""

    claim: Claim
    task: str
    kind: TaskKind  # that of the task
    part: str  # what of the claim is judged apart; "" for the whole
    verdict: str
    ours: str
    on_real_text: str  # what the reference studies found on real text, of a task of generated text; else ""

    @property
    def paper(self) -> str:
        """The paper's numbers for the task."""
        return self.claim.paper_of(self.task, self.kind)


def verdicts(claims: pandas.DataFrame, numbers: pandas.DataFrame) -> list[ClaimVerdict]:
    """Return a verdict per claim and task, in order, from the tables `claims` (of `describe_tasks`) and `numbers`."""
    known = all_claims()
    found = []
    for _, row in rows_where(claims, run=POOLED).iterrows():
        place = {"task": row["task"], "part": row["part"]}
        runs, own = rows_where(claims, claim=row["claim"], **place), rows_where(numbers, what=row["claim"], **place)
        found.append(_verdict(known[row["claim"]], row, runs, own, row["kind"]))
    return found


def _verdict(
    claim: Claim, row: "pandas.Series[Any]", runs: pandas.DataFrame, numbers: pandas.DataFrame, kind: TaskKind
) -> ClaimVerdict:
    task, part, verdict = str(row["task"]), str(row["part"]), str(row["verdict"])
    found = "; ".join(one.sentence for one in read_numbers(rows_where(numbers, run=POOLED)))
    if verdict == NOT_RUN:
        found = ABSENT if task else NO_TASK
    if len(runs) > 2:
        found += f" ({_spread(row, runs[runs['run'] != POOLED], numbers, kind)})"
    asked = f"it asks for {row['barrier']}" if row["barrier"] else ""
    needed = f"{row['needed']} would decide" if row["needed"].startswith("about") else row["needed"]
    real = on_real_text(claim.id, part, kind) if row["ground"] == GENERATED else ""
    said = filter(None, (found, describe_spread(row), asked, needed))
    return ClaimVerdict(claim, task, kind, part, verdict, "; ".join(said), real)


def describe_spread(row: "pandas.Series[Any]") -> str:
    """Return how far trainings of other studies differ in the number of a row of `claims`; "" where it is not known."""
    spread = row.get("spread", math.nan)
    if not isinstance(spread, float) or math.isnan(spread):
        return ""
    written = Number("", Estimate(spread), row["unit"]).bare()
    trainings = plural(int(row["spread_trainings"]), "training")
    return f"other trainings of this number differ by {written} (standard deviation, {trainings} of other studies)"


def on_real_text(claim: str, part: str, kind: TaskKind, number: str = "") -> str:
    """Return the number of the reference studies on real text, or a pretrained encoder, with its verdict; "" if none.

    Args:
        claim: The claim.
        part: Its part.
        kind: The kind of tasks that is asked.
        number: The name of the number that is asked, if not that which decides.
    """
    rows = rows_where(read_grounds(), claim=claim, part=part, kind=kind)
    rows = rows[(rows["ground"] != GENERATED) & rows["value"].notna()]
    if rows.empty or number not in ("", rows["number"].iloc[0]):
        return ""
    row = rows.iloc[0]
    found = number_of_ground(row)
    return f"{row['ground']}: {found.text()}" + ("" if number else f", {row['verdict']}")


def _spread(row: "pandas.Series[Any]", runs: pandas.DataFrame, numbers: pandas.DataFrame, kind: TaskKind) -> str:
    """Return the interval for these trainings, how far apart the runs judged alone are, and their verdicts."""
    own = numbers[(numbers["run"] != POOLED) & (numbers["name"] == row["number"])].drop_duplicates("run")
    ordered = sorted((one.number for one in read_numbers(own)), key=lambda one: one.found.value)
    ends = list(dict.fromkeys(one.bare() for one in (*ordered[:1], *ordered[-1:])))
    said = f"{'from' if len(ends) > 1 else 'all'} {' to '.join(ends)}"
    parts = [f"{plural(len(runs), 'training')}, {said}"] if ordered else []
    if not math.isnan(row["these_low"]):
        (main,) = read_numbers(rows_where(numbers, run=POOLED, name=row["number"]).head(1))
        these = replace(main.number, found=Estimate(row["value"], row["these_low"], row["these_high"]))
        parts.append(f"these on other {TASKS[kind].example}s {these.text()}")
    votes = _VOTE.sub(r"\1 in \2", str(row["votes"]))
    return "; ".join([*parts, f"judged one by one: {votes}"])


Group = list[ClaimVerdict]
"""The verdicts on one claim: in every task, on every part."""


def group_by_claim(verdicts: Sequence[ClaimVerdict]) -> dict[str, Group]:
    """Return the verdicts on every claim by its number."""
    return {name: list(own) for name, own in groupby(verdicts, key=lambda one: one.claim.id)}


def board(groups: Mapping[str, Group]) -> list[tuple[Paper, list[Group]]]:
    """Return the board of claims: the claims of every paper, in the papers' order."""
    rows = [(paper, [groups[one.id] for one in paper.claims if one.id in groups]) for paper in read_papers()]
    return [(paper, own) for paper, own in rows if own]


def tally(verdicts: Sequence[ClaimVerdict]) -> str:
    """Return how many claims there are and of how many papers: `37 claims of three papers`."""
    named = {one.claim.id for one in verdicts}
    own = {claim.id for paper in read_papers() if paper.needs for claim in paper.claims}
    ours = f", {len(own & named)} of our own" if own & named else ""
    return f"{plural(len(named - own), 'claim')} of three papers{ours}"


class Answer:
    """The cards of the first screen, drawn by `first.html.j2` from the numbers of the answer."""

    def __init__(self, tables: StudyTables, numbers: Numbers, claims: pandas.DataFrame) -> None:
        self.tasks = list(tables.tasks)
        self.several = len(self.tasks) > 1
        self._tables, self._numbers, self._claims = tables, numbers, claims
        self.get = numbers.answer
        self.parts = lambda name, task: numbers.parts("answer", name, task)

    def tasks_with(self, name: str) -> list[str]:
        """Return the tasks that have a number of the answer."""
        return [task for task in self.tasks if self._numbers.parts("answer", name, task)]

    def caveat(self, claim: str, task: str) -> str:
        """Return what limits a number: the verdict if nothing of the claim is decided, `in this model`, or ""."""
        found = list(rows_where(self._claims, claim=claim, task=task, run=POOLED)["verdict"])
        if {HOLDS, FAILS} & set(found):
            return ""
        return HERE if {HOLDS_HERE, FAILS_HERE} & set(found) else found[0] if found else NOT_RUN

    def beside(self, claim: str, number: str, task: str) -> str:
        """Return what the reference studies found on real text, of a number that decides a claim; "" on real text."""
        is_generated = self._tables.description(task).ground == GENERATED
        return on_real_text(claim, "", self._tables.kind_of(task), number) if is_generated else ""

    def scores(self, task: str) -> list[tuple[Shown, str]]:
        """Return what the models of a task score, and of what: by all metrics if it is the only task."""
        found, loss = self.parts("quality", task), f"nats per {self._tables.info_of(task).unit_of_loss}"
        named = [(number, loss if metric == "loss" else metric_after(metric)) for metric, number in found.items()]
        return named[:1] if self.several else named

    @property
    def weak(self) -> list[str]:
        """What is said of models that score little, or hardly more than chance, by task; none of others."""
        found = [(task, find_weakness(self._tables.of_task(task))) for task in self.tasks]
        return [f"{task_name(task)}: {text}" if self.several else text for task, text in found if text]

    @property
    def judged_on(self) -> str:
        """The set that scores are of."""
        return main_set(self._tables.evaluation)

    @property
    def generated(self) -> list[str]:
        """The tasks whose text is generated."""
        return [task for task in self.tasks if self._tables.description(task).ground == GENERATED]

    @property
    def is_of_own_models(self) -> bool:
        """Whether the models were brought, not trained here: what can be removed from them is the answer."""
        return all(self._tables.description(task).ground == RELEASED for task in self.tasks)

    def smaller(self, task: str) -> "pandas.Series[Any]":
        """Return the row of the table `removable` of the smaller model that is shown first."""
        rows = rows_where(self._tables.of_task(task).removable, set="test", chosen=1)
        return rows_where(rows, run=main_run(rows, self._tables)).iloc[0]

    def margin(self, task: str) -> Markup:
        """Return the noticeable loss of a task, marked with the threshold it is."""
        share = threshold("M7", "margin", task, self._tables.kind_of(task))
        marked = Markup('<data value="{:g}" data-threshold="M7|margin">{:.0f}\u202f%</data>')
        return marked.format(share, 100 * share)

    def score(self, task: str) -> str:
        """Return what shares of the score are shares of: `BLEU`, `accuracy above chance`."""
        view = self._tables.of_task(task)
        metric = metric_word(main_metric(view.pruning)) if view.has("pruning") else "score"
        return metric + view.info.above

    def kinds(self, task: str) -> tuple[str, ...]:
        """Return the kinds of attention that the models of a task have."""
        return self._tables.of_task(task).kinds

    def site(self, task: str) -> str:
        """Return what an attention site is called in a task."""
        return site_word(self.kinds(task))

    def render(self) -> Markup:
        """Return the cards as markup."""
        names = {"answer": self, "here": HERE, "not_comparable": NOT_COMPARABLE}
        names |= {"task_name": task_name, "kinds": KIND_NAMES, "colours": KIND_COLOURS}
        module: Any = environment().get_template("first.html.j2").make_module(names)
        return Markup(module.cards())


def describe_study(tables: StudyTables) -> str:
    """Return the models in one line: tasks with the heads of the run shown first, arms, and seeds."""
    parts = [f"{task_name(task)}{_describe_model(view)}" for task, view in tables.views.items()]
    seeds = {run.rpartition("seed")[2] for run in tables.runs}
    trained = f"{plural(len(tables.arm_names), 'arm')}, {plural(len(seeds), 'seed')}"
    released = all(tables.description(task).ground == RELEASED for task in tables.tasks)
    return f"{listing(parts)}; {'as released' if released else trained}" if parts else "nothing was run"


def _count_layers(name: str, layers: pandas.Series) -> str:
    """Return the number of layers with attention; those of a hybrid are fewer than the last one's number."""
    among = f", of {layers.max()} or more" if layers.nunique() < layers.max() else ""
    return f"{plural(layers.nunique(), f'{name} layer')}{among and ' with attention'}{among}"


def _describe_model(view: StudyTables) -> str:
    """Return heads and layers of a task's run that is shown first: ` with 270 heads in 30 decoder layers`."""
    scores = view.scores if view.has("scores") else view.ablation
    first = rows_where(scores, run=main_run(scores, view)) if len(scores) else scores
    heads = first[["kind", "layer", "head"]].drop_duplicates()
    if heads.empty:
        return ""
    per_site = heads_per_site(view)
    widths = [arm.width // per_site[arm.name] for arm in view.described_arms if arm.width and arm.name in per_site]
    of = f" of {widths[0]} dimensions" if widths else ""
    found = {name: rows_where(heads, kind=kind)["layer"] for kind, name in SELF_ATTENTION.items()}
    layers = " and ".join(_count_layers(name, own) for name, own in found.items() if len(own))
    repeated = f" used as {uses}" if (uses := count_uses(view)) else ""
    tokens = view.description(view.task).window
    windows = f", read in windows of {tokens} tokens" if tokens else ""
    return f" with {len(heads)} heads{of} in {layers}{repeated}{windows}"
