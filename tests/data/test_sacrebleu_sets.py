"""Test sets of sacrebleu: its own downloader on local files."""

import hashlib
import io
import tarfile

import pytest
import sacrebleu
from headroom.core.errors import HeadroomError
from headroom.data.corpora import Request
from headroom.data.parallel import ParallelText
from headroom.data.providers.sacrebleu import load_test_sets, parallel
from headroom.settings.parallel import SacrebleuCorpus
from sacrebleu.dataset.fake_sgml import FakeSGMLDataset
from sacrebleu.dataset.tsv import TSVDataset

SETTINGS = SacrebleuCorpus(choose="one", check="two", test="two/full", far={"noisy": "noise1.1/test"})


def sgml(lines):
    return "".join(f'<seg id="{number}">{line}</seg>\n' for number, line in enumerate(lines, 1))


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Return a function that makes a set known to sacrebleu, and gives the place where it is kept."""
    monkeypatch.setattr(sacrebleu, "SACREBLEU_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("sacrebleu.dataset.base.SACREBLEU_DIR", str(tmp_path / "cache"))

    def make(name, files, langpair, *, kind=FakeSGMLDataset, md5=None, url=None):
        path = tmp_path / f"{name.replace('/', '-')}.tgz"
        with tarfile.open(path, "w:gz") as tar:
            for member, content in files.items():
                about = tarfile.TarInfo(member)
                about.size = len(content.encode())
                tar.addfile(about, io.BytesIO(content.encode()))
        known = md5 or hashlib.md5(path.read_bytes()).hexdigest()
        pairs = {"en-fr": langpair}
        published = kind(name, data=[url or path.as_uri()], md5=[known], description="", citation="", langpairs=pairs)
        monkeypatch.setitem(sacrebleu.DATASETS, name, published)
        return tmp_path / "cache" / name

    return make


@pytest.fixture
def published(publish):
    for name in ("one", "two", "two/full"):
        sides = {f"{side}.sgm": sgml([f"{name} {side} \u0085 1", f"{name} {side} 2"]) for side in ("en", "fr")}
        publish(name, sides, ["en.sgm", "fr.sgm"])
    rows = {"t.tsv": "1\ta\tb\n2\t\tc\n3\td\u2028e\tf\n"}
    publish("noise1.1/test", rows, ["1:t.tsv", "2:t.tsv"], kind=TSVDataset)
    return publish


def test_every_set_is_whole_and_pairs_without_a_side_are_left_out(published, tmp_path):
    found = parallel(SETTINGS, Request(tmp_path))
    sets = {name: text for name, text in found.texts.items() if name != "train"}
    assert list(sets) == ["choose", "check", "test", "noisy"]
    assert sets["choose"] == ParallelText(["one en 1", "one en 2"], ["one fr 1", "one fr 2"])  # sacrebleu cleans SGML
    assert sets["test"].target == ["two/full fr 1", "two/full fr 2"]
    assert sets["noisy"] == ParallelText(["a", "d\u2028e"], ["b", "f"])
    assert found.left_out == {"because a side is empty": {"noisy": 1}}


def test_the_paper_sets_are_known_to_the_installed_library():
    settings = SacrebleuCorpus(far={"mtnt": "mtnt1.1/test"})
    for name in settings.named_sets.values():
        assert settings.pair in sacrebleu.get_langpairs_for_testset(name)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [({"md5": "0" * 32}, "checksum mismatch"), ({"url": "http://127.0.0.1:9/set.tgz"}, "refused")],
)
def test_a_failed_download_is_told_in_one_message_and_leaves_nothing_to_be_taken_for_whole(published, changed, reason):
    place = published("two", {"en.sgm": "", "fr.sgm": ""}, ["en.sgm", "fr.sgm"], **changed)
    with pytest.raises(HeadroomError, match=r"key check: sacrebleu cannot download two \(en-fr\), ") as caught:
        load_test_sets(SETTINGS)
    assert reason in str(caught.value)
    assert str(caught.value).count("\n") == 1
    assert f"copy {place} from another machine" in str(caught.value)
    assert not (place / "raw").exists()


def test_what_a_killed_download_left_is_fetched_again(published, tmp_path):
    raw = tmp_path / "cache/one/raw"
    raw.mkdir(parents=True)
    (raw / "one.one.tgz").write_bytes(b"half of it")  # never unpacked
    assert len(load_test_sets(SETTINGS)["choose"]) == 2
