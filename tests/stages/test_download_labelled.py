import hashlib
import json
import zipfile

import pytest
import yaml
from headroom.core.errors import HeadroomError
from headroom.data.labelled import LabelledText, read_labelled
from headroom.stages.download_labelled import main

TABLES = {
    "train.tsv": '1\t"a\u0085b\n0\tc\n1\td\n0\te\n',
    "dev.tsv": "1\tf\n0\tg\n1\tc\n",
    "test.tsv": "0\th\n1\td\n",
}


@pytest.fixture
def given(tmp_path):
    """Return flags for a small data set in the catalogue's form, and the mirror that holds it."""
    mirror = tmp_path / "mirror/cola"
    mirror.mkdir(parents=True)
    for name, content in TABLES.items():
        (mirror / name).write_bytes(content.encode())
    with zipfile.ZipFile(mirror / "far.zip", "w") as archive:
        archive.writestr("in/sea.tsv", "1\tboat\n")
    files = [
        {"path": f"cola/{path.name}", "url": "http://127.0.0.1:9/x", "bytes": path.stat().st_size,
         "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "licence": f"as {path.suffix}"}
        for path in sorted(mirror.iterdir())
    ]  # fmt: skip
    entry = {
        "title": "small",
        "labels": ["bad", "good"],
        "metrics": ["matthews", "accuracy"],
        "columns": {"sentences": [2], "label": 1, "names": {"0": "bad", "1": "good"}},
        "files": files,
        "sets": {
            "train": {"files": ["cola/train.tsv"], "examples": 4},
            "valid": {"files": ["cola/dev.tsv"], "examples": 3},
            "test": {"files": ["cola/test.tsv"], "examples": 2},
            "sea": {"files": ["cola/far.zip"], "member": "in/sea.tsv", "examples": 1},
        },
    }
    catalogue = tmp_path / "catalogue.yaml"
    catalogue.write_text(yaml.safe_dump({"cola": entry}, sort_keys=False))
    flags = ["--catalogue", str(catalogue), "--mirror", str(mirror.parent), "--output", str(tmp_path / "out")]
    return [*flags, "--dataset", "cola"], mirror, tmp_path / "out"


def test_corpus_has_the_common_form(given, caplog):
    flags, _, output = given
    main([*flags, "--far", "sea"])
    record = json.loads((output / "corpus.json").read_text())
    assert record["evaluation_sets"] == ["choose", "check", "test", "sea"]
    assert (record["far"], record["labels"], record["metrics"]) == (
        ["sea"],
        ["bad", "good"],
        ["matthews", "accuracy"],
    )
    assert record["origin"]["licences"] == ["as .tsv", "as .zip"]
    assert record["sizes"] == {"train": 4, "choose": 2, "check": 1, "test": 2, "sea": 1}
    assert record["also_in_train"] == {"choose": 1, "check": 0, "test": 1, "sea": 0}
    assert "1 of 2 examples of test are in train too" in caplog.text
    train = LabelledText(['"a\u0085b', "c", "d", "e"], None, ["good", "bad", "good", "bad"])
    assert read_labelled(output / "train.tsv", record["labels"]) == train
    assert read_labelled(output / "choose.tsv").first == ["f", "c"]
    assert read_labelled(output / "check.tsv").first == ["g"]
    assert (output / "downloads/cola/far.zip").is_file()


def test_only_what_is_needed_is_fetched(given):
    flags, mirror, output = given
    (mirror / "far.zip").unlink()
    main(flags)
    assert json.loads((output / "corpus.json").read_text())["far"] == []
    with pytest.raises(HeadroomError, match="cola has no far-domain set 'moon': it has sea"):
        main([*flags, "--far", "moon"])


def test_changed_file_in_the_mirror_stops_everything_before_a_corpus_is_written(given):
    flags, mirror, output = given
    (mirror / "test.tsv").write_text(TABLES["test.tsv"] + "1\tmore\n")
    with pytest.raises(HeadroomError, match=r"test\.tsv: wrong checksum, expected sha256 \w{64}"):
        main(flags)
    assert {path.name for path in output.iterdir()} == {"downloads"}


def test_unknown_dataset_is_refused(given, capsys):
    with pytest.raises(SystemExit):
        main([*given[0], "--dataset", "qqp"])
    assert "choose from" in capsys.readouterr().err
    with pytest.raises(HeadroomError, match="the catalogue has no data set 'rte': it has cola"):
        main([*given[0], "--dataset", "rte"])
