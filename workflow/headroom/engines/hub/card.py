"""The model card beside a model that was written here: what it is, how it is checked, and how it is loaded."""

from headroom.engines.hub.checkpoint import Descriptor


def write_card(name: str, said: Descriptor, *, heads: int, kept_whole: str) -> list[str]:
    """Return the lines of a model card.

    Args:
        name: The name of the model's class.
        said: Its descriptor.
        heads: The number of heads of the whole model.
        kept_whole: Why its heads can be masked but not removed; "" if they can be removed.
    """
    gone = len(said.removed.split())
    if gone:
        what = f"without {gone} of its {heads} attention heads: {said.removed}"
        plain = "Plain transformers cannot load it: layers have different numbers of heads."
    else:
        what = f"with all of its {heads} attention heads"
        plain = "Plain transformers loads it, too."
    same = "a model without heads computes what one with masked heads does, logits and generation with its cache"
    checked = f"its heads can only be masked: {kept_whole}" if kept_whole else same
    return [
        f"# {name} {what}",
        "",
        f"Weights: {said.dtype}. headroom checks at every load that every head can be masked; {checked}.",
        "",
        "```python",
        "import headroom",
        'model = headroom.load("directory of this file").model',
        "```",
        "",
        plain,
    ]
