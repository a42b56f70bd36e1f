"""Dependency trees of sentences as the generated sentence pairs have them."""

from headroom.data.grammar import source
from headroom.data.grammar.pairs import PAIR_DOMAINS, PairMaker


def generate_trees(seed: int, count: int) -> list[list[source.Token]]:
    """Return the trees of premises of the training domain, none twice, from a stream of random numbers of their own."""
    trees: dict[str, list[source.Token]] = {}
    for pair in PairMaker(domain=PAIR_DOMAINS["near"], seed=f"{seed} treebank pairs").pairs():
        if len(trees) == count:
            break
        tokens = source.realise(pair.premise)
        trees.setdefault(source.text(tokens), tokens)
    return list(trees.values())
