"""What an arm is: its method, the sites that it acts on, and what else it changes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headroom.settings.models import PRETRAINED

BASELINE = "baseline"
SVGD, SPOS = "svgd", "spos"
REPULSIVE = (SVGD, SPOS)
"""Methods of repulsive attention (An et al. 2020)."""

EVERYWHERE = ("all",)
_FIRST = re.compile(r"first|[EAD]1")
_NAMED = ("method", "sites", "heads", "attention_dropout")


@dataclass(frozen=True)
class ArmDescription:
    """An arm as the study's configuration describes it."""

    name: str  # its name in runs and tables
    method: str  # the training method, e.g. `svgd`
    sites: tuple[str, ...] = EVERYWHERE  # the sites that it acts on, as the configuration has them
    heads: int | None = None  # heads of every site, if they are other than those of the task's model
    attention_dropout: float | None = None  # dropout on attention weights, if it is other than that of the task's model
    pretrained: bool = False  # whether its training starts from the weights of a pretrained encoder
    width: int | None = None  # width of the task's model, which its heads share; None if the configuration has none
    others: tuple[tuple[str, str], ...] = ()  # its other settings, e.g. `alpha`, as texts

    @property
    def shape(self) -> tuple[int | None, float | None]:
        """What the arm changes in the model: arms are comparable in their method if this is the same."""
        return self.heads, self.attention_dropout

    @property
    def alpha(self) -> str:
        """The weight of its repulsion; "" if it has none."""
        return dict(self.others).get("alpha", "")

    @property
    def is_everywhere(self) -> bool:
        """Whether it acts on all sites."""
        return "all" in self.sites

    @property
    def is_first(self) -> bool:
        """Whether it acts on first layers alone."""
        return all(_FIRST.fullmatch(word) for word in self.sites)

    @property
    def is_repulsive(self) -> bool:
        """Whether its method is one of repulsive attention."""
        return self.method in REPULSIVE


def describe_arm(name: str, settings: Mapping[str, Any], model: Mapping[str, Any]) -> ArmDescription:
    """Return an arm from its section of the configuration; without a method its name is its method.

    What is the same in the section of the task's model is not the arm's own.
    """
    heads, dropout = (_own(settings.get(key), model.get(key)) for key in ("heads", "attention_dropout"))
    width = model.get("width")
    return ArmDescription(
        name=name,
        method=str(settings.get("method", name)),
        sites=tuple(map(str, settings.get("sites") or EVERYWHERE)),
        heads=None if heads is None else int(heads),
        attention_dropout=None if dropout is None else float(dropout),
        pretrained=model.get("source") in PRETRAINED,
        width=None if width is None else int(width),
        others=tuple((key, str(value)) for key, value in settings.items() if key not in _NAMED),
    )


def find_place(arm: str, known: Sequence[str]) -> tuple[int, bool, str]:
    """Return the place of an arm: known ones come in their order, others behind them, of these the baseline first."""
    return known.index(arm) if arm in known else len(known), arm != BASELINE, arm


def _own(value: Any, of_model: Any) -> Any:
    return None if value == of_model else value
