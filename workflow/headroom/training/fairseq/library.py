"""Import of fairseq without messages; modules that use fairseq import this one first.

fairseq imports all its tasks, scikit-learn and scipy, which takes seconds; therefore the engine of translation imports
it late, when it loads a model.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _quiet() -> Iterator[None]:
    """Import without messages about missing packages, and restore the root logger."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
        root.setLevel(level)
        root.handlers[:] = handlers


with _quiet():
    import fairseq
    from fairseq.data import Dictionary
    from fairseq.data.data_utils import collate_tokens
    from fairseq.models.transformer import TransformerDecoder, TransformerEncoder, TransformerModel
    from fairseq.sequence_generator import SequenceGenerator
    from fairseq.tasks.translation import TranslationTask

for _name in ("fairseq", "fairseq_cli", "hydra"):
    logging.getLogger(_name).setLevel(logging.WARNING)
logging.getLogger("fairseq.checkpoint_utils").setLevel(logging.CRITICAL)  # its tracebacks are reported in one line

VERSION: str = fairseq.__version__

__all__ = [
    "VERSION",
    "Dictionary",
    "SequenceGenerator",
    "TransformerDecoder",
    "TransformerEncoder",
    "TransformerModel",
    "TranslationTask",
    "collate_tokens",
]
