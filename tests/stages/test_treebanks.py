"""The stages that bring a treebank: made by the grammar, from the catalogue, or one's own."""

import hashlib

import pytest
import yaml
from headroom.core.errors import HeadroomError
from headroom.data.trees import read_trees
from headroom.settings.labelled import CatalogueTreebank
from headroom.stages import collect_treebank, download_treebank, generate_trees

TREE = "1\tHello\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No\n2\t!\t_\t_\t_\t_\t1\tpunct\t_\t_\n\n"


class TestGenerated:
    def test_sentences_are_new_trees_without_repetition(self, tmp_path):
        generate_trees.main(["--output", str(tmp_path / "a.conllu"), "--sentences", "40", "--seed", "3"])
        sentences = read_trees(tmp_path / "a.conllu")
        assert len({sentence.text for sentence in sentences}) == 40
        relations = {word.relation for sentence in sentences for word in sentence.words}
        assert {"nsubj", "obj", "amod", "advmod"} <= relations

    def test_the_seed_makes_them_and_fewer_are_the_first_of_more(self, tmp_path):
        for name, seed, count in (("a", 1, 9), ("b", 1, 6), ("c", 2, 6)):
            generate_trees.main(
                ["--output", str(tmp_path / f"{name}.conllu"), "--sentences", str(count), "--seed", str(seed)]
            )
        texts = {name: [one.text for one in read_trees(tmp_path / f"{name}.conllu")] for name in "abc"}
        assert texts["a"][:6] == texts["b"] != texts["c"]

    def test_relations_that_they_lack_are_told(self, tmp_path):
        given = ["--output", str(tmp_path / "a.conllu"), "--sentences", "40", "--relations"]
        generate_trees.main([*given, "nsubj", "obj"])
        with pytest.raises(HeadroomError, match=r"roles\.relations.*no relation 'vocative'; it has .*nsubj, .*"):
            generate_trees.main([*given, "nsubj", "vocative"])


class TestCatalogue:
    @pytest.fixture
    def given(self, tmp_path):
        file = tmp_path / "mirror/ud-english-pud/pud.conllu"
        file.parent.mkdir(parents=True)
        file.write_text(TREE)
        entry = {
            "path": "ud-english-pud/pud.conllu",
            "url": "http://127.0.0.1:9/x",
            "bytes": file.stat().st_size,
            "lines": 3,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "licence": "CC",
        }
        (tmp_path / "catalogue.yaml").write_text(yaml.safe_dump({"ud-english-pud": {"title": "PUD", "file": entry}}))
        flags = ["--catalogue", str(tmp_path / "catalogue.yaml"), "--mirror", str(tmp_path / "mirror")]
        return [*flags, "--output", str(tmp_path / "out/treebank.conllu")], file

    def test_from_the_mirror(self, given, tmp_path):
        download_treebank.main(given[0])
        assert (tmp_path / "out/treebank.conllu").read_text() == TREE

    def test_relations_that_it_lacks_are_told(self, given):
        download_treebank.main([*given[0], "--relations", "punct"])
        with pytest.raises(HeadroomError, match=r"no relation 'nsubj'; it has punct"):
            download_treebank.main([*given[0], "--relations", "nsubj"])

    def test_a_changed_file_is_refused_and_nothing_written(self, given, tmp_path):
        given[1].write_text(TREE + TREE)
        with pytest.raises(HeadroomError, match=r"pud\.conllu: wrong checksum"):
            download_treebank.main(given[0])
        assert not (tmp_path / "out/treebank.conllu").exists()

    def test_a_treebank_that_is_not_there_is_named(self, given):
        with pytest.raises(HeadroomError, match="no treebank 'ud-german-pud': it has ud-english-pud"):
            download_treebank.main([*given[0], "--treebank", "ud-german-pud"])

    def test_the_catalogue_has_every_treebank_that_can_be_asked_for(self):
        names = CatalogueTreebank.model_json_schema()["properties"]["treebank"]["enum"]
        for name in names:
            found = download_treebank.find_treebank(name)
            assert found.file.path.startswith(f"{name}/")
            assert found.file.url.endswith(found.file.path.partition("/")[2])


class TestOwn:
    def test_a_sound_treebank_is_taken_as_it_is(self, tmp_path):
        (tmp_path / "mine.conllu").write_text(TREE)
        collect_treebank.main(["--input", str(tmp_path / "mine.conllu"), "--output", str(tmp_path / "out.conllu")])
        assert (tmp_path / "out.conllu").read_text() == TREE

    def test_a_faulty_one_is_refused_with_its_line(self, tmp_path):
        (tmp_path / "mine.conllu").write_text(TREE + TREE.replace("\t1\tpunct", "\t7\tpunct"))
        with pytest.raises(HeadroomError, match=r"mine\.conllu, line 5: the governor 7 is no word"):
            collect_treebank.main(["--input", str(tmp_path / "mine.conllu"), "--output", str(tmp_path / "out.conllu")])
        assert not (tmp_path / "out.conllu").exists()
