"""Params of jobs that affect their results: slices of the configuration as JSON, and the columns of tables."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from headroom.experiments.gates.settings import USUAL_RATE
from headroom.experiments.pruning.settings import MainSettings, ScopedPruningSettings
from headroom.experiments.tables import REGISTRY
from headroom.plan import Plan
from headroom.settings.tasks import TranslationSettings

ALL_BUT_MAIN = tuple(name for name in ScopedPruningSettings.model_fields if name not in MainSettings.model_fields)

UNUSED_BY_GATES = {
    "hard-concrete": ("kept_shares", "kept_heads", "random_draws"),
    "from_scratch": ("penalties", "kept_shares", "kept_heads", "random_draws", "gate_learning_rate"),
    "exact": ("penalties", "random_draws"),
    "exact-straight-through": ("penalties", "random_draws"),
    "controls": ("penalties",),
}
"""Keys of `gates` that are irrelevant to a method of learned gates, or to its controls."""

OF_THE_STUDY = ("ways", "from_scratch", "from_scratch_starts", "from_scratch_random_draws")
"""Keys of `gates` that determine which jobs exist, not their results."""


@dataclass(frozen=True)
class JobSettings:
    """The settings of a study's jobs, each without irrelevant keys.

    Attributes:
        plan: The plan of the study.
    """

    plan: Plan

    def sections(self, run: str, *names: str, leave_out: Mapping[str, Sequence[str]] | None = None) -> str:
        """Return sections of a run's configuration as JSON.

        Args:
            run: The run.
            names: Keys of its task; `sampling` of the study; `answers` for the task's
                `decoding` or `labelling`.
            leave_out: By section, the irrelevant keys.
        """
        task = self.plan.task(run)
        answers = "decoding" if run in self.plan.translated else "labelling"
        chosen = [answers if name == "answers" else name for name in names]
        found = {name: self.plan.study.sampling if name == "sampling" else getattr(task, name) for name in chosen}
        return as_json(leave_out, **found)

    def with_main(self, run: str, *names: str) -> str:
        """Return sections of a run's configuration, and the main criterion of its task."""
        return self.sections(run, *names, "pruning", leave_out={"pruning": ALL_BUT_MAIN})

    def training(self, run: str, *unused: str) -> str:
        """Return the settings of the training of a run, without unused keys of `training`."""
        task = self.plan.task(run)
        parts: dict[str, Any] = {"arm": task.arms[self.plan.runs[run].arm], "training": task.training}
        if isinstance(task, TranslationSettings):
            parts["model"] = task.model
        return as_json({"training": unused}, **parts)

    def evaluation(self, run: str) -> str:
        """Return the settings of the final scores of a run."""
        search = ["evaluation"] if run in self.plan.translated else []
        return self.sections(run, *search, "answers", "sampling")

    def pruning(self, run: str) -> str:
        """Return the settings of the pruning curves of a run."""
        return self.sections(run, "pruning", "scores", "answers", "sampling", leave_out={"pruning": ["scopes"]})

    def main_curves(self, run: str) -> str:
        """Return the settings of the curves of a run by the main order only."""
        unused = ["scopes", "criteria", "normalisations", "random_draws"]
        return self.sections(run, "pruning", "answers", "sampling", leave_out={"pruning": unused})

    def bakeoff_scores(self, run: str) -> str:
        """Return the settings of the scores of a run for the comparison of criteria."""
        settings = self.plan.task(run).bakeoff
        unused = [name for name in type(settings).model_fields if name != "examples"]
        return as_json({"bakeoff": unused}, bakeoff=settings)

    def bakeoff_curves(self, run: str, order: str) -> str:
        """Return the settings of the curves of a run by one order, for the comparison of criteria."""
        unused = ["criteria", "retraining", *([] if order == "random" else ["random_draws"])]
        found = json.loads(self.sections(run, "bakeoff", "answers", "sampling", leave_out={"bakeoff": unused}))
        again = [name for name in found["bakeoff"]["rescored"] if name == order]
        found["bakeoff"] |= {"criteria": again, "rescored": again}
        return json.dumps(found, separators=(",", ":"), ensure_ascii=False)

    def bakeoff_retraining(self, run: str) -> str:
        """Return the settings of the further training of a run's layouts, with the learning rate, and of evaluation."""
        settings = self.plan.task(run).bakeoff
        unused = [name for name in type(settings).model_fields if name != "test_examples"]
        found = json.loads(self.sections(run, "bakeoff", "answers", "sampling", leave_out={"bakeoff": unused}))
        rate = self.further_rate(run, settings.retraining.learning_rate)
        found["retraining"] = settings.retraining.model_dump(mode="json") | {"learning_rate": rate}
        return json.dumps(found, separators=(",", ":"), ensure_ascii=False)

    def gates(self, run: str, way: str) -> str:
        """Return the settings of a method of learned gates, of `controls` or of `from_scratch`, and of evaluation."""
        method = way.partition(".")[0]
        unused = {"gates": (*OF_THE_STUDY, *UNUSED_BY_GATES[method]), "pruning": ALL_BUT_MAIN}
        main = ["pruning"] if method == "controls" else []
        found = json.loads(self.sections(run, "gates", "answers", "sampling", *main, leave_out=unused))
        found["gates"]["learning_rate"] = self.further_rate(run, self.plan.task(run).gates.learning_rate)
        return json.dumps(found, separators=(",", ":"), ensure_ascii=False)

    def further_rate(self, run: str, given: float | None) -> float:
        """Return the learning rate of a run's weights in further training: the given one, or the usual one."""
        task = self.plan.task(run)
        if given or isinstance(task, TranslationSettings):
            return given or USUAL_RATE
        tuned = task.released or self.plan.is_pretrained(self.plan.runs[run].task)
        return task.training.learning_rate if tuned else USUAL_RATE

    def update_cost(self) -> str:
        """Return the settings of the time of an update in every arm, without epochs and checkpoints."""
        task = self.plan.study.translation
        if task is None:
            return "{}"
        arms = {name: arm.model_dump(mode="json") for name, arm in task.arms.items()}
        unused = {"training": ["epochs", "early_checkpoints"]}
        parts = as_json(unused, model=task.model, training=task.training, update_cost=task.update_cost)
        return json.dumps({"arms": arms, **json.loads(parts)}, separators=(",", ":"))

    def mains(self) -> str:
        """Return the main criterion of every task with several arms, as flags."""
        return " ".join(f"--main {task} {self.plan.study.tasks[task].pruning.main}" for task in self.plan.armed)


def as_json(leave_out: Mapping[str, Sequence[str]] | None = None, **sections: BaseModel) -> str:
    """Return sections as JSON, by their names; omitted keys have their defaults."""
    written = {
        name: section.model_dump(mode="json", exclude=set((leave_out or {}).get(name, ())))
        for name, section in sections.items()
    }
    return json.dumps(written, separators=(",", ":"), ensure_ascii=False)


def columns(*tables: str) -> str:
    """Return the columns of tables, for the params of the rule that writes them: changed columns rerun it."""
    return "; ".join(f"{name}: {' '.join(REGISTRY.columns_of(name))}" for name in tables)
