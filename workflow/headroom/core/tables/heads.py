"""Tables of the importance of heads."""

from headroom.core.table import Column, Table
from headroom.core.tables.columns import (
    CHANCE,
    COMPARISON,
    CRITERION,
    HEAD,
    INTERVAL,
    KIND_OR_ALL,
    METRIC,
    NORMALISED,
    REPLACEMENT,
    RUN,
    SIGNATURE,
    TOP,
    VALUE,
)

_PLACE = ("run", "epoch", "kind", "layer", "head")

SCORES = Table(
    path="scores/{run}.csv",
    writers=("scores",),
    runs="all",
    key=(*_PLACE, "criterion", "normalised"),
    columns=(*RUN, *HEAD, CRITERION, NORMALISED, VALUE, SIGNATURE),
    about="""
Gradient importance of every head at every checkpoint (Michel et al. 2019, Eq. 2), on the set `choose`: the sensitivity
of the loss to the head's gate. With ⟨z, ∂L/∂z⟩ the product of a head's output and its gradient at one position,
L the summed loss of a sentence:

| criterion | the absolute value is taken of | averaged over |
|---|---|---|
| `gradient-token` | every position's product | positions |
| `gradient-example` | the sum over a sentence's positions: Eq. 2 as printed | sentences |
| `gradient-batch` | the sum over a batch | batches |
| `gradient-squared` | no absolute value: the sum over a sentence is squared (the diagonal of the Fisher matrix) | \
sentences |
""",
)

HALF = Column("half", "text", "`choose`: examples at even positions of the set, counted from 0; `score`: at odd ones")
_ON_HALVES = (*_PLACE, "criterion", "half")

SCORES_HALVES = Table(
    path="scores_halves/{run}.csv",
    writers=("scores",),
    runs="",
    key=_ON_HALVES,
    columns=(*RUN, *HEAD, CRITERION, HALF, VALUE, SIGNATURE),
    about="Raw [scores](#scores) of the last epoch on the two halves of the examples, to measure their reliability.",
)

ABLATION = Table(
    path="ablation/{run}.csv",
    writers=("ablation",),
    key=(*_PLACE, "set", "metric"),
    columns=(*RUN, *HEAD, *COMPARISON, SIGNATURE),
    about="The effect of removing a single head, for every head (Michel et al. 2019, Section 3.2), at the last epoch.",
)

ABLATION_REPLACED = Table(
    path="ablation_replaced/{run}.{replacement}.csv",
    writers=("ablation",),
    runs="",
    key=(*_PLACE, "replacement", "set", "metric"),
    columns=(*RUN, REPLACEMENT, *HEAD, *COMPARISON, SIGNATURE),
    about="As [ablation](#ablation), with another replacement of the removed head's z than zero: a file per run and"
    " replacement (`intervention.replacement`).",
)

ABLATION_HALVES = Table(
    path="ablation_halves/{run}.csv",
    writers=("ablation",),
    runs="",
    key=_ON_HALVES,
    columns=(*RUN, *HEAD, CRITERION.means("`ablation`"), HALF, VALUE, SIGNATURE),
    about="The loss in the main metric from removing a single head (positive is worse) on the two halves of the set"
    " `choose`, to measure the reliability of [ablation](#ablation).",
)

_CHOSEN_ON = Column(
    "chosen_on",
    "text",
    "the sets, separated by spaces, on which this head is the best of its site: the one with the highest main"
    " metric (of equals the one with less loss); empty for none. Rows of `test` for heads chosen on `choose`"
    " are evaluations on held-out data",
)

KEEP_ONE = Table(
    path="keep_one/{run}.csv",
    writers=("keep_one",),
    key=(*_PLACE, "set", "metric"),
    columns=(*RUN, *HEAD, *COMPARISON, _CHOSEN_ON, SIGNATURE),
    about="The effect of removing all heads of a site except one (Michel et al. 2019, Tables 2, 3, 5 and 6). The "
    "head in a row is"
    " the one *kept*. Every head is tested on `choose` and on `test`.",
)

KEEP_ONE_REPLACED = Table(
    path="keep_one_replaced/{run}.{replacement}.csv",
    writers=("keep_one",),
    runs="",
    key=(*_PLACE, "replacement", "set", "metric"),
    columns=(*RUN, REPLACEMENT, *HEAD, *COMPARISON, _CHOSEN_ON, SIGNATURE),
    about="As [keep_one](#keep_one), with another replacement of the z of the other heads than zero: a file per run and"
    " replacement (`intervention.replacement`).",
)

AGREEMENT = Table(
    path="agreement/{run}.csv",
    writers=("agreement",),
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

SETTLING = Table(
    path="settling/{run}.csv",
    writers=("settling",),
    runs="all",
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

RANK_CORRELATION = Table(
    path="rank_correlation/{run}.csv",
    writers=("rank_correlation",),
    key=("run", "epoch", "scope", "first", "second", "statistic"),
    columns=(
        *RUN,
        Column("scope", "text", "heads compared: `all`, those of a kind, or those of one site, e.g. `E3`; at least 4"),
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
            " in [scores_halves](#scores_halves) and [ablation_halves](#ablation_halves)",
        ),
        Column("heads", "integer", "heads compared"),
        SIGNATURE,
    ),
    about="Rank correlation of every pair of criteria, for detailed runs at the last epoch.",
)

RELEVANCE = Table(
    path="relevance/{run}.csv",
    writers=("relevance",),
    runs="transformers",
    key=(*_PLACE, "measure", "half"),
    columns=(
        *RUN,
        *HEAD,
        Column(
            "measure",
            "text",
            "`relevance`: a head's share of the relevance in its site, in absolute values (relevance is signed, and a"
            " site's sum may vanish), mean over generation steps; 1 / heads if all are equal, 0 for a removed head."
            " `signed`: mean relevance with its sign, in units of the logit. `conservation-error`, one row without a"
            " head: the largest |sum of the inputs' relevances - explained logits| / sum of |explained logits| over all"
            " batches and steps; above 0.001 the model contains an operation that the rules do not cover",
        ),
        Column(
            "half",
            "text",
            "examples: `all`, those at even positions (`choose`, counted from 0), those at odd ones (`score`)",
        ),
        VALUE,
        *INTERVAL,
        Column("count", "integer", "generation steps, or examples of a classifier"),
        SIGNATURE,
    ),
    about="""
Relevance of every head for the model's output, by layer-wise relevance propagation (Voita et al. 2019, Section 4), on
the first examples of `check`, at the last epoch. The rule is `relevance.rule` of the configuration, `lrp` in the
signature: by the epsilon rule an input of a sum has the share of relevance that its contribution has in the sum; by the
alpha-beta rule (Bach et al. 2015, Eq. 60) positive contributions share alpha, negative ones beta = 1 - alpha, of the
relevance of every layer with weights, layer norm, attention and addition (Voita et al.'s code: alpha = beta = 0.5), and
contributions of one sign alone share all of it. The explained quantity is the logit of the most
probable piece at every generation step, along the reference, or of the most probable class. Attention weights and the
standard deviations of layer norms are treated as constants, non-linearities as the identity, and biases, embeddings
and positions as inputs, over which relevances sum to the logit.
""",
)
