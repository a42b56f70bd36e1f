"""Tables of the behaviour of heads: where they point, their roles, their similarity."""

from headroom.core.table import Column, Table
from headroom.core.tables.columns import HEAD, INTERVAL, KIND, LAYER, RUN, SIGNATURE, VALUE

_MODEL = Column(
    "model",
    "text",
    "`trained`; `untrained`: the same shape with weights as before training, the control; or the name of a pruned"
    " model, e.g. `hard-concrete.E.0.01`, or of a control with the same further training, e.g. `controls.E.all` (no"
    " head removed) and `controls.E.random1-0.25` (a random quarter is kept)",
)
_TREES = Column(
    "trees",
    "text",
    "of `relation` `gold`, or `shuffled`, the control: every arc is moved to another place of its sentence and keeps"
    " its length, which preserves distances and destroys syntax; else empty. Relations are those of the treebank by"
    " exact name: a subtype such as `nsubj:pass` (Stanford's `nsubjpass`) does not count as `nsubj`, and is measured"
    " separately if `attention_stats.relations` lists it",
)
_TARGET = Column(
    "target",
    "text",
    "of `offset` `-5` ... `+5`, `0` is the token itself; of `relation` `nsubj:to-dependent` (from the governor to its"
    " subjects) or `nsubj:to-governor` (from the subject to its governor), each word counts once and any of several"
    " targets is correct; of `rare` `rarest` or `two-rarest`, equally rare pieces are all correct; of "
    "`confidence` empty",
)
_BASELINE = Column(
    "baseline",
    "number",
    "of `relation` the accuracy of pointing to the relation's most frequent relative position, found on `choose`; of"
    " `rare` chance: the share of correct pieces in a sentence; else empty",
)
_BEYOND = (
    INTERVAL[0].means(
        "lower end of a 95 % interval, percentiles of the bootstrap over sentences: of `value`, or with a"
        " baseline of `value` - `baseline`, paired; of `offset` empty"
    ),
    INTERVAL[1].means("upper end of the same interval"),
)

ATTENTION_STATS = Table(
    path="attention_stats/{run}.csv",
    writers=("attention_stats",),
    runs="transformers",
    key=("run", "epoch", "model", "kind", "layer", "head", "measure", "target", "trees", "half"),
    columns=(
        *RUN,
        _MODEL,
        *HEAD,
        Column(
            "measure",
            "text",
            "`confidence`: mean largest weight, over tokens. `offset`: share of tokens from which the head points to"
            " one relative position (kinds `E` and `D`). `relation`: share of the source words from which it points to"
            " a correct one (kind `E`). `rare`: share of tokens from which it points to the rarest piece of the"
            " sentence, over sentences of three or more pieces whose least frequent one is not among the"
            " `attention_stats.frequent_tokens` most frequent of the training text (kind `E`)",
        ),
        _TARGET,
        _TREES,
        Column(
            "half", "text", "`choose`: sentences number 1, 3, 5, ...; `score`: number 2, 4, 6, ...; `all`: all of them"
        ),
        VALUE,
        _BASELINE,
        *_BEYOND,
        Column("count", "integer", "source tokens or words"),
        SIGNATURE,
    ),
    about="""
Where heads point at the last epoch (Voita et al. 2019, Sections 4 and 5): a head points from a query to the key with
its largest weight. Padding and special pieces (end of sentence, begin mark, CLS, SEP) count neither as
queries nor as keys. On the set `check`, teacher-forced, and on the treebank; the paper's tokens are pieces here, except
for relations, which are between words: attention to a word is the sum over its pieces, attention from a word the mean
over its pieces (Clark et al. 2019), a piece of two words belongs to the first one, and the words of a multiword token
(don't = do n't) count as one. Rare words require training text, relations a
treebank. Pruned models and controls have separate files, `attention_stats/<run>.<model>.csv`.
""",
)

DISTANCES = Table(
    path="distances/{run}.csv",
    writers=("attention_stats",),
    runs="transformers",
    key=("run", "epoch", "relation", "position"),
    columns=(
        *RUN,
        Column("relation", "text", "a dependency relation of `attention_stats.relations`"),
        Column(
            "position", "integer", "position of the dependent, in words from its governor: -1 is the word before it"
        ),
        VALUE.means("share of the relation's dependents that are there; the rest is further away than 5 words"),
        *INTERVAL,
        Column("count", "integer", "dependents"),
        SIGNATURE,
    ),
    about="""
The distribution of the relative positions of related words (Voita et al. 2019, Figure 3), in the sentences of the
treebank as the model reads them: the baseline of syntactic heads points to the most frequent one. Words are those of
[attention_stats](#attention_stats); without a treebank there are no rows.
""",
)

ROLES = Table(
    path="roles/{run}.csv",
    writers=("roles",),
    runs="transformers",
    key=("run", "epoch", "model", "trees", "kind", "layer", "head", "role", "target"),
    columns=(
        *RUN,
        _MODEL,
        _TREES.means("as in [attention_stats](#attention_stats); a role on `shuffled` trees is one by chance"),
        *HEAD,
        Column(
            "role",
            "text",
            "`positional`: at least 90 % of the tokens are pointed from to one relative position."
            " `syntactic`: the accuracy for a relation exceeds its baseline by 10 points on the half `choose` and"
            " again on `score`, where the interval of the difference is above zero. `rare`: a head of layer 1 points to"
            " one of the two rarest pieces from at least half of the tokens, and more often than chance"
            " beyond the interval",
        ),
        _TARGET,
        VALUE.means("as in [attention_stats](#attention_stats); of a syntactic role that of the half `score`"),
        _BASELINE,
        *_BEYOND,
        Column(
            "best",
            "integer",
            "1 if the head is the most accurate one for this relation in this direction on the half `choose`; else 0",
        ),
        SIGNATURE,
    ),
    about="""
The roles of heads by the rules of Voita et al. 2019, Section 5, and `roles` of the configuration: one row per role of
a head; roles of an `untrained` model are due to chance. Those of pruned models are in `roles/<run>.pruned.csv`.

The file `attention_maps/<run>.json` contains the attention of one encoder head per role and target on a few sentences
of 6 to 14 words, between words, rows are queries; for a role without a head, of the head that comes nearest to it,
with an empty `role`:
`{"run": ..., "epoch": ..., "maps": [{"head": "E2:3", "role": "syntactic", "target": "nsubj:to-dependent",
"sentence": 1, "queries": [...], "keys": [...], "weights": [[...], ...]}]}`.
""",
)

DIVERSITY = Table(
    path="diversity/{run}.csv",
    writers=("diversity",),
    runs="all",
    key=("run", "epoch", "kind", "layer", "measure"),
    columns=(*RUN, KIND, LAYER, Column("measure", "text", "the compared quantity: see below"), VALUE, SIGNATURE),
    about="""
The similarity of the heads of a site at every epoch: of their weights, and of their behaviour on the examples of
`check`, teacher-forced if there is a decoder. Every measure except `particle_step` is a mean over all pairs of heads;
a site with one head has no rows. Padding does not count, special pieces do.

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
