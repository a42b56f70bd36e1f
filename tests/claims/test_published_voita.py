"""The rules of the claims of Voita et al. (2019), applied to the numbers that the paper published, say what it says."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from headroom.claims.entries import all_claims, read_papers, rule_of
from headroom.claims.verdict import HOLDS, Number, Reading
from tables import Row, gated, offset, pruned, rare, relevance, role, study, tracked

VALUES: dict[str, Any] = next(paper.values for paper in read_papers() if paper.authors.startswith("Voita"))

Tables = dict[str, list[Row]]

CHANCE = 0.2
"""No less than the chance of one of the two rarest words of a sentence of ten."""

EXACT = ""
"""Published numbers without an interval are taken as exact, and have to give the verdict, too."""

RANGE = "only the largest share of all layers is published: it is taken as that of the one layer"
PAIRS = "three models: the jackknife has two degrees of freedom"
ONE_SEED = "one training each: the paper has no interval over trainings"
ORDER = "which heads stay is published by kind and layers alone: the interval over heads is made up"


def exactly_at(row: Row) -> Row:
    """Return a row whose interval has no width."""
    return row | {"low": row["value"], "high": row["value"]}


def leading_head() -> Tables:
    largest = VALUES["relevance"][1]
    return {"relevance": list(relevance((largest, *[(1 - largest) / 7] * 7), width=0.0))}


def positional_heads(language: str) -> Tables:
    pairs = [offset(f"E{layer}:1", 0.9, 0.81) for layer in range(1, VALUES["positional"][language] + 1)]
    return {"attention_stats": [row for share, confidence in pairs for row in (share, exactly_at(confidence))]}


def relations(corpus: int) -> Tables:
    rows: list[Row] = []
    for relation, published in VALUES["relations"].items():
        head, position = (number / 100 for number in published[corpus])
        margin = {"baseline": position, "low": head - position, "high": head - position}
        rows += [row | {"value": head} | margin for row in tracked("E1:1", relation, (0.0, 0.0))]
    return {"attention_stats": rows}


def rare_head(corpus: str) -> Tables:
    share = VALUES["rare"][corpus]
    return {
        "attention_stats": [rare("E1:1", share) | {"baseline": CHANCE, "low": share - CHANCE, "high": share - CHANCE}]
    }


def functions() -> Tables:
    roles: list[Row] = []
    stats: list[Row] = []
    for seed, targets in enumerate(VALUES["functions"].values(), start=1):
        run = f"translation.baseline.seed{seed}"
        roles += [role("E1:1", target, run=run) for target in targets]
        stats += [row for target in targets if ":" in target for row in tracked("E1:1", target, (0.2, 0.2), run=run)]
    return {"roles": roles, "attention_stats": stats}


def encoder_sweep(corpus: str) -> Tables:
    found = VALUES["encoder_pruned"][corpus]
    models = [of_score(kept, score, found[48]) for kept, score in found.items() if kept < 48]
    return {"pruned_models": [unchanged(48, found[48]), *models]}


def layouts(corpus: str, run: str = "translation.baseline.seed1") -> Tables:
    (_, full, _), *rows = VALUES["layouts"][corpus]
    made = [unchanged(144, full) | {"scope": "all", "run": run}]
    for kept, score, scratch in rows:
        usual = {"heads": 144, "scope": "all", "setting": sum(kept) / 100, "run": run}
        made.append(of_score(sum(kept), score, full) | usual)
        made.append(of_score(sum(kept), scratch, full) | usual | {"method": "scratch", "draw": 1})
    return {"pruned_models": made}


def of_score(kept: int, score: float, full: float) -> Row:
    """Return a pruned model of a score, of a model of another."""
    return pruned(kept, 0.0) | {"value": score, "full": full, "delta": score - full, "low": 0.0, "high": 0.0}


def unchanged(heads: int, full: float) -> Row:
    """Return the control, which is not published: models trained to the end are taken as not changed by it."""
    return of_score(heads, full, full) | {"heads": heads, "method": "continued"}


def both_corpora() -> Tables:
    parts = (layouts(corpus, f"translation.baseline.seed{seed}") for seed, corpus in enumerate(VALUES["layouts"], 1))
    return {"pruned_models": [row for part in parts for row in part["pruned_models"]]}


def survivors() -> Tables:
    before, after = VALUES["survivors"][48], VALUES["survivors"][17]
    heads = [f"E1:{head}" for head in range(1, 49)]
    roles, others = heads[: sum(before[:3])], heads[sum(before[:3]) :]
    kept = [*roles[: sum(after[:3])], *others[: after[3]]]
    return {"gates": gated(kept, heads=heads), "roles": [role(name, "-1") for name in roles]}


def sweep(sites: dict[str, list[int]], heads: int) -> Tables:
    """Return gates of a sweep that keeps these numbers of the heads of every site, the same ones as long as it can."""
    rows: list[Row] = []
    for site, kept in sites.items():
        names = [f"{site}:{head}" for head in range(1, heads + 1)]
        for setting, number in enumerate(kept):
            rows += gated(names[:number], heads=names, setting=float(setting), scope="all")
    return {"gates": rows}


def kinds() -> Tables:
    return sweep({f"{kind}1": kept for kind, kept in VALUES["by_kind"].items()}, 48)


def layers() -> Tables:
    """Return the sweep of figure 10: a layer is a pair of the paper's."""
    published = VALUES["by_layers"].items()
    return sweep({f"{kind}{layer}": kept for kind, own in published for layer, kept in enumerate(own.values(), 1)}, 16)


@pytest.mark.parametrize(
    ("claim", "part", "published", "why_no_verdict"),
    [
        ("V1", "", leading_head, RANGE),
        *(("V3", "", partial(positional_heads, language), EXACT) for language in VALUES["positional"]),
        *(("V4", "", partial(relations, corpus), EXACT) for corpus in (0, 1)),
        *(("V5", "", partial(rare_head, corpus), EXACT) for corpus in VALUES["rare"]),
        ("V6", "", functions, PAIRS),
        *(("V7", "", partial(encoder_sweep, corpus), EXACT) for corpus in VALUES["encoder_pruned"]),
        ("V8", "", survivors, ""),
        *(("V10", "", partial(layouts, corpus), EXACT) for corpus in VALUES["layouts"]),
        *(("V11", "", partial(layouts, corpus), ONE_SEED) for corpus in VALUES["layouts"]),
        ("V11", "", both_corpora, ONE_SEED),
        ("V12", "encoder heads go first", kinds, ORDER),
        ("V12", "encoder-decoder heads go last", kinds, ORDER),
        ("V13", "decoder self-attention", layers, ORDER),
        ("V13", "encoder-decoder attention", layers, ORDER),
    ],
)
def test_the_paper_passes(
    claim: str, part: str, published: Callable[[], Tables], why_no_verdict: str, tmp_path: Path
) -> None:
    found = reading(claim, part, tmp_path, published())
    assert found.asked
    assert all(is_beyond(number) for number in found.asked), found.numbers
    assert why_no_verdict or found.verdict == HOLDS


UNPUBLISHED = {
    "V2": "“to a reasonable extent”: no correlation is published",
    "V9": "functions that move are told of models with few heads, and not counted",
    "V14": "“close to 1”: no share is published",
}


def test_every_claim_has_published_numbers_or_a_reason() -> None:
    (mark,) = test_the_paper_passes.pytestmark  # type: ignore[attr-defined]
    claims = {name for name in all_claims() if name.startswith("V")}
    assert {case[0] for case in mark.args[1]} | set(UNPUBLISHED) == claims


@pytest.mark.parametrize(("corpus", "share"), [(0, 5 / 8), (1, 4 / 8)])
def test_relations_of_table_1_by_10_points(corpus: int, share: float, tmp_path: Path) -> None:
    numbers = reading("V4", "", tmp_path, relations(corpus)).numbers
    assert next(number.found.value for number in numbers if number.name == "relations") == share


def reading(claim: str, part: str, path: Path, tables: Tables) -> Reading:
    """Return what the rule of a claim reads in tables, without its preconditions."""
    entry = all_claims()[claim]
    found = rule_of(entry)(study(path, **tables), **entry.thresholds_of("translation", "translation"))
    (only,) = (one for one in found if one.part == part)
    return only


def is_beyond(number: Number) -> bool:
    """Return whether a number is on the side of its threshold that is asked for."""
    assert number.asked
    difference = number.found.value - number.asked.threshold
    return difference > 0 if number.asked.side == "above" else difference < 0
