"""Write attention maps of heads with roles, or nearest to a role, on a few real sentences."""

import argparse
import json
import logging
from collections.abc import Sequence
from typing import Any

from headroom.core.command import read_epoch
from headroom.core.files import write_lines
from headroom.data.trees import ParsedSentence, plain_sentence, read_trees
from headroom.engines.command import given_engine, model_parser
from headroom.engines.engine import Engine
from headroom.experiments.attention_stats.declared import ATTENTION_STATS
from headroom.experiments.roles.declared import ROLES

logger = logging.getLogger("headroom.experiments.attention_maps.stage")

SENTENCES = 4
"""Sentences whose maps are written: as many as fit the page."""


def build_parser(engine: type[Engine]) -> argparse.ArgumentParser:
    """Return the command line."""
    parser = model_parser("attention_maps", __doc__, engine)
    parser.add_argument("--roles", required=True, help="table of the roles of this model's heads")
    parser.add_argument("--pointing", help="table attention_stats, for the heads nearest to roles without a head")
    parser.add_argument("--treebank", help="sentences in CoNLL-U; unset for those of the set")
    parser.add_argument("--set", default="check", help="evaluation set with the sentences, without treebank")
    parser.add_argument("--output", required=True, help="file of maps, JSON")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the model on a few sentences and write the maps, sentence by sentence for every head."""
    engine, given = given_engine(build_parser, arguments)
    from headroom.methods.traces import entry, heads_to_trace, nearest_to_roles, sentences_to_trace, word_maps

    chosen = heads_to_trace(ROLES.read(given.roles))
    if given.pointing:
        held = {target for _, _, target in chosen}
        nearest = nearest_to_roles(ATTENTION_STATS.read(given.pointing))
        chosen += [one for one in nearest if one[2] not in held]
    sentences = sentences_to_trace(_sentences(engine, given), SENTENCES)
    maps: list[dict[str, Any]] = []
    if chosen and sentences:
        model = engine.load(given.checkpoint, maps=True)
        heads = {live.site: live.kept_heads() for live in model.live_sites if live.kept}
        batches = engine.sentence_batches(model, [sentence.text for sentence in sentences], len(sentences))
        found = word_maps(batches, sentences, heads)
        for role in chosen:
            for place, sentence in enumerate(sentences):
                maps.append(entry(role, place + 1, sentence, found[role[0], place]))
    content = {"run": given.run, "epoch": read_epoch(given.checkpoint), "maps": maps}
    write_lines(given.output, [json.dumps(content, ensure_ascii=False)])
    logger.info("wrote %d maps of %d roles", len(maps), len(chosen))


def _sentences(engine: Engine, given: argparse.Namespace) -> list[ParsedSentence]:
    """Return the source of sentences: the treebank, or the first sentence of each example of the set."""
    if given.treebank:
        return read_trees(given.treebank)
    return [plain_sentence(text) for text in engine.sentences(engine.examples(given.set))]
