"""The label stage: tables of where heads point, of several models, become one table of roles."""

import pytest
from headroom.core import tables
from headroom.core.errors import HeadroomError
from headroom.stages import roles
from written_tables import write_rows


def pointing(path, model, **changes):
    lead = {"study": "toy", "run": "translation.baseline.seed1", "epoch": 2, "model": model, "kind": "E", "layer": 1}
    empty = dict.fromkeys(("trees", "baseline", "low", "high"), "")
    rows = [
        {**lead, **empty, "head": 1, "measure": "offset", "target": "+1", "half": "all", "value": 0.95, "count": 9},
        {**lead, **empty, "head": 2, "measure": "offset", "target": "+1", "half": "all", "value": 0.85, "count": 9},
        *(
            {**lead, "head": 2, "measure": "relation", "target": "obj:to-governor", "trees": trees, "half": half,
             "value": value, "baseline": 0.4, "low": 0.1, "high": 0.3, "count": 50}
            for trees, value in (("gold", 0.6), ("shuffled", 0.42))
            for half in ("choose", "score")
        ),
    ]  # fmt: skip
    return write_rows(tables.ATTENTION_STATS, path, [{**row, "signature": "set:check", **changes} for row in rows])


def test_roles_of_several_tables(tmp_path):
    paths = [pointing(tmp_path / f"{name}.csv", name) for name in ("trained", "hard-concrete.E.0.01")]
    roles.main(["--pointing", *map(str, paths), "--output", str(tmp_path / "roles.csv")])
    table = tables.ROLES.read(tmp_path / "roles.csv")
    shown = table[["model", "trees", "head", "role", "target", "value", "baseline", "best"]].fillna(-1).values.tolist()
    assert shown == [
        ["trained", "", 1, "positional", "+1", 0.95, -1, 0],
        ["trained", "gold", 2, "syntactic", "obj:to-governor", 0.6, 0.4, 1],
        ["hard-concrete.E.0.01", "", 1, "positional", "+1", 0.95, -1, 0],
        ["hard-concrete.E.0.01", "gold", 2, "syntactic", "obj:to-governor", 0.6, 0.4, 1],
    ]
    assert table["signature"][0] == "set:check|share:0.9"
    assert table["signature"][1] == "set:check|margin:0.1-points"


def test_rules_are_flags(tmp_path):
    given = ["--pointing", str(pointing(tmp_path / "a.csv", "trained")), "--output", str(tmp_path / "roles.csv")]
    roles.main([*given, "--positional-share", "0.8", "--margin", "0.6", "--margin-unit", "relative"])
    table = tables.ROLES.read(tmp_path / "roles.csv")
    assert table[["head", "role"]].values.tolist() == [[1, "positional"], [2, "positional"]]
    roles.main([*given, "--margin", "0.5", "--margin-unit", "relative"])
    assert tables.ROLES.read(tmp_path / "roles.csv")["role"].tolist() == ["positional", "syntactic"]


def test_a_table_without_any_role_has_its_columns(tmp_path):
    path = pointing(tmp_path / "a.csv", "trained", value=0.1)
    roles.main(["--pointing", str(path), "--output", str(tmp_path / "roles.csv")])
    table = tables.ROLES.read(tmp_path / "roles.csv")
    assert table.empty


def test_another_table_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("study,run\n")
    with pytest.raises(HeadroomError, match=r"a\.csv: the column 'epoch' is missing"):
        roles.main(["--pointing", str(tmp_path / "a.csv"), "--output", str(tmp_path / "roles.csv")])
