"""The fairseq adapter: batches, losses, loading."""

import shutil

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.engines.fairseq.checkpoint import load_state
from headroom.engines.fairseq.model import TranslationModel


def test_rows_are_padded_as_the_model_was_trained(lively, texts):
    batch = lively.batches(*texts, sentences=12)[0]
    pad, end = lively.source.dictionary.pad(), lively.source.dictionary.eos()
    short = int(batch.lengths.argmin())
    width = batch.source.shape[1]
    assert batch.source[short, : width - batch.lengths[short]].eq(pad).all()  # source: on the left
    assert batch.source[:, -1].eq(end).all()
    assert batch.previous[:, 0].eq(end).all()  # the decoder begins with the end mark
    for row in range(12):
        pieces = batch.target[row][batch.target[row].ne(pad)]
        assert pieces[-1] == end
        assert batch.target[row, : len(pieces)].equal(pieces)  # target: on the right
        assert batch.previous[row, 1 : len(pieces)].equal(pieces[:-1])


def test_pieces_are_the_vocabularys_and_come_back_as_text(lively, texts):
    batch = lively.batches(texts[0], sentences=12)[0]
    pad, end = lively.source.dictionary.pad(), lively.source.dictionary.eos()
    rows = [[piece for piece in row if piece not in (pad, end)] for row in batch.source.tolist()]
    assert lively.texts(rows) == [texts[0][position] for position in batch.positions]
    assert batch.target is None
    assert batch.previous is None


@torch.inference_mode()
def test_losses_are_sums_of_negative_log_likelihoods_in_nats(lively, texts):
    batch = lively.batches(*texts, sentences=12)[0]
    nats, pieces = lively.losses(batch)
    logits = lively.model(batch.source, batch.lengths, batch.previous)[0].double()
    for row in (0, 5, 11):
        likely = logits[row].softmax(-1)
        target = [piece for piece in batch.target[row].tolist() if piece != lively.target.dictionary.pad()]
        expected = -sum(float(likely[place, piece].log()) for place, piece in enumerate(target))
        assert float(nats[row]) == pytest.approx(expected, rel=1e-5)
        assert int(pieces[row]) == len(target)


@torch.inference_mode()
def test_losses_do_not_depend_on_batch_or_padding(lively, texts):
    def by_position(sentences):
        found = {}
        for batch in lively.batches(*texts, sentences=sentences):
            found.update(zip(batch.positions, lively.losses(batch)[0].tolist()))
        return [found[position] for position in range(12)]

    assert by_position(12) == pytest.approx(by_position(1), rel=1e-5)


def test_a_missing_vocabulary_is_named(toy, tmp_path):
    with pytest.raises(HeadroomError, match=r"dict\.source\.txt: no dictionary"):
        TranslationModel.load(toy.checkpoints[0], tmp_path, "cpu")


def test_another_vocabulary_is_refused(toy, tmp_path):
    shutil.copy(toy.data / "sentencepiece.model", tmp_path)
    for side in ("source", "target"):
        lines = (toy.data / f"dict.{side}.txt").read_text("utf-8").split("\n")
        (tmp_path / f"dict.{side}.txt").write_text("\n".join(lines[3:]), "utf-8")
    with pytest.raises(HeadroomError, match=r"epoch1\.pt: does not match the vocabulary"):
        TranslationModel.load(toy.checkpoints[0], tmp_path, "cpu")


def test_a_model_that_is_no_transformer_is_refused(toy, tmp_path):
    state = load_state(toy.checkpoints[0])
    state["cfg"]["model"] = {"_name": "lstm", "arch": "lstm"}
    torch.save(state, tmp_path / "lstm.pt")
    with pytest.raises(HeadroomError, match=r"lstm\.pt"):
        TranslationModel.load(tmp_path / "lstm.pt", toy.data, "cpu")
