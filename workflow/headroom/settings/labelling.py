"""How examples are labelled and judged."""

from typing import Literal

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings

ClassificationMetric = Literal["accuracy", "f1", "matthews"]


class LabellingSettings(Settings):
    """Labelling of an evaluation set."""

    examples_at_once: PositiveInt = Field(64, description="examples labelled at a time, sorted by length")
    metrics: tuple[ClassificationMetric, ...] | None = Field(
        None, description="how the task is judged, the main metric first; unset for what the corpus asks for"
    )
