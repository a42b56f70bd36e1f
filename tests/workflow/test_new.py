"""What a user begins with: the study that is written for a model, and the lines of docs/notebook.md."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pandas
import pytest
from headroom import new
from headroom.core.errors import HeadroomError
from headroom.core.files import write_lines
from headroom.data.labelled import read_labelled
from headroom.models.classifier.engine import ClassificationEngine
from headroom.models.outline import read_outline
from headroom.settings.load import read_study
from headroom.settings.models import HubModelSettings
from headroom.settings.study import Study
from models import SOURCES, toy_text, write_decoder, write_encoder, write_translator
from study import run_stage
from transformers import LlamaForCausalLM, Olmo2Config, Olmo2ForCausalLM

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
    run_stage(new, arguments)
    (path,) = Path("studies").glob("*.yaml")
    return read_study(str(path)), capsys.readouterr().out


class TestKinds:
    def test_decoder_with_plain_text(self, capsys) -> None:
        text = write("text.txt", sentences(30))
        study, said = written(capsys, decoder("my.decoder", num_key_value_heads=2), "--text", text)
        (task,) = study.tasks.values()
        assert (task.task, task.corpus.path, task.corpus.documents) == ("language", text, "line")
        assert (study.study, task.released.path, task.windows.length) == ("my-decoder-text", "my.decoder", 64)
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
    assert (found.heads, found.groups, found.longest, found.tokens) == (18, 6, 64, 100)


def test_a_study_that_is_there_is_not_overwritten_but_by_force() -> None:
    given = [decoder("mine"), "--text", write("text.txt", sentences(30))]
    Path("studies").mkdir()
    write("studies/mine-text.yaml", ["study: precious"])
    with pytest.raises(HeadroomError, match="exists already; replace it by --force"):
        run_stage(new, given)
    assert Path("studies/mine-text.yaml").read_text() == "study: precious\n"
    run_stage(new, [*given, "--force"])
    assert read_study("studies/mine-text.yaml").study == "mine-text"


PAGE = Path(__file__).parents[2] / "docs" / "notebook.md"


def read_lines_of_the_page() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def test_the_lines_of_the_page_score_draw_cut_and_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_encoder(tmp_path / "classifier")
    text = toy_text(examples=24)
    assert text.second
    rows = ["\t".join(row) for row in zip(text.first, text.second, text.labels)]
    for name in ("choose", "test"):
        write_lines(tmp_path / "corpus" / f"{name}.tsv", ["sentence1\tsentence2\tlabel", *rows])
    lines, _ = read_lines_of_the_page()
    monkeypatch.chdir(tmp_path)
    found: dict[str, object] = {}
    exec(lines, found)
    drawn = found["rows"]
    assert isinstance(drawn, pandas.DataFrame)
    assert list(drawn["heads_removed"].unique()) == list(range(9))
    assert (tmp_path / "atlas.svg").read_text("utf-8").count("<title>E") == 8
    assert (tmp_path / "curve.png").stat().st_size > 1000
    engine = ClassificationEngine(corpus="corpus", checkpoint="classifier")
    smaller = engine.load("smaller")
    gone = drawn[drawn["heads_removed"] == 2].set_index("metric")
    judged = engine.judged_set("test").judge(smaller)
    assert smaller.removed == gone.loc["accuracy", "removed"]
    assert judged.scores["loss"] == pytest.approx(gone.loc["loss", "value"], rel=1e-6)


def test_the_lines_for_a_decoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_decoder(tmp_path / "decoder", num_key_value_heads=2)
    for name in ("choose", "test"):
        write_lines(tmp_path / "corpus" / f"{name}.jsonl", [json.dumps(f"the old red house {one}") for one in SOURCES])
    lines, other = read_lines_of_the_page()
    of_classifiers = re.search(r"^engine = .*\nmodel = .*\n", lines, re.MULTILINE)
    assert of_classifiers
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec(lines.replace(of_classifiers[0], other).replace("accuracy", "next"), found)
    removed = found["rows"].set_index("heads_removed")["removed"]
    assert {0, 2, 18} <= {*removed.index}
    assert (tmp_path / "atlas.svg").read_text("utf-8").count("<title>D") == 18
    smaller = found["engine"].load("smaller")
    assert smaller.removed == removed[2].iloc[0]
