"""Every table of a study, in the order in which they are documented."""

from headroom.claims.table import CLAIMS, NUMBERS
from headroom.core.table import Registry
from headroom.experiments.ablation.table import ABLATION, ABLATION_HALVES, ABLATION_REPLACED
from headroom.experiments.agreement.table import AGREEMENT
from headroom.experiments.arms.table import ARMS, OVERLAP
from headroom.experiments.attention_stats.table import ATTENTION_STATS, DISTANCES
from headroom.experiments.bakeoff.table import (
    BAKEOFF,
    BAKEOFF_COSTS,
    BAKEOFF_CURVES,
    BAKEOFF_RETRAINING,
    BAKEOFF_SCORES,
)
from headroom.experiments.diversity.table import DIVERSITY
from headroom.experiments.evaluation.table import EVALUATION
from headroom.experiments.gates.table import GATES, PRUNED_MODELS
from headroom.experiments.keep_one.table import KEEP_ONE, KEEP_ONE_REPLACED
from headroom.experiments.parameters.table import PARAMETERS
from headroom.experiments.particles.table import PARTICLES
from headroom.experiments.phenomena.table import PHENOMENA
from headroom.experiments.pruning.table import PRUNING, PRUNING_EPOCHS, PRUNING_REPLACED
from headroom.experiments.rank_correlation.table import RANK_CORRELATION
from headroom.experiments.relevance.table import RELEVANCE
from headroom.experiments.removal.table import REMOVAL
from headroom.experiments.roles.table import ROLES
from headroom.experiments.scores.table import SCORES, SCORES_HALVES
from headroom.experiments.settling.table import SETTLING
from headroom.experiments.timing.table import TIMING, TIMING_SAMPLES
from headroom.experiments.training.table import TRAINING
from headroom.experiments.update_cost.table import UPDATE_COST

REGISTRY = Registry(
    *(TRAINING, EVALUATION, PARAMETERS),
    *(SCORES, SCORES_HALVES, ABLATION, ABLATION_HALVES, KEEP_ONE, AGREEMENT, RELEVANCE, RANK_CORRELATION),
    *(BAKEOFF_SCORES, BAKEOFF_COSTS, BAKEOFF_CURVES, BAKEOFF, BAKEOFF_RETRAINING),
    *(ABLATION_REPLACED, KEEP_ONE_REPLACED, PRUNING_REPLACED),
    *(PRUNING, PRUNING_EPOCHS, SETTLING, REMOVAL, TIMING, TIMING_SAMPLES),
    *(DIVERSITY, PARTICLES, ATTENTION_STATS, DISTANCES, ROLES, PHENOMENA, GATES, PRUNED_MODELS),
    *(ARMS, OVERLAP, UPDATE_COST),
    *(CLAIMS, NUMBERS),
)
