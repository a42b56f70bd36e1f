"""Columns that several tables share."""

from headroom.core.table import Column

RUN = (
    Column("study", "text", "name of the study: the key `study` of the configuration"),
    Column(
        "run",
        "text",
        "one trained model, `<task>.<arm>.seed<number>`, e.g. `translation.svgd.seed2` or `sst2.baseline.seed1`",
    ),
    Column(
        "epoch",
        "number",
        "passes over the training data, counted from 1; the checkpoint that the row is about. Below 1: a checkpoint"
        " inside the first epoch",
    ),
)
"""The leading columns of every table about a run."""

STUDY = RUN[0]

KIND = Column(
    "kind",
    "text",
    "kind of attention site: `E` encoder self-attention, `A` encoder-decoder attention, `D` decoder self-attention (a"
    " classifier and a masked language model have only `E`, a language model only `D`)",
)
KIND_OR_ALL = KIND.means(f"{KIND.meaning}, or `all`, the heads of every kind together")
LAYER = Column("layer", "integer", "layer of the site, counted from 1")
HEAD = (
    KIND,
    LAYER,
    Column("head", "integer", "head of the site, counted from 1; `E`, 3, 5 is the head written `E3:5`"),
)
"""The columns that name a head."""

SET = Column(
    "set",
    "text",
    "evaluation set: `choose` and `check` (the odd and even lines of the validation set), `test`, or a far domain"
    " (`far` in generated data; `mscoco`, `newstest2015` with Multi30k; `out_of_domain` with CoLA, `mnli_matched` with"
    " SNLI; the names you give in your own data)",
)
METRIC = Column(
    "metric",
    "text",
    "of translation `bleu`: sacrebleu's corpus BLEU (0-100); `chrf`: chrF2 (0-100); `exact`: share of sentences"
    " translated exactly as the reference, in %; of classification `accuracy`: share of examples labelled correctly, in"
    " %; `f1`: F1 of the second of two classes (of more: the mean over the classes with examples,"
    " whose number is in the signature), in %; `matthews`: Matthews correlation times 100;"
    " of a language model `next`: share of next tokens predicted, in %; of a masked one `masked`: share of masked"
    " tokens predicted, in %; higher values of these are better."
    " `loss`: negative log-likelihood, nats per target token (teacher-forced, without label smoothing), next or masked"
    " token, or label; `bits`: bits per byte of text, of next tokens (lower is better). Of interventions on language"
    " models, masked or not, and classifiers also"
    " `kl`: the Kullback-Leibler divergence of their predictions from the full model's, KL(full || changed), in nats"
    " per predicted token or example (no p: any change is above 0). The first metric of a task is its main one: heads"
    " are chosen by it. The perplexity of a language model, e to the power of its loss, is in no table"
    " but the answer of [numbers](#numbers)",
)
VALUE = Column("value", "number", "the number that the row is about")
FULL = Column("full", "number", "the same metric of the same model with all its heads")
LOW = Column(
    "low",
    "number",
    "lower end of a 95 % interval. Of a metric or a delta: percentiles of the paired bootstrap over examples. Of an"
    " agreement: bootstrap over heads",
)
HIGH = Column("high", "number", "upper end of the same interval")
INTERVAL = (LOW, HIGH)
P = Column("p", "number", 'two-sided p of "no difference"')
DIFFERENCE = (
    SET,
    METRIC,
    VALUE,
    FULL,
    Column(
        "chance",
        "number",
        "the best score of a constant answer on the set, which is the zero point of shares of a score: that of the most"
        " frequent label or token; 0 in translation and for losses",
    ),
    Column("delta", "number", "`value` - `full`: negative BLEU and positive loss mean harm"),
    *INTERVAL,
    P.means(
        'two-sided p of "no difference": approximate randomisation over examples with ties counted half, never below'
        " 0.5 / (samples + 1)"
    ),
    Column(
        "p_sacrebleu",
        "number",
        "p of sacrebleu's paired bootstrap; under the null it rejects about twice as often as its nominal level",
    ),
)
"""The columns of a model compared with another on the same examples."""

COMPARISON = (
    *DIFFERENCE,
    Column(
        "p_holm",
        "number",
        "p from the standard error of exchanged differences (which has no lower bound), corrected by Holm over the rows"
        " of one set and metric: all heads, or all steps of one curve",
    ),
    Column("p_bh", "number", "the same p, corrected by Benjamini and Hochberg over the same rows"),
    Column(
        "p_mcnemar",
        "number",
        "exact p of McNemar's test: examples that only one of the two models has correct. For `accuracy` and `exact`;"
        " else empty",
    ),
    Column(
        "p_unpaired",
        "number",
        "p of the two-sample t-test that treats the two models' answers as independent samples, as the paper apparently"
        " does. For `accuracy` and `exact`; else empty",
    ),
)
"""The columns of a profile of removed heads compared with the full model."""

CRITERION = Column(
    "criterion",
    "text",
    "`gradient-token`, `gradient-example`, `gradient-batch`, `gradient-squared`: see [scores](#scores)",
)
NORMALISED = Column(
    "normalised",
    "text",
    "`raw`: unscaled scores; `layer`: divided by their l2 norm over the heads of the site; empty: does not apply",
    default="raw",
)
REMOVED = Column(
    "removed", "text", "profile: names of the removed heads in table order, separated by spaces; empty for none"
)
REPLACEMENT = Column(
    "replacement",
    "text",
    "replacement of the z of removed heads (`intervention.replacement`): `zero`; `mean`: its mean over the positions of"
    " the set `choose`; `resample`: its z at the same position of another example of the batch; `first`: its z at the"
    " first position of the window",
    default="zero",
)
HEADS_REMOVED = Column("heads_removed", "integer", "number of heads in the profile")
CHANCE = Column("chance", "number", "expected value for unrelated scores: 0 for correlations, k / heads for overlaps")
TOP = Column("k", "integer", "length of the top lists, for `overlap`; else empty", "heads")
SIGNATURE = Column(
    "signature",
    "text",
    "everything that affects the number, as `key:value` joined by bars: compare numbers only where signatures agree",
)


HEAD_OF_RUN = ("run", "epoch", "kind", "layer", "head")

HALF = Column("half", "text", "`choose`: examples at even positions of the set, counted from 0; `score`: at odd ones")
