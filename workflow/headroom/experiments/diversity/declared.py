"""The settings and tables of this experiment."""

from pydantic import Field, PositiveInt

from headroom.core.columns import KIND, LAYER, RUN, SIGNATURE, VALUE
from headroom.core.table import Column, Table
from headroom.settings.base import Settings


class DiversitySettings(Settings):
    """Diversity of heads at every epoch: similarity of their weights, values, attention maps and outputs z."""

    examples: PositiveInt = Field(500, description="examples of the `check` set that heads are compared on")
    batch_examples: PositiveInt = Field(100, description="examples in a batch; does not change the result")


DIVERSITY = Table(
    path="diversity/{run}.csv",
    key=("run", "epoch", "kind", "layer", "measure"),
    columns=(*RUN, KIND, LAYER, Column("measure", "text", "the compared quantity: see below"), VALUE, SIGNATURE),
    about="""
The similarity of the heads of a site at every epoch: of their weights, and of their behaviour on the examples of
`check`, teacher-forced if there is a decoder. Every measure except `particle_step` is a mean over all pairs of heads;
a site with one head has no rows. Padding does not count, special tokens do.

| `measure` | compared quantity | value for identical heads |
|---|---|---|
| `particle_cosine` | their rows of a projection's weight, as one vector per head (the particles of An et al. 2020): \
cosine; the mean over the projections query, key and value, each a separate system | 1 |
| `particle_distance` | the same: Euclidean distance | 0 |
| `particle_kernel` | the same: the kernel by which heads repel each other, exp(-distance² / 2h²), with the squared \
width h² = median of distance² / (2 log(heads + 1)). The width scales with the distances, so that heads that all move \
apart uniformly keep their value; two heads always have 1/3 | 1 |
| `particle_step` | no pairs: the Euclidean displacement of all query, key and value weights of the site \
since the previous checkpoint (`since` in the signature), the effect of training after the optimizer's \
scaling of the gradient; the first epoch has no row | - |
| `value_cosine` | their values at each token: cosine (disagreement on subspaces of Li et al. 2018); a site without \
value projection has no row | 1 |
| `attention_product` | their attention weights of each query: the sum over keys of the products (disagreement on \
positions). Heads that attend to different positions have 0 | no fixed value: the sum of the squared weights of a \
head, \
1 if it attends to one position only, 1 / positions if it attends uniformly to all |
| `attention_cosine` | their attention map of each example, as one vector: cosine | 1 |
| `z_cosine` | their outputs z at each token: cosine (disagreement on outputs) | 1 |
| `z_cka` | their outputs z at all tokens together: linear CKA (Kornblith et al. 2019), from 0 to 1; unlike \
a cosine it is invariant to a change of basis. With fewer than about ten tokens for each feature of a head \
it is biased upwards | 1 |

Li et al. 2018 negate the three disagreements, and average over all pairs of heads, including each head with itself.
""",
)

PARTICLES = Table(
    path="particles/{run}.csv",
    key=("run", "epoch", "kind", "layer", "projection", "measure"),
    columns=(
        *RUN,
        KIND,
        LAYER,
        Column(
            "projection",
            "text",
            "the system of particles: the rows of the `query`, `key` or `value` projection, a head's as one vector x;"
            " learned queries are `query` alone",
        ),
        Column("measure", "text", "the measured quantity: see below"),
        VALUE,
        SIGNATURE,
    ),
    about="""
The heads of a site as the particles of An et al. 2020, at every epoch of every arm, with or without repulsion: their
norms, the kernel between them, and the direction in which their repulsion R would push them. Kernel, bandwidth and
repulsion are computed by the functions of the training arms, with the median over pairs. A site with one head has no
rows.

| `measure` | meaning |
|---|---|
| `norm` | Frobenius norm of the projection's weights, without bias |
| `kernel_mean` | the kernel exp(-distance² / 2h²) between two heads, h² = median of distance² / (2 log(heads + 1)), \
mean over pairs; 1 if all heads are the same |
| `kernel_sd` | its standard deviation over pairs: 0 if all pairs of heads are equally close |
| `repulsion_from_origin` | cosine between the repulsion of a head and the head itself, mean over heads: 1 if \
repulsion only makes heads grow, as in the arm `growth` |
| `repulsion_from_mean` | cosine between the repulsion of a head and its difference from the mean of the heads, mean \
over heads: 1 if all heads are pushed away from a common centre, independent of their pairwise similarity |

A cosine is 0 without repulsion: for heads that coincide no direction is defined.
""",
)
