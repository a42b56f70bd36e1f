# What all rules share. The checked study, its runs, the sources of a stage and its flags.
import os
import re
import shlex
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.sourcecache import HostingProviderFile, LocalSourceFile


def unpacked(place):
    """Return a copy of a hosted workflow/: Snakemake fetches its rules one by one, jobs need the whole package."""
    commit = place.hosted_repo.repo.commit(place.ref)
    copy, folder = Path(".snakemake/headroom"), os.path.dirname(place.path)
    stamp = copy / "commit"
    if not stamp.exists() or stamp.read_text() != commit.hexsha:
        shutil.rmtree(copy, ignore_errors=True)
        with tempfile.TemporaryFile() as stream:
            commit.repo.archive(stream, commit.hexsha, path=folder)
            stream.seek(0)
            with tarfile.open(fileobj=stream) as archive:
                archive.extractall(copy, filter="data")
        stamp.write_text(commit.hexsha)
    return copy / folder


here = workflow.current_basedir
if not isinstance(here, (LocalSourceFile, HostingProviderFile)):
    raise WorkflowError("headroom's rules need its package: name the workflow/Snakefile of a clone, or github(...)")
WORKFLOW = (Path(here.path).parent if here.is_local else unpacked(here)).resolve()
sys.path.insert(0, str(WORKFLOW))

if workflow.modifier.path_modifier.replace_prefix("results/") != "results/":
    raise WorkflowError(
        "headroom cannot be a module with `prefix` or `replace_prefix`: leave it out, `study` keeps files apart"
    )

try:
    import grimp
    from headroom.ground.errors import HeadroomError
    from headroom.settings.arms import format_arm
    from headroom.settings.roles import PointingSettings, RuleSettings, TracingSettings
    from headroom.study import load_study
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"the module '{error.name}' is missing: run `make study`, or `source .venv/bin/activate` first; "
        "an environment of your own needs snakemake, grimp and pydantic"
    ) from None

try:
    study = load_study(config)
except HeadroomError as error:
    raise WorkflowError(str(error)) from None

translation, classification = study.translation, study.classification
CORPORA = {"translation": translation} if translation else {}
CORPORA |= {f"classification.{name}": task for name, task in classification.items()}
for place, task in CORPORA.items():
    for key, path in task.corpus.paths.items() if task.corpus.source == "files" else ():
        if not os.path.isfile(path):
            raise WorkflowError(f"configuration, key {place}.corpus.{key}: there is no file {path} in {os.getcwd()}")

for name, task in classification.items():
    mine = {"encoder": getattr(task.encoder, "path", None), "released": task.released and task.released.path}
    for section, path in mine.items():
        if path and not os.path.isdir(path):
            key = f"classification.{name}.{section}.path"
            raise WorkflowError(f"configuration, key {key}: there is no directory {path} in {os.getcwd()}")

if translation and translation.released and translation.released.path:
    if not os.path.exists(translation.released.path):
        place = f"configuration, key translation.released.path: there is no {translation.released.path}"
        raise WorkflowError(f"{place} in {os.getcwd()}")

for place, task in CORPORA.items():
    if task.treebank.source == "files" and not os.path.isfile(task.treebank.path):
        found = f"there is no file {task.treebank.path} in {os.getcwd()}"
        raise WorkflowError(f"configuration, key {place}.treebank.path: {found}")

# Snakemake's own prefix, which this one replaces, is the strict mode
shell.prefix(f"set -euo pipefail; export PYTHONPATH={shlex.quote(os.path.relpath(WORKFLOW))}; ")

RUNS = study.runs()
DETAILED = study.detailed_runs()
TRANSLATED = [name for name, run in RUNS.items() if run.task == "translation"]
LABELLED = [name for name in RUNS if name not in TRANSLATED]
RUNS_OF = {task: [name for name, run in RUNS.items() if run.task == task] for task in study.tasks}
ARMED = [name for name, task in study.tasks.items() if len(task.arms) > 1]
RESULTS = f"results/{study.study}"
LOGS = f"logs/{study.study}"
BENCHMARKS = f"{RESULTS}/benchmarks"
SPLITS = ("train", "choose", "check", "test")
GPU = int(study.device == "cuda")
TRAINING_GPUS = GPU * study.gpus
TRAINING_DEVICE = study.device if study.gpus == 1 else f"{study.device} --processes {study.gpus}"
WHOLE_MACHINE = 1024  # threads; Snakemake lowers it to the cores there are

# template, style and script of the page; the captions (.rst) are Snakemake's own
REPORT_FILES = sorted(path.name for path in (WORKFLOW / "report").glob("page.*") if path.suffix != ".rst")

PIECES = ("bpecodes", "moses.json") if translation and translation.released else ("sentencepiece.model",)
VOCABULARY = [f"{RESULTS}/translation/binarised/{name}" for name in (*PIECES, "dict.source.txt", "dict.target.txt")]
BINARISED = [
    f"{RESULTS}/translation/binarised/{split}.source-target.{side}.{kind}"
    for split in ("train", "valid")
    for side in ("source", "target")
    for kind in ("bin", "idx")
]
CLASSIFIER = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def any_of(names):
    """Return a pattern that matches these names alone."""
    return "|".join(re.escape(name) for name in names)


wildcard_constraints:
    run=any_of(RUNS),
    shard="[0-9]+",
    scope="all|E|A|D",


_imports = grimp.build_graph("headroom", cache_dir=None)


def sources(*stages, data=()):
    """Return the files whose content results depend on: the import closures of modules, and data beside them."""
    stages = [name for stage in stages for name in (stage, f"{stage}.__main__") if name in _imports.modules]
    modules = {module for stage in stages for module in (stage, *_imports.find_upstream_modules(stage))}
    packages = {name.rpartition(".")[0] for name in modules if "." in name}
    paths = {_module_file(name) for name in modules | packages} | {WORKFLOW / name for name in data}
    return sorted(os.path.relpath(path) for path in paths)


def _module_file(name):
    path = WORKFLOW / Path(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def memory(megabytes):
    """Return what Snakemake asks for a job's memory: as much again for every time that it is tried."""
    return lambda wildcards, attempt: megabytes * attempt


def flags(settings, leave_out=()):
    """Return settings as flags of a stage, `--learning-rate 0.005 ...`, in a fixed order."""
    words = []
    for name, value in settings.model_dump(mode="json").items():
        if value is None or name in leave_out:
            continue
        values = value if isinstance(value, list) else [value]
        words += [f"--{name.replace('_', '-')}", *(shlex.quote(_word(item)) for item in values)]
    return " ".join(words)


def arm_words(task, name):
    """Return an arm of a task as `--arm svgd method=svgd alpha=0.01 ...`."""
    return " ".join(["--arm", *format_arm(name, study.tasks[task].arms[name])])


def arm_of(run):
    """Return the arm of a run in these words."""
    return arm_words(RUNS[run].task, RUNS[run].arm)


def _word(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def mirror_flag(wildcards, resources):
    """Return the flag that names the mirror, if there is one.

    Where bytes come from does not matter, their checksums do: another mirror reruns nothing, because Snakemake does not
    compare what is computed from `resources`.
    """
    return f"--mirror {shlex.quote(study.mirror)}" if study.mirror else ""


def of_run(function, *arguments):
    """Return what Snakemake calls with a job's wildcards: the function, given the job's run."""
    return lambda wildcards: function(wildcards.run, *arguments)


def task_of(run):
    """Return the settings of a run's task."""
    return study.tasks[RUNS[run].task]


def kind_of(run):
    """Return what kind of task a run is: translation or classification."""
    return "translation" if run in TRANSLATED else "classification"


def code_of(run, stage):
    """Return the sources of a stage on a run: its own, and of the run's task those parts that the stage uses."""
    used = _imports.find_upstream_modules(stage)
    parts = [part for part in ("loading", "judging", "timing", "observing") if f"headroom.tasks.{part}" in used]
    return sources(stage, *(f"headroom.tasks.{kind_of(run)}.{part}" for part in parts))


def ablated_sets(run):
    """Return the sets that a run's heads are ablated on."""
    far = task_of(run).experiments.far_sets
    return ["choose", "test", *(task_of(run).corpus.far_names if far is None else far)]


def judged_sets(run):
    """Return the sets of the final scores."""
    return ["check", "test", *task_of(run).corpus.far_names]


def texts(task, *sets):
    """Return the text files of evaluation sets of a task."""
    if task == "translation":
        return [f"{RESULTS}/translation/corpus/{name}.{side}" for name in sets for side in ("source", "target")]
    return [f"{RESULTS}/{task}/corpus/{name}.tsv" for name in sets] + [f"{RESULTS}/{task}/corpus/corpus.json"]


def data_of(run, *sets):
    """Return what a stage needs to look at a run on sets: their texts, and the vocabulary of a translation."""
    vocabulary = VOCABULARY if run in TRANSLATED else []
    return [*vocabulary, *texts(RUNS[run].task, *sets)]


def place_of(run):
    """Return the flags that name a run, its task, and where its data are."""
    task = RUNS[run].task
    where = f"--corpus {RESULTS}/{task}/corpus --device {study.device}"
    vocabulary = f" --vocabulary {os.path.dirname(VOCABULARY[0])}" if run in TRANSLATED else ""
    return f"--study {study.study} --run {run} --task {kind_of(run)}{vocabulary} {where}"


def answering_of(run):
    """Return the flags that affect answers."""
    return flags(task_of(run).decoding if run in TRANSLATED else task_of(run).labelling)


def judging_of(run, final=False):
    """Return the flags that affect answers and scores; `final`: also those of final scores alone."""
    search = flags(task_of(run).evaluation) if final and run in TRANSLATED else ""
    return f"{search} {answering_of(run)} {flags(study.sampling)}".strip()


def slice_of(run, *sections, leave_out=()):
    """Return sections of a run's task as flags."""
    return " ".join(flags(getattr(task_of(run), section), leave_out) for section in sections)


def checkpoint(run, epoch=None):
    """Return what is handed to a stage as the checkpoint of an epoch, the last by default: a file or a directory."""
    place = f"{RESULTS}/runs/{run}/epoch{epoch or task_of(run).epochs}"
    return f"{place}.pt" if run in TRANSLATED else place


def checkpoints(run):
    """Return the checkpoints of a run, one per epoch."""
    return [checkpoint(run, epoch) for epoch in range(1, task_of(run).epochs + 1)]


def files_of(places):
    """Return the files of checkpoints."""
    return [
        file
        for place in places
        for file in ([place] if place.endswith(".pt") else [f"{place}/{name}" for name in CLASSIFIER])
    ]


def last_files(run):
    """Return the files of a run's last checkpoint."""
    return files_of([checkpoint(run)])


def all_files(run):
    """Return the files of all checkpoints of a run."""
    return files_of(checkpoints(run))


def tables(name, runs):
    """Return one table per run."""
    return [f"{RESULTS}/{name}/{run}.csv" for run in runs]


def shard_of(table):
    """Return the file that a shard of the sweep behind a table is written to."""
    return f"{RESULTS}/shards/{study.shards}/{table}.{{shard}}.npz"


def shards_of(table):
    """Return the files of all shards of the sweep behind a table; none if one job does it all."""
    numbers = range(1, study.shards + 1) if study.shards > 1 else ()
    return [shard_of(table).replace("{shard}", str(number)) for number in numbers]


def shard_flags(wildcards, output):
    """Return the flags of a job that judges a shard."""
    return f"--output {output[0]} --shard {wildcards.shard}/{study.shards}"


def merged_table(wildcards, input, output):
    """Return the flags of the job that writes the table of a sweep, from its shards if it has any."""
    return " ".join([f"--output {output[0]}", *(["--merge", *input.shards] if study.shards > 1 else [])])


def ends_of_jobs(task):
    """Return the epochs at which the jobs of a training end: one after another, the last one with the last epoch."""
    step = study.epochs_per_job or task.epochs
    return [*range(step, task.epochs, step), task.epochs]


def job_of(step, end, task):
    """Return the name of a step of training that is cut into jobs: its own for the last, `train_until_4` before."""
    return step if end == task.epochs else f"{step}_until_{end}"


def training_so_far(end, task):
    """Return the table of a training that is to go on after the job that ends there."""
    return (
        f"{RESULTS}/training_so_far/{{run}}.epoch{end}.csv" if end < task.epochs else f"{RESULTS}/training/{{run}}.csv"
    )


def earlier_job(end, task):
    """Return what the job that ends there waits for: the table of the job before it; nothing if it is the first."""
    return [training_so_far(other, task) for other in ends_of_jobs(task) if other < end][-1:]


def until(end, task):
    """Return the flag of a job that ends before the last epoch."""
    return f" --until {end}" if end < task.epochs else ""


def directory_of(name):
    """Return what gives a job the directory of its input files of this name."""
    return lambda wildcards, input: os.path.dirname(input[name][0])


def main_order_of(run):
    """Return the flags of curves by the main order alone."""
    return slice_of(run, "pruning", leave_out=["scopes", "criteria", "normalisations", "random_draws"])


def dynamic_checkpoints(run):
    """Return the checkpoints that a run has curves of: all if it is detailed, else the last."""
    return checkpoints(run) if run in DETAILED else [checkpoint(run)]


def is_pretrained(task):
    """Return whether an encoder comes with weights."""
    return task.encoder.source not in ("new", "self-attentive")


def labelled_from(source):
    """Return the classification tasks whose text comes from there."""
    return [(name, task) for name, task in classification.items() if task.corpus.source == source]


def trees_from(source):
    """Return the tasks whose treebank comes from there."""
    return [(name, task) for name, task in study.tasks.items() if task.treebank.source == source]


def treebank_of(run):
    """Return the treebank of a run's task, as a list of files: none without."""
    return [] if task_of(run).treebank.source == "none" else [f"{RESULTS}/{RUNS[run].task}/treebank.conllu"]


def treebank_flag(run):
    """Return the flag that names the treebank of a run's task, if it has one."""
    return " ".join(f"--treebank {path}" for path in treebank_of(run))


def part_of_roles(run, part):
    """Return those settings of roles that a stage uses, as flags."""
    return flags(part.model_validate(task_of(run).roles.model_dump(include=set(part.model_fields))))


def far_flags(corpus):
    """Return the far domains of a corpus as flags: named files, or named splits of a data set."""
    return "".join(f" --far {name} {shlex.quote(place)}" for name, place in corpus.far.items())


def has_training_text(task):
    """Return whether a task has text to train on; a released model needs none."""
    return task.corpus.source != "sacrebleu" and getattr(task.corpus, "train", "unknown") is not None


def encoder_files(encoder):
    """Return the files that an encoder is made of: those of its directory, where it is one of yours."""
    return local_files(encoder.path) if encoder.source == "directory" else []


def local_files(place):
    """Return the files that stand in a directory of yours, or the one file that it is."""
    here = Path(place)
    return sorted(str(path) for path in here.iterdir() if path.is_file()) if here.is_dir() else [place]


# Runs with learned gates, their ways of learning, and the values of lambda whose layouts are trained from scratch.
GATED = [run for run in DETAILED if task_of(run).gates.ways and has_training_text(task_of(run))]
WAYS = {run: task_of(run).gates.ways for run in GATED}
SCRATCH = {run: [f"{value:g}" for value in task_of(run).gates.from_scratch] for run in GATED if run in TRANSLATED}


def gates_of(run, way):
    """Return the flags of a way of learning gates, or of `controls`: those that change what it does."""
    idle = {"hard-concrete": ["kept_shares", "kept_heads", "random_draws"], "controls": ["penalties"]}
    idle = idle.get(way.partition(".")[0], ["penalties", "random_draws"])
    return f"--seed {RUNS[run].seed} {flags(task_of(run).gates, leave_out=['ways', 'from_scratch', *idle])}"


def training_table(run):
    """Return the table of a run's training, which says whether the model had converged; none of a released model."""
    return [] if task_of(run).released else tables("training", [run])


def limit_of(examples):
    """Return the flag that limits the examples of the test set."""
    return "" if examples is None else f"--test-examples {examples}"


def pruned_names(task, way):
    """Return the names of the models that a way of learning gates leaves: its values of lambda, or shares and counts."""
    gates = study.tasks[task].gates
    if way.startswith("hard-concrete"):
        return [f"{value:g}" for value in gates.penalties]
    return [*(f"{share:g}" for share in gates.kept_shares), *(f"{count}-heads" for count in gates.kept_heads)]


def pruned_checkpoint(run, task, way, name):
    """Return what is handed to a stage as a pruned model: a file or a directory, named as the one it comes from."""
    ending = ".pt" if task == "translation" else ""
    return f"{RESULTS}/pruned_models/{run}/{way}/{name}/epoch{study.tasks[task].epochs}{ending}"


def pruned_files(run, task, way, name):
    """Return the files of a pruned model, and its profile."""
    place = pruned_checkpoint(run, task, way, name)
    descriptor = [] if task == "translation" else [f"{place}/headroom.json"]
    return [*files_of([place]), *descriptor, f"{os.path.dirname(place)}/profile.txt"]


def all_pruned_files(run, task, way):
    """Return the files of all models that a way of learning gates leaves of a run."""
    return [file for name in pruned_names(task, way) for file in pruned_files(run, task, way, name)]


def relabelled(run):
    """Return the way whose survivors get their roles anew: gates on the encoder, or on all heads without those."""
    ways = WAYS.get(run, ()) if run in TRANSFORMERS else ()
    return next((way for way in ("hard-concrete.E", "hard-concrete.all") if way in ways), None)


def pointing_of_pruned(run):
    """Return the tables of where survivors point, one per lambda."""
    way = relabelled(run)
    strengths = task_of(run).gates.penalties if way else ()
    return [f"{RESULTS}/pointing/{run}.{way}.{strength:g}.csv" for strength in strengths]


def survival_tables(run):
    """Return a run's tables of gates on all heads; none without learned gates."""
    return [f"{RESULTS}/gates/{run}.{way}.csv" for way in WAYS.get(run, ()) if way.endswith(".all")]
