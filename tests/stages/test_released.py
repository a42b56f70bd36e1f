"""The stage: from a directory, an archive, a mirror, a server, or a finished classifier to a run for experiments."""

import functools
import http.server
import json
import re
import tarfile
import threading
from contextlib import contextmanager
from itertools import permutations

import pytest
import torch
from fairseq_models import write_release
from headroom.core.errors import HeadroomError
from headroom.core.files import sha256
from headroom.data.labelled import LabelledText, write_labelled_corpus
from headroom.models.classifier.model import ClassificationModel
from headroom.preparation import released
from models import WORDS, toy_text, write_encoder
from safetensors.torch import load_file, save_file
from study import run_stage

FILES = ["bpecodes", "model.safetensors", "moses.json", "target_vocab.json", "vocab.json"]


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return write_release(tmp_path_factory.mktemp("release") / "wmt.en-fr")


@pytest.fixture(scope="module")
def archive(release):
    path = release.directory.parent / "wmt.tar.bz2"
    with tarfile.open(path, "w:bz2") as tar:
        tar.add(release.directory, arcname="wmt.en-fr")
    return path


@contextmanager
def serving(directory):
    """Serve a directory on this machine; yields its URL."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(directory))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def output(directory):
    """Return the flags that say where everything goes."""
    return ["--downloads", str(directory / "downloads"), "--checkpoints", str(directory / "run")]


def test_a_directory_and_an_archive_give_the_same(release, archive, tmp_path):
    run_stage(released, ["--fairseq.path", str(release.directory), *output(tmp_path / "a")])
    run_stage(released, ["--fairseq.path", str(archive), "--sha256", sha256(archive), *output(tmp_path / "b")])
    for name in (f"run/epoch1/{name}" for name in FILES):
        assert sha256(tmp_path / "a" / name) == sha256(tmp_path / "b" / name), name
    assert {path.name for path in (tmp_path / "b/run/epoch1").iterdir()} >= {*FILES}
    moses = {"source_language": "en", "target_language": "fr", "normalise": True, "split_hyphens": True}
    assert json.loads((tmp_path / "a/run/epoch1/moses.json").read_text()) == moses


def test_an_archive_comes_from_a_server_or_a_mirror(archive, tmp_path):
    with serving(archive.parent) as place:
        run_stage(released, ["--url", f"{place}/wmt.tar.bz2", *output(tmp_path / "a")])
    assert (tmp_path / "a/downloads/wmt.tar.bz2").read_bytes() == archive.read_bytes()
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror/released").symlink_to(archive.parent)
    where = ["--url", "http://127.0.0.1:9/wmt.tar.bz2", "--mirror", str(tmp_path / "mirror")]
    run_stage(released, [*where, *output(tmp_path / "b")])
    assert sha256(tmp_path / "a/run/epoch1/model.safetensors") == sha256(tmp_path / "b/run/epoch1/model.safetensors")


def test_a_page_in_place_of_the_archive_is_not_kept(tmp_path):
    (tmp_path / "web").mkdir()
    (tmp_path / "web/wmt.tar.bz2").write_bytes(b"<html>log in first</html>" * 50)
    with serving(tmp_path / "web") as place, pytest.raises(HeadroomError, match=r"wmt\.tar\.bz2: cannot unpack"):
        run_stage(released, ["--url", f"{place}/wmt.tar.bz2", *output(tmp_path)])
    assert [path for path in tmp_path.rglob("*") if path.is_file() and "web" not in path.parts] == []


REFUSED = [
    ([], "no model for the engine fairseq"),
    (["--codes-file", "a"], "give either"),
    (["--fairseq.path", "missing"], "key path: no directory or archive missing in /"),
    (["--fairseq.path", "RELEASE", "--target-language", "de"], r"key path: the directory .* has no file dict\.de\.txt"),
    (["--fairseq.path", "RELEASE", "--codes-file", "model.pt"], r"model\.pt, line \d+: not UTF-8"),
    (["--fairseq.path", "RELEASE", "--sha256", "0" * 64], "key sha256: .* is a directory"),
    (["--fairseq.path", "ARCHIVE", "--checkpoint-file", "best.pt"], r"wmt\.tar\.bz2: contains no file called best\.pt"),
    (
        ["--fairseq.path", "ARCHIVE", "--sha256", "0" * 64],
        r"wmt\.tar\.bz2: checksum mismatch, expected sha256 0+, found",
    ),
    (["--url", "http://127.0.0.1:9/a.tar"], r"a\.tar: cannot download from http://127\.0\.0\.1:9/a\.tar"),
]


def test_what_cannot_be_adopted_is_named_and_leaves_nothing(release, archive, tmp_path, monkeypatch):
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: None)
    places, wrong = {"RELEASE": str(release.directory), "ARCHIVE": str(archive)}, []
    for flags, message in REFUSED:
        with pytest.raises(HeadroomError) as caught:
            run_stage(released, [*(places.get(flag, flag) for flag in flags), *output(tmp_path)])
        left = [path for path in tmp_path.rglob("*") if path.is_file()]
        if not re.search(message, str(caught.value)) or str(caught.value).count("\n") > 1 or left:
            wrong.append((flags, str(caught.value), left))
    assert not wrong, wrong


LABELS = ["no", "yes"]
TEXT = toy_text(pairs=False, labels=LABELS)


def write_corpus(directory, text, labels):
    sets = {"train": text.taken([]), "choose": text, "check": text, "test": text}
    write_labelled_corpus(directory, sets, labels=labels, metrics=["accuracy"], origin={})
    return directory


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "corpus", TEXT, LABELS)


def adopted(corpus, classifier, tmp_path, *flags):
    run = tmp_path / "run/epoch1"
    given = ["--engine", "classifier", "--released.path", classifier, "--corpus", corpus, "--checkpoints", run.parent]
    run_stage(released, [*given, *flags])
    return ClassificationModel.load(run, "cpu")


def test_labels_without_names_get_those_of_the_corpus(corpus, tmp_path):
    unnamed = ["LABEL_0", "LABEL_1"]
    mine = write_encoder(tmp_path / "mine", labels=unnamed)
    model = adopted(corpus, mine, tmp_path)
    assert model.labels == LABELS
    renamed = LabelledText(TEXT.first, None, [unnamed[LABELS.index(label)] for label in TEXT.labels])
    (expected,) = ClassificationModel.load(mine, "cpu").batches(renamed, examples=len(TEXT))
    (found,) = model.batches(TEXT, examples=len(TEXT))
    assert found.labels.equal(expected.labels)
    torch.testing.assert_close(model.logits(found), ClassificationModel.load(mine, "cpu").logits(expected))


THREE = ["contradiction", "entailment", "neutral"]


@pytest.fixture(scope="module")
def balanced(tmp_path_factory):
    """A classifier with unnamed outputs that gives each to about a third of some sentences; these, and its answers."""
    place = write_encoder(tmp_path_factory.mktemp("balanced") / "unnamed", labels=["LABEL_0", "LABEL_1", "LABEL_2"])
    model, text = ClassificationModel.load(place, "cpu"), toy_text(pairs=False, examples=288, labels=["LABEL_0"])
    sentences = [f"{one} {WORDS[row // 15 % 14]}" for row, one in enumerate(text.first)]
    logits = torch.zeros(288, 3)
    for batch in model.batches(LabelledText(sentences, None, text.labels), examples=32):
        logits[batch.positions] = model.logits(batch)
    middle, state = logits.median(0).values, load_file(place / "model.safetensors")
    state["classifier.bias"] -= middle
    save_file(state, place / "model.safetensors", metadata={"format": "pt"})
    return place, sentences, (logits - middle).argmax(1).tolist()


@pytest.mark.parametrize("order", list(permutations(THREE))[::2])
def test_labels_in_another_order_than_the_unnamed_outputs_are_refused_with_the_right_one(balanced, order, tmp_path):
    """The classifier is right 9 of 10 times if its outputs have this order."""
    unnamed, sentences, answers = balanced
    labels = [order[found if place % 10 else (found + 1) % 3] for place, found in enumerate(answers)]
    corpus = write_corpus(tmp_path / "corpus", LabelledText(sentences, None, labels), THREE)
    if list(order) == THREE:
        assert adopted(corpus, unnamed, tmp_path).labels == THREE
        return
    message = rf"on choose \S+% of 288 examples .* the order {', '.join(order)} would give 90%;\ncorrect corpus.labels"
    with pytest.raises(HeadroomError, match=message):
        adopted(corpus, unnamed, tmp_path)
    assert not (tmp_path / "run/epoch1").exists()
    assert adopted(corpus, unnamed, tmp_path, "--below-chance").labels == THREE


def test_other_labels_are_refused(corpus, tmp_path):
    for labels in (["bad", "good"], ["no", "yes", "perhaps"], ["LABEL_0", "LABEL_1", "LABEL_2"]):
        mine = write_encoder(tmp_path / labels[-1], labels=labels)
        with pytest.raises(HeadroomError, match=f"has the labels {', '.join(labels)}, the corpus no, yes"):
            adopted(corpus, mine, tmp_path)
        assert not (tmp_path / "run/epoch1").exists()


def test_what_was_released_may_be_sliced_already(corpus, tmp_path):
    model = ClassificationModel.load(write_encoder(tmp_path / "mine"), "cpu")
    model.remove(frozenset(model.sites[0].head_names()[:2]))
    model.save(tmp_path / "sliced")
    assert json.loads((tmp_path / "sliced/config.json").read_text())["headroom"]["removed"] == "E1:1 E1:2"
    assert len(adopted(corpus, tmp_path / "sliced", tmp_path).live_sites[0].kept) == 2
