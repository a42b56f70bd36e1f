"""A new engine is a folder: every stage that loads a model then accepts it by `--engine`."""

import shutil
from pathlib import Path

import pytest
from headroom.core.files import write_lines
from headroom.experiments.removal import parameters
from headroom.experiments.scores import stage as scores
from toy_encoder import toy_text, write_encoder

pytestmark = pytest.mark.long

SOURCES = """
from pathlib import Path
from headroom.study.sources import Sources
print(*Sources(Path('workflow')).of_stage('headroom.experiments.removal.parameters', engine='sentiment'))
"""


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """Return a directory with a classifier and a set of labelled text."""
    place = tmp_path_factory.mktemp("classifier")
    write_encoder(place / "epoch1")
    text = toy_text()
    rows = ["sentence1\tsentence2\tlabel", *("\t".join(row) for row in zip(text.first, text.second, text.labels))]
    write_lines(place / "choose.tsv", rows)
    return place


def test_an_engine_is_a_folder(project, classifier, tmp_path):
    engines = project.root / "workflow" / "headroom" / "engines"
    shutil.copytree(engines / "hub" / "classifier", engines / "hub" / "sentiment")
    for path in (engines / "hub" / "sentiment").glob("*.py"):
        path.write_text(path.read_text().replace("hub.classifier", "hub.sentiment"))
    assert project.touched() == {"headroom/engines/hub/sentiment"}

    model = [str(classifier / "epoch1"), "--corpus", str(classifier), "--device", "cpu"]
    mine, other = (str(tmp_path / f"{name}.csv") for name in ("sentiment", "classification"))
    for name, stage, flag in (("parameters", parameters, "--checkpoint"), ("scores", scores, "--checkpoints")):
        flags = [flag, *model]
        stage.main(["--engine", "classifier", *flags, "--output", other])
        project.headroom(name, "--engine", "sentiment", *flags, "--output", mine)
        assert Path(mine).read_bytes() == Path(other).read_bytes()

    files = project.run("env", "PYTHONPATH=workflow", "python", "-c", SOURCES).output.split()
    assert "workflow/headroom/engines/hub/sentiment/model.py" in files
    assert not [file for file in files if "/hub/classifier/" in file]
