"""Write tables of scores as importances of nodes, in the submission form of the Mechanistic Interpretability Benchmark.

The benchmark (Mueller et al. 2025, arXiv 2504.13151, circuit localization track) takes a directory per method with a
folder per task and model, in which one JSON file has the scores of a graph: `input`, the attention heads `a0.h0`, ...,
the feed-forward layers `m0`, ... and `logits`. A node without a score stays in every circuit.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroom.core import tables
from headroom.core.command import stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, read_lines
from headroom.core.heads import Head
from headroom.methods.orders import by_head

if TYPE_CHECKING:
    import pandas

FILE = "importances.json"


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("mib", __doc__)
    help_ = "tables of scores, written by the stages score, scores and bakeoff_scores"
    parser.add_argument("--scores", type=Path, nargs="+", required=True, help=help_)
    parser.add_argument("--width", type=int, required=True, help="width of the model, `d_model` in the files")
    parser.add_argument("--output", type=Path, required=True, help="directory with a folder per criterion and kind")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files of every criterion, run and kind of attention in the tables."""
    given = build_parser().parse_args(arguments)
    for path in given.scores:
        for (criterion, run), rows in read(path).groupby(["criterion", "run"], sort=False):
            for kind, scores in by_kind(by_head(rows, rows["value"])).items():
                write(given.output / f"{criterion}.{kind}" / folder(str(run)) / FILE, graph(scores, given.width))


def read(path: Path) -> pandas.DataFrame:
    """Return the rows of the last epoch in a table of scores: raw, and of all examples.

    Raises:
        HeadroomError: If the file is not such a table, or is empty.
    """
    with_halves = "half" in read_lines(path)[0].split(",")
    rows = (tables.BAKEOFF_SCORES if with_halves else tables.SCORES).read(path)
    rows = rows[rows["half"] == "all"] if with_halves else rows[rows["normalised"] == "raw"]
    if rows.empty:
        raise HeadroomError(f"{path}: the table is empty; rerun the job that writes it")
    return rows[rows["epoch"] == rows["epoch"].max()]


def by_kind(scores: Mapping[Head, float]) -> dict[str, dict[Head, float]]:
    """Return scores by kind of attention: a graph of the benchmark has one attention per layer."""
    found: dict[str, dict[Head, float]] = {}
    for head in sorted(scores):
        found.setdefault(head.kind, {})[head] = scores[head]
    return found


def folder(run: str) -> str:
    """Return the name of the folder of a run, the task and the model: `sst2_baseline.seed1`."""
    return run.replace(".", "_", 1)


def graph(scores: Mapping[Head, float], width: int) -> dict[str, Any]:
    """Return the content of a file: the shape of the model, the nodes with scores of heads, and no edges.

    Layers and heads are counted from 0.

    Raises:
        HeadroomError: If sites have different numbers of heads, which a graph cannot express.
    """
    layers, heads = (max(getattr(head, name) for head in scores) for name in ("layer", "head"))
    if len(scores) != layers * heads:
        raise HeadroomError(
            f"--scores: {len(scores)} heads in {layers} layers; the benchmark takes models with equal layers only"
        )
    shape = {"n_layers": layers, "n_heads": heads, "parallel_attn_mlp": False, "d_model": width}
    return {"cfg": shape, "nodes": dict(nodes(scores, layers)), "edges": {}}


def nodes(scores: Mapping[Head, float], layers: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every node by its name, layer by layer; only heads have scores."""
    yield "input", {"in_graph": True}
    for layer in range(layers):
        for head in sorted(head for head in scores if head.layer == layer + 1):
            known = {} if math.isnan(scores[head]) else {"score": scores[head]}
            yield f"a{layer}.h{head.head - 1}", {"in_graph": True, **known}
        yield f"m{layer}", {"in_graph": True}
    yield "logits", {"in_graph": True}


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file as JSON, and the directories that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
