"""Find the roles of heads in tables of where they point: positional, syntactic, rare words."""

import argparse
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from headroom.core import tables
from headroom.core.command import add_settings, run, settings_from, stage_parser
from headroom.core.table import signature
from headroom.methods.roles import Role, find_roles
from headroom.settings.experiments import RoleSettings

logger = logging.getLogger("headroom.stages.roles")


_TAKEN = (
    "study", "run", "epoch", "model", "trees", "kind", "layer", "head", "target", "value", "baseline", "low", "high",
)  # fmt: skip


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("roles", __doc__ or "")
    parser.add_argument("--pointing", nargs="+", type=Path, required=True, help="tables of where heads point")
    parser.add_argument("--output", required=True, help="table of roles")
    add_settings(parser, roles=RoleSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the tables and write the roles."""
    given = build_parser().parse_args(arguments)
    rule = settings_from(given, "roles", RoleSettings)
    roles = find_roles(tables.ATTENTION_STATS.read_all(given.pointing), rule)
    tables.ROLES.write(given.output, _rows(roles, rule))
    logger.info("found %d roles", len(roles))


def _rows(roles: Sequence[Role], rule: RoleSettings) -> Iterator[dict[str, Any]]:
    rules = {
        "positional": signature(share=rule.positional_share),
        "syntactic": signature(margin=f"{rule.margin}-{rule.margin_unit}"),
        "rare": signature(share=rule.rare_share),
    }
    for found in roles:
        taken = {name: found.row[name] for name in _TAKEN}
        about = f"{found.row['signature']}|{rules[found.role]}"
        yield {**taken, "role": found.role, "best": found.best, "signature": about}


if __name__ == "__main__":
    run(main)
