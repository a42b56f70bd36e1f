# What all rules share: the checked study, its runs, the sources of a stage and its flags.
import os
import re
import shlex
import shutil
import signal
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
    from headroom.core.command import FULL_DISK
    from headroom.core.errors import HeadroomError
    from headroom.methods.criteria import check, criterion
    from headroom.settings.arms import format_arm
    from headroom.settings.study import load_study
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
mistakes = [line for place, task in CORPORA.items() for line in check(place, task.pruning.criteria, task.pruning.main)]
if mistakes:
    raise WorkflowError("\n".join(mistakes))

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

# What a job's log cannot tell, because it is on the full disk or because the job was killed.
LAST_WORDS = f"""trap 'case $? in
  {FULL_DISK}) echo "error: no space left on the disk: free some and run the same command again" >&2;;
  {128 + signal.SIGKILL}) echo "error: the job was killed, most likely because it ran out of memory" >&2;;
esac' EXIT
"""
# Snakemake's own prefix, which this one replaces, is the strict mode
shell.prefix(f"set -euo pipefail; export PYTHONPATH={shlex.quote(os.path.relpath(WORKFLOW))}; {LAST_WORDS}")

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
CRITERIA = "headroom.methods.criteria"


def sources(*stages, data=()):
    """Return the files whose content results depend on: the import closures of modules, and data beside them.

    Settings and tables are declarations: what they decide travels by value, in a rule's params. Arms alone do something.
    """
    stages = [name for stage in stages for name in (stage, f"{stage}.__main__") if name in _imports.modules]
    modules = {module for stage in stages for module in (stage, *_imports.find_upstream_modules(stage))}
    if CRITERIA in modules:  # it imports what it finds in its folder
        families = _imports.find_children(CRITERIA)
        modules |= {module for name in families for module in (name, *_imports.find_upstream_modules(name))}
    declared = ("headroom.settings", "headroom.core.tables")
    modules = {name for name in modules if not name.startswith(declared) or name.endswith(".settings.arms")}
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


def alone(section, task=None):
    """Return what gives the threads of a job that times things under a section of its settings, with nothing beside it.

    On this machine it takes all cores. A scheduler is asked for those that it uses: the profile asks for a whole node.
    """

    def threads(wildcards):
        settings = study.tasks[task or RUNS[wildcards.run].task]
        return WHOLE_MACHINE if workflow.local_exec else getattr(settings, section).threads

    return threads


def of_run(function, *arguments):
    """Return what Snakemake calls with a job's wildcards: the function, given the job's run."""
    return lambda wildcards: function(wildcards.run, *arguments)
