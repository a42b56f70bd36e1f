"""The generated treebank pair: splits without a common sentence, with the trees of the source side."""

from dataclasses import dataclass

from headroom.data.corpora import Request
from headroom.data.grammar import source
from headroom.data.grammar.conllu_lines import conllu_lines
from headroom.data.grammar.domains import DOMAINS
from headroom.data.grammar.sample import Sampler
from headroom.data.grammar.target import translate
from headroom.data.parallel import ParallelSets, ParallelText
from headroom.settings.parallel import GeneratedCorpus

SOURCE_LANGUAGE = "generated English"
TARGET_LANGUAGE = "invented language"


@dataclass(frozen=True)
class TreebankPair:
    """One set: its pairs and the dependency trees of its source sentences, in the same order."""

    pairs: ParallelText
    trees: list[list[source.Token]]

    def every_second(self, start: int) -> "TreebankPair":
        """Return the pairs number start, start + 2, ... (counted from 0) with their trees."""
        return TreebankPair(self.pairs.every_second(start), self.trees[start::2])


def parallel(settings: GeneratedCorpus, _request: Request) -> ParallelSets:
    """Return the pairs of the grammar, and beside them a `.conllu` per set."""
    sets = generate_sets(settings)
    return ParallelSets(
        {name: pair.pairs for name, pair in sets.items()},
        (SOURCE_LANGUAGE, TARGET_LANGUAGE),
        beside={f"{name}.conllu": conllu_lines(pair.trees, name=name) for name, pair in sets.items()},
    )


def generate_sets(settings: GeneratedCorpus) -> dict[str, TreebankPair]:
    """Return train, choose, check, test and far, without a source sentence that occurs twice.

    Each set has its own stream of random numbers, and train is drawn last: the evaluation sets stay the
    same when more training pairs are asked for.
    """
    seen: set[str] = set()
    drawn = {
        name: _draw(name, domain, count, settings.seed, seen)
        for name, domain, count in (
            ("test", "near", settings.test),
            ("valid", "near", settings.valid),
            ("far", "far", settings.far),
            ("train", "near", settings.train),
        )
    }
    valid = drawn["valid"]
    return {
        "train": drawn["train"],
        "choose": valid.every_second(0),
        "check": valid.every_second(1),
        "test": drawn["test"],
        "far": drawn["far"],
    }


def _draw(name: str, topic: str, count: int, seed: int, seen: set[str]) -> TreebankPair:
    """Draw sentences that are new and not too long, and add them to those seen."""
    domain = DOMAINS[topic]
    sources: list[str] = []
    targets: list[str] = []
    trees: list[list[source.Token]] = []
    for sentence in Sampler(domain=domain, seed=f"{seed} {name}").sentences():
        if len(sources) == count:
            break
        tokens = source.realise(sentence)
        text = source.text(tokens)
        if text in seen or len(text.split()) > domain.longest:
            continue
        seen.add(text)
        sources.append(text)
        targets.append(translate(sentence))
        trees.append(tokens)
    return TreebankPair(ParallelText(sources, targets), trees)
