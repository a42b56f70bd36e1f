"""Functions of wildcards that the rules are made of: inputs, environments, memory, and what a job is told."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.study.curves import choose_epochs, order_tables, scores_of
from headroom.study.gates import observed_models
from headroom.study.plan import Plan
from headroom.study.sources import Sources
from headroom.study.stages import module_of
from headroom.study.trainings import earlier_part

Files = Mapping[str, str | Sequence[str]]
"""Files of a job by their names in its rule, which are the fields of the job."""

Tell = Callable[..., Mapping[str, Any]]
"""From a plan and the wildcards of a job to fields of it: its settings, and its part of the configuration."""

UNTOLD = ("after", "model", "pruned", "record", "resamples", "shards")
"""Files of a rule that are no fields of its job, or that other fields name."""

RECORDS = ("corpus", "encoder", "data")
"""Inputs that are the record of a directory, which the field names."""

WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf")


Wildcards = Mapping[str, str]
"""The wildcards of a job. Of Snakemake's own, only `items()` is used: they are a list."""


@dataclass(frozen=True)
class Jobs:
    """The jobs of a study.

    Attributes:
        plan: The plan of the study.
        sources: The files of the package.
    """

    plan: Plan
    sources: Sources

    def text(self, wildcards: Wildcards) -> str:
        """Return the record of the text of a run's task."""
        return f"{self.plan.results}/{self._task(wildcards)}/corpus/corpus.json"

    def library(self, wildcards: Wildcards) -> str:
        """Return the name of the environment of what trains the models of a task."""
        return self.plan.environment_of(self._task(wildcards))

    def text_library(self, wildcards: Wildcards) -> str:
        """Return the name of the environment of a source of text: the Hub's library is in the one with torch."""
        return "torch" if self.plan.study.tasks[self._task(wildcards)].corpus.source == "hub" else "plain"

    def training_text(self, wildcards: Wildcards) -> dict[str, str]:
        """Return what a training reads: binarised text, or text and the initial encoder."""
        place = f"{self.plan.results}/{self._task(wildcards)}"
        if self.plan.library_of(self._task(wildcards)) == "fairseq":
            return {"data": f"{place}/binarised/prepared.json"}
        return {"corpus": self.text(wildcards), "encoder": f"{place}/encoder/record.json"}

    def checked_text(self, wildcards: Wildcards) -> str | list[str]:
        """Return the text by which the labels, or the lines, of a released model are checked."""
        checked = self.plan.library_of(self._task(wildcards)) in ("classifier", "seq2seq")
        return self.text(wildcards) if checked else []

    def own_trees(self, wildcards: Wildcards) -> str | list[str]:
        """Return the record of the text of a task whose trees come with it."""
        return self.text(wildcards) if self.plan.has_own_trees(self._task(wildcards)) else []

    def treebank(self, wildcards: Wildcards) -> str | list[str]:
        """Return the treebank of a run's task; none if it has no trees."""
        return next(iter(self.plan.treebank(_run(wildcards))), [])

    def training_table(self, wildcards: Wildcards) -> str | list[str]:
        """Return the table of a run's training; none if it was not trained here."""
        return next(iter(self.plan.training_table(_run(wildcards))), [])

    def training_stage(self, wildcards: Wildcards) -> str:
        """Return the program that trains the models of a run's task."""
        return "training" if self.plan.library_of(self._task(wildcards)) == "fairseq" else "fine_tuning"

    def earlier_part(self, wildcards: Wildcards) -> list[str]:
        """Return the table of the job of a training before this one, if it is divided (`epochs_per_job`)."""
        return earlier_part(self.plan, **dict(wildcards.items()))

    def order_tables(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the tables that give orders of a run besides its scores, by experiment."""
        return order_tables(self.plan, _run(wildcards), dict(wildcards.items())["scope"])

    def scores_of(self, wildcards: Wildcards) -> dict[str, Sequence[str]]:
        """Return the tables with the scores of a compared order, or of that by which layouts are chosen."""
        run = _run(wildcards)
        chosen = self.plan.task(run).bakeoff.retraining.criterion
        return scores_of(self.plan, run, dict(wildcards.items()).get("order", chosen))

    def pointing(self, wildcards: Wildcards) -> list[str]:
        """Return the tables from which roles are assigned: that of a run, or those of its pruned models."""
        run = _run(wildcards)
        pruned = [".".join((run, *model)) for model in observed_models(self.plan, run)]
        return self.plan.tables("attention_stats", pruned if "pruned" in dict(wildcards.items()) else [run])

    def curve_epochs(self, run: str) -> list[float]:
        """Return the epochs of a run with a curve."""
        return choose_epochs(self.plan, run)

    def shards(self, table: str) -> Callable[[Wildcards], list[str]]:
        """Return the function to the shards of the sweep behind a table, which are put together; none for a shard."""

        def files(wildcards: Wildcards) -> list[str]:
            values = dict(wildcards.items())
            return [] if "shard" in values else self.plan.shards(table.format(**values))

        return files

    def params(
        self,
        stage: str | Callable[[Wildcards], str],
        tell: Tell | None = None,
        *,
        sections: str = "",
        loads: bool = False,
        named: bool = True,
        epochs: Callable[[str], Sequence[float]] | None = None,
        places: Callable[..., Mapping[str, Any]] | None = None,
        imports: Callable[..., str] | None = None,
        libraries: Callable[[Wildcards], str] | str | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Return the params of a rule: its program, the fields of its job, and which of them decide the results.

        Snakemake compares params that depend on wildcards alone: another `decided` or `code` runs a job again.

        Args:
            stage: The program, `python -m headroom <stage>`; or a function of wildcards.
            tell: From a plan and wildcards to fields of the job.
            sections: Names of sections of the configuration of a run that are fields, too.
            loads: Whether it loads a trained model, which needs engine and device, and how a language model reads text.
            named: Whether the names of study and run are fields: columns of its tables.
            epochs: From a run to the epochs whose checkpoints it takes, by default the last one alone.
            places: From a plan, wildcards, inputs and outputs to further fields with files.
            imports: From a plan and wildcards to a module that it imports by name.
            libraries: From wildcards to the environment; by default `plain`, or that of the models.
            fields: Further fields.
        """

        def name_stage(wildcards: Wildcards) -> str:
            return stage if isinstance(stage, str) else stage(wildcards)

        def decide(wildcards: Wildcards) -> dict[str, Any]:
            values = dict(wildcards.items())
            found: dict[str, Any] = {}
            if named:
                found = {"study": self.plan.study.study} | ({"run": values["run"]} if "run" in values else {})
            if loads:
                found |= {"engine": self.plan.engine(values["run"]), "device": self.plan.study.device}
                found |= self.plan.of_reading(values["run"])
            found |= self.plan.sections(values["run"], *sections.split()) if sections else {}
            found |= {**fields, **(tell(self.plan, **values) if tell else {})}
            return {name: as_data(value) for name, value in found.items()}

        def fill(wildcards: Wildcards, input: Any, output: Any) -> dict[str, Any]:
            values, read = dict(wildcards.items()), dict(input.items())
            found = name_files(read, dict(output.items()))
            if "model" in read:
                found |= self._checkpoints(values["run"], os.path.dirname(read["model"]), epochs)
            if "shard" in values:
                found["shard"] = f"{values['shard']}/{self.plan.study.shards}"
            elif read.get("shards"):
                found["merge"] = list(read["shards"])
            return {**decide(wildcards), **found, **(places(self.plan, wildcards, input, output) if places else {})}

        def code(wildcards: Wildcards) -> str:
            by_name = [imports(self.plan, **dict(wildcards.items()))] if imports else []
            engine = self.plan.engine(_run(wildcards)) if loads else None
            return self.sources.digest(module_of(name_stage(wildcards)), *by_name, engine=engine)

        return {
            "stage": name_stage,  # a text that begins a path would be taken for one
            "job": lambda wildcards, input, output: as_json(fill(wildcards, input, output)),
            "decided": lambda wildcards: as_json(decide(wildcards)),
            "code": code,
            "libraries": libraries or ("torch" if loads else "plain"),
        }

    def _task(self, wildcards: Wildcards) -> str:
        return self.plan.task_of(dict(wildcards.items()))

    def _checkpoints(self, run: str, directory: str, epochs: Callable[[str], Sequence[float]] | None) -> dict[str, Any]:
        if epochs is None:
            return {"checkpoint": self.plan.checkpoint(directory, run)}
        return {"checkpoints": [self.plan.checkpoint(directory, run, epoch) for epoch in epochs(run)]}


def _run(wildcards: Wildcards) -> str:
    return dict(wildcards.items())["run"]


def name_files(inputs: Files, outputs: Files) -> dict[str, Any]:
    """Return the fields that name the files of a job."""
    named = {name: os.path.dirname(str(file)) if name in RECORDS else file for name, file in inputs.items() if file}
    return {name: files for name, files in {**named, **outputs}.items() if name not in UNTOLD}


def request_memory(megabytes: int, processes: int = 1) -> Callable[..., int]:
    """Return the function to a job's memory in MB: six times its largest model besides; each retry adds as much.

    A training holds weights, gradients, two moments of the optimizer and a checkpoint; a sweep a second model, states.
    """

    def request(wildcards: Wildcards, input: Sequence[str], attempt: int) -> int:  # noqa: ARG001
        directories = {os.path.dirname(path) for path in input if path.endswith(".json")}
        files = [*map(Path, input), *(file for place in directories for file in Path(place).rglob("*"))]
        models = (file for file in files if file.suffix in WEIGHTS and file.is_file())
        largest = max((file.stat().st_size for file in models), default=0) / 1e6
        return round(attempt * processes * (megabytes + 6 * largest))

    return request


def as_data(section: Any) -> Any:
    """Return a section of the configuration as data."""
    return section.model_dump(mode="json") if hasattr(section, "model_dump") else section


def as_json(value: object) -> str:
    """Return a value as compact JSON; lists of Snakemake are lists."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
