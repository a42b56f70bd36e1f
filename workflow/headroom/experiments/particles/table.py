"""The tables of this experiment."""

from headroom.core.columns import KIND, LAYER, RUN, SIGNATURE, VALUE
from headroom.core.table import Column, Table

PARTICLES = Table(
    path="particles/{run}.csv",
    writers=("particles",),
    runs="all",
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
| `norm_ratio` | `norm` divided by that of the run's first epoch (`since` in the signature); empty if that is 0 |
| `bandwidth` | h of the kernel exp(-distance² / 2h²): h² = median of distance² / (2 log(heads + 1)) |
| `kernel_mean` | the kernel between two heads, mean over pairs; 1 if all heads are the same |
| `kernel_sd` | its standard deviation over pairs: 0 if all pairs of heads are equally close |
| `repulsion_from_origin` | cosine between the repulsion of a head and the head itself, mean over heads: 1 if \
repulsion only makes heads grow, as in the arm `growth` |
| `repulsion_from_mean` | cosine between the repulsion of a head and its difference from the mean of the heads, mean \
over heads: 1 if all heads are pushed away from a common centre, independent of their pairwise similarity |

A cosine is 0 without repulsion: for heads that coincide no direction is defined.
""",
)
