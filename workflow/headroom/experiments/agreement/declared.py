"""The tables of this experiment."""

from headroom.core.columns import CHANCE, INTERVAL, KIND_OR_ALL, NORMALISED, RUN, SIGNATURE, TOP, VALUE
from headroom.core.table import Column, Table

AGREEMENT = Table(
    path="agreement/{run}.csv",
    key=("run", "epoch", "between", "a", "b", "kind", "of", "normalised", "statistic", "dropped", "k"),
    columns=(
        *RUN,
        Column("between", "text", "what the two lists are of: `set`, `epoch`, `criterion`, `replacement`; see below"),
        Column("a", "text", "the first list: a set, an epoch, a criterion or a replacement"),
        Column("b", "text", "the second one"),
        KIND_OR_ALL,
        Column(
            "of",
            "text",
            "what both lists are: of sets and replacements the metric of effects, counted as harm (positive is worse);"
            " of epochs the criterion; of criteria empty",
        ),
        NORMALISED.means("of epochs: `raw`, or `layer`, see [scores](#scores); else empty"),
        Column(
            "statistic",
            "text",
            "`pearson`, `spearman`, `kendall` (tau-b): correlation; `overlap`: share of the `k` highest heads of one"
            " list that are among those of the other",
        ),
        Column(
            "dropped",
            "integer",
            "number of the highest heads of `a` left out, to test whether the correlation depends on them: of sets 0,"
            " 1, 2, 5, 10; else 0",
            "heads",
        ),
        TOP.means(
            "length of the top lists, for `overlap`: of sets 5, 10, 20, of epochs a quarter and a half of the heads;"
            " else empty"
        ),
        VALUE,
        *INTERVAL,
        CHANCE,
        Column(
            "ceiling",
            "number",
            "of criteria and replacements, the highest correlation that noise permits: √(r₁ r₂), with r the reliability"
            " of each. Of a criterion it is 2 h / (1 + h), from the rank correlation h of its scores on two halves of"
            " the examples (Spearman-Brown; 0 if h is negative), of a replacement the correlation of its effects on two"
            " sets. Empty if one of the two has no scores on halves, as the gates. Those of gradient scores and"
            " ablation are in [scores](#scores) and [ablation_halves](#ablation_halves)",
        ),
        Column("heads", "integer", "heads of the lists, before any are left out; at least 4 for correlations"),
        SIGNATURE,
    ),
    about="""
Two lists of scores of the same heads, at the last epoch but where epochs are compared.

| `between` | `a`, `b` |
|---|---|
| `set` | the effects of removing each head on two sets: `test` and each far domain, `choose` and `test` |
| `epoch` | the scores of an earlier epoch, which is also `epoch`, and those of the last one |
| `criterion` | scores by two criteria, of which more is more important. `gradient-example`, `gradient-token`: raw; `ablation`: the loss in the main metric on `choose` without the head; `confidence`: see [attention_stats](#attention_stats); `relevance`: see [relevance](#relevance), a share within a site, which is less comparable between sites; `gates`: share of the values of lambda at which the head's hard-concrete gate stays open (scope `all`). `b` is `loss-ablation` where criteria are compared with it (see [bakeoff](#bakeoff)) |
| `replacement` | the effects of removing each head with two replacements of its z, the first on `choose`, the second on the set that heads are judged on, so that the noise of the two is independent |
""",  # noqa: E501
)
