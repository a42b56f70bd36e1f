"""Public data: the catalogues, tables of pairs divided by component, and test sets of sacrebleu."""

import hashlib
import io
import tarfile
import zipfile
from copy import deepcopy

import pytest
import sacrebleu
import yaml
from headroom.core.errors import HeadroomError
from headroom.data.catalogue import Dataset, LabelledDataset, Treebank, find_entry, read_entries
from headroom.data.components import components, held_out
from headroom.data.corpora import Request
from headroom.data.parallel import ParallelText
from headroom.data.providers import catalogue
from headroom.data.providers import sacrebleu as sacrebleu_sets
from headroom.settings.parallel import CatalogueCorpus, SacrebleuCorpus
from sacrebleu.dataset.fake_sgml import FakeSGMLDataset
from sacrebleu.dataset.tsv import TSVDataset


def test_labels_and_metrics_of_the_tasks_are_those_of_the_paper():
    """The second label of MRPC is the positive class of F1."""
    expected = {
        "sst2": ("negative positive", "accuracy"),
        "cola": ("unacceptable acceptable", "matthews accuracy"),
        "mrpc": ("different equivalent", "f1 accuracy"),
        "rte": ("entailment not_entailment", "accuracy"),
        "snli": ("entailment neutral contradiction", "accuracy"),
    }
    found = read_entries(LabelledDataset.place, LabelledDataset)
    assert {name: (" ".join(found[name].labels), " ".join(found[name].metrics)) for name in expected} == expected


def test_unknown_names_are_refused_with_what_there_is():
    for model, name, far, message in (
        (Dataset, "europarl", (), "unknown data set 'europarl'; choose one of multi30k, "),
        (Dataset, "multi30k", ("moon",), "unknown far-domain set 'moon'; choose from mscoco, newstest2015"),
        (LabelledDataset, "qqp", (), "unknown data set 'qqp'; choose one of cola, "),
        (LabelledDataset, "rte", ("moon",), "rte: unknown far-domain set 'moon'; choose from none"),
        (Treebank, "ud-klingon", (), "unknown treebank 'ud-klingon'; choose one of ud-english-ewt, "),
    ):
        with pytest.raises(HeadroomError, match=message):
            find_entry(model, name, far)


def put(place, value):
    """Return an edit that sets a value at a place of an entry."""

    def edit(entry):
        *way, last = place
        for step in way:
            entry = entry[step]
        entry[last] = value

    return edit


PARALLEL = [
    (put(["files", 0, "sha256"], "abc"), r"key multi30k\.files\.0\.sha256"),
    (put(["files", 0, "path"], "../x/y"), r"files\.0\.path"),
    (put(["files", 0, "mirror"], "x"), r"files\.0\.mirror"),
    (lambda entry: entry["files"][0].pop("licence"), r"files\.0\.licence"),
    (lambda entry: entry["files"].pop(0), "one source and one target"),
    (lambda entry: entry["files"].append(entry["files"][0]), "one source and one target"),
    (
        lambda entry: [file.update(set="choose") for file in entry["files"] if file["set"] == "mscoco"],
        "choose cannot name a far-domain set",
    ),
]
TABLES = [
    (put(["table", "held_out"], {"valid": 10}), "held_out must have valid and test"),
    (put(["table", "held_out", "train"], 10), "held_out must have valid and test"),
    (put(["table", "member"], "../deu.txt"), r"table\.member"),
    (lambda entry: [file.update(set="test") for file in entry["files"]], "train, valid and test are in the table"),
    (lambda entry: entry["files"].pop(), "one source and one target"),
]
LABELLED = [
    ("sst2", put(["files", 0, "sha256"], "abc"), r"key sst2\.files\.0\.sha256"),
    ("sst2", put(["metrics"], ["bleu"]), r"key sst2\.metrics\.0"),
    ("sst2", put(["metrics"], ["f1", "f1"]), r"key sst2\.metrics: .*'f1' is given twice"),
    ("sst2", put(["labels"], ["negative", "good"]), r"train names a label 'positive', which is not among"),
    ("sst2", put(["labels"], ["negative", "negative"]), r"'negative' is given twice"),
    ("sst2", put(["columns", "label"], "gold"), r"key sst2\.columns: .*'gold' is given by name, but .*header is false"),
    ("sst2", put(["columns", "label"], 0), r"key sst2\.columns\.label"),
    ("sst2", put(["sets", "test", "files"], ["sst2/SST2/gone.tsv"]), r"sst2/SST2/\w+\.tsv must be listed under files"),
    ("sst2", put(["sets", "choose"], {"files": ["sst2/SST2/dev.tsv"], "examples": 1}), "'choose' cannot name"),
    ("sst2", lambda entry: entry["sets"].pop("valid"), "the set valid is missing"),
    ("sst2", lambda entry: entry["files"].pop(), "must be listed under files and used"),
    ("snli", put(["columns", "header"], True), "train: files aligned by line have neither a header"),
    ("snli", put(["sets", "train", "member"], "in.tsv"), "train: files aligned by line have neither"),
    *(
        ("cola", put(["sets", "train", "member"], member), r"sets\.train\.member")
        for member in ("../escaped.tsv", "/tmp/escaped.tsv", "deep/../../escaped.tsv", "")
    ),
]


def test_a_faulty_entry_is_named_by_its_key(tmp_path):
    published = {model: yaml.safe_load(model.place.read_text()) for model in (Dataset, LabelledDataset)}
    rows = [
        *((Dataset, "multi30k", *row) for row in PARALLEL),
        *((Dataset, "tatoeba-german", *row) for row in TABLES),
        *((LabelledDataset, *row) for row in LABELLED),
    ]
    for model, name, edit, message in rows:
        entry = deepcopy(published[model][name])
        edit(entry)
        (tmp_path / "catalogue.yaml").write_text(yaml.safe_dump({name: entry}, sort_keys=False))
        with pytest.raises(HeadroomError, match=message):
            find_entry(model, name, (), tmp_path / "catalogue.yaml")


def test_pairs_that_share_a_sentence_over_others_are_one_component() -> None:
    # a and c share x, c and e share z: one component over three pairs; b alone; d twice
    found = components(ParallelText(["a", "b", "c", "c", "e", "d", "d"], ["x", "y", "x", "z", "z", "u", "v"]))
    assert found[0] == found[2] == found[3] == found[4]
    assert found[5] == found[6]
    assert len(set(found)) == 3
    assert len(set(components(ParallelText(["a", "b"], ["b", "a"])))) == 2, "sides are different"


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
        path.parent.mkdir(parents=True, exist_ok=True)
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
        entries = tmp_path / "catalogue.yaml"
        entries.write_text(yaml.safe_dump({"tatoeba-german": entry}), encoding="utf-8")
        return Request(downloads=tmp_path / "downloads", mirror=str(tmp_path / "mirror"), catalogue=entries)

    return publish


TATOEBA = CatalogueCorpus(dataset="tatoeba-german", far=())


def test_a_published_table_becomes_train_valid_and_test(request_of) -> None:
    request = request_of([f"Say {n}.\tSag {n}." for n in range(25)], 25)
    sets = catalogue.parallel(TATOEBA, request)
    assert {name: len(text) for name, text in sets.texts.items()} == {"train": 20, "valid": 2, "test": 3}
    assert sets.languages == ("English", "German")
    for text in sets.texts.values():
        assert [one.removeprefix("Say ") for one in text.source] == [one.removeprefix("Sag ") for one in text.target]
    part = catalogue.parallel(TATOEBA.model_copy(update={"train_share": 0.25}), request).texts
    assert part["train"].source == sets.texts["train"].source[::4], "a share is spread over all"
    assert part["train"].target == sets.texts["train"].target[::4]
    assert (part["valid"], part["test"]) == (sets.texts["valid"], sets.texts["test"])


def test_a_faulty_table_is_refused(request_of) -> None:
    for last, message in (
        ([], r"member pairs\.txt: 9 lines, expected 10; remove the file"),
        (["a"], "line 10"),
        ([" \tb"], "line 10: empty line"),
    ):
        with pytest.raises(HeadroomError, match=message):
            catalogue.parallel(TATOEBA, request_of(["a\tb"] * 9 + last, 10))


SETS = SacrebleuCorpus(choose="one", check="two", test="two/full", far={"noisy": "noise1.1/test"})


def sgml(lines):
    return "".join(f'<seg id="{number}">{line}</seg>\n' for number, line in enumerate(lines, 1))


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Return a function that makes a set known to sacrebleu, and gives the place where it is kept."""
    monkeypatch.setattr(sacrebleu, "SACREBLEU_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("sacrebleu.dataset.base.SACREBLEU_DIR", str(tmp_path / "cache"))

    def make(name, files, langpair, *, kind=FakeSGMLDataset, md5=None, url=None):
        path = tmp_path / f"{name.replace('/', '-')}.tgz"
        with tarfile.open(path, "w:gz") as tar:
            for member, content in files.items():
                about = tarfile.TarInfo(member)
                about.size = len(content.encode())
                tar.addfile(about, io.BytesIO(content.encode()))
        known = md5 or hashlib.md5(path.read_bytes()).hexdigest()
        pairs = {"en-fr": langpair}
        published = kind(name, data=[url or path.as_uri()], md5=[known], description="", citation="", langpairs=pairs)
        monkeypatch.setitem(sacrebleu.DATASETS, name, published)
        return tmp_path / "cache" / name

    return make


@pytest.fixture
def published(publish):
    for name in ("one", "two", "two/full"):
        sides = {f"{side}.sgm": sgml([f"{name} {side} \u0085 1", f"{name} {side} 2"]) for side in ("en", "fr")}
        publish(name, sides, ["en.sgm", "fr.sgm"])
    rows = {"t.tsv": "1\ta\tb\n2\t\tc\n3\td\u2028e\tf\n"}
    publish("noise1.1/test", rows, ["1:t.tsv", "2:t.tsv"], kind=TSVDataset)
    return publish


def test_every_set_is_whole_and_pairs_without_a_side_are_left_out(published, tmp_path):
    found = sacrebleu_sets.parallel(SETS, Request(tmp_path))
    sets = {name: text for name, text in found.texts.items() if name != "train"}
    assert list(sets) == ["choose", "check", "test", "noisy"]
    assert sets["choose"] == ParallelText(["one en 1", "one en 2"], ["one fr 1", "one fr 2"])  # sacrebleu cleans SGML
    assert sets["test"].target == ["two/full fr 1", "two/full fr 2"]
    assert sets["noisy"] == ParallelText(["a", "d\u2028e"], ["b", "f"])
    assert found.left_out == {"because a side is empty": {"noisy": 1}}


def test_the_paper_sets_are_known_to_the_installed_library():
    settings = SacrebleuCorpus(far={"mtnt": "mtnt1.1/test"})
    for name in settings.named_sets.values():
        assert settings.pair in sacrebleu.get_langpairs_for_testset(name)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [({"md5": "0" * 32}, "checksum mismatch"), ({"url": "http://127.0.0.1:9/set.tgz"}, "refused")],
)
def test_a_failed_download_is_told_in_one_message_and_leaves_nothing_to_be_taken_for_whole(published, changed, reason):
    place = published("two", {"en.sgm": "", "fr.sgm": ""}, ["en.sgm", "fr.sgm"], **changed)
    with pytest.raises(HeadroomError, match=r"key check: sacrebleu cannot download two \(en-fr\), ") as caught:
        sacrebleu_sets.load_test_sets(SETS)
    assert reason in str(caught.value)
    assert str(caught.value).count("\n") == 1
    assert f"copy {place} from another machine" in str(caught.value)
    assert not (place / "raw").exists()


def test_what_a_killed_download_left_is_fetched_again(published, tmp_path):
    raw = tmp_path / "cache/one/raw"
    raw.mkdir(parents=True)
    (raw / "one.one.tgz").write_bytes(b"half of it")  # never unpacked
    assert len(sacrebleu_sets.load_test_sets(SETS)["choose"]) == 2
