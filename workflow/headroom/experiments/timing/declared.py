"""The settings and tables of this experiment."""

from typing import Annotated

from pydantic import Field, PositiveInt

from headroom.core.columns import HEADS_REMOVED, RUN, SIGNATURE
from headroom.core.table import Column, Table
from headroom.settings.base import Settings


class TimingSettings(Settings):
    """Speed of the full, the masked and the sliced model, interleaved."""

    shares: tuple[Annotated[float, Field(gt=0, le=1)], ...] = Field(
        (0.25, 0.5, 0.75), description="shares of all heads removed"
    )
    batch_sizes: tuple[PositiveInt, ...] = Field((1, 4, 16, 64), description="sentences per batch")
    warmup: PositiveInt = Field(3, description="rounds before counting")
    repeats: PositiveInt = Field(30, description="counted rounds; each times every model once")


_SHARE = Column(
    "share_removed",
    "number",
    "share of all heads removed, least important first, or those of `removable`; 0 for the full model",
)

_TIMED = (
    Column(
        "model",
        "text",
        "`full`; `masked`: heads gated to zero, the negative control, which should not be faster; `sliced`: weights of"
        " the heads removed",
    ),
    Column(
        "part",
        "text",
        "of translation `encoder`; `decoder`: teacher-forced; `generation`: greedy, a fixed number of steps; of"
        " language models `prefill`: the text is read, and `generation`; of others `model`: a forward pass",
    ),
    Column("batch_size", "integer", "examples in the batch", "examples"),
)

TIMING = Table(
    path="timing/{run}.csv",
    key=("run", "share_removed", "model", "part", "batch_size"),
    columns=(
        *RUN[:2],
        _SHARE,
        HEADS_REMOVED,
        *_TIMED,
        Column("median_seconds", "number", "median time of one run of the part on the batch", "s"),
        Column("quartile_low", "number", "lower quartile of that time", "s"),
        Column("quartile_high", "number", "upper quartile of that time", "s"),
        Column("repeats", "integer", "counted rounds (warm-up rounds are not counted)"),
        Column("speedup", "number", "median over rounds of the full model's time / this model's"),
        Column(
            "speedup_low",
            "number",
            "lower end of the 95 % interval of that median, from order statistics; empty for fewer than six repeats",
        ),
        Column("speedup_high", "number", "upper end of that interval"),
        Column(
            "expected_speedup",
            "number",
            "the full model's multiply-adds / this model's: the speed-up if time were proportional to them",
        ),
        Column("multiply_adds", "integer", "of all linear layers and both attention products, as run"),
        Column("parameters", "integer", "of the whole model"),
        Column(
            "cache_bytes",
            "integer",
            "of generation with models of transformers: keys and values of the batch's own positions; else empty",
            "bytes",
            default="",
        ),
        Column("threads", "integer", "threads that torch may use"),
        Column("device", "text", "`cpu` or `cuda`"),
        SIGNATURE,
    ),
    about="Run times of models, interleaved: in every round each model runs once, and a speed-up is a ratio"
    " within a round.",
)

TIMING_SAMPLES = Table(
    path="timing_samples/{run}.csv",
    key=("run", "share_removed", "model", "part", "batch_size", "repeat"),
    columns=(
        *RUN[:2],
        _SHARE,
        *_TIMED,
        Column("repeat", "integer", "number of the round, counted from 0"),
        Column("seconds", "number", "time of this model in this round", "s"),
        SIGNATURE,
    ),
    about="The raw timings behind [timing](#timing).",
)
