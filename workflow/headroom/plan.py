"""The plan of a study: its runs, and the files that jobs read and write.

Paths begin with Snakemake's path variable `<results>` and contain its wildcards; there is no other reference to
Snakemake.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.experiments.gates.settings import ScopedGateSettings
from headroom.experiments.tables import REGISTRY
from headroom.methods.criteria import REFERENCE, criterion, find_family
from headroom.methods.orders import CONTROLS, REVERSE
from headroom.settings.base import SPLITS, fresh_seed
from headroom.settings.checks import TRANSLATION
from headroom.settings.labelled import GeneratedPairs, Treebank, TreebankFile
from headroom.settings.models import PRETRAINED
from headroom.settings.study import Run, Study
from headroom.settings.tasks import ClassificationSettings, TranslationSettings

CLASSIFIER = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
"""The files of a classifier's checkpoint, which is a directory."""

CATALOGUES = {
    "parallel": "headroom/data/catalogue.yaml",
    "labelled": "headroom/data/labelled_catalogue.yaml",
    "trees": "headroom/data/treebank_catalogue.yaml",
}
"""By kind of data, the catalogue with its addresses."""

TaskSettings = TranslationSettings | ClassificationSettings


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
        """The runs of the translation task."""
        return self.runs_of(TRANSLATION)

    @property
    def labelled(self) -> list[str]:
        """The runs of classification tasks."""
        return self.runs_of(*self.study.classification)

    @property
    def detailed(self) -> list[str]:
        """The runs with every experiment."""
        return self.study.detailed_runs()

    @property
    def trained(self) -> list[str]:
        """The runs that the study trains; the others are released models."""
        return [run for run in self.runs if not self.task(run).released]

    @property
    def trained_classifiers(self) -> list[str]:
        """The runs of classifiers that the study trains."""
        return [run for run in self.labelled if run in self.trained]

    def classifiers_by_epochs(self) -> dict[tuple[float, ...], list[str]]:
        """Return the runs of classifiers that the study trains, by the epochs of their checkpoints."""
        found: dict[tuple[float, ...], list[str]] = {}
        for run in self.trained_classifiers:
            found.setdefault(tuple(self.epochs(run)), []).append(run)
        return found

    @property
    def transformers(self) -> list[str]:
        """The runs of Transformers, whose heads attend from piece to piece, i.e. without self-attentive encoders."""
        return [run for run in self.runs if run in self.translated or not self._is_self_attentive(run)]

    @property
    def armed(self) -> list[str]:
        """The tasks that have several arms."""
        return [name for name, task in self.study.tasks.items() if len(task.arms) > 1]

    @property
    def gated(self) -> list[str]:
        """The runs with learned gates."""
        return [run for run in self.detailed if self.task(run).gates.ways and _has_training_text(self.task(run))]

    def task(self, run: str) -> TaskSettings:
        """Return the settings of a run's task."""
        return self.study.tasks[self.runs[run].task]

    def seed(self, run: str) -> int:
        """Return the seed of a run."""
        return self.runs[run].seed

    def engine(self, run: str) -> str:
        """Return the engine of a run."""
        return "fairseq" if self.runs[run].task == TRANSLATION else "classifier"

    def _is_self_attentive(self, run: str) -> bool:
        task = self.task(run)
        return isinstance(task, ClassificationSettings) and task.encoder.source == "self-attentive"

    # files

    def tables(self, name: str, runs: Iterable[str]) -> list[str]:
        """Return one table per run."""
        return [f"{self.results}/{name}/{run}.csv" for run in runs]

    def texts(self, task: str, *sets: str) -> list[str]:
        """Return the text files of sets of a task."""
        place = f"{self.results}/{task}/corpus"
        if task == TRANSLATION:
            return [f"{place}/{name}.{side}" for name in sets for side in ("source", "target")]
        return [*(f"{place}/{name}.tsv" for name in sets), f"{place}/corpus.json"]

    def all_texts(self, task: str) -> list[str]:
        """Return the text files of all sets of a task."""
        return self.texts(task, *SPLITS, *self.study.tasks[task].corpus.far_names)

    def sets_with_trees(self) -> list[str]:
        """Return the sets of the translation corpus that come with trees: all if the grammar generated them."""
        corpus = self.study.tasks[TRANSLATION].corpus
        return [*SPLITS, *corpus.far_names] if corpus.source == "generated" else []

    def tasks_by_far_names(self) -> dict[tuple[str, ...], list[str]]:
        """Return the classification tasks by their far domains."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for name, task in self.study.classification.items():
            groups.setdefault(tuple(task.corpus.far_names), []).append(name)
        return groups

    @property
    def tested(self) -> list[str]:
        """The runs with accuracies per phenomenon: every seed of the first arm, on generated text with trees."""
        task = self.study.translation
        if task is None or task.released or task.corpus.source != "generated" or task.treebank.source == "none":
            return []
        first = next(iter(task.arms))
        return [name for name in self.translated if self.runs[name].arm == first]

    def trees_beside_text(self, task: str) -> list[str]:
        """Return the trees that come with the text of a task, if they are its treebank."""
        beside = task == TRANSLATION and self.study.tasks[task].treebank.source == "generated"
        return [f"{self.results}/{task}/corpus/check.conllu"] if beside else []

    def trees(self, task: str) -> Treebank:
        """Return the source of a task's trees: a file, whose path is a flag, if they come with its text."""
        return TreebankFile(path="-") if self.trees_beside_text(task) else self.study.tasks[task].treebank

    def seed_of_trees(self, task: str) -> int:
        """Return the seed of the grammar that generates a task's trees; irrelevant for other trees."""
        corpus = self.study.tasks[task].corpus
        made = self.trees(task).source == "generated"
        return corpus.seed if made and isinstance(corpus, GeneratedPairs) else 1

    @property
    def vocabulary(self) -> list[str]:
        """The files that segment text of the translation task."""
        released = self.study.translation and self.study.translation.released
        pieces = ("bpecodes", "moses.json") if released else ("sentencepiece.model",)
        place = f"{self.results}/translation/binarised"
        return [f"{place}/{name}" for name in (*pieces, "dict.source.txt", "dict.target.txt")]

    @property
    def binarised(self) -> list[str]:
        """The binarised training and validation text of the translation task."""
        names = ((split, side) for split in ("train", "valid") for side in ("source", "target"))
        place = f"{self.results}/translation/binarised"
        return [f"{place}/{split}.source-target.{side}.{end}" for split, side in names for end in ("bin", "idx")]

    def epochs(self, run: str) -> list[float]:
        """Return the epochs of a run's checkpoints: shares of the first one, then all whole ones."""
        task = self.task(run)
        return [*(() if task.released else task.training.early_checkpoints), *range(1, task.epochs + 1)]

    def checkpoint(self, run: str, epoch: float | None = None) -> list[str]:
        """Return the files of a run's checkpoint of an epoch, the last one by default."""
        place = f"{self.results}/runs/{run}/epoch{epoch or self.task(run).epochs:g}"
        return [f"{place}.pt"] if run in self.translated else [f"{place}/{name}" for name in CLASSIFIER]

    def checkpoints(self, run: str) -> list[str]:
        """Return the files of all checkpoints of a run."""
        return [file for epoch in self.epochs(run) for file in self.checkpoint(run, epoch)]

    def whole_epochs(self, run: str) -> list[str]:
        """Return the files of the checkpoints of a run after whole epochs: changes from one to the next are alike."""
        return [file for epoch in range(1, self.task(run).epochs + 1) for file in self.checkpoint(run, epoch)]

    def curve_checkpoints(self, run: str) -> list[str]:
        """Return the checkpoints with pruning curves of a run: all if it is detailed, else the last."""
        return self.checkpoints(run) if run in self.detailed else self.checkpoint(run)

    def ablated_sets(self, run: str) -> list[str]:
        """Return the sets on which a run's heads are ablated."""
        far = self.task(run).ablation.far_sets
        return ["choose", "test", *(self.task(run).corpus.far_names if far is None else far)]

    def replacements(self, run: str) -> list[str]:
        """Return the replacements of removed heads, other than zero, that the sweeps of a run are repeated with."""
        return [name for name in self.task(run).intervention.replacement if name != "zero"]

    def removal_sets(self, run: str) -> list[str]:
        """Return the sets that real removal reads: the one it is checked on, and that of the repair, if any."""
        return ["test", *(["choose"] if self.task(run).removal.repair != "none" else [])]

    def evaluated_sets(self, run: str) -> list[str]:
        """Return the sets of the final scores."""
        return ["check", "test", *self.task(run).corpus.far_names]

    def data(self, run: str, *sets: str) -> dict[str, list[str]]:
        """Return the inputs of a run's task: the texts of sets, and the vocabulary of a translation."""
        vocabulary = self.vocabulary if run in self.translated else []
        return {"corpus": self.texts(self.runs[run].task, *sets), "vocabulary": vocabulary}

    def treebank(self, run: str) -> list[str]:
        """Return the treebank of a run's task, if any."""
        none = self.task(run).treebank.source == "none"
        return [] if none else [f"{self.results}/{self.runs[run].task}/treebank.conllu"]

    def is_pretrained(self, task: str) -> bool:
        """Return whether the encoder of a classification task comes with weights."""
        return self.study.classification[task].encoder.source in PRETRAINED

    def encoder_files(self, task: str) -> list[str]:
        """Return the files of the initial encoder of a task's classifiers."""
        files = [file for file in CLASSIFIER if file != "model.safetensors" or self.is_pretrained(task)]
        return [f"{self.results}/{task}/encoder/{file}" for file in files]

    def encoder_directory(self, task: str) -> list[str]:
        """Return the source files of an encoder: those of its directory, if it has one."""
        encoder = self.study.classification[task].encoder
        return local_files(encoder.path) if encoder.source == "directory" else []

    def training_table(self, run: str) -> list[str]:
        """Return the table of a run's training; empty for a released model."""
        return self.tables("training", {run}.intersection(self.trained))

    # sweeps in shards, trainings in jobs

    def shard(self, table: str) -> str:
        """Return the output file of a shard of the sweep behind a table."""
        return f"{self.results}/shards/{self.study.shards}/{table}.{{shard}}.npz"

    def shards(self, table: str) -> list[str]:
        """Return the files of all shards of the sweep behind a table; empty for a single job."""
        numbers = range(1, self.study.shards + 1) if self.study.shards > 1 else ()
        return [self.shard(table).replace("{shard}", str(number)) for number in numbers]

    def earlier_job(self, run: str, end: str | None) -> list[str]:
        """Return the table of the job of a training before the one that ends at an epoch (None: the last one)."""
        epochs = self.task(run).epochs
        ends = range(self.study.epochs_per_job or epochs, epochs, self.study.epochs_per_job or epochs)
        earlier = [other for other in ends if other < int(end or epochs)]
        return [f"{self.results}/training_so_far/{run}.epoch{other}.csv" for other in earlier[-1:]]

    # learned gates

    def pruned_names(self, task: str, way: str) -> list[str]:
        """Return the names of the models of a method of learned gates: its values of lambda, or shares and counts."""
        gates = self.study.tasks[task].gates
        if way.startswith("hard-concrete"):
            return [f"{value:g}" for value in gates.penalties]
        return [*(f"{share:g}" for share in gates.kept_shares), *(f"{count}-heads" for count in gates.kept_heads)]

    def pruned_checkpoint(self, models: str, run: str, name: str) -> str:
        """Return the checkpoint of a pruned model within the directory of its method's models."""
        ending = ".pt" if run in self.translated else ""
        return f"{models}/{name}/epoch{self.task(run).epochs}{ending}"

    def control_scopes(self, run: str) -> list[str]:
        """Return the scopes of the controls of a run's learned gates: all heads, and those of other methods."""
        gates = self.task(run).gates
        return gates.scopes if isinstance(gates, ScopedGateSettings) else ["all"]

    def saved_controls(self, run: str) -> list[str]:
        """Return the names of the controls whose models are saved: no head removed, the smallest random layouts."""
        gates = self.task(run).gates
        shares, counts = ([size for size in sizes if size] for sizes in (gates.kept_shares, gates.kept_heads))
        fewest = [f"{min(shares):g}"] if shares else [f"{min(counts)}-heads"] if counts else []
        return ["all", *(f"random{draw}-{name}" for name in fewest for draw in range(1, gates.random_draws + 1))]

    def from_scratch(self, run: str) -> list[str]:
        """Return the layouts that are trained from the start, by initial weights or random draw, and lambda."""
        task = self.task(run)
        if not isinstance(task, TranslationSettings) or task.released or run not in self.gated:
            return []
        random = [f"random{draw}" for draw in range(1, task.gates.from_scratch_random_draws + 1)]
        starts = [*task.gates.from_scratch_starts, *random]
        return [f"{start}-{value:g}" for value in task.gates.from_scratch for start in starts]

    def seed_of_start(self, run: str, start: str) -> int:
        """Return the seed of a layout trained from the start: the run's if it is rewound, else a new one."""
        return self.seed(run) if start.startswith("rewound") else fresh_seed(self.seed(run))

    def rewound_to(self, run: str, start: str) -> list[str]:
        """Return the checkpoint with the initial weights of a layout; empty if they come from a seed."""
        return self.checkpoint(run, 1) if start == "rewound-epoch1" else []

    def stats_of_pruned(self, run: str) -> list[tuple[str, str]]:
        """Return the methods and names of the pruned models and controls whose roles are computed."""
        ways = self.task(run).gates.ways if run in self.gated and run in self.transformers else ()
        way = next((way for way in ("hard-concrete.E", "hard-concrete.all") if way in ways), None)
        if way is None:
            return []
        controls = f"controls.{way.partition('.')[2]}"
        pruned = [(way, name) for name in self.pruned_names(self.runs[run].task, way)]
        return [*pruned, *((controls, name) for name in self.saved_controls(run))]

    def table_of_models(self, run: str, way: str) -> str:
        """Return the table of the models of a method of learned gates, or of `controls.<scope>`."""
        name = "pruned_models" if way.startswith("controls") else "gates"
        return f"{self.results}/{name}/{run}.{way}.csv"

    def survival_tables(self, run: str) -> list[str]:
        """Return a run's tables of gates on all heads; empty without learned gates."""
        ways = self.task(run).gates.ways if run in self.gated else ()
        return [f"{self.results}/gates/{run}.{way}.csv" for way in ways if way.endswith(".all")]

    def stats_tables_of_pruned(self, run: str) -> list[str]:
        """Return the attention statistics of a run's pruned models."""
        place = f"{self.results}/attention_stats/{run}"
        return [f"{place}.{way}.{strength}.csv" for way, strength in self.stats_of_pruned(run)]

    def order_tables(self, run: str) -> dict[str, list[str]]:
        """Return, by experiment, the tables other than scores that give orders of a run; always that of ablation."""
        named = {criterion(name).table for name in self.task(run).pruning.criteria}
        transformer = [run] if run in self.transformers else []
        found = {
            "ablation": self.tables("ablation", [run]),
            "relevance": self.tables("relevance", transformer),
            "attention_stats": self.tables("attention_stats", transformer),
            "gates": self.survival_tables(run),
        }
        return {name: paths for name, paths in found.items() if name == "ablation" or name in named}

    # the comparison of criteria

    def compared(self, task: str) -> list[str]:
        """Return the runs on which criteria are compared: every seed of the first arm; empty without criteria."""
        settings = self.study.tasks[task]
        first = next(iter(settings.arms))
        own = [name for name, run in self.runs.items() if run.task == task and run.arm == first]
        return own if settings.bakeoff.criteria else []

    def lacking_to_compare(self, task: str) -> dict[str, str]:
        """Return, by experiment without a table of every compared run, what to do about its criteria."""
        runs, found = self.compared(task), dict[str, str]()
        if not set(runs) <= set(self.detailed):
            found["ablation"] = "needs every seed in detail; raise detailed_seeds, or use loss-ablation"
        if not set(runs) <= set(self.gated) or not all(map(self.survival_tables, runs)):
            found["gates"] = "needs learned gates of every seed; raise detailed_seeds and set gates.ways"
        if not set(runs) <= set(self.transformers):
            found |= dict.fromkeys(("attention_stats", "relevance"), "needs a Transformer; leave it out")
        return found

    def bakeoff_families(self, task: str) -> list[str]:
        """Return the families of criteria that are computed for the comparison; always that of the reference."""
        named = [*self.study.tasks[task].bakeoff.criteria, REFERENCE]
        return list(dict.fromkeys(family for name in named if (family := find_family(name))))

    def bakeoff_tables(self, name: str, task: str) -> list[str]:
        """Return the tables of scores or of costs of the comparison."""
        families = self.bakeoff_families(task)
        return self.tables(name, (f"{run}.{family}" for run in self.compared(task) for family in families))

    def bakeoff_scores(self, run: str, order: str) -> list[str]:
        """Return the tables with the scores of an order; empty for controls without scores."""
        if order in CONTROLS and order != REVERSE:
            return []
        family = find_family(REFERENCE if order == REVERSE else order)
        if family:
            return self.tables("bakeoff_scores", [f"{run}.{family}"])
        return (
            self.survival_tables(run)
            if criterion(order).table == "gates"
            else self.tables(criterion(order).table, [run])
        )

    def bakeoff_curves(self, task: str) -> list[str]:
        """Return the tables of curves of the comparison."""
        orders = self.bakeoff_orders(task)
        return self.tables("bakeoff_curves", (f"{run}.{order}" for run in self.compared(task) for order in orders))

    def bakeoff_orders(self, task: str) -> list[str]:
        """Return the orders of the comparison: criteria, the reference, and the controls."""
        return [*dict.fromkeys([*self.study.tasks[task].bakeoff.criteria, REFERENCE]), *CONTROLS]

    def retrained(self, task: str) -> list[str]:
        """Return the compared runs of a task whose layouts are trained further; empty without updates."""
        return self.compared(task) if self.study.tasks[task].bakeoff.retraining.updates else []

    def retraining_scores(self, run: str) -> list[str]:
        """Return the tables with the scores that the layouts of a run are chosen by."""
        return self.bakeoff_scores(run, self.task(run).bakeoff.retraining.criterion)

    # the report

    def report_tables(self) -> list[str]:
        """Return all tables of the study."""
        runs: dict[str, Iterable[str]] = {"all": self.runs, "trained": self.trained, "detailed": self.detailed, "": ()}
        runs |= {"transformers": self.transformers}
        found = [path for name, table in REGISTRY.by_name.items() for path in self.tables(name, runs[table.runs])]
        found += self.tables("pruning", (f"{run}.{scope}" for run in self.detailed for scope in self.scopes(run)))
        for run in self.detailed:
            kinds = self.replacements(run)
            for table in ("ablation_replaced", "keep_one_replaced"):
                found += self.tables(table, [f"{run}.{kind}" for kind in kinds])
            scopes = [scope for scope in self.scopes(run) if scope != "sites"]
            found += self.tables("pruning_replaced", [f"{run}.{scope}.{kind}" for scope in scopes for kind in kinds])
        for run in self.gated:
            ways = [f"{run}.{way}" for way in self.task(run).gates.ways]
            controls = [f"{run}.controls.{scope}" for scope in self.control_scopes(run)]
            scratch = [f"{run}.{name}" for name in self.from_scratch(run)]
            found += self.tables("gates", ways) + self.tables("pruned_models", [*ways, *controls, *scratch])
            found += self.stats_tables_of_pruned(run)
            found += self.tables("roles", [f"{run}.pruned"] if self.stats_of_pruned(run) else [])
        for task in filter(self.compared, self.study.tasks):
            found += self.bakeoff_curves(task) + self.bakeoff_tables("bakeoff_scores", task)
            found += self.bakeoff_tables("bakeoff_costs", task) + self.tables("bakeoff", [task])
            found += self.tables("bakeoff_retraining", self.retrained(task))
        found += self.tables("phenomena", self.tested)
        return found + [f"{self.results}/{name}.csv" for name in self.study_tables]

    def resamples(self) -> list[str]:
        """Return the resamples that belong to tables of the study."""
        places = tuple(f"{self.results}/{name}/" for name, table in REGISTRY.by_name.items() if table.resampled)
        return [path.removesuffix(".csv") + ".npz" for path in self.report_tables() if path.startswith(places)]

    @property
    def study_tables(self) -> list[str]:
        """The tables of the study as a whole."""
        return [*(["update_cost"] if TRANSLATION in self.armed else []), *(["arms", "overlap"] if self.armed else [])]

    def scopes(self, run: str) -> list[str]:
        """Return the scopes of a detailed run's curves, `sites` for those of every single site."""
        task = self.task(run)
        return [*(task.pruning.scopes if isinstance(task, TranslationSettings) else ["all"]), "sites"]

    def attention_maps(self) -> list[str]:
        """Return the attention maps of detailed runs."""
        return [f"{self.results}/attention_maps/{run}.json" for run in self.detailed if run in self.transformers]

    def benchmarks(self) -> list[str]:
        """Return the benchmark files of all jobs that write the study's tables and models."""
        unmeasured = ("/timing_samples/", "/distances/", "/gates/", "/bakeoff_costs/")  # further outputs of a job
        tables = [path for path in self.report_tables() if not any(name in path for name in unmeasured)]
        names = [path.removeprefix(f"{self.results}/").removesuffix(".csv") for path in tables]
        scratch = [f"{run}.{name}" for run in self.gated for name in self.from_scratch(run)]
        unlike = {f"pruned_models/{one}" for one in scratch}
        names = [name.replace("pruned_models/", "gates/") for name in names if name not in unlike]
        names += [path.removeprefix(f"{self.results}/").removesuffix(".json") for path in self.attention_maps()]
        names += [f"{name}/{one}" for one in scratch for name in ("training_from_scratch", "from_scratch")]
        return [f"{self.results}/benchmarks/{name}.tsv" for name in [*names, "claims"]]


def own_files(source: Any) -> list[str]:
    """Return the user's files with text or trees."""
    if source.source != "files":
        return []
    return list(source.paths.values()) if hasattr(source, "paths") else [source.path]


def local_files(place: str | None) -> list[str]:
    """Return the files of a directory, or a file itself; empty without a place."""
    here = Path(place or "")
    if place and here.is_dir():
        return sorted(str(path) for path in here.iterdir() if path.is_file())
    return [place] if place else []


def _has_training_text(task: TaskSettings) -> bool:
    """Return whether a task has training text; it is optional with a released model."""
    return task.corpus.source != "sacrebleu" and getattr(task.corpus, "train", "unknown") is not None
