import pytest
from headroom.settings.models import MosesSettings, ReleasedModel
from headroom.settings.parallel import ParallelHubCorpus, SacrebleuCorpus
from pydantic import ValidationError


def test_sets_of_online_text_by_name():
    found = SacrebleuCorpus(choose="wmt11", far={"mtnt": "mtnt1.1/test", "b": "wmt10"})
    assert found.named_sets == {
        "choose": "wmt11",
        "check": "wmt12",
        "test": "wmt14/full",
        "far.mtnt": "mtnt1.1/test",
        "far.b": "wmt10",
    }
    assert found.far_names == ("mtnt", "b")
    hub = ParallelHubCorpus(dataset="some/talks", source_language="de", target_language="en", far={"sea": "other"})
    assert hub.splits == {"train": "train", "valid": "validation", "test": "test", "sea": "other"}


@pytest.mark.parametrize("given", [{}, {"url": "https://x.org/a.tar", "path": "b"}])
def test_a_released_model_is_in_one_place(given):
    with pytest.raises(ValidationError, match="give either"):
        ReleasedModel(**given)


def test_dictionaries_are_named_by_their_languages():
    released = ReleasedModel(path="x", source_language="en", target_language="de")
    assert released.dictionaries == ("dict.en.txt", "dict.de.txt")
    assert set(MosesSettings.model_fields) < set(ReleasedModel.model_fields)
