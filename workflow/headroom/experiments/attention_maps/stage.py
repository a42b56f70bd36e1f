"""Write attention maps of heads with roles, or nearest to a role, on a few real sentences."""

import json
import logging
from pathlib import Path
from typing import Any

from pydantic import Field

from headroom.core.files import write_lines
from headroom.data.trees import ParsedSentence, plain_sentence, read_trees
from headroom.experiments.attention_stats.declared import ATTENTION_STATS
from headroom.experiments.roles.declared import ROLES
from headroom.models.command import OneModelJob, open_engine
from headroom.models.engine import Engine
from headroom.settings.job import read_epoch

logger = logging.getLogger("headroom.experiments.attention_maps.stage")

SENTENCES = 4
"""Sentences whose maps are written: as many as fit the page."""


class AttentionMaps(OneModelJob):
    """Extract the attention weights of heads with roles on a few sentences."""

    roles: Path = Field(description="table of the roles of this model's heads")
    pointing: Path | None = Field(
        None, description="table attention_stats, for the heads nearest to roles without a head"
    )
    treebank: Path | None = Field(None, description="sentences in CoNLL-U; unset for those of the set")
    set: str = Field("check", description="evaluation set with the sentences, without treebank")
    output: Path = Field(description="file of maps, JSON")


def run(job: AttentionMaps) -> None:
    """Run the model on a few sentences and write the maps, sentence by sentence for every head."""
    engine = open_engine(job)
    from headroom.methods.traces import entry, heads_to_trace, nearest_to_roles, sentences_to_trace, word_maps

    chosen = heads_to_trace(ROLES.read(job.roles))
    if job.pointing:
        held = {target for _, _, target in chosen}
        nearest = nearest_to_roles(ATTENTION_STATS.read(job.pointing))
        chosen += [one for one in nearest if one[2] not in held]
    sentences = sentences_to_trace(_sentences(engine, job), SENTENCES)
    maps: list[dict[str, Any]] = []
    if chosen and sentences:
        model = engine.load(job.checkpoint, maps=True)
        heads = {live.site: live.kept_heads() for live in model.live_sites if live.kept}
        batches = engine.sentence_batches(model, [sentence.text for sentence in sentences], len(sentences))
        found = word_maps(batches, sentences, heads)
        for role in chosen:
            for place, sentence in enumerate(sentences):
                maps.append(entry(role, place + 1, sentence, found[role[0], place]))
    content = {"run": job.run, "epoch": read_epoch(job.checkpoint), "maps": maps}
    write_lines(job.output, [json.dumps(content, ensure_ascii=False)])
    logger.info("wrote %d maps of %d roles", len(maps), len(chosen))


def _sentences(engine: Engine, job: AttentionMaps) -> list[ParsedSentence]:
    """Return the source of sentences: the treebank, or the first sentence of each example of the set."""
    if job.treebank:
        return read_trees(job.treebank)
    return [plain_sentence(text) for text in engine.sentences(engine.examples(job.set))]
