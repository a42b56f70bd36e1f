"""The colours of the report: one name, one meaning, a light and a dark value.

Figures are drawn with the light values; in the page each becomes a CSS variable, so that figures follow
the reader's theme. Light values have a contrast of at least 4.5 against the page's light ground, dark
values against its dark one; the hues stay apart under the common forms of colour blindness.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Colour:
    """A colour of the page: the name of its CSS variable, its light and its dark value."""

    variable: str
    light: str
    dark: str


PAPER = Colour("paper", "#fefefc", "#15171b")
INK = Colour("ink", "#1c1e22", "#e9e7e2")
SOFT = Colour("soft", "#585d66", "#a8adb5")
RULE = Colour("rule", "#d8dadd", "#3b4047")
CONTROL = Colour("control", "#6a6e75", "#9ba1a9")

KIND_COLOURS = {
    "E": Colour("kind-e", "#0b62a8", "#6fb4f3"),
    "A": Colour("kind-a", "#b8460a", "#f19c5f"),
    "D": Colour("kind-d", "#0a7653", "#52c89b"),
}

_ARM_COLOURS = (
    Colour("arm-1", "#4a3f93", "#b5a8f7"),
    Colour("arm-2", "#a6265d", "#f590b5"),
    Colour("arm-3", "#765c00", "#d8b84c"),
    Colour("arm-4", "#00686f", "#63c7cf"),
    Colour("arm-5", "#7a4a2b", "#d0a283"),
)

ARM_MARKERS = ("o", "s", "^", "D", "v")

ALL = (PAPER, INK, SOFT, RULE, CONTROL, *KIND_COLOURS.values(), *_ARM_COLOURS)

KIND_NAMES = {"E": "encoder self-attention", "A": "encoder-decoder attention", "D": "decoder self-attention"}
KIND_MARKERS = {"E": "o", "A": "s", "D": "^"}


def arm_colour(arm: str, arms: Sequence[str]) -> Colour:
    """Return the colour of an arm; arms are distinguished by their place in the study's list of arms."""
    place = arms.index(arm) if arm in arms else 0
    return _ARM_COLOURS[place % len(_ARM_COLOURS)]


def arm_marker(arm: str, arms: Sequence[str]) -> str:
    """Return the marker of an arm: arms differ in shape as well as in colour, and in both together up to 25 arms."""
    place = arms.index(arm) if arm in arms else 0
    return ARM_MARKERS[(place + place // len(_ARM_COLOURS)) % len(ARM_MARKERS)]


def style_variables() -> tuple[str, str]:
    """Return the CSS declarations of all colours for the light and for the dark theme."""
    light = "".join(f"--{colour.variable}:{colour.light};" for colour in ALL)
    dark = "".join(f"--{colour.variable}:{colour.dark};" for colour in ALL)
    return light, dark
