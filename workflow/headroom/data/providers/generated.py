"""The generated treebank pair: splits without a common sentence, with trees of the source side and tested words."""

from collections.abc import Sequence
from dataclasses import dataclass

from headroom.data.corpora import Request, halve_valid
from headroom.data.grammar import phenomena, source
from headroom.data.grammar.sample import DOMAINS, Sampler
from headroom.data.grammar.target import translate
from headroom.data.parallel import ParallelSets, ParallelText
from headroom.settings.parallel import GeneratedCorpus

LANGUAGES = ("generated English", "invented language")


@dataclass(frozen=True)
class TreebankPair(ParallelText):
    """Pairs, the dependency trees of their source sentences, and the target words that test phenomena.

    They are written to `<set>.conllu` and `<set>.phenomena.csv`.
    """

    trees: list[list[source.Token]]
    cases: list[list[phenomena.Case]]

    def taken(self, places: Sequence[int]) -> "TreebankPair":
        """Return the pairs at these positions (counted from 0), with their trees and cases."""
        trees, cases = [self.trees[place] for place in places], [self.cases[place] for place in places]
        return TreebankPair(*super().taken(places).parts, trees, cases)

    def beside(self, name: str) -> dict[str, list[str]]:
        """Return the trees as CoNLL-U, and the cases as a table."""
        return {
            f"{name}.conllu": source.conllu_lines(self.trees, name=name),
            f"{name}.phenomena.csv": phenomena.csv_lines(self.cases),
        }


def parallel(settings: GeneratedCorpus, _request: Request) -> ParallelSets:
    """Return the pairs of the grammar."""
    return ParallelSets(generate_sets(settings), LANGUAGES)


def generate_sets(settings: GeneratedCorpus) -> dict[str, TreebankPair]:
    """Return train, choose, check, test and far, without a source sentence that occurs twice.

    Train is drawn last: the evaluation sets do not change with the number of training examples.
    """
    seen: set[str] = set()
    topics = {"test": "near", "valid": "near", "far": "far", "train": "near"}
    drawn = {
        name: _draw(f"{settings.seed} {name}", topic, getattr(settings, name), seen) for name, topic in topics.items()
    }
    return halve_valid({name: drawn[name] for name in ("train", "valid", "test", "far")})


def _draw(seed: str, topic: str, count: int, seen: set[str]) -> TreebankPair:
    """Draw new sentences within the length limit, and add them to `seen`."""
    domain = DOMAINS[topic]
    found = TreebankPair([], [], [], [])
    for sentence in Sampler(domain=domain, seed=seed).sentences():
        if len(found) == count:
            break
        tokens = source.realise(sentence)
        text = source.text(tokens)
        if text in seen or len(text.split()) > domain.longest:
            continue
        seen.add(text)
        found.source.append(text)
        found.target.append(translate(sentence))
        found.trees.append(tokens)
        found.cases.append(phenomena.cases(sentence))
    return found
