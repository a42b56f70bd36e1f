import json

import pytest
from headroom.core.errors import HeadroomError
from headroom.data.labelled import read_labelled
from headroom.stages.collect_labelled import main

LABELS = ["--labels", "no", "yes"]


@pytest.fixture
def mine(tmp_path):
    """Return the flags for small files of one's own, which lie in `tmp_path / "mine"`."""
    directory = tmp_path / "mine"
    directory.mkdir()
    flags = ["--output", str(tmp_path / "corpus")]
    for name, count in {"train": 6, "valid": 5, "test": 3, "sea": 2}.items():
        lines = [f'"{name}\u0085{number}\t{("yes", "no")[number % 2]}\n' for number in range(1, count + 1)]
        (directory / f"{name}.tsv").write_text("sentence\tlabel\n" + "".join(lines))
        flags += [*(("--far", "sea") if name == "sea" else (f"--{name}",)), str(directory / f"{name}.tsv")]
    return flags


def test_corpus_has_the_common_form(mine, tmp_path):
    main([*mine, *LABELS, "--metrics", "f1", "accuracy"])
    corpus = tmp_path / "corpus"
    record = json.loads((corpus / "corpus.json").read_text())
    assert record["evaluation_sets"] == ["choose", "check", "test", "sea"]
    assert (record["far"], record["labels"], record["metrics"]) == (["sea"], ["no", "yes"], ["f1", "accuracy"])
    assert record["sizes"] == {"train": 6, "choose": 3, "check": 2, "test": 3, "sea": 2}
    assert record["origin"]["far"] == {"sea": str(tmp_path / "mine/sea.tsv")}
    assert read_labelled(corpus / "choose.tsv").first == [f'"valid\u0085{number}' for number in (1, 3, 5)]
    assert read_labelled(corpus / "check.tsv").labels == ["yes", "yes"]


def test_accuracy_is_the_metric_if_none_is_given(mine, tmp_path):
    main([*mine, *LABELS])
    assert json.loads((tmp_path / "corpus/corpus.json").read_text())["metrics"] == ["accuracy"]


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("sea", "more\tmaybe\n", r"sea\.tsv, line 4: the label 'maybe' is not among the declared ones: no, yes"),
        ("test", "more\n", r"test\.tsv, line 5 has 1 columns: expected 2"),
        ("train", "\tyes\n", r"train\.tsv, line 8: a sentence is empty"),
    ],
)
def test_a_bad_line_stops_everything_before_a_file_is_written(mine, tmp_path, name, line, message):
    with open(tmp_path / f"mine/{name}.tsv", "a") as stream:
        stream.write(line)
    with pytest.raises(HeadroomError, match=message):
        main([*mine, *LABELS])
    assert not (tmp_path / "corpus").exists()


def test_a_missing_column_is_named(mine, tmp_path):
    path = tmp_path / "mine/valid.tsv"
    path.write_text(path.read_text().replace("label", "gold", 1))
    with pytest.raises(HeadroomError, match=r"valid\.tsv, line 1: no column 'label' among sentence, gold"):
        main([*mine, *LABELS])


def test_pairs_in_one_file_alone_are_refused(mine, tmp_path):
    (tmp_path / "mine/test.tsv").write_text("sentence1\tsentence2\tlabel\na\tb\tyes\n")
    with pytest.raises(HeadroomError, match="train has single sentences, test has pairs of sentences"):
        main([*mine, *LABELS])


@pytest.mark.parametrize("name", ["test", "valid", "a/b", "../up", ""])
def test_far_set_needs_a_name_of_its_own(mine, name):
    mine[mine.index("sea")] = name
    with pytest.raises(HeadroomError, match=r"--far: '.*' cannot name a far-domain set"):
        main([*mine, *LABELS])


def test_far_set_given_twice_is_refused(mine):
    with pytest.raises(HeadroomError, match="--far sea: the name is given twice"):
        main([*mine, *LABELS, "--far", "sea", "x"])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--labels", "one"], "--labels: "),
        (["--labels", "a", "a"], "--labels: the label 'a' is given twice"),
        (["--labels", "a", "b", "c", "--metrics", "f1"], "the metric f1 needs two labels"),
    ],
)
def test_labels_and_metrics_must_fit(mine, flags, message):
    with pytest.raises(HeadroomError, match=message):
        main([*mine, *flags])
