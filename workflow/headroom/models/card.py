"""The model card beside a model that was written here: what it is, how it is checked, and how it is loaded."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from transformers import PreTrainedModel

from headroom.core.version import find_version
from headroom.models.checkpoint import CARD, TAG
from headroom.models.sites import AttentionSite
from headroom.models.sliced import find_builder, plain_name

HUB = re.compile(r"models--([^/]+)--([^/]+)/snapshots/")
"""The directory of a model that was downloaded from the Hub: owner and name."""


def write_card(
    model: PreTrainedModel, sites: Sequence[AttentionSite], *, kept_whole: str, about: Sequence[str] = ()
) -> list[str]:
    """Return the lines of a model card.

    Args:
        model: The model.
        sites: Its sites.
        kept_whole: Why its heads can be masked but not removed; "" if they can be removed.
        about: More lines, e.g. scores.
    """
    gone = [str(head) for live in sites for head in live.removed_heads()]
    heads = sum(live.site.heads for live in sites)
    what = f"without {len(gone)} of its {heads} attention heads" if gone else f"with all of its {heads} attention heads"
    same = "a model without heads computes what one with masked heads does, logits and generation with its cache"
    checked = f"its heads can only be masked: {kept_whole}" if kept_whole else same
    own = bool(gone) or not type(model).__module__.startswith("transformers.")
    task, _ = find_builder(model.config, type(model).__name__)
    return [
        "---",
        "library_name: transformers",
        *_describe_base(Path(model.config.name_or_path or "")),
        TAG,
        "---",
        "",
        f"# {plain_name(model)} {what}{': ' if gone else ''}{' '.join(gone)}",
        "",
        *(part for line in about for part in (line, "")),
        f"Weights: {str(model.dtype).removeprefix('torch.')}. "
        f"headroom {find_version()} checks at every load that every head can be masked; {checked}.",
        "",
        "```python",
        f"import transformers{', headroom.sliced' if own else ''}",
        f'model = transformers.{task}.from_pretrained("directory of this file")',
        "```",
        "",
        f"transformers {'refuses its type without headroom' if own else 'loads it without headroom, too'}. "
        '`headroom.load("directory of this file")` checks it, and returns it with its gates.',
    ]


def _describe_base(place: Path) -> Iterator[str]:
    """Yield the metadata of a model's directory that hold of a smaller one, too: its name, licence and language."""
    if on_hub := HUB.search(f"{place.absolute()}/"):
        yield f"base_model: {'/'.join(on_hub.groups())}"
    if (card := place / CARD).is_file():
        metadata = card.read_text(encoding="utf-8", errors="replace").partition("\n---")[0]
        yield from re.findall(r"^(?:license|language|base_model):.*(?:\n[ -].*)*", metadata, re.MULTILINE)
