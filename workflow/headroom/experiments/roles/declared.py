"""The tables of this experiment."""

from headroom.core.columns import HEAD, RUN, SIGNATURE, VALUE
from headroom.core.table import Column, Table
from headroom.experiments.attention_stats.declared import BASELINE, BEYOND, MODEL, TARGET, TREES

ROLES = Table(
    path="roles/{run}.csv",
    key=("run", "epoch", "model", "trees", "kind", "layer", "head", "role", "target"),
    columns=(
        *RUN,
        MODEL,
        TREES.means("as in [attention_stats](#attention_stats); a role on `shuffled` trees is one by chance"),
        *HEAD,
        Column(
            "role",
            "text",
            "`positional`: at least 90 % of the tokens are pointed from to one relative position."
            " `syntactic`: the accuracy for a relation exceeds its baseline by 10 points on the half `choose` and"
            " again on `score`, where the interval of the difference is above zero. `rare`: a head of layer 1 points to"
            " one of the two rarest tokens from at least half of the tokens, and more often than chance"
            " beyond the interval",
        ),
        TARGET,
        VALUE.means("as in [attention_stats](#attention_stats); of a syntactic role that of the half `score`"),
        BASELINE,
        *BEYOND,
        Column(
            "best",
            "integer",
            "1 if the head is the most accurate one for this relation in this direction on the half `choose`; else 0",
        ),
        SIGNATURE,
    ),
    about="""
The roles of heads by the rules of Voita et al. 2019, Section 5, and `roles` of the configuration: one row per role of
a head; roles of an `untrained` model are due to chance. Those of pruned models are in `roles/<run>.pruned.csv`.

The file `attention_maps/<run>.json` contains the attention of one encoder head per role and target on a few sentences
of 6 to 14 words, between words, rows are queries; for a role without a head, of the head that comes nearest to it,
with an empty `role`:
`{"run": ..., "epoch": ..., "maps": [{"head": "E2:3", "role": "syntactic", "target": "nsubj:to-dependent",
"sentence": 1, "queries": [...], "keys": [...], "weights": [[...], ...]}]}`.
""",
)
