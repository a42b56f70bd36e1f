"""Keep one head per site: chosen on one set, judged on another (Michel et al. 2019, Tables 2 and 5)."""

import argparse
import logging
from collections.abc import Sequence
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
from headroom.ground.heads import Head, Site
from headroom.ground.tables import write_table
from headroom.methods.evaluation import Judge, comparisons, load_set
from headroom.models.translation.model import TranslationModel
from headroom.settings.decoding import DecodingSettings, SamplingSettings

logger = logging.getLogger("headroom.keep")

_MEASURED = ("set", "metric", "value", "full", "delta", "low", "high", "p", "p_holm", "chosen")
COLUMNS = ("study", "run", "epoch", "kind", "layer", "head", *_MEASURED, "signature")


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("headroom.keep", __doc__ or "")
    add_run(parser)
    add_model(parser)
    parser.add_argument("--choose-on", default="choose", help="set that chooses each site's head")
    parser.add_argument("--judge-on", default="test", help="set that judges the chosen heads")
    parser.add_argument("--output", required=True, help="table of effects")
    add_settings(parser, DecodingSettings)
    add_settings(parser, SamplingSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Try every head as its site's only one, judge the best of each site, write the table."""
    given = build_parser().parse_args(arguments)
    decoding = settings_from(given, DecodingSettings)
    resamples = settings_from(given, SamplingSettings).resamples
    choosing, judging = (
        load_set(given.corpus, name, decoding, resamples=resamples) for name in (given.choose_on, given.judge_on)
    )
    model = TranslationModel.load(given.checkpoint, given.vocabulary, given.device)
    judge = Judge(model, choosing)
    best = [best_head(judge, site) for site in model.sites]
    every = [head for site in model.sites for head in site.head_names()]
    rows = effects(judge, model.sites, every, best)
    logger.info("chose %s on %s", " ".join(map(str, best)), choosing.name)
    rows += effects(Judge(model, judging), model.sites, best, best)
    leading = {"study": given.study, "run": given.run, "epoch": epoch_of(given.checkpoint)}
    write_table(given.output, [{**leading, **row} for row in rows], COLUMNS)


def all_but(head: Head, sites: Sequence[Site]) -> frozenset[Head]:
    """Return the other heads of a head's site."""
    site = next(site for site in sites if (site.kind, site.layer) == (head.kind, head.layer))
    return frozenset(site.head_names()) - {head}


def best_head(judge: Judge, site: Site) -> Head:
    """Return the head that, alone in its site, keeps BLEU highest; equal BLEU is decided by the lower loss."""

    def quality(head: Head) -> tuple[float, float]:
        scores = judge.outcome(all_but(head, [site])).scores
        return scores["bleu"], -scores["loss"]

    return max(site.head_names(), key=quality)


def effects(judge: Judge, sites: Sequence[Site], heads: Sequence[Head], chosen: Sequence[Head]) -> list[dict[str, Any]]:
    """Return what keeping each head alone does; Holm's correction is over the heads given, per metric."""
    return comparisons(
        judge,
        [
            (
                {"kind": head.kind, "layer": head.layer, "head": head.head, "chosen": head in chosen},
                all_but(head, sites),
            )
            for head in heads
        ],
    )


if __name__ == "__main__":
    run(main)
