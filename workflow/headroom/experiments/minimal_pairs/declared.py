"""The tables of this experiment."""

from headroom.core.columns import FULL, HEADS_REMOVED, INTERVAL, REMOVED, RUN, SIGNATURE, VALUE, P
from headroom.core.table import Column, Table

MINIMAL_PAIRS = Table(
    path="minimal_pairs/{run}.csv",
    key=("run", "epoch", "group", "heads_removed"),
    columns=(
        *RUN,
        Column("group", "text", "the group of pairs, as the file names it; empty for the pairs of all groups"),
        HEADS_REMOVED,
        Column("heads_total", "integer", "heads of the model"),
        REMOVED,
        VALUE.means("pairs whose good sentence is more probable than the bad one without these heads, in %"),
        FULL.means("the same with all heads, in %"),
        Column("chance", "number", "50: of two sentences one is good"),
        Column("delta", "number", "`value` - `full`"),
        INTERVAL[0].means("lower end of a 95 % interval of `delta`: paired bootstrap over pairs, percentiles"),
        INTERVAL[1].means("upper end of the same interval"),
        P.means("two-sided p of `delta` being 0: McNemar's exact test"),
        Column("count", "integer", "pairs of the group that differ in tokens"),
        SIGNATURE,
    ),
    about="""
Accuracy on minimal pairs (`pairs` of a language model; Warstadt et al. 2020, BLiMP), as heads are removed in steps of
`pruning.step` by the fixed raw order of the main criterion. The probability of a sentence is that of all its tokens;
before the first one stands the token that begins a text, or the one that ends it if the tokenizer has no such token.
Pairs whose sentences have the same tokens are not decided: they are left out, and the signature has their number.
""",
)
