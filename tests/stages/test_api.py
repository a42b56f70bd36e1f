"""What a notebook calls, on a decoder of 3 x 3 heads, and on models in memory."""

from typing import Any

import headroom
import pytest
from headroom import api
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.core.interventions import Intervention
from headroom.methods.judging import Judge
from headroom.methods.slimming import lost_share
from headroom.models.causal.model import CausalModel
from models import STRINGS, letter_tokenizer
from stages.sorter import HEADS, kept_of, logits_without, metrics_of


@pytest.fixture(scope="module")
def model(sorter: Any) -> CausalModel:
    loaded: Any = headroom.load(sorter, letter_tokenizer(), "cpu")
    return loaded


def test_heads_are_scored_and_removed_as_plain_torch_does(model: CausalModel, sorter: Any) -> None:
    scores = headroom.score(model, STRINGS)
    assert sorted(scores["name"]) == sorted(map(str, HEADS))
    assert scores["score"].is_monotonic_decreasing
    rows = headroom.ablate(model, STRINGS)
    for name, value in rows[rows["metric"] == "next"].set_index("name")["value"].items():
        assert value == pytest.approx(metrics_of(logits_without(sorter, kept_of(str(name))))["next"])
    steps = headroom.curve(model, STRINGS, step=0.5)
    assert sorted(set(steps["heads_removed"])) == [0, 4, 9]


def test_the_loss_is_the_share_of_the_score_above_chance(model: CausalModel, sorter: Any) -> None:
    judge = Judge(model, api.make_set(model, STRINGS))
    removed = frozenset([Head("D", 1, 1), Head("D", 3, 2)])
    full, other = (metrics_of(logits_without(sorter, kept_of(names)))["next"] for names in ("", "D1:1 D3:2"))
    found = lost_share(judge, Intervention(removed))
    assert found.value == pytest.approx((full - other) / (full - judge.set.chance("next")))
    assert found.low <= found.value <= found.high
    nothing = lost_share(judge, Intervention(frozenset()))
    assert (nothing.value, nothing.high) == (0, 0)


def test_a_slimmer_model_is_saved_with_its_heads(sorter: Any, tmp_path: Any) -> None:
    model = headroom.load(sorter, letter_tokenizer(), "cpu")
    before = model.count_parameters()
    small = headroom.slim(model, STRINGS * 8, tolerance=0.9, by=["gradient-example", "gradient-token"])
    assert small.heads
    assert small.report["within"].iloc[: len(small.removed) + 1].all()
    small.save(tmp_path / "smaller")
    again = headroom.load(tmp_path / "smaller")
    assert again.count_parameters() < before
    assert f'"{small.heads.split()[0]}"' in (tmp_path / "smaller/heads.json").read_text()
    assert {str(head) for live in again.live_sites for head in live.removed_heads()} == set(small.heads.split())


def test_too_few_texts_show_nothing(sorter: Any) -> None:
    model = headroom.load(sorter, letter_tokenizer(), "cpu")
    assert headroom.slim(model, STRINGS[:16], tolerance=0.01).heads == ""


def test_texts_of_another_kind_are_refused(model: CausalModel) -> None:
    with pytest.raises(HeadroomError, match="a language model reads documents"):
        headroom.score(model, [("a", "b")])
    with pytest.raises(HeadroomError, match="tokenizer: missing"):
        headroom.load(model.model)
    with pytest.raises(HeadroomError, match="is not computed in a notebook"):
        headroom.score(model, STRINGS, by="ablation")
