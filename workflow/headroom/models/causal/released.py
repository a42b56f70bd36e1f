"""Released language models, imported as a run of one checkpoint."""

from pathlib import Path

from headroom.models.causal.model import CausalModel
from headroom.models.released import import_model
from headroom.settings.models import HubModelSettings


def take(settings: HubModelSettings, *, checkpoint: Path) -> str:
    """Import a language model, and return a description; errors as in `import_model`."""
    return import_model(CausalModel, settings, checkpoint)
