"""The tables of this experiment."""

from headroom.core.columns import CRITERION, HALF, HEAD, HEAD_OF_RUN, NORMALISED, ON_HALVES, RUN, SIGNATURE, VALUE
from headroom.core.table import Table

SCORES = Table(
    path="scores/{run}.csv",
    key=(*HEAD_OF_RUN, "criterion", "normalised"),
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

SCORES_HALVES = Table(
    path="scores_halves/{run}.csv",
    key=ON_HALVES,
    columns=(*RUN, *HEAD, CRITERION, HALF, VALUE, SIGNATURE),
    about="Raw [scores](#scores) of the last epoch on the two halves of the examples, to measure their reliability.",
)
