"""What decides the result of each job: slices of the configuration as JSON, and the columns of tables, for params."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from headroom.core.tables import columns_of
from headroom.plan import Plan
from headroom.settings.experiments import MainSettings, ScopedPruningSettings
from headroom.settings.tasks import TranslationSettings

ALL_BUT_MAIN = tuple(name for name in ScopedPruningSettings.model_fields if name not in MainSettings.model_fields)

UNUSED_BY_GATES = {
    "hard-concrete": ("kept_shares", "kept_heads", "random_draws"),
    "from_scratch": ("penalties", "kept_shares", "kept_heads", "random_draws", "gate_learning_rate"),
    "exact": ("penalties", "random_draws"),
    "exact-straight-through": ("penalties", "random_draws"),
    "controls": ("penalties",),
}
"""Keys of `gates` that do not matter to a method of learning them, or to what it is compared with."""

OF_THE_STUDY = ("ways", "from_scratch", "from_scratch_starts", "from_scratch_random_draws")
"""Keys of `gates` that say which jobs there are, not what they do."""


@dataclass(frozen=True)
class JobSettings:
    """The settings of a study's jobs, each without the keys that do not matter to it.

    Attributes:
        plan: The study as its rules see it.
    """

    plan: Plan

    def sections(self, run: str, *names: str, leave_out: Mapping[str, Sequence[str]] | None = None) -> str:
        """Return sections of a run's configuration as JSON.

        Args:
            run: The run.
            names: Keys of its task; `sampling` of the study; `answers` for what affects answers: the task's
                `decoding` or `labelling`.
            leave_out: By section, the keys that do not matter.
        """
        task = self.plan.task(run)
        answers = "decoding" if run in self.plan.translated else "labelling"
        chosen = [answers if name == "answers" else name for name in names]
        found = {name: self.plan.study.sampling if name == "sampling" else getattr(task, name) for name in chosen}
        return as_json(leave_out, **found)

    def with_main(self, run: str, *names: str) -> str:
        """Return sections of a run's configuration, and the main criterion of its task."""
        return self.sections(run, *names, "pruning", leave_out={"pruning": ALL_BUT_MAIN})

    def training(self, run: str) -> str:
        """Return what decides how a run is trained."""
        task = self.plan.task(run)
        parts: dict[str, Any] = {"arm": task.arms[self.plan.runs[run].arm], "training": task.training}
        if isinstance(task, TranslationSettings):
            parts["model"] = task.model
        return as_json(**parts)

    def evaluation(self, run: str) -> str:
        """Return what decides the final scores of a run."""
        search = ["evaluation"] if run in self.plan.translated else []
        return self.sections(run, *search, "answers", "sampling")

    def pruning(self, run: str) -> str:
        """Return what decides the pruning curves of a run."""
        return self.sections(run, "pruning", "scores", "answers", "sampling", leave_out={"pruning": ["scopes"]})

    def main_curves(self, run: str) -> str:
        """Return what decides the curves of a run by the main order alone."""
        unused = ["scopes", "criteria", "normalisations", "random_draws"]
        return self.sections(run, "pruning", "answers", "sampling", leave_out={"pruning": unused})

    def gates(self, run: str, way: str) -> str:
        """Return the settings of a way of learning gates, of `controls` or of `from_scratch`, with those of judging."""
        method = way.partition(".")[0]
        unused = {"gates": (*OF_THE_STUDY, *UNUSED_BY_GATES[method]), "pruning": ALL_BUT_MAIN}
        main = ["pruning"] if method == "controls" else []
        found = json.loads(self.sections(run, "gates", "answers", "sampling", *main, leave_out=unused))
        found["gates"]["learning_rate"] = self.gates_rate(run)
        return json.dumps(found, separators=(",", ":"), ensure_ascii=False)

    def gates_rate(self, run: str) -> float:
        """Return the learning rate of a run's weights while gates are learned, and in what that is compared with."""
        task = self.plan.task(run)
        if task.gates.learning_rate or isinstance(task, TranslationSettings):
            return task.gates.rate
        tuned = task.released or self.plan.is_pretrained(self.plan.runs[run].task)
        return task.training.learning_rate if tuned else task.gates.rate

    def update_cost(self) -> str:
        """Return what decides what an update of every arm costs; the number of epochs does not."""
        task = self.plan.study.translation
        if task is None:
            return "{}"
        arms = {name: arm.model_dump(mode="json") for name, arm in task.arms.items()}
        parts = as_json(
            {"training": ["epochs"]}, model=task.model, training=task.training, update_cost=task.update_cost
        )
        return json.dumps({"arms": arms, **json.loads(parts)}, separators=(",", ":"))

    def mains(self) -> str:
        """Return the main criterion of every task with several arms, as flags."""
        return " ".join(f"--main {task} {self.plan.study.tasks[task].pruning.main}" for task in self.plan.armed)


def as_json(leave_out: Mapping[str, Sequence[str]] | None = None, **sections: BaseModel) -> str:
    """Return sections as JSON, by their names; keys that are left out have their defaults."""
    written = {
        name: section.model_dump(mode="json", exclude=set((leave_out or {}).get(name, ())))
        for name, section in sections.items()
    }
    return json.dumps(written, separators=(",", ":"), ensure_ascii=False)


def columns(*tables: str) -> str:
    """Return the columns of tables, for the params of the rule that writes them: another column is another table."""
    return "; ".join(f"{name}: {' '.join(columns_of(name))}" for name in tables)
