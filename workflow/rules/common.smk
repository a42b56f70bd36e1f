# Shared by all rules: the validated study and its plan, the files of the package, and functions for inputs and params.
import os
import re
import shlex
import shutil
import sys
import tempfile
import zipfile
from glob import glob
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
            commit.repo.archive(stream, commit.hexsha, path=folder, format="zip")
            with zipfile.ZipFile(stream) as archive:
                archive.extractall(copy)
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
    from headroom.core.files import identify_files
    from headroom.core.interventions import REPLACEMENTS
    from headroom.fork_server import start_server
    from headroom.missing import find_mistakes, missing_mirror
    from headroom.settings.load import load_study, read_keys
    from headroom.study import curves, gates, targets, texts, trainings
    from headroom.study.jobs import Jobs, request_memory
    from headroom.study.plan import Plan
    from headroom.study.sources import Sources
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"environment: the module '{error.name}' is missing; run `make study`, or `source .venv/bin/activate` first "
        "(other environments need snakemake, grimp and pydantic)"
    ) from None

try:
    for path in map(str, workflow.configfiles):  # of a key that is given twice, Snakemake takes the last value
        if path.endswith((".yaml", ".yml")) and os.path.isfile(path):
            read_keys(path)
    study = load_study({key: value for key, value in config.items() if key != "pathvars"})
except HeadroomError as error:
    raise WorkflowError(str(error)) from None

plan = Plan(study)
jobs = Jobs(plan, Sources(WORKFLOW))
own_environments = workflow.deployment_settings.deployment_method  # of jobs: conda, containers
# jobs on a cluster read the Snakefile, too
if mistakes := find_mistakes(plan, libraries=not own_environments, files=workflow.is_main_process):
    raise WorkflowError("\n".join(mistakes))
for remark in missing_mirror(study):
    logger.warning(remark)


onstart:
    if workflow.local_exec:  # with a rate the scheduler wakes up every second, and once more after the last job
        workflow.scheduler.job_rate_limiter = None
    if workflow.local_exec and not own_environments:
        start_server()


PREFIXED = workflow.modifier.path_modifier.replace_prefix("results") != "results"
WHOLE_MACHINE = 1024  # threads; Snakemake reduces it to the available cores
GPU = int(study.device == "cuda")


pathvars:
    study=f"<results>/{study.study}",
    shards=f"<results>/{study.study}/shards/{study.shards}",
    log=f"<logs>/{study.study}",


def any_of(names):
    """Return a pattern that matches only these names; without names, none."""
    return "|".join(re.escape(name) for name in dict.fromkeys(names)) or "(?!)"


wildcard_constraints:
    task=any_of(study.tasks),
    run=any_of(plan.runs),
    replacement=any_of(REPLACEMENTS),
    scope=r"\w+",
    way=r"(hard-concrete|controls)\.\w+",
    start=r"scratch|random\d+",
    shard=r"\d+",


def outside(paths):
    """Return paths of files that are not outputs, in a form that is independent of a module's `prefix`."""
    if callable(paths):  # of a plan and wildcards
        return lambda wildcards: outside(paths(plan, **dict(wildcards.items())))
    found = [path.replace("<package>", str(WORKFLOW)) for path in paths]
    return [os.path.abspath(path) if PREFIXED else os.path.relpath(path) for path in found]


def identified(paths):
    """Return the param that changes when other files of a user take the place of known ones, even with older dates."""
    return {"files": lambda wildcards: identify_files(outside(paths)(wildcards))}


def resolved(path):
    """Return a path with its path variables resolved."""
    return workflow.pathvars.apply(path)


# what a program reads that loads a model: records, each with the checksums of the files of its directory
TRAINED = {"model": "<study>/runs/{run}/record.json", "corpus": jobs.text}


def times_of(plan, wildcards, input, output):
    """Return the flag for what every job took that wrote a table."""
    tables = [os.path.relpath(path, resolved("<study>")) for path in input.tables]
    files = [resolved(f"<study>/benchmarks/{table.removesuffix('.csv')}.tsv") for table in tables]
    return {"benchmarks": [file for file in files if os.path.exists(file)]}


def mirror(wildcards, resources):
    """Return the flag for the mirror; files are checked, and Snakemake does not compare params that take resources."""
    return f"--mirror {shlex.quote(study.mirror)}" if study.mirror else ""


def exclusive(wildcards):
    """Return the threads of a job that measures time: all cores, or one on a cluster, whose profile reserves the node."""
    return WHOLE_MACHINE if workflow.local_exec else 1
