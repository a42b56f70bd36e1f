import csv
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from headroom.experiments.tables import REGISTRY
from headroom.settings.load import load_study
from headroom.settings.study import Study
from headroom.settings.tasks import TranslationSettings
from whole_project import ROOT, TINY, Finished, Project

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

    def test_no_table_is_of_another_study_or_run(self, finished: Finished) -> None:
        for table, names in FILES.items():
            for name in names:
                content = rows(finished.project.root / "results" / "tiny" / name)
                assert {row["study"] for row in content} <= {"tiny"}
                if content and "run" in REGISTRY.by_name[table].names and table not in ("claims", "numbers", "bakeoff"):
                    assert {row["run"] for row in content} == {next(run for run in RUNS if run in name)}

    def test_all_models_of_a_run_have_as_many_updates(self, finished: Finished) -> None:
        for run in DETAILED:
            names = [name for name in FILES["pruned_models"] if run in name]
            found = [row for name in names for row in rows(finished.project.root / "results" / "tiny" / name)]
            assert len({(row["updates"], row["total_updates"]) for row in found}) == 1
            learned = ("exact", "hard-concrete")
            assert {row["gate_updates"] for row in found if row["method"] in learned} == {"3"}
            assert {row["gate_updates"] for row in found if row["method"] not in learned} == {"0"}

    @pytest.mark.parametrize("name", FILES["removal"])
    def test_removing_heads_equals_masking_them(self, finished: Finished, name: str) -> None:
        checks = {row["check"]: float(row["value"]) for row in rows(finished.project.root / "results" / "tiny" / name)}
        assert checks["identical_outputs"] == 1
        assert checks["largest_logit_difference"] < 1e-5
        assert checks["parameters_sliced"] < checks["parameters_full"]

    def test_configuration_is_kept(self, finished: Finished) -> None:
        kept = json.loads((finished.project.root / "results" / "tiny" / "configuration.json").read_text())
        assert load_study(kept).used() == STUDY.used()

    def test_overhead_is_kept(self, finished: Finished) -> None:
        results = finished.project.root / "results" / "tiny"
        spent = json.loads((results / "overhead.json").read_text())
        benchmarks = list((results / "benchmarks").rglob("*.tsv"))
        assert spent["cores"] == 2
        assert spent["jobs"] == len(benchmarks)
        assert spent["wall_seconds"] <= finished.ended.seconds
        assert spent["job_seconds"] == pytest.approx(sum(seconds(path) for path in benchmarks), abs=0.1)

    def test_nothing_is_left_in_temporary_files(self, finished: Finished) -> None:
        root = finished.project.root
        hidden = [path for place in ("results", "reports") for path in (root / place).rglob(".*")]
        assert {path.name for path in hidden} <= {".snakemake_timestamp"}  # of directories that are outputs


def seconds(benchmark: Path) -> float:
    return float(benchmark.read_text().split("\n")[1].split("\t")[0])


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
