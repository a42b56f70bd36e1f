"""The settings and tables of this experiment."""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt, field_validator

from headroom.core.columns import HEAD, HEAD_OF_RUN, INTERVAL, RUN, SIGNATURE, VALUE
from headroom.core.table import Column, Table
from headroom.settings.base import Settings

BATCH_EXAMPLES = 32
"""Examples in a batch, which does not change the result: attention maps of so many fit any GPU."""

Relation = Annotated[str, Field(pattern=r"^[a-z]+(:[a-z]+)*$")]


class AttentionStatsSettings(Settings):
    """Where heads point (Voita et al. 2019, Sections 4 and 5)."""

    relations: tuple[Relation, ...] = Field(
        ("nsubj", "obj", "amod", "advmod"),
        min_length=1,
        description="dependency relations, each measured in both directions; a subtype such as nsubj:pass is a "
        "separate relation from nsubj",
    )
    frequent_tokens: PositiveInt = Field(
        500,
        description="sentences count for rare words if their least frequent token is not among this many most frequent "
        "ones; make it smaller for vocabularies below 2,000",
    )
    examples: PositiveInt | None = Field(
        None, description="examples of the `check` set, and sentences of the treebank, from the start; unset for all"
    )

    @field_validator("relations")
    @classmethod
    def _once_each(cls, relations: tuple[str, ...]) -> tuple[str, ...]:
        if repeated := [name for name in relations if relations.count(name) > 1]:
            raise ValueError(f"the relation {repeated[0]} is given twice; give it once")
        return relations


class RelevanceSettings(Settings):
    """Relevance of heads by layer-wise relevance propagation (Voita et al. 2019, section 4), at the last epoch."""

    examples: int = Field(
        100, ge=2, description="examples of the `check` set, from its start, whose outputs are explained"
    )
    rule: Literal["epsilon", "alpha-beta"] = Field(
        "epsilon",
        description="how relevance is divided among the contributions to a sum: in proportion to them (epsilon), or "
        "separately among positive and negative ones (alpha-beta; Bach et al. 2015, Eq. 60)",
    )
    alpha: float = Field(
        0.5,
        gt=0,
        description="share of positive contributions, that of negative ones is 1 - alpha (alpha-beta only): 0.5 in "
        "Voita et al.'s code; also usual are 1 (none to negative ones) and 2. Up to 1 no relevance is negative if the "
        "explained logit is positive",
    )


MODEL = Column(
    "model",
    "text",
    "`trained`; `untrained`: the same shape with weights as before training, the control; or the name of a pruned"
    " model, e.g. `hard-concrete.E.0.01`, or of a control with the same further training, e.g. `controls.E.all` (no"
    " head removed) and `controls.E.random1-0.25` (a random quarter is kept)",
)

TREES = Column(
    "trees",
    "text",
    "of `relation` and `mean-margin` `gold`, or `shuffled`, the control: every arc is moved to another place of its"
    " sentence and keeps its length, which preserves distances and destroys syntax; else empty. Relations are those of"
    " the treebank by exact name: a subtype such as `nsubj:pass` (Stanford's `nsubjpass`) does not count as `nsubj`,"
    " and is measured separately if `attention_stats.relations` lists it",
)

TARGET = Column(
    "target",
    "text",
    "of `offset` `-5` ... `+5`, `0` is the token itself; of `relation` `nsubj:to-dependent` (from the governor to its"
    " subjects) or `nsubj:to-governor` (from the subject to its governor), each word counts once and any of several"
    " targets is correct; of `rare` `rarest` or `two-rarest`, equally rare tokens are all correct; of "
    "`confidence` and `mean-margin` empty",
)

BASELINE = Column(
    "baseline",
    "number",
    "of `relation` the accuracy of pointing to the relation's most frequent relative position, found on `choose`; of"
    " `rare` chance: the share of correct tokens in a sentence; else empty",
)

BEYOND = (
    INTERVAL[0].means(
        "lower end of a 95 % interval, percentiles of the bootstrap over sentences: of `value`, or with a"
        " baseline of `value` - `baseline`, paired; of `mean-margin` a resample is one for all relations; of `offset`"
        " empty"
    ),
    INTERVAL[1].means("upper end of the same interval"),
)

ATTENTION_STATS = Table(
    path="attention_stats/{run}.csv",
    key=("run", "epoch", "model", "kind", "layer", "head", "measure", "target", "trees", "half"),
    columns=(
        *RUN,
        MODEL,
        *HEAD,
        Column(
            "measure",
            "text",
            "`confidence`: mean largest weight, over tokens. `offset`: share of tokens from which the head points to"
            " one relative position (kinds `E` and `D`). `relation`: share of the source words from which it points to"
            " a correct one (kind `E`). `rare`: share of tokens from which it points to the rarest token of the"
            " sentence, over sentences of three or more tokens whose least frequent one is not among the"
            " `attention_stats.frequent_tokens` most frequent of the training text (kind `E`). `mean-margin`, one row"
            " per model and kind of trees, without a head: the mean over relations and directions of `relation`"
            " accuracy less its baseline on `score`, of the heads with the highest accuracy on `choose`",
        ),
        TARGET,
        TREES,
        Column(
            "half", "text", "`choose`: sentences number 1, 3, 5, ...; `score`: number 2, 4, 6, ...; `all`: all of them"
        ),
        VALUE,
        BASELINE,
        *BEYOND,
        Column("count", "integer", "source tokens or words"),
        SIGNATURE,
    ),
    about="""
Where heads point at the last epoch (Voita et al. 2019, Sections 4 and 5): a head points from a query to the key with
its largest weight. Padding and special tokens (end of sentence, begin mark, CLS, SEP) count neither as
queries nor as keys. On the set `check`, teacher-forced, and on the treebank. Tokens are
subwords; relations are between words: attention to a word is the sum over its tokens, attention from a word the mean
over its tokens (Clark et al. 2019), a token of two words belongs to the first one, and the words of a multiword
(don't = do n't) count as one. Rare words require training text, relations a
treebank. Pruned models and controls have separate files, `attention_stats/<run>.<model>.csv`.
""",
)

DISTANCES = Table(
    path="distances/{run}.csv",
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

RELEVANCE = Table(
    path="relevance/{run}.csv",
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
probable token at every generation step, along the reference, or of the most probable class. Attention weights and the
standard deviations of layer norms are treated as constants, non-linearities as the identity, and biases, embeddings
and positions as inputs, over which relevances sum to the logit.
""",
)
