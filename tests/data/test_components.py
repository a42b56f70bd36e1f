"""Pairs held out by connected component: no sentence of either side in two sets; reading of a published table."""

import hashlib
import zipfile

import pytest
import yaml
from headroom.core.errors import HeadroomError
from headroom.data.components import components, held_out
from headroom.data.corpora import Request
from headroom.data.parallel import ParallelText
from headroom.data.providers.catalogue import parallel
from headroom.settings.parallel import CatalogueCorpus

# a and c share x, c and e share z: one component over three pairs; b alone; d twice
CHAIN = ParallelText(["a", "b", "c", "c", "e", "d", "d"], ["x", "y", "x", "z", "z", "u", "v"])


def test_pairs_that_share_a_sentence_over_others_are_one_component() -> None:
    found = components(CHAIN)
    assert found[0] == found[2] == found[3] == found[4]
    assert found[5] == found[6]
    assert len(set(found)) == 3


def test_equal_text_on_different_sides_is_not_a_common_sentence() -> None:
    assert len(set(components(ParallelText(["a", "b"], ["b", "a"])))) == 2


def test_sets_share_no_sentence_and_held_out_ones_have_a_pair_per_component() -> None:
    text = ParallelText([f"s{n // 3}" for n in range(90)], [f"t{n // 2}" for n in range(90)])
    sets = held_out(text, {"valid": 4, "test": 5})
    assert {name: len(found) for name, found in sets.items() if name != "train"} == {"valid": 4, "test": 5}
    number = dict(zip(zip(text.source, text.target), components(text)))
    of_set = {name: [number[pair] for pair in zip(found.source, found.target)] for name, found in sets.items()}
    assert len(set(of_set["valid"] + of_set["test"])) == 9
    assert not {*of_set["train"]} & {*of_set["valid"], *of_set["test"]}
    assert {*number.values()} == {*of_set["train"], *of_set["valid"], *of_set["test"]}
    assert held_out(text, {"valid": 4, "test": 5}) == sets


@pytest.fixture
def request_of(tmp_path):
    """Return a function that publishes a table in a mirror and returns the request for it."""

    def publish(lines: list[str], pairs: int) -> Request:
        path = tmp_path / "mirror" / "set" / "pairs.zip"
        path.parent.mkdir(parents=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("pairs.txt", "\n".join(lines) + "\n")
        content = path.read_bytes()
        table = {
            "path": "set/pairs.zip",
            "url": "http://127.0.0.1:9/pairs.zip",
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "licence": "none",
            "member": "pairs.txt",
            "pairs": pairs,
            "held_out": {"valid": 2, "test": 3},
        }
        entry = {"title": "Pairs", "source_language": "English", "target_language": "German", "table": table}
        catalogue = tmp_path / "catalogue.yaml"
        catalogue.write_text(yaml.safe_dump({"tatoeba-german": entry}), encoding="utf-8")
        return Request(downloads=tmp_path / "downloads", mirror=str(tmp_path / "mirror"), catalogue=catalogue)

    return publish


SETTINGS = CatalogueCorpus(dataset="tatoeba-german", far=())


def test_a_published_table_becomes_train_valid_and_test(request_of) -> None:
    sets = parallel(SETTINGS, request_of([f"Say {n}.\tSag {n}." for n in range(20)], 20))
    assert {name: len(text) for name, text in sets.texts.items()} == {"train": 15, "valid": 2, "test": 3}
    assert sets.languages == ("English", "German")
    for text in sets.texts.values():
        assert [one.removeprefix("Say ") for one in text.source] == [one.removeprefix("Sag ") for one in text.target]


def test_a_share_of_the_training_pairs_is_spread_over_all_of_them(request_of) -> None:
    request = request_of([f"Say {n}.\tSag {n}." for n in range(25)], 25)
    whole = parallel(SETTINGS, request).texts
    part = parallel(SETTINGS.model_copy(update={"train_share": 0.25}), request).texts
    assert part["train"].source == whole["train"].source[::4]
    assert part["train"].target == whole["train"].target[::4]
    assert (part["valid"], part["test"]) == (whole["valid"], whole["test"])


@pytest.mark.parametrize(
    ("lines", "pairs", "message"),
    [
        (["a\tb"] * 9, 10, r"member pairs\.txt: 9 lines, expected 10; remove the file"),
        (["a\tb"] * 9 + ["a"], 10, "line 10"),
        (["a\tb"] * 9 + [" \tb"], 10, "line 10: empty line"),
    ],
)
def test_a_faulty_table_is_refused(request_of, lines, pairs, message) -> None:
    with pytest.raises(HeadroomError, match=message):
        parallel(SETTINGS, request_of(lines, pairs))
