"""Count parameters: of a head, of its attention site, of the whole model (Michel et al. 2019, section 4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from headroom.core.table import signature
from headroom.experiments.removal.declared import PARAMETERS
from headroom.models.command import OneModelJob, open_engine

if TYPE_CHECKING:
    from headroom.models.head_model import HeadModel
    from headroom.models.sites import AttentionSite


class Parameters(OneModelJob):
    """Count the parameters of heads, sites and model."""

    output: Path = Field(description="table of counts")


def run(job: Parameters) -> None:
    """Count and write the table."""
    engine = open_engine(job)
    rows = [job.leading_columns(job.checkpoint) | row for row in counts(engine.load(job.checkpoint))]
    PARAMETERS.write(job.output, rows)


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
