import conllu
import pytest
from headroom.core.files import write_lines
from headroom.data.grammar.conllu_lines import conllu_lines
from headroom.data.providers.generated import generate_sets
from headroom.settings.parallel import GeneratedCorpus


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the far set, the richest one, and its CoNLL-U as an independent library reads it."""
    pair = generate_sets(GeneratedCorpus(train=1, valid=2, test=1, far=400))["far"]
    path = tmp_path_factory.mktemp("trees") / "far.conllu"
    write_lines(path, conllu_lines(pair.trees, name="far"))
    return pair.pairs.source, conllu.parse(path.read_text(encoding="utf-8"))


def test_one_tree_per_sentence_with_the_same_text(written):
    lines, trees = written
    assert len(trees) == len(lines)
    for number, (line, tree) in enumerate(zip(lines, trees, strict=True), 1):
        assert tree.metadata == {"sent_id": f"far-{number}", "text": line}
        glue = ["" if (token["misc"] or {}).get("SpaceAfter") == "No" else " " for token in tree]
        assert "".join(token["form"] + space for token, space in zip(tree, glue, strict=True)).rstrip() == line


def test_trees_have_one_root_no_cycle_and_no_crossing(written):
    for tree in written[1]:
        heads = {token["id"]: token["head"] for token in tree}
        assert [token["deprel"] for token in tree if token["head"] == 0] == ["root"]
        for start in heads:
            seen, at = set(), start
            while at:
                assert at not in seen, f"cycle in {tree.metadata['text']}"
                seen.add(at)
                at = heads[at]
        arcs = [tuple(sorted(arc)) for arc in heads.items()]
        assert not [(a, b) for a in arcs for b in arcs if a[0] < b[0] < a[1] < b[1]], tree.metadata["text"]


def test_relations_fit_their_words(written):
    allowed = {
        "det": {"DET"}, "nummod": {"NUM"}, "amod": {"ADJ"}, "case": {"ADP"}, "mark": {"SCONJ"}, "cc": {"CCONJ"},
        "aux": {"AUX"}, "cop": {"AUX"}, "advmod": {"ADV"}, "punct": {"PUNCT"}, "nsubj": {"NOUN", "PROPN", "PRON"},
        "obj": {"NOUN", "PROPN", "PRON"}, "obl": {"NOUN", "PROPN"}, "nmod": {"NOUN", "PROPN"},
        "conj": {"NOUN", "PROPN"}, "acl:relcl": {"VERB", "ADJ"}, "advcl": {"VERB", "ADJ"}, "ccomp": {"VERB", "ADJ"},
        "root": {"VERB", "ADJ"},
    }  # fmt: skip
    used = {}
    for tree in written[1]:
        for token in tree:
            used.setdefault(token["deprel"], set()).add(token["upos"])
    assert set(used) == set(allowed)
    assert all(used[relation] <= allowed[relation] for relation in used)


def test_articles_stand_before_and_agree_in_number(written):
    for tree in written[1]:
        for token in tree:
            if token["deprel"] in ("det", "nummod"):
                noun = tree[token["head"] - 1]
                assert token["id"] < noun["id"]
                plural = noun["feats"]["Number"] == "Plur"
                if token["form"].lower() in ("a", "an", "this", "every"):
                    assert not plural
                if token["form"].lower() in ("some", "these", "two", "three"):
                    assert plural
