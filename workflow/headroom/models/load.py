"""Loading a model of any kind: the one module that knows all classes of models of transformers."""

from pathlib import Path
from typing import Any

from headroom.models.causal.model import CausalModel
from headroom.models.checkpoint import read_configuration
from headroom.models.classifier.model import ClassificationModel
from headroom.models.find_sites import CONFIGURATION
from headroom.models.masked.model import MaskedModel
from headroom.models.model import HubModel
from headroom.models.outline import find_task
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.settings.models import Dtype

MODELS: dict[str, type[HubModel[Any]]] = {
    "classification": ClassificationModel,
    "translation": Seq2SeqModel,
    "language": CausalModel,
    "masked": MaskedModel,
}
"""By kind of task, the class of its models."""


def load(
    directory: Path | str,
    device: str = "auto",
    attention: str = "sdpa",
    *,
    dtype: Dtype | None = None,
    file: str | None = None,
) -> HubModel[Any]:
    """Load a model, whole or sliced, of the kind that its `config.json` says.

    Arguments and errors are those of `HubModel.load`.
    """
    directory = Path(directory)
    config = read_configuration(directory, None, file=file)
    own = MODELS[find_task(config, directory / (file or CONFIGURATION))]
    return own.load(directory, device, attention, dtype=dtype, file=file)
