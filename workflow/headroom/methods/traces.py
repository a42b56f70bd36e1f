"""Attention maps, between words, of a few heads with roles on a few sentences, for inspection."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas
import torch
from torch import Tensor

from headroom.core.heads import Head, Site
from headroom.data.trees import ParsedSentence
from headroom.methods.pointing import between_units, membership, units
from headroom.methods.syntax import tokens_to_units
from headroom.models.sites import MapBatch

WORDS = range(6, 15)
"""Numbers of words in sentences for maps."""


def heads_to_trace(roles: pandas.DataFrame) -> list[tuple[Head, str, str]]:
    """Return one encoder head of the trained model per role and target, with both, from the table of roles of one run.

    For a relation it is the best head, or, if that one has no role, the most accurate head with the role; for a
    relative position and for rare words the one that points there most often.
    """
    mine = roles[(roles["model"] == "trained") & (roles["trees"] != "shuffled") & (roles["kind"] == "E")]
    ordered = mine.sort_values(["best", "value"], ascending=False, kind="stable")
    first = ordered.drop_duplicates(["role", "target"]).sort_index()
    return [
        (Head(str(row["kind"]), int(row["layer"]), int(row["head"])), str(row["role"]), str(row["target"]))
        for _, row in first.iterrows()
    ]


def nearest_to_roles(pointing: pandas.DataFrame) -> list[tuple[Head, str, str]]:
    """Return, per relation (in its better direction), the most accurate encoder head, and the most positional one.

    They are chosen like roles, on the half `choose`, but need not satisfy a threshold: their role is empty.
    """
    mine = pointing[(pointing["model"] == "trained") & (pointing["kind"] == "E")]
    relations = mine[(mine["measure"] == "relation") & (mine["trees"] == "gold") & (mine["half"] == "choose")]
    offsets = mine[mine["measure"] == "offset"]
    offsets = offsets[offsets["target"] != "0"]
    falling = [table.sort_values("value", ascending=False, kind="stable") for table in (relations, offsets)]
    relation = falling[0]["target"].map(lambda target: str(target).rpartition(":")[0])
    best = pandas.concat([falling[0][~relation.duplicated()].sort_index(), falling[1].head(1)])
    places = zip(best["layer"], best["head"], best["target"])
    return [(Head("E", int(layer), int(head)), "", str(target)) for layer, head, target in places]


def sentences_to_trace(sentences: Sequence[ParsedSentence], count: int) -> list[ParsedSentence]:
    """Return sentences of suitable length, evenly spaced: neighbours in a text are often similar."""
    fitting = [sentence for sentence in sentences if len(units(sentence)[1]) in WORDS]
    return [fitting[place * len(fitting) // count] for place in range(count)] if len(fitting) > count else fitting


@torch.inference_mode()
def word_maps(
    batches: Sequence[MapBatch], sentences: Sequence[ParsedSentence], heads: Mapping[Site, Sequence[Head]]
) -> dict[tuple[Head, int], list[list[float]]]:
    """Return the attention between the units of every sentence, rows are queries, by head and sentence.

    Of a site that runs several times in a pass it is the mean.
    """
    of_tokens = tokens_to_units(batches, sentences)
    found: dict[tuple[Head, int], Tensor] = {}
    for batch in batches:
        sizes = [len(units(sentences[position])[1]) for position in batch.positions]
        places = [of_tokens[position] for position in batch.positions]
        member = membership(places, sizes, batch.tokens.shape[1]).to(batch.tokens.device)

        def keep(site: Site, weights: Tensor, batch: MapBatch = batch, member: Tensor = member) -> None:
            if site.kind == "E":
                maps = between_units(weights, member) / batch.uses[site]  # (B, H, U, U)
                for row, position in enumerate(batch.positions):
                    size = len(units(sentences[position])[1])
                    for place, head in enumerate(heads[site]):
                        own = maps[row, place, :size, :size]
                        found[head, position] = found[head, position] + own if (head, position) in found else own

        batch.show(keep)
    return {place: own.tolist() for place, own in found.items()}


def entry(role: tuple[Head, str, str], number: int, sentence: ParsedSentence, weights: Any) -> dict[str, Any]:
    """Return one map in the form of the file: head, role, sentence, words and weights to two decimals."""
    head, name, target = role
    spans = dict.fromkeys((word.start, word.end) for word in sentence.words)
    words = [sentence.text[start:end] for start, end in spans]
    return {
        "head": str(head),
        "role": name,
        "target": target,
        "sentence": number,
        "queries": words,
        "keys": words,
        "weights": [[round(weight, 2) for weight in row] for row in weights],
    }
