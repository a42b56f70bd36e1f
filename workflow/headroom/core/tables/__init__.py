"""Every table of a study: its path, its writer, its columns and their meanings. Declarations only.

Changed columns rerun the jobs that write them through the params of rules; stages do not list this package as source.
"""

from headroom.core.table import Registry
from headroom.core.tables.bakeoff import BAKEOFF, BAKEOFF_COSTS, BAKEOFF_CURVES, BAKEOFF_RETRAINING, BAKEOFF_SCORES
from headroom.core.tables.behaviour import ATTENTION_STATS, DISTANCES, DIVERSITY, PARTICLES, ROLES
from headroom.core.tables.claims import CLAIMS, NUMBERS
from headroom.core.tables.heads import (
    ABLATION,
    ABLATION_HALVES,
    ABLATION_REPLACED,
    AGREEMENT,
    KEEP_ONE,
    KEEP_ONE_REPLACED,
    RANK_CORRELATION,
    RELEVANCE,
    SCORES,
    SCORES_HALVES,
    SETTLING,
)
from headroom.core.tables.phenomena import PHENOMENA
from headroom.core.tables.pruning import ARMS, GATES, OVERLAP, PRUNED_MODELS, PRUNING, PRUNING_EPOCHS, PRUNING_REPLACED
from headroom.core.tables.training import (
    EVALUATION,
    PARAMETERS,
    REMOVAL,
    TIMING,
    TIMING_SAMPLES,
    TRAINING,
    UPDATE_COST,
)

ALL = Registry(
    *(TRAINING, EVALUATION, PARAMETERS),
    *(SCORES, SCORES_HALVES, ABLATION, ABLATION_HALVES, KEEP_ONE, AGREEMENT, RELEVANCE, RANK_CORRELATION),
    *(BAKEOFF_SCORES, BAKEOFF_COSTS, BAKEOFF_CURVES, BAKEOFF, BAKEOFF_RETRAINING),
    *(ABLATION_REPLACED, KEEP_ONE_REPLACED, PRUNING_REPLACED),
    *(PRUNING, PRUNING_EPOCHS, SETTLING, REMOVAL, TIMING, TIMING_SAMPLES),
    *(DIVERSITY, PARTICLES, ATTENTION_STATS, DISTANCES, ROLES, PHENOMENA, GATES, PRUNED_MODELS),
    *(ARMS, OVERLAP, UPDATE_COST),
    *(CLAIMS, NUMBERS),
)
columns_of = ALL.columns_of

__all__ = [
    "ABLATION",
    "ABLATION_HALVES",
    "ABLATION_REPLACED",
    "AGREEMENT",
    "ALL",
    "ARMS",
    "ATTENTION_STATS",
    "BAKEOFF",
    "BAKEOFF_COSTS",
    "BAKEOFF_CURVES",
    "BAKEOFF_RETRAINING",
    "BAKEOFF_SCORES",
    "CLAIMS",
    "DISTANCES",
    "DIVERSITY",
    "EVALUATION",
    "GATES",
    "KEEP_ONE",
    "KEEP_ONE_REPLACED",
    "NUMBERS",
    "OVERLAP",
    "PARAMETERS",
    "PARTICLES",
    "PHENOMENA",
    "PRUNED_MODELS",
    "PRUNING",
    "PRUNING_EPOCHS",
    "PRUNING_REPLACED",
    "RANK_CORRELATION",
    "RELEVANCE",
    "REMOVAL",
    "ROLES",
    "SCORES",
    "SCORES_HALVES",
    "SETTLING",
    "TIMING",
    "TIMING_SAMPLES",
    "TRAINING",
    "UPDATE_COST",
    "columns_of",
]
