"""Keep one head per site: chosen on one set or another, judged on one (Michel et al. 2019, Tables 2, 3, 5 and 6)."""

import argparse
import logging
from collections.abc import Sequence
from typing import Any

from headroom.core import tables
from headroom.core.command import add_run, add_settings, epoch_of, run, settings_from, stage_parser
from headroom.core.heads import Head, Site
from headroom.core.interventions import Intervention
from headroom.engines.engine import Engine, add_task, chosen_engine
from headroom.methods.judging import Judge, comparisons
from headroom.methods.shards import add_shards, judged_share, read_shards, write_shard
from headroom.settings.experiments import KeepOneSettings

logger = logging.getLogger("headroom.stages.keep_one")


USES = ("model", "judging")


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("keep_one", __doc__ or "")
    add_run(parser)
    add_task(parser)
    engine.add_model(parser)
    parser.add_argument(
        "--sets", nargs="+", default=["choose", "test"], help="sets that every head is tried on and that choose"
    )
    parser.add_argument("--output", required=True, help="table of effects")
    add_shards(parser)
    add_settings(parser, keep_one=KeepOneSettings)
    engine.add_judging(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Try every head as its site's only one on every set, say which was best where, write the table."""
    kind = chosen_engine(arguments)
    given = build_parser(kind).parse_args(arguments)
    engine = kind(given)
    examples = settings_from(given, "keep_one", KeepOneSettings).examples
    sets = [engine.judged_set(name, examples) for name in given.sets]
    model = engine.load(given.checkpoint)
    known = read_shards(given.merge)
    judges = {judged.name: Judge(model, judged, known.get(judged.name)) for judged in sets}
    if given.shard:
        share = {name: judged_share(judge, tried(model.sites), given.shard) for name, judge in judges.items()}
        write_shard(given.output, share)
        return
    chosen = {name: [best_head(judge, site) for site in model.sites] for name, judge in judges.items()}
    leading = {"study": given.study, "run": given.run, "epoch": epoch_of(given.checkpoint)}
    rows: list[dict[str, Any]] = []
    for name, judge in judges.items():
        logger.info("chose %s on %s", " ".join(map(str, chosen[name])), name)
        rows += [{**leading, **row} for row in effects(judge, model.sites, chosen)]
    tables.KEEP_ONE.write(given.output, rows)


def tried(sites: Sequence[Site]) -> list[Intervention]:
    """Return every intervention that is judged: a head alone in its site, and alone in the model but for its site."""
    heads = [(head, site) for site in sites for head in site.head_names()]
    return [one for head, site in heads for one in (all_but(head, [site]), all_but(head, sites))]


def all_but(head: Head, sites: Sequence[Site]) -> Intervention:
    """Return the removal of the other heads of a head's site."""
    site = next(site for site in sites if (site.kind, site.layer) == (head.kind, head.layer))
    return Intervention(frozenset(site.head_names()) - {head})


def best_head(judge: Judge, site: Site) -> Head:
    """Return the head that, alone in its site, keeps the main metric highest; ties go to the lower loss."""
    main = judge.set.metrics[0]

    def quality(head: Head) -> tuple[float, float]:
        scores = judge.outcome(all_but(head, [site])).scores
        return scores[main], -scores["loss"]

    return max(site.head_names(), key=quality)


def effects(judge: Judge, sites: Sequence[Site], chosen: dict[str, list[Head]]) -> list[dict[str, Any]]:
    """Return what keeping each head alone does; corrections are over all heads, per metric.

    Args:
        judge: The model on a set.
        sites: The model's sites.
        chosen: The best head of every site, by the set that chose.
    """
    heads = [head for site in sites for head in site.head_names()]
    return comparisons(judge, [(_named(head, chosen), all_but(head, sites)) for head in heads])


def _named(head: Head, chosen: dict[str, list[Head]]) -> dict[str, Any]:
    """Return the columns that name a head and the sets that chose it."""
    chosen_on = " ".join(name for name, best in chosen.items() if head in best)
    return {"kind": head.kind, "layer": head.layer, "head": head.head, "chosen_on": chosen_on}


if __name__ == "__main__":
    run(main)
