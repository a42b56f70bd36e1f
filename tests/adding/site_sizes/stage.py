"""Count the heads of every site."""

import argparse
from collections.abc import Sequence

from headroom.core import tables
from headroom.core.command import add_run, add_settings, epoch_of, settings_from, stage_parser
from headroom.core.table import signature
from headroom.engines.engine import Engine, add_task, chosen_engine
from headroom.settings.experiments import SiteSizesSettings

USES = ("model",)


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("site_sizes", __doc__ or "")
    add_run(parser)
    add_task(parser)
    engine.add_model(parser)
    add_settings(parser, site_sizes=SiteSizesSettings)
    parser.add_argument("--output", required=True, help="table of counts")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Count and write the table."""
    kind = chosen_engine(arguments)
    given = build_parser(kind).parse_args(arguments)
    kinds = settings_from(given, "site_sizes", SiteSizesSettings).kinds
    sites = [site for site in kind(given).load(given.checkpoint).sites if site.kind in kinds]
    leading = {"study": given.study, "run": given.run, "epoch": epoch_of(given.checkpoint)}
    about = signature(kinds=",".join(kinds))
    rows = [{"kind": site.kind, "layer": site.layer, "heads": site.heads, "signature": about} for site in sites]
    tables.SITE_SIZES.write(given.output, [{**leading, **row} for row in rows])
