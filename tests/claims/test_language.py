"""Claims about a released decoder that predicts next pieces: which are asked, of what, and by which chance."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from headroom.claims.entries import all_claims
from headroom.claims.evaluation import evaluate
from headroom.claims.verdict import HOLDS, NOT_COMPARABLE, NOT_RUN
from headroom.experiments.minimal_pairs.claims import pairs_kept
from headroom.report.first_screen import ClaimVerdict
from headroom.study.tables import RELEASED, StudyTables, TaskDescription, open_tables
from tables import Row, curve, effects, shown, study

RUN = "wikitext.baseline.seed1"
OF_DECODERS = {
    *(f"M{number}" for number in (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 13, 14, 15)),
    *("V2", "V4", "V6", "V11", "V14", "R1", "R2", "R3", "R4", "R5", "R7", "R8"),
}
"""The claims that speak of nothing that a decoder alone has not."""


def predicted(rows: Iterable[Row]) -> list[Row]:
    """Return rows as those of a decoder: next pieces in %, of which the most frequent piece is 20."""
    return [{"run": RUN, "kind": "D", "metric": "next", "chance": 20.0} | row for row in rows]


HEADS = predicted(effects([0.0] * 48, kind="D"))


def language(directory: Path, *, is_series: bool = False, **tables: Iterable[Row]) -> StudyTables:
    """Return a study of a released language model with the heads of HEADS."""
    described = {"wikitext": TaskDescription(kind="language", ground=RELEASED, is_series=is_series)}
    made = study(directory, **{"ablation": HEADS, **{name: predicted(rows) for name, rows in tables.items()}})
    return open_tables(made.files, described=described)


def verdicts_on(claims: Iterable[str], tables: StudyTables) -> dict[str, ClaimVerdict]:
    return {one.claim.id: one for one in shown(evaluate(tables, [all_claims()[name] for name in claims]), tables)}


def test_claims_are_asked_of_decoders_that_speak_of_what_they_have(tmp_path: Path) -> None:
    tables = language(tmp_path)
    found = shown(evaluate(tables), tables)
    assert {one.claim.id for one in found if one.task} == OF_DECODERS
    assert {one.claim.id for one in found if not one.task} == {"M5", "M12", "R6", *(f"V{n}" for n in ENCODER_ALONE)}
    assert {one.verdict for one in found if not one.task} == {NOT_RUN}


ENCODER_ALONE = (1, 3, 5, 7, 8, 9, 10, 12, 13)
"""The claims of Voita et al. that speak of heads of the encoder, or of several kinds."""


def test_pairs_are_those_of_the_step_nearest_to_half_of_the_heads(tmp_path: Path) -> None:
    changes = {0: (0.0, 0.0, 0.0), 4: (-1.0, -3.0, 0.5), 11: (-6.0, -9.0, -4.0), 24: (-20.0, -25.0, -15.0)}
    rows = [
        {"run": RUN, "group": group, "heads_removed": gone, "heads_total": 24, "full": 80.0, "count": 90}
        | dict(zip(("delta", "low", "high"), found))
        for group in ("", "islands")
        for gone, found in changes.items()
    ]
    (reading,) = pairs_kept(study(tmp_path, minimal_pairs=rows))
    found = {one.name: one.found for one in reading.numbers}
    assert found["pairs_kept"] == pytest.approx((0.74, 0.71, 0.76))
    assert (found["pairs_full"].value, found["pairs_removed"].value) == (0.8, 11)


def test_shares_are_of_what_is_above_the_most_frequent_piece(tmp_path: Path) -> None:
    kept = [100, 100, 100, 100, 100, 99, 97, 80, 60, 40, 20]
    (found,) = verdicts_on(["M7"], language(tmp_path, pruning=curve(kept, width=0.2))).values()
    # 97.6 % is 100 % less 3 % of 80 points: at 0.5 + 0.1 * 1.4 / 2
    assert found.ours.startswith("57 [56, 58] % of heads removable; 100 [100, 100] % of the score above chance kept")
    assert found.verdict == HOLDS
    assert "36.05" not in found.paper  # a score of translations


@pytest.mark.parametrize(("score", "words"), [(20.5, "only 0.50 {} above chance"), (10.2, "9.80 {} below chance")])
def test_a_model_near_chance_is_not_comparable(tmp_path: Path, score: float, words: str) -> None:
    rows = [row | {"value": score - row["heads_removed"] / 20, "full": score} for row in curve([100] * 11)]
    found = verdicts_on(["M7", "M9", "M15"], language(tmp_path, pruning=rows))
    assert {one.verdict for one in found.values()} == {NOT_COMPARABLE}
    assert {one.ours.partition(";")[0] for one in found.values()} == {
        f"the full model scores {words.format('points of next pieces predicted')}"
    }
