# Shared by all rules: the validated study and its plan, the files of the package, and functions for inputs and params.
import os
import re
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.sourcecache import HostingProviderFile, LocalSourceFile


def unpacked(place):
    """Return a copy of a hosted workflow/: Snakemake fetches single rule files, but jobs need the whole package."""
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
    raise WorkflowError(
        "snakefile: headroom's package is missing; give the workflow/Snakefile of a clone, or github(...)"
    )
if workflow.modifier.path_modifier.modifies_prefixes:
    raise WorkflowError(
        "module: `replace_prefix` does not change the paths of headroom's input functions; "
        'use `prefix: "..."` or `pathvars: results="...", logs="...", reports="..."`'
    )
WORKFLOW = (Path(here.path).parent if here.is_local else unpacked(here)).resolve()
sys.path.insert(0, str(WORKFLOW))
# jobs run `python -m headroom` in every environment; by default Snakemake removes the path in conda environments
searched = filter(None, [os.path.relpath(WORKFLOW), os.environ.get("PYTHONPATH")])
os.environ.update(PYTHONPATH=os.pathsep.join(searched))
workflow.deployment_settings.conda_not_block_search_path_envvars = True

try:
    from headroom.core.errors import HeadroomError
    from headroom.data.providers import module_of
    from headroom.job_settings import JobSettings, as_json, columns
    from headroom.methods.criteria import family_names
    from headroom.missing import missing_files, missing_mirror, wrong_criteria
    from headroom.plan import CATALOGUES, CLASSIFIER, Plan, local_files, own_files
    from headroom.settings.base import SPLITS
    from headroom.settings.study import load_study
    from headroom.sources import Sources
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"environment: the module '{error.name}' is missing; run `make study`, or `source .venv/bin/activate` first "
        "(other environments need snakemake, grimp and pydantic)"
    ) from None

try:
    study = load_study({key: value for key, value in config.items() if key != "pathvars"})
except HeadroomError as error:
    raise WorkflowError(str(error)) from None

plan, sources = Plan(study), Sources(WORKFLOW)
job_settings = JobSettings(plan)
if mistakes := [*missing_files(study), *wrong_criteria(plan)]:
    raise WorkflowError("\n".join(mistakes))
for remark in missing_mirror(study):
    logger.warning(remark)

translation, classification = study.translation, study.classification
PREFIXED = workflow.modifier.path_modifier.replace_prefix("results") != "results"
RESULTS = plan.results
LOGS = f"<logs>/{study.study}"
BENCHMARKS = f"{RESULTS}/benchmarks"
GPU = int(study.device == "cuda")
TRAINING_GPUS = GPU * study.gpus
TRAINING_DEVICE = study.device if study.gpus == 1 else f"{study.device} --processes {study.gpus}"
WHOLE_MACHINE = 1024  # threads; Snakemake reduces it to the available cores
WAY = "[a-z-]+[.](all|E)"
START = "scratch|rewound-init|rewound-epoch1|random[0-9]+"


def any_of(names):
    """Return a pattern that matches only these names; it matches nothing if there are none."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


wildcard_constraints:
    run=any_of(plan.runs),
    task=any_of(study.tasks),
    shard="[0-9]+",
    end="[0-9]+",
    scope="all|E|A|D",
    replacement="mean|resample",


def of_run(function, *arguments):
    """Return a function of wildcards that calls `function` with the job's run."""
    return lambda wildcards: function(wildcards.run, *arguments)


def outside(paths):
    """Return paths of files that are not outputs, in a form that is independent of a module's `prefix`."""
    return [os.path.abspath(path) if PREFIXED else os.path.relpath(path) for path in paths]


def code(stage, *others):
    """Return the files of the package that a stage's results depend on; `others` are modules that it imports by name."""
    return outside(sources.of_stage(stage, *others))


def provided_by(kind, settings):
    """Return the files of the package that text or trees from a source depend on."""
    catalogue = [WORKFLOW / CATALOGUES[kind]] if settings.source == "catalogue" else []
    return code("acquire", module_of(kind, settings.source)) + outside(catalogue)


def environment_of(settings):
    """Return the environment of a source of text: the Hub's library is in the one with torch."""
    return f"../../envs/{'torch' if settings.source == 'hub' else 'plain'}.yaml"


def tree_files(wildcards):
    """Return the source files of trees: generated translation text comes with trees."""
    own = outside(own_files(study.tasks[wildcards.task].treebank))
    return own or plan.trees_beside_text(wildcards.task)


def model_files(stage, *sets, epochs=plan.checkpoint):
    """Return the input function of a job that loads a run's model: data, checkpoint and code.

    Args:
        stage: The stage.
        sets: The sets that it reads, or functions from the run to sets.
        epochs: From the run to the files of its checkpoints; None for no checkpoint.
    """

    def files(wildcards):
        run = wildcards.run
        names = [name for part in sets for name in (part(run) if callable(part) else [part])]
        models = {"checkpoint": epochs(run)} if epochs else {}
        stage_code = outside(sources.of_stage(stage, engine=plan.engine(run)))
        return {**plan.data(run, *names), **models, "code": stage_code}

    return files


def places_of(checkpoints):
    """Return checkpoints in the form for stages, a file or a directory each."""
    return list(dict.fromkeys(file if file.endswith(".pt") else os.path.dirname(file) for file in checkpoints))


def model(wildcards, input):
    """Return the flags for a run, its model and its data."""
    return f"--checkpoint {places_of(input.checkpoint)[-1]} {run_flags(wildcards, input)}"


def models(wildcards, input):
    """Return the flags for a run, its models of several epochs and its data."""
    return f"--checkpoints {' '.join(places_of(input.checkpoint))} {run_flags(wildcards, input)}"


def pruned_model(wildcards, input):
    """Return the flags for a run, one of its pruned models, and its data."""
    place = plan.pruned_checkpoint(input.models, wildcards.run, wildcards.strength)
    return f"--checkpoint {place} {run_flags(wildcards, input)}"


def run_flags(wildcards, input):
    """Return the flags for a run and its data."""
    task = os.path.dirname(os.path.dirname([*input.corpus, *input.vocabulary][0]))
    vocabulary = f" --vocabulary {task}/binarised" if input.vocabulary else ""
    named = f"--study {study.study} --run {wildcards.run} --engine {plan.engine(wildcards.run)}"
    return f"{named} --corpus {task}/corpus{vocabulary} --device {study.device}"


def flag(name, files):
    """Return a param function for a flag with the job's input files of a name; empty if there are none."""
    return lambda wildcards, input: f"{name} {input[files]}" if input[files] else ""


def order_flags(wildcards, input):
    """Return the flags for the tables, other than scores, of criteria with orders."""
    found = {name: input.get(name) for name in plan.order_tables(wildcards.run)}
    return " ".join(f"--{name.replace('_', '-')} {paths}" for name, paths in found.items() if paths)


def directory_of(name):
    """Return a param function for the directory of the job's input files of a name."""
    return lambda wildcards, input: os.path.dirname(input[name][0])


def made_directory(name):
    """Return a param function for the directory of the job's output files of a name."""
    return lambda wildcards, output: os.path.dirname(output[name][0])


def work(name):
    """Return a param function for the directory of a training's resumable state, next to the results.

    It is not an output: Snakemake deletes the outputs of failed jobs, and training would restart.
    """

    def directory(wildcards, output):
        place = output.table  # <results>/<study>/training/...
        for _ in range(4):
            place = os.path.dirname(place)
        return os.path.join(place, "work", study.study, name.format(**wildcards))

    return directory


def ends(epochs):
    """Return the shares of the first epoch, if any, and the last epoch, as part of a rule's name."""
    return "_".join(f"{epoch:g}" for epoch in epochs if epoch < 1 or epoch == epochs[-1]).replace(".", "_")


def arm_of(wildcards):
    """Return the name of a run's arm."""
    return plan.runs[wildcards.run].arm


def earlier_job(wildcards):
    """Return the dependency of a training job: the table of the previous job; empty for the first one."""
    return plan.earlier_job(wildcards.run, wildcards.get("end"))


def checkpoints_or_until(wildcards, output):
    """Return the flag for the directory of checkpoints, or for the last epoch of a job without checkpoints."""
    if "end" in wildcards.keys():
        return f"--until {wildcards.end}"
    return f"--checkpoints {os.path.dirname(places_of(output.checkpoints)[0])}"


def seed_of_start(wildcards):
    """Return the seed of a layout that is trained from the start."""
    return plan.seed_of_start(wildcards.run, wildcards.start)


def layout_and_checkpoint(wildcards, input, output):
    """Return the flags for the removed heads, the initial weights and the output of a layout's training."""
    rewound = [f"--rewound {place}" for place in input.rewound]
    flags = [f"--profile {input.models}/{wildcards.strength}/profile.txt", random_draw(wildcards), *rewound]
    return " ".join(filter(None, [*flags, "--last-only", checkpoints_or_until(wildcards, output)]))


def random_draw(wildcards):
    """Return the flag for the number of a random layout; empty for a learned one."""
    draw = wildcards.start.removeprefix("random")
    return "" if draw == wildcards.start else f"--random-draw {draw}"


def start_flags(wildcards):
    """Return the flags for the initial weights of a layout."""
    random = random_draw(wildcards)
    return f"--start scratch {random}" if random else f"--start {wildcards.start}"


def merged(wildcards, input, output):
    """Return the flags of the job that writes the table of a sweep, from its shards if there are any."""
    return " ".join([f"--output {output[0]}", *(["--merge", *input.shards] if study.shards > 1 else [])])


def shard_flags(wildcards, output):
    """Return the flags of a job that evaluates a shard."""
    return f"--output {output[0]} --shard {wildcards.shard}/{study.shards}"


def merged_replaced(wildcards, input, output):
    """Return the flags of the job that writes the table of a sweep with another replacement than zero."""
    return f"{merged(wildcards, input, output)} --replacement {wildcards.replacement}"


def shard_flags_replaced(wildcards, output):
    """Return the flags of a job that evaluates a shard of such a sweep."""
    return f"{shard_flags(wildcards, output)} --replacement {wildcards.replacement}"


def memory(megabytes):
    """Return a resource function for a job's memory; each retry adds the base memory."""
    return lambda wildcards, attempt: megabytes * attempt


def exclusive_threads(wildcards):
    """Return the threads of a job that measures time: all cores, or one on a cluster, whose profile reserves the node."""
    return WHOLE_MACHINE if workflow.local_exec else 1


def mirror_flag(wildcards, resources):
    """Return the flag for the mirror, if there is one.

    Files are identified by checksums: another mirror reruns nothing, because Snakemake does not compare params that
    depend on `resources`.
    """
    return f"--mirror {study.mirror}" if study.mirror else ""
