"""Claims about several languages, domains and tasks, decided across small studies written by hand."""

import inspect
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from claims.claim_tables import OTHER_RUN, RUN, classified, curve, effects, offset, role, scored, study, tracked
from headroom.claims import comparison
from headroom.claims.comparison import Finding, compare
from headroom.claims.comparison_rows import curve_rows, difference_rows, verdict_rows
from headroom.claims.entries import all_claims, rule_across
from headroom.claims.finished import GENERATED, Corpus, FinishedStudy, read_finished
from headroom.claims.rows import Row
from headroom.claims.verdict import FAILS, HOLDS, NOT_RUN, UNDECIDED
from headroom.core.errors import HeadroomError
from headroom.core.statistics import half_width
from headroom.core.tables import CLAIMS, COMPARISON, COMPARISON_CURVES, NUMBERS

GERMAN = Corpus("multi30k", ("english", "german"))
FRENCH = Corpus("multi30k", ("english", "french"))
NEWS = Corpus("news", ("english", "german"))
SVGD = "translation.svgd.seed1"
HOSTILE = '<script>alert("1")</script>{}\n,"&'
SUBJECT, OBJECT = "nsubj:to-dependent", "obj:to-dependent"


def finished(
    place: Path, name: str = "one", corpora: Mapping[str, Corpus] | None = None, **tables: Iterable[Row]
) -> FinishedStudy:
    """Write the tables of a study and return it; its translation is English to German unless it is said."""
    own = study(place / name.encode().hex(), **{table: list(rows) for table, rows in tables.items()})
    return FinishedStudy(name, own, corpora={"translation": GERMAN} if corpora is None else corpora)


def found(claim: str, unlike: str, *studies: FinishedStudy) -> Finding:
    (one,) = [one for one in compare(studies) if (one.claim.id, one.unlike) == (claim, unlike)]
    return one.finding


def test_every_rule_has_an_entry_that_gives_its_thresholds() -> None:
    entries = {entry.decide for claim in all_claims().values() for entry in claim.across.values()}
    rules = {
        f"comparison.{name}"
        for name, function in inspect.getmembers(comparison, inspect.isfunction)
        if function.__annotations__.get("return") is Finding and not name.startswith("_")
    }
    assert entries == rules
    asked = [(claim, unlike) for claim in all_claims().values() for unlike in claim.across]
    assert [(claim.id, unlike) for claim, unlike in asked] == [
        ("M6", "domains"),
        ("M15", "tasks"),
        ("V6", "languages"),
        ("V6", "domains"),
        ("R2", "tasks"),
    ]
    for claim, unlike in asked:
        assert callable(rule_across(claim, unlike))
        assert "{" not in claim.across[unlike].rule_text


def test_a_rule_across_studies_without_its_thresholds_is_named() -> None:
    claim = all_claims()["V6"]
    entry = claim.across["languages"]
    wrong = claim.model_copy(update={"across": {"languages": entry.model_copy(update={"thresholds": {}})}})
    with pytest.raises(HeadroomError, match=r"claim V6: across: languages: .*should be alike"):
        rule_across(wrong, "languages")


# V6


def model(*held: str, run: str = RUN, examined: Iterable[str] = (SUBJECT, OBJECT)) -> dict[str, list[Row]]:
    """Return the tables of one model that was examined for both neighbours and these relations."""
    stats = [*offset("E1:1", 0.9, 0.9), *offset("E1:2", 0.9, 0.9, target="+1")]
    stats += [row for target in examined for row in tracked("E1:3", target, (0.2, 0.2))]
    roles = [role("E1:1", target) for target in held]
    return {name: [row | {"run": run} for row in rows] for name, rows in (("attention_stats", stats), ("roles", roles))}


def both(*models: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    return {name: [row for one in models for row in one.get(name, [])] for name in ("attention_stats", "roles")}


@pytest.mark.parametrize(
    ("held", "verdict", "share"),
    [(("-1", "+1", SUBJECT), HOLDS, 1.0), (("-1", "+1", OBJECT), UNDECIDED, 0.5), ((OBJECT,), FAILS, 0.0)],
)
def test_v6_across_languages_is_the_share_of_common_functions(
    tmp_path: Path, held: tuple[str, ...], verdict: str, share: float
) -> None:
    one = finished(tmp_path, "one", **model("-1", "+1", SUBJECT))
    other = finished(tmp_path, "other", {"translation": FRENCH}, **model(*held))
    decided = found("V6", "languages", one, other)
    assert (decided.verdict, decided.numbers[0].found.value) == (verdict, share)  # 3 of 3, 2 of 4, 0 of 4
    assert [(case.study, case.other) for case in decided.cases] == [("one", "other")]


@pytest.mark.parametrize("corpus", [GERMAN, NEWS, Corpus(GENERATED), Corpus("files of mine")])
def test_v6_across_languages_needs_several(tmp_path: Path, corpus: Corpus) -> None:
    one = finished(tmp_path, "one", **model("-1"))
    decided = found("V6", "languages", one, finished(tmp_path, "other", {"translation": corpus}, **model("-1")))
    assert decided.verdict == UNDECIDED
    assert "one more study of translation between other languages" in decided.needed
    assert decided.cases == ()


def test_v6_across_languages_needs_functions(tmp_path: Path) -> None:
    one = finished(tmp_path, "one", **model())
    decided = found("V6", "languages", one, finished(tmp_path, "other", {"translation": FRENCH}, **model()))
    assert (decided.verdict, decided.cases) == (UNDECIDED, ())
    assert decided.needed == "models whose heads have functions"


def test_v6_of_generated_text_alone_needs_two_studies(tmp_path: Path) -> None:
    made = [finished(tmp_path, name, {"translation": Corpus(GENERATED)}, **model("-1")) for name in ("one", "other")]
    decided = found("V6", "languages", *made)
    assert decided.verdict == UNDECIDED
    assert "two studies of translation between different languages" in decided.needed


def test_v6_is_not_run_where_no_roles_were_examined(tmp_path: Path) -> None:
    studies = [finished(tmp_path, name, evaluation=scored(baseline=[30])) for name in ("one", "other")]
    decided = found("V6", "languages", *studies)
    assert decided.verdict == NOT_RUN
    assert decided.needed


def test_v6_counts_what_both_were_examined_for(tmp_path: Path) -> None:
    one = finished(tmp_path, "one", **model("-1", SUBJECT, OBJECT))
    no_trees = finished(tmp_path, "other", {"translation": FRENCH}, **model("-1", examined=()))
    assert found("V6", "languages", one, no_trees).numbers[0].found == (1, 1, 1)


def test_v6_is_about_ordinary_training_and_shows_seeds_beside(tmp_path: Path) -> None:
    seeds = both(model("-1", "+1"), model("-1", run=OTHER_RUN), model(OBJECT, run=SVGD))
    one = finished(tmp_path, "one", **seeds)
    decided = found("V6", "languages", one, finished(tmp_path, "other", {"translation": FRENCH}, **model("-1", "+1")))
    numbers = {number.name: number.found for number in decided.numbers}
    assert numbers["common"] == (0.75, 0.5, 1.0)  # 2 of 2 with the first seed, 1 of 2 with the second
    assert numbers["seeds"] == (0.5, 0.5, 0.5)
    assert numbers["models"].value == 3
    assert decided.verdict == UNDECIDED


def test_v6_across_domains_asks_the_same_languages(tmp_path: Path) -> None:
    one = finished(tmp_path, "one", **model("-1"))
    french = finished(tmp_path, "french", {"translation": FRENCH}, **model("+1"))
    news = finished(tmp_path, "news", {"translation": NEWS}, **model("-1"))
    assert found("V6", "domains", one, french).verdict == UNDECIDED
    unknown = finished(tmp_path, "unknown", {"translation": Corpus("", GERMAN.languages)}, **model("-1"))
    assert found("V6", "domains", one, unknown).verdict == UNDECIDED
    decided = found("V6", "domains", one, french, news)
    assert (decided.verdict, [(case.study, case.other) for case in decided.cases]) == (HOLDS, [("one", "news")])


# M6


def agreement(value: float, far: str = "far", **more: Any) -> dict[str, list[Row]]:
    rows = [
        {"kind": "all", "set_a": "test", "set_b": far, "statistic": statistic, "dropped": dropped}
        | {"value": value, "low": value - 0.2, "high": value + 0.2}
        | more
        for statistic, dropped in (("pearson", 0), ("spearman", 0), ("pearson", 5))
    ]
    return {"agreement": rows, "ablation": [row | more for row in effects([0.0] * 24)]}


@pytest.mark.parametrize(("value", "verdict"), [(0.6, HOLDS), (0.1, UNDECIDED), (-0.1, FAILS)])
def test_m6_holds_where_all_pairs_of_domains_do(tmp_path: Path, value: float, verdict: str) -> None:
    one = finished(tmp_path, "one", **agreement(0.7))
    decided = found("M6", "domains", one, finished(tmp_path, "other", {"translation": NEWS}, **agreement(value)))
    assert decided.verdict == verdict
    assert [(case.study, case.part, case.verdict) for case in decided.cases] == [
        ("one", "far", HOLDS),
        ("other", "far", verdict),
    ]
    assert decided.numbers[0].found.value == 1 + (verdict == HOLDS)


def test_m6_counts_repetitions_of_one_pair_once(tmp_path: Path) -> None:
    again = [finished(tmp_path, name, **agreement(0.7)) for name in ("one", "other")]
    decided = found("M6", "domains", *again)
    assert decided.verdict == UNDECIDED
    assert "far domain" in decided.needed
    two = finished(tmp_path, "two", agreement=[*agreement(0.7)["agreement"], *agreement(0.7, "mtnt")["agreement"]],
                   ablation=effects([0.0] * 24))  # fmt: skip
    assert found("M6", "domains", again[0], two).verdict == HOLDS


def test_m6_is_not_run_without_agreement(tmp_path: Path) -> None:
    assert found("M6", "domains", finished(tmp_path, "one"), finished(tmp_path, "other")).verdict == NOT_RUN


# M15


def classifier(place: Path, name: str, task: str, half: float) -> FinishedStudy:
    rows = classified(curve([100] * 5 + [half, 95, 90, 80, 60, 50], width=0.15))
    return finished(
        place, name, {task: Corpus(task)}, pruning=[row | {"run": f"{task}.baseline.seed1"} for row in rows]
    )


@pytest.mark.parametrize(
    ("task", "half", "verdict"), [("cola", 99, HOLDS), ("cola", 97, UNDECIDED), ("sst2", 99, FAILS)]
)
def test_m15_holds_where_all_tasks_do(tmp_path: Path, task: str, half: float, verdict: str) -> None:
    small = finished(tmp_path, "small", pruning=curve([100, 100, 99, 80, 60]))
    decided = found("M15", "tasks", small, classifier(tmp_path, "other", task, half))
    assert [case.verdict for case in decided.cases] == [HOLDS, verdict]
    assert decided.verdict == verdict
    assert bool(decided.needed) == (verdict == UNDECIDED)


def test_m15_needs_several_tasks(tmp_path: Path) -> None:
    one, same = (classifier(tmp_path, name, "cola", 99) for name in ("one", "same"))
    decided = found("M15", "tasks", one, same)
    assert (decided.verdict, decided.numbers[0].found.value) == (UNDECIDED, 2)
    assert "another task" in decided.needed
    other_text = finished(tmp_path, "a", pruning=curve([100, 100, 99, 80, 60]))
    assert found("M15", "tasks", one, same, other_text).verdict == HOLDS


# R2

BASE = [30.0, 31.0, 32.0]


def repulsive(place: Path, name: str, task: str, gains: list[float]) -> FinishedStudy:
    scores = scored(baseline=BASE, svgd=[base + gain for base, gain in zip(BASE, gains)])
    rows = [row | {"run": row["run"].replace("translation", task)} for row in scores]
    return finished(place, name, {task: Corpus(task)}, evaluation=rows)


def test_r2_holds_where_every_task_gains(tmp_path: Path) -> None:
    one = repulsive(tmp_path, "one", "translation", [0.8, 0.9, 0.7])
    decided = found("R2", "tasks", one, repulsive(tmp_path, "other", "sst2", [0.5, 0.6, 0.4]))
    assert decided.verdict == HOLDS
    assert [round(case.number.found.value, 3) for case in decided.cases] == [0.8, 0.5]
    decided = found("R2", "tasks", one, repulsive(tmp_path, "sure", "sst2", [-0.5, -0.6, -0.4]))
    assert (decided.verdict, decided.numbers[0].found.value) == (FAILS, 1)
    decided = found("R2", "tasks", one, repulsive(tmp_path, "wide", "sst2", [-0.5, 0.6, -0.4]))
    assert decided.verdict == UNDECIDED
    assert "wide, sst2: about" in decided.needed


def test_r2_is_refuted_by_an_interval_corrected_for_the_number_of_tasks(tmp_path: Path) -> None:
    one = repulsive(tmp_path, "one", "translation", [0.8, 0.9, 0.7])
    spread = 0.1  # standard deviation over three seeds of -0.1, 0 and 0.1
    loss = -spread * (half_width(3) + half_width(3, 2)) / 2  # below 0 by the plain interval alone
    decided = found("R2", "tasks", one, repulsive(tmp_path, "other", "sst2", [loss - 0.1, loss, loss + 0.1]))
    assert [case.verdict for case in decided.cases] == [HOLDS, UNDECIDED]
    assert decided.verdict == UNDECIDED


def test_r2_needs_several_tasks_and_seeds(tmp_path: Path) -> None:
    one = repulsive(tmp_path, "one", "translation", [0.8, 0.9, 0.7])
    decided = found("R2", "tasks", one, finished(tmp_path, "none", evaluation=scored(baseline=BASE)))
    assert (decided.verdict, decided.needed[:24]) == (UNDECIDED, "a study of another task,")
    single = finished(tmp_path, "single", {"translation": NEWS}, evaluation=scored(baseline=[30], svgd=[31]))
    assert found("R2", "tasks", one, single).verdict == UNDECIDED


# rows


def test_rows_are_written_whatever_studies_are_called(tmp_path: Path) -> None:
    studies = [classifier(tmp_path, HOSTILE, "cola", 99), finished(tmp_path, "plain", pruning=curve([100, 99, 98, 97]))]
    rows = list(verdict_rows(studies, compare(studies)))
    COMPARISON.write(tmp_path / "comparison.csv", rows)
    read = COMPARISON.read(tmp_path / "comparison.csv")
    assert not read.duplicated(list(COMPARISON.key)).any()
    assert set(read["study"]) == {"", HOSTILE, "plain"}
    cases = read[(read["claim"] == "M15") & (read["study"] == HOSTILE)]
    assert list(cases["verdict"]) == [HOLDS]
    assert all(words.count("{}") == 1 for words in read["words"] if words)

    COMPARISON_CURVES.write(tmp_path / "curves.csv", curve_rows(studies))
    curves = COMPARISON_CURVES.read(tmp_path / "curves.csv")
    assert not curves.duplicated(list(COMPARISON_CURVES.key)).any()
    own = curves[curves["study"] == HOSTILE]
    assert list(own["removed"]) == [place / 10 for place in range(11)]
    # of 100 %, half are chance: 90 % are 0.8 of what is above it
    assert own["value"].iloc[7] == pytest.approx(0.8)
    assert (own["low"].iloc[7], own["high"].iloc[7]) == (pytest.approx(0.797, abs=1e-3), pytest.approx(0.803, abs=1e-3))


def verdict_row(name: str, value: float, half: float = math.nan, **more: Any) -> Row:
    usual = {"claim": "M7", "across": "", "study": name, "task": "translation", "name": "removable", "unit": "share"}
    bounds = {"value": value, "low": value - half, "high": value + half}
    return usual | {"words": "{} of heads removable"} | bounds | more


def test_differences_are_of_the_same_number_in_two_studies() -> None:
    rows = [
        verdict_row("one", 0.5, 0.03),
        verdict_row("two", 0.3, 0.04),
        verdict_row("two", 0.5, 0.04, words="{} of the score kept"),
        verdict_row("three", 0.5),  # without an interval
        verdict_row("three", 0.5, 0.0, task="sst2"),  # one without any width
        verdict_row("one", 0.4, 0.03, task="sst2", across="tasks"),
    ]
    (difference,) = difference_rows(rows)
    assert (difference["study"], difference["other"], difference["comparisons"]) == ("one", "two", 1)
    assert [difference[name] for name in ("value", "low", "high")] == pytest.approx([0.2, 0.15, 0.25])  # 3, 4, 5
    assert difference["differs"] == 1


def test_more_differences_are_corrected_for() -> None:
    rows = [verdict_row("one", 0.5, 0.03), verdict_row("two", 0.446, 0.04), verdict_row("three", 0.446, 0.04)]
    alone = list(difference_rows(rows[:2]))
    assert [row["differs"] for row in alone] == [1]
    assert [row["differs"] for row in difference_rows(rows)] == [0, 0, 0]


# studies on disk


def write_study(place: Path, study_name: str, languages: tuple[str, str], **corpus: Any) -> Path:
    """Write a study with one model, its claims not decided yet, and return where it is."""
    results = place / study_name
    study(results, **model("-1"))
    CLAIMS.write(results / CLAIMS.path, [])
    NUMBERS.write(results / NUMBERS.path, [])
    (results / "configuration.json").write_text(json.dumps({"translation": {"corpus": corpus}}))
    prepared = results / "translation" / "corpus"
    prepared.mkdir(parents=True)
    (prepared / "corpus.json").write_text(json.dumps(dict(zip(("source_language", "target_language"), languages))))
    return results


def test_languages_and_domains_are_those_of_the_text(tmp_path: Path) -> None:
    places = [
        write_study(tmp_path, "multi30k", ("English", "German"), source="catalogue", dataset="multi30k"),
        write_study(tmp_path, "hub", ("en", "de"), source="hub", dataset="news", name="small"),
        write_study(tmp_path, "own", ("source", "target"), source="files", test={"source": "a", "target": "b"}),
        write_study(tmp_path, "made", ("generated English", "invented language"), source="generated"),
        write_study(tmp_path, "wmt", ("en", "fr"), source="sacrebleu", test="wmt14/full"),
    ]
    corpora = {one.name: one.corpus("translation") for one in read_finished(places)}
    assert corpora == {
        "multi30k": Corpus("multi30k", ("english", "german")),
        "hub": Corpus("news small", ("english", "german")),
        "own": Corpus("files of own"),
        "made": Corpus(GENERATED),
        "wmt": Corpus("wmt14/full", ("english", "french")),
    }


def test_what_was_not_run_is_named_for_every_study(tmp_path: Path) -> None:
    ready = write_study(tmp_path, "one", ("en", "de"), source="hub", dataset="news")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / CLAIMS.path).touch()
    with pytest.raises(HeadroomError) as caught:
        read_finished([ready, tmp_path / "starter", tmp_path / "sst2", tmp_path / "half"])
    lines = str(caught.value).split("\n")
    assert [line.partition(": ")[0] for line in lines] == [str(tmp_path / name) for name in ("starter", "sst2", "half")]
    assert lines[0].endswith("run it first: make study")
    assert lines[1].endswith("run it first: make study STUDY=studies/sst2.yaml")
    assert "not finished, numbers.csv missing" in lines[2]


def test_one_study_is_none_to_compare(tmp_path: Path) -> None:
    ready = write_study(tmp_path, "one", ("en", "de"), source="hub", dataset="news")
    with pytest.raises(HeadroomError, match="at least two studies; name their results"):
        read_finished([ready])
    with pytest.raises(HeadroomError, match="another study is named 'one' too; give each study once"):
        read_finished([ready, ready])
