"""Released translation models of transformers, imported as a run of one checkpoint."""

import logging
from itertools import chain
from pathlib import Path

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import numpy
import torch
from numpy import ndarray

from headroom.core.errors import HeadroomError
from headroom.core.order_checks import compare_neighbours
from headroom.data.parallel import ParallelText, read_pairs
from headroom.models.released import import_model
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.models.seq2seq.text import set_languages
from headroom.settings.models import HubModelSettings

_log = logging.getLogger(__name__)

_PAIRS, _AT_ONCE = 50, 8
"""Pairs of neighbouring lines that are compared in a set, and sentences in a batch."""


def take(settings: HubModelSettings, *, checkpoint: Path, corpus: Path | None = None) -> str:
    """Import a translation model with the codes of its languages and its prefix, and return a description.

    Args:
        settings: Where it is, and its languages.
        checkpoint: The directory to write.
        corpus: The directory of the text, whose lines must belong together for the model; None for no such check.

    Raises:
        HeadroomError: As in `import_model`, `set_languages` and `check_lines`.
    """

    def adapt(model: Seq2SeqModel) -> None:
        codes = {"source_code": settings.source_code, "target_code": settings.target_code}
        set_languages(model.tokenizer, **codes, prefix=settings.prefix)
        model.renew_text()
        if corpus and not settings.below_chance:
            check_lines(model, join_halves(read_pairs(corpus, "choose"), read_pairs(corpus, "check")), "valid")
            check_lines(model, read_pairs(corpus, "test"), "test")

    return import_model(Seq2SeqModel, settings, checkpoint, adapt=adapt)


def join_halves(first: ParallelText, second: ParallelText) -> ParallelText:
    """Return the pairs of lines of two halves in turn: every second line of a set is in each."""
    sides = (chain.from_iterable(zip(*side)) for side in zip(first.parts, second.parts))
    return ParallelText(*map(list, sides))


def check_lines(model: Seq2SeqModel, text: ParallelText, name: str) -> None:
    """Check that a model does not expect the translations of a set in the lines before or after; warn if in none.

    Raises:
        HeadroomError: If it expects them there.
    """
    lines = 2 * min(_PAIRS, len(text.source) // 2)
    target = text.target[:lines]
    others = [target[place ^ 1] for place in range(lines)]  # those of the other line of a pair
    kept, exchanged = (_find_losses(model, text.source[:lines], own) for own in (target, others))
    found = compare_neighbours(kept, exchanged)
    about = (
        f"of {found.pairs} pairs of neighbouring lines of {name} {found.exchanged} have likelier translations if these"
    )
    if found.is_shifted:
        raise HeadroomError(
            f"released: {about} are exchanged;\n"
            "give files whose lines belong together, or set released.below_chance: true if they do"
        )
    if not found.is_known:
        _log.warning("released: %s are exchanged, about as many as by chance; check lines and languages", about)


@torch.no_grad()
def _find_losses(model: Seq2SeqModel, sources: list[str], targets: list[str]) -> ndarray:
    """Return the summed loss of every two lines, (lines / 2,)."""
    nats = numpy.zeros(len(sources))
    for batch in model.batches(sources, targets, sentences=_AT_ONCE) if sources else []:
        nats[batch.positions] = model.losses(batch)[0].double().cpu().numpy()
    return nats.reshape(-1, 2).sum(1)
