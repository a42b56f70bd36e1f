"""Pruning curves: the metric against the number of heads removed, by every order and its controls."""

import argparse
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headroom.ground.command import (
    add_model,
    add_run,
    add_settings,
    epoch_of,
    run,
    settings_from,
    stage_parser,
)
from headroom.ground.errors import HeadroomError
from headroom.ground.heads import Head, all_heads, format_profile
from headroom.ground.tables import number, read_table, write_table
from headroom.methods.evaluation import Judge, comparisons, load_set
from headroom.methods.importance import gradient_scores
from headroom.methods.orders import (
    by_head,
    least_important_first,
    random_order,
    read_scores,
    removed_first,
    rescored_order,
    reverse,
    step_sizes,
)
from headroom.methods.pairs import read_pairs
from headroom.models.translation.model import TranslationModel
from headroom.settings.decoding import DecodingSettings, SamplingSettings
from headroom.settings.pruning import PruningSettings
from headroom.settings.scores import ScoreSettings

logger = logging.getLogger("headroom.prune")

_PLACE = ("scope", "order", "normalised", "ranking", "draw", "heads_removed", "heads_total", "removed")
_MEASURED = ("set", "metric", "value", "full", "delta", "low", "high", "p", "p_holm")
COLUMNS = ("study", "run", "epoch", *_PLACE, *_MEASURED, "signature")

MAIN = "gradient-example"
"""The criterion whose raw order `reverse` turns around: Eq. 2 of Michel et al. 2019 as printed."""

Scores = dict[Head, float]


@dataclass(frozen=True)
class Order:
    """A removal order and the columns that name it."""

    order: str
    heads: list[Head]
    normalised: str = ""
    ranking: str = "fixed"
    draw: int = 0


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("headroom.prune", __doc__ or "")
    add_run(parser)
    add_model(parser, several=True)
    parser.add_argument("--scores", required=True, help="table written by headroom.score")
    parser.add_argument("--ablation", help="table written by headroom.ablate; without it no order `ablation`")
    parser.add_argument("--score-on", default="choose", help="set for re-scoring and of the ablation order")
    parser.add_argument("--judge-on", default="test", help="set that curves are measured on")
    parser.add_argument(
        "--only-main",
        choices=["true", "false"],
        default="false",
        help=f"only the fixed raw order of {MAIN}, without controls (for curves at every epoch)",
    )
    parser.add_argument("--output", required=True, help="table of curves")
    for model in (PruningSettings, ScoreSettings, DecodingSettings, SamplingSettings):
        add_settings(parser, model)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the curves of each checkpoint and write the table."""
    given = build_parser().parse_args(arguments)
    pruning, scoring = settings_from(given, PruningSettings), settings_from(given, ScoreSettings)
    resamples = settings_from(given, SamplingSettings).resamples
    judged = load_set(
        given.corpus,
        given.judge_on,
        settings_from(given, DecodingSettings),
        resamples=resamples,
        sentences=pruning.test_sentences,
    )
    rows: list[dict[str, Any]] = []
    for checkpoint in given.checkpoints:
        model = TranslationModel.load(checkpoint, given.vocabulary, given.device)
        judge = Judge(model, judged)
        epoch = epoch_of(checkpoint)
        for scope in pruning.scopes:
            heads = all_heads(model.sites, scope)
            for order in list(orders(given, pruning, scoring, model, epoch, heads)):  # mistakes in tables show first
                leading = {"study": given.study, "run": given.run, "epoch": epoch, "scope": scope}
                rows += [{**leading, **row} for row in curve(judge, order, pruning.step)]
            logger.info("epoch %d, scope %s: done", epoch, scope)
    write_table(given.output, rows, COLUMNS)


def orders(
    given: argparse.Namespace,
    pruning: PruningSettings,
    scoring: ScoreSettings,
    model: TranslationModel,
    epoch: int,
    heads: list[Head],
) -> Iterator[Order]:
    """Yield the removal orders of some heads: by each criterion, by ablation, and the controls."""
    main_scores = read_scores(given.scores, epoch=epoch, criterion=MAIN)
    if given.only_main == "true":
        yield Order(MAIN, least_important_first(main_scores, heads), "raw")
        return
    rescore = rescorer(given, scoring, model)
    for criterion in pruning.criteria:
        for normalised in pruning.normalisations:
            scores = read_scores(given.scores, epoch=epoch, criterion=criterion, normalised=normalised)
            yield Order(criterion, least_important_first(scores, heads), normalised)
        order = rescored_order(heads, step_sizes(len(heads), pruning.step), rescore(criterion))
        yield Order(criterion, order, "raw", "rescored")
    if given.ablation:
        yield Order("ablation", least_important_first(ablation_scores(given.ablation, given.score_on), heads))
    for draw in range(pruning.random_draws):
        yield Order("random", random_order(heads, draw), draw=draw)
    yield Order("reverse", reverse(least_important_first(main_scores, heads)))


def curve(judge: Judge, order: Order, step: float) -> list[dict[str, Any]]:
    """Return one curve; Holm's correction is over its steps, per metric."""
    total = len(order.heads)
    profiles = [removed_first(order.heads, count) for count in step_sizes(total, step)]
    name = {
        "order": order.order,
        "normalised": order.normalised,
        "ranking": order.ranking,
        "draw": order.draw,
    }
    return comparisons(
        judge,
        [
            (
                {**name, "heads_removed": len(gone), "heads_total": total, "removed": format_profile(gone)},
                gone,
            )
            for gone in profiles
        ],
    )


def rescorer(
    given: argparse.Namespace, settings: ScoreSettings, model: TranslationModel
) -> Callable[[str], Callable[[frozenset[Head]], Scores]]:
    """Return a function that, for a criterion, gives a function from a profile to the raw scores under it.

    One pass gives all criteria, so passes are kept by profile: criteria that agree share them.
    """
    sources, targets = read_pairs(given.corpus, given.score_on, settings.sentences)
    batches = model.batches(sources, targets, sentences=settings.batch_sentences)
    passes: dict[frozenset[Head], dict[str, Scores]] = {}

    def under(criterion: str) -> Callable[[frozenset[Head]], Scores]:
        def scores(removed: frozenset[Head]) -> Scores:
            if removed not in passes:
                passes[removed] = gradient_scores(model, batches, removed)
            return passes[removed][criterion]

        return scores

    return under


def ablation_scores(path: str, choose_on: str) -> Scores:
    """Read ablation effects as scores: the more BLEU a head's removal costs, the more important it is.

    Raises:
        HeadroomError: If heads were not ablated on that set.
    """
    table = read_table(path, ("set", "metric", "delta"))
    mine = table[(table["set"] == choose_on) & (table["metric"] == "bleu")]
    if mine.empty:
        raise HeadroomError(f"{path} has no BLEU on {choose_on}: it has {', '.join(sorted(set(table['set'])))}")
    return by_head(mine, -number(mine, "delta"))


if __name__ == "__main__":
    run(main)
