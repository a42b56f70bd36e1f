"""The tables of this experiment."""

from headroom.core.columns import CHANCE, CRITERION, INTERVAL, METRIC, RUN, SET, SIGNATURE, STUDY, VALUE, P
from headroom.core.table import Column, Table

ARMS = Table(
    path="arms.csv",
    key=("task", "statistic", "set", "metric", "arm", "baseline"),
    columns=(
        STUDY,
        Column("task", "text", "the task whose arms are compared"),
        Column("statistic", "text", "a mean or a difference of one number per run: see below"),
        SET.means("evaluation set, of metrics and of curves; else empty"),
        METRIC.means("metric, of metrics and of curves; else empty"),
        Column("arm", "text", "the arm"),
        Column("baseline", "text", "in rows of differences the arm compared with; else empty"),
        VALUE,
        INTERVAL[0].means(
            "lower end of a 95 % t-interval over seeds; with one seed that of its evaluation, if there is one"
            " (`interval:` in the signature states which)"
        ),
        INTERVAL[1].means("upper end of the same interval"),
        P.means("of a difference: paired t-test over seeds; empty for means and with one seed"),
        Column("seeds", "text", "the seeds, separated by spaces. Runs without a defined number are left out"),
        SIGNATURE.means("as elsewhere; parts that differ between the runs are listed with commas, e.g. `seed:1,2`"),
    ),
    about="""
The effect of an arm, over seeds: means per arm, and differences from the first arm of the task, paired by seed. One
file for the study, with the tasks that have more than one arm.

| `statistic` | one number per run |
|---|---|
| `metric_mean`, `metric_difference` | a metric of `evaluation` |
| `curve_area`, `curve_area_difference` | area under the pruning curve of `pruning_epochs` at the last epoch, over all \
heads by the main order: the metric as a share of the full model's over the share of heads removed (1: \
no loss until all heads are removed), of classifiers above `chance`; followed \
by `_<order>` and other properties, e.g. `_gradient-token.layer.rescored`, for the other curves. Only for metrics of \
which more is better; not defined if the full score (above chance) is below 1 |
| `removable_share_mean`, `removable_share_difference` | the share of heads that can be removed along the same curve, \
made \
monotone, before it falls below 98 % of the run's full score (classifiers: 97 % of its score above `chance`); \
not defined if that is below 1 |
| `importance_gini_mean`, `importance_gini_difference` | Gini coefficient of the n raw main scores x of \
all heads at the last epoch, Σᵢⱼ \\|xᵢ - xⱼ\\| / (2 n² x̄): 0 if all heads are equal, (n - 1) / n if one head has \
all importance. Negative scores count as 0 |
| `importance_entropy_mean`, `importance_entropy_difference` | entropy of the same scores as shares p of their sum, \
relative to its maximum: -Σ pᵢ log pᵢ / log n. 1 if all heads are equal, 0 if one head has all importance |
| `diversity_mean_<measure>`, `diversity_difference_<measure>` | a measure of `diversity` at the last epoch, averaged \
over sites |
| `head_gradient_norm_mean`, `head_gradient_norm_difference`, `plain_head_gradient_norm_mean`, \
`plain_head_gradient_norm_difference`, `repulsion_ratio_mean` \
| a measure of `training`, averaged over epochs; only for arms with this measure |
""",
)

OVERLAP = Table(
    path="overlap.csv",
    key=("task", "criterion", "share", "run", "other"),
    columns=(
        STUDY,
        Column("task", "text", "the task of both runs"),
        CRITERION,
        Column("share", "number", "share of all heads that is kept: 0.25, 0.5"),
        Column(
            "kept",
            "integer",
            "number of heads kept, the most important ones; of ties those that pruning keeps, the last in table order",
        ),
        RUN[1],
        Column("other", "text", "the other run"),
        Column("arm", "text", "the arm of `run`"),
        Column(
            "other_arm",
            "text",
            "the arm of `other`. Between seeds: `arm` and `other_arm` are the same. Between arms: the seed is the same",
        ),
        VALUE.means("heads that both keep / `kept`"),
        CHANCE.means("expected value for unrelated runs: `kept` / all heads"),
        SIGNATURE,
    ),
    about="""
The agreement of seeds and of arms on the important heads: every two runs of a task that differ either in seed or in
arm, and have the same heads, by raw scores at the last epoch. One file for the study, with the tasks that have more
than one arm.
""",
)
