import csv
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from headroom.experiments.tables import REGISTRY
from headroom.settings.load import load_study
from headroom.settings.study import Study
from headroom.settings.tasks import TranslationSettings
from study import ROOT, TINY, Finished, Project

STUDY: Study = load_study(yaml.safe_load((ROOT / TINY).read_text()))
RUNS, DETAILED = list(STUDY.runs()), STUDY.detailed_runs()
TRANSLATED = [run for run in RUNS if run.startswith("translation.")]
TASK = STUDY.tasks["translation"]
assert isinstance(TASK, TranslationSettings)
SCOPES = {run: TASK.pruning.scopes if run in TRANSLATED else ("all",) for run in DETAILED}
WAYS = {run: STUDY.tasks[STUDY.runs()[run].task].gates.ways for run in DETAILED}
REPLACED = [(run, kind) for run in DETAILED for kind in STUDY.tasks[STUDY.runs()[run].task].intervention.replacement]
FROM_SCRATCH = TASK.gates.from_scratch
STARTS = ("scratch", "random1")
FAMILIES = ("activation", "loss_ablation")
COMPARED = ("output-norm", "loss-ablation", "random", "top-first", "bottom-first", "reverse")
# The files of every table, below results/tiny.
FILES = {
    **{name: [f"{name}/{run}.csv" for run in RUNS] for name in REGISTRY.by_name},
    **{
        name: [f"{name}/{run}.csv" for run in DETAILED]
        for name in (*("agreement", "parameters", "removal", "timing", "timing_samples", "rank_correlation"),)
    },
    "gates": [f"gates/{run}.{way}.csv" for run in DETAILED for way in WAYS[run]],
    "pruned_models": [
        *(f"pruned_models/{run}.{way}.csv" for run in DETAILED for way in (*WAYS[run], "controls.all")),
        *(f"pruned_models/{run}.controls.E.csv" for run in DETAILED if run in TRANSLATED),
        *(
            f"pruned_models/{run}.{start}-{value:g}.csv"
            for run in DETAILED
            if run in TRANSLATED
            for value in FROM_SCRATCH
            for start in STARTS
        ),
    ],
    "pruning": [
        f"pruning/{run}.{scope}.{kind}.csv"
        for run, kind in REPLACED
        for scope in (*SCOPES[run], *(["sites"] if kind == "zero" else []))
    ],
    **{
        name: [f"{name}/entailment.baseline.seed{seed}.{family}.csv" for seed in (1, 2) for family in FAMILIES]
        for name in ("scores_compared", "scores_costs")
    },
    "pruning_compared": [
        f"pruning_compared/entailment.baseline.seed{seed}.{order}.csv" for seed in (1, 2) for order in COMPARED
    ],
    "bakeoff": ["bakeoff/entailment.csv"],
    "bakeoff_retraining": [f"bakeoff_retraining/entailment.baseline.seed{seed}.csv" for seed in (1, 2)],
    **{
        name: [f"{name}/{run}.{kind}.csv" for run, kind in REPLACED]
        for name in ("ablation", "ablation_halves", "keep_one")
    },
    "phenomena": [f"phenomena/translation.baseline.seed{seed}.csv" for seed in (1, 2)],
    "minimal_pairs": [],  # of language models
    "update_cost": ["update_cost.csv"],
    "claims": ["claims.csv"],
    "numbers": ["numbers.csv"],
}

# Cells that may be empty. The values among them are undefined where a model scores nothing, as tiny ones do.
RIGHT_OR_WRONG = {"p_mcnemar", "p_unpaired"}
MAY_BE_EMPTY = {
    "ablation": RIGHT_OR_WRONG,
    "keep_one": {*RIGHT_OR_WRONG, "chosen_on"},
    "pruning_compared": {*RIGHT_OR_WRONG, "normalised", "removed", "calibration_error"},
    "bakeoff_retraining": {"criterion", "removed"},
    "bakeoff": {"run", "set", "metric", "value", "low", "high", "p"},
    "agreement": {"k", "value", "low", "high"},
    "pruning": {*RIGHT_OR_WRONG, "normalised", "removed", "calibration_error"},
    "pruning_epochs": {*RIGHT_OR_WRONG, "removed", "calibration_error"},
    "settling": {"k"},
    "attention_stats": {"kind", "layer", "head", "target", "trees", "baseline", "low", "high"},
    "roles": {"trees", "baseline", "low", "high"},
    "timing": {"cache_bytes"},  # of models of transformers that generate
    "phenomena": {"random", "beyond", "beyond_low", "beyond_high", "p"},
    "relevance": {"kind", "layer", "head", "low", "high"},
    "pruned_models": {"undecided", "removed"},
    "rank_correlation": {"value", "low", "high", "ceiling"},
    "claims": {
        *("task", "part", "value", "low", "high", "unit", "number", "side", "threshold", "refuted", "barrier"),
        *("these_low", "these_high", "spread", "votes", "ground", "trainings", "needed", "signature"),
    },
    "numbers": {
        *("part", "value", "low", "high", "these_low", "these_high", "least", "most"),
        *("side", "threshold", "refuted", "words"),
    },
}


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


class TestOneRun:
    def test_ends_well_and_says_where_the_report_is(self, finished: Finished) -> None:
        assert "Traceback" not in finished.ended.output
        assert "the report: reports/tiny.html" in finished.ended.output

    @pytest.mark.parametrize("table", REGISTRY.by_name)
    def test_tables_are_complete(self, finished: Finished, table: str) -> None:
        for name in FILES[table]:
            content = rows(finished.project.root / "results" / "tiny" / name)
            assert content or table == "roles"  # tiny models: no head need hold one
            for column in set(REGISTRY.by_name[table].names) - MAY_BE_EMPTY.get(table, set()):
                assert all(row[column] for row in content), f"{name}: {column} is empty"
            assert not [row for row in content if {"nan", "inf", "-inf"} & {value.lower() for value in row.values()}]

    @pytest.mark.parametrize("name", FILES["removal"])
    def test_removing_heads_equals_masking_them(self, finished: Finished, name: str) -> None:
        checks = {row["check"]: float(row["value"]) for row in rows(finished.project.root / "results" / "tiny" / name)}
        assert checks["identical_outputs"] == 1
        assert checks["largest_logit_difference"] < 1e-5
        assert checks["parameters_sliced"] < checks["parameters_full"]


class TestAfterwards:
    def test_snakemakes_own_report_needs_no_network(self, study: Project) -> None:
        ended = study.run(*without_network(), "snakemake", "--report", "own.html", "--configfile", TINY)
        assert ended.status == 0, ended.output
        assert '"tiny.html"' in (study.root / "own.html").read_text()


def without_network() -> list[str]:
    """Return the command that takes the network away, where this machine has one that works."""
    command = ["unshare", "--net"]
    there = shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True).returncode == 0
    return command if there else []
