"""Look at where every head points: how sure it is, at which positions, along which relations, at which words.

The trained model is looked at, and as a control one of the same shape whose weights are as before training.
"""

import argparse
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from headroom.core import tables
from headroom.core.command import add_run, add_settings, epoch_of, run, settings_from, stage_parser
from headroom.core.table import signature
from headroom.data.trees import ParsedSentence, check_relations, read_trees
from headroom.engines.engine import Engine, add_task, chosen_engine
from headroom.methods.pointing import piece_pointing
from headroom.methods.shares import Measured
from headroom.methods.syntax import SHUFFLE_SEED, relation_pointing
from headroom.settings.base import SamplingSettings
from headroom.settings.experiments import AttentionStatsSettings

logger = logging.getLogger("headroom.stages.attention_stats")

USES = ("model", "observing")

MODELS = ("trained", "untrained")

FRESH = 1
"""Seed of the weights of the untrained model."""


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("attention_stats", __doc__ or "")
    add_run(parser)
    add_task(parser)
    engine.add_model(parser)
    parser.add_argument("--treebank", help="sentences in CoNLL-U; without it no relations are looked at")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["trained"], help="which models to look at")
    parser.add_argument("--name", default="trained", help="name of the trained model in the table")
    parser.add_argument("--set", default="check", help="evaluation set that is looked at")
    parser.add_argument("--output", required=True, help="table of where heads point")
    add_settings(parser, attention_stats=AttentionStatsSettings)
    add_settings(parser, sampling=SamplingSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Look at each model and write the table."""
    kind = chosen_engine(arguments)
    given = build_parser(kind).parse_args(arguments)
    engine = kind(given)
    settings = settings_from(given, "attention_stats", AttentionStatsSettings)
    resamples = settings_from(given, "sampling", SamplingSettings).resamples
    treebank = read_trees(given.treebank) if given.treebank else []
    if treebank:
        check_relations(settings.relations, treebank)
    material = Material(
        engine=engine,
        examples=engine.examples(given.set, settings.examples),
        treebank=treebank[: settings.examples],
    )
    rows: list[dict[str, Any]] = []
    for model in given.models:
        found = _look(given, material, settings, resamples, fresh=FRESH if model == "untrained" else None)
        about = partial(_signature, given.set, material, settings, resamples)
        rows += _rows(given, given.name if model == "trained" else model, found, about)
        logger.info("looked at the %s model of %s", model, given.checkpoint)
    tables.ATTENTION_STATS.write(given.output, rows)


@dataclass(frozen=True)
class Material:
    """What models are looked at on, and how their maps are seen."""

    engine: Engine
    examples: Any
    treebank: Sequence[ParsedSentence]


def _look(
    given: argparse.Namespace,
    material: Material,
    settings: AttentionStatsSettings,
    resamples: int,
    *,
    fresh: int | None,
) -> list[Measured]:
    """Return where the heads of one model point."""
    engine, size = material.engine, settings.batch_examples
    model = engine.load(given.checkpoint, fresh=fresh, maps=True)
    heads = {live.site: live.kept_heads() for live in model.live_sites if live.kept}
    found = piece_pointing(
        engine.example_batches(model, material.examples, size),
        heads,
        frequencies=engine.frequencies(model),
        frequent=settings.frequent_tokens,
        resamples=resamples,
    )
    if not any(one.measure == "rare" for one in found):
        logger.warning("rare words are left out: no training text, or no sentence with a rare enough piece")
    if material.treebank:
        texts = [sentence.text for sentence in material.treebank]
        batches = engine.sentence_batches(model, texts, size)
        relations = settings.relations
        found += relation_pointing(batches, material.treebank, heads, relations=relations, resamples=resamples)
    return found


def _signature(name: str, material: Material, settings: AttentionStatsSettings, resamples: int, one: Measured) -> str:
    """Return what affects a number, but for the model."""
    if one.measure == "relation":
        moved = {"moved": f"seed{SHUFFLE_SEED}"} if one.trees == "shuffled" else {}
        words = {"from": "mean-of-pieces", "to": "sum-of-pieces"}
        return signature(sentences=len(material.treebank), **words, **moved, resamples=resamples)
    on_set = {"set": name, "examples": len(material.examples)}
    if one.measure == "offset":
        return signature(**on_set)
    rare = {"frequent": settings.frequent_tokens} if one.measure == "rare" else {}
    return signature(**on_set, **rare, resamples=resamples)


def _rows(
    given: argparse.Namespace, model: str, found: Sequence[Measured], about: Callable[[Measured], str]
) -> Iterator[dict[str, Any]]:
    weights = f"|weights:fresh,seed{FRESH}" if model == "untrained" else ""
    for one in found:
        yield {
            "study": given.study,
            "run": given.run,
            "epoch": epoch_of(given.checkpoint),
            "model": model,
            **asdict(one.head),
            **{name: value for name, value in asdict(one).items() if name != "head"},
            "signature": about(one) + weights,
        }


if __name__ == "__main__":
    run(main)
