"""Initial encoders: one form for all sources, and errors for all inconsistencies before training."""

import json
import shutil

import huggingface_hub
import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.core.files import sha256
from headroom.models.find_sites import longest_input
from headroom.models.sources import locate
from headroom.settings.models import HubEncoder, HubModelSettings
from headroom.training.classifier.encoder import load_pretrained_encoder, write_encoder
from models import write_encoder as write_pretrained
from safetensors.torch import load_file, save_file
from trainings import LABELS, same, toy_encoder

FILES = ["config.json", "tokenizer.json", "tokenizer_config.json"]


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def prepared(source, output):
    write_encoder(load_pretrained_encoder(source, LABELS), output)
    return output


@pytest.fixture
def source(tmp_path):
    return write_pretrained(tmp_path / "source", head=False)


def rewrite(directory, file="config.json", **changes):
    content = json.loads((directory / file).read_text())
    (directory / file).write_text(json.dumps({**content, **changes}))


class TestNew:
    def test_it_is_a_bert_of_the_shape_asked_for(self, tmp_path):
        write_encoder(toy_encoder(layers=3, heads=4), tmp_path)
        assert names(tmp_path) == FILES
        config = transformers.AutoConfig.from_pretrained(tmp_path)
        assert (config.model_type, config.num_hidden_layers, config.num_attention_heads) == ("bert", 3, 4)
        assert (config.hidden_size, config.intermediate_size, config.hidden_dropout_prob) == (16, 32, 0.1)
        assert config.id2label == {0: "neutral", 1: "bad", 2: "good"}
        assert config.label2id == {"neutral": 0, "bad": 1, "good": 2}
        assert config.problem_type == "single_label_classification"
        model = transformers.AutoModelForSequenceClassification.from_config(config)
        assert model.get_input_embeddings().num_embeddings == len(transformers.AutoTokenizer.from_pretrained(tmp_path))

    def test_pairs_are_read_as_bert_reads_them(self, tmp_path):
        write_encoder(toy_encoder(), tmp_path)
        tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
        assert tokenizer.is_fast
        found = tokenizer("The DOG", "a cat §")
        tokens = tokenizer.convert_ids_to_tokens(found["input_ids"])
        assert (tokens[0], tokens[3], tokens[-1]) == ("[CLS]", "[SEP]", "[SEP]")
        assert tokens[1:3] == ["the", "dog"]
        assert "[UNK]" in tokens
        assert found["token_type_ids"] == [0] * 4 + [1] * (len(tokens) - 4)
        assert tokenizer.pad_token_id == 0
        assert tokenizer.decode(tokenizer("the dog")["input_ids"], skip_special_tokens=True) == "the dog"

    def test_the_same_text_gives_the_same_bytes(self, tmp_path):
        for place in ("one", "two"):
            write_encoder(toy_encoder(), tmp_path / place)
        for name in FILES:
            assert sha256(tmp_path / "one" / name) == sha256(tmp_path / "two" / name)


class TestPretrained:
    @pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "electra", "deberta-v3"])
    def test_the_encoder_keeps_its_weights_and_loses_its_head(self, tmp_path, family):
        write_pretrained(tmp_path / "source", family, labels=LABELS)  # a classifier: its head must not be taken over
        prepared(tmp_path / "source", tmp_path / "out")
        before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("source", "out"))
        prefix = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "out").base_model_prefix
        assert set(after) == {name for name in before if name.startswith(prefix + ".")}
        assert all(torch.equal(after[name], before[name]) for name in after)
        assert names(tmp_path / "out") == sorted([*FILES, "model.safetensors"])
        config = json.loads((tmp_path / "out" / "config.json").read_text())
        assert config["id2label"] == {"0": "neutral", "1": "bad", "2": "good"}
        assert config["architectures"][0].endswith("ForSequenceClassification")

    def test_a_bare_encoder_a_masked_language_model_and_a_classifier_give_the_same(self, tmp_path):
        write_pretrained(tmp_path / "bare", head=False)
        write_pretrained(tmp_path / "classifier")
        config = transformers.AutoConfig.from_pretrained(tmp_path / "bare")
        masked = transformers.BertForMaskedLM(config)
        masked.bert.load_state_dict(load_file(tmp_path / "bare" / "model.safetensors"), strict=False)
        shutil.copytree(tmp_path / "bare", tmp_path / "masked")
        masked.save_pretrained(tmp_path / "masked")
        made = {
            place: load_file(prepared(tmp_path / place, tmp_path / f"{place}-out") / "model.safetensors")
            for place in ("bare", "classifier", "masked")
        }
        assert same(made["bare"], made["classifier"])
        pooler = {"bert.pooler.dense.bias", "bert.pooler.dense.weight"}  # this one has none
        assert same(made["masked"], {name: value for name, value in made["bare"].items() if name not in pooler})

    @pytest.mark.parametrize(("family", "rows"), [("bert", 30), ("roberta", 32), ("distilbert", 30)])
    def test_the_longest_input_is_what_the_table_of_positions_holds(self, tmp_path, family, rows):
        """RoBERTa leaves out as many rows as the number of its padding token, 1, and one more."""
        longest = 30
        source = write_pretrained(tmp_path / "source", family, positions=longest)
        assert transformers.AutoConfig.from_pretrained(source).max_position_embeddings == rows
        rewrite(source, "tokenizer_config.json", model_max_length=10**30)
        start = load_pretrained_encoder(source, LABELS)
        assert start.tokenizer.model_max_length == longest
        model = transformers.AutoModelForSequenceClassification.from_pretrained(source).eval()
        assert longest_input(model) == longest
        model(torch.full((1, longest), 5))
        with pytest.raises((IndexError, RuntimeError)):
            model(torch.full((1, longest + 1), 5))


class TestWriting:
    def test_another_encoder_in_the_same_place_leaves_nothing_of_the_first(self, source, tmp_path):
        prepared(source, tmp_path / "out")
        (tmp_path / "out" / ".encoder.killed").mkdir()
        write_encoder(toy_encoder(), tmp_path / "out")
        assert names(tmp_path / "out") == FILES

    def test_without_its_last_file_it_is_no_model(self, source, tmp_path, monkeypatch):
        prepared(source, tmp_path / "out")

        def full(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("headroom.training.classifier.encoder.save_file", full)
        with pytest.raises(HeadroomError, match=r"out: cannot write, no space left on the disk"):
            prepared(source, tmp_path / "out")
        assert names(tmp_path / "out") == []


ANSWERS = [
    ("RepositoryNotFoundError", r"name: the Hub has no model some/model"),
    ("RevisionNotFoundError", r"revision: some/model has no revision main"),
    ("GatedRepoError", r"name: the Hub restricts some/model to users"),
]


class TestHub:
    """The Hub's client is replaced: what is tested is what becomes of its answers."""

    @pytest.fixture
    def hub(self, monkeypatch, tmp_path):
        def answer(info=None, snapshot=None):
            def model_info(self, name, *, revision, timeout):
                assert timeout <= 10  # a firewall that drops packets would block it indefinitely
                if info:
                    raise info

            def snapshot_download(name, *, revision, allow_patterns, local_files_only):
                assert local_files_only == bool(info)
                if snapshot:
                    raise snapshot
                return str(tmp_path)

            monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)
            monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)

        return answer

    def test_all_parts_of_split_weights_are_there(self, hub, tmp_path):
        index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
        (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
        save_file({"a": torch.ones(2)}, tmp_path / "model-1.safetensors")
        for settings in (HubModelSettings(name="some/model"), HubModelSettings(path=str(tmp_path))):
            hub()
            with pytest.raises(
                HeadroomError, match=r"1 of 2 files of weights are missing, e\.g\. model-2\.safetensors;"
            ):
                locate(settings, "released")
        save_file({"b": torch.ones(2)}, tmp_path / "model-2.safetensors")
        assert locate(HubModelSettings(path=str(tmp_path)), "released") == tmp_path

    def test_a_gguf_file_is_there(self, tmp_path):
        (tmp_path / "other.gguf").touch()
        with pytest.raises(HeadroomError, match=r"no file my\.gguf; choose from other\.gguf$"):
            locate(HubModelSettings(path=str(tmp_path), gguf="my.gguf"), "released")

    def test_it_is_downloaded_or_without_network_an_earlier_download_will_do(self, hub, tmp_path):
        for info in (None, ConnectionError("Name or service not known")):
            hub(info=info)
            assert locate(HubEncoder(name="some/model")) == tmp_path

    def test_what_cannot_be_downloaded_is_told_with_the_way_out(self, hub):
        errors, unknown = huggingface_hub.errors, ConnectionError("Name or service not known")
        answers = [
            *((getattr(errors, name).__new__(getattr(errors, name)), None, message) for name, message in ANSWERS),
            (unknown, FileNotFoundError("not in the cache"), r"cannot download some/model[\s\S]* use encoder.source"),
            (None, TimeoutError("read timed out"), r"cannot download some/model from the Hub \(read timed out\)"),
        ]
        for info, snapshot, message in answers:
            hub(info=info, snapshot=snapshot)
            with pytest.raises(HeadroomError, match=message):
                locate(HubEncoder(name="some/model"))
