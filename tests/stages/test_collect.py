import json

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.data.parallel import read_parallel
from headroom.stages.collect import main


@pytest.fixture
def mine(tmp_path):
    """Return the flags for small files of one's own, which lie in `tmp_path / "mine"`."""
    directory = tmp_path / "mine"
    directory.mkdir()
    flags = ["--output", str(tmp_path / "corpus")]
    for name, lines in {"train": 6, "valid": 5, "test": 3, "sea": 2}.items():
        paths = [directory / f"{name}.{side}" for side in ("en", "xx")]
        for path in paths:
            path.write_text("".join(f"{name} {path.suffix} {number}\n" for number in range(1, lines + 1)))
        flags += [*(("--far", "sea") if name == "sea" else (f"--{name}",)), *map(str, paths)]
    return flags


def test_corpus_has_the_common_form(mine, tmp_path):
    main([*mine, "--source-language", "English", "--target-language", "Klingon"])
    corpus = tmp_path / "corpus"
    record = json.loads((corpus / "corpus.json").read_text())
    assert record["evaluation_sets"] == ["choose", "check", "test", "sea"]
    assert record["far"] == ["sea"]
    assert (record["source_language"], record["target_language"]) == ("English", "Klingon")
    assert record["sizes"] == {"train": 6, "choose": 3, "check": 2, "test": 3, "sea": 2}
    assert read_lines(corpus / "choose.target") == ["valid .xx 1", "valid .xx 3", "valid .xx 5"]
    assert read_lines(corpus / "check.source") == ["valid .en 2", "valid .en 4"]


def test_unaligned_files_stop_everything_before_a_file_is_written(mine, tmp_path):
    with open(tmp_path / "mine/sea.xx", "a") as stream:
        stream.write("one too many\n")
    with pytest.raises(HeadroomError, match=r"sea\.en has 2 lines but .*sea\.xx has 3"):
        main(mine)
    assert not (tmp_path / "corpus").exists()


def test_empty_line_is_named(mine, tmp_path):
    (tmp_path / "mine/test.xx").write_text("a\n\nc\n")
    with pytest.raises(HeadroomError, match=r"test\.xx, line 2 is empty"):
        main(mine)


def test_unicode_line_breaks_keep_the_alignment(mine, tmp_path):
    (tmp_path / "mine/test.en").write_bytes("a\u0085b\nc\u2029d\ne\n".encode())
    main(mine)
    text = read_parallel(tmp_path / "corpus/test.source", tmp_path / "corpus/test.target")
    assert text.source == ["a\u0085b", "c\u2029d", "e"]
    assert len(text) == 3


def test_test_sentences_in_training_are_warned_of(mine, tmp_path, caplog):
    (tmp_path / "mine/test.en").write_text("train .en 2\nnew\ntrain .en 4\n")
    main(mine)
    assert "2 of 3 sentences of test are in train too" in caplog.text


@pytest.mark.parametrize("name", ["test", "valid", "train", "a/b", "../up", ""])
def test_far_set_needs_a_name_of_its_own(mine, name):
    mine[mine.index("sea")] = name
    with pytest.raises(HeadroomError, match="cannot name a far-domain set"):
        main(mine)


def test_far_set_given_twice_is_refused(mine, tmp_path):
    with pytest.raises(HeadroomError, match="--far sea: the name is given twice"):
        main([*mine, "--far", "sea", "x", "y"])
