"""The columns of the tables of where heads point, and of the roles that this makes."""

POINTING_COLUMNS = (
    "study", "run", "epoch", "model", "kind", "layer", "head", "measure", "target", "trees", "half", "value",
    "baseline", "low", "high", "count", "signature",
)  # fmt: skip
ROLE_COLUMNS = (
    "study", "run", "epoch", "model", "trees", "kind", "layer", "head", "role", "target", "value", "baseline", "low",
    "high", "best", "signature",
)  # fmt: skip
