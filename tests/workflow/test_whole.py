"""Whole studies beside those of tests/golden: a released model of fairseq, those of the Hub, Snakemake's own report."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from fairseq_models import write_release
from missing_software import skip
from study import ROOT, TINY, Finished, Project, new_project, planned

pytestmark = pytest.mark.long

TRAINED, RELEASED = ("michel-iwslt", "michel-bert"), ("michel-wmt", "gpt2", "pythia", "qwen3", "opus-mt", "flan-t5")


def test_a_run_ends_well_and_says_where_the_report_is(finished: Finished) -> None:
    assert "Traceback" not in finished.ended.output
    assert "the report: reports/tiny.html" in finished.ended.output


def test_snakemakes_own_report_needs_no_network(study: Project) -> None:
    without_network = ["unshare", "--net"]
    if not shutil.which("unshare") or subprocess.run([*without_network, "true"], capture_output=True).returncode:
        skip("root")
    ended = study.run(*without_network, "snakemake", "--report", "own.html", "--configfile", TINY)
    assert ended.status == 0, ended.output
    assert '"tiny.html"' in (study.root / "own.html").read_text()


def test_studies_that_need_a_network_resolve() -> None:
    wrong = []
    for study in (*TRAINED, *RELEASED):
        jobs = planned(Project(ROOT).snakemake("-n", study=f"studies/{study}.yaml"))
        starts = {name: any(job.startswith(name) for job in jobs) for name in ("released", "training")}
        expected = {"released": study in RELEASED, "training": study in TRAINED}
        wrong += [(study, jobs)] if jobs["report"] != 1 or starts != expected else []
    assert not wrong, wrong


@pytest.mark.timeout(900)
def test_a_released_model_of_fairseq_goes_through_the_whole_workflow(tmp_path: Path) -> None:
    project = new_project(tmp_path / "project")
    release = write_release(project.root / "release")
    pairs = list(zip(release.text.source, release.text.target))[:20]
    (project.root / "text").mkdir()
    corpus: dict[str, object] = {"source": "files", "source_language": "en", "target_language": "fr"}
    for name in ("train", "valid", "test"):
        corpus[name] = {side: f"text/{name}.{side}" for side in ("source", "target")}
        for place, side in enumerate(("source", "target")):
            (project.root / "text" / f"{name}.{side}").write_text("".join(f"{pair[place]}\n" for pair in pairs))
    tiny = yaml.safe_load((ROOT / TINY).read_text())["translation"]
    of_training = ("corpus", "vocabulary", "model", "training", "update_cost")
    translation = {name: section for name, section in tiny.items() if name not in of_training} | {
        "corpus": corpus,
        "released": {"path": "release"},
        "gates": tiny["gates"] | {"from_scratch": []},
        "arms": {"baseline": {"method": "baseline"}},
    }
    study = {"study": "released", "seeds": [1], "sampling": {"resamples": 50}, "translation": translation}
    (project.root / "released.yaml").write_text(yaml.safe_dump(study))
    ended = project.snakemake(study="released.yaml")
    assert ended.status == 0, ended.output
    assert not list((project.root / "results/released/training").glob("*"))
    assert (project.root / "results/released/runs/translation.baseline.seed1/epoch1.pt").is_file()
    assert "weight_decay" not in (project.root / "reports/released.html").read_text()
