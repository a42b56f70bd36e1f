"""Released masked language models, imported as a run of one checkpoint."""

from pathlib import Path

from headroom.models.masked.model import MaskedModel
from headroom.models.released import import_model
from headroom.settings.models import HubModelSettings


def take(settings: HubModelSettings, *, checkpoint: Path) -> str:
    """Import a masked language model, and return a description; errors as in `import_model`."""
    return import_model(MaskedModel, settings, checkpoint)
