"""Released checkpoints in the form of 2018 have the same output after import, and support all operations."""

import argparse
import re
import shutil

import pytest
import torch
from fairseq_models import RELEASE_SHAPE, TRAINED_WITH, Exploit, old_checkpoint, write_release
from headroom.core.errors import HeadroomError
from headroom.core.heads import parse_profile
from headroom.data.subwords import write_moses
from headroom.engines.fairseq.checkpoint import load_state
from headroom.engines.fairseq.model import TranslationModel
from headroom.engines.fairseq.released import adopt
from headroom.methods.criteria.gradient import gradient_scores
from headroom.settings.answers import DecodingSettings
from headroom.settings.models import MosesSettings

from fairseq import checkpoint_utils  # isort: skip
from fairseq.sequence_generator import SequenceGenerator  # isort: skip

LIMITS = DecodingSettings(length_factor=0, length_offset=12)


def adopted(release, directory):
    """Adopt a release and return where the checkpoint and the vocabulary are."""
    directory.mkdir(parents=True, exist_ok=True)
    for side, language in (("source", "en"), ("target", "fr")):
        shutil.copy(release.directory / f"dict.{language}.txt", directory / f"dict.{side}.txt")
    shutil.copy(release.directory / "bpecodes", directory)
    write_moses(directory, MosesSettings())
    take(release.directory / "model.pt", release, directory / "epoch1.pt")
    return directory / "epoch1.pt", directory


def take(path, release, output):
    """Adopt a checkpoint with the dictionaries of a release."""
    return adopt(path, output, source=release.directory / "dict.en.txt", target=release.directory / "dict.fr.txt")


@pytest.fixture(scope="module", params=["after", "before"], ids=["post-norm", "pre-norm"])
def release(request, tmp_path_factory):
    before = request.param == "before"
    norms = {f"{side}_normalize_before": before for side in ("encoder", "decoder")}
    return write_release(tmp_path_factory.mktemp("release"), **norms)


@pytest.fixture(scope="module")
def places(release, tmp_path_factory):
    return adopted(release, tmp_path_factory.mktemp("adopted"))


@pytest.fixture
def model(places):
    return TranslationModel.load(*places, "cpu")


def batches(model, release):
    return model.batches(release.text.source[:12], release.text.target[:12], sentences=12)


@torch.inference_mode()
def test_logits_are_those_of_the_original(model, release):
    (batch,) = batches(model, release)
    expected = release.model(batch.source, batch.lengths, batch.previous)[0]
    assert expected.std() > 0.5, "a model that says nothing"
    real = batch.target.ne(model.target.dictionary.pad())
    torch.testing.assert_close(model.logits(batch)[real], expected[real], rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_translations_are_those_of_the_original(model, release):
    (batch,) = batches(model, release)
    generator = SequenceGenerator([release.model], release.dictionary, beam_size=3, max_len_a=0, max_len_b=12)
    found = generator.generate(
        [release.model], {"net_input": {"src_tokens": batch.source, "src_lengths": batch.lengths}}
    )
    expected = [release.dictionary.string(hypotheses[0]["tokens"], "@@ ") for hypotheses in found]
    rows = model.translate_pieces([batch], LIMITS, beam=3)
    by_position = [release.dictionary.string(rows[position], "@@ ") for position in batch.positions]
    assert by_position == expected
    assert len(set(by_position)) > 3


@torch.inference_mode()
def test_fairseq_itself_loads_it(places, model, release):
    (loaded,), _, _ = checkpoint_utils.load_model_ensemble_and_task(
        [str(places[0])], arg_overrides={"data": str(places[1])}
    )
    (batch,) = batches(model, release)
    found = loaded.eval()(batch.source, batch.lengths, batch.previous)[0]
    real = batch.target.ne(model.target.dictionary.pad())
    torch.testing.assert_close(found[real], model.logits(batch)[real], rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_masking_equals_slicing_and_a_sliced_model_comes_back(places, model, release, tmp_path):
    removed = parse_profile("E1:2 E2:1 E2:2 E2:3 E2:4 A1:3 D2:1 D2:4", model.sites)
    (batch,) = batches(model, release)
    whole = model.logits(batch)
    with model.gates.masked(removed):
        masked = model.logits(batch)
    assert (masked - whole).abs().max() > 0.1
    model.remove(removed)
    torch.testing.assert_close(model.logits(batch), masked, rtol=1e-4, atol=1e-4)
    model.save(tmp_path / "sliced.pt")
    again = TranslationModel.load(tmp_path / "sliced.pt", places[1], "cpu")
    torch.testing.assert_close(again.logits(batch), masked, rtol=1e-4, atol=1e-4)


def test_every_head_has_a_gradient(model, release):
    scores = gradient_scores(model, batches(model, release), frozenset())["gradient-example"]
    assert len(scores) == 24
    assert min(scores.values()) > 0


def test_texts_are_of_the_released_vocabulary(model, release):
    (batch,) = batches(model, release)
    unknown = model.source.dictionary.unk()
    assert not batch.source.eq(unknown).any()
    assert not batch.target.eq(unknown).any()
    pad, end = model.target.dictionary.pad(), model.target.dictionary.eos()
    rows = [[piece for piece in row if piece not in (pad, end)] for row in batch.target.tolist()]
    assert model.texts(rows) == [release.text.target[position] for position in batch.positions]


def test_a_checkpoint_of_today_is_taken_too(places, release, tmp_path):
    state = load_state(places[0])
    torch.save(state, tmp_path / "today.pt")
    take(tmp_path / "today.pt", release, tmp_path / "epoch1.pt")
    for name, value in load_state(tmp_path / "epoch1.pt")["model"].items():
        assert value.equal(state["model"][name]), name


def test_code_in_a_checkpoint_is_not_run(release, tmp_path):
    for place in ("args", "extra_state"):
        state = old_checkpoint(release.model, argparse.Namespace(**{**TRAINED_WITH, **RELEASE_SHAPE}))
        state[place] = Exploit(tmp_path / "ran")
        torch.save(state, tmp_path / "model.pt")
        with pytest.raises(HeadroomError, match=r"model\.pt: .*not a checkpoint of data alone .*open") as caught:
            take(tmp_path / "model.pt", release, tmp_path / "epoch1.pt")
        assert "\n" not in str(caught.value)
        assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


def test_other_checkpoints_are_refused_in_one_line(release, tmp_path):
    def changed(**changes):
        return old_checkpoint(release.model, argparse.Namespace(**{**TRAINED_WITH, **RELEASE_SHAPE, **changes}))

    checkpoints = [
        (lambda: {"model": {}}, "not a fairseq checkpoint"),
        (lambda: [1, 2], "not a fairseq checkpoint"),
        (lambda: changed(arch="lstm"), r"model\.pt: not of fairseq's architecture `transformer`"),
        (lambda: changed(arch="no_such"), "no_such"),
        (
            lambda: changed(encoder_layers=3),
            r"tensors are not those of its settings, .*layers.*; copy the checkpoint again",
        ),
        (lambda: changed(encoder_attention_heads=5), r"model\.pt"),
        (lambda: {**changed(), "args": argparse.Namespace(task="nothing")}, r"not the settings"),
    ]
    wrong = []
    for make, message in checkpoints:
        torch.save(make(), tmp_path / "model.pt")
        with pytest.raises(HeadroomError) as caught:
            take(tmp_path / "model.pt", release, tmp_path / "epoch1.pt")
        said = str(caught.value)
        if not re.search(message, said) or "\n" in said or (tmp_path / "epoch1.pt").exists():
            wrong.append((message, said))
    assert not wrong, wrong
