"""The settings and tables of this experiment."""

from pydantic import Field, PositiveInt

from headroom.core.columns import COMPARISON, HEAD, HEAD_OF_RUN, REPLACEMENT, RUN, SIGNATURE
from headroom.core.table import Column, Table
from headroom.settings.base import Settings


class KeepOneSettings(Settings):
    """Each head kept as the only one of its site."""

    examples: PositiveInt | None = Field(
        None, description="examples of every set that single heads are kept on; unset for all"
    )


KEEP_ONE = Table(
    path="keep_one/{run}.{replacement}.csv",
    key=(*HEAD_OF_RUN, "replacement", "set", "metric"),
    columns=(
        *RUN,
        REPLACEMENT,
        *HEAD,
        *COMPARISON,
        Column(
            "chosen_on",
            "text",
            "the sets, separated by spaces, on which this head is the best of its site: the one with the highest main"
            " metric (of equals the one with less loss); empty for none. Rows of `test` for heads chosen on `choose`"
            " are evaluations on held-out data",
        ),
        SIGNATURE,
    ),
    usual={"replacement": "zero"},
    about="The effect of removing all heads of a site except one (Michel et al. 2019, Tables 2, 3, 5 and 6). The "
    "head in a row is"
    " the one *kept*. Every head is tested on `choose` and on `test`.",
)
