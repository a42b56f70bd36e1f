"""Count parameters: of a head, of its attention site, of the whole model (Michel et al. 2019, section 4.3)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headroom.core.command import leading_columns
from headroom.core.table import signature
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.removal.declared import PARAMETERS

if TYPE_CHECKING:
    from headroom.engines.head_model import HeadModel
    from headroom.engines.sites import AttentionSite


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("parameters", __doc__, engine)
    parser.add_argument("--output", required=True, help="table of counts")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Count and write the table."""
    engine, given = given_engine(build_parser, arguments)
    rows = [leading_columns(given) | row for row in counts(engine.load(given.checkpoint))]
    PARAMETERS.write(given.output, rows)


def counts(model: HeadModel) -> Iterator[dict[str, Any]]:
    """Yield the counts of every site with heads."""
    import torch

    whole = model.count_parameters()
    for live in model.live_sites:
        if live.kept:
            yield {
                "kind": live.site.kind,
                "layer": live.site.layer,
                "heads": len(live.kept),
                "head_parameters": head_parameters(live),
                "attention_parameters": sum(
                    p.numel() for part in (*live.inputs, live.output) for p in part.parameters()
                ),
                "model_parameters": whole,
                "signature": signature(shared="counted once", torch=torch.__version__),
            }


def head_parameters(live: AttentionSite) -> int:
    """Return the parameters of one head: its rows of Q, K and V with their biases, its columns of the output."""
    rows = sum(p.numel() for projection in live.inputs for p in projection.parameters())
    return (rows + live.output_weight.numel()) // len(live.kept)
