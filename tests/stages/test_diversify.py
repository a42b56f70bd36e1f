"""The diversify stage on a tiny run."""

import pytest
from headroom import diversify
from headroom.ground.errors import HeadroomError
from headroom.ground.tables import read_table


def arguments(toy, output):
    return [
        *("--study", "toy", "--run", "translation.baseline.seed1"),
        *("--checkpoints", *map(str, toy.checkpoints)),
        *("--vocabulary", str(toy.data), "--corpus", str(toy.corpus), "--device", "cpu"),
        *("--output", str(output), "--sentences", "10"),
    ]


def test_a_row_per_epoch_site_and_measure(toy, tmp_path):
    diversify.main(arguments(toy, tmp_path / "diversity.csv"))
    table = read_table(tmp_path / "diversity.csv", diversify.COLUMNS)
    assert list(table.columns) == list(diversify.COLUMNS)
    assert len(table) == 2 * 6 * 3
    assert set(table["epoch"]) == {1, 2}
    assert table["value"].between(-1, 1).all()
    maps = table[table["measure"] == "attention_cosine"]
    assert set(maps["signature"]) == {"mean:pairs-of-heads|set:check|sentences:10"}
    counts = table.groupby(["kind", "layer"]).size()
    assert sorted(counts.index) == [(kind, layer) for kind in "ADE" for layer in (1, 2)]


def test_a_truncated_checkpoint_is_named_and_nothing_is_written(toy, tmp_path):
    broken = tmp_path / "epoch1.pt"
    broken.write_bytes(toy.checkpoints[0].read_bytes()[:1000])
    given = arguments(toy, tmp_path / "diversity.csv")
    given[given.index("--checkpoints") + 1] = str(broken)
    with pytest.raises(HeadroomError, match=r"epoch1\.pt"):
        diversify.main(given)
    assert not (tmp_path / "diversity.csv").exists()
