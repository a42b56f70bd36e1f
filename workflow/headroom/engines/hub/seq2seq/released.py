"""Released translation models of transformers, imported as a run of one checkpoint."""

from pathlib import Path

from headroom.engines.hub.released import import_model
from headroom.engines.hub.seq2seq.model import Seq2SeqModel
from headroom.engines.hub.seq2seq.text import set_languages
from headroom.settings.models import HubModelSettings


def take(settings: HubModelSettings, *, checkpoint: Path) -> str:
    """Import a translation model with the codes of its languages and its prefix, and return a description.

    Raises:
        HeadroomError: As in `import_model` and `set_languages`.
    """

    def adapt(model: Seq2SeqModel) -> None:
        codes = {"source_code": settings.source_code, "target_code": settings.target_code}
        set_languages(model.tokenizer, **codes, prefix=settings.prefix)
        model.renew_text()

    return import_model(Seq2SeqModel, settings, checkpoint, adapt=adapt)
