import pytest
from headroom.settings.parallel import CatalogueCorpus, Corpus, FilesCorpus, GeneratedCorpus
from pydantic import TypeAdapter, ValidationError

CORPUS = TypeAdapter(Corpus)
PAIR = {"source": "a.en", "target": "a.xx"}
FILES = {"source": "files", "train": PAIR, "valid": PAIR, "test": PAIR}


def test_source_chooses_the_kind_of_corpus():
    assert isinstance(CORPUS.validate_python({"source": "generated"}), GeneratedCorpus)
    assert isinstance(CORPUS.validate_python({"source": "catalogue"}), CatalogueCorpus)
    assert isinstance(CORPUS.validate_python({**FILES, "far": {"sea": PAIR}}), FilesCorpus)


def test_far_names():
    assert GeneratedCorpus().far_names == ("far",)
    assert CatalogueCorpus().far_names == ("mscoco", "newstest2015")
    assert CORPUS.validate_python({**FILES, "far": {"sea": PAIR, "air": PAIR}}).far_names == ("sea", "air")


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": "generatd"},
        {"source": "generated", "sed": 1},
        {"source": "generated", "train": "many"},
        {"source": "generated", "dataset": "multi30k"},
        {"source": "catalogue", "dataset": "europarl"},
        {"source": "files", "train": PAIR, "valid": PAIR},
        {**FILES, "far": {"test": PAIR}},
        {**FILES, "far": {"../up": PAIR}},
        {**FILES, "test": {"source": "a.en"}},
    ],
)
def test_wrong_keys_and_values_are_refused(wrong):
    with pytest.raises(ValidationError):
        CORPUS.validate_python(wrong)
