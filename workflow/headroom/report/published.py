"""Values that the papers published, from their YAML: to compare with ours in the same figure or table."""

from typing import Any

from headroom.claims.entries import read_papers


def _fixed(value: Any) -> Any:
    """Return a value with tuples for lists."""
    if isinstance(value, dict):
        return {key: _fixed(one) for key, one in value.items()}
    return tuple(map(_fixed, value)) if isinstance(value, list) else value


_VALUES = {name: _fixed(value) for paper in read_papers() for name, value in paper.values.items()}

ABLATION = _VALUES["ablation"]
KEEP_ONE_SAME = _VALUES["keep_one_same"]
KEEP_ONE_OTHER = _VALUES["keep_one_other"]
KEEP_ONE_TABLES = _VALUES["keep_one_tables"]
AGREEMENT = _VALUES["agreement"]
SHARES = _VALUES["shares"]
CURVES = _VALUES["curves"]
TASK_CURVES = _VALUES["task_curves"]
CURVES_BY_KIND = _VALUES["curves_by_kind"]
SETTLING_EPOCHS = _VALUES["settling_epochs"]
SETTLING = _VALUES["settling"]
TIMING = _VALUES["timing"]
HEAD_SHARE = _VALUES["head_share"]
RELATIONS = _VALUES["relations"]
LANGUAGES = _VALUES["languages"]
ENCODER_PRUNED = _VALUES["encoder_pruned"]
SURVIVORS = _VALUES["survivors"]
LAYOUTS = _VALUES["layouts"]
BY_KIND = _VALUES["by_kind"]
BY_LAYERS = _VALUES["by_layers"]
