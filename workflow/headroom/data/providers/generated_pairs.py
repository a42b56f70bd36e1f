"""Generated sentence pairs with their labels and the edits behind each pair, and trees of such sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

from headroom.data.corpora import Request, drawn_sets
from headroom.data.grammar import source
from headroom.data.grammar.pairs import LABELS, PAIR_DOMAINS, PairMaker, build_text
from headroom.data.labelled import LabelledSets, LabelledText
from headroom.data.trees import Trees
from headroom.settings.labelled import GeneratedPairs, GeneratedTreebank


@dataclass(frozen=True)
class PairSet(LabelledText):
    """Pairs, and the edits of each, which are written to `<set>.edits`, a line each, separated by spaces."""

    edits: list[str]

    def taken(self, places: Sequence[int]) -> "PairSet":
        """Return the pairs at these positions (counted from 0), with their edits."""
        own = super().taken(places)
        return PairSet(own.first, own.second, own.labels, [self.edits[place] for place in places])

    def beside(self, name: str) -> dict[str, list[str]]:
        """Return the edits."""
        return {f"{name}.edits": self.edits}


def labelled(settings: GeneratedPairs, _request: Request) -> LabelledSets:
    """Return the pairs of the grammar."""
    return LabelledSets(generate_pair_sets(settings), LABELS, ("accuracy",))


def trees(settings: GeneratedTreebank, request: Request) -> Trees:
    """Return trees of new premises of the training domain, none twice, from a separate stream of random numbers."""
    found: dict[str, list[source.Token]] = {}
    for pair in PairMaker(domain=PAIR_DOMAINS["near"], seed=f"{request.seed} treebank pairs").pairs():
        if len(found) == settings.sentences:
            break
        tokens = source.realise(pair.premise)
        found.setdefault(source.text(tokens), tokens)
    return Trees(source.conllu_lines(list(found.values()), name="premise"), "the grammar's treebank")


def generate_pair_sets(settings: GeneratedPairs) -> dict[str, PairSet]:
    """Return train, choose, check, test and far, without a premise that occurs twice."""
    seen: set[str] = set()
    return drawn_sets(settings, lambda name, topic, count: _draw(f"{settings.seed} {name} pairs", topic, count, seen))


def _draw(seed: str, topic: str, count: int, seen: set[str]) -> PairSet:
    """Draw pairs with new premises, of three in a row one of each label, and add the premises to `seen`."""
    wanted = set(LABELS)
    found = PairSet([], second := [], [], [])
    for pair in PairMaker(domain=PAIR_DOMAINS[topic], seed=seed).pairs():
        if len(found) == count:
            break
        premise = build_text(pair.premise)
        if premise in seen or pair.label not in wanted:
            continue
        wanted = (wanted - {pair.label}) or set(LABELS)
        seen.add(premise)
        found.first.append(premise)
        second.append(build_text(pair.hypothesis))
        found.labels.append(pair.label)
        found.edits.append(" ".join(pair.edits))
    return found
