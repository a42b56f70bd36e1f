"""The tables of this experiment."""

from headroom.core.columns import HEAD, HEAD_OF_RUN, INTERVAL, RUN, SIGNATURE, VALUE
from headroom.core.table import Column, Table

RELEVANCE = Table(
    path="relevance/{run}.csv",
    writers=("relevance",),
    runs="transformers",
    key=(*HEAD_OF_RUN, "measure", "half"),
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
