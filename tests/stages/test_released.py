"""The stage: from a directory, an archive, a mirror or a server to a run for all experiments."""

import functools
import http.server
import json
import tarfile
import threading
from contextlib import contextmanager

import pytest
from fairseq_models import write_release
from headroom.core.errors import HeadroomError
from headroom.core.files import sha256, write_lines
from headroom.experiments.ablation import stage as ablation_stage
from headroom.experiments.ablation.table import ABLATION
from headroom.experiments.diversity import stage as diversity
from headroom.experiments.evaluation import stage as evaluation
from headroom.experiments.removal import stage as removal
from headroom.experiments.scores import stage as scores_stage
from headroom.preparation import released
from stages.stage_arguments import QUICK, STUDY

FILES = ["bpecodes", "dict.source.txt", "dict.target.txt", "moses.json"]


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
    return ["--vocabulary", str(directory / "binarised"), "--checkpoint", str(directory / "run/epoch1.pt")]


def test_a_directory_and_an_archive_give_the_same(release, archive, tmp_path):
    released.main(["--path", str(release.directory), *output(tmp_path / "a")])
    released.main(["--path", str(archive), "--sha256", sha256(archive), *output(tmp_path / "b")])
    for name in [*(f"binarised/{name}" for name in FILES), "run/epoch1.pt"]:
        assert sha256(tmp_path / "a" / name) == sha256(tmp_path / "b" / name), name
    assert sorted(path.name for path in (tmp_path / "b/binarised").iterdir()) == FILES
    assert json.loads((tmp_path / "a/binarised/moses.json").read_text()) == {
        "source_language": "en",
        "target_language": "fr",
        "normalise": True,
        "split_hyphens": True,
    }


def test_an_archive_comes_from_a_server_or_a_mirror(archive, tmp_path):
    with serving(archive.parent) as place:
        released.main(["--url", f"{place}/wmt.tar.bz2", *output(tmp_path / "a")])
    assert (tmp_path / "a/binarised/downloads/wmt.tar.bz2").read_bytes() == archive.read_bytes()
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror/released").symlink_to(archive.parent)
    where = ["--url", "http://127.0.0.1:9/wmt.tar.bz2", "--mirror", str(tmp_path / "mirror")]
    released.main([*where, *output(tmp_path / "b")])
    assert sha256(tmp_path / "a/run/epoch1.pt") == sha256(tmp_path / "b/run/epoch1.pt")


def test_a_page_in_place_of_the_archive_is_not_kept(tmp_path):
    (tmp_path / "web").mkdir()
    (tmp_path / "web/wmt.tar.bz2").write_bytes(b"<html>log in first</html>" * 50)
    with serving(tmp_path / "web") as place, pytest.raises(HeadroomError, match=r"wmt\.tar\.bz2: cannot unpack"):
        released.main(["--url", f"{place}/wmt.tar.bz2", *output(tmp_path)])
    assert [path.name for path in (tmp_path / "binarised").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "give either"),
        (["--path", "missing"], "key path: no directory or archive missing in /"),
        (["--path", "RELEASE", "--target-language", "de"], r"key path: the directory .* has no file dict\.de\.txt"),
        (["--path", "RELEASE", "--codes-file", "model.pt"], r"model\.pt, line \d+: not UTF-8"),
        (["--path", "RELEASE", "--sha256", "0" * 64], "key sha256: .* is a directory"),
        (["--path", "ARCHIVE", "--checkpoint-file", "best.pt"], r"wmt\.tar\.bz2: contains no file called best\.pt"),
        (["--path", "ARCHIVE", "--sha256", "0" * 64], r"wmt\.tar\.bz2: checksum mismatch, expected sha256 0+, found"),
        (["--url", "http://127.0.0.1:9/a.tar"], r"a\.tar: cannot download from http://127\.0\.0\.1:9/a\.tar"),
    ],
)
def test_what_cannot_be_adopted_is_named_and_leaves_nothing(release, archive, tmp_path, monkeypatch, flags, message):
    monkeypatch.setattr("urllib3.util.retry.time.sleep", lambda _: None)
    places = {"RELEASE": str(release.directory), "ARCHIVE": str(archive)}
    given = [*(places.get(flag, flag) for flag in flags), *output(tmp_path)]
    with pytest.raises(HeadroomError, match=message) as caught:
        released.main(given)
    assert str(caught.value).count("\n") <= 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_every_kind_of_experiment_runs_on_it(release, tmp_path):
    released.main(["--path", str(release.directory), *output(tmp_path)])
    for name, start in (("choose", 0), ("check", 4), ("test", 8)):
        for side in ("source", "target"):
            lines = getattr(release.text, side)[start : start + 4]
            write_lines(tmp_path / f"corpus/{name}.{side}", lines)
    where = ["--vocabulary", str(tmp_path / "binarised"), "--corpus", str(tmp_path / "corpus"), "--device", "cpu"]
    one, several = (
        [*STUDY, flag, str(tmp_path / "run/epoch1.pt"), *where] for flag in ("--checkpoint", "--checkpoints")
    )
    scores = str(tmp_path / "scores.csv")
    scores_stage.main([*several, "--set", "choose", "--output", scores])
    ablation_stage.main([*one, "--sets", "choose", *QUICK, "--output", str(tmp_path / "ablation.csv")])
    diversity.main([*several, "--output", str(tmp_path / "diversity.csv")])
    evaluation.main([*one, "--sets", "test", *QUICK, "--beam", "2", "--output", str(tmp_path / "evaluation.csv")])
    sliced = ["--sliced", str(tmp_path / "sliced.pt"), "--scores", scores, "--set", "test"]
    removal.main([*one, *sliced, *QUICK, "--output", str(tmp_path / "removal.csv")])
    heads = ABLATION.read(tmp_path / "ablation.csv")
    assert len(heads[heads["metric"] == "bleu"]) == 24
    assert (heads["epoch"] == 1).all()
