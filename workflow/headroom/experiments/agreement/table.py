"""The tables of this experiment."""

from headroom.core.columns import CHANCE, INTERVAL, KIND_OR_ALL, METRIC, RUN, SIGNATURE, TOP, VALUE
from headroom.core.table import Column, Table

AGREEMENT = Table(
    path="agreement/{run}.csv",
    key=("run", "epoch", "kind", "set_a", "set_b", "metric", "statistic", "dropped", "k"),
    columns=(
        *RUN,
        KIND_OR_ALL,
        Column("set_a", "text", "the first set: `test`, or `choose`"),
        Column("set_b", "text", "the second: of `test` each far domain, of `choose` `test`"),
        METRIC,
        Column(
            "statistic",
            "text",
            "`pearson`, `spearman`: correlation of the harms; `overlap`: share of the `k` most harmful heads of one set"
            " that are among those of the other",
        ),
        Column(
            "dropped",
            "integer",
            "number of the most harmful heads on `set_a` left out, to test whether the correlation depends "
            "on them: 0, 1, 2, 5, 10",
            "heads",
        ),
        TOP.means("length of the top lists, for `overlap`: 5, 10, 20; else empty"),
        VALUE,
        *INTERVAL,
        CHANCE,
        SIGNATURE,
    ),
    about="Do the same heads matter on another set? Ablation effects of all heads on one set against those on another,"
    " counted as harm (positive is worse).",
)
