import gzip
import hashlib
import json

import pytest
import yaml
from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.stages.download import main

SETS = {"train": 5, "valid": 4, "test": 3, "mscoco": 2, "newstest2015": 2}


@pytest.fixture
def given(tmp_path):
    """Return flags for a small data set in the catalogue's form, and the mirror that holds it."""
    files = []
    for name, lines in SETS.items():
        for side in ("source", "target"):
            path = f"multi30k/{name}.{side}.gz"
            content = "".join(f"{name} \u0085 {side} {number}\n" for number in range(1, lines + 1)).encode()
            packed = gzip.compress(content, mtime=0)
            (tmp_path / "mirror/multi30k").mkdir(parents=True, exist_ok=True)
            (tmp_path / "mirror" / path).write_bytes(packed)
            files.append({
                "path": path, "set": name, "side": side, "url": "http://127.0.0.1:9/x", "bytes": len(packed),
                "lines": lines, "sha256": hashlib.sha256(packed).hexdigest(), "licence": "free",
            })  # fmt: skip
    entry = {"title": "small", "source_language": "English", "target_language": "German", "files": files}
    catalogue = tmp_path / "catalogue.yaml"
    catalogue.write_text(yaml.safe_dump({"multi30k": entry}))
    flags = ["--catalogue", str(catalogue), "--mirror", str(tmp_path / "mirror"), "--output", str(tmp_path / "out")]
    return flags, tmp_path / "mirror/multi30k", tmp_path / "out"


def test_corpus_has_the_common_form(given):
    flags, _, output = given
    main(flags)
    record = json.loads((output / "corpus.json").read_text())
    assert record["evaluation_sets"] == ["choose", "check", "test", "mscoco", "newstest2015"]
    assert record["far"] == ["mscoco", "newstest2015"]
    assert record["origin"]["licences"] == ["free"]
    assert read_lines(output / "choose.source") == ["valid \u0085 source 1", "valid \u0085 source 3"]
    assert read_lines(output / "check.target") == ["valid \u0085 target 2", "valid \u0085 target 4"]
    assert (output / "downloads/multi30k/train.source.gz").is_file()


def test_far_sets_can_be_chosen(given):
    flags, _, output = given
    main([*flags, "--far", "mscoco"])
    assert json.loads((output / "corpus.json").read_text())["far"] == ["mscoco"]
    assert not (output / "newstest2015.source").exists()
    with pytest.raises(HeadroomError, match="no far-domain set 'moon': it has mscoco, newstest2015"):
        main([*flags, "--far", "moon"])


def test_truncated_mirror_file_stops_everything_before_a_corpus_is_written(given):
    flags, mirror, output = given
    broken = mirror / "test.target.gz"
    broken.write_bytes(broken.read_bytes()[:-5])
    with pytest.raises(HeadroomError, match=r"test\.target\.gz: wrong checksum, expected sha256 \w{64}"):
        main(flags)
    assert {path.name for path in output.iterdir()} == {"downloads"}
    assert not list(output.rglob("*test.target*"))


def test_unknown_dataset_is_refused(given):
    with pytest.raises((HeadroomError, SystemExit)):
        main([*given[0], "--dataset", "europarl"])
