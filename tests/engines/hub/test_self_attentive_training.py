"""Training the self-attentive classifier: from scratch, resumed bit for bit, and with its penalty."""

import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.engines.hub.classifier import trainer
from headroom.engines.hub.classifier.encoder import load_pretrained_encoder, self_attentive_start, write_encoder
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.engines.hub.classifier.trainer import load_tokenizer
from headroom.engines.hub.self_attentive import trains_in_bfloat16
from headroom.settings.models import FineTuningSettings, SelfAttentiveEncoder
from safetensors.torch import load_file
from toy_fine_tuning import LABELS, examples, same
from toy_self_attentive import write_self_attentive
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


def test_a_fresh_start_has_the_shape_and_the_labels_asked_for(encoder):
    assert sorted(path.name for path in encoder.iterdir()) == ["config.json", "tokenizer.json", "tokenizer_config.json"]
    config = transformers.AutoConfig.from_pretrained(encoder)
    assert (config.model_type, config.num_attention_heads) == ("headroom-self-attentive", 3)
    assert config.label2id == {"neutral": 0, "bad": 1, "good": 2}
    tokenizer = load_tokenizer(encoder, 5000)  # longer than any table of positions
    assert type(tokenizer) is transformers.BertTokenizer
    assert len(tokenizer) == config.vocab_size <= 120
    model = trainer.build_model(encoder, 1)
    assert not model.get_input_embeddings().weight[config.pad_token_id].any()
    assert same(model.state_dict(), trainer.build_model(encoder, 1).state_dict())


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


def test_the_penalty_keeps_hops_apart(tmp_path):
    """The loss of training has the penalty in it, that of validation has not."""
    found = {}
    for penalty in (0.0, 3.0):
        place = start(tmp_path / f"encoder{penalty}", dropout=0.0, penalty=penalty)
        found[penalty] = run(place, tmp_path / f"work{penalty}", learning_rate=1e-8, epochs=1)[0]
    free, punished = found[0.0], found[3.0]
    assert punished.valid_loss == pytest.approx(free.valid_loss, rel=1e-4)
    assert (
        punished.train_loss > free.train_loss + 3
    )  # three hops, nearly uniform: about 3 * (3 - 1) of overlap and more


def test_bfloat16(encoder, tmp_path):
    config = transformers.AutoConfig.from_pretrained(encoder)
    if trains_in_bfloat16(config):
        (record,) = run(encoder, tmp_path, epochs=1, precision="bfloat16")
        assert record.valid_loss == pytest.approx(1.1, abs=0.4)
    else:
        with pytest.raises(HeadroomError, match="this processor cannot run the LSTM of the self-attentive encoder"):
            run(encoder, tmp_path, epochs=1, precision="bfloat16")
        assert not list(tmp_path.iterdir())


def test_a_trained_one_can_be_the_start_of_another_task(tmp_path):
    """As any encoder: it keeps its weights and loses its head."""
    source = write_self_attentive(tmp_path / "source")
    write_encoder(load_pretrained_encoder(source, LABELS), tmp_path / "out")
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("source", "out"))
    assert same(after, {name: value for name, value in before.items() if not name.startswith("classifier")})
    model = trainer.build_model(tmp_path / "out", 1)
    assert torch.equal(model.encoder.lstm.weight_hh_l0, before["encoder.lstm.weight_hh_l0"])
    assert model.classifier.out_features == 3
