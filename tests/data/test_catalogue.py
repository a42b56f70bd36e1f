import pytest
import yaml
from headroom.core.errors import HeadroomError
from headroom.data.catalogue import Dataset, LabelledDataset, Treebank, find_entry, read_entries
from headroom.settings.base import names_in
from headroom.settings.parallel import CatalogueCorpus


def test_every_dataset_of_the_settings_is_in_the_catalogue_with_its_far_sets():
    settings = CatalogueCorpus()
    dataset = find_entry(Dataset, settings.dataset, settings.far)
    assert dataset.far == settings.far_names == ("mscoco", "newstest2015")
    assert dataset.file("test", "source").path == "multi30k/test_2016_flickr.en.gz"
    assert dataset.file("test", "target").path == "multi30k/test_2016_flickr.de.gz"
    assert (dataset.file("train", "source").lines, dataset.file("newstest2015", "target").lines) == (29000, 2169)


@pytest.mark.parametrize("model", [Dataset, LabelledDataset, Treebank])
def test_settings_have_the_names_of_every_entry(model):
    assert names_in(model.place.name) == tuple(read_entries(model.place, model))


def test_unknown_names_are_refused_with_what_there_is():
    with pytest.raises(HeadroomError, match="no data set 'europarl': it has multi30k"):
        find_entry(Dataset, "europarl", ())
    with pytest.raises(HeadroomError, match="no far-domain set 'moon': it has mscoco, newstest2015"):
        find_entry(Dataset, "multi30k", ("moon",))


def changed(edit):
    """Return the catalogue's text after an edit of its content."""
    content = yaml.safe_load(Dataset.place.read_text(encoding="utf-8"))
    edit(content["multi30k"])
    return yaml.safe_dump(content)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda entry: entry["files"][0].update(sha256="abc"), r"key multi30k\.files\.0\.sha256"),
        (lambda entry: entry["files"][0].pop("licence"), r"files\.0\.licence"),
        (lambda entry: entry["files"][0].update(path="../x/y"), r"files\.0\.path"),
        (lambda entry: entry["files"][0].update(mirror="x"), r"files\.0\.mirror"),
        (lambda entry: entry["files"].pop(0), "one source and one target"),
        (lambda entry: entry["files"].append(entry["files"][0]), "one source and one target"),
    ],
)
def test_faulty_catalogue_names_the_key(tmp_path, edit, message):
    path = tmp_path / "catalogue.yaml"
    path.write_text(changed(edit), encoding="utf-8")
    with pytest.raises(HeadroomError, match=message):
        read_entries(path, Dataset)


def test_unreadable_catalogue_is_named(tmp_path):
    for content in ("[", "- a", ""):
        (tmp_path / "catalogue.yaml").write_text(content)
        with pytest.raises(HeadroomError, match=r"cannot read the catalogue .*catalogue\.yaml"):
            read_entries(tmp_path / "catalogue.yaml", Dataset)
