"""Generated sentence pairs with their labels and the edits behind each pair."""

from dataclasses import dataclass

from headroom.data.corpora import Request
from headroom.data.grammar.pairs import LABELS, PAIR_DOMAINS, PairMaker, text_of
from headroom.data.labelled import LabelledSets, LabelledText
from headroom.settings.labelled import GeneratedPairs


@dataclass(frozen=True)
class PairSet:
    """The pairs of one set, and the edits of each, separated by spaces."""

    text: LabelledText
    edits: list[str]

    def every_second(self, start: int) -> "PairSet":
        """Return the pairs number start, start + 2, ... (counted from 0) with their edits."""
        return PairSet(self.text.every_second(start), self.edits[start::2])


def labelled(settings: GeneratedPairs, _request: Request) -> LabelledSets:
    """Return the pairs of the grammar, and beside them the edits of every set, one pair a line."""
    sets = generate_pair_sets(settings)
    return LabelledSets(
        {name: pairs.text for name, pairs in sets.items()},
        LABELS,
        ("accuracy",),
        beside={f"{name}.edits": pairs.edits for name, pairs in sets.items()},
    )


def generate_pair_sets(settings: GeneratedPairs) -> dict[str, PairSet]:
    """Return train, choose, check, test and far, without a premise that occurs twice.

    Each set has its own stream of random numbers, and train is drawn last: the evaluation sets stay the
    same when more training pairs are asked for.
    """
    seen: set[str] = set()
    drawn = {
        name: _draw(name, topic, count, settings.seed, seen)
        for name, topic, count in (
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


def _draw(name: str, topic: str, count: int, seed: int, seen: set[str]) -> PairSet:
    """Draw pairs whose premises are new, of three in a row one of each label, and add these to those seen."""
    wanted = set(LABELS)
    text = LabelledText([], second := [], [])
    edits: list[str] = []
    for pair in PairMaker(domain=PAIR_DOMAINS[topic], seed=f"{seed} {name} pairs").pairs():
        if len(edits) == count:
            break
        premise = text_of(pair.premise)
        if premise in seen or pair.label not in wanted:
            continue
        wanted = (wanted - {pair.label}) or set(LABELS)
        seen.add(premise)
        text.first.append(premise)
        second.append(text_of(pair.hypothesis))
        text.labels.append(pair.label)
        edits.append(" ".join(pair.edits))
    return PairSet(text, edits)
