"""Judging models that lost heads and were trained further, or anew, against the model before."""

from collections.abc import Iterator
from typing import Any

from headroom.core.bootstrap import paired_difference
from headroom.engines.engine import EvaluationSet, Outcome


def compared(judged: EvaluationSet, full: Outcome, after: Outcome, about: str) -> Iterator[dict[str, Any]]:
    """Yield, per metric, the columns from `set` to `p` and the signature of a model compared with the full one.

    Args:
        judged: The set that both were judged on.
        full: The full model's outcome.
        after: The other model's.
        about: What else affects the numbers, appended to the signature.
    """
    for metric in judged.metrics:
        difference = after.scores[metric] - full.scores[metric]
        yield {
            "set": judged.name,
            "metric": metric,
            "value": after.scores[metric],
            "full": full.scores[metric],
            **paired_difference(full.resampled[metric], after.resampled[metric], difference)._asdict(),
            "signature": f"{judged.signature(metric)}|{about}",
        }
