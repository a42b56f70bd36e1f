"""Training the self-attentive classifier: from scratch, resumed bit for bit, and with its penalty."""

import pytest
import torch
from headroom.engines.hub.classifier import trainer
from headroom.engines.hub.classifier.encoder import load_pretrained_encoder, self_attentive_start, write_encoder
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.settings.models import FineTuningSettings, SelfAttentiveEncoder
from models import write_self_attentive
from safetensors.torch import load_file
from toy_fine_tuning import LABELS, examples, same
from training_runs import Classification, KilledError, killed_at, same_models

SHAPE = {"embedding": 8, "hidden": 4, "attention": 6, "hops": 3, "fully_connected": 8, "vocabulary": 120}
SETTINGS = {"epochs": 2, "warmup_share": FineTuningSettings().warmup_share}


def start(place, **changes):
    settings = SelfAttentiveEncoder.model_validate({**SHAPE, **changes})
    write_encoder(self_attentive_start(settings, examples(60, 0).first, LABELS), place)
    return place


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return start(tmp_path_factory.mktemp("encoder"))


def run(encoder, work, **changes):
    return Classification(encoder).run(work, **{**SETTINGS, **changes})


def test_it_learns(tmp_path):
    wide = start(tmp_path / "encoder", embedding=32, hidden=16)
    found = run(wide, tmp_path / "work", train=examples(200, 0), batch_size=4, learning_rate=0.005)
    assert found[0].valid_loss > found[1].valid_loss
    assert found[1].valid_accuracy > 0.7  # a third by chance
    model = ClassificationModel.load(tmp_path / "work" / "epoch2", "cpu")
    assert (model.labels, model.longest) == (LABELS, 12)


@pytest.mark.parametrize("update", [1, 3], ids=["start of second", "within second"])
def test_killed_and_resumed_it_ends_with_the_same_bits(encoder, tmp_path, update):
    kind = Classification(encoder)
    run(encoder, tmp_path / "whole")
    with pytest.raises(KilledError):
        run(encoder, tmp_path / "killed", notify=killed_at(2, update))
    assert kind.last_whole(tmp_path / "killed") == 1
    torch.manual_seed(99)
    reported = []
    run(encoder, tmp_path / "killed", notify=reported.append)
    assert reported[0].epoch == 2
    assert same_models(kind, tmp_path / "killed", tmp_path / "whole", (1, 2))


def test_a_trained_one_can_be_the_start_of_another_task(tmp_path):
    """As any encoder: it keeps its weights and loses its head."""
    source = write_self_attentive(tmp_path / "source")
    write_encoder(load_pretrained_encoder(source, LABELS), tmp_path / "out")
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("source", "out"))
    assert same(after, {name: value for name, value in before.items() if not name.startswith("classifier")})
    model = trainer.build_model(tmp_path / "out", 1)
    assert torch.equal(model.encoder.lstm.weight_hh_l0, before["encoder.lstm.weight_hh_l0"])
    assert model.classifier.out_features == 3
