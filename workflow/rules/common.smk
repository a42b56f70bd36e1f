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
    from headroom.report.rules import RULES as DECISIONS, list_resamples, list_tables
    from headroom.experiments.listed import list_experiments
    from headroom.fork_server import start_server
    from headroom.missing import find_mistakes, missing_mirror
    from headroom.preparation.rules import RULES as PREPARATION
    from headroom.settings.load import load_study, read_keys
    from headroom.study.jobs import forms_of
    from headroom.study.plan import Plan
    from headroom.study.sources import Sources
    from headroom.study.stages import fill, is_directory
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

plan, sources = Plan(study), Sources(WORKFLOW)
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
RESULTS, LOGS = plan.results, f"<logs>/{study.study}"
BENCHMARKS = f"{RESULTS}/benchmarks"
WHOLE_MACHINE = 1024  # threads; Snakemake reduces it to the available cores
EXPERIMENTS = [rule for experiment in list_experiments() for rule in experiment.rules]


def any_of(names):
    """Return a pattern that matches only these names."""
    return "|".join(re.escape(name) for name in dict.fromkeys(names))


def outside(paths):
    """Return paths of files that are not outputs, in a form that is independent of a module's `prefix`."""
    package = str(WORKFLOW)
    found = (path.replace("<package>", package) for path in paths)
    found = [
        one for path in found for one in (sorted(glob(path)) if path.startswith(package) and "*" in path else [path])
    ]
    return [os.path.abspath(path) if PREFIXED else os.path.relpath(path) for path in found]
