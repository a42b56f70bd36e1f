"""The settings of this experiment."""

from pydantic import Field

from headroom.core.interventions import Repair
from headroom.settings.base import Settings


class RemovalSettings(Settings):
    """Real removal: the checkpoint without its least important heads."""

    share: float = Field(0.5, ge=0, le=1, description="share of all heads sliced out, least important first")
    repair: Repair = Field(
        "none",
        description="change of output projections that compensates for removed heads without training, from outputs of "
        "heads on the set `choose`: mean-bias (means of removed heads in the bias), scale (a scale per remaining head, "
        "by least squares), obs (optimal brain surgeon), refit (least squares), or none",
    )
