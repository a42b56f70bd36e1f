"""The section about what heads do on small tables: its numbers, worked out by hand."""

from pathlib import Path

from claims.claim_tables import RUN, Row, offset, rare, relevance, role, study, tracked
from headroom.experiments.roles import section as roles
from headroom.figures.spec import Figure, Section, Table, cells, list_figures


def figure(section: Section, name: str) -> Figure:
    return next(one for one in list_figures(section) if one.name == name)


def table(section: Section, name: str) -> dict[str, dict[str, str]]:
    """Return a table of a section by the first cell of its rows, each by heading."""
    (one,) = [own for fold in section.folds for own in fold.tables if own.name == name]
    assert isinstance(one, Table)
    headings, _, rows = cells(one)
    return {row[0]: dict(zip(headings, row, strict=True)) for row in rows}


def pointing() -> list[Row]:
    """Subjects are found with 30 points, objects with 15, adverbs with 2; one positional head, one for rare words."""
    found = [
        *tracked("E1:1", "nsubj:to-dependent", (0.3, 0.3)),
        *tracked("E1:2", "obj:to-governor", (0.15, 0.15)),
        *tracked("E2:1", "advmod:to-dependent", (0.02, 0.02)),
    ]
    return [*found, *offset("E2:2", 0.95, 0.9), *offset("E1:1", 0.3, 0.5, target="+2"), rare("E1:1", 0.7)]


def test_margins_stand_beside_controls_and_the_paper(tmp_path: Path) -> None:
    control = tracked("E2:2", "nsubj:to-dependent", (0.05, 0.05), model="untrained")
    section = roles.section(study(tmp_path, attention_stats=[*pointing(), *control]))
    shown = table(section, "relations")
    assert list(shown) == ["verb → subject", "object → verb", "verb → adverb"]
    assert {name: text for name, text in shown["verb → subject"].items() if name != "relation"} == {
        "best head": "E1:1", "accuracy (%)": "70.0", "position (%)": "40.0",
        "margin [95 % interval]": "30.0 [28.0, 32.0]", "untrained (points)": "5.0", "pairs": "100",
        "paper, WMT (points)": "10.0", "paper, OpenSubtitles (points)": "32.0",
        "paper, English-German (points)": "11.0", "paper, English-French (points)": "6.0",
    }  # fmt: skip
    assert (shown["object → verb"]["untrained (points)"], shown["object → verb"]["paper, WMT (points)"]) == (
        "–",
        "32.0",
    )


def test_the_distribution_of_positions_of_every_head(tmp_path: Path) -> None:
    shares = {"-1": 0.95, "+2": 0.04, "+5": 0.01}
    found = [row for target, share in shares.items() for row in offset("E2:2", share, 0.9, target=target)]
    untrained = [row | {"model": "untrained"} for row in offset("E2:2", 0.5, 0.3, target="-1")]
    section = roles.section(
        study(tmp_path, attention_stats=[*found, *offset("E1:1", 0.3, 0.5, target="+2"), *untrained])
    )
    assert table(section, "positions") == {
        "E1:1": {"head": "E1:1", "−1 (%)": "–", "+2 (%)": "30"},
        "E2:2": {"head": "E2:2", "−1 (%)": "95", "+2 (%)": "4"},
    }


def test_where_related_words_are_with_the_papers_most_frequent_position(tmp_path: Path) -> None:
    shares = {("obj", 2): 0.6, ("obj", 1): 0.25, ("nsubj", -1): 0.75, ("nsubj", -4): 0.1, ("case", -1): 0.5}
    where = {"run": RUN, "epoch": 10, "count": 40}
    found = [
        where | {"relation": relation, "position": position, "value": share}
        for (relation, position), share in shares.items()
    ]
    section = roles.section(study(tmp_path, attention_stats=pointing(), distances=found))
    shown = table(section, "distances")
    assert [list(row.values()) for row in shown.values()] == [
        ["verb → subject", "75", "–", "–", "35", "40"],
        ["verb → object", "–", "25", "60", "41", "40"],
        ["noun → preposition", "50", "–", "–", "–", "40"],
    ]
    assert list(shown["verb → object"])[1:4] == ["−1 (%)", "+1 (%)", "+2 (%)"]


def test_all_that_is_known_of_a_head_is_one_row(tmp_path: Path) -> None:
    tables = study(
        tmp_path,
        attention_stats=pointing(),
        roles=[role("E2:2", "-1")],
        relevance=list(relevance([0.8, 0.1, 0.05, 0.05], kind="E", layer=2)),
    )
    section = roles.section(tables)
    shown = table(section, "heads")
    assert list(shown) == ["E1:1", "E2:1", "E2:2", "E2:3", "E2:4"]
    first, second = shown["E1:1"], shown["E2:2"]
    assert (first["position"], first["words there (%)"], first["rare words (%)"]) == ("+2", "30.0", "70.0")
    assert (second["role"], second["position"], second["words there (%)"]) == ("−1", "−1", "95.0")
    assert shown["E2:1"]["relevance [95 % interval]"] == "3.20 [3.16, 3.24]"
    assert (first["role"], first["relevance [95 % interval]"], shown["E2:1"]["confidence"]) == ("–", "–", "–")
    (panel,) = figure(section, "relevance").panels
    assert panel.drawing.count("stroke-width:1.5") == 1  # of four even shares only 3.2 is above 1.5
