"""Released checkpoints in the form of 2018 have the same output after import, and support all operations."""

import argparse
import re
import shutil

import pytest
import torch
from fairseq_models import RELEASE_SHAPE, TRAINED_WITH, Exploit, left_padded, old_checkpoint, write_release
from headroom.core.errors import HeadroomError
from headroom.core.heads import parse_profile
from headroom.data.subwords import MosesPieces, write_moses
from headroom.methods.criteria.gradient import gradient_scores
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.settings.answers import DecodingSettings
from headroom.settings.models import MosesSettings
from headroom.training.fairseq.released import adopt
from safetensors.torch import load_file

from fairseq.data import Dictionary  # isort: skip
from fairseq.sequence_generator import SequenceGenerator  # isort: skip

LIMITS = DecodingSettings(length_factor=0, length_offset=12)


def take(path, release, output):
    """Adopt a checkpoint with the vocabulary of a release."""
    write_moses(release.directory, MosesSettings())
    sides = {"source": release.directory / "dict.en.txt", "target": release.directory / "dict.fr.txt"}
    return adopt(path, output, **sides, vocabulary=release.directory)


@pytest.fixture(scope="module", params=["after", "before"], ids=["post-norm", "pre-norm"])
def release(request, tmp_path_factory):
    before = request.param == "before"
    norms = {f"{side}_normalize_before": before for side in ("encoder", "decoder")}
    return write_release(tmp_path_factory.mktemp("release"), **norms)


@pytest.fixture(scope="module")
def place(release, tmp_path_factory):
    directory = tmp_path_factory.mktemp("adopted") / "epoch1"
    take(release.directory / "model.pt", release, directory)
    return directory


@pytest.fixture
def model(place):
    return Seq2SeqModel.load(place, "cpu")


def batches(model, release):
    return model.batches(release.text.source[:12], release.text.target[:12], sentences=12)


@torch.inference_mode()
def test_logits_are_those_of_the_original(model, release):
    (batch,) = batches(model, release)
    expected = release.model(*left_padded(batch), batch.previous)[0]
    assert expected.std() > 0.5, "a model that says nothing"
    torch.testing.assert_close(model.logits(batch)[batch.read], expected[batch.read], rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_translations_are_those_of_the_original(model, release):
    (batch,) = batches(model, release)
    generator = SequenceGenerator([release.model], release.dictionary, beam_size=3, max_len_a=0, max_len_b=12)
    source, lengths = left_padded(batch)
    found = generator.generate([release.model], {"net_input": {"src_tokens": source, "src_lengths": lengths}})
    expected = [release.dictionary.string(hypotheses[0]["tokens"], "@@ ") for hypotheses in found]
    rows = model.translate_tokens([batch], LIMITS, beam=3)
    by_position = [release.dictionary.string(rows[position], "@@ ") for position in batch.positions]
    assert by_position == expected
    assert len(set(by_position)) > 3


@torch.inference_mode()
def test_masking_equals_slicing_and_a_sliced_model_comes_back(model, release, tmp_path):
    removed = parse_profile("E1:2 E2:1 E2:2 E2:3 E2:4 A1:3 D2:1 D2:4", model.sites)
    (batch,) = batches(model, release)
    whole = model.logits(batch)
    with model.gates.masked(removed):
        masked = model.logits(batch)
    assert (masked - whole).abs().max() > 0.1
    model.remove(removed)
    torch.testing.assert_close(model.logits(batch), masked, rtol=1e-4, atol=1e-4)
    model.save(tmp_path / "sliced")
    again = Seq2SeqModel.load(tmp_path / "sliced", "cpu")
    torch.testing.assert_close(again.logits(batch), masked, rtol=1e-4, atol=1e-4)


def test_every_head_has_a_gradient(model, release):
    scores = gradient_scores(model, batches(model, release), frozenset())["gradient-example"]
    assert len(scores) == 24
    assert min(scores.values()) > 0


def test_texts_are_of_the_released_vocabulary(model, release):
    text = release.text
    for language, read, sentences in (
        ("en", model.words.read, text.source[:12]),
        ("fr", model.words.write, text.target[:12]),
    ):
        tokens = MosesPieces(release.directory / "bpecodes", language, MosesSettings())
        expected = [
            release.dictionary.encode_line(" ".join(tokens.encode(one)), add_if_not_exist=False).tolist()
            for one in sentences
        ]
        assert read(sentences) == expected
        assert not any(release.dictionary.unk() in row for row in expected)
    assert model.texts([row[:-1] for row in model.words.write(text.target[:12])]) == text.target[:12]


def test_a_model_of_two_dictionaries_keeps_both(tmp_path):
    release = write_release(tmp_path / "release", share_all_embeddings=False)
    lines = (release.directory / "dict.fr.txt").read_text().splitlines()
    (release.directory / "dict.fr.txt").write_text("\n".join(lines[::-1][:-7]) + "\n")  # in another order, fewer
    state = torch.load(release.directory / "model.pt", weights_only=False)
    kept = len(lines) - 7 + 4
    state["model"]["decoder.embed_tokens.weight"] = state["model"]["decoder.embed_tokens.weight"][:kept]
    torch.save(state, release.directory / "model.pt")
    take(release.directory / "model.pt", release, tmp_path / "epoch1")
    model = Seq2SeqModel.load(tmp_path / "epoch1", "cpu")
    target = Dictionary.load(str(release.directory / "dict.fr.txt"))
    tokens = MosesPieces(release.directory / "bpecodes", "fr", MosesSettings())
    for text in release.text.target[:5]:
        expected = target.encode_line(" ".join(tokens.encode(text)), add_if_not_exist=False).tolist()
        assert model.words.write([text]) == [expected]


def test_a_checkpoint_of_today_is_taken_too(toy, tmp_path):
    """With the dictionaries of its training, whose tokens are not of Moses: only the model is compared."""
    release = write_release(tmp_path / "release")
    for language, side in (("en", "source"), ("fr", "target")):
        shutil.copy(toy.data / f"dict.{side}.txt", release.directory / f"dict.{language}.txt")
    take(toy.last_state, release, tmp_path / "epoch1")
    taken, trained = (load_file(place / "model.safetensors") for place in (tmp_path / "epoch1", toy.checkpoints[-1]))
    assert taken.keys() == trained.keys()
    assert all(taken[name].equal(trained[name]) for name in taken)


def test_code_in_a_checkpoint_is_not_run(release, tmp_path):
    for place in ("args", "extra_state"):
        state = old_checkpoint(release.model, argparse.Namespace(**{**TRAINED_WITH, **RELEASE_SHAPE}))
        state[place] = Exploit(tmp_path / "ran")
        torch.save(state, tmp_path / "model.pt")
        with pytest.raises(HeadroomError, match=r"model\.pt: .*not a checkpoint of data alone .*open") as caught:
            take(tmp_path / "model.pt", release, tmp_path / "epoch1")
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
            take(tmp_path / "model.pt", release, tmp_path / "epoch1")
        said = str(caught.value)
        if not re.search(message, said) or "\n" in said or (tmp_path / "epoch1").exists():
            wrong.append((message, said))
    assert not wrong, wrong
