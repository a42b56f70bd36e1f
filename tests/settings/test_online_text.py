import argparse

import pytest
from headroom.core.errors import HeadroomError
from headroom.settings.models import MosesSettings, ReleasedModel
from headroom.settings.parallel import ParallelHubCorpus, SacrebleuCorpus, add_corpus, corpus_from
from pydantic import ValidationError

HUB = ["--dataset", "some/talks", "--source-language", "de", "--target-language", "en"]


def parsed(model, *flags):
    parser = argparse.ArgumentParser()
    add_corpus(parser, model)
    return corpus_from(parser.parse_args(flags), model)


def test_flags_give_the_corpus_back():
    assert parsed(SacrebleuCorpus) == SacrebleuCorpus()
    found = parsed(SacrebleuCorpus, "--choose", "wmt11", "--far", "mtnt", "mtnt1.1/test", "--far", "b", "wmt10")
    assert found.named_sets == {
        "choose": "wmt11",
        "check": "wmt12",
        "test": "wmt14/full",
        "far.mtnt": "mtnt1.1/test",
        "far.b": "wmt10",
    }
    assert found.far_names == ("mtnt", "b")
    hub = parsed(ParallelHubCorpus, *HUB, "--train", "train[:98%]", "--far", "sea", "other")
    assert hub.splits == {"train": "train[:98%]", "valid": "validation", "test": "test", "sea": "other"}
    assert hub.revision is None


@pytest.mark.parametrize(
    ("model", "flags", "message"),
    [
        (SacrebleuCorpus, ["--far", "check", "x"], "--far: 'check' cannot name a far-domain set"),
        (SacrebleuCorpus, ["--far", "a", "x", "--far", "a", "y"], "--far a: the name is given twice"),
        (SacrebleuCorpus, ["--pair", "english"], "--pair: String should match pattern"),
        (ParallelHubCorpus, [*HUB, "--far", "a-b", "x"], "--far: 'a-b' cannot name"),
        (ParallelHubCorpus, [*HUB[2:], "--dataset", ""], "--dataset: String should have at least 1"),
    ],
)
def test_wrong_flags_are_named(model, flags, message):
    with pytest.raises(HeadroomError, match=message):
        parsed(model, *flags)


def test_help_can_be_shown(capsys):
    for model in (SacrebleuCorpus, ParallelHubCorpus):
        with pytest.raises(SystemExit):
            parsed(model, "--help")
    assert "train[:98%]" in capsys.readouterr().out


@pytest.mark.parametrize("given", [{}, {"url": "https://x.org/a.tar", "path": "b"}])
def test_a_released_model_is_in_one_place(given):
    with pytest.raises(ValidationError, match="give one of the two"):
        ReleasedModel(**given)


def test_dictionaries_are_named_by_their_languages():
    released = ReleasedModel(path="x", source_language="en", target_language="de")
    assert released.dictionaries == ("dict.en.txt", "dict.de.txt")
    assert set(MosesSettings.model_fields) < set(ReleasedModel.model_fields)
