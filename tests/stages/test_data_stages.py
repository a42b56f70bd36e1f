"""The stages before a training: text and trees by kind and source, subwords and binarised text, encoders."""

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from gzip import compress
from pathlib import Path
from typing import Any

import conllu
import pytest
import transformers
import yaml
from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines, sha256
from headroom.data.labelled import LabelledText, read_labelled
from headroom.data.parallel import ParallelText, read_parallel
from headroom.data.subwords import Pieces
from headroom.preparation import acquire as acquire_stage
from headroom.preparation import encoder, vocabulary
from models import write_encoder
from study import run_stage
from trainings import LABELS as FINE_TUNED
from trainings import write_corpus

SIZES = {"train": 90, "valid": 21, "test": 12, "far": 9}
SETS = {"train": 90, "choose": 11, "check": 10, "test": 12, "far": 9}
TREE = "1\tHello\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No\n2\t!\t_\t_\t_\t_\t1\tpunct\t_\t_\n\n"
UNREACHABLE = "http://127.0.0.1:9/x"


def acquire(kind: str, output: Path, settings: dict[str, Any], *flags: str) -> dict[str, Any]:
    """Run the stage and return `corpus.json`, if there is one."""
    run_stage(acquire_stage, [json.dumps({kind: settings, "output": str(output)}), *flags])
    return record_of(output)


def record_of(corpus: Path) -> dict[str, Any]:
    path = corpus / "corpus.json"
    return json.loads(path.read_text()) if path.exists() else {}


def in_a_process(tmp_path: Path, kind: str, settings: dict[str, Any], **environment: str) -> Any:
    """Run the stage in a process of its own, and return how it ended."""
    job = json.dumps({kind: settings, "output": str(tmp_path / "corpus")})
    return subprocess.run(
        [sys.executable, "-m", "headroom", "acquire", job],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "workflow"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def sums(directory: Path) -> dict[str, str]:
    return {path.name: sha256(path) for path in directory.iterdir()}


def test_a_generated_corpus_is_complete_and_its_seed_makes_it(tmp_path):
    record = acquire("parallel", tmp_path / "a", {"source": "generated", "seed": 5, **SIZES})
    assert (record["sizes"], record["far"]) == (SETS, ["far"])
    assert record["evaluation_sets"] == ["choose", "check", "test", "far"]
    assert record["repeated"] == []
    assert record["origin"] == {"source": "generated", "seed": 5, **SIZES}
    first = sums(tmp_path / "a")
    endings = ("source", "target", "conllu", "phenomena.csv")
    assert {*first} == {"corpus.json", *(f"{name}.{ending}" for name in SETS for ending in endings)}
    assert all(first[name] == found for name, found in record["sha256"].items())
    for name, size in SETS.items():
        source = read_lines(tmp_path / f"a/{name}.source")
        assert len(source) == len(read_lines(tmp_path / f"a/{name}.target")) == size
        trees = conllu.parse((tmp_path / f"a/{name}.conllu").read_text())
        assert [tree.metadata["text"] for tree in trees] == source
    in_a_process(tmp_path, "parallel", {"source": "generated", "seed": 5, **SIZES}, PYTHONHASHSEED="7")
    assert sums(tmp_path / "corpus") == first
    acquire("parallel", tmp_path / "b", {"source": "generated", "seed": 6, **SIZES})
    other = sums(tmp_path / "b")
    assert all(first[f"{name}.source"] != other[f"{name}.source"] for name in SETS)


class TestFiles:
    @pytest.fixture
    def mine(self, tmp_path):
        """Return the settings of small local files in `tmp_path / "mine"`, by kind."""
        (tmp_path / "mine").mkdir()
        settings: dict[str, Any] = {kind: {"source": "files", "far": {}} for kind in ("parallel", "labelled")}
        settings["labelled"]["labels"] = ["no", "yes"]
        for name, count in {"train": 6, "valid": 5, "test": 3, "sea": 2}.items():
            place = tmp_path / f"mine/{name}"
            for side in ("en", "xx"):
                place.with_suffix(f".{side}").write_text("".join(f"{name} {side} {n}\n" for n in range(1, count + 1)))
            rows = [f'"{name}\u0085{n}\t{("yes", "no")[n % 2]}\n' for n in range(1, count + 1)]
            place.with_suffix(".tsv").write_text("sentence\tlabel\n" + "".join(rows))
            pair = {"source": f"{place}.en", "target": f"{place}.xx"}
            for kind, value in (("parallel", pair), ("labelled", f"{place}.tsv")):
                (settings[kind]["far"] if name == "sea" else settings[kind])[name] = value
        return settings

    def test_text_gets_the_common_form(self, mine, tmp_path):
        languages = {"source_language": "English", "target_language": "Klingon"}
        parallel, labelled = tmp_path / "parallel", tmp_path / "labelled"
        records = [
            acquire("parallel", parallel, {**mine["parallel"], **languages}),
            acquire("labelled", labelled, {**mine["labelled"], "metrics": ["f1", "accuracy"]}),
        ]
        for record in records:
            assert (record["evaluation_sets"], record["far"]) == (["choose", "check", "test", "sea"], ["sea"])
            assert record["sizes"] == {"train": 6, "choose": 3, "check": 2, "test": 3, "sea": 2}
        assert {key: records[0][key] for key in languages} == languages
        assert read_lines(parallel / "choose.target") == ["valid xx 1", "valid xx 3", "valid xx 5"]
        assert read_lines(parallel / "check.source") == ["valid en 2", "valid en 4"]
        assert (records[1]["labels"], records[1]["metrics"]) == (["no", "yes"], ["f1", "accuracy"])
        assert records[1]["origin"]["far"] == {"sea": str(tmp_path / "mine/sea.tsv")}
        assert read_labelled(labelled / "choose.tsv").first == [f'"valid\u0085{n}' for n in (1, 4, 5)]
        assert read_labelled(labelled / "check.tsv").labels == ["yes", "no"]

    def test_bad_text_stops_everything_before_a_file_is_written(self, mine, tmp_path):
        for kind, file, content, message in (
            ("parallel", "sea.xx", "1\n2\n3\n", r"sea\.en: 2 lines, but .*sea\.xx has 3"),
            ("labelled", "sea.tsv", "sentence\tlabel\nx\tmaybe\n", r"sea\.tsv, line 2: undeclared label 'maybe'"),
            ("labelled", "test.tsv", "sentence1\tsentence2\tlabel\na\tb\tno\n", "single sentences, test has pairs"),
            ("labelled", "valid.tsv", "sentence\tlabel\nx\tyes\n", r"valid\.tsv: 1 example; give at least two"),
        ):
            path = tmp_path / "mine" / file
            right = path.read_text()
            path.write_text(content)
            with pytest.raises(HeadroomError, match=message):
                acquire(kind, tmp_path / "corpus", mine[kind])
            assert not (tmp_path / "corpus").exists()
            path.write_text(right)


def published(mirror: Path, path: str, content: bytes, **about: Any) -> dict[str, Any]:
    """Put a file into a mirror and return its entry in a catalogue."""
    (mirror / path).parent.mkdir(parents=True, exist_ok=True)
    (mirror / path).write_bytes(content)
    found = hashlib.sha256(content).hexdigest()
    return {"path": path, "url": UNREACHABLE, "bytes": len(content), "sha256": found, "licence": "free", **about}


class TestCatalogue:
    @pytest.fixture
    def multi30k(self, tmp_path):
        """Return flags for a small data set in the catalogue's form; its mirror is `tmp_path / "mirror"`."""
        files = []
        for name, lines in {"train": 5, "valid": 4, "test": 3, "mscoco": 2, "newstest2015": 2}.items():
            for side in ("source", "target"):
                content = "".join(f"{name} \u0085 {side} {number}\n" for number in range(1, lines + 1)).encode()
                about = {"set": name, "side": side, "lines": lines}
                path = f"multi30k/{name}.{side}.gz"
                files.append(published(tmp_path / "mirror", path, compress(content, mtime=0), **about))
        entry = {"title": "small", "source_language": "English", "target_language": "German", "files": files}
        return self.flags(tmp_path, {"multi30k": entry})

    @pytest.fixture
    def cola(self, tmp_path):
        """Return flags for a small labelled data set; its mirror is `tmp_path / "mirror"`."""
        texts = {"train": '1\t"a\u0085b\n0\tc\n1\td\n0\te\n', "dev": "1\tf\n0\tg\n1\tc\n0\tk\n", "test": "0\th\n1\td\n"}
        mirror = tmp_path / "mirror"
        files = [published(mirror, f"cola/{name}.tsv", text.encode(), licence="tsv") for name, text in texts.items()]
        with zipfile.ZipFile(tmp_path / "far.zip", "w") as archive:
            archive.writestr("in/sea.tsv", "1\tboat\n0\tship\n")
        files.append(published(mirror, "cola/far.zip", (tmp_path / "far.zip").read_bytes(), licence="zip"))
        sets = {
            "train": {"files": ["cola/train.tsv"], "examples": 4},
            "valid": {"files": ["cola/dev.tsv"], "examples": 4},
            "test": {"files": ["cola/test.tsv"], "examples": 2},
            "sea": {"files": ["cola/far.zip"], "member": "in/sea.tsv", "examples": 2},
        }
        columns = {"sentences": [2], "label": 1, "names": {"0": "bad", "1": "good"}}
        about = {"title": "small", "labels": ["bad", "good"], "metrics": ["matthews", "accuracy"]}
        return self.flags(tmp_path, {"cola": {**about, "columns": columns, "files": files, "sets": sets}})

    @staticmethod
    def flags(tmp_path, entries):
        (tmp_path / "catalogue.yaml").write_text(yaml.safe_dump(entries, sort_keys=False))
        return ["--catalogue", str(tmp_path / "catalogue.yaml"), "--mirror", str(tmp_path / "mirror")]

    def test_parallel_text_gets_the_common_form(self, multi30k, tmp_path):
        output = tmp_path / "out"
        record = acquire("parallel", output, {"source": "catalogue"}, *multi30k)
        assert record["evaluation_sets"] == ["choose", "check", "test", "mscoco", "newstest2015"]
        assert (record["far"], record["origin"]["licences"]) == (["mscoco", "newstest2015"], ["free"])
        assert read_lines(output / "choose.source") == ["valid \u0085 source 1", "valid \u0085 source 3"]
        assert read_lines(output / "check.target") == ["valid \u0085 target 2", "valid \u0085 target 4"]

    def test_labelled_text_gets_the_common_form(self, cola, tmp_path, caplog):
        output = tmp_path / "out"
        record = acquire("labelled", output, {"source": "catalogue", "dataset": "cola", "far": ["sea"]}, *cola)
        assert record["evaluation_sets"] == ["choose", "check", "test", "sea"]
        assert (record["far"], record["labels"]) == (["sea"], ["bad", "good"])
        assert (record["metrics"], record["origin"]["licences"]) == (["matthews", "accuracy"], ["tsv", "zip"])
        assert record["sizes"] == {"train": 4, "choose": 2, "check": 2, "test": 2, "sea": 2}
        assert [(row["set"], row["exact"]) for row in record["repeated"]] == [("check", 1), ("test", 1)]
        assert "1 of 2 examples of test are in train too" in caplog.text
        train = LabelledText(['"a\u0085b', "c", "d", "e"], None, ["good", "bad", "good", "bad"])
        assert read_labelled(output / "train.tsv", record["labels"]) == train
        assert read_labelled(output / "choose.tsv").first == ["f", "g"]


class TestTrees:
    def test_from_the_mirror(self, tmp_path):
        file = published(tmp_path / "mirror", "ud-english-pud/pud.conllu", TREE.encode(), lines=3)
        flags = TestCatalogue.flags(tmp_path, {"ud-english-pud": {"title": "PUD", "file": file}})
        acquire("trees", tmp_path / "out/a.conllu", {"source": "catalogue"}, *flags, "--relations", "punct")
        assert (tmp_path / "out/a.conllu").read_text() == TREE

    def test_a_treebank_of_ones_own_is_taken_as_it_is_or_refused(self, tmp_path):
        settings = {"source": "files", "path": str(tmp_path / "mine.conllu")}
        (tmp_path / "mine.conllu").write_text(TREE)
        acquire("trees", tmp_path / "a.conllu", settings)
        assert (tmp_path / "a.conllu").read_text() == TREE
        with pytest.raises(HeadroomError, match=r"no relation 'vocative'; choose from punct"):
            acquire("trees", tmp_path / "b.conllu", settings, "--relations", "punct", "vocative")
        (tmp_path / "mine.conllu").write_text(TREE + TREE.replace("\t1\tpunct", "\t7\tpunct"))
        with pytest.raises(HeadroomError, match=r"mine\.conllu, line 5: unknown governor 7"):
            acquire("trees", tmp_path / "b.conllu", settings)
        assert not (tmp_path / "b.conllu").exists()


@pytest.mark.long
class TestHub:
    """In a process of its own, with the real library."""

    @pytest.fixture
    def offline(self, tmp_path):
        return {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path / "hub")}

    def test_without_network_one_line_says_what_to_do(self, tmp_path, offline):
        settings = {"source": "hub", "dataset": "nyu-mll/glue", "name": "mnli"}
        done = in_a_process(tmp_path, "labelled", settings, **offline)
        assert done.returncode == 2
        (error,) = [line for line in done.stderr.split("\n") if line.startswith("error: ")]
        assert error.startswith("error: key dataset: cannot load nyu-mll/glue (mnli), split train, ")
        assert error.endswith("give a local copy as TSV files with source: files")
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "corpus").exists()

    def test_a_directory_in_the_form_of_the_hub_becomes_a_corpus(self, tmp_path, offline):
        place = tmp_path / "data"
        place.mkdir()
        splits = {"train": 6, "validation": 4, "other": 2}
        files = [{"split": name, "path": f"{name}.jsonl"} for name in splits]
        label = {"name": "label", "dtype": {"class_label": {"names": {"0": "bad", "1": "good"}}}}
        about = {
            "license": "cc0-1.0",
            "configs": [{"config_name": "default", "data_files": files}],
            "dataset_info": {"features": [{"name": "text", "dtype": "string"}, label]},
        }
        (place / "README.md").write_text(f"---\n{yaml.safe_dump(about)}---\n")
        for name, count in splits.items():
            rows = [{"text": f'"{name}\u0085\n{number}', "label": number % 2} for number in range(count)]
            (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        settings = {"source": "hub", "dataset": str(place), "sentences": ["text"], "metrics": ["f1", "accuracy"]}
        parts = {"train": "train[:4]", "test": "train[4:]", "far": {"sea": "other"}}
        done = in_a_process(tmp_path, "labelled", {**settings, **parts}, **offline)
        assert done.returncode == 0, done.stderr
        record = record_of(tmp_path / "corpus")
        assert record["sizes"] == {"train": 4, "choose": 2, "check": 2, "test": 2, "sea": 2}
        assert (record["labels"], record["metrics"]) == (["bad", "good"], ["f1", "accuracy"])
        assert (record["far"], record["origin"]["far"]) == (["sea"], {"sea": "other"})
        text = read_labelled(tmp_path / "corpus/check.tsv", record["labels"])
        assert text == LabelledText(['"validation\u0085 2', '"validation\u0085 3'], None, ["bad", "good"])

    def test_the_hubs_own_parquet_files_become_a_corpus(self, tmp_path, offline):
        """A branch `refs/convert/parquet` has `<configuration>/<split>/0000.parquet` and nothing else."""
        import pyarrow
        import pyarrow.parquet

        for split, size in {"train": 5, "validation": 4, "test": 2}.items():
            rows = [{"de": f"{split} \u0085 eins\n{number}", "en": f"{split} one {number}"} for number in range(size)]
            rows += [{"de": "", "en": "left out"}] * (split == "train")
            path = tmp_path / "data/de-en" / split / "0000.parquet"
            path.parent.mkdir(parents=True)
            pyarrow.parquet.write_table(pyarrow.table({"translation": rows}), path)
        settings = {"source": "hub", "dataset": str(tmp_path / "data"), "far": {"late": "train[4:]"}}
        languages = {"source_language": "de", "target_language": "en"}
        done = in_a_process(tmp_path, "parallel", {**settings, **languages}, **offline)
        assert done.returncode == 0, done.stderr
        assert "1 of 6 examples of train are left out because a side is empty" in done.stderr
        record = record_of(tmp_path / "corpus")
        assert record["sizes"] == {"train": 5, "choose": 2, "check": 2, "test": 2, "late": 1}
        assert (record["source_language"], record["origin"]["far"]) == ("de", {"late": "train[4:]"})
        text = read_parallel(tmp_path / "corpus/check.source", tmp_path / "corpus/check.target")
        expected = ["validation \u0085 eins 1", "validation \u0085 eins 3"], ["validation one 1", "validation one 3"]
        assert text == ParallelText(*expected)


class TestSacrebleu:
    """In a process of its own without a network, and on sets that sacrebleu has already."""

    SETTINGS = {"source": "sacrebleu", "far": {"mtnt": "mtnt1.1/test"}}  # noqa: RUF012

    @pytest.fixture
    def offline(self, tmp_path):
        blocked = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
        return {**blocked, "no_proxy": "", "SACREBLEU": str(tmp_path / "cache")}

    def test_without_network_one_message_says_what_to_do(self, tmp_path, offline):
        done = in_a_process(tmp_path, "parallel", self.SETTINGS, **offline)
        assert done.returncode == 2
        message = done.stderr[done.stderr.index("error: ") :].strip()
        assert message.startswith("error: key choose: sacrebleu cannot download wmt13 (en-fr), ")
        assert f"copy {tmp_path}/cache/wmt13 from another machine" in message
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "corpus").exists()

    def test_sets_become_a_corpus_without_training_text(self, tmp_path, offline):
        for name, size in {"wmt13": 3, "wmt12": 2, "wmt14/full": 2, "mtnt1.1/test": 1}.items():
            directory = tmp_path / "cache" / name
            directory.mkdir(parents=True)
            for field in ("src", "ref", "docid", "genre", "origlang"):
                path = directory / f"{name.replace('/', '_')}.en-fr.{field}"
                side = "f" if field == "ref" else "e"
                path.write_text("".join(f"{name} {side} \u0085 {number}\n" for number in range(size)), "utf-8")
        done = in_a_process(tmp_path, "parallel", self.SETTINGS, **offline)
        assert done.returncode == 0, done.stderr
        record = record_of(tmp_path / "corpus")
        assert record["sizes"] == {"train": 0, "choose": 3, "check": 2, "test": 2, "mtnt": 1}
        assert (record["source_language"], record["target_language"]) == ("en", "fr")
        assert (record["far"], record["origin"]["choose"]) == (["mtnt"], "wmt13")
        text = read_parallel(tmp_path / "corpus/test.source", tmp_path / "corpus/test.target")
        assert text.target == ["wmt14/full f \u0085 0", "wmt14/full f \u0085 1"]
        assert (tmp_path / "corpus/train.source").read_bytes() == b""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Return a corpus, with odd characters in one line, and its binarised set."""
    directory = tmp_path_factory.mktemp("prepare")
    corpus, output = directory / "corpus", directory / "binarised"
    acquire("parallel", corpus, {"source": "generated", "train": 120, "valid": 21, "test": 5, "far": 5})
    lines = (corpus / "choose.source").read_bytes().split(b"\n")
    lines[3] = "The\u0085dogs\rwait\u2028 \u4e16.".encode()
    (corpus / "choose.source").write_bytes(b"\n".join(lines))
    run_stage(vocabulary, ["--corpus", str(corpus), "--output", str(output), "--size", "220"])
    return corpus, output


def indexed(output, split, side):
    """Return the sentences of a binarised file as tokens, as fairseq reads them."""
    from fairseq.data import Dictionary, data_utils

    dictionary = Dictionary.load(str(output / f"dict.{side}.txt"))
    prefix = str(output / f"{split}.source-target.{side}")
    data = data_utils.load_indexed_dataset(prefix, dictionary, "mmap")
    return [dictionary.string(data[index]) for index in range(len(data))]


@pytest.mark.long
def test_fairseq_reads_back_every_sentence(prepared):
    corpus, output = prepared
    tokens = Pieces(output / "sentencepiece.model")
    for side in ("source", "target"):
        train = read_lines(corpus / f"train.{side}")
        assert [tokens.decode(line.split(" ")) for line in indexed(output, "train", side)] == train
        valid = read_lines(corpus / f"choose.{side}") + read_lines(corpus / f"check.{side}")
        read = indexed(output, "valid", side)
        assert len(read) == len(valid) == 21
        known = [pair for pair in zip(read, valid, strict=True) if "<unk>" not in pair[0]]
        assert len(known) > 15
        assert all(tokens.decode(line.split(" ")) == sentence for line, sentence in known)
    odd = indexed(output, "valid", "source")[3]
    assert tokens.decode(odd.split(" ")).startswith("The dogs wait ")
    assert odd.split().count("<unk>") == 1


def test_too_large_a_vocabulary_leaves_nothing_new(toy, tmp_path):
    flags = ["--corpus", str(toy.corpus), "--output", str(tmp_path / "out")]
    with pytest.raises(HeadroomError, match=r"vocabulary\.size: 30000 tokens, .* allows at most \d+;"):
        run_stage(vocabulary, [*flags, "--size", "30000"])
    assert list((tmp_path / "out").iterdir()) == []


TINY = [
    "--source",
    "new",
    "--layers",
    "1",
    "--heads",
    "2",
    "--width",
    "8",
    "--feed-forward",
    "8",
    "--vocabulary",
    "120",
]


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("sentences"), pairs=True)


def made(corpus, output, *more):
    """Run the stage that makes an encoder and return its files."""
    run_stage(encoder, ["--corpus", str(corpus), "--output", str(output), *map(str, more)])
    return sorted(path.name for path in output.iterdir())


def test_a_new_encoder_knows_the_words_of_both_sentences_of_the_training_text(sentences, tmp_path):
    files = made(sentences, tmp_path / "out", *TINY)
    assert files == ["config.json", "record.json", "tokenizer.json", "tokenizer_config.json"]
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["num_hidden_layers"], config["num_attention_heads"], config["hidden_size"]) == (1, 2, 8)
    assert [config["id2label"][str(number)] for number in range(3)] == FINE_TUNED
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert len(tokenizer) == config["vocab_size"] <= 120
    assert tokenizer.tokenize("The horse sees") == ["the", "horse", "sees"]


def test_an_encoder_of_ones_own(sentences, tmp_path):
    weights = write_encoder(tmp_path / "weights")
    assert "model.safetensors" in made(sentences, tmp_path / "a", "--source", "directory", "--path", weights)
