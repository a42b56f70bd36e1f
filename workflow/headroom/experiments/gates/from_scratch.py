"""Train a layout from scratch further, like pruned models, and compare it with the full model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headroom.core.command import leading_columns
from headroom.core.errors import HeadroomError
from headroom.core.flags import add_settings, settings_from
from headroom.core.heads import Head, all_heads, format_profile
from headroom.core.table import signature
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.gates.declared import PRUNED_MODELS, GateSettings

if TYPE_CHECKING:
    from headroom.engines.head_model import HeadModel


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("from_scratch", __doc__, engine)
    parser.add_argument("--other", required=True, help="the model trained without some heads")
    parser.add_argument("--training", required=True, help="its table of the stage training, for its number of updates")
    parser.add_argument(
        "--random-draw", type=int, default=0, help="number of its random layout, from 1; 0 for a learned one"
    )
    parser.add_argument("--setting", type=float, default=0.0, help="lambda of its layout, a column of the table")
    parser.add_argument("--seed", type=int, default=1, help="seed of its further training: batches and dropout")
    parser.add_argument("--judge-on", nargs="+", default=["test", "check"], help="sets on which both are evaluated")
    parser.add_argument("--output", required=True, help="table of pruned models")
    add_settings(parser, gates=GateSettings)
    engine.add_judging(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the other model further, evaluate both on the same examples and write the table."""
    engine, given = given_engine(build_parser, arguments)
    from headroom.core.resamples import Resamples, resamples_beside
    from headroom.methods.continued_training import build_signature, compare, continue_training, count_updates
    from headroom.methods.learned_gates import FixedGates

    settings = settings_from(given, "gates", GateSettings)
    sets = [engine.judged_set(name, settings.test_examples) for name in given.judge_on]
    trained_for = count_updates(given.training)
    full, other = (engine.load(place) for place in (given.checkpoint, given.other))
    removed = find_removed(other, full)
    examples = engine.examples("train", settings.weight_updates * settings.batch_examples)
    batches = engine.batches(other, examples, settings.batch_examples)
    plain = FixedGates(frozenset(), [])
    way: dict[str, Any] = {"scope": "all", "settings": settings, "seed": given.seed}
    continue_training(other, batches=batches, source=plain, heads=[], **way)
    heads = len(all_heads(full.sites))
    state = {
        "method": "random-scratch" if given.random_draw else "scratch",
        "scope": "all",
        "setting": given.setting,
        "draw": given.random_draw,
        "kept": heads - len(removed),
        "heads": heads,
        "undecided": "",
        "start": "scratch",
        "gates": "hard",
        "removed": format_profile(removed),
        "updates": settings.weight_updates,
        "gate_updates": 0,
        "total_updates": trained_for + settings.weight_updates,
    }
    about = f"{signature(start='scratch')}|{build_signature(settings, given.seed)}"
    resamples = Resamples()
    pairs = [(judged, judged.judge(full), judged.judge(other)) for judged in sets]
    rows = [row for pair in pairs for row in compare(*pair, about, resamples)]
    PRUNED_MODELS.write(given.output, [leading_columns(given) | state | row for row in rows])
    resamples.write(resamples_beside(given.output))


def find_removed(other: HeadModel, full: HeadModel) -> frozenset[Head]:
    """Return the removed heads of a model.

    Raises:
        HeadroomError: If the two models have different sites.
    """
    if other.sites != full.sites:
        raise HeadroomError(
            f"--other: the sites are {' '.join(map(str, other.sites))}, of --checkpoint "
            f"{' '.join(map(str, full.sites))}; "
            "give models of the same shape"
        )
    return frozenset(all_heads(other.sites)) - {head for live in other.live_sites for head in live.kept_heads()}
