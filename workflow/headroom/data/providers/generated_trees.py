"""Generated trees of sentences as the generated sentence pairs have them, which do not depend on this module."""

from headroom.data.corpora import Request
from headroom.data.grammar import source
from headroom.data.grammar.conllu_lines import conllu_lines
from headroom.data.grammar.pairs import PAIR_DOMAINS, PairMaker
from headroom.data.trees import Trees
from headroom.settings.labelled import GeneratedTreebank


def trees(settings: GeneratedTreebank, request: Request) -> Trees:
    """Return trees of new premises of the training domain, none twice, from a stream of random numbers of their own."""
    found: dict[str, list[source.Token]] = {}
    for pair in PairMaker(domain=PAIR_DOMAINS["near"], seed=f"{request.seed} treebank pairs").pairs():
        if len(found) == settings.sentences:
            break
        tokens = source.realise(pair.premise)
        found.setdefault(source.text(tokens), tokens)
    return Trees(conllu_lines(list(found.values()), name="premise"), "the grammar's treebank")
