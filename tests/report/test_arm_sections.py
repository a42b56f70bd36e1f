"""The section about arms: exhibits worked out by hand, and whole pages of planted studies with many arms."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from headroom.report.__main__ import main
from headroom.report.claims import evaluate_claims
from headroom.report.claims.verdict import FAILS, HOLDS, NOT_RUN, UNDECIDED, Estimate
from headroom.report.exhibits import Exhibit
from headroom.report.figures import arms as figures
from headroom.report.sections import arm_cost, arm_overlaps, arm_quality, arm_updates, repulsion, training
from headroom.report.study_tables import StudyTables
from lxml import html
from report.arm_tables import REPULSION, Planted, arm, configuration, known, write_arm_study
from report.claim_tables import scored, study

CONTROLS = (
    arm("baseline"),
    arm("svgd", score=30.8, likeness=0.3, steepness=1.5, factor=1.2, handed=0.01),
    arm("scaled", score=30.8, handed=0.01),
    arm("noise", score=29.8, handed=0.01),
    *(arm(f"disagreement-{name}", score=30.3, likeness=0.35) for name in ("subspace", "position", "output")),
    arm("repulsion-loss", score=30.5, likeness=0.22),
    arm("headmask", score=30.6, steepness=2.2, likeness=0.5),
    arm("drophead", score=30.7, steepness=1.8, likeness=0.52),
)
"""Ten arms; a scaled gradient has all of what svgd gains, which takes a fifth longer."""

COUNTS = (
    arm("baseline"),
    arm("svgd", score=30.8, likeness=0.3),
    *(arm(f"baseline-{heads}", "baseline", heads=heads, score=score) for heads, score in ((1, 20), (16, 10))),
    *(arm(f"svgd-{heads}", "svgd", heads=heads, score=score) for heads, score in ((4, 31.2), (16, 10.5))),
)
"""Models with more heads than eight are far worse."""

PLACES = (
    arm("baseline"),
    arm("svgd", score=31.5, likeness=0.5, steepness=4.5),
    arm("svgd-first", "svgd", sites=("first",), score=31.4),
    arm("baseline-dropout", "baseline", attention_dropout=0.1, score=30.4),
    arm("svgd-dropout", "svgd", attention_dropout=0.1, score=31.0),
)
"""Repulsion that helps, in the first layers alone too, though it makes heads more alike and models more prunable."""

STUDIES = {"repulsion": REPULSION, "controls": CONTROLS, "counts": COUNTS, "places": PLACES}

VERDICTS = {
    "repulsion": (HOLDS, HOLDS, UNDECIDED, NOT_RUN, NOT_RUN, HOLDS, HOLDS, HOLDS),
    "controls": (HOLDS, HOLDS, NOT_RUN, NOT_RUN, NOT_RUN, FAILS, FAILS, HOLDS),
    "counts": (HOLDS, HOLDS, NOT_RUN, NOT_RUN, HOLDS, HOLDS, NOT_RUN, FAILS),
    "places": (FAILS, HOLDS, NOT_RUN, HOLDS, NOT_RUN, HOLDS, NOT_RUN, FAILS),
}
"""By study, what the planted numbers say of R1 to R8."""


def tables_of(directory: Path, arms: Sequence[Planted], *, seeds: int = 3, task: str = "translation") -> StudyTables:
    return StudyTables(write_arm_study(directory, arms, seeds=seeds, task=task), arms=known(arms, task))


@pytest.mark.parametrize("name", STUDIES)
def test_planted_studies_get_the_verdicts_that_were_planted(name: str, tmp_path: Path) -> None:
    verdicts = evaluate_claims(tables_of(tmp_path, STUDIES[name]))
    found = {one.id: one.verdict for one in verdicts if one.id.startswith("R")}
    assert found == dict(zip((f"R{number}" for number in range(1, 9)), VERDICTS[name], strict=True))


def page_of(directory: Path, arms: Sequence[Planted], task: str = "translation") -> html.HtmlElement:
    """Write the report of a planted study, as its command does, and return the page."""
    paths = write_arm_study(directory, arms, task=task)
    settings = directory / "configuration.json"
    settings.write_text(json.dumps(configuration(arms, task)), encoding="utf-8")
    flags = ["--configuration", str(settings), "--output", str(directory / "page.html")]
    main(["--study", "arms", "--tables", *map(str, paths), *flags])
    return html.document_fromstring((directory / "page.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", STUDIES)
def test_pages_of_many_arms_are_whole(name: str, tmp_path: Path) -> None:
    document = page_of(tmp_path, STUDIES[name])
    assert (tmp_path / "page.html").stat().st_size < 1_500_000
    ids = document.xpath("//@id")
    assert len(ids) == len(set(ids))
    (section,) = document.xpath("//section[@id='repulsion']")
    shown = [figure.get("id").removeprefix("figure-") for figure in section.iter("figure")]
    counted = ["head_counts"] if name == "counts" else []
    told = ["repulsion", "head_diversity", *counted, "arm_pruning", "overlaps", "updates", "update_cost"]
    assert shown == told
    text = section.text_content()
    assert not re.search(r"\bnan\b|(^|[\s\[(])-\d", text)
    for planted in STUDIES[name]:
        assert planted.about.name in text
    drawn = {group.get("aria-label") for group in section.xpath(".//div[contains(@class, 'panels')]")}
    assert all(re.search(r"\d", label) for label in drawn)


def test_a_classifier_with_arms_is_told_the_same(tmp_path: Path) -> None:
    document = page_of(tmp_path, REPULSION, task="sst2")
    (section,) = document.xpath("//section[@id='repulsion']")
    assert "accuracy" in section.text_content()
    assert not re.search(r"BLEU|translat", section.text_content())
    shown = {figure.get("id") for figure in section.iter("figure")}
    assert "figure-head_diversity" in shown
    assert "figure-update_cost" not in shown


def test_one_seed_is_drawn_without_intervals(tmp_path: Path) -> None:
    section = repulsion.section(tables_of(tmp_path, REPULSION, seeds=1))
    assert section.remarks == ("One seed per arm: how much of a difference is the luck of the seed cannot be told.",)
    quality = section.exhibits[0]
    assert quality.shows.startswith("svgd less baseline: +")
    assert "[" not in quality.shows
    assert quality.tables[0].rows[0][2].endswith("]")  # of the run itself


def lines_of(exhibit: Exhibit, label: str) -> str:
    (row,) = [row for row in exhibit.rows if row.label == label]
    return str(row.panels[0])


def test_ten_arms_are_dots_and_only_five_are_lines(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, CONTROLS)
    exhibits = {one.name: one for one in repulsion.section(tables).exhibits}
    for name in ("disagreement-", "headmask", "drophead"):
        assert name in lines_of(exhibits["repulsion"], "Score")
    outputs = lines_of(exhibits["head_diversity"], "Outputs: cosine")
    assert len(set(re.findall(r"var\(--arm-\d\)", outputs))) == 5
    assert len(exhibits["head_diversity"].key) == 5
    assert "No line, for want of room: disagreement-position" in exhibits["head_diversity"].how
    assert len(exhibits["head_diversity"].tables[0].rows) == 10
    assert "the mean of an arm" in training.section(tables).exhibits[0].how  # 30 runs are drawn by arm


def test_long_intervals_are_cut_off() -> None:
    short = figures.Dots({"a": Estimate(1.0, 0.5, 1.5), "b": Estimate(2.0, 1.5, 2.5)})
    assert figures.limits([short], None) == pytest.approx((0.4, 2.6))  # 5 % beside the outermost ends
    long = figures.Dots({"a": Estimate(1.0, -50, 50), "b": Estimate(2.0)}, {"b": [1.5, 3.0]})
    assert figures.limits([long], None) == pytest.approx((-1.3, 5.3))  # marks from 1 to 3, as far again on both sides
    assert figures.limits([long], 0.0) == pytest.approx((-3.45, 6.45))
    alone = figures.Dots({"a": Estimate(4.0)})
    assert figures.limits([alone], None) == (0.0, 8.0)


def test_a_disturbed_round_does_not_stretch_the_axis(tmp_path: Path) -> None:
    ratios = [1.01, 1.02, 1.03, 1.02, 1.05, 1.01, 1.03, 4.3]
    rows = [
        {"arm": name, "repeat": repeat, "seconds": 2 * factor, "ratio": factor}
        for repeat, ratio in enumerate(ratios)
        for name, factor in (("baseline", 1.0), ("svgd", ratio))
    ]
    exhibit = arm_cost.exhibit(study(tmp_path, update_cost=rows))
    assert exhibit is not None
    assert exhibit.how.endswith("Not drawn: 1 outlying round (4.30 times), which the medians count.")
    assert exhibit.tables[0].rows[0][-1] == "8"
    ticks = re.findall(r">\s*(\d+(?:\.\d+)?)\s*<", str(exhibit.rows[0].panels[0]))
    assert 1 < max(map(float, ticks)) < 2
    calm = arm_cost.exhibit(study(tmp_path / "calm", update_cost=rows[:-2]))
    assert calm is not None
    assert calm.how.endswith("(R6).")


ROWS = {"baseline": [30.0, 31.0, 29.0], "svgd": [30.8, 31.9, 29.7], "spos": [30.0, 31.1, 28.9]}


def test_scores_stand_beside_their_baseline(tmp_path: Path) -> None:
    exhibit = arm_quality.exhibit(study(tmp_path, evaluation=scored(**ROWS)))
    assert exhibit is not None
    rows = {row[0]: row[1:] for row in exhibit.tables[0].rows}
    assert rows["baseline"] == ("1 2 3", "30.0 [27.5, 32.5]", "", "", "+0.80 [0.55, 1.05]")
    assert rows["svgd"] == ("1 2 3", "30.8 [28.1, 33.5]", "baseline", "+0.80 [0.55, 1.05]", "")
    assert rows["spos"][2:4] == ("baseline", "0.000 [−0.248, 0.248]")
    assert exhibit.shows == (
        "svgd less baseline: +0.80 [0.55, 1.05] BLEU on test. One other arm against their baselines, intervals without"
        " 0: better: none; worse: none."
    )


def test_arms_that_do_not_repel_are_shown_too(tmp_path: Path) -> None:
    tables = study(tmp_path, evaluation=scored(baseline=ROWS["baseline"], headmask=ROWS["svgd"]))
    section = repulsion.section(tables)
    assert section.lead == (
        "Beside them, as controls and rivals: headmask (masks random heads of a site, batch by batch)."
    )


def overlap(first: str, second: str, value: float) -> dict[str, object]:
    names = {"run": f"translation.{first}", "other": f"translation.{second}"}
    arms = {"arm": first.split(".")[0], "other_arm": second.split(".")[0]}
    return names | arms | {"task": "translation", "share": 0.25, "kept": 6, "value": value, "chance": 0.25}


def test_overlaps_between_seeds_and_between_arms(tmp_path: Path) -> None:
    rows = [
        overlap("baseline.seed1", "baseline.seed2", 0.5),
        overlap("svgd.seed1", "svgd.seed2", 0.75),
        overlap("baseline.seed1", "svgd.seed1", 0.25),
        overlap("svgd.seed2", "baseline.seed2", 0.5),  # the reference may come second
        overlap("svgd.seed1", "spos.seed1", 1.0),  # neither is the reference
    ]
    tables = study(tmp_path, evaluation=scored(**ROWS), overlap=rows)
    assert arm_overlaps.between_seeds(tables, 0.25) == {"baseline": [0.5], "svgd": [0.75]}
    assert arm_overlaps.with_reference(tables, 0.25, "baseline") == {"svgd": [0.5, 0.25]}
    exhibit = arm_overlaps.exhibit(tables)
    assert exhibit is not None
    assert exhibit.shows == (
        "Of the most important 25\u202f% of heads two seeds of baseline have 50\u202f% in common, svgd and baseline of"
        " the same seed 38\u202f%; by chance 25\u202f%."
    )
    assert exhibit.tables[0].rows == (("baseline", "50\u202f% (1)", ""), ("svgd", "75\u202f% (1)", "38\u202f% (2)"))


def test_updates_are_compared_by_norm_and_by_way(tmp_path: Path) -> None:
    training_rows = [
        {"run": f"translation.{name}.seed1", "epoch": epoch, "measure": measure, "value": value}
        for name, measure, value in (
            ("baseline", "head_gradient_norm", 2.0),
            ("svgd", "head_gradient_norm", 0.01),
            ("svgd", "plain_head_gradient_norm", 4.0),
        )
        for epoch in (1, 2)
    ]
    ways = [
        {"run": f"translation.{name}.seed1", "kind": "E", "layer": 1, "measure": "particle_step", "value": way}
        for name, way in (("baseline", 2.0), ("svgd", 3.0))
    ]
    exhibit = arm_updates.exhibit(study(tmp_path, training=training_rows, diversity=ways))
    assert exhibit is not None
    assert exhibit.shows == (
        "svgd hands the optimizer 0.0025 times the norm of the loss’s gradient, and the weights of its heads go 1.5"
        " times as far in an epoch as those of baseline."
    )
    assert exhibit.how.startswith("Adam divides every gradient by its own running size. A constant factor")
    rows = {row[0]: row[1:] for row in exhibit.tables[0].rows}
    assert rows == {"baseline": ("–", "2.00", "2.00"), "svgd": ("4.00", "0.0100", "3.00")}


@pytest.mark.parametrize("kept", ["evaluation", "diversity", "scores", "training"])
def test_arms_with_few_tables_have_a_section_or_a_line(kept: str, tmp_path: Path) -> None:
    paths = [path for path in write_arm_study(tmp_path, REPULSION) if kept in path.parts]
    section = repulsion.section(StudyTables(paths, arms=known(REPULSION)))
    expected = {
        "evaluation": {"repulsion"},
        "diversity": {"head_diversity", "updates"},
        "scores": set(),
        "training": {"updates"},
    }
    assert {one.name for one in section.exhibits} == expected[kept]
    assert bool(section.missing) == (not expected[kept])
