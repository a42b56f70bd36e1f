"""The estimate of what a study takes: its jobs are the plan's, its times those of this machine."""

import csv
import re
from pathlib import Path

import pytest
import yaml
from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.cost.__main__ import calibrated, estimate, main, wall
from headroom.cost.machine import by_change
from headroom.cost.sizes import Sizes, sizes_of
from headroom.cost.work import FORMS, TYPICAL, Job, jobs_of
from headroom.data.providers.generated import generate_sets
from headroom.plan import Plan
from headroom.settings.parallel import GeneratedCorpus
from headroom.settings.study import load_study, read_study

ROOT = Path(__file__).parents[2]
TINY = ROOT / "tests/workflow/tiny.yaml"
SITES = {f"{kind}{layer}": 8 for kind in "EAD" for layer in (1, 2, 3)}


def planned(**sections):
    return Plan(load_study({"study": "s", "seeds": [1], **sections}))


def jobs(plan):
    sizes = {task: sizes_of(plan.study, task, Path("none")) for task in plan.study.tasks}
    return jobs_of(plan, sizes, dict.fromkeys(plan.study.tasks, SITES))


@pytest.mark.parametrize("path", ["config.yaml", "studies/multi30k.yaml", "tests/workflow/tiny.yaml"])
def test_every_job_with_a_benchmark_in_the_plan_is_estimated(path):
    plan = Plan(read_study(str(ROOT / path)))
    wanted = {name.partition("/benchmarks/")[2].removesuffix(".tsv") for name in plan.benchmarks()}
    found = [job.name for job in jobs(plan)]
    of_text = {name for name in found if name.startswith(tuple(f"{task}/" for task in plan.study.tasks))}
    assert set(found) - of_text - {"report"} == wanted
    assert len(found) == len(set(found))


def test_the_work_of_a_sweep_is_heads_times_examples():
    plan = planned(translation={"ablation": {"examples": 100}})
    job = next(job for job in jobs(plan) if job.stage == "ablation")
    assert job.units["full"] == 3 * 100  # choose, test and the far domain
    assert job.units["same"] + job.units["changed"] == pytest.approx(72 * 300)


def test_the_work_of_phenomena_is_forms_times_removals():
    stats, sizes = {"relations": ["nsubj", "obj"]}, {"examples": 100, "random_draws": 3}
    plan = planned(translation={"attention_stats": stats, "phenomena": sizes})
    (job,) = (job for job in jobs(plan) if job.stage == "phenomena")
    removals = 2 + 2 * (1 + 3)  # none, the encoder, and by relation its heads and the draws
    assert job.units["form"] == pytest.approx(removals * FORMS * 100)


def test_the_forms_of_a_sentence_are_those_of_the_generated_language():
    lines = generate_sets(GeneratedCorpus(train=1, valid=2, test=300, far=1))["test"].beside("test")
    rows = csv.DictReader(lines["test.phenomena.csv"])
    assert sum(1 + len(row["wrong"].split()) for row in rows) / 300 == pytest.approx(FORMS, rel=0.1)


def test_the_work_of_a_training_is_epochs_times_examples_of_its_arm():
    corpus = {"source": "generated", "train": 900, "valid": 300, "test": 64, "far": 10}
    plan = planned(translation={"corpus": corpus, "training": {"epochs": 4}})
    units = {job.name: job.units for job in jobs(plan) if job.stage == "training"}
    forward = TYPICAL["forward_share"]
    assert 0.2 < forward < 0.6
    assert units["training/translation.svgd.seed1"] == {"train:svgd": 4 * (900 + 300 * forward), "save": 4}
    assert len(units) == 2


def test_an_estimate_is_the_start_and_the_work():
    job = Job("scores", "scores/a", "translation", {"load": 2, "score": 10}, seconds=5)
    seconds = {"translation": {"start": 3.0, "load": 0.5, "score": 0.1}}
    assert estimate(job, seconds) == pytest.approx(0.3 + 3 + 1 + 1 + 5)


def test_finished_jobs_replace_and_correct_estimates(tmp_path):
    own = [Job("scores", "scores/a"), Job("scores", "scores/b"), Job("roles", "roles/a")]
    (tmp_path / "benchmarks/scores").mkdir(parents=True)
    write_lines(tmp_path / "benchmarks/scores/a.tsv", ["s\th:m:s", "12.0\t0:00:12"])
    write_lines(tmp_path / "benchmarks/scores/b.tsv", [])  # interrupted
    assert calibrated(own, {"scores/a": 6.0, "scores/b": 5.0, "roles/a": 4.0}, tmp_path) == {
        "scores/a": 12.0,
        "scores/b": 10.0,
        "roles/a": 4.0,
    }


def test_the_wall_time_has_jobs_that_run_alone_and_the_longest_chain():
    own = [Job("training", "t1"), Job("training", "t2"), Job("ablation", "a"), Job("timing", "x", alone=True)]
    seconds = {"t1": 50.0, "t2": 50.0, "a": 20.0, "x": 7.0}
    assert wall(own, seconds, 1) == 127
    assert wall(own, seconds, 2) == 77  # a training, then the sweep of its model
    assert wall(own, seconds, 64) == 77


def test_times_by_changed_answers_are_on_a_line():
    assert by_change([(0.0, 1.0), (0.5, 2.0), (1.0, 3.0)]) == pytest.approx((1.0, 3.0))
    assert by_change([(0.1, 1.0), (0.2, 3.0)]) == (2.0, 2.0)  # too close for a slope


def test_sizes_are_those_of_the_catalogue_and_of_acquired_text(tmp_path):
    study = read_study(str(ROOT / "studies/multi30k.yaml"))
    found = sizes_of(study, "translation", tmp_path)
    expected = {"train": 29000, "choose": 507, "check": 507, "test": 1000, "mscoco": 461}
    assert {name: found.examples[name] for name in expected} == expected
    for name in ("train", "choose", "check", "test", "mscoco", "newstest2015"):
        write_lines(tmp_path / f"translation/corpus/{name}.source", ["one two three four"] * 3)
    assert sizes_of(study, "translation", tmp_path) == Sizes(
        dict.fromkeys(("train", "choose", "check", "test", "mscoco", "newstest2015"), 3), 4 * 1.15
    )


def test_a_missing_file_of_text_is_named(tmp_path):
    gone = {"source": "gone.en", "target": "gone.de"}
    corpus = {"source": "files", "train": gone, "valid": gone, "test": gone}
    study = load_study({"translation": {"corpus": corpus, "treebank": {"source": "none"}}})
    with pytest.raises(HeadroomError, match=r"gone\.en: .*correct the path"):
        sizes_of(study, "translation", tmp_path)


def test_the_command_measures_and_prints_a_table(tmp_path, capsys):
    study = yaml.safe_load(TINY.read_text())
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study))
    main(["--study", str(tmp_path / "study.yaml"), "--cores", "2", "--results", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    rows = dict(line.split(maxsplit=1) for line in lines[1:-1])
    assert {"training", "ablation", "phenomena", "pruning", "report", "all"} <= set(rows)
    hours = {stage: float(row.split()[1]) for stage, row in rows.items()}
    assert sum(value for stage, value in hours.items() if stage != "all") == pytest.approx(hours["all"], abs=0.03)
    assert 0.01 < hours["all"] < 2
    pattern = r"wall time on 2 cores [\d:]+; disk 0\.\d GB; memory [\d.]+ GB with 2 jobs at a time"
    assert re.fullmatch(pattern, lines[-1]), lines[-1]
