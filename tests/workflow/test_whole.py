"""Whole studies beside those of tests/golden: a released model of fairseq."""

from pathlib import Path

import pytest
import yaml
from fairseq_models import write_release
from study import ROOT, TINY, Finished, new_project

pytestmark = pytest.mark.long


def test_a_run_ends_well_and_says_where_the_report_is(finished: Finished) -> None:
    assert "Traceback" not in finished.ended.output
    assert "the report: reports/tiny.html" in finished.ended.output


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
    tiny = yaml.safe_load((ROOT / TINY).read_text())["tasks"]["translation"]
    of_training = ("corpus", "vocabulary", "model", "training", "update_cost")
    translation = {name: section for name, section in tiny.items() if name not in of_training} | {
        "corpus": corpus,
        "released": {"path": "release"},
        "gates": tiny["gates"] | {"from_scratch": []},
        "arms": {"baseline": {"method": "baseline"}},
    }
    study = {"study": "released", "seeds": [1], "sampling": {"resamples": 50}, "tasks": {"translation": translation}}
    (project.root / "released.yaml").write_text(yaml.safe_dump(study))
    ended = project.snakemake(study="released.yaml")
    assert ended.status == 0, ended.output
    assert not list((project.root / "results/released/training").glob("*"))
    assert (project.root / "results/released/runs/translation.baseline.seed1/epoch1/model.safetensors").is_file()
    assert "weight_decay" not in (project.root / "reports/released.html").read_text()
