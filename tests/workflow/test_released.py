from pathlib import Path

import pytest
import yaml
from fairseq_models import write_release
from study import ROOT, TINY, Project, new_project, planned

pytestmark = pytest.mark.long

RUN = "translation.baseline.seed1"
TRAINED, RELEASED = ("michel-iwslt", "michel-bert"), ("michel-wmt", "gpt2", "pythia", "qwen3", "opus-mt", "flan-t5")


@pytest.mark.parametrize("study", [*TRAINED, *RELEASED])
def test_studies_that_need_a_network_resolve(study: str) -> None:
    jobs = planned(Project(ROOT).snakemake("-n", study=f"studies/{study}.yaml"))
    assert jobs["report"] == 1
    assert any(name.startswith("released") for name in jobs) == (study in RELEASED)
    assert any(name.startswith("training") for name in jobs) == (study in TRAINED)


def test_a_classifier_of_your_own_goes_through_the_whole_workflow(study: Project) -> None:
    corpus = study.root / "results/tiny/entailment/corpus"
    (study.root / "results/tiny/runs/entailment.baseline.seed2/epoch2").rename(study.root / "my-classifier")
    (study.root / "valid.tsv").write_text((corpus / "choose.tsv").read_text())
    (study.root / "test.tsv").write_text((corpus / "test.tsv").read_text())
    labels = ["entailment", "neutral", "contradiction"]
    task = {
        "corpus": {"source": "files", "valid": "valid.tsv", "test": "test.tsv", "labels": labels},
        "released": {"path": "my-classifier"},
        "timing": {"shares": [0.5], "batch_sizes": [1, 4], "warmup": 1, "repeats": 3},
    }
    mine = {"study": "mine", "seeds": [1], "sampling": {"resamples": 50}, "classification": {"pairs": task}}
    (study.root / "mine.yaml").write_text(yaml.safe_dump(mine))
    ended = study.snakemake(study="mine.yaml")
    assert ended.status == 0, ended.output
    assert not list((study.root / "results/mine").glob("training/*"))
    page, other = ((study.root / f"reports/{name}.html").read_text() for name in ("mine", "tiny"))
    assert "weight_decay" in other
    assert "weight_decay" not in page


def test_a_released_model_goes_through_the_whole_workflow(tmp_path: Path) -> None:
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
    assert (project.root / f"results/released/runs/{RUN}/epoch1.pt").is_file()
    page = (project.root / "reports/released.html").read_text()
    assert "weight_decay" not in page
