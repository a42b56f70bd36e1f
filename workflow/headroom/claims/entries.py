"""The papers and their claims: sentences, rules in words, thresholds, published numbers; one YAML file per paper.

A claim's entry names the function that decides it, `<experiment>.<function>` of the experiment's `claims.py`, or
`<experiment>.<module>.<function>`: from the tables of one task, and from the claim's thresholds by name, to the
readings of every run.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from headroom.claims.evidence import SKILL, find_lack_of_skill
from headroom.claims.verdict import Reading, Rule
from headroom.core.errors import HeadroomError
from headroom.core.files import parse_yaml
from headroom.study.tables import RELEASED, StudyTables
from headroom.study.task_info import TASKS, TaskKind

PLACE = Path(__file__).parent / "papers"
"""The folder with a file per paper."""

ANSWER_FILE = PLACE / "answer.yaml"
"""The numbers of the answer (see `claims.answer`), next to the papers."""

EXPERIMENTS = "headroom.experiments"
"""The package with the rules, which are imported by name."""

NOTICEABLE = "noticeable"
"""A threshold that is a noticeable loss, by kind of task: the margins of `headroom.study.task_info`."""

LIKE: dict[TaskKind, TaskKind] = {"masked": "language"}
"""Kinds of tasks without thresholds of their own, and the kind whose thresholds hold for them."""

NOT_EXAMINED = "it examined no such task"

SEVERAL_RUNS = (
    " The verdict on several runs is that of the mean of all runs of the baseline and its interval for other trainings"
    " on other examples."
)

ALL_RUNS = " All runs are judged together: there is one verdict per task."


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Precondition(_Entry):
    """What must be so in a run before a claim can be judged there."""

    check: str = Field(
        pattern=r"^\w+\.\w+$",
        description="The function that looks, `<experiment>.<function>`: from the tables of a task, a run and its "
        "thresholds to what was found where it is not met, or not measured; empty where it is.",
    )
    asks: str = Field(description="What is asked, with the names of thresholds in braces.")
    part: str = Field("", description="The part of the claim that needs it; empty for all.")
    thresholds: dict[str, float] = Field({}, description="Arguments of the function.")

    @property
    def words(self) -> str:
        """What is asked, with its thresholds."""
        return fill_in(self.asks, self.thresholds)


class Claim(_Entry):
    """A claim of a paper.

    It is asked of every task whose models have what it speaks of. Mappings by task are keyed by kinds of tasks; the
    name of a task has precedence.
    """

    id: str = Field(description="Its number: the paper's letter, and a number.")
    sentence: str = Field(description="The claim in words.")
    section: str = Field(description="The section of the report with the evidence.")
    decide: str = Field(
        pattern=r"^\w+\.(\w+\.)?\w+$", description="The function that decides it, `<experiment>.<function>`."
    )
    together: bool = Field(False, description="Whether all runs are judged at once.")
    repeats: Literal["seeds", "rounds", "nothing"] = Field(
        "seeds", description="What its interval is over, if not examples; `nothing` of what is counted."
    )
    rule: str = Field(description="The rule in words, with the names of thresholds in braces.")
    paper: str | dict[str, str] = Field(description="The paper's numbers, by task; of others it has none.")
    tasks: tuple[TaskKind, ...] = Field((), description="The kinds of tasks that it speaks of; empty for all.")
    sites: tuple[Literal["E", "A", "D"], ...] = Field(
        (), description="The kinds of attention that it speaks of: a model has to have all of them."
    )
    training: str = Field(
        "", description="What of a training it speaks of: without that it is not comparable in a released model."
    )
    thresholds: dict[str, float | dict[str, float]] = Field({}, description="Arguments of the rule, some by task.")
    preconditions: tuple[Precondition, ...] = Field(
        (), description="What a run needs for the claim to be judged in it."
    )
    numbers: dict[str, str] = Field(description="By number the words it is written in, `{}` being the number.")
    published: dict[str, dict[TaskKind, dict[int, float]]] = Field(
        {},
        description="The paper's values of a number, by kind of task and by the heads of its model. Such a number is "
        "drawn against the heads of models.",
    )
    controls: tuple[str, ...] = Field((), description="What the finding is compared with.")
    limits: tuple[str, ...] = Field((), description="Limits of the verdict.")

    def asked_of(self, tables: StudyTables) -> bool:
        """Return whether the models of a task have what the claim speaks of, given the tables of that task."""
        return tables.kind in (self.tasks or TASKS) and set(self.sites) <= set(tables.kinds)

    def paper_of(self, task: str, kind: TaskKind) -> str:
        """Return the paper's numbers for a task of a kind, or that there are none; without a task the first."""
        if isinstance(self.paper, str):
            return self.paper
        usual = NOT_EXAMINED if task else next(iter(self.paper.values()))
        return self.paper.get(task, self.paper.get(kind, usual))

    def thresholds_of(self, task: str, kind: TaskKind) -> dict[str, float]:
        """Return the thresholds that hold for a task of a kind."""
        return {name: _of_task(value, task, kind) for name, value in self.thresholds.items()}

    @field_validator("thresholds", mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        margins = {kind: info.margin for kind, info in TASKS.items() if kind not in LIKE}
        return {name: margins if value == NOTICEABLE else value for name, value in given.items()}

    @property
    def rule_text(self) -> str:
        """The rule in words, with its thresholds, its preconditions, and how runs are put together."""
        own = [f"{one.part}: {one.words}" if one.part else one.words for one in self.preconditions]
        asked = [SKILL] * (self.repeats == "seeds") + own
        needed = f" Not comparable without: {'; '.join(asked)}." if asked else ""
        return fill_in(self.rule, self.thresholds) + needed + (ALL_RUNS if self.together else SEVERAL_RUNS)

    @property
    def signature(self) -> str:
        """The thresholds as `name:value`, joined by bars; those by task as `name:task=value,task=value`.

        Those of preconditions follow as `<check>.<name>:value`.
        """
        own = [f"{name}:{_plain(value)}" for name, value in self.thresholds.items()]
        before = [(one.check.partition(".")[2], one.thresholds.items()) for one in self.preconditions]
        return "|".join([*own, *(f"{check}.{name}:{value:g}" for check, items in before for name, value in items)])


class PaperExhibit(_Entry):
    """A figure or table of a paper."""

    name: str = Field(description="Its name, e.g. Figure 3.")
    about: str = Field(description="What it shows.")
    number: str = Field(description="Its key number.")
    section: str = Field(description="The section of the report where ours is.")
    tasks: tuple[TaskKind, ...] = Field(description="The kinds of tasks that it is about.")


class Paper(_Entry):
    """A paper: its claims, the values it published, and its figures and tables."""

    authors: str = Field(description="Authors and year, as they are cited.")
    title: str = Field(description="Title.")
    url: str = Field("", description="Where it can be read.")
    year: int = Field(description="Year of publication: papers come in this order.")
    needs: str = Field("", description="The table without which its claims are not asked; empty for none.")
    claims: tuple[Claim, ...] = Field(description="Its claims, in order.")
    values: dict[str, Any] = Field({}, description="Values of its figures and tables, by name.")
    exhibits: tuple[PaperExhibit, ...] = Field((), description="Its figures and tables, in order.")

    @property
    def short(self) -> str:
        """Its first author and year."""
        return f"{self.authors.split(',')[0].split(' ')[0]} {self.year}"


class Amount(float):
    """A number in a text: with the digits that it needs, or by `%` in per cent (whole ones, from 1 % on)."""

    def __format__(self, form: str) -> str:
        if form != "%":
            return format(float(self), form or ".12g")
        return f"{100 * self:.0f} %" if self >= 0.01 else f"{100 * self:g} %"


def fill_in(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with the values of the names in its braces; `{}` stays."""
    return text.format("{}", **{name: _amounts(value) for name, value in values.items()})


@cache
def read_papers(place: Path = PLACE) -> tuple[Paper, ...]:
    """Return the papers in order of their years, then of their files.

    Raises:
        HeadroomError: If a file is not of this form; names file and claim.
    """
    papers = [(path, _read(path)) for path in sorted(place.glob("*.yaml")) if path.name != ANSWER_FILE.name]
    ids: dict[str, Path] = {}
    for path, paper in papers:
        for claim in paper.claims:
            if claim.id in ids:
                raise HeadroomError(f"{path}, claim {claim.id}: {ids[claim.id]} has one too; number it otherwise")
            ids[claim.id] = path
    return tuple(paper for _, paper in sorted(papers, key=lambda one: (one[1].year, ord(one[1].claims[0].id[0]))))


def papers_asked(tables: StudyTables) -> list[Paper]:
    """Return the papers whose claims a study can decide: some need a certain experiment."""
    return [paper for paper in read_papers() if not paper.needs or tables.has(paper.needs)]


def all_claims() -> dict[str, Claim]:
    """Return every claim by its number, in order."""
    return {claim.id: claim for paper in read_papers() for claim in paper.claims}


def threshold(claim: str, name: str, task: str = "", kind: TaskKind = "translation") -> float:
    """Return a threshold of a claim, for figures and sentences that show it."""
    return all_claims()[claim].thresholds_of(task, kind)[name]


def rule_of(claim: Claim) -> Rule:
    """Return the function that decides a claim.

    Raises:
        HeadroomError: If there is none of this name, or its arguments are not the claim's thresholds.
    """
    where = f"claim {claim.id}: decide: {claim.decide}"
    rule: Rule = find_function(claim.decide, where)
    wanted = [one.name for one in inspect.signature(rule).parameters.values() if one.kind is one.KEYWORD_ONLY]
    if sorted(wanted) != sorted(claim.thresholds):
        names = ", ".join(wanted) or "none"
        raise HeadroomError(f"{where}: its thresholds should be {names}; name these under the claim's thresholds")
    return rule


def find_function(name: str, where: str) -> Callable[..., Any]:
    """Return a function of an experiment by its name, `<experiment>.<function>` or `<experiment>.<module>.<function>`.

    Raises:
        HeadroomError: If there is none; begins with `where`.
    """
    experiment, *module, function = name.split(".")
    place = ".".join((EXPERIMENTS, experiment, *(module or ["claims"])))
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(place), function)
    except (ImportError, AttributeError) as error:
        raise HeadroomError(f"{where}: no such function; write it in workflow/{place.replace('.', '/')}.py") from error
    return found


def decide(claim: Claim, tables: StudyTables) -> list[Reading]:
    """Return what every run says about a claim, given the tables of one task that it applies to.

    A run in which a precondition is not met says that the claim is not comparable there. A rule that judges all runs at
    once judges those in which all are met; where these are not more than half of the runs that it rests on, it judges
    all of them, as not comparable. So is a claim about training in a released model, where nothing is found.
    """
    rule, thresholds = rule_of(claim), claim.thresholds_of(tables.task, tables.kind)
    found = rule(tables, **thresholds)
    described = tables.description(tables.task)
    if not found and claim.training and described.ground == RELEASED and not described.is_series:
        return [Reading((), runs=tuple(tables.runs), barrier=f"{claim.training}: the model is as released")]
    asked = dict.fromkeys((run, one.part) for one in found for run in (one.runs or (one.run,)))
    barriers = {place: barrier for place in asked if (barrier := _barrier(claim, tables, *place))}
    if claim.together and barriers:
        lacking = {run for run, _ in barriers}
        if 2 * len(lacking) < len({run for run, _ in asked}):
            return rule(tables.without(lacking), **thresholds)
        first = next(iter(barriers.values()))
        return [replace(one, barrier=one.barrier or first) for one in found]
    return [replace(one, barrier=one.barrier or barriers.get((one.run, one.part), "")) for one in found]


def _barrier(claim: Claim, tables: StudyTables, run: str, part: str) -> str:
    """Return the first precondition that a run does not meet, and what was found instead; "" if it meets all."""
    if claim.repeats == "seeds" and (lack := find_lack_of_skill(tables, run)):
        return lack
    for one in (one for one in claim.preconditions if one.part in ("", part)):
        check = find_function(one.check, f"claim {claim.id}: check: {one.check}")
        found = check(tables, run, **one.thresholds)
        if found:
            return f"{one.words}: {found}"
    return ""


def _read(path: Path) -> Paper:
    try:
        content = parse_yaml(path.read_text(encoding="utf-8"))
        shared, usual = content.pop("numbers", {}), {key: content.pop(key) for key in ("paper",) if key in content}
        named = content["claims"].items()
        claims = [usual | entry | {"id": name, "numbers": shared | entry["numbers"]} for name, entry in named]
        return Paper.model_validate(content | {"claims": claims})
    except (OSError, yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        raise HeadroomError(f"cannot read the claims in {path}: {error!r}; write them as in the other files") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = [str(part) for part in first["loc"]]
        if place[0] == "claims" and len(place) > 1:
            place[:2] = [f"claim {list(content['claims'])[int(place[1])]}"]
        raise HeadroomError(f"{path}, {': '.join(place)}: {first['msg']}") from error


def _of_task(value: float | Mapping[str, float], task: str, kind: TaskKind) -> float:
    """Return a threshold that may be given by task or kind of task."""
    if not isinstance(value, Mapping):
        return value
    return value[task] if task in value else value[LIKE.get(kind, kind)]


def _amounts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _amounts(one) for name, one in value.items()}
    return value if isinstance(value, str) else Amount(value)


def _plain(value: float | Mapping[str, float]) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}={one:g}" for name, one in value.items())
    return f"{value:g}"
