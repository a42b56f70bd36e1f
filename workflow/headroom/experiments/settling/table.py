"""The tables of this experiment."""

from headroom.core.columns import CHANCE, CRITERION, INTERVAL, KIND_OR_ALL, NORMALISED, RUN, SIGNATURE, TOP, VALUE
from headroom.core.table import Column, Table

SETTLING = Table(
    path="settling/{run}.csv",
    key=("run", "epoch", "kind", "criterion", "normalised", "statistic", "k"),
    columns=(
        *RUN,
        KIND_OR_ALL,
        CRITERION,
        NORMALISED,
        Column(
            "statistic",
            "text",
            "`spearman`, `kendall` (tau-b): rank correlation; `overlap`: share of the `k` highest heads that are among"
            " the last epoch's `k` highest",
        ),
        TOP.means("length of the top lists, for `overlap`: a quarter and a half of the heads; else empty"),
        VALUE,
        *INTERVAL,
        CHANCE,
        SIGNATURE,
    ),
    about="When does head importance stabilise? The scores of every earlier epoch against those of the last.",
)
