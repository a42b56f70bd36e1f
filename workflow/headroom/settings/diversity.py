"""How alike the heads of a site are."""

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class DiversitySettings(Settings):
    """Diversity of heads: mean pairwise cosine of V-projections, attention maps and z at every epoch."""

    sentences: PositiveInt = Field(500, description="sentences of the `check` set that heads are compared on")
    batch_sentences: PositiveInt = Field(100, description="sentences in a batch; does not change the result")
