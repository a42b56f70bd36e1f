"""What an edit reruns: a changed key the jobs that take it, an edited file those that import it, and nothing else."""

import copy
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml
from dag import PlannedJob, list_jobs
from headroom.__main__ import job_of
from headroom.core.errors import HeadroomError
from headroom.core.files import identify_files
from headroom.missing import wrong_criteria
from headroom.models.command import OWN as OWN_SECTIONS
from headroom.settings.job import list_flags
from headroom.settings.load import load_study
from headroom.settings.study import Study
from headroom.study.plan import Plan
from headroom.study.sources import PARAMS, Sources
from headroom.study.stages import module_of
from models import write_decoder
from safetensors.torch import load_file, save_file
from study import ROOT, TINY, Finished, differing, new_project, planned, rows

pytestmark = pytest.mark.long

PLAIN = {"arms": {"baseline": {"method": "baseline"}}, "gates": {"ways": []}}
PAIRS = {name: {side: f"text/{name}.{side}" for side in ("source", "target")} for name in ("train", "valid", "test")}
TABLES = {"source": "files", "valid": "text/valid.tsv", "test": "text/test.tsv", "labels": ["bad", "good"]}
OWN: dict[str, Any] = {
    "study": "own",
    "seeds": [1],
    "tasks": {
        "translation": {
            "task": "translation",
            "corpus": {"source": "files", **PAIRS},
            "treebank": {"source": "files", "path": "text/own.conllu"},
            **PLAIN,
        },
        "reviews": {"task": "classification", "corpus": TABLES, "released": {"path": "classifier"}, **PLAIN},
        "hops": {
            "task": "classification",
            "corpus": {"source": "catalogue"},
            "encoder": {"source": "self-attentive"},
            **PLAIN,
        },
        "novels": {
            "task": "language",
            "corpus": {"source": "files", "path": "text/train.source"},
            "released": {"path": "decoder"},
            "pairs": {"path": "text/train.tsv"},
        },
        "gaps": {
            "task": "masked",
            "corpus": {"source": "files", "path": "text/train.source"},
            "released": {"path": "decoder"},
        },
    },
}
"""A study of text, trees and models of the user's own, which the tiny one has not."""

JOBS = (
    "seeds|detailed_seeds|intervention.replacement|bakeoff.criteria|training.(epochs|early_checkpoints)|pruning.scopes"
)
JOBS += "|gates.(penalties|kept_shares|random_draws|ways|from_scratch.*)|released.(earlier|removable)|treebank.source"
JOBS += "|corpus.far"
"""Keys on which it depends which jobs and which files there are."""

LEFT_OUT = {
    "scores.(examples|batch_examples)": "pruning_sites pruning_epochs pruning_compared scores_compared",
    "training.(epochs|early_checkpoints)": "training_from_scratch update_cost",
    "pruning.(criteria|normalisations|random_draws)": "pruning_sites pruning_epochs pruning_compared",
    "pruning.(step|test_examples)": "pruning_compared",
    "pruning.main": "pruning_compared gates removal",
    "gates.(penalties|random_draws)": "from_scratch gates gates_controls",
    "gates.kept_shares": "from_scratch gates",
    "gates.gate_learning_rate": "from_scratch",
    "treebank.sentences": "treebank",  # of trees that come with the text
}
"""By keys, the rules whose programs take them and whose jobs do not depend on them."""

BESIDE = {
    "(detailed_)?seeds": "agreement roles",
    "arm.*": "update_cost",
    "attention_stats.relations|corpus.seed": "treebank",
    "gates.(penalties|kept_shares|random_draws)": "attention_stats_pruned",
    "gates.ways|released.earlier": "roles agreement",
    "pruning.scopes": "pruning",
    "bakeoff.(repairs|step|examples|test_examples|random_draws)": "pruning_compared scores_compared",
    "corpus.far": "ablation evaluation",
    "released.removable": "removal",
    "pairs.path": "text",
}
"""By keys, the rules whose jobs depend on them by other flags than their own."""


@dataclass(frozen=True)
class Planned:
    """A study and its jobs, none of which is run."""

    configuration: Mapping[str, Any]
    place: Path

    @cached_property
    def study(self) -> Study:
        return load_study(self.configuration)

    @cached_property
    def jobs(self) -> dict[tuple[str, ...], PlannedJob]:
        """Every job by its rule and wildcards."""
        return {(job.rule, *job.wildcards.values()): job for job in list_jobs(self.configuration, self.place)}

    def task_of(self, job: PlannedJob) -> str:
        """Return the task of a job; "" for none."""
        if job.rule == "update_cost":
            return Plan(self.study).timed_task
        return self.study.runs()[job.run].task if job.run else job.wildcards.get("task", "")

    def kind_of(self, task: str | None) -> str:
        return self.study.tasks[task].task if task else ""


def title(job: tuple[str, ...]) -> str:
    """Return the rule of a job; the curves of single sites are by the main order alone."""
    return f"{job[0]}_sites" if "sites" in job else job[0]


def taken(planned: Planned) -> dict[tuple[str, ...], set[tuple[str, str]]]:
    """Return the tasks and keys that the programs of every job take, by their command lines."""
    read: dict[tuple[str, str], list[str]] = {}
    found = {}
    for name, job in planned.jobs.items():
        call = job.rule, planned.task_of(job)
        if call not in read:
            read[call] = keys_of(job)
        found[name] = {(call[-1], key) for key in read[call]}
    return found


SECTIONS = {
    **dict.fromkeys(("parallel", "labelled", "documents"), "corpus"),
    **{"trees": "treebank", "fairseq": "released", "scoring": "scores"},
}
"""By field of a job, the section of the configuration that it is, if that has another name."""


def keys_of(job: PlannedJob) -> list[str]:
    """Return the keys of the configuration that a program takes: those of the sections of its job."""
    kind = job_of(importlib.import_module(module_of(job.stage)))
    engine = job.decided.get("engine", "none")
    told = {name for name in kind.model_fields if name in job.decided or engine in OWN_SECTIONS.get(name, ())}
    named = (name.partition(".") for name, _ in list_flags(kind) if "." in name)
    return [f"{SECTIONS.get(name, name)}.{key}" for name, _, key in named if name in told]


def changes(section: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Yield every key of a configuration with other values that may be right."""
    for key, value in section.items():
        place = (*above, key)
        if isinstance(value, dict):
            yield from changes(value, place)
        elif isinstance(value, bool):
            yield place, [not value]
        elif isinstance(value, int | float):
            yield place, [value + 1, value - 1, value / 2, value * 2, 0.25]
        elif isinstance(value, list):
            yield place, [value[:-1], *([*value, other] for other in (0.25, 2, *words()) if other not in value)]
        else:
            yield place, [1, 2, 0.25, *words()]


@cache
def words() -> list[str]:
    """Return all values that keys of the configuration are chosen from, and a word that is none."""
    schema = json.dumps(Study.model_json_schema())
    found = [json.loads(f"[{one}]") for one in re.findall(r'"enum": \[(.*?)\]', schema)]
    consts = re.findall(r'"const": "(.*?)"', schema)
    return list(dict.fromkeys([*consts, *(str(word) for one in found for word in one), "word"]))


def other_study(study: Planned, place: tuple[str, ...], values: list[Any]) -> Planned | None:
    """Return the study with the first other value of a key that is right, if any is."""
    used = study.study.used()
    for value in values:
        changed = copy.deepcopy(dict(study.configuration))
        section: Any = changed
        for key in place[:-1]:
            section = section[key]
        section[place[-1]] = value
        try:
            other = Planned(changed, study.place)
            if other.study.used() != used and not wrong_criteria(Plan(other.study)):
                return other
        except HeadroomError:
            continue
    return None


def known_as(place: tuple[str, ...]) -> tuple[str | None, str]:
    """Return the task of a key and the name by which programs take it."""
    if place[0] != "tasks":
        return None, ".".join(place)
    _, task, *rest = place
    if rest[0] == "arms":
        return task, f"arm.{rest[2]}"
    return task, ".".join(rest[-2:] if "retraining" in rest else rest[:2])


def rules_for(table: Mapping[str, str], key: str) -> set[str]:
    """Return the rules that a table has for a key."""
    return {rule for pattern, rules in table.items() if re.fullmatch(pattern, key) for rule in rules.split()}


TINY_STUDY: dict[str, Any] = yaml.safe_load((ROOT / TINY).read_text())


def other_keys(study: Planned) -> set[tuple[str, str]]:
    """Return the keys of a study by the kind of their task."""
    named = (known_as(place) for place, _ in changes(study.configuration))
    return {(study.kind_of(task), key) for task, key in named}


@pytest.mark.parametrize("written", [TINY_STUDY, OWN], ids=lambda written: written["study"])
def test_a_changed_key_changes_the_jobs_whose_programs_take_it(written: dict[str, Any], tmp_path: Path) -> None:
    study, tiny = (Planned(json.loads(load_study(one).used()), tmp_path) for one in (written, TINY_STUDY))
    known = set() if written is TINY_STUDY else other_keys(tiny)
    before, takes = study.jobs, taken(study)
    wrong: list[object] = []
    tried = 0
    for place, values in changes(study.configuration):
        task, key = known_as(place)
        if place[0] in ("study", "device", "gpus") or (study.kind_of(task), key) in known:
            continue
        if (other := other_study(study, place, values)) is None:
            continue
        tried += 1
        arm = f".{place[3]}." if key.startswith("arm.") else ""
        taking = {
            job for job, own in takes.items() if arm in str(job) and any(k == key and task in (None, t) for t, k in own)
        }
        after = other.jobs
        both = before.keys() & after.keys()
        changed = {
            job for job in both if before[job].decided != after[job].decided or before[job].code != after[job].code
        }
        found = {
            "too much": {title(job) for job in changed - taking} - rules_for(BESIDE, key),
            "too little": {title(job) for job in (taking & both) - changed} - rules_for(LEFT_OUT, key),
        }
        if not re.fullmatch(JOBS, key):
            moved = {job for job in both if after[job].files != before[job].files}
            found |= {
                "other jobs": {job[0] for job in before.keys() ^ after.keys()},
                "other files": {job[0] for job in moved - changed},
                "told, not compared": {job[0] for job in both - changed if after[job].told != before[job].told},
            }
        wrong += [(".".join(place), what, rules) for what, rules in found.items() if rules]
    assert tried > 40
    assert not wrong, "\n".join(map(str, wrong))


LOADING = """
import importlib, json, os, sys
from typing import get_type_hints
import fairseq, transformers  # what takes long to import and is not of the package

for line in sys.stdin:
    name, module, words = json.loads(line)
    if not os.fork():
        program = importlib.import_module(module)
        program.run(get_type_hints(program.run)["job"].read(words))
        loaded = [str(module.__file__) for key, module in sys.modules.items() if key.startswith("headroom.")]
        with open(f"{name}.loaded", "w") as stream:
            json.dump(loaded, stream)
        os._exit(0)
    if os.wait()[1]:
        sys.exit(f"{name} fails")
"""
"""A program that runs jobs, each in a process of its own, and writes which modules they load."""


def test_what_a_running_stage_loads_is_in_its_import_closure(finished: Finished, tmp_path: Path) -> None:
    root = finished.project.copy(tmp_path / "project").root
    study, sources, lines = Planned(TINY_STUDY, tmp_path), Sources(root / "workflow"), {}
    known: dict[str, set[str]] = {}
    for job in study.jobs.values():  # of every rule, one for each kind of task
        name = f"{job.rule}-{study.kind_of(study.task_of(job))}"
        if name not in lines:
            module, *others, engine = json.loads(job.code)
            known[name] = {*sources.of_stage(module, *others, engine=engine)}
            lines[name] = json.dumps([name, module, [json.dumps(job.told)]])
    inside = {**os.environ, "PYTHONPATH": str(root / "workflow")}
    command = [sys.executable, "-c", LOADING]
    ended = subprocess.run(
        command, input="\n".join(lines.values()), text=True, cwd=root, env=inside, capture_output=True
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    wrong = {}
    for name, closure in known.items():
        loaded = json.loads((root / f"{name}.loaded").read_text())
        modules = {file: ".".join(Path(file).relative_to(root / "workflow").with_suffix("").parts) for file in loaded}
        counted = {file for file, one in modules.items() if not re.fullmatch(PARAMS, one.removesuffix(".__init__"))}
        wrong |= {name: counted - closure} if counted - closure else {}
    assert not wrong, wrong


COPIED = ("results", ".snakemake", "work", "logs", "reports")
DECIDED = {"claims": 1, "report": 1}


def test_an_edited_value_reruns_what_takes_it_whatever_the_dates_of_files(finished: Finished, tmp_path: Path) -> None:
    clone = new_project(tmp_path / "clone")
    for name in COPIED:
        place = clone.root / name
        shutil.copytree(
            finished.project.root / name, place, copy_function=shutil.copy, symlinks=True, dirs_exist_ok=True
        )
    for path in clone.root.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            os.utime(path)
    ended = clone.snakemake(study=clone.configure({"tasks.translation.evaluation.beam": 6}))
    assert planned(ended) == {"evaluation": 4, "configuration": 1, **DECIDED}
    assert "6" in (clone.root / "results" / "tiny" / "configuration.json").read_text()


def test_an_edited_file_reruns_what_imports_it(finished: Finished, tmp_path: Path) -> None:
    study = finished.project.copy(tmp_path / "project")
    stage = study.root / "workflow/headroom/experiments/agreement/stage.py"
    stage.write_text(stage.read_text() + "\n# edited\n")
    assert planned(study.snakemake()) == {"agreement": 4, **DECIDED}
    assert differing(*(place.root / "results" / "tiny" for place in (study, finished.project))) == []


def test_another_model_of_the_same_name_is_imported_whatever_its_dates(tmp_path: Path) -> None:
    """Two checkpoints that were written before the study: moved, copied with their times, or linked."""
    project = new_project(tmp_path / "project")
    for number in (100, 200):
        weights = write_decoder(project.root / f"run/{number}") / "model.safetensors"
        save_file({name: one * number for name, one in load_file(weights).items()}, weights, {"format": "pt"})
        for path in weights.parent.iterdir():
            os.utime(path, (1e9, 1e9))
    (project.root / "text.txt").write_text("one two three\n" * 9)
    task = {"task": "language", "released": {"path": "mine"}, "corpus": {"source": "files", "path": "text.txt"}}
    study = project.write_study({"study": "own", "seeds": [1], "tasks": {"language": task}}, {})

    def imports(*arguments: str) -> int:
        return planned(project.snakemake("--until", "released", *arguments, study=study)).get("released", 0)

    mine, keep = project.root / "mine", tmp_path / "keep"
    shutil.move(project.root / "run/100", mine)
    assert imports("--quiet", "host") == 1
    card = (project.root / "results/own/runs/language.baseline.seed1/epoch1/README.md").read_text()
    assert f"Imported from model.safetensors: {(mine / 'model.safetensors').stat().st_size} bytes, SHA-256" in card
    shutil.copytree(mine, keep)
    shutil.rmtree(mine)
    shutil.copytree(keep, mine)  # the same content, with other times and inodes
    assert imports("-n") == 0
    for place in (shutil.copytree, os.symlink, shutil.move):
        shutil.rmtree(mine) if mine.is_dir() and not mine.is_symlink() else mine.unlink()
        place(project.root / "run/200", mine)
        assert imports("-n") == 1


def test_large_files_are_told_apart_by_their_dates_and_inodes(tmp_path: Path) -> None:
    one, other, link = tmp_path / "one/weights", tmp_path / "other/weights", tmp_path / "link"
    for number, path in enumerate((one, other)):
        path.parent.mkdir()
        path.write_bytes(bytes(2**20) + bytes([number]))
        os.utime(path, (1e9, 1e9))
    link.symlink_to(one.parent)
    known = identify_files([one])
    assert identify_files([link / "weights", tmp_path / "missing"]) == known != identify_files([other])
    other.rename(one)
    assert identify_files([one]) != known


SWEEPS = {
    "translation.baseline.seed1": ("keep_one/{run}.zero", "pruning/{run}.all.zero", "pruning/{run}.sites.zero"),
    "entailment.baseline.seed1": ("ablation/{run}.zero", "ablation_halves/{run}.zero", "pruning_epochs/{run}"),
}
"""Every rule that can be cut, in one of the tasks; tests/stages/test_shards.py has every stage in both."""


def test_sweeps_in_shards_give_the_same_tables(finished: Finished, tmp_path: Path) -> None:
    study = finished.project.copy(tmp_path / "project")
    tables = [f"results/tiny/{table.format(run=run)}.csv" for run, names in SWEEPS.items() for table in names]
    ended = study.snakemake(*tables, "--config", "shards=2")
    assert ended.status == 0, ended.output
    assert ended.output.count("_shard:") >= 4 * 2
    for table in tables:
        assert rows(study.root / table) == rows(finished.project.root / table), table
