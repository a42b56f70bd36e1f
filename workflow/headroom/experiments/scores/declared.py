"""The settings and tables of this experiment."""

from dataclasses import replace

from pydantic import Field, PositiveInt

from headroom.core.columns import CRITERION, HALF, HEAD, HEAD_OF_RUN, NORMALISED, RUN, SIGNATURE, VALUE
from headroom.core.table import Column, Table
from headroom.settings.base import Settings
from headroom.settings.job import Files, Job


class ScoreSettings(Settings):
    """Gradient importance of heads (Michel et al. 2019, Eq. 2), in all granularities from one pass."""

    examples: PositiveInt | None = Field(
        None, description="examples of the `choose` set, from its start, that heads are scored on; unset for all"
    )
    batch_examples: PositiveInt = Field(
        32, description="examples in a batch; only the granularity `batch` depends on it"
    )


class Rankings(Job):
    """The tables of a run with scores of its heads, by experiment."""

    scores: Files = Field([], description="tables of the stage scores")
    ablation: Files = Field([], description="ablation tables, for the criterion ablation")
    attention_stats: Files = Field([], description="attention_stats tables, for the criterion confidence")
    relevance: Files = Field([], description="relevance tables, for the criterion relevance")
    gates: Files = Field([], description="gates tables, for the criterion gates")


SCORES = Table(
    path="scores/{run}.csv",
    key=(*HEAD_OF_RUN, "criterion", "normalised", "half"),
    columns=(
        *RUN,
        *HEAD,
        CRITERION,
        NORMALISED,
        replace(HALF, meaning=f"`all` examples; of raw scores at the last epoch also {HALF.meaning}", default="all"),
        VALUE.means("the score: more is more important; 0 for a head removed before"),
        SIGNATURE,
    ),
    usual={"half": "all"},
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

Scores on halves of the examples measure their reliability.
""",
)

SCORES_COMPARED = replace(
    SCORES,
    path="scores_compared/{run}.{family}.csv",
    about="""
As [scores](#scores), raw, at the last epoch, by the criteria that are compared (`bakeoff.criteria`, [criteria.md](\
criteria.md)): one file per run and family of criteria, which are computed together.
""",
)

SCORES_COSTS = Table(
    path="scores_costs/{run}.{family}.csv",
    key=("run", "epoch", "criterion"),
    columns=(
        *RUN,
        Column("family", "text", "criteria of one family are computed together: the cost in every row is that of all"),
        CRITERION.means("the criterion; `docs/criteria.md` has a line on each"),
        Column("forward", "number", "forward passes run, in passes over the set and all sites", "passes"),
        Column("backward", "number", "backward passes run, counted likewise", "passes"),
        Column("seconds", "number", "wall-clock time of scoring, without loading the model", "s"),
        Column("labels", "integer", "1 if the criterion needs references or labels, else 0"),
        SIGNATURE,
    ),
    about="The measured cost of the scores in [scores_compared](#scores_compared), all heads of a run at once.",
)
