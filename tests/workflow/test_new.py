"""The study that is written for a model: what it says of the model, and what is refused before anything is written."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from decoders import SHAPE, write_decoder
from headroom import new
from headroom.core.errors import HeadroomError
from headroom.data.labelled import read_labelled
from headroom.engines.hub.outline import read_outline
from headroom.settings.load import read_study
from headroom.settings.models import HubModelSettings
from headroom.settings.study import Study
from toy_encoder import write_encoder
from transformers import BertConfig, BertForMaskedLM, LlamaForCausalLM, Olmo2Config, Olmo2ForCausalLM
from translators import write_translator

WORDS = ["the", "old", "red", "house", "a", "small", "dog", "sees", "many", "birds", "near", "that", "tree", "one"]


def sentences(count: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(3, 9))) for _ in range(count)]


def write(path: str, lines: list[str]) -> str:
    Path(path).write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def decoder(name: str, *of: Any, **more: Any) -> str:
    return str(write_decoder(Path(name), *of, **more))


def written(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[Study, str]:
    """Return the study that is written in studies/, as the workflow reads it, and what is printed."""
    new.main(arguments)
    (path,) = Path("studies").glob("*.yaml")
    return read_study(str(path)), capsys.readouterr().out


class TestKinds:
    def test_decoder_with_plain_text(self, capsys) -> None:
        text = write("text.txt", sentences(30))
        study, said = written(capsys, decoder("my.decoder", num_key_value_heads=2), "--text", text)
        (task,) = study.tasks.values()
        assert (task.task, task.corpus.path, task.corpus.documents) == ("language", text, "line")
        assert (study.study, task.released.path, task.windows.length) == ("my-decoder", "my.decoder", 64)
        assert "3 decoder layers, 18 heads in 6 groups" in said

    def test_documents_between_empty_lines(self, capsys) -> None:
        text = write("text.txt", [line for one in sentences(30) for line in (one, one, "")])
        study, said = written(capsys, decoder("mine"), "--text", text)
        assert study.tasks["language"].corpus.documents == "blank"
        assert "30 documents" in said

    def test_classifier_with_one_table(self, capsys) -> None:
        write_encoder(Path("mine"), labels=["good", "bad"])
        twice = sentences(30) * 2
        text = write("text.tsv", ["sentence\tlabel", *(f"{one}\t{['bad', 'good'][len(one) % 2]}" for one in twice)])
        study, said = written(capsys, "mine", "--text", text)
        corpus = study.tasks["classification"].corpus
        assert corpus.labels == ("good", "bad")
        halves = [read_labelled(corpus.valid).first, read_labelled(corpus.test).first]
        assert sorted(halves[0] + halves[1]) == sorted(twice)
        assert not {*halves[0]} & {*halves[1]}
        assert "2 encoder layers, 8 heads, " in said

    def test_labels_without_names_are_named(self, capsys) -> None:
        write_encoder(Path("mine"), labels=["LABEL_0", "LABEL_1"])
        rows = ["sentence\tlabel", *(f"{one}\t{len(one) % 2}" for one in sentences(30))]
        texts = write("valid.tsv", rows), write("test.tsv", rows)
        study, _ = written(capsys, "mine", "--text", *texts, "--labels", "0", "1")
        corpus = study.tasks["classification"].corpus
        assert (corpus.valid, corpus.test, corpus.labels) == (*texts, ("0", "1"))

    @pytest.mark.parametrize("columns", [True, False])
    def test_encoder_decoder_with_parallel_text(self, capsys, columns: bool) -> None:
        write_translator(Path("mine"), "bart")
        source, target = sentences(40), sentences(40, seed=2)
        rows = [*zip(source, target)]
        texts = [["\t".join(row) for row in rows]] if columns else [source, target]
        study, said = written(capsys, "mine", "--text", *(write(f"{n}.txt", text) for n, text in enumerate(texts)))
        task = study.tasks["translation"]
        assert task.released.library == "transformers"
        pairs = [task.corpus.valid, task.corpus.test]
        sides = [[Path(path).read_text().splitlines() for path in (one.source, one.target)] for one in pairs]
        assert sorted(row for own in sides for row in zip(*own)) == sorted(rows)
        assert "2 encoder layers and 2 decoder layers, 24 heads" in said

    def test_model_of_many_languages(self, capsys) -> None:
        write_translator(Path("mine"), "nllb")
        texts = [write("en", sentences(40)), write("de", sentences(40, seed=2))]
        with pytest.raises(HeadroomError, match=r"released.source_code: missing"):
            new.main(["mine", "--text", *texts])
        codes = ("--source-code", "eng_Latn", "--target-code", "deu_Latn")
        study, _ = written(capsys, "mine", "--text", *texts, *codes)
        assert study.tasks["translation"].released.target_code == "deu_Latn"

    def test_heads_that_can_only_be_masked(self, capsys) -> None:
        place = decoder("mine", Olmo2ForCausalLM, Olmo2Config)
        study, _ = written(capsys, place, "--text", write("text.txt", sentences(30)))
        assert not study.tasks["language"].released.removable


def test_numbers_of_a_model_without_its_weights() -> None:
    decoder("mine", num_key_value_heads=2)
    loaded = LlamaForCausalLM.from_pretrained("mine")
    found = read_outline(HubModelSettings(path="mine"))
    assert found.parameters == sum(weight.numel() for weight in loaded.parameters())
    assert found.weight_bytes("bfloat16") == 2 * found.parameters
    assert (found.heads, found.groups, found.longest, found.pieces, found.size.outputs) == (18, 6, 64, 100, 100)


def test_large_models_get_fewer_examples() -> None:
    decoder("mine")
    outline = read_outline(HubModelSettings(path="mine"))
    sizes = [new.choose_sizes(_enlarged(outline, factor)) for factor in (1, 10**5, 10**7)]
    examples = [pieces * count for pieces, count in sizes]
    assert examples == sorted(examples, reverse=True)
    assert sizes[-1][1] >= 8


def _enlarged(outline: Any, factor: int) -> Any:
    return replace(outline, size=replace(outline.size, parameters=outline.parameters * factor), longest=2048)


def edit(path: str, **changes: Any) -> None:
    file = Path(path)
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


class TestRefused:
    """Nothing is written, and a line or two say why."""

    @pytest.fixture
    def text(self) -> str:
        return write("text.txt", sentences(30))

    def refusal(self, *arguments: str) -> str:
        before = sorted(Path().rglob("*"))
        with pytest.raises(HeadroomError) as caught:
            new.main(arguments)
        assert sorted(Path().rglob("*")) == before
        message = str(caught.value)
        assert message.count("\n") <= 1
        assert len(message) < 500
        return message

    def test_no_such_place(self, text) -> None:
        for name in ("./nowhere", "models/of/mine", "gone.gguf"):
            assert "no such directory or file" in self.refusal(name, "--text", text)
        assert "a file; give the model's directory" in self.refusal(text, "--text", text)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("config.json", "no config.json"),
            ("model.safetensors", "no weights"),
            ("tokenizer.json", "no tokenizer"),
        ],
    )
    def test_missing_file(self, text, name: str, message: str) -> None:
        place = decoder("mine")
        (Path(place) / name).unlink()
        assert message in self.refusal(place, "--text", text)

    def test_damaged_or_unknown_configuration(self, text) -> None:
        place = decoder("mine")
        edit("mine/config.json", model_type="of-tomorrow")
        assert "of a type unknown to transformers" in self.refusal(place, "--text", text)
        Path("mine/config.json").write_text('{"model_type": "llama", ')
        assert "damaged" in self.refusal(place, "--text", text)

    def test_models_of_other_kinds(self, text) -> None:
        write_encoder(Path("mine"))
        BertForMaskedLM(BertConfig(vocab_size=50, **SHAPE)).save_pretrained("mine")
        assert "BertForMaskedLM is neither a sequence classifier" in self.refusal("mine", "--text", text)
        edit("mine/config.json", architectures=None)
        assert "without `architectures`" in self.refusal("mine", "--text", text)

    def test_tokenizer_of_another_model(self, text) -> None:
        place = decoder("mine")
        edit("mine/config.json", vocab_size=20)
        assert "the tokenizer has" in self.refusal(place, "--text", text)

    def test_missing_part_of_the_weights(self, text) -> None:
        place = decoder("mine")
        index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
        Path("mine/model.safetensors").rename("mine/model-00001-of-00002.safetensors")
        Path("mine/model.safetensors.index.json").write_text(json.dumps(index))
        assert "1 of 2 files of weights are missing" in self.refusal(place, "--text", text)

    def test_text(self, text) -> None:
        place = decoder("mine")
        assert "cannot read" in self.refusal(place, "--text", "gone.txt")
        assert "no text" in self.refusal(place, "--text", write("empty.txt", ["", ""]))
        assert "1 documents" in self.refusal(place, "--text", write("one.txt", ["all in one line"]))
        Path("latin.txt").write_bytes("caf\xe9\n".encode("latin-1") * 30)
        assert "not UTF-8" in self.refusal(place, "--text", "latin.txt")
        assert "3 files; give one or two" in self.refusal(place, "--text", text, text, text)

    def test_labelled_text(self, text) -> None:
        write_encoder(Path("mine"), labels=["no", "yes"])
        assert "no column 'sentence'" in self.refusal("mine", "--text", text)
        other = write("other.tsv", ["sentence\tlabel", *(f"{one}\tperhaps" for one in sentences(30))])
        assert "undeclared label 'perhaps'" in self.refusal("mine", "--text", other)
        assert "3 names, but the model has 2 labels" in self.refusal("mine", "--text", other, "--labels", "a", "b", "c")
        same = write("same.tsv", ["sentence\tlabel", *(["the same\tno"] * 30)])
        assert "0 examples that differ" in self.refusal("mine", "--text", same)
        edit("mine/config.json", id2label={"0": "LABEL_0", "1": "LABEL_1"}, label2id={"LABEL_0": 0, "LABEL_1": 1})
        assert "labels have no names" in self.refusal("mine", "--text", same)

    def test_parallel_text(self, text) -> None:
        write_translator(Path("mine"), "marian")
        assert "1 column" in self.refusal("mine", "--text", text)
        shorter = write("shorter.txt", sentences(29))
        assert "30 lines, but shorter.txt has 29" in self.refusal("mine", "--text", text, shorter)

    def test_study_that_is_there(self, text) -> None:
        Path("studies").mkdir()
        write("studies/mine.yaml", ["study: precious"])
        assert "exists already" in self.refusal(decoder("mine"), "--text", text)
        assert yaml.safe_load(Path("studies/mine.yaml").read_text()) == {"study": "precious"}
