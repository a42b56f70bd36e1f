"""Count the heads of every site."""

import argparse
from collections.abc import Sequence

from headroom.core.command import leading_columns
from headroom.core.flags import add_settings, settings_from
from headroom.core.table import signature
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.site_sizes.settings import SiteSizesSettings
from headroom.experiments.site_sizes.table import SITE_SIZES


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("site_sizes", __doc__, engine)
    add_settings(parser, site_sizes=SiteSizesSettings)
    parser.add_argument("--output", required=True, help="table of counts")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Count and write the table."""
    engine, given = given_engine(build_parser, arguments)
    kinds = settings_from(given, "site_sizes", SiteSizesSettings).kinds
    sites = [site for site in engine.load(given.checkpoint).sites if site.kind in kinds]
    about = signature(kinds=",".join(kinds))
    rows = [{"kind": site.kind, "layer": site.layer, "heads": site.heads, "signature": about} for site in sites]
    SITE_SIZES.write(given.output, [leading_columns(given) | row for row in rows])
