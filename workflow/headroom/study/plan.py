"""The plan of a study: its runs, and the files that are not of one experiment: text, trees, models, shards.

Paths begin with Snakemake's path variable `<results>`; there is no other reference to Snakemake.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.settings.labelled import Treebank, TreebankFile
from headroom.settings.models import PRETRAINED, HubModelSettings
from headroom.settings.study import Run, Study
from headroom.settings.tasks import (
    ClassificationSettings,
    DocumentsSettings,
    LanguageSettings,
    TaskSettings,
    TranslationSettings,
)

ANSWERS = {"translation": "decoding", "classification": "labelling", "language": "windows", "masked": "windows"}
"""By kind of task, the section on how it is answered."""


@dataclass(frozen=True)
class Plan:
    """The runs and files of a study.

    Attributes:
        study: The validated configuration.
    """

    study: Study

    @property
    def results(self) -> str:
        """The directory of the study's results."""
        return f"<results>/{self.study.study}"

    @property
    def runs(self) -> Mapping[str, Run]:
        """Every run by its name."""
        return self.study.runs()

    def runs_of(self, *tasks: str) -> list[str]:
        """Return the runs of some tasks."""
        return [name for name, run in self.runs.items() if run.task in tasks]

    @property
    def translated(self) -> list[str]:
        """The runs of translation tasks."""
        return [run for run in self.runs if isinstance(self.task(run), TranslationSettings)]

    @property
    def detailed(self) -> list[str]:
        """The runs with every experiment."""
        return self.study.detailed_runs()

    @property
    def trained(self) -> list[str]:
        """The runs that the study trains; the others are released models."""
        return [run for run in self.runs if not self.task(run).released]

    @property
    def transformers(self) -> list[str]:
        """The runs on which it is measured what heads do: of the first arm, without self-attentive encoders."""
        own = (run for run in self.runs if self.is_first_arm(run))
        return [run for run in own if not self._is_self_attentive(self.task(run))]

    @property
    def removable(self) -> list[str]:
        """The runs whose heads can be sliced out, not only masked."""
        released = {run: self.task(run).released for run in self.runs}
        return [run for run, own in released.items() if not isinstance(own, HubModelSettings) or own.removable]

    @property
    def armed(self) -> list[str]:
        """The tasks that have several arms."""
        return [name for name, task in self.study.tasks.items() if len(task.arms) > 1]

    def is_first_arm(self, run: str) -> bool:
        """Return whether a run is of the first arm of its task, with which others are compared."""
        return self.runs[run].arm == next(iter(self.task(run).arms))

    def task(self, run: str) -> TaskSettings:
        """Return the settings of a run's task."""
        return self.study.tasks[self.runs[run].task]

    def task_of(self, values: Mapping[str, str]) -> str:
        """Return the task of a job by its wildcards; "" if it is of all tasks."""
        return self.runs[values["run"]].task if "run" in values else values.get("task", "")

    def kind_of(self, task: str) -> str:
        """Return the kind of a task; "" for none."""
        return self.study.tasks[task].task if task else ""

    def engine(self, run: str) -> str:
        """Return the engine of a run."""
        return self.engine_of(self.runs[run].task)

    def engine_of(self, task: str) -> str:
        """Return the engine of a task's models."""
        kinds = {"translation": "seq2seq", "language": "causal", "classification": "classifier", "masked": "masked"}
        return kinds[self.kind_of(task)]

    def library_of(self, task: str) -> str:
        """Return what trains a task's models, or imports its released ones: `fairseq`, or their engine."""
        own = self.study.tasks[task]
        translates = isinstance(own, TranslationSettings) and not isinstance(own.released, HubModelSettings)
        return "fairseq" if translates else self.engine_of(task)

    def environment_of(self, task: str) -> str:
        """Return the environment of that: fairseq has to be compiled, and only its own jobs need it."""
        return "fairseq" if self.library_of(task) == "fairseq" else "torch"

    def _is_self_attentive(self, task: TaskSettings) -> bool:
        return isinstance(task, ClassificationSettings) and task.encoder.source == "self-attentive"

    # which runs

    @property
    def replaced(self) -> list[tuple[str, str]]:
        """The sweeps of detailed runs: run and replacement of removed heads."""
        return [(run, one) for run in self.detailed for one in self.task(run).intervention.replacement]

    @property
    def removable_in_detail(self) -> list[str]:
        """The detailed runs whose heads are sliced out."""
        return [run for run in self.detailed if run in self.removable]

    @property
    def with_pairs(self) -> list[str]:
        """The runs of language models whose study has pairs of sentences."""
        return [run for run in self.detailed if isinstance(own := self.task(run), LanguageSettings) and own.pairs]

    @property
    def with_phenomena(self) -> list[str]:
        """The runs with accuracies per phenomenon: every seed of the first arm, on generated text with trees."""
        return [run for run in self.translated if _has_phenomena(self.task(run)) and self.is_first_arm(run)]

    @property
    def timed_task(self) -> str:
        """The first translation task with several arms, whose updates are timed; "" if there is none."""
        return next((task for task in self.armed if self.kind_of(task) == "translation"), "")

    # files

    def tables(self, name: str, keys: Iterable[str]) -> list[str]:
        """Return the tables of an experiment, e.g. one per run."""
        return [f"{self.results}/{name}/{key}.csv" for key in keys]

    def has_own_trees(self, task: str) -> bool:
        """Return whether trees come with the text of a task, as its treebank."""
        return self.study.tasks[task].treebank.source == "generated"

    def trees(self, task: str) -> Treebank:
        """Return the source of a task's trees: a file, whose path is a flag, if they come with its text."""
        return TreebankFile(path="-") if self.has_own_trees(task) else self.study.tasks[task].treebank

    def treebank(self, run: str) -> list[str]:
        """Return the treebank of a run's task, if any."""
        none = self.task(run).treebank.source == "none"
        return [] if none else [f"{self.results}/{self.runs[run].task}/treebank.conllu"]

    def is_pretrained(self, task: str) -> bool:
        """Return whether the encoder of a classification task comes with weights."""
        own = self.study.tasks[task]
        return isinstance(own, ClassificationSettings) and own.encoder.source in PRETRAINED

    def epochs(self, task: str) -> list[float]:
        """Return the epochs of a task's checkpoints: shares of the first one, then all whole ones."""
        own = self.study.tasks[task]
        early = () if isinstance(own, DocumentsSettings) or own.released else own.training.early_checkpoints
        return [*early, *range(1, own.epochs + 1)]

    def last(self, run: str) -> list[float]:
        """Return the last epoch of a run."""
        return [self.task(run).epochs]

    def whole(self, run: str) -> list[float]:
        """Return the whole epochs of a run: changes from one checkpoint to the next are alike."""
        return list(range(1, self.task(run).epochs + 1))

    def every(self, run: str) -> list[float]:
        """Return all epochs of a run."""
        return self.epochs(self.runs[run].task)

    def checkpoint(self, directory: str, run: str, epoch: float | None = None) -> str:
        """Return the checkpoint of an epoch, by default the last one, in the directory of a run's models."""
        return f"{directory}/epoch{self.task(run).epochs if epoch is None else epoch:g}"

    def training_table(self, run: str) -> list[str]:
        """Return the table of a run's training; empty for a released model."""
        return self.tables("training", {run}.intersection(self.trained))

    def shards(self, table: str) -> list[str]:
        """Return the files of all shards of the sweep behind a table; empty for a single job."""
        numbers = range(1, self.study.shards + 1) if self.study.shards > 1 else ()
        return [f"{self.results}/shards/{self.study.shards}/{table}.{number}.npz" for number in numbers]

    def ablated_sets(self, run: str) -> list[str]:
        """Return the sets on which a run's heads are ablated."""
        far = self.task(run).ablation.far_sets
        return ["choose", "test", *(self.task(run).corpus.far_names if far is None else far)]

    # settings

    def sections(self, run: str, *names: str) -> dict[str, Any]:
        """Return sections of a run's configuration; `sampling` of the study, `answers` as in `ANSWERS`."""
        task = self.task(run)
        chosen = [ANSWERS[task.task] if name == "answers" else name for name in names]
        return {name: self.study.sampling if name == "sampling" else getattr(task, name) for name in chosen}

    def of_reading(self, run: str) -> dict[str, Any]:
        """Return the sections that every job with a model of a run needs: examples of a language model are windows."""
        return self.sections(run, "answers") if isinstance(self.task(run), DocumentsSettings) else {}

    def with_main(self, run: str, *names: str) -> dict[str, Any]:
        """Return sections of a run's configuration, and the main criterion of its task."""
        return {**self.sections(run, *names), "pruning": {"main": self.task(run).pruning.main}}

    def with_order(self, run: str, *names: str) -> dict[str, Any]:
        """Return sections of a run's configuration, and how heads are ordered for removal."""
        return {**self.sections(run, *names), "pruning": keep(self.task(run).pruning, "main", "unit")}


def leave_out(section: Any, *keys: str) -> dict[str, Any]:
    """Return a section of the configuration as data, without keys that are irrelevant to a job."""
    found: dict[str, Any] = section.model_dump(mode="json", exclude=set(keys))
    return found


def keep(section: Any, *keys: str) -> dict[str, Any]:
    """Return some keys of a section of the configuration as data."""
    found: dict[str, Any] = section.model_dump(mode="json", include=set(keys))
    return found


def own_files(source: Any) -> list[str]:
    """Return the user's files with text or trees."""
    if source.source != "files":
        return []
    places = source.paths.values() if hasattr(source, "paths") else [source.path]
    return [file for place in places for file in local_files(place)]


def local_files(place: str | None) -> list[str]:
    """Return the files of a directory, or a file itself; empty without a place."""
    here = Path(place or "")
    if place and here.is_dir():
        return sorted(str(path) for path in here.iterdir() if path.is_file())
    return [place] if place else []


def _has_phenomena(task: TaskSettings) -> bool:
    return not task.released and task.corpus.source == "generated" and task.treebank.source != "none"
