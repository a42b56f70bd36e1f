"""What a study says to those who cite it: every number from its configuration or tables, every text escaped."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from headroom.claims.configuration import arms_in
from headroom.claims.study_tables import StudyTables
from headroom.data.catalogue import Dataset, LabelledDataset, PublishedFile, Treebank, read_entries
from headroom.report import citing as room
from headroom.report.citing import Answer, Citing, Data, bibtex, citing
from headroom.report.provenance import PACKAGES, Provenance, provenance
from headroom.settings.arms import ARMS
from lxml import html
from report.conftest import HOSTILE
from report.example_tables import write_example_study

TABLES = ("training", "evaluation", "parameters", "scores", "ablation", "pruning", "gates", "timing")

REFERENCES = yaml.safe_load((Path(room.__file__).parent / "references.yaml").read_text(encoding="utf-8"))

HOSTILE_TEXT = "\n\n## What?\n<script>window.hostile=1</script>"
HOSTILE_DATA = "## </p><img src=x onerror=window.hostile=1>"


def configuration() -> dict[str, Any]:
    """Return the configuration of a study of two tasks, with values that differ from the defaults."""
    translation = {
        "corpus": {"source": "catalogue", "dataset": "multi30k", "far": ["mscoco"]},
        "treebank": {"source": "catalogue", "treebank": "ud-english-pud"},
        "model": {"encoder_layers": 5, "decoder_layers": 2, "heads": 4, "width": 92, "feed_forward": 187},
        "training": {"epochs": 13, "learning_rate": 0.0000123, "label_smoothing": 0.07, "max_tokens": 31_000},
        "scores": {"examples": 219},
        "ablation": {"examples": None},
        "pruning": {"step": 0.15, "random_draws": 6, "criteria": ["gradient-token"], "main": "gradient-token"},
        "gates": {"updates": 141, "penalties": [0.021]},
        "timing": {"threads": 3, "repeats": 29},
    }  # fmt: skip
    sst2 = {
        "corpus": {"source": "hub", "dataset": "owner/reviews", "revision": "abc1"},
        "encoder": {"source": "new", "layers": 7, "heads": 6, "width": 66},
        "training": {"batch_size": 37, "max_length": 111},
    }
    return {
        "seeds": [1, 2],
        "sampling": {"resamples": 873},
        "translation": translation,
        "classification": {"sst2": sst2},
    }


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_example_study(tmp_path_factory.mktemp("cited"), only=TABLES, tasks=("translation", "sst2"))


def cited(paths: list[Path], configured: Any, *, study: str = "pilot", benchmarks: tuple[Path, ...] = ()) -> Citing:
    tables = StudyTables(paths, arms=arms_in(configured))
    made = provenance(tables, benchmarks=benchmarks, configuration=None)
    return citing(study, tables, configuration=configured, made=made, version="3.2.1")


def answer(found: Citing, word: str) -> Answer:
    return next(one for one in found.answers if word in one.question)


@pytest.mark.parametrize(
    "words",
    [
        "5 encoder layers, 2 decoder layers, 4 heads per attention site, width 92, feed-forward width 187",
        "(72 heads, 900\u202f000 parameters)",
        "13 epochs in float32 with peak learning rate 0.0000123,",
        "at most 31\u202f000 tokens per batch",
        "label smoothing 0.07",
        "train 29\u202f000, valid 1014, test 1000, mscoco 461;",
        "choose 500, test 500, far 500",
        "on the first 219 examples of choose",
        "every head was removed alone, judged on all examples of each set",
        "remove 15\u202f% of the heads per step, ordered by gradient per token and by single-head ablation",
        "6 random orders",
        "in 141 updates (λ 0.021; kept shares 25\u202f%, 50\u202f% and 75\u202f%)",
        "on CPU with 3 threads",
        "29 interleaved rounds",
        "BERT encoders with fresh weights, 7 layers, 6 heads per layer, width 66",
        "37 examples per update, at most 111 pieces per input",
        "873 paired bootstrap resamples",
        "noticeable from 2\u202f% of the score in translation and 3\u202f% of the score above chance",
        "headroom 3.2.1, torch ",
    ],
)
def test_methods_have_the_numbers_of_the_configuration_and_the_tables(paths: list[Path], words: str) -> None:
    assert words in "\n".join(cited(paths, configuration()).methods)


def test_no_number_of_the_template_is_typed() -> None:
    template = (Path(room.__file__).parent / "templates/prose/methods.md.j2").read_text("utf-8")
    words = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", template, flags=re.DOTALL)
    assert re.findall(r"\d+", words) == []


def test_arms_are_described_by_their_settings(paths: list[Path]) -> None:
    configured = configuration()
    configured["translation"]["arms"] = {"baseline": {}, "svgd": {"alpha": 0.4, "sites": ["first"]}}
    configured["translation"]["arms"] = {
        name: {"method": name, **own} for name, own in configured["translation"]["arms"].items()
    }
    assert "arms: baseline, svgd (sites first, alpha 0.4); seeds: 1 and 2." in cited(paths, configured).methods[0]


def test_experiments_that_were_not_run_are_not_mentioned(paths: list[Path]) -> None:
    some = [path for path in paths if path.parent.name in ("training", "evaluation")]
    text = " ".join(cited(some, configuration()).methods)
    assert not re.search("Curves|Gates|Speed|removed alone|scored by", text)


def test_a_released_model_was_not_trained(paths: list[Path]) -> None:
    configured = configuration()
    own = configured["classification"]["sst2"]
    configured |= {
        "seeds": [1],
        "classification": {"sst2": {"corpus": own["corpus"], "released": {"name": "owner/model"}}},
    }
    text = cited(paths, configured).methods[1]
    assert "a model that others released" in text
    assert "Nothing was trained." in text
    assert "epoch" not in text


def test_licences_are_those_of_the_catalogue(paths: list[Path]) -> None:
    found = answer(cited(paths, configuration()), "licences")
    assert "Task Translation: non-commercial research and education; trees: CC BY-SA 3.0." in found.text
    assert "Task SST-2: unknown." in found.text
    assert found.known


def test_what_is_unknown_is_said_to_be(paths: list[Path]) -> None:
    found = cited(paths, None)
    words = ("licences", "sizes", "hyperparameters reported", "chosen", "hardware", "energy", "repeated")
    for word in words:
        assert not answer(found, word).known, word
        assert answer(found, word).text.startswith("Unknown"), word
    assert answer(found, "parameters do").known
    assert "an unknown number of" in " ".join(found.methods)


def test_a_study_without_runs_answers_too() -> None:
    found = citing("", StudyTables(), configuration=None, made=Provenance((), (), ""))
    assert all(one.text for one in found.answers)
    assert not answer(found, "software").known
    assert "headroom-study" in found.bibtex


def test_times_and_memory_are_those_of_the_benchmarks(paths: list[Path], tmp_path: Path) -> None:
    for name, row in (("train", "3600.0\t1:00:00\t512.0\t180.0"), ("score", "1800.0\t0:30:00\t640.0\t1.0")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.tsv").write_text(f"s\th:m:s\tmax_rss\tcpu_time\n{row}\n", encoding="utf-8")
    found = answer(cited(paths, configuration(), benchmarks=tuple(sorted(tmp_path.rglob("*.tsv")))), "hardware")
    assert "All jobs together took 1 h 30 min; the largest needed 640 MB of memory." in found.text


def entries(text: str) -> dict[str, dict[str, str]]:
    """Return the fields of entries by key; fails if anything stands outside of them."""
    found = {}
    pattern = re.compile(r"@(\w+)\{([a-z0-9-]+),\n((?:  \w+ = \{.*\},\n)+)\}\n")
    for kind, key, fields in pattern.findall(text):
        assert key not in found
        found[key] = {"kind": kind, **dict(re.findall(r"  (\w+) = \{(.*)\},\n", fields))}
        for value in found[key].values():
            bare = re.sub(r"\\[{}]", "", value)
            assert bare.count("{") == bare.count("}")
    assert pattern.sub("", text).strip() == ""
    return found


def test_bibtex_has_the_papers_and_what_was_used_and_no_more(paths: list[Path]) -> None:
    found = entries(cited(paths, configuration()).bibtex)
    assert [*found][:4] == ["headroom-pilot", "michel-2019-sixteen", "voita-2019-analyzing", "an-2020-repulsive"]
    used = {
        "elliott-2016-multi30k",
        "elliott-2017-findings",
        "zeman-2017-conll",
        "ott-2019-fairseq",
        "devlin-2019-bert",
    }
    assert used <= {*found}
    assert not {"bojar-2015-findings", "socher-2013-recursive", "silveira-2014-gold", "zhou-2020-scheduled"} & {*found}
    assert found["michel-2019-sixteen"]["title"] == "{Are Sixteen Heads Really Better than One?}"
    assert re.fullmatch(r"version \d.*", found["paszke-2019-pytorch"]["note"])
    assert found["hunter-2007-matplotlib"]["journal"] == r"Computing in Science \& Engineering"


def test_software_of_other_tasks_is_not_cited(paths: list[Path]) -> None:
    some = [path for path in paths if "sst2" in path.name]
    text = cited(some, configuration()).bibtex
    assert "wolf-2020-transformers" in text
    assert "fairseq" not in text


def test_data_without_a_reference_is_cited_by_title_and_address() -> None:
    about = {"bytes": 1, "sha256": "0" * 64, "licence": "free"}
    file = PublishedFile(path="new/a.tsv", url="https://example.org/a_b.tsv", **about)
    data = Data("New set {1 %}", ("free",), {"test": 9}, ("dataset new_set", "far newstest2015"), (file,))
    found = entries(bibtex("pilot", dict.fromkeys(data.tags), [data, data]))
    assert "bojar-2015-findings" in found
    assert found["dataset-new-set"]["title"] == r"{New set \{1 \%\}}"
    assert found["dataset-new-set"]["howpublished"] == r"https://example.org/a\_b.tsv"


@pytest.mark.parametrize("key", REFERENCES)
def test_references_are_whole_and_about_what_exists(key: str) -> None:
    known = {"paper"} | {f"package {name}" for name in PACKAGES} | {f"method {name}" for name in ARMS}
    for model in (Dataset, LabelledDataset):
        for name, entry in read_entries(model.place, model).items():
            known |= {f"dataset {name}", *(f"far {far}" for far in entry.far)}
    known |= {f"treebank {name}" for name in read_entries(Treebank.place, Treebank)}
    entry = REFERENCES[key]
    assert {"author", "title", "year", "kind"} <= {*entry}
    assert str(entry["year"]) in key
    assert [tag for tag in entry["used"] if tag not in known and tag.split()[0] not in ("hub", "set", "encoder")] == []


def test_hostile_names_are_text(tmp_path: Path) -> None:
    paths = write_example_study(tmp_path, only=TABLES, tasks=("sst2",))
    for path in paths:
        path.write_text(path.read_text("utf-8").replace("gradient-squared", f'"{HOSTILE_TEXT}"'), encoding="utf-8")
    configured = configuration()
    configured["classification"]["sst2"]["corpus"]["dataset"] = HOSTILE_DATA
    name = f"}}}},\n}}\n@misc{{own, note={{x}}}} \\input{{a}} {HOSTILE}"
    found = cited(paths, configured, study=name)
    assert " ".join(HOSTILE_TEXT.split()) in found.methods[0]
    assert HOSTILE_DATA in found.methods[0]
    assert "What?" not in [one.question for one in found.answers]
    assert len(entries(found.bibtex)) == found.bibtex.count("\n@") + 1
    assert "own" not in entries(found.bibtex)
    page = html.fragment_fromstring(str(found.html()))
    assert {one.tag for one in page.iter()} == {"div", "details", "summary", "p", "pre", "code", "dl", "dt", "dd"}
    assert "window.hostile=1</script>" in page.text_content()
    assert page.xpath("string(.//code)") == found.bibtex
