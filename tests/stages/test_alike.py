"""The sweep on models in which heads cannot be told apart: copies of one another, and layers that nothing reads."""

import pytest
import torch
from headroom.claims.entries import all_claims, decide
from headroom.core.errors import HeadroomError
from headroom.data.labelled import LabelledText
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.experiments.ablation import stage as ablation
from headroom.experiments.ablation.alike import find_alike
from headroom.experiments.ablation.claims import own_effects
from headroom.experiments.ablation.table import ABLATION
from headroom.report.cautions import cautions
from headroom.study.tables import TaskDescription, open_tables
from models import toy_text, write_encoder
from safetensors.torch import load_file, save_file
from stages.test_classifiers import write_tsv

LABELS = ("contradiction", "entailment", "neutral")
COPIES = "E1:1, E1:2, E1:3 and E1:4 give identical results; their order is that of the table."


def copy_heads(state, layer):
    """Make the four heads of a layer copies of the first one: rows of q, k and v, columns of the output."""
    place = f"bert.encoder.layer.{layer - 1}.attention"
    for name in ("query", "key", "value"):
        for kind in ("weight", "bias"):
            rows = state[f"{place}.self.{name}.{kind}"]
            rows[:] = torch.cat([rows[:4]] * 4)
    columns = state[f"{place}.output.dense.weight"]
    columns[:] = torch.cat([columns[:, :4]] * 4, dim=1)


def hide_heads(state, layer, heads=range(4)):
    for head in heads:
        state[f"bert.encoder.layer.{layer - 1}.attention.output.dense.weight"][:, 4 * head : 4 * head + 4] = 0


@pytest.fixture
def swept(tmp_path):
    """Return a function that changes the weights of a classifier of three layers, and sweeps over its heads."""

    def sweep(change):
        place = write_encoder(tmp_path / "epoch1", labels=LABELS, layers=3)
        state = load_file(place / "model.safetensors")
        change(state)
        save_file(state, place / "model.safetensors", metadata={"format": "pt"})
        (tmp_path / "corpus").mkdir()
        text, model = toy_text(examples=24, labels=LABELS), ClassificationModel.load(place, "cpu")
        (batch,) = model.batches(text, examples=24)
        answers = dict(zip(batch.positions, model.logits(batch).argmax(-1).tolist()))
        right = LabelledText(text.first, text.second, [LABELS[answers[row]] for row in range(24)])
        assert len({*right.labels}) > 1
        for name in ("choose", "test"):
            write_tsv(tmp_path / "corpus" / f"{name}.tsv", right)
        given = ["--engine", "classifier", "--study", "own", "--run", "own.baseline.seed1", "--device", "cpu"]
        paths = ["--checkpoint", str(place), "--corpus", str(tmp_path / "corpus")]
        ablation.main([*given, *paths, "--resamples", "20", "--output", str(tmp_path / "ablation/own.csv")])
        return ABLATION.read(tmp_path / "ablation/own.csv")

    return sweep


def copied_and_hidden(state):
    copy_heads(state, 1)
    hide_heads(state, 2)


def test_what_cannot_be_told_apart_is_said_and_no_claim_rests_on_it(swept, caplog, tmp_path):
    said = f"No head of E2 reaches the output. {COPIES}"
    with caplog.at_level("INFO"):
        found = find_alike(swept(copied_and_hidden))
    assert (found.describe(), found.same, found.flat) == (said, 8, ["E1", "E2"])
    assert said in caplog.text
    tables = open_tables([tmp_path / "ablation/own.csv"], described={"own": TaskDescription(kind="classification")})
    (reading,) = decide(all_claims()["M1"], tables.of_task("own"))
    assert reading.barrier == f"at most 10 % of heads without an effect of their own: {said}"
    assert said in [one.text for one in cautions(tables)[""]]


def test_single_heads_that_nothing_reads_are_named(swept, tmp_path):
    found = find_alike(swept(lambda state: hide_heads(state, 3, heads=[1])))
    assert found.describe() == "E3:2 does not reach the output."
    tables = open_tables([tmp_path / "ablation/own.csv"], described={"own": TaskDescription(kind="classification")})
    assert own_effects(tables.of_task("own"), "own.baseline.seed1", most=0.1) == ""


def test_a_model_in_which_no_head_has_an_effect_of_its_own_is_refused(swept, tmp_path):
    def same(state):
        copied_and_hidden(state)
        hide_heads(state, 3)

    with pytest.raises(HeadroomError, match="at each of the sites E1, E2 and E3 all heads have the same effect"):
        swept(same)
    assert not (tmp_path / "ablation/own.csv").exists()


def test_heads_with_effects_of_their_own_are_not_named(swept):
    assert find_alike(swept(dict)).describe() == ""
