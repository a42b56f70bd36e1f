import pytest
from headroom.settings.parallel import Corpus
from pydantic import TypeAdapter, ValidationError

CORPUS = TypeAdapter(Corpus)
PAIR = {"source": "a.en", "target": "a.xx"}
FILES = {"source": "files", "train": PAIR, "valid": PAIR, "test": PAIR}


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
