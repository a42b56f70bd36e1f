"""The tables of this experiment."""

from headroom.core.columns import INTERVAL, RUN, SIGNATURE, VALUE
from headroom.core.table import Column, Table

RANK_CORRELATION = Table(
    path="rank_correlation/{run}.csv",
    key=("run", "epoch", "scope", "first", "second", "statistic"),
    columns=(
        *RUN,
        Column("scope", "text", "heads compared: `all`, or those of a kind; at least 4"),
        Column(
            "first",
            "text",
            "one criterion: `gradient-example`, `gradient-token`: raw, see [scores](#scores); `ablation`: "
            "the loss in the"
            " main metric on `choose` without the head; `confidence`: see"
            " [attention_stats](#attention_stats); `relevance`: see [relevance](#relevance), a share within a site,"
            " which is less comparable between sites; `gates`: share of the values of lambda at which the "
            "head's hard-concrete"
            " gate stays open (scope `all`); `gates-exact`, `gates-exact-straight-through`: the same share over K. Of"
            " all these more is more important",
        ),
        Column("second", "text", "the other criterion"),
        Column("statistic", "text", "`spearman`: rank correlation"),
        VALUE,
        *INTERVAL,
        Column(
            "ceiling",
            "number",
            "the highest correlation that noise permits: √(r₁ r₂), with r the reliability of each, 2 h / (1 + h) from"
            " the rank correlation h of its scores on two halves of the examples (Spearman-Brown; 0 if h is negative)."
            " Empty if one of the two has no scores on halves, as the gates. Those of gradient scores and ablation are"
            " in [scores](#scores) and [ablation_halves](#ablation_halves)",
        ),
        Column("heads", "integer", "heads compared"),
        SIGNATURE,
    ),
    about="Rank correlation of every pair of criteria, for detailed runs at the last epoch.",
)
