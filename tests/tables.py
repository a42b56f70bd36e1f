"""Tables in the form of the stages, with resamples, for tests of some of their columns."""

import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy
from headroom.claims.entries import all_claims
from headroom.claims.evaluation import Decision, evaluate
from headroom.claims.pooling import describe_tasks
from headroom.claims.rows import claim_rows, number_rows
from headroom.claims.table import CLAIMS, NUMBERS
from headroom.core.resamples import Resamples, resamples_beside
from headroom.core.table import Table
from headroom.experiments.tables import REGISTRY
from headroom.report.first_screen import verdicts
from headroom.study.arms import ArmDescription
from headroom.study.tables import RELEASED, StudyTables, TaskDescription, open_tables
from numpy import ndarray
from pandas import DataFrame

QUANTILES = [NormalDist().inv_cdf((place + 0.5) / 400) for place in range(400)]

OF_ONE_CURVE = (
    *("run", "epoch", "scope", "order", "normalised", "ranking", "repair", "draw", "method", "setting"),
    *("layout", "updates"),
)


def write_rows(table: Table, path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows that have some of a table's columns, the others empty or their default; return the path."""
    filled = [{column.name: column.default or "" for column in table.columns} | row for row in rows]
    table.write(path, filled)
    if table.resampled:
        resampled(filled).write(resamples_beside(path))
    return path


def resampled(rows: Iterable[Mapping[str, Any]]) -> Resamples:
    """Return resamples with the intervals of the rows: normal, independent between curves and models."""
    found = Resamples()
    for row in rows:
        curve = "/".join(str(row.get(name)) for name in OF_ONE_CURVE)
        drawn = numpy.array(random.Random(curve).sample(QUANTILES, len(QUANTILES)))
        known = row.get("heads_removed") != 0 and row.get("high", "") != ""
        half = (row["high"] - row["low"]) / 2 if known else 0.0
        found.add(row["value"] + half * drawn / 1.96, numpy.full(len(drawn), float(row["full"])))
    return found


def translated_curve(random: numpy.random.Generator, qualities: ndarray, examples: int) -> ndarray:
    """Return BLEU statistics (points, examples, 10); quality falls along the curve, a sentence's luck stays."""
    lengths, luck = random.integers(6, 20, examples), random.beta(6, 3, examples)
    totals = lengths[:, None] - numpy.arange(4)
    orders = numpy.arange(1, 5)
    systems = [random.binomial(totals, numpy.minimum(luck * own, 1)[:, None] ** orders) for own in qualities]
    both = numpy.stack([lengths, lengths], axis=1)
    return numpy.stack([numpy.concatenate([both, matches, totals], axis=1) for matches in systems]).astype(float)


Row = dict[str, Any]

RUN, OTHER_RUN = "translation.baseline.seed1", "translation.baseline.seed2"
CLASSIFIER = "sst2.baseline.seed1"


def study(
    directory: Path, known: Sequence[ArmDescription] = (), about: Mapping[str, Any] | None = None, **rows: Iterable[Row]
) -> StudyTables:
    """Write rows as tables of the baseline's first seed, last epoch 8, and return the study.

    It has these arms of translation, and generated text and trees if nothing else is said about it.
    """
    paths = []
    for name, own in rows.items():
        usual = {"study": "tiny", "run": RUN, "epoch": 8, "set": "test", "metric": "bleu", "chance": 0.0}
        table = REGISTRY.by_name[name]
        filled = [{name: cell for name, cell in (usual | row).items() if name in table.names} for row in own]
        paths.append(write_rows(table, directory / name / "all.csv", filled))
    usual = {"ground": "generated text", "own_trees": True}
    described = TaskDescription({arm.name: arm for arm in known}, **(usual | (about or {})))
    classifier = TaskDescription(kind="classification", library="transformers")
    others = {"sst2": classifier, "wikitext": TaskDescription(kind="language", ground=RELEASED)}
    return open_tables(paths, described={"translation": described, **others})


def say(found: Decision, tables: StudyTables) -> str:
    """Return what the page says of a decision, without what other trainings of the reference studies say."""
    claims = DataFrame(claim_rows([found], tables, "tiny"), columns=CLAIMS.names).assign(spread=math.nan)
    numbers = DataFrame(number_rows([found], [], "tiny"), columns=NUMBERS.names)
    return verdicts(describe_tasks(claims, tables), numbers)[0].ours


class Case(NamedTuple):
    """Tables of a study, and what it says of a claim."""

    verdict: str  # of a single training without that it is on one model
    given: Mapping[str, Any]  # rows by their tables, and what else `study` takes
    ours: str = "*"  # words that are said, or all numbers in what is said (`*` for any)
    part: str = ""  # the part of the claim; "" for the first one

    def differs(self, claim: str, directory: Path) -> str:
        """Return what is said instead of what should be; "" if it is that."""
        tables = study(directory, **self.given)
        found = next(one for one in evaluate(tables, [all_claims()[claim]]) if self.part in ("", one.part))
        said = "" if self.ours == "*" else say(found, tables)
        words = re.search("[A-Za-z%]", self.ours)
        agrees = self.ours in said if words else fnmatchcase(numbers_in(said), self.ours)
        verdict = found.verdict.removesuffix(" in this model")
        return "" if agrees and verdict == self.verdict else f"{verdict}, not {self.verdict}; {said}"


def judge(claim: str, directory: Path, *cases: tuple[Any, ...]) -> None:
    """Check the verdict on a claim in every `Case`."""
    found = (Case(*own).differs(claim, directory / f"{claim}-{place}") for place, own in enumerate(cases))
    wrong = [f"case {place}: {differs}" for place, differs in enumerate(found) if differs]
    assert not wrong, "\n".join(wrong)


Cases = Iterator[tuple[Any, ...]]


def verdicts_on(claim: str) -> Callable[[Callable[[], Cases]], Callable[[Path], None]]:
    """Make a test of a function that yields cases of a claim."""

    def make(cases: Callable[[], Cases]) -> Callable[[Path], None]:
        return lambda tmp_path: judge(claim, tmp_path, *cases())

    return make


def scored(**arms: Sequence[float]) -> list[Row]:
    """Return the BLEU of every arm, one number per seed from 1 on; hyphens in names are underscores."""
    return [
        {"run": f"translation.{arm.replace('_', '-')}.seed{seed}", "value": value, "low": value - 1, "high": value + 1}
        for arm, values in arms.items()
        for seed, value in enumerate(values, start=1)
    ]


def numbers_in(text: str) -> str:
    """Return the numbers of a sentence, in their order: what it says, however it is worded."""
    return " ".join(re.findall(r"[−+]?\d[\d.]*\d|[−+]?\d", text))


def classified(rows: Iterable[Row]) -> list[Row]:
    """Return rows as those of a classifier, measured in accuracy; chance is where a curve ends, or else 50."""
    rows = list(rows)
    ends = [row["value"] for row in rows if row.get("heads_removed") == row.get("heads_total", -1)]
    usual = {"run": CLASSIFIER, "metric": "accuracy", "chance": ends[0] if ends else 50.0}
    return [usual | row for row in rows]


def effects(deltas: Sequence[float], *, p: float = 1.0, width: float = 0.5, **more: Any) -> Iterator[Row]:
    """Yield one head's effect after another on a model of 100 BLEU, in one site per eight heads."""
    for place, delta in enumerate(deltas):
        yield {
            "kind": "E", "layer": 1 + place // 8, "head": 1 + place % 8, "value": 100 + delta, "full": 100,
            "delta": delta, "low": delta - width, "high": delta + width, "p": p, "p_holm": p, "p_bh": p,
        } | more  # fmt: skip


def sites(deltas: Sequence[float], **more: Any) -> Iterator[Row]:
    """Yield one chosen head's effect after another, each in an encoder-decoder site of its own."""
    for layer, row in enumerate(effects(deltas, **{"chosen_on": "choose test", "kind": "A"} | more), start=1):
        yield row | {"layer": layer, "head": 1}


def curve(kept: Sequence[float], *, width: float = 1.0, **more: Any) -> Iterator[Row]:
    """Yield a curve in steps of a tenth of ten heads; `kept` is BLEU of a model with 100, from none removed."""
    usual = {"scope": "all", "order": "gradient-example", "normalised": "raw", "ranking": "fixed", "draw": 0}
    for removed, value in enumerate(kept):
        delta = value - 100
        yield usual | {
            "heads_removed": removed, "heads_total": 10, "value": value, "full": 100, "delta": delta,
            "low": delta - width, "high": delta + width, "p": 1, "p_holm": 1,
        } | more  # fmt: skip


ENCODER = [f"E{1 + place // 4}:{1 + place % 4}" for place in range(8)]
"""An encoder of two layers of four heads."""

DECODER = [f"{kind}{layer}:{head}" for kind in "AD" for layer in (1, 2) for head in (1, 2, 3, 4)]


def at(name: str) -> Row:
    """Return the columns of a head."""
    site, head = name.split(":")
    return {"kind": site[0], "layer": int(site[1:]), "head": int(head)}


def relevance(shares: Sequence[float], *, width: float = 0.01, error: float = 1e-5, **more: Any) -> Iterator[Row]:
    """Yield the relevance of the heads of one site, and what it misses the logit by."""
    for head, share in enumerate(shares, start=1):
        bounds = {"value": share, "low": share - width, "high": share + width}
        yield {"kind": "E", "layer": 1, "head": head, "measure": "relevance", "half": "all", **bounds} | more
    yield {"measure": "conservation-error", "half": "all", "value": error}


def offset(name: str, share: float, confidence: float, *, target: str = "-1", model: str = "trained") -> list[Row]:
    """Return how often a head points to a position, and its confidence, to within 0.05."""
    where = at(name) | {"model": model, "half": "all"}
    bounds = {"value": confidence, "low": confidence - 0.05, "high": confidence + 0.05}
    return [
        where | {"measure": "offset", "target": target, "value": share},
        where | {"measure": "confidence", **bounds},
    ]


def tracked(name: str, target: str, margins: tuple[float, float], *, width: float = 0.02, **more: Any) -> list[Row]:
    """Return a head's accuracy on a relation on both halves, with these margins over a position's 40 %."""
    usual = at(name) | {"model": "trained", "measure": "relation", "target": target, "trees": "gold", "baseline": 0.4}
    return [
        usual
        | {"half": half, "value": 0.4 + margin, "low": margin - width, "high": margin + width, "count": 100}
        | more
        for half, margin in zip(("choose", "score"), margins)
    ]


def rare(name: str, share: float, *, width: float = 0.05) -> Row:
    """Return how often a head points to one of the two rarest words; by chance it would in 10 %."""
    usual = at(name) | {"model": "trained", "measure": "rare", "target": "two-rarest", "half": "all", "baseline": 0.1}
    return usual | {"value": share, "low": share - 0.1 - width, "high": share - 0.1 + width}


def role(name: str, target: str, **more: Any) -> Row:
    """Return a role that a head of the trained model holds."""
    kind = "syntactic" if ":" in target else "rare" if "rarest" in target else "positional"
    bounds = {"value": 0.9, "baseline": 0.4, "low": 0.4, "high": 0.6, "best": 1}
    return at(name) | {"model": "trained", "trees": "gold", "role": kind, "target": target, **bounds} | more


def gated(kept: Sequence[str], *, heads: Sequence[str] = ENCODER, setting: float = 0.1, **more: Any) -> list[Row]:
    """Return the gates of one setting, which keeps these heads."""
    usual = {"method": "hard-concrete", "scope": "E", "setting": setting}
    return [usual | at(name) | {"kept": int(name in kept)} | more for name in heads]


def pruned(kept: int, delta: float, *, heads: int = 48, width: float = 1.0, **more: Any) -> Row:
    """Return a model of 100 BLEU with some heads left, hard gates, all decided."""
    usual = {"method": "hard-concrete", "scope": "E", "setting": kept / 100, "draw": 0, "gates": "hard", "undecided": 0}
    bounds = {"value": 100 + delta, "full": 100, "delta": delta, "low": delta - width, "high": delta + width}
    return usual | {"kept": kept, "heads": heads, "start": "converged", "removed": "", **bounds} | more
