"""Every stage that looks at a trained model, on a tiny classifier of one's own: a directory and TSV files."""

from pathlib import Path

import pytest
from headroom.core import tables
from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.core.heads import parse_profile
from headroom.data.labelled import LabelledText
from headroom.engines.classification.model import ClassificationModel
from headroom.stages import ablation as ablation_stage
from headroom.stages import evaluation, keep_one, parameters, pruning, removal, timing
from headroom.stages import scores as scores_stage
from toy_encoder import toy_text, write_encoder

LABELS = ("contradiction", "entailment", "neutral")
METRICS = ["accuracy", "loss"]
QUICK = ["--resamples", "20"]


def write_tsv(path: Path, text: LabelledText) -> None:
    rows = ["sentence1\tsentence2\tlabel", *("\t".join(row) for row in zip(text.first, text.second, text.labels))]
    write_lines(path, rows)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A directory with a classifier and labelled text, as a user would bring it: no corpus.json."""
    place = tmp_path_factory.mktemp("own")
    write_encoder(place / "epoch3", labels=LABELS)
    (place / "corpus").mkdir()
    for name, examples in (("choose", 24), ("test", 30)):
        write_tsv(place / "corpus" / f"{name}.tsv", toy_text(examples=examples, labels=LABELS))
    return place


def arguments(own, output, *more, several=False):
    named = ["--task", "classification", "--study", "own", "--run", "own.baseline.seed1"]
    where = ["--checkpoints" if several else "--checkpoint", str(own / "epoch3"), "--corpus", str(own / "corpus")]
    return [*named, *where, "--device", "cpu", "--output", str(output), *more]


@pytest.fixture(scope="module")
def scores(own, tmp_path_factory):
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    scores_stage.main(arguments(own, path, "--batch-examples", "5", several=True))
    return path


@pytest.fixture(scope="module")
def ablation(own, tmp_path_factory):
    path = tmp_path_factory.mktemp("ablation") / "ablation.csv"
    ablation_stage.main(arguments(own, path, *QUICK))
    return path


def test_scores_of_every_head_and_criterion(scores):
    table = tables.SCORES.read(scores)
    assert len(table) == 8 * 4 * 2
    assert set(table["epoch"]) == {3}
    assert (table["value"] > 0).all()
    assert "loss:cross-entropy" in table["signature"][0]


def test_the_ablation_is_that_of_the_sliced_model(own, ablation, tmp_path):
    table = tables.ABLATION.read(ablation)
    assert len(table) == 2 * 8 * len(METRICS)
    model = ClassificationModel.load(own / "epoch3", "cpu")
    model.remove(parse_profile("E2:3", model.sites))
    model.save(tmp_path / "epoch3")
    evaluation.main([*arguments(own, tmp_path / "sliced.csv", *QUICK), "--checkpoint", str(tmp_path / "epoch3")])
    expected = tables.EVALUATION.read(tmp_path / "sliced.csv").set_index("metric")["value"]
    rows = table[(table["set"] == "test") & (table["layer"] == 2) & (table["head"] == 3)].set_index("metric")
    assert rows["value"].to_dict() == pytest.approx(expected.to_dict(), rel=1e-5)


def test_final_scores_of_every_metric_asked_for(own, tmp_path):
    given = arguments(own, tmp_path / "table.csv", *QUICK, "--sets", "choose", "test")
    evaluation.main([*given, "--metrics", "matthews", "f1", "accuracy"])
    table = tables.EVALUATION.read(tmp_path / "table.csv")
    assert table["metric"].tolist() == ["matthews", "f1", "accuracy", "loss"] * 2
    assert set(table["decoding"]) == {"argmax"}


def test_one_head_kept_in_every_layer(own, tmp_path):
    keep_one.main(arguments(own, tmp_path / "keep.csv", *QUICK))
    table = tables.KEEP_ONE.read(tmp_path / "keep.csv")
    assert len(table) == 2 * 8 * len(METRICS)
    chosen = table[(table["set"] == "test") & table["chosen_on"].str.contains("choose")]
    assert sorted(set(chosen["layer"])) == [1, 2]


def test_curves_by_every_order_and_within_layers(own, scores, ablation, tmp_path):
    given = arguments(own, tmp_path / "curves.csv", *QUICK, "--scores", str(scores), "--step", "0.5", several=True)
    pruning.main([*given, "--ablation", str(ablation), "--random-draws", "1", "--test-examples", "20"])
    table = tables.PRUNING.read(tmp_path / "curves.csv")
    assert len(table) == (4 * 3 + 3) * 3 * len(METRICS)
    assert set(table["scope"]) == {"all"}
    pruning.main([*given, "--only-main", "true", "--scopes", "sites"])
    table = tables.PRUNING.read(tmp_path / "curves.csv")
    assert set(table["scope"]) == {"E1", "E2"}
    assert set(table["heads_total"]) == {4}


def test_a_sliced_classifier_labels_as_the_masked_one(own, scores, tmp_path):
    given = arguments(own, tmp_path / "removal.csv", *QUICK, "--scores", str(scores))
    removal.main([*given, "--sliced", str(tmp_path / "sliced")])
    checks = tables.REMOVAL.read(tmp_path / "removal.csv").set_index("check")["value"]
    assert checks["identical_outputs"] == 1
    assert checks["largest_logit_difference"] < 1e-5
    assert sum(len(live.kept) for live in ClassificationModel.load(tmp_path / "sliced", "cpu").live_sites) == 4


def test_timing_of_the_whole_model(own, scores, tmp_path):
    few = ["--shares", "0.5", "--batch-sizes", "1", "4", "--warmup", "1", "--repeats", "2"]
    given = arguments(own, tmp_path / "timing.csv", "--scores", str(scores), "--samples", str(tmp_path / "samples.csv"))
    timing.main([*given, *few])
    table = tables.TIMING.read(tmp_path / "timing.csv")
    assert set(table["part"]) == {"model"}
    assert len(table) == 3 * 2
    assert "length:" in table["signature"][0]


def test_counts_by_hand(own, tmp_path):
    parameters.main(arguments(own, tmp_path / "parameters.csv"))
    table = tables.PARAMETERS.read(tmp_path / "parameters.csv")
    assert table[["kind", "layer", "heads"]].values.tolist() == [["E", 1, 4], ["E", 2, 4]]
    assert set(table["attention_parameters"]) == {4 * (16 * 16 + 16)}
    assert set(table["head_parameters"]) == {4 * 16 * 4 + 3 * 4}  # the output's bias stays
    model = ClassificationModel.load(own / "epoch3", "cpu")
    assert set(table["model_parameters"]) == {sum(p.numel() for p in model.model.parameters())}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "the dog\ta cat\tmaybe",
            r"test\.tsv, line 32: the label 'maybe' is not among the declared ones: contradiction",
        ),
        ("the dog\tneutral", r"test\.tsv, line 32 has 2 columns"),
        ("the dog\t\tneutral", r"test\.tsv, line 32: a sentence is empty"),
    ],
)
def test_mistakes_in_the_text_are_named(own, tmp_path, line, message):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name in ("choose", "test"):
        (corpus / f"{name}.tsv").write_text((own / "corpus" / f"{name}.tsv").read_text())
    with open(corpus / "test.tsv", "a") as stream:
        stream.write(f"{line}\n")
    with pytest.raises(HeadroomError, match=message):
        ablation_stage.main([*arguments(own, tmp_path / "table.csv", *QUICK), "--corpus", str(corpus)])
    assert not (tmp_path / "table.csv").exists()
