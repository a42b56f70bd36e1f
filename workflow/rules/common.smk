# What all rules share. The checked study, its runs, the sources of a stage and its flags.
import os
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

WORKFLOW = Path(str(workflow.current_basedir)).resolve().parent
sys.path.insert(0, str(WORKFLOW))

try:
    import grimp
    from headroom.ground.errors import HeadroomError
    from headroom.settings.repulsion import format_arm
    from headroom.study import load_study
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"the module '{error.name}' is missing: run `make study`, or `source .venv/bin/activate` first"
    ) from None

try:
    study = load_study(config)
except HeadroomError as error:
    raise WorkflowError(str(error)) from None

if study.corpus.source == "files":
    for key, path in study.corpus.paths.items():
        if not os.path.isfile(path):
            raise WorkflowError(f"configuration, key corpus.{key}: there is no file {path} in {os.getcwd()}")

shell.prefix(f"export PYTHONPATH={shlex.quote(os.path.relpath(WORKFLOW))}; ")

RUNS = study.runs()
DETAILED = study.detailed_runs()
EPOCHS = range(1, study.training.epochs + 1)
RESULTS = f"results/{study.study}"
LOGS = f"logs/{study.study}"
BENCHMARKS = f"{RESULTS}/benchmarks"
SETS = ("train", "choose", "check", "test", *study.corpus.far_names)
FAR_SETS = study.corpus.far_names if study.experiments.far_sets is None else study.experiments.far_sets
GPU = int(study.device == "cuda")
WHOLE_MACHINE = 1024  # threads; Snakemake lowers it to the cores there are

# template, style and script of the page; the captions (.rst) are Snakemake's own
REPORT_FILES = sorted(path.name for path in (WORKFLOW / "report").glob("page.*") if path.suffix != ".rst")

TEXTS = [f"{RESULTS}/corpus/{name}.{side}" for name in SETS for side in ("source", "target")]
VOCABULARY = [f"{RESULTS}/binarised/{name}" for name in ("sentencepiece.model", "dict.source.txt", "dict.target.txt")]
BINARISED = [
    f"{RESULTS}/binarised/{split}.source-target.{side}.{kind}"
    for split in ("train", "valid")
    for side in ("source", "target")
    for kind in ("bin", "idx")
]


wildcard_constraints:
    run="|".join(name.replace(".", r"\.") for name in RUNS),
    scope="all|E|A|D",


_imports = grimp.build_graph("headroom", cache_dir=None)


def sources(stage, *data):
    """Return the files whose content a stage's results depend on: its import closure, and data beside it."""
    modules = {stage, *_imports.find_upstream_modules(stage)}
    if f"{stage}.__main__" in _imports.modules:
        modules |= {f"{stage}.__main__", *_imports.find_upstream_modules(f"{stage}.__main__")}
    packages = {name.rpartition(".")[0] for name in modules if "." in name}
    paths = {_module_file(name) for name in modules | packages} | {WORKFLOW / name for name in data}
    return sorted(os.path.relpath(path) for path in paths)


def _module_file(name):
    path = WORKFLOW / Path(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def flags(settings, leave_out=()):
    """Return settings as flags of a stage, `--learning-rate 0.005 ...`, in a fixed order."""
    words = []
    for name, value in settings.model_dump(mode="json").items():
        if value is None or name in leave_out:
            continue
        values = value if isinstance(value, list) else [value]
        words += [f"--{name.replace('_', '-')}", *(shlex.quote(_word(item)) for item in values)]
    return " ".join(words)


def arm_words(name):
    """Return an arm as `--arm svgd method=svgd alpha=0.01 ...`."""
    return " ".join(["--arm", *format_arm(name, study.arms[name])])


def _word(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def texts(*sets):
    """Return the text files of evaluation sets."""
    return [f"{RESULTS}/corpus/{name}.{side}" for name in sets for side in ("source", "target")]


def directory_of(name):
    """Return what gives a job the directory of its input files of this name."""
    return lambda wildcards, input: os.path.dirname(input[name][0])


def checkpoints(run):
    """Return the checkpoints of a run, one per epoch."""
    return [f"{RESULTS}/runs/{run}/epoch{epoch}.pt" for epoch in EPOCHS]


def last_checkpoint(run):
    """Return the checkpoint of a run's last epoch."""
    return checkpoints(run)[-1]


def tables(name, runs):
    """Return one table per run."""
    return [f"{RESULTS}/{name}/{run}.csv" for run in runs]
