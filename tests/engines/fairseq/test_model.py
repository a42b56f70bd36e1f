"""The fairseq adapter: batches and losses; checkpoints, which run no code; multiply-adds by hand."""

import argparse
import pickle
import shutil

import pytest
import torch
from fairseq_models import Exploit
from headroom.core.errors import HeadroomError
from headroom.core.files import sha256
from headroom.core.heads import parse_profile
from headroom.data.parallel import ParallelText
from headroom.engines.fairseq.checkpoint import is_whole, load_state, save_model
from headroom.engines.fairseq.model import TranslationModel
from headroom.engines.fairseq.timing import PARTS, workload

from fairseq import checkpoint_utils  # isort: skip


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


def refused(path):
    """Return the message with which a file is refused: one line that names it."""
    assert not is_whole(path)
    with pytest.raises(HeadroomError) as caught:
        load_state(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_a_file_of_torch_that_is_no_checkpoint(tmp_path):
    contents = [
        *([1, 2], {}, {"weights": torch.zeros(2)}, {"model": {}}, {"model": {}, "cfg": None, "args": None}),
        {"model": {}, "args": argparse.Namespace(arch="transformer")},  # before fairseq's configuration had a form
    ]
    for content in contents:
        torch.save(content, tmp_path / "other.pt")
        assert "not a fairseq checkpoint" in refused(tmp_path / "other.pt"), content


def test_code_in_a_file_is_not_run(tmp_path):
    content = {"model": {}, "cfg": {"_name": None}, "extra": Exploit(tmp_path / "ran")}
    (tmp_path / "pickle.pt").write_bytes(pickle.dumps(content))
    for form in ("old", "new"):
        torch.save(content, tmp_path / f"{form}.pt", _use_new_zipfile_serialization=form == "new")
    for form in ("pickle", "old", "new"):
        assert "not a checkpoint" in refused(tmp_path / f"{form}.pt")
    assert not (tmp_path / "ran").exists()


def test_a_checkpoint_is_only_the_model(toy):
    state = load_state(toy.checkpoints[0])
    assert not {"last_optimizer_state", "task_state", "criterion"} & set(state)
    assert set(state["cfg"]) == {"_name", "model", "task"}


def test_equal_models_give_equal_bytes(toy, tmp_path):
    state = load_state(toy.checkpoints[0])
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        save_model(state, tmp_path / name / "epoch1.pt")
    assert sha256(tmp_path / "a" / "epoch1.pt") == sha256(tmp_path / "b" / "epoch1.pt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@torch.inference_mode()
def test_fairseq_itself_loads_it(toy, model, texts):
    """With `headroom_plugin` as its `--user-dir`; the task then opens the sites as in training."""
    (loaded,), _, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(toy.checkpoints[-1])], arg_overrides={"data": str(toy.data)}
    )
    assert task.source_dictionary == model.source.dictionary
    batch = model.batches(*texts, sentences=12)[0]
    expected = model.model(batch.source, batch.lengths, batch.previous)[0]
    torch.testing.assert_close(loaded.eval()(batch.source, batch.lengths, batch.previous)[0], expected)


def test_fairseqs_own_checkpoint_loads_here(toy, texts, tmp_path):
    """One with everything fairseq writes, and a model saved from it."""
    state = load_state(toy.checkpoints[-1])
    state["extra_state"] = {"train_iterator": {"epoch": 3}, "metrics": [("x", 1)], "previous_training_time": 9.0}
    torch.save(
        {**state, "criterion": {}, "task_state": {}, "last_optimizer_state": {}}, tmp_path / "checkpoint_best.pt"
    )
    found = TranslationModel.load(tmp_path / "checkpoint_best.pt", toy.data, "cpu")
    found.save(tmp_path / "saved.pt")
    assert load_state(tmp_path / "saved.pt")["extra_state"] == {"train_iterator": {"epoch": 3}}


WIDTH, FORWARD, HEADS, HEAD = 16, 16, 4, 4


@pytest.fixture
def timed_on(texts):
    return ParallelText(list(texts[0]), list(texts[1]))


@pytest.fixture
def work(lively, timed_on):
    return workload(lively, timed_on, 3)


def of_attention(queries, keys, heads=HEADS):
    """Two products, query times keys and weights times values, for one sentence."""
    return 2 * queries * keys * heads * HEAD


def by_hand(batch, steps, vocabulary, part):
    """Count a model of two layers each; all positions of the padded batch are computed."""
    rows, source, target = len(batch.positions), batch.source.shape[1], batch.target.shape[1]
    square = WIDTH * HEADS * HEAD
    encoder_layer = source * (4 * square + 2 * WIDTH * FORWARD) + of_attention(source, source)
    keys_of_source = source * 2 * square
    if part == "encoder":
        return rows * 2 * encoder_layer
    if part == "decoder":
        own = target * 4 * square + of_attention(target, target)
        across = target * 2 * square + keys_of_source + of_attention(target, source)
        return rows * (2 * (own + across + target * 2 * WIDTH * FORWARD) + target * WIDTH * vocabulary)
    own = steps * 4 * square + of_attention(1, steps * (steps + 1) // 2)  # a new piece sees those before and itself
    across = steps * (2 * square + of_attention(1, source)) + keys_of_source  # keys of the source once
    decoder = 2 * (own + across + steps * 2 * WIDTH * FORWARD) + steps * WIDTH * vocabulary
    return rows * (2 * encoder_layer + decoder)


@torch.inference_mode()
def test_multiply_adds_of_the_full_model_by_hand_and_of_a_masked_one(lively, work):
    expected = {part: by_hand(work.batch, work.steps, len(lively.target.dictionary), part) for part in PARTS}
    assert {part: work.multiply_adds(lively, part) for part in PARTS} == expected
    with lively.gates.masked(parse_profile("E1:1 E2:1 A1:1 A2:1 A2:2 A2:3 A2:4 D1:3", lively.sites)):
        assert {part: work.multiply_adds(lively, part) for part in PARTS} == expected


@torch.inference_mode()
def test_a_sliced_model_saves_exactly_its_heads(lively, work):
    full = {part: work.multiply_adds(lively, part) for part in PARTS}
    lively.remove(parse_profile("E1:1 E1:2 A2:1 A2:2 A2:3 A2:4 D1:3", lively.sites))
    saved = {part: full[part] - work.multiply_adds(lively, part) for part in PARTS}
    rows, source = len(work.batch.positions), work.batch.source.shape[1]
    target, steps = work.batch.target.shape[1], work.steps
    projection = WIDTH * HEAD  # multiply-adds of one head in one projection at one position
    encoder = rows * 2 * (source * 4 * projection + of_attention(source, source, heads=1))
    own = target * 4 * projection + of_attention(target, target, heads=1)
    across = 4 * (target * 2 * projection + source * 2 * projection + of_attention(target, source, heads=1))
    assert saved["encoder"] == encoder
    assert saved["decoder"] == rows * (own + across)
    own = steps * 4 * projection + of_attention(1, steps * (steps + 1) // 2, heads=1)
    across = 4 * (steps * 2 * projection + source * 2 * projection + steps * of_attention(1, source, heads=1))
    assert saved["generation"] == encoder + rows * (own + across)
