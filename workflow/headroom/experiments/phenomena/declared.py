"""The settings and tables of this experiment."""

from pydantic import Field, PositiveInt

from headroom.core.columns import FULL, INTERVAL, REMOVED, RUN, SET, SIGNATURE, VALUE, P
from headroom.core.table import Column, Table
from headroom.settings.base import Settings


class PhenomenaSettings(Settings):
    """Accuracy per phenomenon of the generated language, without the heads of each relation."""

    examples: PositiveInt | None = Field(300, description="examples of the `test` set, from the start; unset for all")


PHENOMENA = Table(
    path="phenomena/{run}.csv",
    key=("run", "epoch", "set", "phenomenon", "group"),
    columns=(
        *RUN,
        SET,
        Column("phenomenon", "text", "`agreement`, `object`, ...: see [data](data.md#the-generated-language)"),
        Column(
            "group",
            "text",
            "the removed heads: `encoder`, all encoder heads; or a relation, e.g. `nsubj`: the heads with a syntactic"
            " role for it, in either direction",
        ),
        REMOVED,
        VALUE.means("accuracy without these heads, in %"),
        FULL.means("accuracy of the model with all its heads, in %"),
        Column("delta", "number", "`value` - `full`"),
        INTERVAL[0].means("lower end of a 95 % interval of `delta`: paired bootstrap over sentences, percentiles"),
        INTERVAL[1].means("upper end of the same interval"),
        Column("draws", "integer", "number of draws of as many other encoder heads; 0 for `encoder`"),
        Column("random", "number", "mean accuracy without the drawn heads, in %; empty without draws"),
        Column("beyond", "number", "`value` - `random`: negative if these heads matter more than as many others"),
        Column("beyond_low", "number", "lower end of a 95 % interval of `beyond`, paired in the same way"),
        Column("beyond_high", "number", "upper end of the same interval"),
        P.means("two-sided p of `beyond` being 0: approximate randomisation over sentences; empty without draws"),
        Column("count", "integer", "cases: words of references that test the phenomenon"),
        SIGNATURE,
    ),
    about="""
Accuracy per phenomenon of the generated language, of all seeds of the first arm: does removing the heads that find a
relation hurt what depends on it, more than removing as many others? A case is a word of a reference with wrong forms of
it; a model is right if it scores the correct form above every wrong one, given the source and the reference up to the
word (contrastive pairs, Sennrich 2017). Names have no wrong forms: every token must be the first choice.
""",
)
