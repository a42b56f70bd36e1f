"""The stage `vocabulary` with the real fairseq-preprocess, run once for all tests."""

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.data.pieces import Pieces
from headroom.preparation.acquire import main as acquire
from headroom.preparation.vocabulary import main


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Return a corpus, with odd characters in one line, and its binarised set."""
    directory = tmp_path_factory.mktemp("prepare")
    corpus, output = directory / "corpus", directory / "binarised"
    acquire(
        ["--kind", "parallel", "--output", str(corpus), "--train", "120", "--valid", "21", "--test", "5", "--far", "5"]
    )
    lines = (corpus / "choose.source").read_bytes().split(b"\n")
    lines[3] = "The\u0085dogs\rwait\u2028 \u4e16.".encode()
    (corpus / "choose.source").write_bytes(b"\n".join(lines))
    main(["--corpus", str(corpus), "--output", str(output), "--size", "220"])
    return corpus, output


def indexed(output, split, side):
    """Return the sentences of a binarised file as pieces, as fairseq reads them."""
    from fairseq.data import Dictionary, data_utils

    dictionary = Dictionary.load(str(output / f"dict.{side}.txt"))
    prefix = str(output / f"{split}.source-target.{side}")
    data = data_utils.load_indexed_dataset(prefix, dictionary, "mmap")
    return [dictionary.string(data[index]) for index in range(len(data))]


def test_fairseq_reads_back_every_sentence(prepared):
    corpus, output = prepared
    pieces = Pieces(output / "sentencepiece.model")
    for side in ("source", "target"):
        train = read_lines(corpus / f"train.{side}")
        assert [pieces.decode(line.split(" ")) for line in indexed(output, "train", side)] == train
        valid = read_lines(corpus / f"choose.{side}") + read_lines(corpus / f"check.{side}")
        read = indexed(output, "valid", side)
        assert len(read) == len(valid) == 21
        known = [pair for pair in zip(read, valid, strict=True) if "<unk>" not in pair[0]]
        assert len(known) > 15
        assert all(pieces.decode(line.split(" ")) == sentence for line, sentence in known)


def test_odd_line_keeps_its_place_and_its_unknown_character(prepared):
    read = indexed(prepared[1], "valid", "source")
    assert Pieces(prepared[1] / "sentencepiece.model").decode(read[3].split(" ")).startswith("The dogs wait ")
    assert read[3].split().count("<unk>") == 1


def test_too_large_a_vocabulary_leaves_nothing_new(prepared, tmp_path):
    flags = ["--corpus", str(prepared[0]), "--output", str(tmp_path / "out")]
    with pytest.raises(HeadroomError, match=r"vocabulary\.size: 30000 pieces, .* allows at most \d+;"):
        main([*flags, "--size", "30000"])
    assert list((tmp_path / "out").iterdir()) == []
