"""Five whole studies: their tables are as declared, say what the rules say, and come out the same when run again."""

import csv
import json
import math
import re
import tarfile
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import pandas
import pytest
from golden.conftest import Golden
from golden.write import HERE, KINDS, run_once, sections_of
from headroom.claims import stage as claims_stage
from headroom.experiments.tables import REGISTRY
from headroom.study.configuration import paths_in
from study import rows, run_stage, tables_of

RIGHT_OR_WRONG = {"p_mcnemar", "p_unpaired"}
TESTED = {*RIGHT_OR_WRONG, "p", "p_sacrebleu", "p_holm", "p_bh"}  # not of divergences
MAY_BE_EMPTY = {
    "ablation": TESTED,
    "keep_one": {*TESTED, "chosen_on"},
    "pruning_compared": {*TESTED, "normalised", "removed", "calibration_error"},
    "bakeoff_retraining": {"criterion", "removed"},
    "bakeoff": {"run", "set", "metric", "value", "low", "high", "p"},
    "agreement": {"of", "normalised", "k", "value", "low", "high", "ceiling"},
    "pruning": {*TESTED, "normalised", "removed", "calibration_error"},
    "pruning_epochs": {*TESTED, "removed", "calibration_error"},
    "attention_stats": {"kind", "layer", "head", "target", "trees", "baseline", "low", "high"},
    "roles": {"trees", "baseline", "low", "high"},
    "timing": {"cache_bytes"},
    "phenomena": {"random", "beyond", "beyond_low", "beyond_high", "p"},
    "relevance": {"kind", "layer", "head", "low", "high"},
    "removal": {"removed"},
    "removable": {"removed", "normalised", "tolerance"},
    "pruned_models": {"undecided", "removed"},
    "claims": {
        *("task", "part", "value", "low", "high", "unit", "number", "side", "threshold", "refuted", "barrier"),
        *("these_low", "these_high", "spread", "votes", "ground", "trainings", "needed", "signature"),
    },
    "numbers": {
        *("part", "value", "low", "high", "these_low", "these_high", "least", "most"),
        *("side", "threshold", "refuted", "words"),
    },
}
"""Cells that may be empty. The values among them are undefined where a model scores nothing, as tiny ones do."""

MAY_HAVE_NO_ROW = {"roles", "distances"}
"""Tables that may have no row: no head of a tiny model need hold a role, and text that is brought has no trees."""

ALIKE = 1e-5
"""Up to this difference, absolute or relative, numbers are the same."""

FEW, FAR = 25, 3e-4
"""How many cells of a study may differ by more, and up to what: another processor adds in another order.

Of 252,402 cells 7 did with AVX2 in place of AVX-512, of agreement and scores, and 21 without either, of relevance, too.
"""

P_FAR = 0.05
"""Up to what p may differ, which counts resamples in hundredths, or divides an effect near zero by its error."""

NOT_COMPARED = {"trainings", "spread", "spread_trainings", "needed"}
"""Columns of hashes of all digits of losses, and of what the shipped studies say of other trainings."""


def cells_unlike(first: Path, second: Path) -> Iterator[tuple[str, int, str, str, str]]:
    """Yield what differs between two directories of results, but not of times: table, row, column, and both cells."""
    names, others = (
        {name for name in tables_of(place) if name.split("/")[0].removesuffix(".csv") in REGISTRY.by_name}
        for place in (first, second)
    )
    assert names == others
    for name in sorted(names):
        for place, (ours, theirs) in enumerate(zip(rows(first / name), rows(second / name), strict=True)):
            assert ours.keys() == theirs.keys(), name
            for column, cell in ours.items():
                if column not in NOT_COMPARED and not are_alike(cell, theirs[column], ALIKE):
                    yield name, place, column, cell, theirs[column]


def are_alike(one: str, other: str, within: float) -> bool:
    try:
        return one == other or math.isclose(float(one), float(other), rel_tol=within, abs_tol=within)
    except ValueError:
        return False


def test_tables_are_as_declared(golden: Golden) -> None:
    wrong: list[tuple[str, ...]] = []
    for path in (*paths_in(golden.results), golden.results / "claims.csv", golden.results / "numbers.csv"):
        name = path.stem if path.parent == golden.results else path.parent.name
        table = REGISTRY.by_name[name]
        frame = table.read(path)  # its types
        text = pandas.read_csv(path, dtype=str, keep_default_na=False)
        wrong += [(path.name, "columns")] if tuple(frame) != table.names else []
        wrong += [(path.name, "no row")] if frame.empty and name not in MAY_HAVE_NO_ROW else []
        wrong += [(path.name, "two rows of a key")] if table.key and text.duplicated(list(table.key)).any() else []
        empty = {column for column in text if (text[column] == "").any()} - MAY_BE_EMPTY.get(name, set())
        wrong += [(name, path.name, column, "empty") for column in sorted(empty)]
        wrong += [(path.name, "no number")] if text.isin(["nan", "NaN", "inf", "-inf"]).to_numpy().any() else []
    assert not wrong, wrong


def test_every_table_is_in_the_studies() -> None:
    found = set()
    for kind in KINDS:
        with tarfile.open(HERE / f"{kind}.tar.xz") as packed:
            tables = [name.removesuffix(".csv").split("/") for name in packed.getnames() if name.endswith(".csv")]
            found |= {place[2] for place in tables}
    assert set(REGISTRY.by_name) - found == {"minimal_pairs"}  # stages/test_minimal_pairs


def test_sliced_models_equal_masked_ones(golden: Golden) -> None:
    for run, found in golden.tables.removal.groupby("run"):
        checks = found.set_index("check")["value"]
        assert checks["identical_outputs"] == 1, run
        assert checks["largest_logit_difference"] < 1e-4, run
        removes = found["heads_removed"].iloc[0] > 0
        assert (checks["parameters_sliced"] < checks["parameters_full"]) == removes, run


def test_claims_decided_again_are_the_same(golden: Golden, tmp_path: Path) -> None:
    configuration = ["--configuration", str(golden.results / "configuration.json")]
    written = ["--output", str(tmp_path / "claims.csv"), "--numbers", str(tmp_path / "numbers.csv")]
    tables = ["--study", golden.results.name, "--tables", *map(str, paths_in(golden.results))]
    run_stage(claims_stage, [*tables, *configuration, *written])
    for name in ("claims.csv", "numbers.csv"):
        pairs = zip(read(golden.results / name), read(tmp_path / name), strict=True)
        wrong = [pair for pair in pairs if not all(map(are_alike, *pair, repeat(1e-6)))]
        assert not wrong, wrong[:3]


def read(path: Path) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as stream:
        found = csv.DictReader(stream)
        return [
            [*(found.fieldnames or ())],
            *([own for name, own in row.items() if name not in NOT_COMPARED] for row in found),
        ]


def test_the_page_has_the_golden_sections(golden: Golden) -> None:
    expected, found = json.loads((HERE / "sections.json").read_text("utf-8")), sections_of(golden.path)
    assert list(found) == list(expected[golden.results.name])
    for section, parts in expected[golden.results.name].items():
        assert found[section] == parts, section


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_study_run_again_has_the_golden_tables(golden: Golden, tmp_path_factory: pytest.TempPathFactory) -> None:
    kind = golden.results.name
    project = run_once(tmp_path_factory, kind)
    unlike = list(cells_unlike(golden.results, project.root / "results" / kind))
    of_p = [cell for cell in unlike if re.match("p(_|$)", cell[2])]
    others = [cell for cell in unlike if cell not in of_p]
    far = [cell for cells, most in ((of_p, P_FAR), (others, FAR)) for cell in cells if not are_alike(*cell[3:], most)]
    assert not far, far
    assert len(others) <= FEW, others
    assert (project.root / "reports" / f"{kind}.html").is_file()
