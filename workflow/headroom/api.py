"""What a notebook calls: models and lists of texts in, data frames out. Stages call the same functions.

Texts are documents for a language model, masked or not, a sentence (or two) with a label for a classifier, and pairs
of a source and a target for a translation model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, all_heads, format_profile
from headroom.core.interventions import Intervention, Replacement
from headroom.core.statistics import index_clusters
from headroom.data.labelled import LabelledText
from headroom.data.parallel import ParallelText
from headroom.figures.atlas import Drawing, join_atlases
from headroom.methods.criteria import check_scores, criterion
from headroom.methods.judging import Judge, comparisons
from headroom.methods.judging import curve as judge_curve
from headroom.methods.orders import Order, least_important_first
from headroom.methods.slimming import Removable, find_removable
from headroom.models import load as loading
from headroom.models.causal.judging import WindowSet
from headroom.models.causal.model import WindowModel
from headroom.models.causal.windows import cut_documents
from headroom.models.classifier.judging import LabelledSet
from headroom.models.classifier.model import ClassificationModel
from headroom.models.masked.model import MaskedModel, MaskedSet
from headroom.models.masked.windows import mask_documents
from headroom.models.model import HubModel
from headroom.models.seq2seq.judging import Seq2SeqSet
from headroom.models.sources import locate
from headroom.settings.answers import DecodingSettings, LabellingSettings, MaskedWindowSettings, WindowSettings
from headroom.settings.models import HubModelSettings

Texts = Sequence[str] | Sequence[tuple[str, ...]]

BY = "gradient-example"
"""The criterion of Michel et al. 2019, equation 2."""

RESAMPLES = 1000

PARTS = {"choose": (0,), "check": (1,), "held-out": (2, 3)}
"""By four, of the texts that `slim` gets: those that score heads, that choose the order, and that are held out."""


def load(model: Any, tokenizer: Any = None, device: str = "auto", **options: Any) -> HubModel[Any]:
    """Load a model: a directory, a name on the Hub, or a model of transformers with its tokenizer.

    Gates and removal are checked on it. Options are those of `headroom.models.load.load`.

    Raises:
        HeadroomError: If it is missing, damaged, of another kind, or gates do not act on it as they should.
    """
    if isinstance(model, Path | str):
        place = Path(model)
        return loading.load(
            place if place.exists() else locate(HubModelSettings(name=str(model)).place), device, **options
        )
    if tokenizer is None:
        raise HeadroomError("tokenizer: missing; a model in memory needs the one that it was trained with")
    with tempfile.TemporaryDirectory() as directory:
        model.save_pretrained(directory)
        tokenizer.save_pretrained(directory)
        return loading.load(directory, device, **options)


def make_set(model: HubModel[Any], texts: Texts, name: str = "texts", *, length: int | None = None) -> Any:
    """Return texts as a set that a model is judged on.

    Args:
        model: The model.
        texts: Documents, or pairs.
        name: Its name.
        length: Of a language model the tokens of a window; None for 512, or the most that the model reads.

    Raises:
        HeadroomError: If the texts are not those of the model's kind.
    """
    if isinstance(model, WindowModel):
        if not all(isinstance(text, str) for text in texts):
            raise HeadroomError("texts: not all are strings; a language model reads documents")
        size = min(length or WindowSettings().length, model.longest)
        cut, kind, about = cut_documents, WindowSet, f"windows of {size}"
        if isinstance(model, MaskedModel):
            share = MaskedWindowSettings().masked_share
            cut, kind, about = partial(mask_documents, masked_share=share), MaskedSet, f"{about},{share:g} masked"
        windows = cut(model.tokenizer, [str(text) for text in texts], length=size, stride=size)
        return kind(name=name, windows=windows, windows_at_once=8, resamples=RESAMPLES, about=about)
    if any(isinstance(text, str) or len(text) < 2 for text in texts):
        raise HeadroomError("texts: not all are pairs; give (sentence, label), or (source, target)")
    *sides, last = ([str(part) for part in parts] for parts in zip(*texts, strict=True))
    if isinstance(model, ClassificationModel):
        at_once = LabellingSettings().examples_at_once
        text = LabelledText.of(sides, last)
        return LabelledSet(name=name, text=text, metrics=("accuracy",), examples_at_once=at_once, resamples=RESAMPLES)
    pairs = ParallelText(sides[0], last)
    return Seq2SeqSet(name=name, pairs=pairs, settings=DecodingSettings(), resamples=RESAMPLES)


def score(model: HubModel[Any], texts: Texts, by: str = BY) -> pandas.DataFrame:
    """Score all heads by a criterion (docs/criteria.md), the most important first: kind, layer, head, name, score."""
    found = _scores(model, make_set(model, texts), by)
    rows = [{**asdict(head), "name": str(head), "score": value} for head, value in found.items()]
    return pandas.DataFrame(rows).sort_values("score", ascending=False, ignore_index=True)


def ablate(model: HubModel[Any], texts: Texts, replacement: Replacement = "zero") -> pandas.DataFrame:
    """Remove each head on its own: a row per head and metric, with value, difference, interval and p-values."""
    cases = [
        ({**asdict(head), "name": str(head)}, Intervention.without(head, replacement=replacement))
        for head in all_heads(model.sites)
    ]
    return pandas.DataFrame(comparisons(Judge(model, make_set(model, texts)), cases))


def curve(model: HubModel[Any], texts: Texts, by: str = BY, step: float = 0.1) -> pandas.DataFrame:
    """Remove more and more heads by a criterion, scored on half of the texts and judged on the others."""
    choose, check = (make_set(model, take_part(texts, 2, (number,))) for number in range(2))
    order = Order(by, least_important_first(_scores(model, choose, by), model.units()))
    return pandas.DataFrame(judge_curve(Judge(model, check), order, step))


def take_part(texts: Texts, count: int, numbers: Sequence[int]) -> list[Any]:
    """Return some of so many equal parts of texts, numbered from 0; pairs with the same first sentence are in one.

    >>> take_part(["a", "a", "b"], 2, (0,)), take_part([("a", "b", "x"), ("a", "c", "y"), ("d", "e", "x")], 2, (0,))
    (['a', 'b'], [('a', 'b', 'x'), ('a', 'c', 'y')])
    """
    clusters = index_clusters(
        [text[0] if len(text) == 3 and not isinstance(text, str) else place for place, text in enumerate(texts)]
    )
    return [text for text, cluster in zip(texts, clusters) if cluster % count in numbers]


def atlas(rows: pandas.DataFrame, column: str = "score") -> Drawing:
    """Draw the values of a column of `score`, or of one metric of `ablate`, as a square per head: an SVG picture."""
    heads = map(Head, rows["kind"], rows["layer"], rows["head"])
    return join_atlases(dict(zip(heads, map(float, rows[column]))))


@dataclass(frozen=True)
class Slim:
    """A model without the heads that can go.

    Attributes:
        model: The model, sliced in place.
        removed: The heads that are gone.
        report: What was tested on held-out texts: a row per number of heads, with the lost share of the score.
    """

    model: HubModel[Any]
    removed: frozenset[Head]
    report: pandas.DataFrame

    @property
    def heads(self) -> str:
        """The removed heads as a list to copy, e.g. `E1:2 E3:5`."""
        return format_profile(self.removed)

    def save(self, place: Path | str) -> None:
        """Write the model for transformers, with `heads.json`, the removed heads."""
        self.model.save(place)


def slim(
    model: HubModel[Any], texts: Texts, tolerance: float = 0.01, by: Sequence[str] = (BY,), unit: str = "head"
) -> Slim:
    """Remove as many heads as cost at most a share of the score, in place; see `find_removable`.

    A quarter of the texts scores heads, a quarter chooses among the orders of several criteria, and on the other half,
    which are held out, the number of heads is tested.

    Args:
        model: The model, from `load`.
        texts: Texts of what the model is for; the more there are, the more can be shown to be removable.
        tolerance: The share of the score (above chance) that may be lost.
        by: Criteria.
        unit: `head`, or `group`: all heads that share keys and values.

    Raises:
        HeadroomError: If the model scores no more than chance, or its heads can only be masked.
    """
    sets = {name: make_set(model, take_part(texts, 4, numbers), name) for name, numbers in PARTS.items()}
    units = model.units(unit)
    orders = [Order(name, least_important_first(_scores(model, sets["choose"], name), units)) for name in by]
    judges = Judge(model, sets["check"]), Judge(model, sets["held-out"])
    found = find_removable(*judges, orders, tolerance)
    model.remove(found.removed)
    return Slim(model, found.removed, tabulate(found))


def tabulate(found: Removable) -> pandas.DataFrame:
    """Return what was tested as a data frame: order, heads removed, their names, the loss with its interval."""
    rows = [
        {
            "order": one.order,
            "heads_removed": len(one.removed),
            "removed": format_profile(one.removed),
            "set": one.set,
            "loss": one.loss.value,
            "low": one.loss.low,
            "high": one.loss.high,
            "within": one.within,
        }
        for one in found.tried
    ]
    return pandas.DataFrame(rows)


def _scores(model: HubModel[Any], judged: Any, by: str) -> dict[Head, float]:
    one = criterion(by)
    if one.score is None or one.maps:
        raise HeadroomError(
            f"criterion {by}: is not computed in a notebook; name one of docs/criteria.md that is scored"
        )
    found = one.score(model, judged.batches(model))
    check_scores(model, judged.batches(model), found, judged.name)
    return dict(found[by])
